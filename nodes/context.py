"""Settings of a run: frozen, described and bounded, so that Studio, the CLI and a benchmark read one truth."""

from typing import Literal

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

Precision = Literal["strict", "kernelbench", "tf32", "bf16", "fp16"]


class Context(BaseModel):
    """What may differ between two runs of one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Literal["cpp"] = Field(
        default="cpp", description="Target that the kernel is written for: cpp is C++ with OpenMP and SIMD."
    )
    model: str = Field(
        default="builtin",
        min_length=1,
        description="Chat model of the thinking agents; builtin is the rule-based optimiser that needs no key and no network.",
        json_schema_extra={"langgraph_nodes": ["designer", "coder", "conductor"]},
    )
    precision: Precision = Field(
        default="strict", description="Precision policy that both sides obey and that is named beside every number."
    )
    attempts: int = Field(default=15, ge=1, le=1000, description="Most attempts before the run stops.")
    minutes: float | None = Field(default=None, gt=0, description="Most minutes of work before the run stops; empty for no limit.")
    max_tokens: int | None = Field(
        default=None, ge=0, description="Most chat-model tokens before the run stops; empty for no limit."
    )
    max_usd: float | None = Field(
        default=None, ge=0, description="Most US dollars for chat models before the run stops; empty for no limit."
    )
    search: Literal["line"] = Field(default="line", description="Shape of the search: line is one attempt after another.")
    profile: bool = Field(
        default=True,
        description="Read the profiler's counters; off is the ablation that goes by time alone.",
        json_schema_extra={"langgraph_nodes": ["profiler"]},
    )
    recall: bool = Field(
        default=True,
        description="Start from the best kernel that earlier runs left for this task, backend, device and precision.",
        json_schema_extra={"langgraph_nodes": ["admit"]},
    )
    home: str = Field(default="", description="Folder of runs, checkpoints and the store; empty for $PRAGMA_HOME or ~/.pragma.")


def settings(runtime: Runtime[Context]) -> Context:
    """The run's context, or the defaults: a graph that is invoked without one has None."""
    return runtime.context or Context()

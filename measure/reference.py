"""The reference's child: executes the task, makes cases (inputs, eager output, float64 golden), compiles; sees no candidate."""

import copy
import os
import pickle
import time
from pathlib import Path
from typing import Any

import torch

from measure import policy, values
from measure.channel import Channel
from measure.task import Task, TaskError, attempt, described, draw_inputs, instantiate
from measure.worker import Reply, Worker, changed, spans, synchronise

PERTURBATION = 0.25


class ReferenceWorker(Worker):
    """Adds the commands that need the task."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.task: Task
        self.states: dict[str, dict[str, torch.Tensor]] = {}

    def answer(self, request: Reply, fds: list[int]) -> Reply:
        """As the worker's, with a TaskError's own kind and line."""
        try:
            with torch.no_grad():
                return {"ok": True, **getattr(self, f"do_{request['op']}")(request, fds)}
        except TaskError as error:
            return {"ok": False, "kind": error.kind, "message": error.message}
        except Exception as error:  # noqa: BLE001 - the worker's edge: the task's code may raise anything
            kind, message = described(error, "reference-raises", request["op"], self.task.path)
            return {"ok": False, "kind": kind, "message": message}

    def do_open(self, request: Reply, fds: list[int]) -> Reply:
        """Executes the task and leaves init inputs and both weight sets in `given`."""
        self.task = Task(**request["task"])
        instance = instantiate(self.task, request["seed"])
        self.module = instance.module
        self.models["model"] = self._cast(instance.model)
        given = Path(request["given"])
        with (given / "init").open("wb") as file:
            attempt("init-raises", "passing get_init_inputs() on", self.task, lambda: pickle.dump(instance.init_inputs, file))
        base = {k: v.clone() for k, v in self._module().state_dict().items()}
        self.states = {"base": base, "perturbed": perturbed(self._module(), base)}
        for name, state in self.states.items():
            values.write(given / f"state.{name}", state)
        weights = sum(t.numel() * t.dtype.itemsize for t in base.values())
        return {
            "state": {k: list(v.shape) for k, v in base.items()},
            "weight_bytes": weights,
            "buffers": [k for k, _ in self._module().named_buffers() if k in base],
            "parameters": any(True for _ in self._module().parameters()),
            "training": self._module().training,
        }

    def do_case(self, request: Reply, fds: list[int]) -> Reply:
        """One case: inputs under the seed, the eager output (and its rerun where asked), the golden."""
        inputs = self._inputs(request["seed"], request["kind"])
        values.write(request["inputs"], inputs)
        self._module().load_state_dict(self.states[request["weights"]])
        golden_model = _doubled(self._module())
        output, seconds = self._forward(inputs)
        reply: Reply = {"seconds": seconds, "mutated": changed(inputs, request["inputs"])}
        reply |= {"inputs": spans(inputs), "outputs": spans(output)}
        reply["finite"] = all(bool(torch.isfinite(t).all()) for t in values.tensors_of(output))
        reply["eager_bytes"] = self._write_output(request["eager"], output)
        if request["state"]:
            values.write(request["state"], dict(self._module().state_dict()))
        del output
        if request["again"]:
            self._module().load_state_dict(self.states[request["weights"]])
            self._write_output(request["again"], self._forward(values.read(request["inputs"]))[0])
        reply["golden"] = self._golden(golden_model, request)
        return reply

    def do_compile(self, request: Reply, fds: list[int]) -> Reply:
        """torch.compile with default settings, warmed until a call's time settles (three calls within 10 % or `seconds`)."""
        start = time.perf_counter()
        compiled = torch.compile(self._module())
        previous, steady = 0.0, 0
        while steady < 3 and (steady == 0 or time.perf_counter() - start < request["seconds"]):
            begun = time.perf_counter()
            compiled(*self.buffers[0])
            synchronise()
            took = time.perf_counter() - begun
            steady = steady + 1 if previous and took > 0.9 * previous else 1
            previous = took
        self.models["compile"] = compiled
        return {"seconds": time.perf_counter() - start}

    def _inputs(self, seed: int, kind: str) -> tuple[Any, ...]:
        assert self.module is not None
        inputs = draw_inputs(self.module, self.task, seed)
        cast = values.mapped(inputs, lambda t: policy.cast_value(t, self.dtype))
        if kind == "plain":
            return cast
        return values.mapped(cast, lambda t: strengthened(t, kind))

    def _forward(self, inputs: tuple[Any, ...]) -> tuple[Any, float]:
        start = time.perf_counter()
        output = attempt("reference-raises", "Model.forward(*get_inputs())", self.task, lambda: self.models["model"](*inputs))
        synchronise()
        return output, time.perf_counter() - start

    def _write_output(self, path: str, output: Any) -> int:
        try:
            size = values.write(path, output)
        except values.Unencodable as error:
            raise TaskError("non-tensor-output", f"{self.task.path}: forward returns {error}; return tensors only") from error
        if not values.tensors_of(output):
            raise TaskError("non-tensor-output", f"{self.task.path}: forward returns no tensor ({type(output).__name__})")
        return size

    def _golden(self, model: torch.nn.Module | str, request: Reply) -> str:
        """Writes the float64 output; where the model cannot run in float64, the eager output stands in and the reason is told."""
        if isinstance(model, str):
            os.link(request["eager"], request["golden"])
            return model
        inputs = values.mapped(values.read(request["inputs"]), _up)
        torch.set_default_dtype(torch.float64)
        try:
            values.write(request["golden"], model(*inputs))
            return "float64"
        except Exception as error:  # noqa: BLE001 - whatever a float32-only forward raises
            os.link(request["eager"], request["golden"])
            return f"eager, for float64 raised {type(error).__name__}: {str(error)[:120]}"
        finally:
            torch.set_default_dtype(torch.float32)

    def _cast(self, model: torch.nn.Module) -> torch.nn.Module:
        return model if self.dtype is None else model.to(getattr(torch, self.dtype))


def strengthened(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """Signed and scaled ("signed") or positive and scaled ("positive") values in place of what get_inputs drew."""
    if not tensor.dtype.is_floating_point:
        return tensor
    drawn = 3 * torch.randn(tensor.shape, dtype=torch.float32)
    return (drawn if kind == "signed" else drawn.abs() + 0.01).to(tensor.dtype)


def perturbed(model: torch.nn.Module, base: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights moved by a quarter of their own rms (0.1 where they are all zero), so that defaults of 0 and 1 hide nothing."""
    moved: dict[int, torch.Tensor] = {}  # tied weights move together
    state = {k: v.clone() for k, v in base.items()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.dtype.is_floating_point and name in state and parameter.numel():
            scale = float(parameter.float().square().mean().sqrt()) or 0.1
            if id(parameter) not in moved:
                moved[id(parameter)] = (parameter + PERTURBATION * scale * torch.randn(parameter.shape)).to(parameter.dtype)
            state[name] = moved[id(parameter)]
    return state


def _up(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype.is_complex:
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.dtype.is_floating_point else tensor


def _doubled(model: torch.nn.Module) -> torch.nn.Module | str:
    """A float64 copy, plain tensor attributes included, or why there is none."""
    try:
        twin = copy.deepcopy(model).double()
    except Exception as error:  # noqa: BLE001 - deepcopy runs the task's own code
        return f"eager, for the model cannot be copied ({type(error).__name__}: {str(error)[:120]})"
    for module in twin.modules():
        for name, item in vars(module).items():
            if isinstance(item, torch.Tensor):
                vars(module)[name] = _up(item)
    return twin

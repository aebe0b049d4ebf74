"""One session of the bench: two sandboxes (the reference's and the candidates'), the scratch folder, the pool of cases."""

import dataclasses
import os
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import torch

from measure import compare, limits, values
from measure.channel import Message
from measure.host import Child, Host
from measure.limits import Limits
from measure.policy import Policy
from measure.sandbox import Box, home
from measure.scratch import Scratch
from measure.task import Task
from measure.verdict import Rejected

PLAIN = 3
SLOTS = (*(f"plain-{i}" for i in range(PLAIN)), "strong", "perturbed")
CHEAP_S = 0.02  # eager seconds below which a fresh case per judgement costs next to nothing


@dataclass
class Case:
    """Inputs in `given`, what the reference made of them in `ref`, and the expectations."""

    slot: str
    seed: int
    kind: str
    weights: str
    inputs: Path
    golden: values.Stored
    eager: values.Stored
    expected: list[compare.Expected]
    reply: Message
    paths: list[Path] = field(default_factory=list)
    after: Path | None = None

    def drop(self) -> None:
        """Frees the case's files."""
        self.golden.close()
        self.eager.close()
        for path in self.paths:
            path.unlink(missing_ok=True)

    @property
    def nbytes(self) -> int:
        return sum(p.stat().st_size for p in self.paths if p.exists())


class Session:
    """Starts the reference's sandbox at once and the candidates' as soon as the task has proved to be one."""

    def __init__(self, task: Task, policy: Policy, tier: str, bounds: Limits, parent: Path | None) -> None:
        self.task, self.policy, self.tier, self.limits = task, policy, tier, bounds
        self.scratch = Scratch(parent)
        self.cache = Path(os.environ.get("PRAGMA_KERNEL_CACHE", Path.home() / ".cache" / "pragma-kernels")).resolve()
        self.cache.mkdir(parents=True, exist_ok=True)
        self.inductor = self.cache / "inductor"  # torch.compile's own cache, by content: only references write there
        self.threads = min(limits.cores(), int(os.environ.get("OMP_NUM_THREADS") or limits.cores()))
        self.reference_host = Host("reference", self._reference_box(), self.scratch.ref, bounds)
        self._candidate_host: Host | None = None
        self.reference: Child | None = None
        self.meta: Message = {}
        self.pool: dict[str, Case] = {}
        self.skipped: dict[str, str] = {}
        self.serial = 0
        self.seed = fresh_seed()  # a reference that must be opened anew gets the same weights, so the cases stay valid

    @property
    def candidate_host(self) -> Host:
        """The candidates' sandbox, started on first use (its imports then overlap with the making of cases)."""
        if self._candidate_host is None:
            self._candidate_host = Host("candidate", self._candidate_box(), self.scratch.cand, self.limits)
        return self._candidate_host

    def warm_up(self) -> None:
        """Starts the candidates' sandbox without waiting for it."""
        _ = self.candidate_host

    def _reference_box(self) -> Box:
        folder = Path(self.task.path).parent
        hidden = any(folder.is_relative_to(h) for h in ("/tmp", "/run"))
        self.inductor.mkdir(exist_ok=True)
        return Box(self.tier, (self.scratch.given, self.scratch.ref, self.inductor), (folder,) if hidden else ())

    def _candidate_box(self) -> Box:
        house = home()
        hide = (self.scratch.root, *([house] if house else []))
        return Box(self.tier, (self.scratch.cand,), (self.scratch.given, self.cache), hide, (Path(self.task.path),))

    def open(self) -> Message:
        """Executes the task in the reference's sandbox (once); Rejected carries the TaskError's kind."""
        if self.reference is None or not self.meta:
            self._start_reference()
            request = {"op": "open", "task": dataclasses.asdict(self.task), "seed": self.seed, "given": str(self.scratch.given)}
            self.meta = self.ask_reference(request, self.limits.load_s)
            self.warm_up()
        return self.meta

    def _start_reference(self) -> None:
        if self.reference is not None:
            self.reference.kill()
        ref = str(self.scratch.ref)
        env = {"TMPDIR": ref, "TORCHINDUCTOR_CACHE_DIR": str(self.inductor), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        self.reference = self.reference_host.spawn(env, {"RLIMIT_CORE": 0})
        self.ask_reference(self._setup(), self.limits.start_s)

    def _setup(self) -> Message:
        return {"op": "setup", "threads": self.threads, "matmul": self.policy.matmul, "cast": self.policy.cast}

    def ask_reference(self, request: Message, timeout: float) -> Message:
        """The reference's reply; a refusal or a death is the task's fault."""
        assert self.reference is not None
        try:
            reply = self.reference.ask(request, timeout)
        except Rejected as error:
            self.reference = None
            verdict = error.verdict
            raise Rejected(
                f"reference-{verdict['kind']}",
                f"{self.task.path}: the reference ({request['op']}): {verdict['message'].replace('candidate', 'reference')}",
                verdict["evidence"],
            ) from error
        if not reply["ok"]:
            raise Rejected(reply.get("kind", "reference-raises"), reply["message"], {"trace": reply.get("trace", [])})
        return reply

    def spawn(self) -> Child:
        """A fresh candidate process in a private folder."""
        self.serial += 1
        for old in self.scratch.cand.glob("job-*"):
            shutil.rmtree(old, ignore_errors=True)
        job = self.scratch.cand / f"job-{self.serial}-{secrets.token_hex(4)}"
        for name in ("tmp", "cache", "home"):
            (job / name).mkdir(parents=True)
        env = {
            "HOME": f"{job}/home",
            "TMPDIR": f"{job}/tmp",
            "PRAGMA_KERNEL_CACHE": f"{job}/cache",
            "PRAGMA_KERNEL_CACHE_RO": str(self.cache),
            "TORCH_EXTENSIONS_DIR": f"{job}/cache/torch",
            "TRITON_CACHE_DIR": f"{job}/cache/triton",
            "TORCHINDUCTOR_CACHE_DIR": f"{job}/cache/inductor",
            "OMP_NUM_THREADS": str(self.threads),
        }
        gpu = torch.cuda.is_available()
        if not gpu:
            env["TRITON_INTERPRET"] = "1"
        child = self.candidate_host.spawn(env, limits.rlimits(self.limits, self.need(), gpu))
        reply = child.ask(self._setup(), self.limits.start_s)
        if not reply["ok"]:
            raise Rejected("environment", f"the sandbox could not be set up: {reply['message']}")
        return child

    def need(self) -> int:
        """Bytes of weights plus all held inputs and outputs of one judgement."""
        return int(self.meta.get("weight_bytes", 0)) + sum(c.nbytes for c in self.pool.values())

    def cases(self) -> list[Case]:
        """All cases, made where missing."""
        for slot in SLOTS:
            if slot not in self.pool and slot not in self.skipped:
                self._fill(slot)
        return [self.pool[slot] for slot in SLOTS if slot in self.pool]

    def renew(self) -> None:
        """After a judgement: forgets one plain case where making it is cheap, and all where they take too much room."""
        held = sum(c.nbytes for c in self.pool.values())
        plain = [c for c in self.pool.values() if c.kind == "plain" and c.weights == "base"]
        if held > self.scratch.free() // 4:
            plain = list(self.pool.values())
        elif plain:
            cheap = min(c.reply["seconds"] for c in plain) < CHEAP_S
            plain = [secrets.choice(plain)] if cheap else []
        for case in plain:
            self.pool.pop(case.slot).drop()

    def _fill(self, slot: str) -> None:
        if slot.startswith("plain"):
            self.pool[slot] = self.make(slot, "plain", "base")
        elif slot == "perturbed":
            self._optional(slot, ["plain"], "perturbed" if self.meta["parameters"] else "")
        else:
            self._optional(slot, ["signed", "positive"], "base")

    def _optional(self, slot: str, kinds: list[str], weights: str) -> None:
        """A case that the reference may be unable to take: then the reason is kept."""
        if not weights:
            self.skipped[slot] = "the reference has no parameters"
            return
        for kind in kinds:
            try:
                case = self.make(slot, kind, weights)
            except Rejected as error:
                self.skipped[slot] = error.verdict["message"]
                if self.reference is None:
                    self.open()
                continue
            if case.reply["finite"]:
                self.pool[slot] = case
                self.skipped.pop(slot, None)
                return
            case.drop()
            self.skipped[slot] = f"the reference becomes non-finite on {kind} inputs"

    def make(self, slot: str, kind: str, weights: str, again: Path | None = None) -> Case:
        """One new case under an unpredictable seed; `after` holds the state dict behind one call where there are buffers."""
        self.open()
        seed, tag = fresh_seed(), secrets.token_hex(6)
        inputs = self.scratch.given / f"{tag}.inputs"
        golden, eager, after = (self.scratch.ref / f"{tag}.{name}" for name in ("golden", "eager", "after"))
        state = after if self.meta["buffers"] and slot == "plain-0" else None
        request = {
            "op": "case",
            "seed": seed,
            "kind": kind,
            "weights": weights,
            "inputs": str(inputs),
            "golden": str(golden),
            "eager": str(eager),
            "again": str(again) if again else "",
            "state": str(state) if state else "",
        }
        reply = self.ask_reference(request, self.limits.load_s)
        stored = values.opened(golden), values.opened(eager)
        return Case(
            slot,
            seed,
            kind,
            weights,
            inputs,
            *stored,
            compare.expected(*stored),
            reply,
            [inputs, golden, eager, *([state] if state else [])],
            state,
        )

    def close(self) -> None:
        """Ends both sandboxes and removes the folder."""
        hosts = [h for h in (self.reference_host, self._candidate_host) if h is not None]
        for host in hosts:
            host.hang_up()
        for host in hosts:
            host.close()
        for case in self.pool.values():
            case.drop()
        self.pool.clear()
        self.scratch.close()


def fresh_seed() -> int:
    """A seed that no candidate can foresee."""
    return secrets.randbelow(2**31)

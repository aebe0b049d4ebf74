"""What runs in a child: loads a source, takes weights and inputs as bytes, runs, times; the judge believes only the bytes.

The same loop serves both sides (the reference's worker adds commands), so both are called and timed by the same code.
"""

import contextlib
import os
import pickle
import resource
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from measure import affinity, policy, values
from measure.channel import Channel, Closed

MEMORY_WORDS = ("can't allocate memory", "out of memory", "Cannot allocate memory", "bad_alloc", "DefaultCPUAllocator")
NAME = "pragma_candidate"
DRAG_NS = 60_000_000  # on a busy machine a parallel region of microseconds takes whole scheduler slices
QUIET_NS = 200_000  # the judge, woken by the word, needs a core for a moment
Reply = dict[str, Any]


class Worker:
    """One child's state: the module, the constructed model, the timing buffers."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.module: types.ModuleType | None = None
        self.models: dict[str, Callable[..., Any]] = {}
        self.buffers: list[tuple[Any, ...]] = []
        self.dtype: str | None = None
        self.started = time.perf_counter()
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def serve(self) -> None:
        """Answers requests until the judge hangs up."""
        while True:
            try:
                request = self.channel.receive()
                fds = self.channel.fds
                reply = self.answer(request, fds)
                for fd in fds:
                    os.close(fd)
                self.channel.send(reply)
            except Closed:
                return

    def answer(self, request: Reply, fds: list[int]) -> Reply:
        """One request's reply; whatever the loaded code raises is data here."""
        try:
            with torch.no_grad():
                reply = getattr(self, f"do_{request['op']}")(request, fds)
            return {"ok": True, **reply}
        except BaseException as error:  # noqa: BLE001 - the worker's edge: SystemExit and KeyboardInterrupt included
            return refusal(error)

    def do_setup(self, request: Reply, fds: list[int]) -> Reply:
        """Threads, matmul flags and the policy's dtype, before any computing."""
        torch.set_num_threads(request["threads"])
        policy.set_flags(request["matmul"])
        self.dtype = request["cast"]
        return {}

    def do_load(self, request: Reply, fds: list[int]) -> Reply:
        """Executes the source as a module; compiling inside it (C++ builds) is what the seconds measure."""
        source = Path(request["path"]).read_text(encoding="utf-8")
        try:
            code = compile(source, request["path"], "exec")
        except (SyntaxError, ValueError) as error:
            return {"ok": False, **refusal(error), "stage": "syntax"}
        start = time.perf_counter()
        module = types.ModuleType(NAME)
        module.__file__ = request["path"]
        sys.modules[NAME] = module
        exec(code, module.__dict__)
        self.module = module
        return {
            "seconds": time.perf_counter() - start,
            "has_model": isinstance(getattr(module, "ModelNew", None), type),
            "interpreted": "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") == "1",
        }

    def do_construct(self, request: Reply, fds: list[int]) -> Reply:
        """ModelNew(*init_inputs); the init inputs come from the trusted side, so a pickle of them is fine in this direction."""
        with Path(request["init"]).open("rb") as file:
            init_inputs = pickle.load(file)
        torch.manual_seed(request["seed"])
        assert self.module is not None
        model = self.module.ModelNew(*init_inputs)
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"ModelNew is a {type(model).__name__}, not a torch.nn.Module")
        self.models["model"] = model if self.dtype is None else model.to(getattr(torch, self.dtype))
        return {"state": {k: list(v.shape) for k, v in model.state_dict().items()}}

    def do_state(self, request: Reply, fds: list[int]) -> Reply:
        """Strict state dict, or nothing to load on either side."""
        self._module().load_state_dict(values.read(request["path"]), strict=True)
        return {}

    def do_run(self, request: Reply, fds: list[int]) -> Reply:
        """Calls the model once per inputs file; all outputs are held to the end, then written to the given descriptors.

        New contents come in the same memory as the last, so that a cache keyed on addresses gives itself away.
        """
        runs: list[dict[str, Any]] = []
        outputs, inputs = [], None
        for path in request["inputs"]:
            inputs = values.reread(path, inputs)
            start = time.perf_counter()
            output = self.models["model"](*inputs)
            synchronise()
            seconds = time.perf_counter() - start
            runs.append({"seconds": seconds, "mutated": changed(inputs, path), "inputs": spans(inputs), "outputs": spans(output)})
            outputs.append(output)
            if overlap(runs[-1]["outputs"], runs[-1]["inputs"]):
                inputs = None  # a view of an input must outlive the next content
        for output, fd in zip(outputs, fds, strict=True):
            values.write(fd, output)
        return {"runs": runs}

    def do_buffers(self, request: Reply, fds: list[int]) -> Reply:
        """Loads the inputs that the timed calls rotate over."""
        self.buffers = [values.read(path) for path in request["inputs"]]
        return {}

    def do_sample(self, request: Reply, fds: list[int]) -> Reply:
        """One discarded warm call, a word to the judge, then `calls` timed back-to-back calls (fewer where they drag on)."""
        model, buffers, calls = self.models[request["which"]], self.buffers, request["calls"]
        before = resource.getrusage(resource.RUSAGE_SELF)
        model(*buffers[-1])
        synchronise()
        affinity.spread(self.cores)
        clock, count = time.perf_counter_ns, len(buffers)
        self.channel.send({"begin": True})
        start = clock()
        while clock() - start < QUIET_NS:
            pass
        timed = resource.getrusage(resource.RUSAGE_SELF)
        start = clock()
        done = 0
        while done < calls and clock() - start < DRAG_NS:
            for i in range(done, min(calls, done + 8)):
                model(*buffers[i % count])
            done = min(calls, done + 8)
        synchronise()
        took = clock() - start
        return {"calls": done, "ns": took, "usage": used(before), "forced": used(timed)["involuntary_switches"]}

    def do_profile(self, request: Reply, fds: list[int]) -> Reply:
        """Calls for about `seconds`, and what the kernel says they cost, in total."""
        model, count, calls = self.models["model"], len(self.buffers), 0
        model(*self.buffers[-1])
        synchronise()
        affinity.spread(self.cores)
        before = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter()
        while calls < 3 or time.perf_counter() - start < request["seconds"]:
            model(*self.buffers[calls % count])
            calls += 1
        synchronise()
        return {"calls": calls, "wall_s": time.perf_counter() - start, "threads": threads(), **used(before)}

    def do_dump_state(self, request: Reply, fds: list[int]) -> Reply:
        """The current state dict as bytes."""
        values.write(fds[0], dict(self._module().state_dict()))
        return {}

    def _module(self) -> torch.nn.Module:
        model = self.models["model"]
        assert isinstance(model, torch.nn.Module)
        return model


def synchronise() -> None:
    """Waits for the accelerator where one was used."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def changed(inputs: Any, path: str) -> list[int]:
    """Indices of input tensors whose bytes differ from the file they came from."""
    stored = values.opened(path)
    try:
        return [i for i, t in enumerate(values.tensors_of(inputs)) if not _same(t, stored.tensor(i))]
    finally:
        stored.close()


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    flat = [t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (left, right) if t.numel()]
    return not flat or torch.equal(*flat)


def spans(value: Any) -> list[list[int]]:
    """[address, bytes] of every tensor's reach in memory."""
    found = []
    for t in values.tensors_of(value):
        reach = 1 + sum((n - 1) * abs(s) for n, s in zip(t.shape, t.stride(), strict=True)) if t.numel() else 0
        found.append([t.data_ptr(), reach * t.dtype.itemsize])
    return found


def overlap(left: list[list[int]], right: list[list[int]]) -> bool:
    """Whether any [address, bytes] of one list meets one of the other."""
    return any(a < b + m and b < a + n for a, n in left for b, m in right if n and m)


def used(before: resource.struct_rusage) -> dict[str, float]:
    """What this process consumed since `before`."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_s": now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime,
        "minor_faults": now.ru_minflt - before.ru_minflt,
        "major_faults": now.ru_majflt - before.ru_majflt,
        "voluntary_switches": now.ru_nvcsw - before.ru_nvcsw,
        "involuntary_switches": now.ru_nivcsw - before.ru_nivcsw,
    }


def threads() -> int:
    """Threads of this process now."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def refusal(error: BaseException) -> Reply:
    """An exception as data: type, text, the last lines of its traceback."""
    text, trace = type(error).__name__, ""
    with contextlib.suppress(Exception):  # a hostile __str__ may raise anything
        text = str(error)[:4000]
        trace = "".join(traceback.format_exception(error))[-6000:]
    memory = isinstance(error, MemoryError) or any(word in text for word in MEMORY_WORDS)
    return {"ok": False, "type": type(error).__name__, "message": text, "trace": trace.splitlines()[-16:], "memory": memory}

"""The loader that travels in every candidate: keys, caches, concurrent builds, failed builds, and calls without copies."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from backends.cpp import loader
from tests.backends.conftest import forget

ROOT = Path(__file__).resolve().parents[2]
DOUBLE = """
extern "C" void pragma_kernel(void** t) {
  auto x = (const float*)t[0]; auto y = (float*)t[1];
  for (int i = 0; i < 64; i++) y[i] = 2 * x[i];
}
"""
EMPTY = 'extern "C" void pragma_kernel(void**) {}'


def run(program, *args, **extra):
    import os

    return subprocess.Popen(
        [sys.executable, "-c", program, *args], cwd=ROOT, env={**os.environ, **extra}, stdout=-1, stderr=-1, text=True
    )


def objects(cache):
    return sorted(p.name for p in cache.iterdir())


def test_a_kernel_writes_into_the_tensors_themselves(compiler):
    kernel = loader.load(DOUBLE)
    big, y = torch.arange(256.0), torch.zeros(64)
    kernel(big[100:], y)
    assert torch.equal(y, 2 * big[100:164])
    kernel(y, y)
    assert torch.equal(y, 4 * big[100:164])


def test_calls_are_checked(compiler):
    kernel = loader.load(DOUBLE)
    with pytest.raises(ValueError, match="at most 64"):
        kernel(*[torch.zeros(64)] * 65)
    with pytest.raises(AttributeError, match="data_ptr"):
        kernel(torch.zeros(64), 3)


def test_sixty_four_tensors_pass():
    source = 'extern "C" void pragma_kernel(void** t) { for (int i = 0; i < 64; i++) *(float*)t[i] = i; }'
    tensors = [torch.zeros(1) for _ in range(64)]
    loader.load(source)(*tensors)
    assert [int(t) for t in tensors] == list(range(64))


def test_a_call_holds_no_lock():
    wait = '#include <unistd.h>\nextern "C" void pragma_kernel(void** t) { usleep(300000); }'
    kernel = loader.load(wait)
    start = time.perf_counter()
    threads = [threading.Thread(target=kernel, args=(torch.zeros(1),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.perf_counter() - start < 1.0


def test_a_call_costs_less_than_ctypes():
    import ctypes

    kernel = loader.load(EMPTY)
    plain = ctypes.CDLL(str(loader.built(EMPTY, loader.all_flags()))).pragma_kernel
    x, y = torch.zeros(1), torch.zeros(1)

    def by_ctypes():
        plain((ctypes.c_void_p * 2)(x.data_ptr(), y.data_ptr()))

    assert _quickest(lambda: kernel(x, y)) < _quickest(by_ctypes)


def _quickest(call):
    def once():
        start = time.perf_counter()
        for _ in range(500):
            call()
        return time.perf_counter() - start

    return min(once() for _ in range(20))


def test_a_cached_kernel_loads_quickly(compiler, cache):
    first = loader.built(EMPTY, loader.all_flags())
    start = time.perf_counter()
    assert loader.built(EMPTY, loader.all_flags()) == first
    assert time.perf_counter() - start < 0.05


def test_the_key_holds_source_flags_and_compiler(monkeypatch):
    keys = {loader.digest(EMPTY, "-O1"), loader.digest(EMPTY, "-O2"), loader.digest(EMPTY + " ", "-O1")}
    assert len(keys) == 3
    monkeypatch.setattr(loader, "cpu", lambda: "another processor")
    assert loader.digest(EMPTY, "-O1") not in keys


def test_each_compiler_has_its_own_key(monkeypatch, compiler):
    mine = loader.digest(EMPTY, "")
    monkeypatch.setenv("CXX", {"g++": "clang++", "clang++": "g++"}[compiler])
    forget()
    assert loader.digest(EMPTY, "") != mine or loader.compiler()[0][0].endswith(compiler)


def test_a_read_only_cache_is_found(cache, tmp_path, monkeypatch):
    made = loader.built(EMPTY, loader.all_flags())
    monkeypatch.setenv("PRAGMA_KERNEL_CACHE_RO", str(cache))
    monkeypatch.setenv("PRAGMA_KERNEL_CACHE", str(tmp_path / "empty"))
    assert loader.built(EMPTY, loader.all_flags()) == made
    assert not (tmp_path / "empty").exists()


def test_a_failed_build_leaves_nothing(compiler, cache):
    with pytest.raises(RuntimeError, match=r"the C\+\+ build failed\n.*y"):
        loader.built("int x = y;", loader.all_flags())
    assert objects(cache) == []


def test_a_missing_symbol_fails_at_build_time(compiler, cache):
    with pytest.raises(RuntimeError, match="nowhere"):
        loader.built('void nowhere(); extern "C" void pragma_kernel(void**) { nowhere(); }', loader.all_flags())
    assert objects(cache) == []


def test_no_compiler_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("CXX", "no-such-compiler")
    forget()
    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler: install"):
        loader.compiler()
    forget()


def test_processes_may_build_the_same_source_at_once(cache):
    program = "import sys; from backends.cpp import loader; print(loader.built(sys.argv[1], loader.all_flags()))"
    workers = [run(program, DOUBLE) for _ in range(3)]
    answers = [worker.communicate(timeout=120) for worker in workers]
    assert {worker.returncode for worker in workers} == {0}, answers
    assert len({out for out, _ in answers}) == 1
    assert objects(cache) == [f"{loader.digest(DOUBLE, loader.all_flags())}.so"]


def test_one_openmp_runtime_in_the_process(compiler):
    """torch's own libgomp serves the kernel's team, whatever the compiler."""
    program = """
import sys, torch
from backends.cpp import loader, simd
source = simd.text(["parallel"]) + '''
extern "C" void pragma_kernel(void** t) { auto y = (int64_t*)t[0];
  team(2, [&](int i, int of) { y[i] = of; });
  #pragma omp parallel for
  for (int i = 2; i < 64; i++) y[i] = 2; }'''
y = torch.zeros(64, dtype=torch.int64)
torch.ones(1 << 20).add_(1)
loader.load(source)(y)
names = {line.split()[-1].rsplit("/", 1)[-1] for line in open("/proc/self/maps") if "omp" in line.rsplit("/", 1)[-1]}
print(sorted(n for n in names if n.startswith(("libgomp", "libomp", "libiomp"))), (y == 2).all().item())
"""
    out, err = run(program).communicate(timeout=120)
    names, _, right = out.strip().rpartition(" ")
    assert right == "True", err
    assert len(names.split(",")) == 1 and "libgomp" in names


def test_the_loader_stands_alone():
    """Standard library only, short, and no word of this project: it is pasted into every candidate."""
    text = Path(loader.__file__).read_text()
    assert len(text.splitlines()) <= 120
    assert not [line for line in text.splitlines() if line.startswith(("from backends", "import backends", "from sketch"))]
    assert "-ffast-math" not in loader.FLAGS

"""Builds a C++ source once, keeps it by content hash, and calls its `void pragma_kernel(void** t)` with tensors' data pointers."""

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

FLAGS = "-O3 -march=native -std=c++20 -fno-math-errno -fno-trapping-math -ffp-contract=fast -shared -fPIC -Wl,-z,defs"
BRIDGE = r"""
#define PYBIND11_SIMPLE_GIL_MANAGEMENT
#include <pybind11/gil.h>  // all of pybind11 would take three seconds more
#include <dlfcn.h>
static PyObject* call(PyObject* self, PyObject* const* tensors, Py_ssize_t count) {
  static PyObject* const name = PyUnicode_InternFromString("data_ptr");
  auto run = reinterpret_cast<void (*)(void**)>(PyLong_AsVoidPtr(self));
  void* data[64];
  if (count > 64) return PyErr_Format(PyExc_ValueError, "a kernel takes at most 64 tensors");
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* address = PyObject_CallMethodNoArgs(tensors[i], name);
    data[i] = address ? PyLong_AsVoidPtr(address) : nullptr;
    Py_XDECREF(address);
    if (PyErr_Occurred()) return nullptr;
  }
  { pybind11::gil_scoped_release unlocked; run(data); }
  Py_RETURN_NONE;
}
static PyMethodDef bound{"kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL, nullptr};
static PyObject* kernel(PyObject*, PyObject* args) {
  const char *path, *symbol;
  if (!PyArg_ParseTuple(args, "ss", &path, &symbol)) return nullptr;
  void *object = dlopen(path, RTLD_NOW), *run = object ? dlsym(object, symbol) : nullptr;
  if (!run) return PyErr_Format(PyExc_RuntimeError, "%s", dlerror());
  PyObject *address = PyLong_FromVoidPtr(run), *made = PyCFunction_New(&bound, address);
  Py_DECREF(address);
  return made;
}
static PyMethodDef functions[] = {{"kernel", kernel, METH_VARARGS, nullptr}, {}};
static PyModuleDef module{PyModuleDef_HEAD_INIT, "pragma_bridge", nullptr, -1, functions};
PyMODINIT_FUNC PyInit_pragma_bridge() { return PyModule_Create(&module); }
"""


@functools.cache
def compiler() -> tuple[tuple[str, ...], str]:
    """The command ($CXX, g++ or clang++) and the first line of its --version."""
    for command in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        words = shlex.split(command)
        if path := shutil.which(words[0]):
            shown = subprocess.run([path, *words[1:], "--version"], capture_output=True, text=True).stdout
            return (path, *words[1:]), shown.partition("\n")[0]
    raise RuntimeError("no C++ compiler: install g++ or clang++, or set CXX to one")


def all_flags(extra: str = "") -> str:
    """With OpenMP on torch's own libgomp; there clang skips `#pragma omp parallel`, but a second runtime would be worse."""
    width = " -mprefer-vector-width=512" if "avx512f" in cpu() else ""
    own = f"-fopenmp=libgomp -fopenmp-simd{width}" if "clang" in compiler()[1] else "-fopenmp"
    return f"{FLAGS} {own} {extra}".strip()


@functools.cache
def cpu() -> str:  # what -march=native depends on
    info = listed.read_text() if (listed := Path("/proc/cpuinfo")).exists() else platform.processor()
    kept = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return "\n".join(line for line in info.partition("\n\n")[0].splitlines() if line.startswith(kept)) or info


def digest(source: str, flags: str) -> str:
    return hashlib.sha256("\0".join((source, flags, *compiler()[0], compiler()[1], cpu())).encode()).hexdigest()[:32]


def built(source: str, flags: str, run: Callable = subprocess.run) -> Path:
    """The shared object of a source: found in the caches, or compiled there; RuntimeError with the first error lines."""
    name = f"{digest(source, flags)}.so"
    folder = Path(os.environ.get("PRAGMA_KERNEL_CACHE") or "~/.cache/pragma-kernels").expanduser()
    for place in (folder, Path(os.environ.get("PRAGMA_KERNEL_CACHE_RO") or folder)):
        if (found := place / name).exists():
            return found
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as scratch:
        (text := Path(scratch, "kernel.cpp")).write_text(source)
        done = run([*compiler()[0], *shlex.split(flags), "-o", f"{scratch}/{name}", str(text)], capture_output=True, text=True)
        lines = done.stderr.replace(scratch + "/", "").splitlines()
        if done.returncode:
            told = [line for line in lines if "error:" in line or "undefined" in line] or lines
            raise RuntimeError("\n".join(["the C++ build failed", *told[:5]]))
        return Path(scratch, name).replace(folder / name)


def bridge(run: Callable = subprocess.run) -> Callable[[str, str], Callable[..., None]]:
    """(path of a shared object, symbol) -> kernel; an extension module, built once for each Python ABI and compiler."""
    found = importlib.util.find_spec("pybind11") or importlib.util.find_spec("torch")  # torch ships pybind11's headers too
    root = Path(str(found and found.origin)).parent / "include"
    flags = f"-O1 -std=c++20 -shared -fPIC -fvisibility=hidden -isystem {root} -isystem {sysconfig.get_path('include')}"
    path = built(f"// {sys.implementation.cache_tag}\n{BRIDGE}", flags, run)
    if path.stem not in sys.modules:
        loader = importlib.machinery.ExtensionFileLoader("pragma_bridge", str(path))
        plan = importlib.machinery.ModuleSpec("pragma_bridge", loader, origin=str(path))
        loader.exec_module(module := importlib.util.module_from_spec(plan))
        sys.modules[path.stem] = module
    return sys.modules[path.stem].kernel


def load(source: str, flags: str = "") -> Callable[..., None]:
    """A kernel to call as `kernel(tensor, ...)`; import torch first, so that its libgomp serves the kernel too."""
    return bridge()(str(built(source, all_flags(flags))), "pragma_kernel")

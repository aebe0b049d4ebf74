"""Tests of the C++ target run once with each compiler that is installed."""

import shutil

import pytest

from backends.cpp import build, loader

COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]


def forget():
    loader.compiler.cache_clear()
    build.remarks.cache_clear()


@pytest.fixture(params=COMPILERS)
def compiler(request, monkeypatch):
    monkeypatch.setenv("CXX", request.param)
    forget()
    yield request.param
    forget()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A kernel cache of the test's own, so that it holds what the test built."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("PRAGMA_KERNEL_CACHE", str(folder))
    monkeypatch.delenv("PRAGMA_KERNEL_CACHE_RO", raising=False)
    return folder

"""Tests write to temporary folders only: one kernel cache for the session (its bridge takes seconds), one home for each test."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory):
    folder = os.environ.get("PRAGMA_KERNEL_CACHE") or str(tmp_path_factory.mktemp("kernels"))
    os.environ["PRAGMA_KERNEL_CACHE"] = folder
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "pragma-home"
    monkeypatch.setenv("PRAGMA_HOME", str(folder))
    return folder

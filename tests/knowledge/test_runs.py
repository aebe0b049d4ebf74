"""Run folders: whole files, names, locks that die with their process, and refusals in one line."""

import os
import signal
import subprocess
import sys

import pytest

from knowledge import runs
from knowledge.runs import RunError

REQUEST = {"task": "/x/softmax.py", "started": "2026-11-30T00:00:00+00:00", "context": {}}


def test_names_are_repeatable_for_a_key():
    assert runs.name("/x/My Soft-Max.py", "a") == runs.name("/x/My Soft-Max.py", "a")
    assert runs.name("/x/My Soft-Max.py", "a")[8:-4] == "-my-soft-max-"
    assert runs.name("", "a")[8:-4] == "-task-"


def test_create_twice_keeps_the_first_request(tmp_path):
    place = runs.create(tmp_path, "one", REQUEST)
    runs.create(tmp_path, "one", {**REQUEST, "started": "later"})
    assert runs.request(tmp_path, "one") == REQUEST
    assert sorted(path.name for path in place.iterdir()) == ["profiles", "request.json", "sketches", "sources"]


def test_texts_are_kept_by_hash(tmp_path):
    place = runs.create(tmp_path, "one", REQUEST)
    sha = runs.keep(place, "sources", "print()")
    assert runs.keep(place, "sources", "print()") == sha
    assert runs.text_path(place, "sources", sha).read_text() == "print()"
    assert [path.name for path in (place / "sources").iterdir()] == [f"{sha}.py"]


@pytest.mark.parametrize("name", ["../etc", "", "a/b", ".hidden", "x" * 200])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path, name):
    with pytest.raises(RunError) as caught:
        runs.request(tmp_path, name)
    assert caught.value.kind == "unknown-run"


def test_an_unknown_run_is_named(tmp_path):
    with pytest.raises(RunError, match="no run 'nothing'") as caught:
        runs.request(tmp_path, "nothing")
    assert caught.value.kind == "unknown-run"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(RunError) as caught:
        runs.create(tmp_path, "one", REQUEST)
    assert caught.value.kind == "folder"
    assert "\n" not in caught.value.message


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no full device here")
def test_a_full_disk_is_one_line(tmp_path):
    place = runs.create(tmp_path, "one", REQUEST)
    program = (
        "import resource, sys; from pathlib import Path; from knowledge import runs\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"runs.write(Path({str(place)!r}) / 'run.json', 'x' * 1000)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "RunError: cannot write" in ended.stderr
    assert not (place / "run.json").exists()
    assert not list(place.glob(".run.json*"))


HOLD = """
import sys, time
from pathlib import Path
from knowledge import runs
with runs.lock(Path(sys.argv[1])):
    print('held', flush=True)
    time.sleep(60)
"""


def test_a_lock_ends_with_its_process(tmp_path):
    place = runs.create(tmp_path, "one", REQUEST)
    assert runs.status(place) == "interrupted"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    assert runs.status(place) == "running"
    with pytest.raises(RunError) as caught, runs.lock(place):
        pass
    assert caught.value.kind == "busy"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert runs.status(place) == "interrupted"
    with runs.lock(place):
        assert runs.status(place) == "running"
    runs.write(place / "run.json", "{}")
    assert runs.status(place) == "finished"


def test_listing_is_newest_first(tmp_path):
    runs.create(tmp_path, "old", {**REQUEST, "started": "2026-01-01T00:00:00+00:00"})
    new = runs.create(tmp_path, "new", REQUEST)
    runs.write(new / "run.json", '{"verified": true}')
    assert [(row["run_id"], row["status"], row["result"]) for row in runs.listing(tmp_path)] == [
        ("new", "finished", {"verified": True}),
        ("old", "interrupted", {}),
    ]


def test_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PRAGMA_HOME", str(tmp_path))
    assert runs.home() == tmp_path
    assert runs.home("/elsewhere").as_posix() == "/elsewhere"
    monkeypatch.delenv("PRAGMA_HOME")
    assert runs.home().name == ".pragma"

"""The best-kernel store: the better one stays, two processes at once lose nothing, a broken file is moved aside."""

import multiprocessing
import sqlite3

from knowledge.store import Kernel, Key, Store

KEY = Key("task", "cpp", "device", "strict")


def _kernel(speedup, source="source"):
    return Kernel(source, {"vector": 16, "math": "poly"}, speedup, speedup * 0.9, speedup * 1.1, "run")


def test_round_trip_and_only_a_better_one_replaces(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    assert store.get(KEY) is None
    assert store.put(KEY, _kernel(2.0, "two"))
    assert not store.put(KEY, _kernel(1.5, "slower"))
    assert not store.put(KEY, _kernel(2.0, "equal"))
    assert store.get(KEY) == _kernel(2.0, "two")
    assert store.put(KEY, _kernel(2.5, "three"))
    assert store.get(KEY) == _kernel(2.5, "three")


def test_keys_are_apart(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    store.put(KEY, _kernel(2.0))
    for other in (Key("x", "cpp", "device", "strict"), Key("task", "x", "device", "strict"), Key("task", "cpp", "x", "strict")):
        assert store.get(other) is None
    assert store.get(Key("task", "cpp", "device", "bf16")) is None


def test_drop_forgets_that_kernel_only(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    store.put(KEY, _kernel(2.0, "wrong"))
    assert not store.drop(KEY, "another")
    assert store.drop(KEY, "wrong")
    assert store.get(KEY) is None


def _write(path, start, barrier):
    barrier.wait()
    store = Store(path)
    for step in range(40):
        value = 1 + (2 * step + start) / 100
        store.put(KEY, _kernel(value, f"source of {value}"))
        store.put(Key(f"task-{start}-{step}", "cpp", "device", "strict"), _kernel(value))


def test_two_processes_at_once(tmp_path):
    path = tmp_path / "store.sqlite"
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    writers = [spawn.Process(target=_write, args=(path, start, barrier)) for start in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    best = Store(path).get(KEY)
    assert best == _kernel(1.79, "source of 1.79")
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM kernels").fetchone() == (81,)


def _meet_broken(path, start, barrier):
    barrier.wait()
    Store(path).put(Key(f"task-{start}", "cpp", "device", "strict"), _kernel(2.0))


def test_a_broken_file_is_moved_aside_once_and_told(tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"this is no database " * 100)
    store = Store(path)
    assert store.put(KEY, _kernel(2.0))
    assert store.get(KEY) == _kernel(2.0)
    assert len(store.notes) == 1
    assert "moved" in store.notes[0]
    assert len(list(tmp_path.glob("store.sqlite.broken-*"))) == 1


def test_two_processes_that_meet_a_broken_file_keep_both_rows(tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"this is no database " * 100)
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    writers = [spawn.Process(target=_meet_broken, args=(path, start, barrier)) for start in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert all(Store(path).get(Key(f"task-{start}", "cpp", "device", "strict")) for start in (0, 1))
    assert len(list(tmp_path.glob("store.sqlite.broken-*"))) == 1


def test_a_damaged_page_is_moved_aside_too(tmp_path):
    path = tmp_path / "store.sqlite"
    Store(path).put(KEY, _kernel(2.0))
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(bytes(data))
    store = Store(path)
    assert store.get(KEY) is None
    assert store.notes

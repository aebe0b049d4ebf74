"""Whatever a candidate does to its process, the verdict is typed and the bench goes on."""

import os
import time
from pathlib import Path

import pytest

from tests.measure.conftest import HONEST, candidate

DEATHS = {
    "os._exit": ("crash", "os._exit(0)"),
    "segfault": ("crash", "import ctypes\nctypes.string_at(0)"),
    "abort": ("crash", "os.abort()"),
    "memory hog": ("memory", "return torch.ones(1 << 37)"),
    "memory in steps": ("memory", "hog = []\nwhile True:\n    hog.append(torch.empty(1 << 27, dtype=torch.uint8))"),
    "hang": ("timeout", "time.sleep(3600)"),
    "busy hang": ("timeout", "while True: pass"),
    "server killed": ("hostile", "import signal\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(3600)"),
}


@pytest.mark.parametrize("name", DEATHS)
def test_deaths_are_typed_and_survived(bench, name):
    kind, body = DEATHS[name]
    verdict = bench.judge(candidate(body))
    assert (verdict["ok"], verdict["kind"]) == (False, kind), verdict["message"]
    assert bench.profile(HONEST)["ok"]


def test_death_while_timing(bench):
    body = "COUNT.append(1)\nif len(COUNT) > 8: os._exit(3)\nreturn torch.softmax(x, 1) * self.weight"
    verdict = bench.judge(candidate(body, "COUNT = []"))
    assert verdict["kind"] == "crash" and "exit 3" in verdict["message"]


RUN = '{"mutated": [], "inputs": [], "outputs": [["0", 1]]}'
FORGED = [
    "not json",
    "[1, 2]",
    '{"ok": true}',
    '{"ok": true, "runs": []}',
    '{"ok": 1, "runs": {}}',
    f'{{"ok": true, "runs": [{RUN}, {RUN}, {RUN}, {RUN}]}}',
]


@pytest.mark.parametrize("packet", FORGED)
def test_a_forged_reply_is_hostile(bench, packet):
    body = f"""
        import socket
        for fd in range(3, 64):
            try:
                socket.socket(fileno=os.dup(fd)).send({packet.encode()!r})
            except OSError:
                pass
        time.sleep(0.5)
        return x
    """
    verdict = bench.judge(candidate(body))
    assert not verdict["ok"] and verdict["kind"] == "hostile", verdict
    assert bench.profile(HONEST)["ok"]


def test_a_sleeping_grandchild_is_killed(bench, tmp_path):
    mark = f"pragma-grandchild-{os.getpid()}"
    body = f"""
        import subprocess
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600) # {mark}"], start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        os._exit(0)
    """
    assert bench.judge(candidate(body))["kind"] == "crash"
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline and _running(mark):
        time.sleep(0.05)
    assert not _running(mark)


def _running(mark):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_a_flood_of_output_neither_blocks_nor_fills(bench):
    verdict = bench.judge(candidate("for _ in range(200): os.write(1, b'x' * 65536)\nos._exit(7)"))
    assert verdict["kind"] == "crash" and len(verdict["evidence"]["log"]) <= 8192


def test_a_full_disk_stays_the_candidates_trouble(bench):
    body = """
        with open(os.path.join(os.environ["TMPDIR"], "fill"), "wb") as file:
            while True:
                file.seek(1 << 30, 1)
                file.write(b"x")
    """
    verdict = bench.judge(candidate(body))
    assert verdict["kind"] == "run" and "File too large" in verdict["message"]

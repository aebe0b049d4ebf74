"""`langgraph dev` serves the graph from the checkout, and a run through its HTTP API reaches its end."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("langgraph")


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _call(base, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=240) as answer:
        return json.load(answer)


@pytest.fixture
def server(tmp_path, home):
    port = _free_port()
    environment = {
        **os.environ,
        "PRAGMA_HOME": str(home),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
    }
    log = tmp_path / "server.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            [str(PROGRAM), "dev", "--no-browser", "--port", str(port)], cwd=ROOT, env=environment, stdout=output, stderr=output
        ) as running,
    ):
        base = f"http://127.0.0.1:{port}"
        try:
            _wait(base, running, log)
            yield base, log
        finally:
            running.terminate()
            running.wait(20)


def _wait(base, running, log):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert running.poll() is None, log.read_text()
        try:
            return _call(base, "/ok")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="langgraph-cli[inmem] is not installed")
def test_a_run_over_http(server, tiny, home):
    base, log = server
    (assistant,) = _call(base, "/assistants/search", {})
    form = _call(base, f"/assistants/{assistant['assistant_id']}/schemas")["input_schema"]["properties"]
    assert 1 <= len(form) <= 3
    assert all(field["description"] for field in form.values())
    thread = _call(base, "/threads", {})
    asked = {"assistant_id": "pragma", "input": {"task": str(tiny)}, "context": {"attempts": 2}}
    state = _call(base, f"/threads/{thread['thread_id']}/runs/wait", asked)
    assert [row["n"] for row in state["rows"]] == [1, 2], state
    assert state["best"], state
    result = json.loads((home / "runs" / state["run_id"] / "run.json").read_text())
    assert result["verified"]
    assert "Restarting" not in log.read_text()

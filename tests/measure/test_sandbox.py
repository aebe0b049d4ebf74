"""What a candidate can see and touch, in every tier that works here."""

import os

import pytest

from measure import sandbox
from measure.bench import Bench
from tests.measure.conftest import HONEST, candidate

TIERS = [t for t in sandbox.TIERS if not sandbox._reason(t)]
WALLED = [t for t in TIERS if t != "rlimits"]


@pytest.fixture(scope="module")
def benches(scale_task, quick, kernel_cache):
    os.environ["PRAGMA_TEST_SECRET"] = "hunter2"
    made = {tier: Bench(scale_task, sandbox=tier, limits=quick) for tier in TIERS}
    yield made
    for bench in made.values():
        bench.close()
    del os.environ["PRAGMA_TEST_SECRET"]


def finding(bench, body):
    """What the candidate reports by raising it."""
    verdict = bench.judge(candidate(body + "\nraise LookupError(repr(found))"))
    assert verdict["kind"] == "run", verdict["message"]
    return verdict["message"].removeprefix("LookupError: ")


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_judges(benches, tier):
    verdict = benches[tier].judge(HONEST)
    assert verdict["ok"], verdict["message"]
    assert verdict["evidence"]["sandbox_tier"] == tier


@pytest.mark.parametrize("tier", TIERS)
def test_secrets_of_the_environment_are_not_visible(benches, tier):
    body = "found = [k for k in os.environ if 'SECRET' in k] + ['hunter2' in open('/proc/%d/environ' % os.getppid()).read()]"
    assert finding(benches[tier], body) == "[False]"


@pytest.mark.parametrize("tier", WALLED)
def test_there_is_no_network(benches, tier):
    body = """
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError as error:
    found = [error.errno, [n for _, n in socket.if_nameindex() if n != "lo"]]
"""
    assert finding(benches[tier], body).endswith("[]]")


@pytest.mark.parametrize("tier", WALLED)
def test_only_its_own_folder_is_writable(benches, tier, tmp_path):
    body = f"""
found = []
for place in ({str(tmp_path)!r}, os.path.dirname(torch.__file__), "/etc", os.environ["PRAGMA_KERNEL_CACHE_RO"], "/var/tmp"):
    try:
        open(os.path.join(place, "pragma-was-here"), "w")
        found.append(place)
    except OSError:
        pass
open(os.path.join(os.environ["TMPDIR"], "fine"), "w").write("x")
"""
    assert finding(benches[tier], body) == "[]"


@pytest.mark.parametrize("tier", WALLED)
def test_goldens_and_task_are_out_of_sight(benches, tier, scale_task):
    body = f"""
root = os.path.dirname(os.path.dirname(os.environ["TMPDIR"]))
root = os.path.dirname(root)
try:
    task = open({scale_task.path!r}).read()
except OSError:
    task = ""
found = sorted(n for n in os.listdir(root) if n != "lock"), task
"""
    assert finding(benches[tier], body) == "(['cand', 'given'], '')"


@pytest.mark.parametrize("tier", WALLED)
def test_the_walls_cannot_be_taken_down(benches, tier):
    body = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = [libc.mount(b"tmpfs", b"/etc", b"tmpfs", 0, None), libc.umount2(b"/tmp", 2), libc.mount(None, b"/", None, 4096 | 32, None)]
"""
    assert finding(benches[tier], body) == "[-1, -1, -1]"


def test_doctor_gets_the_tier_and_what_would_lift_it():
    report = sandbox.probe()
    assert report["tier"] == sandbox.tier() and report["lift"]
    with pytest.raises(ValueError, match="one of bubblewrap"):
        sandbox.tier("chroot")

"""The judge's handles: a Host is one sandbox with its warm server, a Child one process forked there for one candidate.

Whatever happens in a child (silence, death, nonsense) surfaces as Rejected with a typed verdict, and the host goes on.
"""

import concurrent.futures
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measure import server
from measure.channel import Channel, Closed, Late, Malformed, Message, pair, remaining
from measure.limits import Limits
from measure.sandbox import ROOT, Box, environment
from measure.verdict import Rejected

LOG_KEPT = 8192
# a parent-death signal follows the thread that spawned, so one thread spawns and stays
SPAWNER = concurrent.futures.ThreadPoolExecutor(1, "pragma-spawner")


class Host:
    """Starts its server at once and waits for it only when the first child is wanted."""

    def __init__(self, role: str, box: Box, scratch: Path, limits: Limits) -> None:
        self.role, self.box, self.scratch, self.limits = role, box, scratch, limits
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.control: Channel | None = None
        self.ready = False
        self.closed = False
        self.start()

    def start(self) -> None:
        """Launches the server in its sandbox."""
        if self.closed:
            raise Rejected("environment", "the bench was closed meanwhile")
        self.control, theirs = pair()
        boot = server.BOOT.format(root=str(ROOT), fd=theirs.fileno(), role=self.role)
        argv = self.box.command([sys.executable, "-c", boot])
        env = environment({"HOME": str(self.scratch), "TMPDIR": str(self.scratch), **self.box.walls()})
        self.error = (self.scratch / f"server-{self.role}.log").open("wb")
        launch = SPAWNER.submit(
            subprocess.Popen,
            argv,
            env=env,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.error,
            stderr=self.error,
            cwd="/",
            start_new_session=True,
        )
        self.process = launch.result()
        theirs.close()
        self.ready = False

    def spawn(self, env: dict[str, str], rlimits: dict[str, int]) -> "Child":
        """A fresh child; a dead server is replaced first."""
        if self.process is None or self.process.poll() is not None:
            self.restart()
        try:
            return self._spawn(env, rlimits)
        except (Closed, Malformed):
            self.restart()
            return self._spawn(env, rlimits)

    def _spawn(self, env: dict[str, str], rlimits: dict[str, int]) -> "Child":
        control = self._awaited()
        self.number += 1
        channel, theirs = pair()
        log_read, log_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(log_read, False)
        order = {"op": "spawn", "child": self.number, "environment": env, "rlimits": rlimits}
        try:
            control.send(order, [theirs.fileno(), log_write])
        except Closed:
            channel.close()
            os.close(log_read)
            raise
        finally:
            theirs.close()
            os.close(log_write)
        return Child(self, self.number, channel, log_read)

    def _awaited(self) -> Channel:
        assert self.control is not None
        if not self.ready:
            try:
                self.control.receive(self.limits.start_s)
            except (Closed, Late, Malformed) as error:
                raise Rejected("environment", f"the {self.role}'s sandbox did not start: {error}", {"log": self._log()}) from error
            self.ready = True
        return self.control

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.scratch / f"server-{self.role}.log").read_text(errors="replace")[-800:]
        return ""

    def restart(self) -> None:
        """Ends the server with all it holds and starts another."""
        self._stop()
        self.start()

    def hang_up(self) -> None:
        """Lets the server know that it may end, without waiting for it."""
        self.closed = True
        if self.control is not None:
            self.control.close()

    def close(self) -> None:
        """Kills the sandbox and reaps it, for good; closing twice is harmless."""
        self.closed = True
        self._stop()

    def _stop(self) -> None:
        if self.control is not None:
            self.control.close()
        if self.process is not None:
            _end(self.process)
            self.error.close()
        self.process, self.control = None, None


def _end(process: subprocess.Popen[bytes]) -> None:
    """A grace for the server to clear away its children after the hang-up, then the hammer."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Child:
    """One forked process: ask it things with a deadline, kill it with all its offspring."""

    def __init__(self, host: Host, number: int, channel: Channel, log: int) -> None:
        self.host, self.number, self.channel, self.log = host, number, channel, log
        self.control = host.control
        self.text = b""
        self.exited: Message | None = None
        self.alive = True

    def ask(self, request: Message, timeout: float, fds: list[int] | None = None) -> Message:
        """The child's reply to a request, ok or not; Rejected when it dies, lies or stays silent."""
        deadline = time.monotonic() + timeout
        with contextlib.suppress(Closed):  # it died before it was asked: the wait below says how
            self.channel.send(request, fds)
        return self.wait(deadline, timeout, request["op"])

    def wait(self, deadline: float, timeout: float, what: str) -> Message:
        """The child's next message."""
        try:
            while True:
                message = self._step(deadline, what, timeout)
                if message is not None:
                    return message
        except Rejected:
            self.kill()
            raise

    def _step(self, deadline: float, what: str, timeout: float) -> Message | None:
        ready = self._poll(remaining(deadline))
        if self.log in ready:
            self._drain()
        if self.channel in ready:
            return self._message(deadline)
        if self.host.control in ready:
            self._control_event()
            self._raise_death()
        if not ready and time.monotonic() >= deadline:
            raise Rejected("timeout", f"{what}: no answer within {timeout:.3g} s", self._log_evidence())
        return None

    def _poll(self, timeout: float) -> list[Any]:
        sources: list[Any] = [self.channel, self.host.control, *([self.log] if self.log >= 0 else [])]
        return select.select(sources, [], [], timeout)[0]

    def _message(self, deadline: float) -> Message:
        try:
            return self.channel.take()
        except Malformed as error:
            raise Rejected("hostile", f"the candidate's process sent a malformed reply ({error})", self._log_evidence()) from error
        except Closed:
            self._await_exit(min(deadline, time.monotonic() + 5.0))
            self._raise_death()
            raise Rejected("hostile", "the candidate's process closed its channel", self._log_evidence()) from None

    def _await_exit(self, deadline: float) -> None:
        """Waits for the server's word about this child's end."""
        assert self.host.control is not None
        while self.exited is None and select.select([self.host.control], [], [], remaining(deadline))[0]:
            self._control_event()

    def _control_event(self) -> None:
        assert self.host.control is not None
        try:
            event = self.host.control.take()
        except (Closed, Malformed):
            self.host.restart()
            raise Rejected("hostile", "the sandbox's server was killed from inside", self._log_evidence()) from None
        if event.get("child") == self.number:
            self.exited = event

    def _raise_death(self) -> None:
        if self.exited is None:
            return
        status = self.exited["status"]
        evidence = {**self._log_evidence(), "maxrss_kb": self.exited["maxrss_kb"]}
        if os.WIFSIGNALED(status):
            raise Rejected(*_signal_kind(os.WTERMSIG(status)), evidence)
        code = os.WEXITSTATUS(status)
        raise Rejected("crash", f"the candidate's process ended by itself (exit {code}) before it answered", evidence)

    def _drain(self) -> None:
        """Keeps the tail of what was printed, so that a chatty candidate neither blocks nor fills a disk."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self.log, 1 << 16)
            if not data:
                os.close(self.log)
                self.log = -1
            self.text = (self.text + data)[-LOG_KEPT:]

    def _log_evidence(self) -> dict[str, Any]:
        while self.log >= 0 and select.select([self.log], [], [], 0)[0]:
            before = len(self.text)
            self._drain()
            if len(self.text) >= LOG_KEPT and before >= LOG_KEPT:
                break
        return {"log": self.text.decode(errors="replace")[-2000:]}

    def kill(self) -> None:
        """Kills the child and all that it started, and waits for the server's word; a mute server is replaced."""
        if not self.alive:
            return
        self.alive = False
        self.channel.close()
        if self.log >= 0:
            os.close(self.log)
            self.log = -1
        try:
            if self.exited is None and self.control is not None and self.control is self.host.control:
                self.control.send({"op": "kill"})
                self._await_exit(time.monotonic() + 5.0)
                if self.exited is None:
                    self.host.restart()
        except (Closed, Rejected):
            self.host.restart()


def _signal_kind(number: int) -> tuple[str, str]:
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return "memory", "the candidate's process was killed, most likely by the kernel for want of memory"
    if number == signal.SIGXCPU:
        return "timeout", "the candidate's process used up its processor time"
    return "crash", f"the candidate's process died of {name}"

"""The warm server in a sandbox: imports torch, never computes (a fork after a parallel region hangs), forks one child at a time.

It talks to the judge over its control channel: {"op": "spawn"} with two descriptors (the child's channel, its log),
{"op": "kill"}; it reports {"event": "ready" | "exit"}. It adopts orphans, so whatever a child leaves behind is found and killed.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import confine, limits
from measure.channel import Channel, Closed

BOOT = "import sys; sys.path.insert(0, {root!r}); from measure import server; server.main({fd}, {role!r})"


class Server:
    """Owns at most one living child."""

    def __init__(self, control: Channel, work: Callable[[Channel], None]) -> None:
        self.control, self.work = control, work
        self.child, self.number = 0, 0
        self.wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.wake_write = wake_write
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Runs until the judge closes its end."""
        while True:
            sources: list[Any] = [self.control, self.wake]
            ready = select.select(sources, [], [])[0]
            if self.wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake, 4096)
                self._reap()
            if self.control in ready:
                self._obey(self.control.take())

    def _obey(self, order: dict[str, Any]) -> None:
        if order["op"] == "spawn":
            self._spawn(order, *self.control.fds)
        elif order["op"] == "kill":
            self._purge()

    def _spawn(self, order: dict[str, Any], sock: int, log: int) -> None:
        self._purge()
        self.number = order["child"]
        pid = os.fork()
        if pid == 0:
            self._become(order, sock, log)
        self.child = pid
        os.close(sock)
        os.close(log)

    def _become(self, order: dict[str, Any], sock: int, log: int) -> None:
        """The child's whole life; never returns."""
        try:
            os.setsid()
            limits.prctl(limits.PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (self.control.fileno(), self.wake, self.wake_write):
                os.close(fd)
            _redirect(log)
            os.environ.update(order["environment"])
            limits.apply(order["rlimits"])
            self.work(Channel(socket.socket(fileno=sock)))
        finally:
            os._exit(0)

    def _reap(self) -> None:
        """Collects the dead; the main child's end also ends whatever it started."""
        ended = None
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.child:
                ended = {"event": "exit", "child": self.number, "status": status, "maxrss_kb": usage.ru_maxrss}
                self.child = 0
        if ended:
            self._purge()
            self.control.send(ended)

    def _purge(self) -> None:
        """Kills and reaps every descendant; reports the main child's end if it was alive."""
        while pids := _children():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in pids:
                self._collect(pid)

    def _collect(self, pid: int) -> None:
        with contextlib.suppress(ChildProcessError):
            _, status, usage = os.wait4(pid, 0)
            if pid == self.child:
                self.child = 0
                self.control.send({"event": "exit", "child": self.number, "status": status, "maxrss_kb": usage.ru_maxrss})


def _children() -> list[int]:
    me, found = str(os.getpid()), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[1] == me:
                found.append(int(stat.parent.name))
    return found


def _redirect(log: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(null)


def main(fd: int, role: str) -> None:
    """The server process: `role` is "candidate" or "reference" and decides which worker the children become."""
    if plan := os.environ.pop("PRAGMA_WALLS", ""):
        confine.enter(**json.loads(plan))
    limits.prctl(limits.PR_SET_CHILD_SUBREAPER, 1)
    from measure import reference, worker  # torch comes in here, once for all children

    make: Callable[[Channel], worker.Worker] = reference.ReferenceWorker if role == "reference" else worker.Worker
    control = Channel(socket.socket(fileno=fd))
    server = Server(control, lambda channel: make(channel).serve())
    gc.freeze()
    try:
        control.send({"event": "ready"})
        server.serve()
    except Closed:
        server._purge()
    sys.exit(0)

"""JSON messages over a SOCK_SEQPACKET pair: one packet is one message, so a torn frame cannot exist; every wait has a deadline.

File descriptors may ride along, which is how a child gets its own channel and the file that takes its outputs.
"""

import json
import select
import socket
import time
from typing import Any

LIMIT = 128 * 1024
Message = dict[str, Any]


class Closed(Exception):
    """The other end is gone."""


class Late(Exception):
    """No message came before the deadline."""


class Malformed(Exception):
    """What came is not a JSON object."""


class Channel:
    """One end of the pair."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fds: list[int] = []

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, message: Message, fds: list[int] | None = None, timeout: float = 10.0) -> None:
        """Sends one packet; raises Closed when the peer is gone or does not read for `timeout` seconds."""
        packet = json.dumps(message).encode()
        if not select.select([], [self.sock], [], timeout)[1]:
            raise Closed("the peer does not read")
        try:
            socket.send_fds(self.sock, [packet], fds or [])
        except OSError as error:
            raise Closed(str(error)) from error

    def take(self) -> Message:
        """Reads the packet that is already there; received descriptors land in `self.fds`."""
        try:
            packet, self.fds, flags, _ = socket.recv_fds(self.sock, LIMIT, 8)
        except OSError as error:
            raise Closed(str(error)) from error
        if not packet:
            raise Closed("end of stream")
        return _parsed(packet, bool(flags & socket.MSG_TRUNC))

    def receive(self, timeout: float | None = None) -> Message:
        """Waits at most `timeout` seconds (None: for ever) for the next message."""
        if not select.select([self.sock], [], [], timeout)[0]:
            raise Late(f"no message within {timeout} s")
        return self.take()

    def close(self) -> None:
        self.sock.close()


def _parsed(packet: bytes, cut: bool) -> Message:
    try:
        message = json.loads(packet)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {packet[:80]!r}") from error
    if cut or not isinstance(message, dict):
        raise Malformed(f"not a JSON object: {packet[:80]!r}")
    return message


def pair() -> tuple[Channel, socket.socket]:
    """Our end as a channel, and the raw end to hand over."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(ours), theirs


def remaining(deadline: float) -> float:
    """Seconds left until a `time.monotonic` deadline, never negative."""
    return max(0.0, deadline - time.monotonic())

"""Buffers after one call, as BatchNorm's running statistics in training mode: reported, not yet a reason to refuse."""

import os

import torch

from measure import values
from measure.host import Child
from measure.session import Case, Session
from measure.verdict import Rejected

CLOSE = 1e-4
State = dict[str, torch.Tensor]


def compared(child: Child, session: Session, case: Case) -> str:
    """ "updated", "not updated" or "differs" where the reference's call changes a buffer, else an empty string."""
    if case.after is None:
        return ""
    base, after = values.read(session.scratch.given / "state.base"), values.read(case.after)
    moving = [k for k in session.meta["buffers"] if k in base and not torch.equal(base[k], after[k])]
    return _verdict(_own(child, session, case), base, after, moving) if moving else ""


def _own(child: Child, session: Session, case: Case) -> State | None:
    """The candidate's state dict after one call on the case's inputs; None when the call or the reading fails."""
    output, state = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("output", "state"))
    try:
        timeout = session.limits.run_s + 50 * case.reply["seconds"]
        ran = child.ask({"op": "run", "inputs": [str(case.inputs)]}, timeout, [output])
        dumped = child.ask({"op": "dump_state"}, session.limits.run_s, [state]) if ran.get("ok") else ran
        value = values.Stored(state).value() if dumped.get("ok") else None
        return value if isinstance(value, dict) else None
    except values.Corrupt as error:
        raise Rejected("hostile", f"the state dict's bytes are not what their header says ({error})") from error
    finally:
        os.close(output)
        os.close(state)


def _verdict(own: State | None, base: State, after: State, moving: list[str]) -> str:
    if own is None:
        return "differs"
    got = [own.get(k) for k in moving]
    if all(_near(g, after[k]) for g, k in zip(got, moving, strict=True)):
        return "updated"
    still = all(_near(g, base[k]) for g, k in zip(got, moving, strict=True))
    return "not updated" if still else "differs"


def _near(left: torch.Tensor | None, right: torch.Tensor) -> bool:
    if not isinstance(left, torch.Tensor) or left.shape != right.shape:
        return False
    want = right.double()
    return torch.allclose(left.double(), want, rtol=CLOSE, atol=CLOSE * float(want.abs().max()))

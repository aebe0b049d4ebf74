"""Run folders: PRAGMA_HOME/runs/<run_id>/ and what stands in them.

request.json  task and settings, written at the start, so that a killed run can be resumed by its name alone
sources/<sha>.py, sketches/<sha>.sketch, profiles/<sha>.json   by content hash: writing one twice is harmless
run.json, best.py, report.html   the result;  lock   held while a process works on the run
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict

Status = Literal["finished", "running", "interrupted"]


class RunError(Exception):
    """A run folder that cannot be used: `kind` is unknown-run, folder (read-only, full, not ours) or busy."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Listing(TypedDict):
    """One line of `pragma runs`; `result` is run.json, or {} while there is none."""

    run_id: str
    task: str
    status: Status
    started: str
    result: dict[str, Any]


def home(given: str = "") -> Path:
    """The folder of everything that PRAGMA keeps: given, else $PRAGMA_HOME, else ~/.pragma."""
    return Path(given or os.environ.get("PRAGMA_HOME") or "~/.pragma").expanduser().absolute()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def name(task: str, key: str) -> str:
    """A run's name, such as 20261130-softmax-ab12; `key` makes it unique and repeatable."""
    stem = re.sub(r"[^a-z0-9]+", "-", Path(task).stem.lower()).strip("-")[:40] or "task"
    return f"{datetime.now(UTC):%Y%m%d}-{stem}-{digest(key)[:4]}"


def folder(root: Path, run_id: str) -> Path:
    """The folder of a run that may not exist yet; a name that would leave runs/ is refused."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", run_id):
        raise RunError("unknown-run", f"'{run_id}' is no run name")
    return root / "runs" / run_id


def create(root: Path, run_id: str, request: dict[str, Any]) -> Path:
    """Makes the run's folder and writes its request; an existing folder is kept as it is (a node that runs again)."""
    place = folder(root, run_id)
    for part in ("sources", "sketches", "profiles"):
        with _told(place / part):
            (place / part).mkdir(parents=True, exist_ok=True)
    if not (place / "request.json").exists():
        write(place / "request.json", json.dumps(request, indent=1))
    return place


def fresh(root: Path, task: str) -> str:
    """A name that no run in this home has."""
    while True:
        run_id = name(task, os.urandom(8).hex())
        if not folder(root, run_id).exists():
            return run_id


def is_open(root: Path, run_id: str) -> bool:
    """Whether a run of that name was begun and has no result yet."""
    try:
        place = folder(root, run_id)
    except RunError:
        return False
    return (place / "request.json").exists() and not (place / "run.json").exists()


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all, whoever kills the writer."""
    with _told(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def keep(place: Path, part: Literal["sources", "sketches"], text: str) -> str:
    """Stores a text by its hash and gives the hash."""
    sha = digest(text)
    path = text_path(place, part, sha)
    if not path.exists():
        write(path, text)
    return sha


def text_path(place: Path, part: Literal["sources", "sketches"], sha: str) -> Path:
    return place / part / f"{sha}.{'py' if part == 'sources' else 'sketch'}"


def load(path: Path) -> dict[str, Any]:
    """A JSON object of the run's folder; {} when there is none."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RunError("folder", f"cannot read {path}: {error}") from error


def request(root: Path, run_id: str) -> dict[str, Any]:
    """What the run was asked for; raises RunError when there is no such run."""
    found = load(folder(root, run_id) / "request.json")
    if not found:
        raise RunError("unknown-run", f"no run '{run_id}' in {root / 'runs'}; `pragma runs` lists them")
    return found


def result(root: Path, run_id: str) -> dict[str, Any]:
    """The run's run.json, or {} while it is unfinished."""
    return load(folder(root, run_id) / "run.json")


@contextlib.contextmanager
def lock(place: Path) -> Iterator[None]:
    """Holds the run for this process: the kernel drops the lock with the process, however it ends."""
    with _told(place):
        file = (place / "lock").open("a")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError("busy", f"run '{place.name}' is being worked on by another process") from None
        yield


def status(place: Path) -> Status:
    """finished, running (a process holds its lock) or interrupted."""
    try:
        with (place / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "running"
    except OSError:
        pass
    return "finished" if (place / "run.json").exists() else "interrupted"


def listing(root: Path) -> list[Listing]:
    """Every run of this home, newest first."""
    places = [path.parent for path in (root / "runs").glob("*/request.json")]
    rows = [_line(place) for place in places]
    return sorted(rows, key=lambda row: row["started"], reverse=True)


def _line(place: Path) -> Listing:
    asked = load(place / "request.json")
    return Listing(
        run_id=place.name,
        task=asked.get("task", ""),
        status=status(place),
        started=asked.get("started", ""),
        result=load(place / "run.json"),
    )


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """An operating system's refusal as one line that names the place."""
    try:
        yield
    except OSError as error:
        raise RunError("folder", f"cannot write {path}: {error.strerror or error}; set PRAGMA_HOME to a writable folder") from error

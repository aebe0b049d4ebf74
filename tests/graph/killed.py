"""A run that dies by SIGKILL in one node: `killed.py HOME TASK NODE` (an empty TASK resumes the home's only run).

It dies after the node's last line, when everything that the node writes is written and its checkpoint is not: the worst
moment. An empty NODE lets the run finish. Prints each event as one JSON line.
"""

import functools
import json
import os
import signal
import sys
from pathlib import Path

from graph import build
from graph.context import Context
from graph.run import resume, start
from knowledge import runs

ATTEMPTS = 3


def deadly(node):
    """The node with a SIGKILL after it."""

    @functools.wraps(node)
    def killed(state, runtime):
        node(state, runtime)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def main(home, task, node):
    if node:
        build.NODES[node] = deadly(build.NODES[node])
    if task:
        _, events = start(task, Context(home=home, attempts=ATTEMPTS))
    else:
        events = resume(runs.listing(Path(home))[0]["run_id"], home)
    for event in events:
        print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

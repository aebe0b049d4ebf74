"""A run that dies by SIGKILL in one node: `killed.py HOME TASK NODE begin|end` (an empty TASK resumes the home's only run).

`begin` kills before the node's first line, `end` after its last one, when everything it writes is written and its
checkpoint is not: the worst moment. An empty NODE lets the run finish. Prints each event as one JSON line.
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


def deadly(node, moment):
    """The node with a SIGKILL before or after it."""

    @functools.wraps(node)
    def killed(state, runtime):
        if moment == "end":
            node(state, runtime)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def main(home, task, node, moment):
    if node:
        build.NODES[node] = deadly(build.NODES[node], moment)
    if task:
        _, events = start(task, Context(home=home, attempts=ATTEMPTS))
    else:
        events = resume(runs.listing(Path(home))[0]["run_id"], home)
    for event in events:
        print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The engine of examples/plugins, whose messages are files, started so that a test can spoil its ranks first."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

from linkstep.core import plugins
from linkstep.engines.transports.engine import ENGINES
from linkstep.engines.transports.start import started_process

TESTS = Path(__file__).parents[1]
_RANK = """
import sys
sys.path.insert(0, {tests!r})
from support import file_engine
from linkstep.engines.bench.rank import main
from pathlib import Path
file_engine.register()
sys.exit(main({engine!r}, Path({folder!r})))
"""


def _example():
    """Return what the example defines, without what it registers."""
    start = len(plugins._registered)
    found = runpy.run_path(str(TESTS.parent / "examples" / "plugins" / "engine.py"))
    plugins._remove(plugins._registered[start:])
    return found


_EXAMPLE = _example()
FileTransport = _EXAMPLE["FileTransport"]


def start(num_ranks, command, environment, place, folder):
    """Start a process for each rank, which registers the row before it looks itself up."""
    code = _RANK.format(tests=str(TESTS), engine=command[-2], folder=command[-1])
    variables = [environment | {"FILE_RANK": str(rank), "FILE_RANKS": str(num_ranks)} for rank in range(num_ranks)]
    return [started_process([sys.executable, "-c", code], own) for own in variables]


ENGINE = replace(_EXAMPLE["ENGINE"], start=start)


def register():
    """Add the row."""
    ENGINES[ENGINE.name] = ENGINE

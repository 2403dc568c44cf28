"""Kernels are compiled once before the workers of pytest-xdist start: two workers would compile each of them twice.
For the same reason every other worker reads the files of tests from the last to the first: what one of them has
rewritten for its asserts, the other finds. All run them in one order.

In these processes every kernel is compiled, however small its input; commands that tests start may run it as Python.
Where Python is not to write bytecode beside sources, it goes to pytest's cache: workers and all commands that tests
start would compile the package again and again. Ctrl-C reaches what tests start, however the tests were started. The
catalog of the user who runs the tests does not count.
"""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linkstep._compiling import Kernel

SELDOM = 50_000, 20, 50
"""When to look for cycles: numba and pytest keep nearly all that they make, and walking it took a tenth of the time."""
WARM = """
import linkstep
from linkstep._compiling import Kernel
from linkstep.core.topology import Topology
from linkstep.core.distances import distance_counts, distance_profiles
from linkstep.methods.bfb import bfb_time
from linkstep.verification import verify_text

Kernel.plain_allowed = False
for recipe in ("Torus(3,3)", "K_10"):
    made = linkstep.schedule(recipe, "allreduce")
    linkstep.schedule(recipe, "broadcast", chunks=3)
linkstep.schedule("Torus(3,3)", "all-to-all")
linkstep.all_to_all(made.schedule.topology)
diamond = linkstep.schedule("L(Diamond)", method="arrival").schedule.topology
linkstep.step_bound(diamond, 4), linkstep.wiring_bound(diamond, "allreduce")
linkstep.schedule("C(15,{1, 4, 5})")  # whose nodes are all alike, and its arrival times from each
distance_profiles(made.schedule.topology), distance_counts(made.schedule.topology, [0] * 64)
links = ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
unequal = Topology.from_links(3, *links, bandwidth=[1, 2] * 3, alpha=[1] * 6)
bfb_time(unequal, "1KB")
linkstep.schedule(unequal, chunks=4, size="1KB")
for runtime in ("msccl", "mscclpp", "cpu"):
    verify_text(linkstep.lower(linkstep.schedule("Torus(3,3)", "allreduce").schedule, runtime).text)
"""


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background jobs: tests interrupt commands
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(*SELDOM)
    os.environ["COLUMNS"] = "80"  # whatever terminal the tests are run in
    Kernel.plain_allowed = False
    os.environ["XDG_DATA_HOME"] = str(Path(__file__).parent / "nobody")
    workers = getattr(config.option, "numprocesses", None)
    if workers and not hasattr(config, "workerinput") and "NUMBA_DISABLE_JIT" not in os.environ:
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
            os.environ["PYTHONPYCACHEPREFIX"] = str(config.cache.mkdir("bytecode"))
        source = Path(__file__).parents[1] / "src"
        path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
        program = f"import gc\ngc.set_threshold(*{SELDOM})\n{WARM}"
        subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONPATH": path})


class _LastFirst(pytest.Dir):
    """A folder whose files are read in the opposite order."""

    def collect(self):
        return reversed(list(super().collect()))


def pytest_collect_directory(path, parent):
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579" and not (path / "__init__.py").exists():
        return _LastFirst.from_parent(parent, path=path)
    return None


def pytest_collection_finish():
    gc.collect()
    gc.freeze()  # what was collected stays: no later collection need walk it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)


@pytest.fixture
def wide(monkeypatch):
    """A terminal in which no line breaks, for tests of what is said and not of how it is laid out."""
    monkeypatch.setenv("COLUMNS", "400")

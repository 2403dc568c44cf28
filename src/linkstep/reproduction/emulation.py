"""Runs on emulated wires for an exhibit, where the machine allows it: root, ``tc`` and MPI. Else it says so.

The commands are those that a user would give: ``linkstep testbed up``, ``linkstep run``, ``linkstep testbed down``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkstep.core.schedule import Schedule
from linkstep.files import save

SIZE, RATE, DELAY = "500KB", "20Mbps", "10ms"
PATIENCE = 300.0
"""Seconds for a command: beyond, the run is left out and the cell says so."""


def missing() -> str:
    """Return what a run on emulated wires lacks here, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("tc") is None or shutil.which("ip") is None:
        return "needs tc and ip (iproute2)"
    if find_spec("mpi4py") is None:
        return "needs MPI (the extra mpi)"
    return ""


def _command(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "linkstep", *words], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"linkstep {words[0]} ended with {done.returncode}")
    return done.stdout


def _measure(made: Schedule, folder: Path) -> float:
    """Bring up a testbed with the schedule's wires, run it three times, take it down; return the median in seconds."""
    file, bed = folder / "schedule.npz", f"repro{os.getpid()}"
    save(made, file)
    _command("testbed", "up", str(file), "--name", bed, "--rate", RATE, "--delay", DELAY)
    try:
        words = ("run", str(file), "--testbed", bed, "--sizes", SIZE, "--repetitions", "3", "--no-own", "--json")
        result: dict[str, Any] = json.loads(_command(*words))
    finally:
        _command("testbed", "down", bed)
    return float(result["rows"][0]["median_seconds"])


def emulated_seconds(made: Schedule) -> tuple[float | None, str]:
    """Run a schedule on emulated wires; return the median in seconds, or None and why it was not run."""
    if lacks := missing():
        return None, f"not run here: {lacks}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _measure(made, Path(folder)), ""
    except subprocess.TimeoutExpired:
        return None, f"not run here: it took more than {PATIENCE:g} s"
    except (RuntimeError, OSError, ValueError) as error:
        said = str(error).strip() or type(error).__name__
        return None, f"not run here: {said.splitlines()[0][:120]}"

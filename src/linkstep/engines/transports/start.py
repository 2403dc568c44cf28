"""How ranks are started on this machine: by an mpiexec, or one process for each rank with variables as torchrun's.

Only starting is here; the caller sees to the processes (``linkstep.engines.bench.launch``).
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linkstep.core.errors import EngineError
from linkstep.core.extras import missing
from linkstep.engines.transports.notes import end_with_parent


@dataclass(frozen=True)
class LaunchSite:
    """Where ranks run: a prefix of each rank's command, and variables that all of them need."""

    prefixes: Sequence[Sequence[str]]
    environment: Mapping[str, str]
    address: str
    """Where rank 0 can be reached."""


Start = Callable[[int, list[str], dict[str, str], LaunchSite | None, Path], list["subprocess.Popen[bytes]"]]
"""Start N ranks of a command in an environment, at a place if it is given, with a folder for what they need."""


def mpi_launcher() -> tuple[list[str], dict[str, str]]:
    """Return an mpiexec and the variables it needs: MPICH's that forks by itself if it is here, else what there is.

    Hydra starts each rank in a session of its own, which Linux schedules as a group of its own: with more ranks than
    cores that is several times slower.
    """
    here = Path(sys.executable).parent
    for name in (str(here / "mpiexec.gforker"), str(here / "mpiexec"), "mpiexec", "mpirun"):
        found = shutil.which(name)
        if found is not None:
            break
    else:
        raise EngineError(f"{missing('starting ranks', 'mpiexec', 'mpi')}; or start linkstep run under your launcher")
    if found.endswith("gforker"):
        return [found], {}
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version and "OpenRTE" not in version:
        return [found], {}
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [found, "--oversubscribe"], allow | {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def start_mpi(
    num_ranks: int, command: list[str], environment: dict[str, str], place: LaunchSite | None, folder: Path
) -> list[subprocess.Popen[bytes]]:  # fmt: skip
    """Start all ranks by one mpiexec."""
    launcher, more = mpi_launcher()
    if place is not None:  # the launcher gives all ranks one command; each finds its own prefix in a file
        prefixes = folder / "prefixes"
        prefixes.write_text(json.dumps([list(prefix) for prefix in place.prefixes]))
        command = [sys.executable, "-P", "-m", "linkstep.engines.transports.enter", str(prefixes), *command]
    words = [*launcher, "-n", str(num_ranks), *command]
    return [started_process(words, environment | more)]


def start_torch(
    num_ranks: int, command: list[str], environment: dict[str, str], place: LaunchSite | None, folder: Path
) -> list[subprocess.Popen[bytes]]:  # fmt: skip
    """Start a process for each rank, as torchrun would."""
    common = {
        "WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks),
        "MASTER_ADDR": "127.0.0.1" if place is None else place.address,  # ranks choose and publish the port
        "TORCH_CPP_LOG_LEVEL": environment.get("TORCH_CPP_LOG_LEVEL", "ERROR"),  # a page for every lost connection
    }  # fmt: skip
    if place is None:  # nothing listens to the world
        common["GLOO_SOCKET_IFNAME"] = _loopback()
    started = []
    for rank in range(num_ranks):
        words = [*(place.prefixes[rank] if place else ()), *command]
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        started.append(started_process(words, environment | common | own))
    return started


def started_process(words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one; a terminal's Ctrl-C is for this one alone, which then ends all."""
    return subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=end_with_parent
    )


def _loopback() -> str:
    """Return the name of the loopback device."""
    there = {name for _, name in socket.if_nameindex()}
    return "lo0" if "lo" not in there and "lo0" in there else "lo"

"""How a process joins the others in torch: the library, the store that they find each other by, the default group.

Ranks that our launcher started make a store of their own: the first listens on a port that the kernel chose, at the
address of the run alone, and leaves its number in the folder of the run. Those of other launchers use what these set.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from linkstep.core.errors import EngineError
from linkstep.core.extras import missing
from linkstep.engines.transports.notes import leave, run_folder_here
from linkstep.engines.transports.peers import joining_patience
from linkstep.engines.transports.transport import SETUP, TIMEOUT

PORT = "port"
"""The file in which the first rank leaves the store's port."""
_NAP = 0.02
_LONG = timedelta(minutes=30)
"""For calls of torch that end sooner because a launcher watches."""


def load_torch() -> Any:
    """Return the module torch; EngineError in one line if there is none that can be used."""
    try:
        import torch
        import torch.distributed as dist
    except ModuleNotFoundError:
        raise EngineError(missing("engine torch", "PyTorch", package="torch")) from None
    except ImportError as error:
        raise EngineError(missing("engine torch", "PyTorch", package="torch", reason=str(error))) from None
    if not dist.is_available():
        raise EngineError("this build of torch has no torch.distributed: install one that has")
    return torch


def open_group(timeout: float = TIMEOUT) -> Any:
    """Return the default process group; it is made from the environment, over gloo, if there is none yet."""
    dist = load_torch().distributed
    if not dist.is_initialized():
        folder = run_folder_here()
        patience = timedelta(seconds=max(timeout, SETUP)) if folder is None else _LONG
        try:
            store, rank, size = _given_store(patience) if folder is None else _own_store(dist, folder)
            wait_for_all(dist.PrefixStore("linkstep/here", store), rank, size, joining_patience(timeout))
            dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=patience)
        except (ValueError, RuntimeError) as error:
            if isinstance(error, EngineError):
                raise
            raise EngineError(f"the process group cannot be made: {first_line(error)}") from None
    return dist.group.WORLD


def _given_store(patience: timedelta) -> tuple[Any, int, int]:
    """Return the store of this process's launcher, its rank and how many there are."""
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://", timeout=patience))
    return store, rank, size


def _own_store(dist: Any, folder: Path) -> tuple[Any, int, int]:
    """Return a store on a port that nobody else can take: it is open before anyone hears of it."""
    rank, size, address = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["MASTER_ADDR"]
    path = folder / PORT
    if rank == 0:
        listener = socket.create_server((address, 0), backlog=size)
        port = listener.getsockname()[1]
        store = dist.TCPStore(
            address, port, size, True, _LONG, wait_for_workers=False, master_listen_fd=listener.detach()
        )
        leave(path, str(port))
        return store, rank, size
    while not path.exists():
        time.sleep(_NAP)
    return dist.TCPStore(address, int(path.read_text()), size, False, _LONG, wait_for_workers=False), rank, size


def wait_for_all(
    store: Any, rank: int, size: int, patience: float, clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:  # fmt: skip
    """Return when all ranks have come to the store; EngineError names those missing, so long after the last came."""
    store.set(str(rank), "here")
    missing, last = list(range(size)), clock()
    while left := [other for other in missing if not store.check([str(other)])]:
        now = clock()
        if len(left) < len(missing):
            missing, last = left, now
        elif now - last > patience:
            names = ", ".join(map(str, left))
            raise EngineError(f"rank{'s' * (len(left) > 1)} {names} did not come for {patience:.0f} s: started, alive?")
        sleep(_NAP)


def first_line(error: BaseException) -> str:
    """Return what torch said, without the place in its sources."""
    line = (str(error).splitlines() or [""])[0]
    if line.startswith("[") and "] " in line:
        line = line.partition("] ")[2]
    return line.partition(". This is typically")[0]

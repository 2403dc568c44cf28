"""Engines: what really moves bytes between ranks, by MPI or by torch.distributed.

``plans`` makes of a program or a schedule what each rank does, and binds it to arrays; ``transports`` carries bytes,
with a row for each engine; ``Communicator`` is the front door. ``bench`` is what ``linkstep run`` needs besides,
``backend`` the process group of ``linkstep.torch``, and ``testbed`` emulates hosts and cables on one machine. mpi4py
and torch are imported where they are used, so that nothing here asks for both; a rank that was given its plans imports
nothing that makes them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkstep.engines.communicator import Communicator
    from linkstep.engines.transports.engine import Engine

__all__ = ["Communicator", "Engine"]


def __getattr__(name: str) -> object:
    if name == "Communicator":
        from linkstep.engines.communicator import Communicator

        return Communicator
    if name == "Engine":
        from linkstep.engines.transports.engine import Engine

        return Engine
    raise AttributeError(f"module 'linkstep.engines' has no attribute {name!r}")

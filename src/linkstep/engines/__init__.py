"""Engines: what really moves bytes between ranks, by MPI or by torch.distributed.

A program or a schedule is compiled to a ``Plan`` for each rank (``compile``), which a ``Session`` executes on arrays
over a ``Transport``; ``Communicator`` is the front door. ``preparation``, ``launch``, ``rank``, ``job`` and ``measure``
are what ``linkstep run`` needs besides, and ``testbed`` emulates hosts and cables on one machine. mpi4py and torch are
imported where they are used, so that nothing here asks for both; a rank that was given its plans imports nothing that
makes them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkstep.engines.communicator import Communicator

__all__ = ["Communicator"]


def __getattr__(name: str) -> object:
    if name == "Communicator":
        from linkstep.engines.communicator import Communicator

        return Communicator
    raise AttributeError(f"module 'linkstep.engines' has no attribute {name!r}")

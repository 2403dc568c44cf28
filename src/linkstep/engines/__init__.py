"""Engines: what really moves bytes between ranks, by MPI or by torch.distributed.

A program or a schedule is compiled to a ``Plan`` for each rank (``compile``), which a ``Session`` executes on arrays
over a ``Transport``; ``Communicator`` is the front door, ``measure`` and ``launch`` are what ``linkstep run`` needs
besides. ``testbed`` emulates hosts and cables on one machine. mpi4py and torch are imported where they are used, so
that nothing here asks for both.
"""

from linkstep.engines.communicator import Communicator
from linkstep.engines.compile import compile_plan, compile_plans
from linkstep.engines.plan import Plan

__all__ = ["Communicator", "Plan", "compile_plan", "compile_plans"]

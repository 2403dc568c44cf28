"""What the executor itself costs a step, without any waiting: a run of rank 0's plan whose messages are always there.

    python -m benchmarks.executor ['K_{4,4}' ...]

``null`` replaces the engine altogether: what is left is the loop over levels and the reductions. ``mpi`` sends every
message to itself, so that MPI's own calls to start and test requests are in it. CPU time of one process, the least of
many runs, for 8 ranks and data of 1 KiB.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkstep.core.collective import Collective
from linkstep.engines.bench.preparation import prepare
from linkstep.engines.plans.session import Session
from linkstep.engines.transports.arrays import NUMPY
from linkstep.engines.transports.mpi import load_mpi
from linkstep.engines.transports.transport import Wire

RECIPES = ("K_{4,4}", "K_8", "Torus(2,4)", "UniRing(1,8)")
RUNS = 2000


class Null:
    """A transport that does nothing, at once."""

    rank, size, timeout, posts_late, acknowledges, shares_clock, tag_limit = 0, 8, 1.0, False, True, True, 2**20

    def prepare(self, wires: Sequence[Wire]) -> list[Any]:
        return list(wires)

    def start(self, handles: Sequence[Any]) -> None: ...

    def wait(self, handles: Sequence[Any]) -> None: ...


class Loopback(Null):
    """Messages of this process to itself: each send and each receive is a pair of its own."""

    def __init__(self) -> None:
        self.mpi = load_mpi()
        self.comm = self.mpi.COMM_SELF.Dup()
        self.number = 0

    def prepare(self, wires: Sequence[Wire]) -> list[Any]:
        return [self._pair(wire) for wire in wires]

    def _pair(self, wire: Wire) -> Any:
        self.number += 1
        make = self.comm.Send_init if wire.is_send else self.comm.Recv_init
        return make([wire.data.view(np.uint8), self.mpi.BYTE], self.mpi.PROC_NULL, self.number)

    def start(self, handles: Sequence[Any]) -> None:
        self.mpi.Prequest.Startall(handles)

    def wait(self, handles: Sequence[Any]) -> None:
        self.mpi.Request.Testall(handles)


def cost(recipe: str, transport: Any) -> tuple[float, int]:
    """Return the CPU seconds of a run and its steps."""
    plan = prepare(recipe, Collective.ALLREDUCE, [1024], 0).compiled[0].plans[0][1]
    source, target = np.zeros(plan.chunks, np.float32), np.zeros(plan.chunks, np.float32)
    session = Session(plan, transport, NUMPY, "sum", 0, source, target, 1, is_borrowed=False)
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        session.run()
        best = min(best, time.perf_counter() - begin)
    return best, plan.num_steps


def main() -> None:
    print(f"{'allreduce':14s} {'steps':>5s} {'null':>10s} {'mpi':>10s} {'us a step: null':>16s} {'mpi':>6s}")
    for recipe in sys.argv[1:] or RECIPES:
        (null, steps), (mpi, _) = cost(recipe, Null()), cost(recipe, Loopback())
        row = f"{recipe:14s} {steps:5d} {null * 1e6:8.1f}us {mpi * 1e6:8.1f}us"
        print(f"{row} {null * 1e6 / steps:16.1f} {mpi * 1e6 / steps:6.1f}")


if __name__ == "__main__":
    main()

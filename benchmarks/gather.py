"""Measure when gathering pays: k pieces sent apart, or copied together, sent as one message and copied apart again.

    mpiexec -n 2 python -m benchmarks.gather

Needs mpi4py and an MPI. Both ways use persistent requests and run in turn; the best of seven rounds counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

PIECES = (2, 4, 8)
SIZES = (64, 256, 512, 1024, 4096, 16384, 65536)
ROUNDS, REPEATS = 7, 300


def best_time(exchange: Callable[[], None]) -> float:
    """Return the seconds of one exchange, of the quickest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        MPI.COMM_WORLD.Barrier()
        start = time.perf_counter()
        for _ in range(REPEATS):
            exchange()
        best = min(best, (time.perf_counter() - start) / REPEATS)
    return best


def measure(pieces: int, size: int) -> tuple[float, float]:
    """Return the seconds to exchange pieces with the other rank, apart and gathered."""
    world = MPI.COMM_WORLD
    peer = 1 - world.rank
    here, there = np.zeros((pieces, 2, size), np.uint8), np.zeros((pieces, 2, size), np.uint8)  # every other one
    packed, landed = np.zeros((pieces, size), np.uint8), np.zeros((pieces, size), np.uint8)
    apart = [world.Recv_init(there[k, 0], peer, k) for k in range(pieces)]
    apart += [world.Send_init(here[k, 0], peer, k) for k in range(pieces)]
    together = [world.Recv_init(landed, peer, pieces), world.Send_init(packed, peer, pieces)]
    moves = [(packed[k], here[k, 0], there[k, 0], landed[k]) for k in range(pieces)]

    def run(requests: list[MPI.Prequest]) -> None:
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)

    def gathered() -> None:
        for into, out_of, _, _ in moves:
            into[:] = out_of
        run(together)
        for _, _, into, out_of in moves:
            into[:] = out_of

    times = best_time(lambda: run(apart)), best_time(gathered)
    for request in (*apart, *together):
        request.Free()
    return times


def main() -> int:
    if MPI.COMM_WORLD.size != 2:
        print("run it with two ranks: mpiexec -n 2 python -m benchmarks.gather", file=sys.stderr)
        return 2
    for pieces in PIECES:
        for size in SIZES:
            apart, together = measure(pieces, size)
            if MPI.COMM_WORLD.rank == 0:
                times = f"{apart * 1e6:6.1f} us apart, {together * 1e6:6.1f} us gathered"
                print(f"{pieces} pieces of {size:6} bytes: {times}, ratio {apart / together:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

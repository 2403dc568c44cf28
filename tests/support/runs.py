"""Runs as ``linkstep run --json`` writes them, with times made up from a fabric."""

import random
from fractions import Fraction

from linkstep.costs import Cost, Fabric, cost_of, seconds_of
from linkstep.costs.runs import step_loads

ALLREDUCES = {
    "K_{4,4}": Cost(4, Fraction(7, 4)),
    "ShiftedRing(4,8)": Cost(14, Fraction(7, 4)),
    "C(12,{2,3})": Cost(4, Fraction(11, 6)),
}
SIZES = (1024, 65536, 4 * 2**20)


def document(fabric: Fabric, what: str, cost: Cost, sizes=SIZES, noise: float = 0, seed: int = 0, **members):
    """Return a run whose times are the fabric's, off by up to ``noise`` of themselves."""
    rng = random.Random(f"{seed} {what}")
    rows = []
    for size in sizes:
        seconds = float(fabric.time(cost, "allreduce", size)) * rng.uniform(1 - noise, 1 + noise)
        rows.append(
            {
                "size": size, "repetitions": 20,
                "min_seconds": seconds, "median_seconds": seconds, "p99_seconds": seconds,
                "algbw": size / seconds, "busbw": size / seconds, "wrong": 0, "own_median_seconds": None,
                "predicted_seconds": None,
            }
        )  # fmt: skip
    return {
        "format": "linkstep/run", "version": 2, "what": what, "collective": "allreduce", "engine": "mpi", "ranks": 8,
        "degree": fabric.degree, "steps": cost.steps, "t_b": str(cost.bandwidth), "testbed": None, "rows": rows,
    } | members  # fmt: skip


def run_of(fabric: Fabric, schedule, sizes=SIZES, noise: float = 0, seed: int = 0) -> dict:
    """Return a run of a schedule, which says what its steps put on links and hosts."""
    cost, degree = cost_of(schedule), schedule.topology.degree
    loads = [
        {"steps": load.steps, "link_load": str(load.link), "host_load": str(load.host)} for load in step_loads(schedule)
    ]
    found = document(fabric.with_degree(degree), repr(schedule), cost, sizes, step_loads=loads)
    rng = random.Random(f"{seed} {schedule!r}")
    for row in found["rows"]:
        row["median_seconds"] = float(seconds_of(schedule, fabric, row["size"])) * rng.uniform(1 - noise, 1 + noise)
    return found


def documents(fabric: Fabric, **options):
    """Return a run of each of a few topologies."""
    return [document(fabric, what, cost, **options) for what, cost in ALLREDUCES.items()]

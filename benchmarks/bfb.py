"""Measure BFB: exact flows against one HiGHS LP per node and step, in one process.

    python -m benchmarks.bfb                     all sizes, LPs of a sample of nodes scaled up where marked
    python -m benchmarks.bfb --full              every LP, no sampling (several minutes)
    python -m benchmarks.bfb --json results.json

Ratios are what to read: both sides ran on the same machine at the same time. The exact side runs twice and the second
run counts, so that compiling is not in it; it does not use symmetry unless the column says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import linkstep
from benchmarks.lp_baseline import solve_nodes
from linkstep.core.topology import COPY_OF, Topology
from linkstep.methods.bfb import bfb_allgather, bfb_cost

CASES = (
    *(f"Q({n})" for n in range(6, 11)),
    *(f"Torus({n},{n})" for n in (6, 10, 16, 25, 36, 50)),
    *(f"Pi_{{4,{n}}}" for n in (64, 128, 256, 512, 1024)),
)


def timed(work: Callable[[Topology], Any], topology: Topology) -> tuple[float, Any]:
    """Time some work on a copy of a topology: what was worked out before is kept with the original."""
    fresh = replace(topology)
    COPY_OF.keep(fresh, (topology, None))
    fresh.in_ptr, fresh.in_link, fresh.in_tail, fresh.out_ptr  # noqa: B018 - columns that belong to the topology
    start = time.perf_counter()
    result = work(fresh)
    return time.perf_counter() - start, result


def measure(recipe: str, sample: int | None) -> dict[str, Any]:
    topology = replace(linkstep.parse(recipe).topology(), vertex_transitive=False)
    symmetric = linkstep.parse(recipe).topology()
    bfb_cost(topology), bfb_allgather(topology), bfb_cost(symmetric)  # compiles, and warms the pages
    cost_seconds, cost = timed(bfb_cost, topology)
    one_node_seconds, one_node = timed(bfb_cost, symmetric)
    schedule_seconds, schedule = timed(bfb_allgather, topology)
    linkstep.check_allgather(schedule)
    assert linkstep.cost_of(schedule) == cost == one_node
    n = topology.num_nodes
    nodes = np.arange(n)
    if sample is not None and sample < n:
        nodes = np.random.default_rng(0).choice(n, sample, replace=False)
    lp_seconds, (worst, programs) = timed(lambda graph: solve_nodes(graph, nodes.tolist()), topology)
    lp_seconds *= n / nodes.size
    found = float(worst.sum()) * topology.degree / n
    if nodes.size == n or symmetric.vertex_transitive:
        assert abs(found - float(cost.bandwidth)) < 1e-6, (found, cost)
    return {
        "recipe": recipe,
        "nodes": n,
        "steps": cost.steps,
        "bandwidth": str(cost.bandwidth),
        "rows": schedule.num_rows,
        "lp_seconds": lp_seconds,
        "lp_programs": programs,
        "lp_sampled": bool(nodes.size < n),
        "cost_seconds": cost_seconds,
        "cost_seconds_using_symmetry": one_node_seconds if symmetric.vertex_transitive else None,
        "schedule_seconds": schedule_seconds,
        "cost_ratio": lp_seconds / cost_seconds,
        "schedule_ratio": lp_seconds / schedule_seconds,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def machine() -> dict[str, Any]:
    packages = ("linkstep", "numpy", "numba", "highspy")
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {package: version(package) for package in packages},
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, metavar="RECIPE")
    parser.add_argument("--full", action="store_true", help="solve every LP; otherwise those of 16 nodes, scaled up")
    parser.add_argument("--json", type=Path, help="also write the results here")
    args = parser.parse_args(argv)
    print(f"{'':14} {'':5} {'LPs':>9} {'cost':>16} {'schedule':>18} {'cost by':>9}")
    print(f"{'recipe':14} {'N':>5} {'s':>9} {'s':>8} {'ratio':>7} {'s':>10} {'ratio':>7} {'1 node s':>9} {'MB':>6}")
    results = []
    for recipe in args.cases:
        row = measure(recipe, None if args.full else 16)
        results.append(row)
        alone = row["cost_seconds_using_symmetry"]
        print(
            f"{recipe:14} {row['nodes']:5} {row['lp_seconds']:8.2f}{'~' if row['lp_sampled'] else ' '} "
            f"{row['cost_seconds']:8.4f} {row['cost_ratio']:7.0f} {row['schedule_seconds']:10.4f} "
            f"{row['schedule_ratio']:7.0f} {'-' if alone is None else format(alone, '.5f'):>9} "
            f"{row['peak_memory_mb']:6.0f}",
            flush=True,
        )
    if any(row["lp_sampled"] for row in results):
        print("~ LPs of 16 random nodes, scaled up; --full solves them all")
    if args.json:
        args.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

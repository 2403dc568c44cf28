"""Measure exact synthesis: seconds until a schedule is found or excluded, with symmetry and without.

    python -m benchmarks.synthesis
    python -m benchmarks.synthesis --json results.json

What SCCL's SMT solver takes on your machine: ``python -m benchmarks.sccl``, with a checkout of it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import linkstep
from linkstep.costs import bandwidth_bound, cost_of
from linkstep.methods.synthesis import Synthesis, synthesize

CASES: tuple[tuple[str, int, int, str], ...] = (
    ("Q(3)", 3, 3, "optimal"),
    ("Torus(4,4)", 4, 1, "least"),
    ("Q(4)", 4, 4, "optimal"),
    ("Q(5)", 5, 5, "optimal"),
    ("Torus(5,5)", 4, 1, "optimal"),
    ("Diamond", 3, 2, "optimal"),
    ("DBJMod(2,3)", 4, 2, "optimal"),
    ("DBJMod(2,3)", 3, 2, "optimal"),
    ("DBJMod(2,4)", 5, 2, "optimal"),
    ("DBJMod(2,4)", 4, 2, "optimal"),
    ("DBJMod(3,2)", 3, 3, "optimal"),
    ("DBJMod(4,2)", 3, 4, "optimal"),
)
"""Recipe, steps, chunks, and wanted T_B: (N-1)/N, or the least and its proof."""


def solve(recipe: str, steps: int, chunks: int, wanted: str, symmetric: bool, time_limit: float) -> Synthesis:
    topology = linkstep.parse(recipe).topology()
    bandwidth: Fraction | None = bandwidth_bound(topology.num_nodes) if wanted == "optimal" else None
    result = synthesize(topology, steps, chunks, bandwidth=bandwidth, symmetric=symmetric, time_limit=time_limit)
    if result.schedule is not None:
        linkstep.check_allgather(result.schedule)
    return result


def measure(recipe: str, steps: int, chunks: int, wanted: str, time_limit: float) -> dict[str, Any]:
    row: dict[str, Any] = {"recipe": recipe, "steps": steps, "chunks": chunks, "wanted": wanted}
    for label, symmetric in (("symmetric", True), ("plain", False)):
        start = time.perf_counter()
        result = solve(recipe, steps, chunks, wanted, symmetric, time_limit)
        cost = None if result.schedule is None else cost_of(result.schedule)
        row[label] = {
            "status": result.status,
            "bandwidth": None if cost is None else str(cost.bandwidth),
            "seconds": time.perf_counter() - start,
        }
    return row


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--json", type=Path, help="also write the results here")
    args = parser.parse_args(argv)
    solve("K_4", 1, 1, "optimal", True, 10.0)  # loads OR-tools and compiled kernels
    print(f"{'recipe':12} {'steps':>5} {'chunks':>6} {'result':>10} {'T_B':>6} {'s':>7} {'plain s':>8}")
    rows = []
    for case in CASES:
        row = measure(*case, time_limit=args.time_limit)
        rows.append(row)
        found, plain = row["symmetric"], row["plain"]
        same = "" if plain["status"] == found["status"] else f" ({plain['status']})"
        print(
            f"{row['recipe']:12} {row['steps']:5} {row['chunks']:6} {found['status']:>10} "
            f"{found['bandwidth'] or '-':>6} {found['seconds']:7.2f} {plain['seconds']:8.2f}{same}",
            flush=True,
        )
    if args.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "ortools": version("ortools")}
        args.json.write_text(json.dumps({"machine": machine, "results": rows}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

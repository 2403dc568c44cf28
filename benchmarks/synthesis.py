"""Measure exact synthesis: seconds until a schedule is found or excluded, with symmetry and without.

    python -m benchmarks.synthesis
    python -m benchmarks.synthesis --json results.json

The SMT column is what SCCL's public results say or was measured with an SMT solver for DESIGN section 6, on other
machines: an order of magnitude to compare with, not a race.
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

CASES: tuple[tuple[str, int, int, str, str], ...] = (
    ("Q(3)", 3, 3, "optimal", "2.6 s"),
    ("Torus(4,4)", 4, 1, "least", "42 s"),
    ("Q(4)", 4, 4, "optimal", "none in 25 min"),
    ("Q(5)", 5, 5, "optimal", "-"),
    ("Torus(5,5)", 4, 1, "optimal", "-"),
    ("Diamond", 3, 2, "optimal", "0.5 s"),
    ("DBJMod(2,3)", 4, 2, "optimal", "-"),
    ("DBJMod(2,3)", 3, 2, "optimal", "-"),
    ("DBJMod(2,4)", 5, 2, "optimal", "85 s"),
    ("DBJMod(2,4)", 4, 2, "optimal", "-"),
    ("DBJMod(3,2)", 3, 3, "optimal", "-"),
    ("DBJMod(4,2)", 3, 4, "optimal", "none in 120 s (three other cycles)"),
)
"""Recipe, steps, chunks, wanted T_B ((N-1)/N, or the least and its proof), and the time of an SMT solver."""


def solve(recipe: str, steps: int, chunks: int, wanted: str, symmetric: bool, time_limit: float) -> Synthesis:
    topology = linkstep.parse(recipe).topology()
    bandwidth: Fraction | None = bandwidth_bound(topology.num_nodes) if wanted == "optimal" else None
    result = synthesize(topology, steps, chunks, bandwidth=bandwidth, symmetric=symmetric, time_limit=time_limit)
    if result.schedule is not None:
        linkstep.check_allgather(result.schedule)
    return result


def measure(recipe: str, steps: int, chunks: int, wanted: str, smt: str, time_limit: float) -> dict[str, Any]:
    row: dict[str, Any] = {"recipe": recipe, "steps": steps, "chunks": chunks, "wanted": wanted, "smt": smt}
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
    print(f"{'recipe':12} {'steps':>5} {'chunks':>6} {'result':>10} {'T_B':>6} {'s':>7} {'plain s':>8}  SMT")
    rows = []
    for case in CASES:
        row = measure(*case, time_limit=args.time_limit)
        rows.append(row)
        found, plain = row["symmetric"], row["plain"]
        same = "" if plain["status"] == found["status"] else f" ({plain['status']})"
        print(
            f"{row['recipe']:12} {row['steps']:5} {row['chunks']:6} {found['status']:>10} "
            f"{found['bandwidth'] or '-':>6} {found['seconds']:7.2f} {plain['seconds']:8.2f}  {row['smt']}{same}",
            flush=True,
        )
    if args.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "ortools": version("ortools")}
        args.json.write_text(json.dumps({"machine": machine, "results": rows}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

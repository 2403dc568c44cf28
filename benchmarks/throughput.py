"""Time and gap of all-to-all throughput over N, beside HiGHS's solvers on the same program, in one run.

``python -m benchmarks.throughput`` prints the table of docs/concepts/all-to-all.md; ``--quick`` leaves out what takes
minutes. Times are CPU seconds of this process; kernels are compiled before. Every value and bound is certified outside
the solver that found it. "whole" has no symmetry taken out: what a topology of this size takes if no two nodes are
alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from time import process_time

import linkstep
from linkstep.symmetry.orbits import Orbits
from linkstep.throughput import lp
from linkstep.throughput.columns import Solution
from linkstep.throughput.prices import solve_by_prices
from linkstep.throughput.problem import FlowProblem
from linkstep.throughput.watch import Watch

GAP = Fraction(1, 100)
LIMIT = 180.0
HIGHS = (("simplex", 20_000), ("ipx", 70_000), ("pdlp", 300_000))
"""Solvers, and the columns up to which they are asked."""

SYMMETRIC = (
    "Torus(16,16)", "Torus(32,64)", "C(1024,{3,311})", "C(2048,{3,311})",
    "Cayley(Z64:Z16[3],{(7,10),(46,5),(36,11),(41,9)})", "Pi_{4,64}", "Pi_{4,256}", "Pi_{4,1024}", "Pi_{4,2048}",
)  # fmt: skip
LARGE = ("Cayley(Z1000:Z100[7],{(1,3),(46,5),(36,11),(41,9)})", "C(100000,{3,311})", "Torus(300,300)")
WHOLE = ("Pi_{4,64}", "Pi_{4,128}", "Pi_{4,256}", "Pi_{4,512}", "Pi_{4,1024}")


def _row(name: str, problem: FlowProblem, method: str, solve: Callable[[], Solution | None]) -> None:
    began = process_time()
    found = solve()
    took = process_time() - began
    size = f"{problem.num_classes} x {problem.orbits.sources.size}"
    if found is None:
        print(f"| `{name}` | {size} | {method} | - | - | > {took:.0f} s |", flush=True)
        return
    value = problem.value(found.flow.loads(), found.flow.unit)
    gap = "exact" if value == found.bound else f"{float(found.bound / value - 1):.1e}"
    print(f"| `{name}` | {size} | {method} | {float(value):.5e} | {gap} | {took:.2f} s |", flush=True)


def _ours(recipe: str) -> None:
    """Everything counts: symmetries, solution, bounds."""
    topology = linkstep.parse(recipe).topology()
    began = process_time()
    found = linkstep.all_to_all(topology, gap=GAP, seconds=LIMIT)
    took = process_time() - began
    problem = found.flow().problem
    size = f"{problem.num_classes} x {problem.orbits.sources.size}"
    gap = "exact" if found.is_exact else f"{float(found.gap):.1e}"
    print(
        f"| `{recipe}` | {size} | ours: {found.method} | {float(found.value):.5e} | {gap} | {took:.2f} s |", flush=True
    )


def _whole(recipe: str, quick: bool) -> None:
    problem = FlowProblem.of(linkstep.parse(recipe).topology())
    problem = replace(problem, orbits=Orbits.of(problem.wires, ()))
    name = f"{recipe} whole"
    _row(name, problem, "ours: prices", lambda: solve_by_prices(problem, Watch(GAP, LIMIT)))
    for solver, most in HIGHS:
        if lp.num_columns(problem) <= (most // 4 if quick else most):
            _row(
                name,
                problem,
                f"HiGHS {solver}",
                lambda solver=solver: lp.solve_by_lp(problem, Watch(GAP, 2 * LIMIT), solver),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    args = parser.parse_args()
    for recipe in ("Torus(3,4)", "Pi_{4,33}"):  # compiles the kernels
        problem = FlowProblem.of(linkstep.parse(recipe).topology())
        linkstep.all_to_all(problem.topology)
        solve_by_prices(problem, Watch(GAP, 1))
    print("| topology | link orbits x sources | method | f | gap | CPU time |\n|---|---|---|---|---|---|")
    for recipe in SYMMETRIC if args.quick else SYMMETRIC + LARGE:
        _ours(recipe)
    for recipe in WHOLE[:3] if args.quick else WHOLE:
        _whole(recipe, args.quick)


if __name__ == "__main__":
    main()

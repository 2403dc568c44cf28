"""What ``linkstep run`` costs before its ranks start: schedule, program and plans of 64 ranks, beside another checkout.

    python -m benchmarks.setup ['Torus(8,8)' ...] [--against CHECKOUT]

CPU seconds of one process, imports and compiled kernels not counted, the least of several set-ups. Two checkouts take
turns, so that a busy machine slows down both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

RECIPES = ("Torus(8,8)", "Torus(4,4,4)", "Pi_{4,64}", "UniRing(1,64)")
TURNS = 3
_CHILD = """
import sys, time
import linkstep
from linkstep.core.collective import Collective
from linkstep.engines.{module} import prepare
best = float("inf")
for turn in range(6):  # the first compiles kernels, or loads them
    what = linkstep.parse(sys.argv[1])
    begin = time.process_time()
    prepare(what, Collective.ALLREDUCE, [2**20], 0)
    best = min(best, time.process_time() - begin)
print(best)
"""


def seconds(recipe: str, checkout: Path) -> float:
    """Return the least CPU seconds of a set-up by the package of a checkout, in a process of its own."""
    source = checkout / "src"
    module = "preparation" if (source / "linkstep/engines/preparation.py").exists() else "bench.preparation"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(module=module), recipe], check=True, text=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return float(done.stdout)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.setup")
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--against", type=Path, help="another checkout, to compare with")
    args = parser.parse_args(argv)
    here = Path(__file__).parents[1]
    if args.against is not None and not (args.against / "src/linkstep").is_dir():
        print(f"benchmarks.setup: {args.against} is no checkout: it has no src/linkstep", file=sys.stderr)
        return 2
    print(f"{'allreduce':16s} {'set-up':>8s}" + ("" if args.against is None else f" {'there':>8s} {'ratio':>6s}"))
    for recipe in args.recipes:
        ours, theirs = float("inf"), float("inf")
        for _ in range(TURNS):
            ours = min(ours, seconds(recipe, here))
            theirs = theirs if args.against is None else min(theirs, seconds(recipe, args.against))
        more = "" if args.against is None else f" {theirs:7.3f}s {theirs / ours:6.2f}"
        print(f"{recipe:16s} {ours:7.3f}s{more}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

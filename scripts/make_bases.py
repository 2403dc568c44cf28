"""Make src/linkstep/data/bases/: bandwidth-optimal allgathers of the bases that BFB does not reach.

    python scripts/make_bases.py            search and write all files (a few seconds)
    python scripts/make_bases.py --check    only load each file and verify wiring, schedule and cost

Each base is solved twice: as it is, and transposed, which gives its reduce-scatter (thm:scheduleswitch). Steps are
those of table:toposummary; the chunks are the fewest that let T_B be (N-1)/N. Another version of OR-tools may find
other schedules of the same cost.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import linkstep
from linkstep.costs import Cost, bandwidth_bound, cost_of
from linkstep.methods.stored import stored_schedule
from linkstep.methods.synthesis import synthesize

FOLDER = Path(__file__).parents[1] / "src" / "linkstep" / "data" / "bases"

BASES = {
    "Diamond": (3, 2),
    "DBJMod(2,3)": (4, 2),
    "DBJMod(2,4)": (5, 2),
    "DBJMod(3,2)": (3, 3),
    "DBJMod(4,2)": (3, 4),
}
"""Steps and chunks a shard of each base."""


def make(recipe: str, transposed: bool) -> None:
    """Search for one schedule and save it."""
    topology = linkstep.parse(recipe).topology()
    if transposed:
        topology = topology.transpose()
    steps, chunks = BASES[recipe]
    result = synthesize(topology, steps, chunks, bandwidth=bandwidth_bound(topology.num_nodes), time_limit=600)
    if result.schedule is None:
        raise SystemExit(f"{topology.name}: {result.status}: {result.reason}")
    linkstep.save(result.schedule, FOLDER / f"{topology.name}.json")
    print(f"{topology.name}: {cost_of(result.schedule)}, {chunks} chunks, {result.seconds:.2f} s", flush=True)


def verify(recipe: str, transposed: bool) -> None:
    """Load one file and compare it with the recipe and the cost it is there for."""
    topology = linkstep.parse(recipe).topology()
    schedule = stored_schedule(recipe, transposed)
    if schedule is None:
        raise SystemExit(f"{recipe}: no file")
    if schedule.topology != (topology.transpose() if transposed else topology):
        raise SystemExit(f"{schedule.topology.name}: the wiring is not the recipe's")
    if cost_of(schedule) != Cost(BASES[recipe][0], bandwidth_bound(topology.num_nodes)):
        raise SystemExit(f"{schedule.topology.name}: costs {cost_of(schedule)}")


def main(argv: list[str] | None = None) -> int:
    """Make or verify every file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args(argv)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for recipe in BASES:
        for transposed in (False, True):
            if not args.check:
                make(recipe, transposed)
            verify(recipe, transposed)
    return 0


if __name__ == "__main__":
    sys.exit(main())

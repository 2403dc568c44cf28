"""Measure lowering and verification: CPU seconds for an allreduce, by runtime, and how they grow with N.

    python -m benchmarks.lowering
    python -m benchmarks.lowering 'Pi_{4,256}' --to msccl cpu --json results.json

Every file is written out as text and read back by the verifier, as ``linkstep lower`` does. A first, small case is run
unmeasured, so that kernels are compiled.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.lowering import TARGETS, lower
from linkstep.verification import verify_text

RECIPES = ("Pi_{4,16}", "Pi_{4,32}", "Pi_{4,64}", "Pi_{4,128}", "Pi_{4,256}", "Torus(4,4)", "Torus(8,8)", "Q(6)")
Row = dict[str, Any]


def measure(schedule: Schedule, to: str) -> Row:
    """Return the seconds and sizes of one case; what does not fit says why."""
    row: Row = {
        "recipe": schedule.topology.name,
        "to": to,
        "lower": None,
        "verify": None,
        "messages": None,
        "bytes": None,
    }
    start = time.process_time()
    try:
        lowered = lower(schedule, to)
    except LinkstepError as error:
        return {**row, "refused": str(error)}
    middle = time.process_time()
    report = verify_text(lowered.text, to)
    end = time.process_time()
    assert report.is_verified, report.errors[0]
    sizes = {"messages": len(lowered.placement.messages), "bytes": len(lowered.text)}
    return {**row, "lower": middle - start, "verify": end - middle, **sizes}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=RECIPES, metavar="RECIPE")
    parser.add_argument("--to", nargs="+", default=list(TARGETS), choices=list(TARGETS), metavar="RUNTIME")
    parser.add_argument("--json", metavar="FILE", help="save the rows")
    args = parser.parse_args(argv)
    for to in args.to:
        measure(linkstep.parse("K_{2,2}").build("allreduce"), to)
    rows = []
    print(f"{'allreduce on':14}{'to':14}{'messages':>10}{'MB':>8}{'lower':>10}{'verify':>10}")
    for recipe in args.recipes:
        schedule = linkstep.parse(recipe).build("allreduce")
        for to in args.to:
            row = measure(schedule, to)
            rows.append(row)
            if "refused" in row:
                print(f"{recipe:14}{to:14}{row['refused']}")
            else:
                megabytes, lowering, verifying = row["bytes"] / 1e6, row["lower"], row["verify"]
                print(
                    f"{recipe:14}{to:14}{row['messages']:10}{megabytes:8.2f}{lowering:9.2f}s{verifying:9.2f}s",
                    flush=True,
                )
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Lower and verify schedules of every family, for every runtime and collective, and count them.

    python -m benchmarks.lowered --log lowered.jsonl            every member of every family: 64 nodes, 4 ports at most
    python -m benchmarks.lowered --every 6 --log lowered.jsonl  of each family every sixth: over a thousand schedules

For each member of a family its schedules (BFB, of an all-to-all the exchange) are made, checked, lowered to every
runtime that has the collective, written out as text, and read back and proven by the verifier. What a runtime cannot
hold is counted as refused, with the reason. All cores are used. With ``--log`` every result is kept in a file as it
comes, and a later run goes on from there. The exit code is 1 if any file is not verified.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm import tqdm

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.correctness import check
from linkstep.families import FAMILIES
from linkstep.lowering import TARGETS, lower
from linkstep.recipe import Member
from linkstep.verification import verify_text

VERIFIED, REFUSED, FAILED = "verified", "refused", "failed"
Row = dict[str, Any]


def recipes(most_nodes: int, degrees: Sequence[int], every: int = 1) -> list[str]:
    """Return the members of all families up to a size, of some degrees, smallest first; of each family every k-th."""
    found: dict[str, int] = {}
    for family in FAMILIES:
        sizes = [(size, degree) for size in range(2, most_nodes + 1) for degree in degrees]
        members = [(str(Member(family, args)), size) for size, d in sizes for args in family.members(size, d)]
        found |= dict(members[::every])
    return sorted(found, key=lambda name: found[name])


def outcomes(recipe: str) -> list[Row]:
    """Return what became of every schedule of one topology, a row for each runtime and collective."""
    rows: list[Row] = []
    for collective in Collective:
        made = linkstep.schedule(recipe, collective, method="best" if collective.exchanges else "bfb").schedule
        check(made)
        for target in TARGETS.values():
            if collective not in target.collectives:
                continue
            row: Row = {"recipe": recipe, "collective": str(collective), "to": target.name}
            try:
                text = lower(made, target.name).text
            except LinkstepError as error:
                rows.append(row | {"outcome": REFUSED, "why": str(error)})
                continue
            report = verify_text(text, target.name)
            rows.append(row | ({"outcome": VERIFIED} if report.is_verified else _failure(report)))
    return rows


def _failure(report: Any) -> Row:
    return {"outcome": FAILED, "why": "; ".join(str(error) for error in report.errors[:1]) or "unknown"}


def read_log(path: Path) -> dict[str, list[Row]]:
    """Return the rows of a log by topology; what a last line that was cut off is of is done again."""
    known: dict[str, list[Row]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                rows = json.loads(line)
            except json.JSONDecodeError:
                break
            known[rows[0]["recipe"]] = rows
    return known


def run(wanted: Iterable[str], workers: int, log: Path | None) -> Iterator[Row]:
    """Yield the rows of every topology, those of a log first; new ones are added to it, a line for each topology."""
    known = read_log(log) if log is not None else {}
    if log is not None and known:
        log.write_text("".join(json.dumps(rows) + "\n" for rows in known.values()))  # whole lines only, each once
    names = list(wanted)
    yield from (row for name in names for row in known.get(name, ()))
    left = [name for name in names if name not in known]
    with get_context("spawn").Pool(workers) as pool:
        for rows in tqdm(pool.imap_unordered(outcomes, left), total=len(left), disable=None):
            if log is not None:
                with log.open("a") as file:
                    file.write(json.dumps(rows) + "\n")
            yield from rows


def table(rows: Iterable[Row]) -> str:
    """Return the counts by runtime and collective: verified, and after a plus those that a runtime cannot hold."""
    counts = Counter((row["to"], row["collective"], row["outcome"]) for row in rows)
    lines = [["", *map(str, Collective), "all"]]
    for to in TARGETS:
        cells = []
        for collective in [*map(str, Collective), None]:
            each = Counter()
            for (where, what, outcome), count in counts.items():
                if where == to and collective in (None, what):
                    each[outcome] += count
            text = str(each[VERIFIED]) + (f"+{each[REFUSED]}" if each[REFUSED] else "")
            cells.append((text if each else "-") + (f" ({each[FAILED]} FAILED)" if each[FAILED] else ""))
        lines.append([to, *cells])
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def summary(rows: Sequence[Row]) -> str:
    """Return the table, the totals and every failure."""
    counts = Counter(row["outcome"] for row in rows)
    topologies = len({row["recipe"] for row in rows})
    schedules = len({(row["recipe"], row["collective"]) for row in rows})
    parts = [table(rows), ""]
    parts.append(f"{topologies} topologies, {schedules} schedules, {counts[VERIFIED]} files verified")
    if counts[REFUSED]:
        parts.append(f"{counts[REFUSED]} refused (after a +), for instance:")
        why: dict[tuple[str, str], Row] = {}
        for row in rows:
            if row["outcome"] == REFUSED:
                why.setdefault((row["to"], row["collective"]), row)
        parts += [f"  {row['to']}, {row['collective']} on {row['recipe']}: {row['why']}" for row in why.values()]
    failures = [row for row in rows if row["outcome"] == FAILED]
    parts += [f"FAILED: {row['to']}, {row['collective']} on {row['recipe']}: {row['why']}" for row in failures]
    return "\n".join(parts)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=64, metavar="N", help="the most nodes; default: 64")
    parser.add_argument("--degrees", type=int, nargs="+", default=[1, 2, 3, 4], metavar="D", help="default: 1 2 3 4")
    parser.add_argument(
        "--every", type=int, default=1, metavar="K", help="of each family, only every K-th member; default: all"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="W", help="default: all cores")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep results here, and go on from there")
    args = parser.parse_args(argv)
    wanted = recipes(args.nodes, args.degrees, args.every)
    rows = list(run(wanted, args.workers, args.log))
    print(summary(rows))
    return 1 if any(row["outcome"] == FAILED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

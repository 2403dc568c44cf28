"""``linkstep catalog``: search for topologies, keep the best, and say what is known."""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_table, print_text, show_json
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._quantities import add_seconds, add_seed
from linkstep.cli._topology_argument import add_both_ways
from linkstep.core.errors import LinkstepError
from linkstep.core.units import parse_part
from linkstep.costs.usual import ALPHA, BANDWIDTH
from linkstep.files import load_topology
from linkstep.files.documents import naming
from linkstep.recipe.names import DATA, catalog_folders
from linkstep.reports.catalog import AdditionReport, CoverageReport, HopsFacts
from linkstep.search import Catalog, load_catalog
from linkstep.search.added import add_graph, check_addable, compare, default_folder
from linkstep.search.catalog import merge
from linkstep.search.coverage import SIZES, stats
from linkstep.search.sweep.job import list_jobs
from linkstep.search.sweep.methods import METHODS
from linkstep.search.sweep.pools import EXECUTORS
from linkstep.search.sweep.runner import build, narrow, rescore, verify

GAP, SECONDS = "1%", 5.0


def _numbers(text: str, what: str) -> list[int]:
    """Read ``5-64,128``: numbers and ranges, ends included."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part, re.ASCII)
        if match is None:
            raise LinkstepError(f"{what} takes numbers and ranges such as 5-64,128, not {text!r}")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return list(dict.fromkeys(found))


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="W", help="processes; default: one a core")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    sub = actions.add_parser("build", help="search for topologies and log the best; run again to go on")
    sub.add_argument("log", metavar="LOG", help="file to append to; what it says is done is not done again")
    sub.add_argument("--nodes", required=True, metavar="N,...", help="how many servers: several, such as 5-64,128")
    sub.add_argument("--degree", required=True, metavar="D,...", help="ports on each: several, such as 2-4,8")
    sub.add_argument(
        "--kind", choices=["uni", "bi", "both"], default="both", help="one-way links, duplex links; default: both"
    )
    sub.add_argument(
        "--search", choices=METHODS, default="cayley", help="how to search; best: all of these; default: cayley"
    )
    sub.add_argument("--seeds", default="0", metavar="S,...", help="one search for each seed; default: 0")
    sub.add_argument(
        "--budget", type=int, default=10**6, metavar="GRAPHS", help="graphs that a search scores; default: 10^6"
    )
    _add_workers(sub)
    sub.add_argument("--executor", choices=EXECUTORS, default="processes", help="default: processes")

    sub = actions.add_parser("merge", help="add logs or catalog files to a catalog, keeping the best")
    sub.add_argument("logs", nargs="+", metavar="LOG", help="a log of `catalog build`, or a catalog file")
    sub.add_argument("--into", default=str(DATA), metavar="FOLDER", help="default: the catalog of this installation")

    sub = actions.add_parser(
        "add", help="compare a graph in a file with what is known, and add it if it has fewer hops (exit code 1 if not)"
    )
    sub.add_argument("file", metavar="FILE", help="a topology file, such as a published .edges, .gph, .adj, .g6 or .s6")
    add_both_ways(sub)
    sub.add_argument("--source", required=True, metavar="TEXT", help="where the graph comes from: who found it, where")
    sub.add_argument("--into", type=Path, metavar="FOLDER", help="default: a catalog of your own, which find reads too")

    sub = actions.add_parser("stats", help="say how much the catalog covers")
    sub.add_argument("--catalog", default=str(DATA), metavar="FOLDER", help="default: the one that ships with linkstep")
    add_json(sub)

    sub = actions.add_parser("verify", help="rebuild entries from their recipes and recompute all figures")
    sub.add_argument("--catalog", default=str(DATA), metavar="FOLDER", help="default: the one that ships with linkstep")
    sub.add_argument("--sample", type=int, metavar="K", help="only K of them, picked at random")
    add_seed(sub, "the sample")
    _add_workers(sub)

    sub = actions.add_parser("rescore", help="recompute the figures of entries and log them; run again to go on")
    sub.add_argument("log", metavar="LOG", help="file to append to; recipes that it has are not worked out again")
    sub.add_argument("--catalog", default=str(DATA), metavar="FOLDER", help="default: the one that ships with linkstep")
    _add_workers(sub)

    sub = actions.add_parser(
        "narrow", help="compute all-to-all throughput where entries do not know it well, and log it; run again to go on"
    )
    sub.add_argument("log", metavar="LOG", help="file to append to; recipes that it has are not worked out again")
    sub.add_argument("--catalog", default=str(DATA), metavar="FOLDER", help="default: the one that ships with linkstep")
    sub.add_argument(
        "--gap", default=GAP, metavar="PART", help=f"stop when bound and value are this near; default: {GAP}%"
    )
    add_seconds(sub, "on each entry", SECONDS)
    _add_workers(sub)


def _build(args: argparse.Namespace) -> int:
    kinds = {"uni": [False], "bi": [True], "both": [False, True]}[args.kind]
    sizes = _numbers(args.nodes, "--nodes"), _numbers(args.degree, "--degree")
    jobs = list_jobs(*sizes, kinds, _numbers(args.seeds, "--seeds"), args.budget, args.search)
    if not jobs:
        raise LinkstepError(
            f"no graph has --nodes {args.nodes} and --degree {args.degree}: nodes must be more than degree"
        )
    with progress_bar("search", " searches") as bar:
        ran = build(Path(args.log), jobs, executor=args.executor, workers=args.workers, progress=bar)
    print(f"{ran} searches run, {len(jobs) - ran} were done before; entries in {args.log}")
    return 0


def _merge(args: argparse.Namespace) -> int:
    total = merge(map(Path, args.logs), Path(args.into))
    print(f"{args.into}: {total} entries")
    return 0


def _hops(hops: HopsFacts) -> str:
    return f"diameter {hops.diameter}, mean distance {float(hops.mean_distance):.4f}"


def _add(args: argparse.Namespace) -> int:
    folder = args.into or default_folder()
    with naming(args.file):
        topology = load_topology(args.file, both_ways=args.both_ways)
        check_addable(topology, args.source, folder)
    with busy("measuring distances"):
        found = compare(topology, Catalog(*dict.fromkeys([*catalog_folders(), *([folder] if folder.is_dir() else [])])))
    report = AdditionReport.of(found)
    links = "duplex links" if report.duplex else "one-way links"
    size = f"N={report.nodes}, d={report.degree}, {links}"
    print(f"{size}: {_hops(report.hops)} (diameter at least {report.moore_steps})")
    if report.known is None:
        print("nothing is known of this N, d and kind")
    else:
        verdict = "beats" if report.beats else "does not beat"
        print(f"{verdict} what is known: {_hops(report.known)} ({report.known_name})")
    if not report.beats:
        return 1
    with busy("scoring the graph"):
        name = add_graph(topology, args.source, folder)
    print(
        f"added to {folder}"
        + (f" as {name}" if name else ", which linkstep does not read: merge it, or add without --into")
    )
    if name:
        both = "" if report.duplex else " --directed"
        print(f"next: linkstep show '{name}'; linkstep find {report.nodes} {report.degree}{both} counts it in")
    return 0


def _stats(args: argparse.Namespace) -> int:
    rows = stats(load_catalog(Path(args.catalog)))
    if show_json(CoverageReport.of(rows), args):
        return 0
    print_table(
        (
            "degree", "links", "N", "sizes", "T_B optimal", "Moore bound", "both",
            *(f"{size}: mean" for size in SIZES), *(f"{size}: worst" for size in SIZES),
        ),
        (
            (
                str(row.degree), "duplex" if row.bidirectional else "directed", f"{row.smallest}-{row.largest}",
                str(row.sizes), str(row.bandwidth_optimal), str(row.moore_optimal), str(row.both),
                *(f"{ratio:.3f}" for ratio in (*row.mean_over_bound, *row.worst_over_bound)),
            )
            for row in rows
        ),
        right=(0, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        drop=(8, 10, 4),
    )  # fmt: skip
    over = "the best allreduce over the least that any graph could take"
    print()
    print_text(f"mean and worst: {over}, {ALPHA} and {BANDWIDTH} a server")
    return 0


def _verify(args: argparse.Namespace) -> int:
    entries = list(load_catalog(Path(args.catalog)))
    if args.sample is not None:
        entries = random.Random(args.seed).sample(entries, min(max(args.sample, 0), len(entries)))
    with progress_bar("verify", " entries") as bar:
        verify(entries, workers=args.workers, progress=bar)
    print(f"{len(entries)} entries rebuilt from their recipes: every figure is right")
    return 0


def _rescore(args: argparse.Namespace) -> int:
    entries = list(load_catalog(Path(args.catalog)))
    with progress_bar("rescore", " entries") as bar:
        ran = rescore(Path(args.log), entries, workers=args.workers, progress=bar)
    print(f"{ran} entries worked out, {len(entries) - ran} were before; in {args.log}")
    print(f"next: linkstep catalog merge {args.log} --into FOLDER")
    return 0


def _narrow(args: argparse.Namespace) -> int:
    gap = parse_part(args.gap)
    entries = list(load_catalog(Path(args.catalog)))
    with progress_bar("narrow", " entries") as bar:
        ran = narrow(Path(args.log), entries, gap, args.seconds, workers=args.workers, progress=bar)
    print(f"{ran} entries worked out; the other {len(entries) - ran} are within {float(gap):.3g} or were before")
    print(f"next: linkstep catalog merge {args.log} --into FOLDER")
    return 0


_ACTIONS = {
    "build": _build, "merge": _merge, "add": _add, "stats": _stats, "verify": _verify, "rescore": _rescore,
    "narrow": _narrow,
}  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    return _ACTIONS[args.action](args)


COMMAND = Command(
    name="catalog",
    example="linkstep catalog build found.csv --nodes 8-64 --degree 4",
    add_arguments=_add_arguments,
    run=_run,
)

"""The best allreduce time over N at d = 4, from the paper's bases and from all linkstep knows (fig:opttopodiffn).

    python -m benchmarks.frontier                        every N in 8..1024 and 100 up to 2048, directed and duplex
    python -m benchmarks.frontier --plot docs/pictures   and the figures, coloured by construction; fig:asymptotictrend

An allreduce costs its reduce-scatter and its allgather. alpha = 10us, 100 Gbps a server, 1MB and 100MB (10^6 and 10^8
bytes); the bound is that of graphs of the same kind, so where all links are duplex a higher one. Sizes that the
catalog does not have are searched for on the spot, as ``linkstep find`` does (``--seconds``; 0: not at all).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tqdm import tqdm

from linkstep.costs import bandwidth_bound, lower_bound, usual_fabric
from linkstep.pictures.style import BLACK, BLUE, GREEN, INK, LINE, ORANGE, PURPLE, SKY, VERMILLION, save_figure
from linkstep.recipe import (
    Bidirectional,
    Degree,
    Insert,
    Line,
    Member,
    Power,
    Product,
    Recipe,
    Remove,
    Swap,
    parse,
)
from linkstep.search.answer import find
from linkstep.search.choice import Choice
from linkstep.search.spot import Spot

FABRIC = usual_fabric(4)
SIZES = ("1MB", "100MB")
NAMES = {"Pi": "GenKautz", "C": "circulant", "DistReg": "distance-regular", "Cayley": "Cayley", "Lift": "lift"}
GRAFTS = (Insert, Remove, Swap)
MARKS = {
    "GenKautz": (ORANGE, "v"), "circulant": (GREEN, "s"), "distance-regular": (PURPLE, "D"), "Cayley": (BLUE, "o"),
    "L": (VERMILLION, "x"), "L of Cayley": (SKY, "^"), "product": (LINE, "+"), "lift": (BLACK, "*"),
    "graft": (ORANGE, "1"), "other": (INK, "."),
}  # fmt: skip
"""Told apart by colours that everyone sees and by shapes."""


def construction(recipe: Recipe) -> str:
    """Name how a topology was made, as the paper's figure colours it."""
    if isinstance(recipe, Line):
        return "L of Cayley" if construction(recipe.base) == "Cayley" else "L"
    if isinstance(recipe, GRAFTS):
        return "graft"
    if isinstance(recipe, (Product, Power, Degree, Bidirectional)):
        return "product"
    return NAMES.get(recipe.family.name, "other") if isinstance(recipe, Member) else "other"


def best(choices: Iterable[Choice], size: str) -> tuple[Fraction, Choice]:
    return min(((FABRIC.time(c.allreduce_cost, "allreduce", size), c) for c in choices), key=lambda pair: pair[0])


Times = dict[int, tuple[Fraction, str]]
"""For each N, the best time and its construction."""


def bound(num_nodes: int, bidirectional: bool, size: str) -> Fraction:
    half = lower_bound(num_nodes, 4, bidirectional=bidirectional)
    return FABRIC.time(half + half, "allreduce", size)


def sweep(families: str, bidirectional: bool, nodes: Iterable[int], spot: Spot) -> dict[str, Times]:
    """Return the best times for each size."""
    found: dict[str, Times] = {size: {} for size in SIZES}
    kind = "duplex" if bidirectional else "directed"
    for n in tqdm(nodes, desc=f"{families}, {kind}", disable=not sys.stderr.isatty(), leave=False):
        frontier = find(n, 4, families=families, directed=not bidirectional, spot=spot).frontier
        for size in SIZES if frontier else ():
            seconds, choice = best(frontier, size)
            found[size][n] = (seconds, construction(choice.recipe))
    return found


def ratios(times: Times, bidirectional: bool, size: str) -> list[float]:
    return [float(seconds / bound(n, bidirectional, size)) for n, (seconds, _) in times.items()]


def plot_sweep(times: Times, bidirectional: bool, size: str, title: str, path: Path) -> None:
    def draw(axes: Any) -> None:
        for kind, (colour, mark) in MARKS.items():
            points = [(n, float(t) * 1e6) for n, (t, k) in times.items() if k == kind]
            if points:
                axes.plot(*zip(*points, strict=True), mark, markersize=3, color=colour, label=f"{kind} ({len(points)})")
        least = [float(bound(n, bidirectional, size)) * 1e6 for n in times]
        axes.plot(list(times), least, color="black", linewidth=1, label="no graph beats")
        axes.set_xlabel("N")
        axes.set_ylabel("us")
        axes.set_title(f"best allreduce of {size} at d = 4: {title}")
        axes.legend(markerscale=3)

    save_figure(draw, path, (10, 5))


def plot_trend(path: Path) -> None:
    """fig:asymptotictrend: T_B / T_B* of line graphs of Moore- and bandwidth-optimal bases of degree 4."""
    bases = ["K_{4,4}", "K_5", "DirCirculant(4)", "H(2,3)", "Cayley(Z13,{1,3,4,9})"]

    def draw(axes: Any) -> None:
        for base in bases:
            points = []
            for times in range(9):
                recipe = parse(base if not times else f"L^{times}({base})")
                points.append((recipe.num_nodes, float(recipe.cost.bandwidth / bandwidth_bound(recipe.num_nodes))))
            axes.plot(*zip(*points, strict=True), "o-", label=base)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{int(x):,}")
        axes.set_xlabel("N")
        axes.set_ylabel("T_B / T_B*")
        axes.set_title("line graphs of optimal bases, d = 4")
        axes.legend()

    save_figure(draw, path)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-nodes", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=0.0, help="of search for a size that the catalog lacks (0)")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the figures here, as .png")
    parser.add_argument("--json", type=Path, help="write the means here")
    args = parser.parse_args(argv)
    nodes = [n for n in range(8, args.max_nodes + 1) if n <= 1024 or n % 10 == 8]
    report: dict[str, dict[str, float]] = {}
    print(f"best allreduce time / bound, d = 4, {len(nodes)} sizes N = {nodes[0]}..{nodes[-1]}")
    print(f"{'':18}" + "".join(f"{size:>8} mean   worst" for size in SIZES))
    for bidirectional in (False, True):
        for families in ("paper", "all"):
            start = time.process_time()
            found = sweep(families, bidirectional, nodes, Spot(args.seconds))
            kind = "both-ways" if bidirectional else "directed"
            row = report[f"{families} {kind}"] = {"sizes": len(found[SIZES[0]])}
            for size in SIZES:
                over = ratios(found[size], bidirectional, size)
                row |= {f"{size} mean": sum(over) / len(over), f"{size} worst": max(over)}
                if args.plot:
                    title = f"{'the paper’s bases' if families == 'paper' else 'all that is known'}, {kind}"
                    path = args.plot / f"best-{families}-{kind}-{size}.png"
                    plot_sweep(found[size], bidirectional, size, title, path)
            figures = "".join(f"{row[f'{size} mean']:13.4f} {row[f'{size} worst']:7.3f}" for size in SIZES)
            print(f"{families:6}{kind:12}{figures}   {row['sizes']} sizes, {time.process_time() - start:.0f} s")
    if args.plot:
        plot_trend(args.plot / "line-graph-trend.png")
    if args.json:
        args.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The best allreduce time over N at d = 4, from the paper's bases and from all linkstep knows (fig:opttopodiffn).

    python -m benchmarks.frontier                        both finders over N = 8..2048, two sizes: mean ratio to bound
    python -m benchmarks.frontier --plot docs/pictures   and the figures, coloured by construction; fig:asymptotictrend

Costs are what the finder predicts; alpha = 10us, 100 Gbps a server, 1MB and 100MB (10^6 and 10^8 bytes).
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

from linkstep.costs import Fabric, bandwidth_bound, lower_bound
from linkstep.pictures.style import BLACK, BLUE, GREEN, INK, LINE, ORANGE, PURPLE, SKY, VERMILLION, save_figure
from linkstep.recipe import Bidirectional, Degree, Line, Member, Power, Product, Recipe, parse
from linkstep.search.finders import finder
from linkstep.search.choice import Choice

FABRIC = Fabric.of("10us", "100Gbps", 4)
SIZES = ("1MB", "100MB")
NAMES = {"Pi": "GenKautz", "C": "circulant", "DistReg": "distance-regular", "Cayley": "Cayley", "Lift": "lift"}
MARKS = {
    "GenKautz": (ORANGE, "v"), "circulant": (GREEN, "s"), "distance-regular": (PURPLE, "D"), "Cayley": (BLUE, "o"),
    "L": (VERMILLION, "x"), "L of Cayley": (SKY, "^"), "product": (LINE, "+"), "lift": (BLACK, "*"),
    "other": (INK, "."),
}  # fmt: skip
"""Told apart by colours that everyone sees and by shapes."""


def construction(recipe: Recipe) -> str:
    """Name how a topology was made, as the paper's figure colours it."""
    if isinstance(recipe, Line):
        return "L of Cayley" if construction(recipe.base) == "Cayley" else "L"
    if isinstance(recipe, (Product, Power, Degree, Bidirectional)):
        return "product"
    return NAMES.get(recipe.family.name, "other") if isinstance(recipe, Member) else "other"


def best(choices: Iterable[Choice], size: str) -> tuple[Fraction, Choice]:
    return min(((FABRIC.time(c.allreduce_cost, "allreduce", size), c) for c in choices), key=lambda pair: pair[0])


def sweep(families: str, nodes: Iterable[int]) -> dict[str, dict[int, tuple[Fraction, str]]]:
    """Return, for each size and N, the best time and its construction."""
    found: dict[str, dict[int, tuple[Fraction, str]]] = {size: {} for size in SIZES}
    search = finder(families, False)
    for n in tqdm(nodes, desc=families, disable=not sys.stderr.isatty(), leave=False):
        frontier = search.frontier(n, 4)
        for size in SIZES:
            seconds, choice = best(frontier, size)
            found[size][n] = (seconds, construction(choice.recipe))
    return found


def mean_ratio(times: dict[int, tuple[Fraction, str]], size: str) -> float:
    ratios = [t / FABRIC.time(lower_bound(n, 4) + lower_bound(n, 4), "allreduce", size) for n, (t, _) in times.items()]
    return float(sum(ratios, Fraction(0)) / len(ratios))


def plot_sweep(times: dict[int, tuple[Fraction, str]], size: str, title: str, path: Path) -> None:
    def draw(axes: Any) -> None:
        for kind, (colour, mark) in MARKS.items():
            points = [(n, float(t) * 1e6) for n, (t, k) in times.items() if k == kind]
            if points:
                axes.plot(*zip(*points, strict=True), mark, markersize=3, color=colour, label=f"{kind} ({len(points)})")
        bound = [float(FABRIC.time(lower_bound(n, 4) + lower_bound(n, 4), "allreduce", size)) * 1e6 for n in times]
        axes.plot(list(times), bound, color="black", linewidth=1, label="no graph beats")
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
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the figures here, as .png")
    parser.add_argument("--json", type=Path, help="write the means here")
    args = parser.parse_args(argv)
    means: dict[str, dict[str, float]] = {}
    print(f"mean of best allreduce time / bound over N = 8..{args.max_nodes}, d = 4")
    for families in ("paper", "all"):
        start = time.perf_counter()
        found = sweep(families, range(8, args.max_nodes + 1))
        means[families] = {size: mean_ratio(found[size], size) for size in SIZES}
        seconds = time.perf_counter() - start
        print(f"{families:6}", *(f"{size}: {means[families][size]:.4f}" for size in SIZES), f"({seconds:.0f} s)")
        if args.plot:
            title = "the paper's bases" if families == "paper" else "all bases"
            for size in SIZES:
                plot_sweep(found[size], size, title, args.plot / f"best-{families}-{size}.png")
    if args.plot:
        plot_trend(args.plot / "line-graph-trend.png")
    if args.json:
        args.json.write_text(json.dumps(means, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Allreduce and all-to-all times over N at d = 4: ours, two families of the paper, and what is wired today.

    python -m benchmarks.comparison                        a table for square N up to 1024
    python -m benchmarks.comparison --plot docs/pictures   and the figures (fig:comparisonwithringdbt)

alpha = 10us, 100 Gbps a server, 1MB (10^6 bytes) on each server. An allreduce is costed exactly. The time of an
all-to-all is that of the flow: (M/N) / (f B/d), where f is proven to be reached for ours, and proven to be the most for
all others: nobody is drawn slower than it is. The largest gap between the two is printed. Ours is the best row of
``find`` for each. Shifted rings have the best second jump for their N; the paper's have another, and are
slower. A double binary tree is both trees of NCCL with duplex links, four ports a server, and its allreduce is the
baseline's: both trees at once, to the roots and back in one pipeline.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tqdm import tqdm

import linkstep
from linkstep.baselines import baseline
from linkstep.core.topology import Topology
from linkstep.costs import all_to_all_bound, lower_bound, usual_fabric
from linkstep.families.circulant import best_two_jumps
from linkstep.methods.bfb import bfb_cost
from linkstep.pictures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, save_figure
from linkstep.search import find

DEGREE, SIZE = 4, "1MB"
FABRIC = usual_fabric(DEGREE)
SQUARES = [k * k for k in (4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32)]
SECONDS = 20.0
GAPS = [0.0]
"""Of the flows so far."""
Times = tuple[Fraction, Fraction]
"""Of an allreduce and of an all-to-all."""


def exchange_time(topology: Topology) -> Fraction:
    """Return seconds of an all-to-all that no flow beats."""
    found = linkstep.all_to_all(topology, seconds=SECONDS)
    GAPS.append(float(found.gap))
    return FABRIC.all_to_all_time(found.bound, topology.num_nodes, SIZE)


def _of(recipe: str) -> Times:
    topology = linkstep.parse(recipe).topology()
    turned = topology.transpose()
    cost = bfb_cost(topology) + bfb_cost(turned)
    return FABRIC.time(cost, "allreduce", SIZE), exchange_time(topology)


def _ours(num_nodes: int) -> Times:
    rows = find(num_nodes, DEGREE, directed=True).ranked_by_all_to_all(SECONDS).frontier
    allreduce = min(FABRIC.time(row.allreduce_cost, "allreduce", SIZE) for row in rows)
    flow = max(row.flow for row in rows if row.flow is not None)
    return allreduce, FABRIC.all_to_all_time(flow, num_nodes, SIZE)


def _shifted_rings(num_nodes: int) -> Times:
    rings = baseline("shifted rings", f"ShiftedRing({DEGREE},{num_nodes})")
    return rings.allreduce_time(FABRIC, SIZE), exchange_time(rings.recipe.topology())


def _double_tree(num_nodes: int) -> Times:
    wiring = linkstep.parse(f"DoubleBinaryTree({num_nodes})").topology()
    trees = baseline("double binary tree", f"DoubleBinaryTree({num_nodes})")
    return trees.allreduce_time(FABRIC, SIZE), exchange_time(wiring)


def _bound(num_nodes: int) -> Times:
    half = lower_bound(num_nodes, DEGREE)
    flow = all_to_all_bound(num_nodes, DEGREE)
    return FABRIC.time(half + half, "allreduce", SIZE), FABRIC.all_to_all_time(flow, num_nodes, SIZE)


def _circulant(num_nodes: int) -> Times:
    m = best_two_jumps(num_nodes)
    return _of(f"C({num_nodes},{{{m},{m + 1}}})")


def _torus(num_nodes: int) -> Times:
    side = round(num_nodes**0.5)
    return _of(f"Torus({side},{side})")


LINES: dict[str, tuple[Callable[[int], Times], str, str]] = {
    "linkstep": (_ours, BLUE, "o"),
    "generalized Kautz": (lambda n: _of(f"Pi_{{4,{n}}}"), ORANGE, "v"),
    "circulant": (_circulant, GREEN, "s"),
    "torus": (_torus, PURPLE, "D"),
    "shifted rings": (_shifted_rings, VERMILLION, "x"),
    "double binary tree": (_double_tree, SKY, "^"),
    "no graph beats": (_bound, BLACK, ""),
}  # fmt: skip


def plot(found: dict[str, dict[int, Times]], part: int, title: str, path: Path) -> None:
    def draw(axes: Any) -> None:
        for name, (_, colour, mark) in LINES.items():
            points = [(n, float(times[part]) * 1e6) for n, times in found[name].items()]
            axes.plot(*zip(*points, strict=True), f"{mark}-", markersize=4, linewidth=1, color=colour, label=name)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _: f"{int(y):,}")
        axes.set_xlabel("N")
        axes.set_ylabel("us")
        axes.set_title(f"{title} of {SIZE} at d = {DEGREE}")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))

    save_figure(draw, path, (9, 5))


def main(argv: list[str] | None = None) -> int:
    """Print times in us, and plot them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-nodes", type=int, default=1024)
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the figures here, as .png")
    args = parser.parse_args(argv)
    sizes = [n for n in SQUARES if n <= args.max_nodes]
    found: dict[str, dict[int, Times]] = {}
    for name, (times, _, _) in LINES.items():
        found[name] = {n: times(n) for n in tqdm(sizes, desc=name, disable=not sys.stderr.isatty(), leave=False)}
    print(f"largest gap of a flow: {max(GAPS):.2%}")
    for part, title in enumerate(("allreduce", "all-to-all")):
        print(f"\n| N, {title} in us | {' | '.join(LINES)} |\n|---{'|---' * len(LINES)}|")
        for n in sizes:
            print(f"| {n} | {' | '.join(f'{float(found[name][n][part]) * 1e6:.0f}' for name in LINES)} |")
        if args.plot:
            plot(found, part, title, args.plot / f"comparison-{title}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())

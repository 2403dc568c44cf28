"""The paper's illustrations, drawn again: topologies and broadcasts that explain, with the figures of their captions.

Nodes have the paper's names. Not here: figures that plot times or costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import cost_of
from linkstep.expansions import degree_expand_schedule, line_graph_schedule
from linkstep.files import AnyPath
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.pictures.broadcast import broadcast_picture, carried
from linkstep.pictures.panels import CaptionedPicture, draw_panels
from linkstep.pictures.topology import topology_picture
from linkstep.recipe import parse
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import Cell, cell


def _named(schedule: Schedule, name: str, nodes: Sequence[str]) -> Schedule:
    """Return a schedule whose topology and its nodes have names."""
    return replace(schedule, topology=replace(schedule.topology, name=name, labels=tuple(nodes)))


def _sizes(name: str, topology: Topology, num_nodes: int, degree: int) -> list[Cell]:
    return [
        cell(name, "N", paper=str(num_nodes), bases=topology.num_nodes),
        cell(name, "d", paper=str(degree), bases=topology.degree),
    ]


def _picture(label: str, title: str, panels: Sequence[CaptionedPicture]) -> Callable[[AnyPath], None]:
    return lambda path: draw_panels(panels, f"{label}: {title}", path)


def _small_base() -> Schedule:
    return _named(bfb_allgather(parse("K_{2,2}").topology()), "K_{2,2}", "abcd")


def compute_notation() -> ExhibitResult:
    """Draw the allgather of K_{2,2}."""
    schedule = _small_base()
    cost = cost_of(schedule)
    halves = carried(schedule, 0)
    to_b = [parts for link, parts in halves.items() if schedule.topology.head[link] == 1]
    cells = [
        cell("K_{2,2}", "T_L", unit="alpha", paper="2", bases=cost.steps),
        cell("K_{2,2}", "T_B", unit="M/B", paper="0.75", bases=cost.bandwidth),
        cell("K_{2,2}", "chunks of a shard", paper="2", bases=schedule.unit),
        cell("K_{2,2}", "links that bring b half of a's shard at step 2", paper="2",
             bases=sum(parts == {2: Fraction(1, 2)} for parts in to_b)),
    ]  # fmt: skip
    panels = [CaptionedPicture("broadcast from a", broadcast_picture(schedule, 0))]
    return ExhibitResult(tuple(cells), _picture("fig:notationexample", "the allgather of K_{2,2}", panels))


def compute_line_graph() -> ExhibitResult:
    """Draw K_{2,2}, its line graph, and a broadcast on either."""
    base = _small_base()
    ends = zip(base.topology.tail.tolist(), base.topology.head.tolist(), strict=True)
    names = [f"{'abcd'[u]}{'abcd'[w]}" for u, w in ends]  # a link of the base is a node of its line graph
    line = _named(line_graph_schedule(base), "L(K_{2,2})", names)
    root = names.index("ca")
    paths, heads = carried(line, root), line.topology.head
    halves = {names[heads[link]] for link, parts in paths.items() if parts == {3: Fraction(1, 2)}}
    cells = [
        *_sizes("K_{2,2}", base.topology, 4, 2),
        *_sizes("L(K_{2,2})", line.topology, 8, 2),
        cell("broadcast from ca", "whole shard at step 1 to", paper="ac, ad",
             bases=", ".join(sorted(names[heads[link]] for link, parts in paths.items() if 1 in parts))),
        cell("broadcast from ca", "halves at step 3 to", paper="bc, bd", bases=", ".join(sorted(halves))),
    ]  # fmt: skip
    panels = [
        CaptionedPicture("broadcast from a", broadcast_picture(base, 0)),
        CaptionedPicture("the line graph", topology_picture(line.topology)),
        CaptionedPicture("broadcast from ca", broadcast_picture(line, root)),
    ]
    return ExhibitResult(tuple(cells), _picture("fig:linegraph", "K_{2,2} and its line graph", panels))


def compute_degree() -> ExhibitResult:
    """Draw the ring of four nodes, its degree expansion, and broadcasts on either."""
    base = _named(bfb_allgather(parse("UniRing(1,4)").topology()), "UniRing(1,4)", "abcd")
    names = [f"{'abcd'[node // 2]}{node % 2 + 1}" for node in range(8)]
    wide = _named(degree_expand_schedule(base, 2), "UniRing(1,4)*2", names)
    roots = [names.index("a1"), names.index("a2")]
    first, second = (carried(wide, root) for root in roots)
    cells = [
        *_sizes("G", base.topology, 4, 1),
        *_sizes("G*2", wide.topology, 8, 2),
        cell("broadcasts from a1 and a2", "links that carry both", paper="0", bases=len(first.keys() & second.keys())),
        cell("broadcasts from a1 and a2", "links in all", bases=len(first.keys() | second.keys())),
        cell("G*2", "T_B", unit="M/B", paper="0.875", bases=cost_of(wide).bandwidth),
    ]
    panels = [
        CaptionedPicture("broadcast from a", broadcast_picture(base, 0)),
        CaptionedPicture("the expanded topology", topology_picture(wide.topology)),
        *(CaptionedPicture(f"broadcast from {names[root]}", broadcast_picture(wide, root)) for root in roots),
    ]
    return ExhibitResult(
        tuple(cells), _picture("fig:degreeexample", "a ring of four nodes and its degree expansion", panels)
    )


_SOURCES = {"w1": ("v1",), "w2": ("v1", "v2"), "w3": ("v2",)}
"""Of fig:shortestpath-illustration: who has whose shard before step t."""
_INTO = {"u1": ("w1", "w2"), "u2": ("w1", "w2", "w3")}
"""Who sends to whom at step t."""
_NAMES = ("v1", "v2", "w1", "w2", "w3", "u1", "u2")
_BACK = 6
"""Copies of the links that do not matter, so that no node but u has much to receive at a step."""


def _balanced(node: str) -> tuple[Fraction, dict[tuple[str, str], Fraction]]:
    """Return U(u, t) and x(v, (w, u), t) of one node, by BFB: the example with t = 2 and links back to the sources."""
    links = [(v, w) for w in _INTO[node] for v in _SOURCES[w]] * _BACK + [(node, v) for v in ("v1", "v2")] * _BACK
    links += [(w, node) for w in _INTO[node]]
    names = ["v1", "v2", *_INTO[node], node]
    number = {name: k for k, name in enumerate(names)}
    tail, head = ([number[link[end]] for link in links] for end in (0, 1))
    topology = Topology.from_links(len(names), tail, head)
    schedule = bfb_allgather(topology)
    into = np.flatnonzero((topology.head[schedule.link] == number[node]) & (schedule.step == 2))
    parts: dict[tuple[str, str], Fraction] = {}
    for row in into.tolist():
        key = names[schedule.source[row]], names[topology.tail[schedule.link[row]]]
        size = Fraction(int(schedule.hi[row] - schedule.lo[row]), schedule.unit)
        parts[key] = parts.get(key, Fraction(0)) + size
    load = {w: sum((x for (_, by), x in parts.items() if by == w), Fraction(0)) for w in _INTO[node]}
    return max(load.values()), parts


def compute_balance() -> ExhibitResult:
    """Solve and draw the two linear programs of the example."""
    printed = {
        ("u1", "v1", "w1"): "1", ("u1", "v1", "w2"): "0", ("u1", "v2", "w2"): "1",
        ("u2", "v1", "w1"): "2/3", ("u2", "v1", "w2"): "1/3", ("u2", "v2", "w2"): "1/3", ("u2", "v2", "w3"): "2/3",
    }  # fmt: skip
    solved = {node: _balanced(node) for node in _INTO}
    loads = {"u1": "1", "u2": "2/3"}
    cells = [cell(node, "U, the busiest link's load", paper=loads[node], bases=solved[node][0]) for node in _INTO]
    cells += [
        cell(u, f"part of {v}'s shard from {w}", paper=text, bases=solved[u][1].get((v, w), Fraction(0)))
        for (u, v, w), text in printed.items()
    ]
    links = [(v, w) for w, sources in _SOURCES.items() for v in sources]
    links += [(w, u) for u, senders in _INTO.items() for w in senders]
    ends = sorted((_NAMES.index(a), _NAMES.index(b)) for a, b in links)
    topology = replace(Topology.from_links(7, [a for a, _ in ends], [b for _, b in ends]), labels=_NAMES)
    text: dict[int, str] = {}
    for e, (a, b) in enumerate(ends):
        parts = solved[_NAMES[b]][1] if _NAMES[b] in solved else {}
        shown = [f"{v}: {x}" for (v, w), x in sorted(parts.items()) if w == _NAMES[a]]
        text |= {e: ", ".join(shown)} if shown else {}
    place = np.array([(0, 1.0), (0, 0.0), (1, 1.4), (1, 0.5), (1, -0.4), (2, 1.4), (2, -0.4)]) * (1.0, 0.6)
    picture = topology_picture(topology, text, place=place)
    panels = [CaptionedPicture("parts of the shards of v1 and v2 over links into u1 and u2 at step t", picture)]
    title = "what BFB balances at a step"
    return ExhibitResult(tuple(cells), _picture("fig:shortestpath-illustration", title, panels))


def compute_rings() -> ExhibitResult:
    """Draw broadcasts on an odd and an even ring."""
    cells, panels = [], []
    for size, pieces, what in ((5, 1, "odd"), (6, 2, "even")):
        schedule = bfb_allgather(parse(f"BiRing(2,{size})").topology())
        name = f"BiRing(2,{size})"
        used = carried(schedule, 0)
        halves = sum(set(parts.values()) == {Fraction(1, 2)} for parts in used.values())
        cells += [
            cell(name, "T_L", unit="alpha", paper=str(size // 2), bases=cost_of(schedule).steps),
            cell(name, "chunks of a shard", paper=str(pieces), bases=schedule.unit),
            cell(name, "links that carry a whole shard", paper="4", bases=len(used) - halves),
            cell(name, "links that carry half of one", paper=str(2 * (pieces - 1)), bases=halves),
        ]
        panels.append(CaptionedPicture(f"an {what} ring", broadcast_picture(schedule, 0)))
    return ExhibitResult(tuple(cells), _picture("fig:BFBringallgather", "broadcasts of BFB on rings", panels))


_DIAMOND = (
    (0, 3), (0, 4), (1, 2), (1, 7), (2, 3), (2, 4), (3, 6), (3, 7),
    (4, 1), (4, 5), (5, 0), (5, 1), (6, 2), (6, 5), (7, 0), (7, 6),
)  # fmt: skip
"""The links that the paper draws."""


def compute_diamond() -> ExhibitResult:
    """Draw Diamond."""
    topology = parse("Diamond").topology()
    ends = set(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    cells = [
        *_sizes("Diamond", topology, 8, 2),
        cell("Diamond", "links as drawn", paper="16", bases=len(ends & set(_DIAMOND))),
    ]
    panels = [CaptionedPicture("its links are those that the paper draws", topology_picture(topology))]
    return ExhibitResult(tuple(cells), _picture("fig:diamondtopo", "Diamond", panels))


def _short_cycles(topology: Topology) -> tuple[int, int]:
    """Return how many self-loops and cycles of two links a digraph has."""
    ends = set(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    return topology.num_self_loops, sum((w, u) in ends for u, w in ends if u < w)


def compute_modified() -> ExhibitResult:
    """Draw a de Bruijn graph and the modified one."""
    plain, modified = (parse(recipe).topology() for recipe in ("DBJ(2,3)", "DBJMod(2,3)"))
    cells = [*_sizes("DBJMod(2,3)", modified, 8, 2)]
    for name, topology, expected in (("DBJ(2,3)", plain, None), ("DBJMod(2,3)", modified, "0")):
        loops, pairs = _short_cycles(topology)
        cells += [
            cell(name, "self-loops", paper=expected, bases=loops),
            cell(name, "cycles of two links", paper=expected, bases=pairs),
        ]
    cells.append(cell("DBJMod(2,3)", "T_B by BFB", unit="M/B", bases=bfb_cost(modified).bandwidth))
    panels = [
        CaptionedPicture("before", topology_picture(plain)),
        CaptionedPicture("modified", topology_picture(modified)),
    ]
    return ExhibitResult(tuple(cells), _picture("fig:modifieddbjg", "a modified de Bruijn graph", panels))


_METHOD = "Drawn from linkstep's own topologies and schedules; what the caption says of them is compared."

EXHIBITS = (
    Exhibit("fig:notationexample", "The allgather of K_{2,2}", compute_notation, _METHOD),
    Exhibit("fig:linegraph", "Line graph expansion of K_{2,2}", compute_line_graph, _METHOD),
    Exhibit("fig:degreeexample", "Degree expansion of a ring", compute_degree, _METHOD),
    Exhibit("fig:shortestpath-illustration", "What BFB balances at a step", compute_balance, _METHOD),
    Exhibit("fig:BFBringallgather", "Broadcasts of BFB on rings", compute_rings, _METHOD),
    Exhibit("fig:diamondtopo", "The Diamond topology", compute_diamond, _METHOD),
    Exhibit("fig:modifieddbjg", "A modified de Bruijn graph", compute_modified, _METHOD),
)

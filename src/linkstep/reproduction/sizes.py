"""Exhibits over all sizes: fig:genkautzbwtime and fig:opttopodiffn.

Costs are exact for every N: those of generalized Kautz graphs from the table that ships with linkstep, the others as
the theorems predict them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from linkstep.core.collective import Collective
from linkstep.costs import Cost, bandwidth_bound, lower_bound, moore_steps, usual_fabric
from linkstep.families import family_written
from linkstep.recipe import Bidirectional, Member, Power, Product, Recipe
from linkstep.recipe import Line as LineGraph
from linkstep.reproduction.charts import Chart, ChartPanel, Curve
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import Cell, CellKind, Direction, Mark, cell, yes
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import Choice
from linkstep.search.finders import finder

LARGEST = 2000
DEGREES = (2, 4, 8, 16)


def compute_kautz() -> ExhibitResult:
    """Take T_B over T_B* of Pi_{d,N} for every N up to 2000."""
    family = family_written("Pi_{d,m}")
    cells: list[Cell] = []
    lines: list[Curve] = []
    means = []
    for degree in DEGREES:
        sizes = range(degree + 1, LARGEST + 1)
        costs = [_table(family.costs, degree, size) for size in sizes]
        ratios = [cost.bandwidth / bandwidth_bound(size) for size, cost in zip(sizes, costs, strict=True)]
        over = max(cost.steps - moore_steps(size, degree) for size, cost in zip(sizes, costs, strict=True))
        mean = sum(ratios) / len(ratios)
        means.append(mean)
        name = f"Pi_{{{degree},N}}, N up to {LARGEST}"
        worst = max(ratios)
        cells += [
            cell(name, "T_B / T_B* is at most 2", paper="yes", bases=yes(worst <= 2)),
            cell(name, "T_L is at most one step above Moore's bound", paper="yes", bases=yes(over <= 1)),
            cell(name, "largest T_B / T_B*", bases=worst),
            cell(name, "mean T_B / T_B*", bases=mean),
        ]
        cells += [
            cell(f"Pi_{{{degree},{size}}}", "T_B / T_B*", bases=ratio, kind=CellKind.POINT)
            for size, ratio in zip(sizes, ratios, strict=True)
        ]
        lines.append(Curve("generalized Kautz graph", sizes, ratios, is_scattered=True))
    closer = all(a > b for a, b in pairwise(means))
    cells.append(
        cell("d = 2, 4, 8, 16", "closer to T_B* the higher d is", paper="yes", bases=yes(closer), mark=Mark.WORDS)
    )
    panels = tuple(
        ChartPanel(f"d = {degree}", "nodes N", "T_B / T_B*", (line,))
        for degree, line in zip(DEGREES, lines, strict=True)
    )
    return ExhibitResult(
        tuple(cells), Chart(panels, columns=2, shares_y=True), ("T_B is that of the allgather by BFB.",)
    )


def _table(costs: Callable[..., tuple[Cost, Cost] | None], degree: int, size: int) -> Cost:
    found = costs(degree, size)
    assert found is not None
    return found[0]


def kind_of(recipe: Recipe) -> str:
    """Return which of the paper's kinds a construction is: a family, or the expansions that it uses.

    >>> from linkstep.recipe import parse
    >>> [kind_of(parse(text)) for text in ("Pi_{4,7}", "L(Diamond^2)", "K_3 x K_4", "C(16,{3,4})")]
    ['GenKautz', 'LP', 'C', 'Circulant']
    """
    letters = {LineGraph: "L", Power: "P", Product: "C", Bidirectional: ""}
    used = "".join(dict.fromkeys(letters.get(type(part), "") for part in _parts(recipe)))
    if used:
        return "".join(letter for letter in "LPC" if letter in used)
    if isinstance(recipe, Member):
        names = {"Pi": "GenKautz", "DistReg": "DistReg", "C": "Circulant"}
        return names.get(recipe.family.name, "other")
    return "other"


def _parts(recipe: Recipe) -> Iterable[Recipe]:
    yield recipe
    for part in recipe.parts:
        yield from _parts(part)


SIZES = {"1MB": 2**20, "100MB": 100 * 2**20}
DEGREE = 4
FABRIC = usual_fabric(DEGREE)


def _time(cost: Cost, size: int) -> Fraction:
    return 10**6 * FABRIC.time(cost, Collective.ALLREDUCE, size)


def _best(choices: Iterable[Choice], size: int) -> Choice:
    return min(choices, key=lambda choice: (_time(choice.allreduce_cost, size), str(choice.recipe)))


def _catalog_times(num_nodes: int, bidirectional: bool, size: int) -> list[Fraction]:
    entries = load_catalog().entries(num_nodes, DEGREE, bidirectional)
    return [_time(cost, size) for entry in entries for cost in entry.costs]


@dataclass(frozen=True)
class _Sweep:
    """The least allreduce times in us at every size, by who has them, and which kind of the paper's is the fastest."""

    sizes: Sequence[int]
    times: dict[str, list[Fraction]]
    kinds: list[str]

    def over_bound(self, who: str) -> list[Fraction]:
        """Return the times over those that no graph beats."""
        return [time / bound for time, bound in zip(self.times[who], self.times[_BOUND], strict=True)]


_PAPER, _BOTH, _OURS, _BOUND = "paper's bases", "paper's bases, duplex links", "linkstep", "no graph beats"


def _sweep(size: int) -> _Sweep:
    one_way, duplex = finder("paper", False), finder("paper", True)
    found = _Sweep(range(5, LARGEST + 1), {who: [] for who in (_PAPER, _BOTH, _OURS, _BOUND)}, [])
    for nodes in found.sizes:
        best, half = _best(one_way.frontier(nodes, DEGREE), size), lower_bound(nodes, DEGREE)
        paper = _time(best.allreduce_cost, size)
        both = _time(_best(duplex.frontier(nodes, DEGREE), size).allreduce_cost, size)
        ours = min([paper, *_catalog_times(nodes, False, size)])
        for curve, time in zip(found.times.values(), (paper, both, ours, _time(half + half, size)), strict=True):
            curve.append(time)
        found.kinds.append(kind_of(best.recipe))
    return found


def compute_best() -> ExhibitResult:
    """Find the least allreduce time at every N up to 2000, from the paper's bases and with the catalog."""
    sweeps = {name: _sweep(size) for name, size in SIZES.items()}
    cells: list[Cell] = []
    for name, sweep in sweeps.items():
        cells += [
            cell(
                f"N = {n}, {name}", f"least allreduce ({kind})", unit="us", bases=paper, ours=ours, kind=CellKind.POINT
            )
            for n, kind, paper, ours in zip(
                sweep.sizes, sweep.kinds, sweep.times[_PAPER], sweep.times[_OURS], strict=True
            )
        ]
        cells += _claims(name, sweep)
    panels = (
        *(_kinds_panel(name, sweep) for name, sweep in sweeps.items()),
        *(_over_panel(name, sweep) for name, sweep in sweeps.items()),
    )
    notes = (
        "An allreduce counts both halves, which differ where a graph is not isomorphic to its transpose; the paper "
        "counts the allgather twice.",
        "linkstep: the least of the catalog's entries for that N and of the paper's bases.",
    )
    return ExhibitResult(tuple(cells), Chart(panels, columns=2), notes)


_DRAWN, _REST = ("GenKautz", "Circulant", "L"), "DistReg, P, C and mixtures"


def _kinds_panel(name: str, sweep: _Sweep) -> ChartPanel:
    """Draw the times with the paper's bases, a colour for each kind."""
    points: dict[str, tuple[list[int], list[Fraction]]] = {kind: ([], []) for kind in (*_DRAWN, _REST)}
    for n, kind, time in zip(sweep.sizes, sweep.kinds, sweep.times[_PAPER], strict=True):
        x, y = points[kind if kind in _DRAWN else _REST]
        x.append(n)
        y.append(time)
    lines = [Curve(kind, x, y, is_scattered=True) for kind, (x, y) in points.items()]
    lines.append(Curve(_BOUND, sweep.sizes, sweep.times[_BOUND], is_bound=True))
    return ChartPanel(f"M = {name}, the paper's bases by kind", "nodes N", "allreduce time in us", tuple(lines))


def _over_panel(name: str, sweep: _Sweep) -> ChartPanel:
    lines = tuple(Curve(who, sweep.sizes, sweep.over_bound(who), is_scattered=True) for who in (_BOTH, _PAPER, _OURS))
    return ChartPanel(f"M = {name}", "nodes N", "allreduce time over the bound", lines)


POPULAR = {"1MB": ("GenKautz", "L"), "100MB": ("Circulant", "L")}
"""The kind that the paper finds best at most N, and the one that it calls popular too."""


def _claims(name: str, sweep: _Sweep) -> list[Cell]:
    ranked = [kind for kind, _ in Counter(sweep.kinds).most_common()]
    over = [sweep.over_bound(who) for who in (_PAPER, _OURS)]
    why = (
        ""
        if tuple(ranked[:2]) == POPULAR[name]
        else "both halves are counted here; the paper counts the allgather twice"
    )
    item, less = f"M = {name}", Direction.LESS
    means = [float(sum(one)) / len(one) for one in over]
    return [
        cell(
            item, "the kind that is best at most N", paper=POPULAR[name][0], bases=ranked[0], why=why, mark=Mark.WORDS
        ),
        cell(
            item,
            "the kind that is best at second most",
            paper=POPULAR[name][1],
            bases=ranked[1],
            why=why,
            mark=Mark.WORDS,
        ),
        cell(item, "mean time over the bound", bases=means[0], ours=means[1], better=less),
        cell(item, "worst time over the bound", bases=float(max(over[0])), ours=float(max(over[1])), better=less),
    ]


EXHIBITS = (
    Exhibit(
        "fig:genkautzbwtime", "Bandwidth of generalized Kautz graphs", compute_kautz,
        "Exact costs of the best BFB schedules, from the table that ships with linkstep (a test computes it again).",
    ),
    Exhibit(
        "fig:opttopodiffn", "Least allreduce time at every N for d = 4", compute_best,
        "The finder's frontier at every N up to 2000, alpha = 10us, 100 Gbps a server.", is_quick=False, takes="30 s",
    ),
)  # fmt: skip

"""Exhibits over all sizes: fig:genkautzbwtime and fig:opttopodiffn.

Costs are exact for every N: those of generalized Kautz graphs from the table that ships with linkstep, the others as
the theorems predict them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, bandwidth_bound, lower_bound, moore_steps
from linkstep.families import family_written
from linkstep.recipe import Bidirectional, Member, Power, Product, Recipe
from linkstep.recipe import Line as LineGraph
from linkstep.reproduction.charts import Chart, Line, Panel
from linkstep.reproduction.exhibit import Exhibit, Result
from linkstep.reproduction.figures import Better, Cell, Kind, cell
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import Choice
from linkstep.search.finders import finder

LARGEST = 2000
DEGREES = (2, 4, 8, 16)


def compute_kautz() -> Result:
    """Take T_B over T_B* of Pi_{d,N} for every N up to 2000."""
    family = family_written("Pi_{d,m}")
    cells: list[Cell] = []
    lines: list[Line] = []
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
            cell(name, "T_B / T_B* is at most 2", paper="yes", bases="yes" if worst <= 2 else "no"),
            cell(name, "T_L is at most one step above Moore's bound", paper="yes", bases="yes" if over <= 1 else "no"),
            cell(name, "largest T_B / T_B*", bases=worst),
            cell(name, "mean T_B / T_B*", bases=mean),
        ]
        cells += [
            cell(f"Pi_{{{degree},{size}}}", "T_B / T_B*", bases=ratio, kind=Kind.POINT)
            for size, ratio in zip(sizes, ratios, strict=True)
        ]
        lines.append(Line(f"d = {degree}", sizes, ratios, is_scattered=True))
    closer = all(a > b for a, b in pairwise(means))
    cells.append(
        cell("d = 2, 4, 8, 16", "closer to T_B* the higher d is", paper="yes", bases="yes" if closer else "no")
    )
    panels = tuple(Panel(line.name, "nodes N", "T_B / T_B*", (line,)) for line in lines)
    return Result(tuple(cells), Chart(panels, columns=2), ("T_B is that of the allgather by BFB.",))


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


SIZES = {"1MB": "1MiB", "100MB": "100MiB"}
DEGREE = 4
FABRIC = Fabric.of("10us", "100Gbps", DEGREE)


def _time(cost: Cost, size: str) -> Fraction:
    return 10**6 * FABRIC.time(cost, Collective.ALLREDUCE, size)


def _best(choices: Iterable[Choice], size: str) -> Choice:
    return min(choices, key=lambda choice: (_time(choice.allreduce_cost, size), str(choice.recipe)))


def _catalog_times(num_nodes: int, bidirectional: bool, size: str) -> list[Fraction]:
    entries = load_catalog().entries(num_nodes, DEGREE, bidirectional)
    return [_time(cost, size) for entry in entries for cost in entry.costs]


def compute_best() -> Result:
    """Find the least allreduce time at every N up to 2000, from the paper's bases and with the catalog."""
    one_way, both_ways = finder("paper", False), finder("paper", True)
    cells: list[Cell] = []
    panels = []
    for name, size in SIZES.items():
        kinds: dict[str, int] = {}
        curves: dict[str, list[Fraction]] = {"paper": [], "both": [], "ours": [], "bound": []}
        sizes = range(5, LARGEST + 1)
        for nodes in sizes:
            best = _best(one_way.frontier(nodes, DEGREE), size)
            kinds[kind_of(best.recipe)] = kinds.get(kind_of(best.recipe), 0) + 1
            paper = _time(best.allreduce_cost, size)
            both = _time(_best(both_ways.frontier(nodes, DEGREE), size).allreduce_cost, size)
            ours = min([paper, *_catalog_times(nodes, False, size)])
            half = lower_bound(nodes, DEGREE)
            for key, value in zip(curves, (paper, both, ours, _time(half + half, size)), strict=True):
                curves[key].append(value)
            cells.append(
                cell(
                    f"N = {nodes}, {name}",
                    f"least allreduce ({kind_of(best.recipe)})",
                    unit="us",
                    bases=paper,
                    ours=ours,
                    kind=Kind.POINT,
                )
            )
        cells += _claims(name, kinds, curves, len(sizes))
        panels.append(
            Panel(
                f"M = {name}",
                "nodes N",
                "allreduce time in us",
                (
                    Line("paper's bases", sizes, curves["paper"], is_scattered=True),
                    Line("paper's bases, links both ways", sizes, curves["both"], is_scattered=True),
                    Line("linkstep", sizes, curves["ours"], is_scattered=True),
                    Line("no graph beats", sizes, curves["bound"], is_bound=True),
                ),
            )
        )
    notes = (
        "An allreduce counts both halves, which differ where a graph is not isomorphic to its transpose; the paper "
        "counts the allgather twice.",
        "linkstep: the least of the catalog's entries for that N and of the paper's bases.",
    )
    return Result(tuple(cells), Chart(tuple(panels), columns=2), notes)


POPULAR = {"1MB": "GenKautz", "100MB": "Circulant"}
"""The kind that the paper finds best at most N."""


def _claims(name: str, kinds: dict[str, int], curves: dict[str, list[Fraction]], count: int) -> list[Cell]:
    most = max((kind for kind in kinds if kind in ("GenKautz", "DistReg", "Circulant", "L")), key=lambda k: kinds[k])
    over = [
        [float(value / bound) for value, bound in zip(curves[key], curves["bound"], strict=True)]
        for key in ("paper", "ours")
    ]
    why = "" if most == POPULAR[name] else "both halves are counted here; the paper counts the allgather twice"
    return [
        cell(f"M = {name}", "the kind that is best at most N", paper=POPULAR[name], bases=most, why=why),
        cell(
            f"M = {name}", "mean time over the bound", bases=sum(over[0]) / count, ours=sum(over[1]) / count,
            better=Better.LESS,
        ),
        cell(f"M = {name}", "worst time over the bound", bases=max(over[0]), ours=max(over[1]), better=Better.LESS),
    ]  # fmt: skip


EXHIBITS = (
    Exhibit(
        "fig:genkautzbwtime", "Bandwidth of generalized Kautz graphs", compute_kautz,
        "Exact costs of the best BFB schedules, from the table that ships with linkstep (a test computes it again).",
    ),
    Exhibit(
        "fig:opttopodiffn", "Least allreduce time at every N for d = 4", compute_best,
        "The finder's frontier at every N up to 2000, alpha = 10us, 100 Gbps a node.", is_quick=False,
    ),
)  # fmt: skip

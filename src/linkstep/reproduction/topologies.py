"""Exhibits about topologies: table:toposummary, tab:expansiontechniques, tab:exampledistreg and fig:asymptotictrend.

What the paper says of a family for all its members is looked at here on some of them: built, measured and scheduled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.costs import Cost, bandwidth_bound, cost_of, moore_steps
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Recipe, parse
from linkstep.reproduction.charts import Chart, ChartPanel, Curve
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import EXACTLY, Cell, CellKind, Direction, Mark, cell, yes
from linkstep.scheduling import schedule
from linkstep.symmetry.isomorphisms import is_reverse_symmetric

LOOPS_COST = "self-loops occupy ports: T_B is 1 M/B, not (d-1)/d"
OF_FAMILY = "what the table says is of the family; this member is"


@dataclass(frozen=True)
class _Member:
    """What table:toposummary says of one member of a family; None where it says nothing."""

    recipe: str
    size: int
    degree: int
    reverse_symmetric: bool
    bandwidth_optimal: bool
    moore_optimal: bool | None = None
    steps: int | None = None
    """T_L where the table has a formula for it in its column of Moore optimality."""
    is_near_moore: bool = False
    """Whether that column says that T_L is at most a step above Moore's bound."""
    by_bfb: bool = True
    loops: bool = False
    parallel: bool = False
    why: str = ""


_MEMBERS = (
    _Member("K_7", 7, 6, True, True, moore_optimal=True),
    _Member("K_{4,4}", 8, 4, True, True, moore_optimal=True),
    _Member("H(2,3)", 9, 4, True, True, steps=2),
    _Member("H(3,4)", 64, 9, True, True, steps=3),
    _Member("K(4,2)", 80, 4, True, False, moore_optimal=True),
    _Member("K(2,4)", 48, 2, True, False, moore_optimal=True),
    _Member("Pi_{4,5}", 5, 4, False, True, is_near_moore=True),
    _Member("Pi_{4,35}", 35, 4, False, False, is_near_moore=True),
    _Member("Pi_{3,10}", 10, 3, False, False, is_near_moore=True, loops=True),
    _Member("C(16,{3,4})", 16, 4, True, True, moore_optimal=False),
    _Member("C(11,{1,2,5})", 11, 6, True, True, moore_optimal=False),
    _Member(
        "C(15,{1,4,5})", 15, 6, True, True, moore_optimal=False,
        why="the circulant conjecture is wrong: T_B is 1 here",
    ),
    _Member("DirCirculant(4)", 6, 4, True, True, moore_optimal=True),
    _Member("BiRing(2,8)", 8, 2, True, True, steps=4),
    _Member("BiRing(4,5)", 5, 4, True, True, steps=2, parallel=True),
    _Member("UniRing(1,4)", 4, 1, True, True, steps=3),
    _Member("UniRing(3,6)", 6, 3, True, True, steps=5, parallel=True),
    _Member("Diamond", 8, 2, False, True, moore_optimal=True, by_bfb=False),
    _Member("DBJ(4,1)", 4, 4, True, True, moore_optimal=True, loops=True, why=LOOPS_COST),
    _Member("DBJ(2,3)", 8, 2, True, False, moore_optimal=True, loops=True),
    _Member("DBJMod(2,3)", 8, 2, True, True, steps=4, by_bfb=False),
    _Member("DBJMod(2,4)", 16, 2, False, True, steps=5, by_bfb=False),
    _Member("DBJMod(3,2)", 9, 3, False, True, steps=3, by_bfb=False),
    _Member("DBJMod(4,2)", 16, 4, False, True, steps=3, by_bfb=False),
    _Member("DistReg(4,32)", 32, 4, True, True),
)  # fmt: skip


def _summary_of(member: _Member) -> list[Cell]:
    recipe = parse(member.recipe)
    topology, own = recipe.topology(), cost_of(recipe.build())
    best = schedule(recipe, Collective.ALLGATHER).cost
    least = bandwidth_bound(topology.num_nodes)
    name = member.recipe

    def check(quantity: str, paper: bool, found: bool) -> Cell:
        why = "" if found == paper else OF_FAMILY if found else member.why
        return cell(name, quantity, paper=yes(paper), bases=yes(found), why=why)

    over = own.steps - moore_steps(topology.num_nodes, topology.degree)
    cells = [
        cell(name, "N", paper=str(member.size), bases=topology.num_nodes),
        cell(name, "d", paper=str(member.degree), bases=topology.degree),
        check("isomorphic to its transpose", member.reverse_symmetric, is_reverse_symmetric(topology)),
        check("self-loops", member.loops, topology.num_self_loops > 0),
        check("parallel links", member.parallel, topology.num_parallel > 0),
        check("by BFB", member.by_bfb, own == bfb_cost(topology)),
    ]
    if member.moore_optimal is not None:
        cells.append(check("Moore-optimal", member.moore_optimal, over == 0))
    if member.is_near_moore:
        cells.append(check("at most a step above Moore's bound", True, over <= 1))
    return [
        *cells,
        cell(
            name, "T_L", unit="steps", paper=None if member.steps is None else str(member.steps), bases=own.steps,
            ours=best.steps, better=Direction.LESS,
        ),
        cell(
            name, "T_B is (N-1)/N", paper=yes(member.bandwidth_optimal), bases=yes(own.bandwidth == least),
            ours=yes(best.bandwidth == least),
            why=_why_optimal(member, own.bandwidth == least, best.bandwidth == least),
        ),
        cell(name, "T_B", unit="M/B", bases=own.bandwidth, ours=best.bandwidth, kind=CellKind.POINT),
    ]  # fmt: skip


def _why_optimal(member: _Member, own: bool, best: bool) -> str:
    if best and not member.bandwidth_optimal:
        return "shards that arrive later than by the shortest paths reach (N-1)/N in as many steps"
    return "" if own == best == member.bandwidth_optimal else member.why


def compute_toposummary() -> ExhibitResult:
    """Build every member of the list, and measure what the table claims."""
    cells = tuple(one for member in _MEMBERS for one in _summary_of(member))
    notes = (
        "T_L and T_B are those of an allgather.",
        "By BFB: whether BFB costs as little as the schedule that the paper has for the topology.",
    )
    return ExhibitResult(cells, notes=notes)


# What tab:expansiontechniques says an expansion keeps, on bases that have it: recipe, base, theorem's T_L and T_B.
_EXPANDED = (
    ("L(K_{4,4})", "K_{4,4}", 32, 4),
    ("L^2(K_{4,4})", "K_{4,4}", 128, 4),
    ("L(H(2,3))", "H(2,3)", 36, 4),
    ("K_{2,2}*2", "K_{2,2}", 8, 4),
    ("K_5*3", "K_5", 15, 12),
    ("Diamond^2", "Diamond", 64, 4),
    ("K_4^2", "K_4", 16, 6),
    ("K_3 x K_4", "K_3", 12, 5),
    ("BiRing(2,8) x UniRing(1,4)", "BiRing(2,8)", 32, 3),
)


def _is_line(recipe: str) -> bool:
    return recipe.startswith("L")


def _expected(recipe: str, base: Recipe, size: int) -> Cost:
    """Return what the theorems of the table say: thm:linegraphconclusion, degexp, cartesianpowperformance, product."""
    least = bandwidth_bound(size)
    if _is_line(recipe):
        times, d, n = size // base.num_nodes, base.degree, base.num_nodes
        more = Fraction(d, d - 1) * (Fraction(1, n) - Fraction(1, size))
        steps = {d: 1, d * d: 2}[times]
        return Cost(base.cost.steps + steps, base.cost.bandwidth + more)
    if "*" in recipe:
        return Cost(base.cost.steps + 1, least)
    if "^" in recipe:
        return Cost(2 * base.cost.steps, least)
    return Cost(sum(parse(part).cost.steps for part in recipe.split(" x ")), least)


def _expansion(recipe: str, base: str, size: int, degree: int) -> list[Cell]:
    built = parse(recipe)
    start = parse(base)
    made, best = cost_of(built.build()), schedule(built, Collective.ALLGATHER).cost
    expected = _expected(recipe, start, size)
    is_line = _is_line(recipe)
    kept = {
        "Moore-optimal": made.steps == moore_steps(size, degree),
        "T_B is (N-1)/N": made.bandwidth == bandwidth_bound(size),
    }
    why = "" if best == made else "another schedule on this wiring"
    return [
        cell(recipe, "N", paper=str(size), bases=built.num_nodes),
        cell(recipe, "d", paper=str(degree), bases=built.degree),
        *_kept_cells(recipe, kept, is_line),
        cell(
            recipe, "T_L", unit="steps", paper=str(expected.steps), bases=made.steps, ours=best.steps,
            better=Direction.LESS, why=why,
        ),
        cell(
            recipe, "T_B", unit="M/B", paper=str(expected.bandwidth), bases=made.bandwidth, ours=best.bandwidth,
            better=Direction.LESS, within=EXACTLY, why=why,
        ),
    ]  # fmt: skip


def _kept_cells(recipe: str, kept: dict[str, bool], is_line: bool) -> list[Cell]:
    """Compare which optimality of its base an expansion keeps: a line graph Moore's, all others that of bandwidth."""
    cells = []
    for (what, found), promised in zip(kept.items(), (is_line, not is_line), strict=True):
        why = "not in general; on this base it does" if found and not promised else ""
        cells.append(cell(recipe, f"{what} like its base", paper=yes(promised), bases=yes(found), why=why))
    return cells


def compute_expansions() -> ExhibitResult:
    """Expand some bases, and hold what is built against the theorems."""
    cells = tuple(one for row in _EXPANDED for one in _expansion(*row))
    notes = (
        "Figures of the paper are those of its theorems, worked out for these bases (thm:linegraphconclusion, "
        "thm:degexp, thm:cartesianpowperformance, thm:spathcartesianexpopt).",
    )
    return ExhibitResult(cells, notes=notes)


# Graph name, N, T_L, T_L*, T_L** of tab:exampledistreg.
_DISTANCE_REGULAR = (
    ("Octahedron J(4,2)", 6, 2, 2, 2),
    ("Paley graph P9, H(2,3)", 9, 2, 2, 2),
    ("K5,5-I", 10, 3, 2, 2),
    ("Distance-3 graph of Heawood graph", 14, 3, 2, 2),
    ("Line graph of Petersen graph", 15, 3, 2, 2),
    ("4-cube Q4, H(4,2)", 16, 4, 2, 2),
    ("Line graph of Heawood graph", 21, 3, 2, 3),
    ("Incidence graph of PG(2,3)", 26, 3, 3, 3),
    ("Incidence graph of AG(2,4) minus a parallel class", 32, 4, 3, 3),
    ("Odd graph O4", 35, 3, 3, 3),
    ("Line graph of Tutte's 8-cage", 45, 4, 3, 3),
    ("Doubled Odd Graph D(O4)", 70, 7, 3, 4),
    ("Incidence graph of GQ(3,3)", 80, 4, 3, 4),
    ("Line graph of Tutte's 12-cage", 189, 6, 4, 5),
    ("Incidence graph of GH(3,3)", 728, 6, 5, 6),
)


def compute_distance_regular() -> ExhibitResult:
    """Build the graphs of the table, and take the best bidirectional topology of the same size beside them."""
    cells, ours = [], []
    for name, size, steps, moore, duplex in _DISTANCE_REGULAR:
        recipe = parse(f"DistReg(4,{size})")
        topology = recipe.topology()
        hops, bound = diameter(topology), moore_steps(size, 4, bidirectional=True)
        best = _fewest_optimal_steps(size)
        ours.append(best)
        cells += [
            cell(name, "N", paper=str(size), bases=topology.num_nodes),
            cell(
                name, "T_L", unit="steps", paper=str(steps), bases=hops, ours=best, better=Direction.LESS,
                why=_why_steps(best, steps),
            ),
            cell(name, "T_L*", unit="steps", paper=str(moore), bases=moore_steps(size, 4)),
            cell(name, "T_L - T_L*", unit="steps", paper=str(steps - moore), bases=hops - moore_steps(size, 4)),
            cell(name, "T_L**", unit="steps", paper=str(duplex), bases=bound),
            cell(name, "T_L - T_L**", unit="steps", paper=str(steps - duplex), bases=hops - bound),
            cell(
                name, "T_B is (N-1)/N", paper="yes", bases=yes(recipe.cost.bandwidth == bandwidth_bound(size)),
            ),
        ]  # fmt: skip
    sizes = [row[1] for row in _DISTANCE_REGULAR]
    lines = (
        Curve("DistReg(4,N)", sizes, [row[2] for row in _DISTANCE_REGULAR], is_marked=True),
        Curve("linkstep, duplex links", sizes, ours, is_marked=True),
        Curve("bidirectional Moore bound T_L**", sizes, [row[4] for row in _DISTANCE_REGULAR], is_bound=True),
    )
    panel = ChartPanel("bandwidth-optimal allgather, d = 4", "nodes N", "T_L in steps", lines, log_x=True)
    return ExhibitResult(tuple(cells), Chart((panel,)))


def _why_steps(best: int, steps: int) -> str:
    if best == steps:
        return ""
    return "another topology of this size, T_B (N-1)/N too" if best < steps else "find lists other graphs at this N"


def _fewest_optimal_steps(size: int) -> int:
    """Return T_L of the best bandwidth-optimal topology with duplex links that linkstep knows."""
    from linkstep.search import find
    from linkstep.search.spot import Spot

    rows = find(size, 4, spot=Spot(0)).frontier
    return min(row.worse_half.steps for row in rows if row.is_bandwidth_optimal)


_TREND = ("K_{4,4}", "K_5", "DirCirculant(4)", "H(2,3)")
_TIMES = 8
"""How often a base is expanded: to half a million nodes."""
_THEOREM = Mark.CIRCULAR
"""The costs are those of the theorem that says where they go."""


def compute_trend() -> ExhibitResult:
    """Expand four bases again and again: T_B over T_B* stays below 1 + 1/((d-1) N)."""
    cells, lines = [], []
    for base in _TREND:
        start = parse(base)
        limit = 1 + Fraction(1, (start.degree - 1) * start.num_nodes)
        ratios, sizes = [], []
        for times in range(_TIMES + 1):
            recipe = parse(f"L^{times}({base})") if times else start
            ratio = recipe.cost.bandwidth / bandwidth_bound(recipe.num_nodes)
            optimal = recipe.cost.steps == moore_steps(recipe.num_nodes, recipe.degree)
            sizes.append(recipe.num_nodes)
            ratios.append(ratio)
            name = str(recipe)
            cells.append(cell(name, "T_B / T_B*", bases=ratio, kind=CellKind.POINT))
            cells.append(cell(name, "T_L is Moore's bound", bases=yes(optimal), kind=CellKind.POINT))
        cells.append(
            cell(f"L^n({base})", f"Moore-optimal for n up to {_TIMES}", paper="yes", bases=yes(optimal), mark=_THEOREM)
        )
        cells.append(
            cell(
                f"L^n({base})",
                "T_B / T_B*, in the limit",
                paper=str(limit),
                bases=_limit(sizes, ratios),
                within=EXACTLY,
                mark=_THEOREM,
            )
        )
        cells.append(_trend_here(base, sizes))
        lines.append(Curve(f"L^n({base})", sizes, ratios, is_marked=True))
    panel = ChartPanel("line graph expansion, d = 4", "nodes N", "T_B / T_B*", tuple(lines), log_x=True)
    notes = ("linkstep: the best T_B in as few steps that the catalog has for the largest N it covers.",)
    return ExhibitResult(tuple(cells), Chart((panel,)), notes)


def _limit(sizes: list[int], ratios: list[Fraction]) -> Fraction:
    """Return where the ratios go: each power of d closes the same part of what is left to a limit linear in 1/N.

    T_B is a + b/N and T_B* is 1 - 1/N, so two points give a, the limit of their ratio.
    """
    (n, first), (m, second) = zip(sizes[-2:], ratios[-2:], strict=True)
    one, other = first * (1 - Fraction(1, n)), second * (1 - Fraction(1, m))
    slope = (one - other) / (Fraction(1, n) - Fraction(1, m))
    return one - slope / n


def _trend_here(base: str, sizes: list[int]) -> Cell:
    from linkstep.search import find
    from linkstep.search.catalog import load_catalog
    from linkstep.search.spot import Spot

    size = max(n for n in sizes if load_catalog().covers(n, 4, False))
    rows = find(size, 4, directed=True, spot=Spot(0)).frontier
    recipe = parse(base)
    times = sizes.index(size)
    theirs = parse(f"L^{times}({base})").cost if times else recipe.cost
    least = min(
        (row.worse_half.bandwidth for row in rows if row.worse_half.steps <= theirs.steps), default=theirs.bandwidth
    )
    bound = bandwidth_bound(size)
    return cell(
        f"N = {size}", f"T_B / T_B* in {theirs.steps} steps", bases=theirs.bandwidth / bound, ours=least / bound
    )


EXHIBITS = (
    Exhibit(
        "table:toposummary", "Base topologies", compute_toposummary,
        "Members of every family are built; their properties are measured, and their schedules costed exactly.",
    ),
    Exhibit(
        "tab:expansiontechniques", "Expansion techniques", compute_expansions,
        "Bases that are bandwidth-optimal are expanded, the schedules built, checked and costed exactly.",
    ),
    Exhibit(
        "fig:asymptotictrend", "Line graphs of Moore- and bandwidth-optimal bases", compute_trend,
        "Exact costs by thm:linegraphconclusion, which tests hold against schedules that were built.",
    ),
    Exhibit(
        "tab:exampledistreg", "Distance-regular graphs of degree 4", compute_distance_regular,
        "The graphs are built, and their distances and best BFB schedules computed.",
    ),
)  # fmt: skip

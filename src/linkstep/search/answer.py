"""``find``: the best topologies for N servers with d ports, beside what people use today and what nobody can beat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import NoneType
from typing import Any
from warnings import warn

from linkstep.baselines import Baseline, usual_baselines
from linkstep.core.arguments import check_callable, check_flag, check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import frame_of_rows
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.text import shown
from linkstep.core.units import Number
from linkstep.costs import SIZE, Cost, FabricLike, all_to_all_bound, as_fabric, lower_bound, usual_fabric
from linkstep.families import FAMILIES as TABLE
from linkstep.problem import Call, Objective, Problem, as_objective
from linkstep.recipe import Member
from linkstep.requirements import MaxSteps
from linkstep.search.admitted import admitted
from linkstep.search.bases import catalog_bases, costed_member, entry_choices
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import FOUND, Choice
from linkstep.search.finder import best_choices
from linkstep.search.finders import FAMILIES, finder, known_finder
from linkstep.search.frontier import nondominated, resolved
from linkstep.search.ports import over_ports
from linkstep.search.progress import FindProgress
from linkstep.search.ranking import SECONDS, rank
from linkstep.search.spot import Spot, search_now

RESOLVE_LINKS = 10_000
"""Up to this many links, what the theorems predict for an expanded topology is compared with BFB on it."""


@dataclass(frozen=True)
class Answer:
    """The frontier for one N and d, fewest steps first; the bounds; the baselines that exist there.

    No row equals or beats another in steps and bandwidth of an allreduce, both halves counted, and all-to-all flow
    together. ``directed`` says whether one-way fibres are allowed, ``other`` is the frontier where it is the other way
    round, of what is known without a search. ``fewest_steps`` is that of the fastest allreduce known, whatever was
    asked for. ``bound`` is of each half of an allreduce.

    >>> from linkstep import find
    >>> answer = find(5, 4)
    >>> answer, str(answer.best.allreduce_cost)
    (<Answer for N=5 d=4, duplex cables: K_5 allreduce 2 alpha + 8/5 M/B>, '2 alpha + 8/5 M/B')
    """

    num_nodes: int
    degree: int
    directed: bool
    frontier: tuple[Choice, ...]
    baselines: tuple[Baseline, ...]
    bound: Cost
    flow_bound: Fraction
    fewest_steps: int | None
    other: tuple[Choice, ...] = ()
    is_ranked: bool = False
    """Whether the first row is the best by an objective; else rows are in the order of their steps."""

    @property
    def best(self) -> Choice:
        """The first row where rows are ranked; else the one with the fastest allreduce of 1MB on the usual fabric."""
        if not self.frontier:
            raise LinkstepError(f"nothing was found for N={self.num_nodes}, d={self.degree}: take other numbers")
        ranked = self if self.is_ranked else self.ranked_by(Call(Collective.ALLREDUCE, SIZE), usual_fabric(self.degree))
        return ranked.frontier[0]

    def _wiring_(self) -> Choice:
        return self.best

    def _schedule_(self) -> Choice:
        return self.best

    def _how_(self) -> dict[str, Any]:
        return self.best.how

    def to_frame(self) -> Any:
        """Return a row for each topology of the frontier, as a DataFrame of pandas or polars."""
        return frame_of_rows(self.frontier)

    def __repr__(self) -> str:
        kind = "one-way fibres" if self.directed else "duplex cables"
        rows = [f"{row.recipe.short} allreduce {row.allreduce_cost}" for row in self.frontier[:3]]
        more = [f"{len(self.frontier) - 3} more"] if len(self.frontier) > 3 else []
        found = "; ".join([*rows, *more]) or "nothing found"
        return f"<Answer for N={self.num_nodes} d={self.degree}, {kind}: {found}>"

    def _repr_html_(self) -> str:
        rows = [(str(row.recipe.short), str(row.allreduce_cost)) for row in self.frontier]
        return html_table(f"N={self.num_nodes}, d={self.degree}", [*rows, ("no wiring beats", self.bound + self.bound)])

    def ranked_by_all_to_all(self, seconds: float = SECONDS, progress: Progress | None = None) -> Answer:
        """Return the answer with the most all-to-all throughput first, of all rows proven to be reached.

        Rows whose throughput is not known, or only within more than 0.1%, get about ``seconds`` each.
        """
        check_callable("progress", progress)
        rows: list[Choice] = []
        known: dict[str, Choice] = {}
        for done, row in enumerate(self.frontier):
            if progress is not None:
                progress(done, len(self.frontier))
            name = str(row.recipe)
            known[name] = same = known.get(name) or row.with_flow(seconds)
            rows.append(replace(row, flow=same.flow, is_flow_reached=same.is_flow_reached, flow_bound=same.flow_bound))
        found = replace(self, frontier=tuple(rows), baselines=tuple(b.with_flow() for b in self.baselines))
        return found.ranked_by(Call(Collective.ALL_TO_ALL, 1), usual_fabric(self.degree), seconds)

    def ranked_by(
        self,
        objective: Objective | str,
        fabric: FabricLike | None = None,
        seconds: float = SECONDS,
        progress: Progress | None = None,
    ) -> Answer:
        """Return the answer with the row first that takes the least time; last, those whose time is not known.

        Where all-to-all counts, rows that may win and whose throughput is not known get about ``seconds`` each.
        """
        check_callable("progress", progress)
        by, wires = as_objective(objective), usual_fabric(self.degree) if fabric is None else as_fabric(fabric)
        if by is None:
            raise LinkstepError("objective must be the name of a collective or an Objective, not None")
        found = [one.choice for one in rank(self.frontier, by, wires, seconds, progress)]
        others = [row for row in self.frontier if by.seconds(row, wires) is None]
        return replace(self, frontier=(*found, *others), is_ranked=True)


def _problem(
    num_nodes: int | Problem, degree: int | None, directed: bool, max_steps: int | None,
    fabric: FabricLike | None, size: Number | None, objective: Objective | str | None,
) -> Problem:  # fmt: skip
    """Return the problem that was given, or that of a short call."""
    if isinstance(num_nodes, Problem):
        given = (degree, max_steps, fabric, size, objective)
        if directed or any(one is not None for one in given):
            raise LinkstepError("a Problem says d, the fabric, the objective and what is required: give them there")
        return num_nodes
    steps = () if max_steps is None else (MaxSteps(max_steps),)
    wires = None if fabric is None else as_fabric(fabric)
    return Problem(
        num_nodes=num_nodes, degree=degree, directed=directed, fabric=wires, objective=as_objective(objective, size),
        requirements=steps,
    )  # fmt: skip


def _is_directed(directed: bool, bidirectional: bool | None) -> bool:
    """Return whether one-way fibres are allowed, said in today's word or in that of release 0.1."""
    directed = check_flag("directed", directed)
    if bidirectional is None:
        return directed
    duplex = check_flag("bidirectional", bidirectional)
    warn(
        f"find(..., bidirectional={duplex}) is written find(..., directed={not duplex}) now: duplex cables are what "
        "`find` answers for, and the next release no longer takes bidirectional",
        FutureWarning,
        stacklevel=3,
    )
    if duplex and directed:
        raise LinkstepError("directed allows one-way fibres, which bidirectional rules out: leave out one of the two")
    return not duplex


def _check(problem: Problem, families: str, spot: Spot | None) -> None:
    for collective in map(Collective, problem.collectives):
        if collective.has_root:
            raise LinkstepError(f"`find` knows no costs of {collective}: ask for allreduce")
    if check_kind("families", families, str) not in FAMILIES:
        raise LinkstepError(f"families must be one of {', '.join(FAMILIES)}, not {shown(families)}")
    check_kind("spot", spot, Spot, NoneType)


def _worth_measuring(pool: list[Choice], least: int) -> list[Choice]:
    """Return the frontier, which is the beginning of the pool, and as much more as can be measured in a second.

    What takes more steps than a bandwidth-optimal choice is left out: its nodes are further apart too.
    """
    if not pool:
        return []
    optimal = [c.allreduce_cost.steps for c in pool if c.is_bandwidth_optimal]
    near = [c for c in pool if not optimal or c.allreduce_cost.steps <= min(optimal)]
    return near[: max(least, 9 if pool[0].num_nodes * pool[0].recipe.degree <= 5000 else 5)]


def _of_the_paper(num_nodes: int, degree: int, bidirectional: bool, work: FindProgress) -> list[Choice]:
    """Return what the paper's finder has from the paper's bases."""
    search = finder("paper", bidirectional)
    search.on_work = work.step
    return [choice.exactly().measured() for choice in work.over(search.frontier(num_nodes, degree))]


def _frontier(num_nodes: int, degree: int, bidirectional: bool, spot: Spot, work: FindProgress) -> list[Choice]:
    """Return the rows of the answer: of the catalog, families, expansions and, where nobody searched, a search now."""
    catalog = load_catalog()
    stored = catalog_bases(catalog, num_nodes, degree)
    rows = [choice for choice in stored if choice.is_bidirectional or not bidirectional]
    if catalog.covers(num_nodes, degree, bidirectional):
        return _with_told(rows, num_nodes, degree, bidirectional, work)
    entries = search_now(num_nodes, degree, bidirectional, spot)
    rows += [choice for entry in entries for choice in entry_choices(entry, FOUND)]
    work.step()
    return _with_built(rows, num_nodes, degree, bidirectional, work) or _last_resort(num_nodes, degree, bidirectional)


def _with_told(
    rows: list[Choice], num_nodes: int, degree: int, bidirectional: bool, work: FindProgress
) -> list[Choice]:
    """Add what families and theorems tell to what the catalog has.

    The sweep ``member`` has scored what would be worth it, so that there is hardly ever something to add and to build.
    """
    search = known_finder(bidirectional)
    search.on_work = work.step
    costs = [choice.allreduce_cost for choice in rows]
    more = [c for c in search.frontier(num_nodes, degree) if not any(k.is_within(c.allreduce_cost) for k in costs)]
    exact = [row for choice in work.over(more) for row in resolved(choice)]
    return nondominated([*rows, *(row.measured(flow=False) for row in exact)])


def _with_built(
    rows: list[Choice], num_nodes: int, degree: int, bidirectional: bool, work: FindProgress
) -> list[Choice]:
    """Add what families and expansions have, the paper's alone too; costs exact where that is not too much work."""
    search, paper = finder("all", bidirectional), finder("paper", bidirectional)
    search.on_work = paper.on_work = work.step
    frontier = search.frontier(num_nodes, degree)
    if num_nodes * degree > RESOLVE_LINKS:
        found = best_choices([*frontier, *paper.frontier(num_nodes, degree), *rows])
        return [choice.measured() for choice in work.over(found)]
    pool = _worth_measuring(search.pool(num_nodes, degree), len(frontier))
    costs = [choice.allreduce_cost for choice in (*pool, *rows)]
    only = [c for c in paper.frontier(num_nodes, degree) if not any(k.is_within(c.allreduce_cost) for k in costs)]
    exact = [row for choice in work.over([*pool, *only]) for row in resolved(choice)]
    return nondominated([row.measured() for row in [*exact, *rows]])


def _other_kind(problem: Problem, families: str, rows: list[Choice]) -> list[Choice]:
    """Return the frontier that has one-way fibres where the problem has duplex cables, or the other way round.

    Of what is known without a search or anything built. Duplex cables can do all that one-way fibres are asked for.
    """
    if not all(requirement.is_of_frontiers for requirement in problem.requirements):
        return []  # a rule of one's own may admit what is behind any frontier
    (num_nodes, degree), directed = problem.size, problem.is_duplex
    if families == "paper":
        return finder("paper", not directed).frontier(num_nodes, degree)
    stored = [row for row in catalog_bases(load_catalog(), num_nodes, degree) if directed or row.is_bidirectional]
    told = known_finder(not directed).frontier(num_nodes, degree)
    return nondominated([*stored, *told, *(rows if directed else ())])


def _last_resort(num_nodes: int, degree: int, bidirectional: bool) -> list[Choice]:
    """Return the members of families that are costed only where nothing else is known: large ones, all nodes alike."""
    listed = (Member(family, args) for family in TABLE for args in family.members(num_nodes, degree))
    alike = (member for member in listed if member.is_vertex_transitive and member.is_regular)
    of_kind = (member for member in alike if not bidirectional or member.topology().is_bidirectional)
    return best_choices(costed_member(member) for member in of_kind)


def _kept(rows: list[Choice], problem: Problem) -> tuple[Choice, ...]:
    return tuple(row for row in rows if all(requirement.keeps(row) for requirement in problem.requirements))


def find(
    num_nodes: int | Problem,
    degree: int | None = None,
    *,
    families: str = "all",
    directed: bool = False,
    max_steps: int | None = None,
    spot: Spot | None = None,
    fabric: FabricLike | None = None,
    size: Number | None = None,
    objective: Objective | str | None = None,
    progress: Progress | None = None,
    bidirectional: bool | None = None,
) -> Answer:
    """Return the Pareto frontier of topologies with N nodes and d ports, wired with duplex cables.

    ``directed`` allows one-way fibres: a port sends to one server and receives from another.

    With a ``size``, the row first whose allreduce of as many bytes is the fastest on the ``fabric``; with an
    ``objective``, "allreduce", "all-to-all" or an ``Objective``, the row first that takes the least time by it.

    The first argument may be a ``Problem`` of N and d instead, which says too what is required; by its objective, if it
    has one, the best row is the first.

    Where the catalog has none of this size, ``spot`` says how long to search for some, a few seconds unless given. Each
    row is a ``Choice``: ``row.build("allreduce")`` makes its schedule, at the cost that the row says. Costs count the
    limit of a fabric's hosts, if these have one.

    >>> [(str(row.recipe), row.method, row.cost.steps) for row in find(5, 4).frontier]
    [('K_5', 'bfb', 1)]
    """
    check_callable("progress", progress)
    problem = _problem(num_nodes, degree, _is_directed(directed, bidirectional), max_steps, fabric, size, objective)
    _check(problem, families, spot)
    num_nodes, degree = problem.size
    duplex, wires = problem.is_duplex, problem.wires
    work = FindProgress(num_nodes, degree, progress)
    if families == "paper":
        rows = _of_the_paper(num_nodes, degree, duplex, work)
    else:
        rows = over_ports(_frontier, num_nodes, degree, duplex, spot or Spot(), work)
    fewest_steps = min((row.steps for row in rows), default=None)
    rows = admitted(problem, rows, families, spot or Spot(), work)
    other = _other_kind(problem, families, rows)
    if wires.is_limited_by_hosts:
        rows, other = (nondominated([row.within(wires) for row in kind]) for kind in (rows, other))
    connected = degree > 1 or not duplex or num_nodes == 2
    answer = Answer(
        num_nodes,
        degree,
        not duplex,
        _kept(rows, problem),
        usual_baselines(num_nodes, degree, directed=not duplex),
        lower_bound(num_nodes, degree, bidirectional=duplex and connected),
        all_to_all_bound(num_nodes, degree, bidirectional=duplex and connected),
        fewest_steps,
        _kept(other, problem),
    )
    return answer if problem.objective is None else answer.ranked_by(problem.objective, wires)

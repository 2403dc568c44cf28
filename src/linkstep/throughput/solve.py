"""``all_to_all``: which method serves which topology."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real

from linkstep.core.arguments import check_callable, check_seconds
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.stopping import have_best, is_stopped
from linkstep.core.text import shown
from linkstep.core.topology import Topology, check_permanent
from linkstep.throughput import lp
from linkstep.throughput.columns import Solution, solve_by_columns
from linkstep.throughput.cuts import cut_bound
from linkstep.throughput.prices import solve_by_prices
from linkstep.throughput.problem import FlowProblem
from linkstep.throughput.result import Throughput
from linkstep.throughput.watch import GapProgress, Watch

GAP = Fraction(1, 1000)
SECONDS = 60.0
MAX_CLASSES = 16
"""Up to this many orbits of links the exact method is quick."""
MOST_CLASSES = 128
"""Up to this many the exact method is tried where floats come near nothing: rates may differ too much for them."""
FLOATS = Fraction(1, 10**6)
"""A gap that a linear program in floats is expected to reach, whatever was asked for."""
MAX_ROUNDS = 100
"""Of the exact method, where its answer is wanted in a moment or not at all."""
QUICK_WORK, MOST_QUICK, QUICK_ROUNDS = 2 * 10**6, 2**24, 20
"""Sources times wires that the rounds of a quick method come to; above the second there is none; rounds at most."""
DIGITS = 10**9
"""An interval is rounded outwards to multiples of one part in this many of its bound."""
MAX_AMOUNTS = 2**27
"""Sources times wires whose flows we hold: 1 GiB of floats."""


def all_to_all(
    topology: WiringLike, *, gap: Fraction | float = GAP, seconds: float = SECONDS, progress: GapProgress | None = None
) -> Throughput:
    """Return the all-to-all throughput of a topology: a proven value and a proven bound.

    Topologies with much symmetry are solved exactly, small ones nearly so where HiGHS is installed. For the others
    flow and bound approach each other until they are within ``gap``. All stop after about ``seconds``, with what is
    proven by then; ``progress`` is called with the gap on the way.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> all_to_all(ring).value, all_to_all(ring).bound
    (Fraction(1, 6), Fraction(1, 6))
    """
    check_callable("progress", progress)
    topology = as_topology(topology)
    check_permanent(topology, "all-to-all")
    if isinstance(gap, bool) or not isinstance(gap, Real):
        raise LinkstepError(f"gap must be a number in [0, 1), such as 0.05, not {shown(gap)}")
    seconds = check_seconds("seconds", seconds)
    if not 0 <= gap < 1:
        number = f"{float(gap):g}" if -(10**9) < gap < 10**9 else shown(gap)
        raise LinkstepError(f"gap must lie in [0, 1), not {number}")
    watch = Watch(Fraction(gap), seconds, progress)
    problem = FlowProblem.of(topology)
    have_best()  # an interrupt is seen between two rounds, each of which proves an interval
    method, found = _solve(problem, watch)
    value = problem.value(found.flow.loads(), found.flow.unit)
    by_distance = problem.bound((1,) * problem.num_classes, problem.route((1,) * problem.num_classes).total)
    return Throughput(topology, value, found.bound, method, by_distance, cut_bound(problem), found.prices, found.flow)


class _Rounds(Watch):
    """Time is up after a number of rounds: the same answer on every machine."""

    def __init__(self, rounds: int) -> None:
        super().__init__(Fraction(0), SECONDS)
        self.left = rounds

    def is_up(self, value: Fraction, bound: Fraction) -> bool:
        """Count."""
        self.left -= 1
        return self.left < 0


def exact_all_to_all(topology: Topology) -> Fraction | None:
    """Return the throughput where symmetries leave so few orbits of links that it is exact in a moment, None elsewhere.

    >>> print(exact_all_to_all(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])))
    1/6
    """
    problem = FlowProblem.of(topology)
    if problem.num_classes > MAX_CLASSES:
        return None
    found = solve_by_columns(problem, _Rounds(MAX_ROUNDS))
    value = problem.value(found.flow.loads(), found.flow.unit)
    return value if value == found.bound else None


def quick_all_to_all(topology: Topology) -> tuple[Fraction, Fraction] | None:
    """Return (value, bound), both proven, after so few rounds that it takes a moment; None where even those take long.

    >>> value, bound = quick_all_to_all(Topology.from_links(3, [0, 0, 1, 2], [1, 2, 0, 0]))
    >>> print(value, bound)
    1/2 1/2
    """
    problem = FlowProblem.of(topology)
    work = problem.orbits.sources.size * problem.wires.num_links
    if work > MOST_QUICK:
        return None
    method = solve_by_columns if problem.num_classes <= MAX_CLASSES else solve_by_prices
    found = method(problem, _Rounds(min(QUICK_ROUNDS, max(1, QUICK_WORK // work))))
    value = problem.value(found.flow.loads(), found.flow.unit)
    return rounded(value, found.bound)


def rounded(value: Fraction, bound: Fraction) -> tuple[Fraction, Fraction]:
    """Return an interval with both ends rounded outwards, so that they are short to write; what is exact stays so.

    >>> rounded(Fraction(1, 3), Fraction(1, 2))
    (Fraction(357913941, 1073741824), Fraction(1, 2))
    """
    if value == bound:
        return value, value
    part = Fraction(1, 2 ** round(DIGITS / bound).bit_length())
    return value // part * part, -(-bound // part) * part


def _solve(problem: FlowProblem, watch: Watch) -> tuple[str, Solution]:
    """Return the name of the method that serves a problem best, and what it found."""
    if problem.num_classes <= MAX_CLASSES:
        return "columns", solve_by_columns(problem, watch)
    columns = lp.num_columns(problem)
    if columns > MAX_AMOUNTS:
        raise LinkstepError(
            f"all-to-all throughput of {problem.wires.num_nodes} nodes with {problem.wires.num_links} links and hardly "
            f"any symmetry: the flows have {columns} amounts, more than the {MAX_AMOUNTS} we hold"
        )
    by_lp = lp.solve_by_lp(problem, watch) if columns <= lp.MAX_COLUMNS and lp.is_available() else None
    if by_lp is not None and _is_near(problem, by_lp, watch):
        return "lp", by_lp
    found = {"prices": solve_by_prices(problem, watch)} | ({} if by_lp is None else {"lp": by_lp})
    is_near = is_stopped() or any(_is_near(problem, one, watch) for one in found.values())
    if problem.num_classes <= MOST_CLASSES and not is_near:
        found["columns"] = solve_by_columns(problem, watch)
    return min(found.items(), key=lambda item: _ratio(problem, item[1]))


def _ratio(problem: FlowProblem, found: Solution) -> Fraction:
    return found.bound / problem.value(found.flow.loads(), found.flow.unit)


def _is_near(problem: FlowProblem, found: Solution, watch: Watch) -> bool:
    """Whether it is as near as was asked for, or as near as a linear program in floats comes to anything."""
    return _ratio(problem, found) <= 1 + max(watch.gap, FLOATS)

"""With and without a library: the same results for the same work, wherever a recipe knows symmetry.

Results are compared exactly. Work is counted rather than timed: how many nodes BFB solves, how large the group of
arrivals is, how many sources and classes of links all-to-all has, how many sources are routed; where these agree both
ways take the same time but for the search that a library would do. A slow test compares CPU time as well.
"""

import time
from functools import cache

import pytest

from linkstep.core.topology import Topology
from linkstep.costs import cost_of, wiring_bound
from linkstep.methods.arrival import arrival_cost
from linkstep.methods.arrival.solve import SearchLimits
from linkstep.methods.bfb import bfb_allgather, bfb_certificate
from linkstep.methods.bfb.problems import representatives
from linkstep.methods.exchange import all_to_all_schedule
from linkstep.methods.exchange.action import FreeAction
from linkstep.methods.synthesis.automorphisms import find_automorphism_groups
from linkstep.recipe import parse
from linkstep.search.catalog import load_catalog
from linkstep.symmetry import known_symmetry, libraries
from linkstep.symmetry.libraries import LIBRARIES, Library, find_library
from linkstep.symmetry.translations import translations
from linkstep.throughput import all_to_all
from linkstep.throughput.problem import FlowProblem

FAMILIES = [
    "K_7", "K_{5,5}", "K(2,2)", "Pi_{3,20}", "Pi_{4,16}", "BiRing(2,9)", "UniRing(2,5)", "ShiftedRing(4,17)",
    "C(16,{3,4})", "DirCirculant(4)", "Bundle(7,6)", "Chords(3,10)", "Torus(4,4)", "Torus(3,5)", "TwistedTorus(3,6)",
    "Q(4)", "H(2,4)", "TwistedHypercube(4)", "Paley(13)", "J(5,2)", "O(3)", "Kneser(6,2)", "DoubledOdd(3)", "DBJ(2,4)",
    "DBJMod(4,2)", "Diamond", "PG(2,3)", "AG(2,4)", "GQ(2,2)", "DistReg(4,21)", "DoubleBinaryTree(12)",
    "Cayley(Z13:Z3[3],{(1,0),(0,1),(3,1)})", "Cayley({(1,2,0,3),(0,2,3,1)})", "Cayley(Z3xZ6,{(0,1),(1,2),(2,4),(0,5)})",
    "Lift(8,{(1,0,0,1),(1,2,0,4),(0,3,1,5)})", "Lift(Z3:Z2[2],{(1,0,1,0,2,0),(1,2,0,0,1,1),(0,1,1,1,1,0)})",
]  # fmt: skip
EXPANSIONS = ["L(Torus(3,3))", "L^2(K_4)", "L(Cayley(Z7:Z3[2],{(1,0),(0,1)}))", "T(L(Lift(5,{(1,0,0,1),(1,2,0,4)})))",
              "K_3 x Lift(5,{(1,0,0,1),(1,2,0,4)})", "C(8,{1,3})*2", "K_3^3", "Bi(C(7,{1,2}))"]  # fmt: skip


STARTS = ("Lift(Z", "Lift(", "Cayley({", "Cayley(Z", "L(Lift", "L(Cayley", "L^2(")


@cache
def catalog() -> dict[str, list[str]]:
    """Return, by how recipes start, a few small lifts, Cayley graphs and line graphs of the catalog."""
    found: dict[str, list[str]] = {start: [] for start in STARTS}
    for entry in sorted(load_catalog(), key=lambda entry: (entry.num_nodes, entry.degree, str(entry.recipe))):
        text = str(entry.recipe)
        start = next((s for s in STARTS if text.startswith(s)), None)
        if start is not None and 12 <= entry.num_nodes <= 64 and len(found[start]) < 3 and "Lift(1," not in text:
            found[start].append(text)
    return found


CASES = [*FAMILIES, *EXPANSIONS]


def is_quick(recipe: str, links: int = 36) -> bool:
    """Whether it has few links: with those of the default all methods together take well below a second."""
    found = parse(recipe)
    return found.num_nodes * found.degree <= links


def refuse(*graphs):
    raise AssertionError("a library is asked although the recipe knows")


NOSY = Library("nosy", lambda: True, refuse, refuse)
"""It is there, and must not be asked."""


def work_on(recipe: str) -> list[object]:
    """Return the groups and orbits that each method starts from, on a topology that is new, and on its transpose."""
    topology = parse(recipe).topology()
    known = known_symmetry(topology)
    assert known is not None and known.generators
    found: list[object] = []
    for at in (topology, topology.transpose()):
        group, problem = translations(at), FlowProblem.of(at)
        found += [representatives(at).tolist(), None if group is None else group.tobytes()]
        found += [problem.orbits.sources.tolist(), problem.orbits.link_class.tolist()]
        found += [FreeAction.of(at, 0).node_image.tobytes()]
        if at.num_nodes <= 32:
            found += [group.elements for group in find_automorphism_groups(at, 2, 0)]
    return found


@pytest.mark.parametrize("recipe", [pytest.param(r, marks=[] if is_quick(r, 32) else pytest.mark.slow) for r in CASES])
def test_no_library_is_asked_and_the_work_is_the_same(recipe, monkeypatch):
    """Every method gets its symmetry from the recipe: nothing that is installed can change a result."""
    monkeypatch.setattr(libraries, "LIBRARIES", (NOSY,))
    with_one = work_on(recipe)
    monkeypatch.setattr(libraries, "LIBRARIES", ())
    assert work_on(recipe) == with_one


@pytest.mark.parametrize("which", [slice(1), pytest.param(slice(1, 3), marks=pytest.mark.slow)], ids=["first", "more"])
@pytest.mark.parametrize("start", [STARTS[0], *(pytest.param(start, marks=pytest.mark.slow) for start in STARTS[1:])])
def test_no_library_is_asked_of_the_catalog(start, which, monkeypatch):
    assert len(catalog()[start]) == 3
    for recipe in catalog()[start][which]:
        test_no_library_is_asked_and_the_work_is_the_same(recipe, monkeypatch)


def test_a_library_is_asked_where_nothing_is_known(monkeypatch):
    """Or the test above could not fail."""
    monkeypatch.setattr(libraries, "LIBRARIES", (NOSY,))
    known = parse("Torus(3,3)").topology()
    plain = Topology.from_links(known.num_nodes, known.tail, known.head)
    for ask in (
        FlowProblem.of,
        lambda topology: FreeAction.of(topology, 0),
        lambda t: find_automorphism_groups(t, 1, 0),
    ):
        with pytest.raises(AssertionError, match="although the recipe knows"):
            ask(plain)


@pytest.mark.skipif(find_library() is None, reason="needs a library to compare with")
@pytest.mark.parametrize("recipe", [pytest.param(r, marks=[] if is_quick(r) else pytest.mark.slow) for r in CASES])
def test_the_same_results(recipe, monkeypatch):
    found = []
    for rows in (LIBRARIES, ()):
        monkeypatch.setattr(libraries, "LIBRARIES", rows)
        topology = parse(recipe).topology()
        flow = all_to_all(topology, seconds=20)
        made = all_to_all_schedule(topology)
        found.append(
            (
                bfb_certificate(topology).steps,
                cost_of(bfb_allgather(topology)),
                arrival_cost(topology, SearchLimits(rounds=0)),
                (flow.value, flow.bound, flow.method),
                (cost_of(made.schedule), made.bound, made.chunks),
                (wiring_bound(topology).cost, wiring_bound(topology, "reduce-scatter").cost),
            )
        )
    assert found[0] == found[1]


def work_of(recipe: str) -> float:
    """Return the CPU seconds of everything that uses symmetry, on a topology that is new."""
    topology = parse(recipe).topology()
    start = time.process_time()
    bfb_certificate(topology)
    arrival_cost(topology, SearchLimits(rounds=0))
    all_to_all(topology, seconds=60)
    all_to_all_schedule(topology)
    wiring_bound(topology)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.skipif(find_library() is None, reason="needs a library to compare with")
@pytest.mark.parametrize("start", STARTS)
def test_the_same_results_of_the_catalog(start, monkeypatch):
    for recipe in catalog()[start]:
        test_the_same_results(recipe, monkeypatch)


TIMED = ["Torus(8,8)", "Q(6)", "L(Torus(4,4))", "J(7,3)", "Pi_{3,36}", "Lift(8,{(1,0,0,1),(1,2,0,4),(0,3,1,5)})"]


@pytest.mark.slow
@pytest.mark.skipif(find_library() is None, reason="needs a library to compare with")
@pytest.mark.parametrize("recipe", TIMED)
def test_at_most_a_fifth_more_time(recipe, monkeypatch):
    """The best of several, taken in turn; a run that was disturbed is repeated."""
    work_of(recipe)
    best = {True: float("inf"), False: float("inf")}
    for _ in range(12):
        for asked in best:
            monkeypatch.setattr(libraries, "LIBRARIES", LIBRARIES if asked else ())
            best[asked] = min(best[asked], work_of(recipe))
        if best[False] <= 1.2 * best[True]:
            return
    raise AssertionError(f"{best[False]:.3f} s without a library, {best[True]:.3f} s with one")

"""Every family and every expansion, every collective, every runtime: lowered and verified as far as limits allow."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError, RecipeError
from linkstep.families import FAMILIES
from linkstep.lowering import TARGETS, chunk_grid, lower
from linkstep.verification import verify_text
from support import interpreters

QUICK, SMALL, MIDDLE, LARGE = 6, 9, 32, 64
RINGS = {"UniRing": 1, "BiRing": 2, "ShiftedRing": 2}  # these have many steps
CASES = [(to, collective) for to, target in TARGETS.items() for collective in target.collectives]
EXPANSIONS = {
    "line graph": ["L(K_3)", "L(K_{2,2})", "L(K_{4,4})", "L(DBJMod(4,2))", "L^2(K_4)", "L^3(K_{2,2})", "L(Diamond)"],
    "degree": ["K_3*2", "K_{2,2}*2", "Diamond*4", "DBJMod(2,4)*4"],
    "power": ["K_3^2", "UniRing(1,3)^2", "UniRing(1,3)^3", "Diamond^2"],
    "product": ["K_3 x K_2", "K_2 x UniRing(1,4)", "K_4 x C(7,{2,3})", "Diamond x Paley(7)"],
    "several": ["L(K_3*2)", "L(K_3)^2", "L(K_3^2)", "L(UniRing(1,4) x K_2)"],
}
MANY_PORTS = ["Q(6)", "K_{6,6}", "K_12", "J(6,2)", "Paley(13)", "TwistedTorus(3,3,6)", "Torus(3,4,5)"]
NOT_LISTED = [  # of families that have too many members to list them by N and d
    "Cayley(Z4:Z2[3],{(1,0),(0,1)})",
    "Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})",
    "Cayley(Z16:Z4[5],{(4,0),(8,2),(13,2),(13,3)})",
    "Cayley({(1,2,0,3),(1,0,3,2)})",
    "Lift(5,{(0,2,2,1,1,2),(0,3,1,1,0,4),(1,2,0,1,2,1),(2,4,1,2,2,3)})",
]


def largest(family, most: int, degree: int) -> list[str]:
    members = [args for n in range(2, most + 1) for args in family.members(n, degree)]
    return [family.format(*args) for args in members[-1:]]


def listed() -> list[str]:
    """The largest members of each family: of at most 9 nodes with one to four ports, of at most 64 with up to four."""
    found = []
    for family in FAMILIES:
        for degree in (1, 2, 3, 4):
            found += largest(family, SMALL, degree)
        ports = range(RINGS.get(family.name, 4), 0, -1)
        found += next((several for d in ports if (several := largest(family, LARGE, d))), [])
    return found


def cases() -> list:
    expanded = [recipe for several in EXPANSIONS.values() for recipe in several]
    recipes = {r: linkstep.parse(r).num_nodes for r in [*listed(), *MANY_PORTS, *NOT_LISTED, *expanded]}
    names = list(TARGETS)
    quick = [pytest.param(r, [names[k % len(names)]], id=f"{r}-one")
             for k, (r, n) in enumerate(recipes.items()) if n <= QUICK]  # fmt: skip
    middle = [pytest.param(r, names, id=r, marks=pytest.mark.slow) for r, n in recipes.items() if n <= MIDDLE]
    large = [r for r, n in recipes.items() if n > MIDDLE]
    some = [pytest.param(r, [names[k % 5], names[(k + 2) % 5]], id=f"{r}-two", marks=pytest.mark.slow)
            for k, r in enumerate(large)]  # fmt: skip
    return [*quick, *middle, *some, *(pytest.param(r, names, id=r, marks=pytest.mark.long) for r in large)]


@pytest.mark.parametrize(("recipe", "runtimes"), cases())
def test_every_runtime_and_collective(recipe, runtimes):
    """Small recipes take turns with the runtimes, and so do large ones; all with all is slow, or long.

    An all-to-all has N pieces a shard: whole ones on more than a few nodes, and 64 nodes only where simulated.
    """
    num_nodes = linkstep.parse(recipe).num_nodes
    wanted = {collective for to in runtimes for collective in TARGETS[to].collectives}
    schedules = {c: linkstep.parse(recipe).build(c) for c in sorted(wanted - {"all-to-all"})}
    if num_nodes <= MIDDLE:
        whole = {"chunks": 1} if num_nodes > SMALL else {}
        schedules["all-to-all"] = linkstep.schedule(recipe, "all-to-all", **whole).schedule
    for to in runtimes:
        for k, collective in enumerate(c for c in TARGETS[to].collectives if c in schedules):
            schedule = schedules[collective]
            try:
                lowered = lower(schedule, to, inplace=bool(k % 2) and collective != "all-to-all")
            except LinkstepError as error:
                assert "over the limit of" in str(error) and num_nodes > SMALL and to != "cpu"
                continue
            report = verify_text(lowered.text, to)
            assert report.is_verified, report.errors[0]


@st.composite
def recipes(draw) -> str:
    """Small bases expanded up to twice, at most 16 nodes."""
    recipe = draw(st.sampled_from(["K_2", "K_3", "K_{2,2}", "UniRing(1,3)", "UniRing(2,2)", "BiRing(2,4)", "Pi_{2,5}"]))
    for _ in range(draw(st.integers(0, 2))):
        how = draw(st.sampled_from(["L({})", "({})*2", "({})*3", "({})^2", "({}) x K_2", "UniRing(1,3) x ({})"]))
        if linkstep.parse(how.format(recipe)).num_nodes <= 16:
            recipe = how.format(recipe)
    return recipe


@pytest.mark.slow
@given(recipes(), st.sampled_from(CASES), st.booleans(), st.integers(1, 3), st.integers(1, 2), st.integers())
@settings(max_examples=15, deadline=None)
def test_property_random_recipes(recipe, case, inplace, instances, finer, seed):
    """Lowered, verified, and run in a tiny runtime in a random order."""
    to, collective = case
    try:
        schedule = linkstep.parse(recipe).build(collective)
    except RecipeError:  # a self-loop, which *n cannot take
        assume(False)
    chunks = finer * chunk_grid(schedule)
    inplace = inplace and collective != "all-to-all"
    lowered = lower(schedule, to, inplace=inplace, instances=instances, chunks=chunks)
    assert verify_text(lowered.text, to).is_verified
    interpreters.run(lowered.text, to, seed)


def test_every_family_is_there():
    """But generalized hexagons, which begin at 126 nodes."""
    families = {recipe.family.name for recipe in map(linkstep.parse, [*listed(), *NOT_LISTED])}
    assert {family.name for family in FAMILIES} - families == {"GH"}

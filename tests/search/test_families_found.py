"""The finder's reading of the family table."""

from linkstep import families
from linkstep.costs import cost_of
from linkstep.families import Family
from linkstep.families._common import out_links
from linkstep.recipe import Member
from linkstep.search import bases
from linkstep.search.finder import Finder
from linkstep.search.finders import finder


def toy(size: int):
    """Every node has links to the next and to the one after: BFB takes about N / 2 steps."""
    return out_links([[(x + 1) % size, (x + 2) % size] for x in range(size)])


TOY = Family(
    name="Toy",
    title="toy",
    params=("int",),
    notation="Toy(m)",
    coverage="d = 2",
    build=toy,
    size=lambda m: (m, 2),
    members=lambda n, d: iter([(n,)] if d == 2 and n >= 3 else []),
)


def test_a_new_row_is_found(monkeypatch):
    """A family needs its row and nothing else: it is found, costed, expanded and built."""
    for module in (families, bases):
        monkeypatch.setattr(module, "FAMILIES", (TOY,))
    search = Finder(bases.family_bases)
    (choice,) = search.frontier(11, 2)
    assert (choice.recipe, choice.method) == (Member(TOY, (11,)), "bfb")
    assert choice.is_simple and choice.is_loop_free and not choice.is_bidirectional
    assert cost_of(choice.build()) == choice.cost
    assert cost_of(choice.build("reduce-scatter")) == choice.reduce_scatter
    assert {str(c.recipe) for c in search.frontier(22, 4)} == {"Toy(11)*2"}
    assert {str(c.recipe) for c in search.frontier(22, 2)} <= {"Toy(22)", "L(Toy(11))"}
    assert bases.member_choice(Member(TOY, (257,))) is None  # its row does not know the cost, and 257 nodes are many


def test_rows_that_are_not_searched():
    names = {c.recipe.family.name for n in range(3, 33) for c in bases.family_bases(n, 4)}
    assert not names & {"ShiftedRing", "Torus", "Q", "DBJ"} and "TwistedTorus" in names


def test_finders_report_their_work():
    search, seen = Finder(bases.paper_bases), []
    search.on_work = lambda: seen.append(1)
    search.frontier(24, 4)
    assert len(seen) > 10
    assert finder("all", False) is finder("all", False)

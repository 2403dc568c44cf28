"""Windows of sizes: at every size of a sweep the choice is the fastest, and windows meet at the exact crossing."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.units import parse_sizes
from linkstep.costs import Cost, Fabric, cost_of
from linkstep.engines.plans.source import _selected
from linkstep.recipe import parse
from linkstep.search import Answer, Choice, find
from linkstep.search.windows import selector_of, windows
from linkstep.selector import Selector

FABRIC = Fabric.of("10us", "100Gbps", 4, overhead="5us")


def answer(*costs):
    rows = tuple(Choice(parse("Torus(4,4)"), "bfb", Cost(*cost), Cost(*cost)) for cost in costs)
    return Answer(16, 4, False, rows, (), Cost(2, Fraction(15, 16)), Fraction(1, 8), 2)


def test_the_answer_of_the_paper_for_64():
    """table:paretooptimal's way of three topologies: few steps, then the line graph, then bandwidth-optimal."""
    found = windows(find(64, 4, directed=True, families="paper"), FABRIC, parse_sizes("1KiB:1GiB"))
    assert [(str(w.choice.recipe), w.smallest, w.largest) for w in found] == [
        ("Pi_{4,64}", 1024, 400_000),
        ("L(C(16,{3,4}))", 400_001, 16_000_000),
        ("C(64,{6,7})", 16_000_001, 2**30),
    ]
    first, second = (w.choice.allreduce_cost for w in found[:2])
    assert FABRIC.time(first, "allreduce", 400_000) == FABRIC.time(second, "allreduce", 400_000)
    rules = selector_of(found).rules
    assert [(r.collective, r.source, r.method) for r in rules][1] == ("allreduce", "L(C(16,{3,4}))", "expand")


costs = st.tuples(st.integers(1, 12), st.fractions(Fraction(1, 2), 3, max_denominator=12))


@settings(max_examples=30)
@given(st.lists(costs, min_size=1, max_size=5), st.integers(1, 10**5), st.integers(0, 10**7))
def test_at_every_size_the_choice_is_the_fastest(rows, first, more):
    made = answer(*rows)
    found = windows(made, FABRIC, (first + more, first))
    assert (found[0].smallest, found[-1].largest) == (first, first + more)
    for one, other in pairwise(found):
        assert other.smallest == one.largest + 1
        assert one.choice.allreduce_cost != other.choice.allreduce_cost
    for window in found:
        for size in (window.smallest, (window.smallest + window.largest) // 2, window.largest):
            least = min(FABRIC.time(row.allreduce_cost, "allreduce", size) for row in made.frontier)
            assert FABRIC.time(window.choice.allreduce_cost, "allreduce", size) == least


def test_nothing_to_select():
    with pytest.raises(LinkstepError, match="there is no topology of 16 servers and 4 ports to select"):
        windows(answer(), FABRIC, (1, 2))


# What a rule builds is what the table says


def check_rules(nodes: int, degree: int, path: Path, **options: bool) -> int:
    """Build every rule of a selector as its file has it, and compare costs; return how many there are."""
    found = windows(find(nodes, degree, **options), Fabric.of("10us", "100Gbps", degree), parse_sizes("1KB:1GB"))
    selector_of(found).save(path)
    for window, rule in zip(found, Selector.load(path).rules, strict=True):
        made = linkstep.schedule(rule.source, rule.collective, **rule.arguments)
        assert made.cost == window.choice.allreduce_cost, (nodes, degree, rule)
        source = _selected(Selector((rule,)))[0]
        assert cost_of(source.schedule(rule.collective, 0)) == made.cost
    return len(found)


@pytest.mark.parametrize(("nodes", "degree"), [(30, 3), (20, 4)])
def test_rules_build_what_the_table_says(nodes, degree, tmp_path):
    assert check_rules(nodes, degree, tmp_path / "s.json", directed=True) > 1


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("degree", [2, 3, 4, 6])
def test_rules_of_many_selectors_build_what_the_tables_say(degree, bidirectional, tmp_path):
    for nodes in (6, 9, 12, 17, 20, 24, 27, 33, 40, 46, 52, 60):
        if degree < nodes and nodes * degree % 2 == 0:
            assert check_rules(nodes, degree, tmp_path / "s.json", directed=not bidirectional)

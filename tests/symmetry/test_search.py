"""Automorphisms and isomorphisms against every permutation tried, and networkx."""

from collections import Counter
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep.core.errors import TopologyError
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather
from linkstep.expansions import cartesian_power, line_graph, to_bidirectional
from linkstep.recipe import parse
from linkstep.symmetry import isomorphisms, libraries
from linkstep.symmetry.isomorphisms import is_reverse_symmetric, isomorphism, node_orbits
from linkstep.symmetry.libraries import LIBRARIES
from linkstep.symmetry.refinement import Pair
from linkstep.symmetry.search import automorphism_generators, is_available, pairs_of, symmetry_of
from support import reference
from support.strategies import complete, complete_bipartite, link_lists, pairs, ring, topologies, topology_of

tiny = link_lists(max_nodes=5, max_links=9)

DIAMOND = topology_of(8, [
    (0, 3), (0, 4), (1, 2), (1, 7), (2, 3), (2, 4), (3, 6), (3, 7),
    (4, 1), (4, 5), (5, 0), (5, 1), (6, 2), (6, 5), (7, 0), (7, 6),
])  # fmt: skip
"""fig:diamondtopo."""


def rich_links(topology: Topology) -> Counter:
    """Return the multiset of (tail, head, bandwidth, alpha), an absent column being None throughout."""
    blank = [None] * topology.num_links
    columns = [blank if c is None else c.tolist() for c in (topology.bandwidth, topology.alpha)]
    return Counter(zip(topology.tail.tolist(), topology.head.tolist(), *columns, strict=True))


def brute_orbits(topology: Topology) -> list[int]:
    found = reference.mappings(topology.num_nodes, rich_links(topology), rich_links(topology))
    return [min(p[u] for p in found) for u in range(topology.num_nodes)]


@settings(max_examples=60)
@given(topologies(tiny, columns=True))
def test_orbits_against_every_permutation(topology):
    orbits = node_orbits(topology)
    assert orbits.dtype == np.int32
    assert orbits.tolist() == brute_orbits(topology)


@st.composite
def symmetric_topologies(draw):
    """Draw unions of orbits of links under a cyclic shift, so that symmetry is the rule, with columns."""
    n = draw(st.integers(1, 5))
    links, columns = [], {"bandwidth": [], "alpha": []}
    for _ in range(draw(st.integers(0, 3))):
        u, w = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        b, a = draw(st.integers(1, 2)), draw(st.integers(0, 1))
        for shift in range(n):
            links.append(((u + shift) % n, (w + shift) % n))
            columns["bandwidth"].append(b)
            columns["alpha"].append(a)
    if links and draw(st.booleans()):
        links.pop()
        columns = {what: column[:-1] for what, column in columns.items()}
    return topology_of(n, links, **{what: column for what, column in columns.items() if draw(st.booleans())})


@given(st.one_of(topologies(link_lists(max_nodes=4, max_links=6), columns=True), symmetric_topologies()))
def test_generators_generate_every_automorphism(topology):
    """Multiplied out, they are all the permutations that keep the links, and no others."""
    identity = tuple(range(topology.num_nodes))
    found, fresh = {identity}, {identity}
    while fresh:
        fresh = {tuple(g[u] for u in p) for g in automorphism_generators(topology) for p in fresh} - found
        found |= fresh
    links = rich_links(topology)
    assert found == set(reference.mappings(topology.num_nodes, links, links))


@settings(max_examples=60)
@given(symmetric_topologies())
def test_orbits_of_symmetric_topologies(topology):
    assert node_orbits(topology).tolist() == brute_orbits(topology)


@settings(max_examples=60)
@given(st.data(), st.one_of(topologies(tiny, columns=True), symmetric_topologies()))
def test_isomorphism_of_relabelled(data, topology):
    """One exists; the one found is checked link by link."""
    other = topology.relabel(data.draw(st.permutations(range(topology.num_nodes))))
    mapping = isomorphism(topology, other)
    assert mapping is not None
    assert mapping.dtype == np.int32
    assert tuple(mapping.tolist()) in reference.mappings(topology.num_nodes, rich_links(topology), rich_links(other))


@settings(max_examples=60)
@given(st.data(), link_lists(min_nodes=2, max_nodes=4, max_links=5))
def test_isomorphism_against_every_permutation(data, graph):
    """Two topologies that differ by a link moved and renamed nodes: perhaps isomorphic, perhaps not."""
    n, links = graph
    nodes = st.integers(0, n - 1)
    changed = [*links[1:], data.draw(st.tuples(nodes, nodes))] if links else []
    one, two = topology_of(n, links), topology_of(n, changed).relabel(data.draw(st.permutations(range(n))))
    found = reference.mappings(n, rich_links(one), rich_links(two))
    mapping = isomorphism(one, two)
    assert (mapping is None) == (not found)
    assert mapping is None or tuple(mapping.tolist()) in found


@given(link_lists(min_nodes=1, max_nodes=7, max_links=9), link_lists(min_nodes=1, max_nodes=7, max_links=9))
def test_isomorphism_against_networkx(one, two):
    left, right = topology_of(*one), topology_of(*two)
    expected = nx.is_isomorphic(counted(left), counted(right), edge_match=lambda a, b: a["count"] == b["count"])
    assert (isomorphism(left, right) is not None) == expected


def counted(topology: Topology) -> nx.DiGraph:
    """Return a simple digraph with the number of parallel links on each edge."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.num_nodes))
    for (u, w), count in Counter(pairs(topology)).items():
        graph.add_edge(u, w, count=count)
    return graph


def test_isomorphism_counts_everything():
    two = [(0, 1), (1, 0)]
    assert isomorphism(topology_of(2, two), topology_of(3, two)) is None
    assert isomorphism(topology_of(2, two), topology_of(2, [*two, (0, 0)])) is None
    assert isomorphism(topology_of(2, [*two, (0, 0)]), topology_of(2, [*two, (1, 1)])).tolist() == [1, 0]
    assert isomorphism(topology_of(2, [*two, (0, 1)]), topology_of(2, [*two, (1, 0)])).tolist() == [1, 0]
    assert isomorphism(topology_of(2, [(0, 0)] * 2), topology_of(2, [(0, 0), (1, 1)])) is None
    assert isomorphism(topology_of(2, [(0, 0), (1, 1)]), topology_of(2, two)) is None
    rated = topology_of(2, two, bandwidth=[10, 20])
    assert isomorphism(rated, topology_of(2, two, bandwidth=[20, 10])).tolist() == [1, 0]
    assert isomorphism(rated, topology_of(2, two, bandwidth=[10, 10])) is None
    assert isomorphism(rated, topology_of(2, two)) is None
    assert isomorphism(rated, topology_of(2, two, alpha=[10, 20])) is None


@settings(max_examples=60)
@given(topologies(link_lists(max_nodes=4, max_links=7), columns=True))
def test_reverse_symmetry_against_every_permutation(topology):
    turned = rich_links(topology.transpose())
    found = reference.mappings(topology.num_nodes, rich_links(topology), turned)
    assert is_reverse_symmetric(topology) == bool(found)


@pytest.mark.parametrize(
    ("topology", "transitive", "reverse_symmetric"),
    [
        pytest.param(complete(5), True, True, id="table:toposummary-K_5"),
        pytest.param(complete_bipartite(3), True, True, id="table:toposummary-K_{3,3}"),
        pytest.param(ring(7), True, True, id="table:toposummary-UniRing(1,7)"),
        pytest.param(topology_of(5, pairs(ring(5)) * 3), True, True, id="table:toposummary-UniRing(3,5)"),
        pytest.param(to_bidirectional(ring(6)), True, True, id="table:toposummary-BiRing(2,6)"),
        pytest.param(cartesian_power(complete(3), 2), True, True, id="table:toposummary-H(2,3)"),
        pytest.param(line_graph(complete(3)), True, True, id="table:toposummary-K(2,1)"),
        pytest.param(line_graph(line_graph(complete(3))), False, True, id="table:toposummary-K(2,2)"),
        pytest.param(line_graph(complete_bipartite(2)), True, True, id="fig:linegraphtopology"),
        pytest.param(DIAMOND, False, False, id="table:toposummary-Diamond"),
        pytest.param(topology_of(1, []), True, True, id="one-node"),
        pytest.param(topology_of(3, [(0, 1), (1, 2)]), False, True, id="path"),
        pytest.param(topology_of(3, [(0, 1), (0, 2)]), False, False, id="fork"),
    ],
)
def test_symmetry_of_the_papers_graphs(topology, transitive, reverse_symmetric):
    """Column "Reverse-Symmetric" of table:toposummary."""
    assert is_reverse_symmetric(topology) == reverse_symmetric
    assert (set(node_orbits(topology).tolist()) == {0}) == transitive


def test_orbits_of_a_larger_topology():
    """One link of a 1024-node hypercube doubled: nodes are alike if equally far from both its ends."""
    links = reference.hypercube(10)
    assert not node_orbits(topology_of(1024, links)).any()
    marked = node_orbits(topology_of(1024, [*links, (0, 1), (1, 0)]))
    assert marked[1] == 0
    assert len(set(marked.tolist())) == 10
    one_way = node_orbits(topology_of(1024, [*links, (0, 1)]))
    assert one_way[1] == 1
    assert len(set(one_way.tolist())) == 20


# Libraries, one by one, and none of them


@pytest.fixture(params=[row.name for row in LIBRARIES])
def library(request, monkeypatch):
    """Each library by itself, where it is installed."""
    row = next(row for row in LIBRARIES if row.name == request.param)
    if not row.is_there():
        pytest.skip(f"{row.name} is not installed")
    monkeypatch.setattr(libraries, "LIBRARIES", (row,))
    return row


@pytest.fixture
def no_library(monkeypatch):
    """As if no library were installed."""
    monkeypatch.setattr(libraries, "LIBRARIES", ())
    is_available.cache_clear()
    yield
    is_available.cache_clear()


SOME = [DIAMOND, ring(7), complete(4), topology_of(5, pairs(ring(5)) * 3), topology_of(3, [(0, 1), (1, 2), (2, 2)])]


@pytest.mark.parametrize("number", range(len(SOME)))
def test_every_library_finds_the_whole_group(number, library):
    topology = SOME[number]
    links = rich_links(topology)
    expected = set(reference.mappings(topology.num_nodes, links, links))
    assert generated(automorphism_generators(topology), topology.num_nodes) == expected


def generated(generators, num_nodes: int) -> set[tuple[int, ...]]:
    found = fresh = {tuple(range(num_nodes))}
    while fresh:
        fresh = {tuple(g[list(p)].tolist()) for g in generators for p in fresh} - found
        found = found | fresh
    return found


@pytest.mark.parametrize("number", range(len(SOME)))
def test_every_library_finds_isomorphisms(number, library):
    topology = SOME[number]
    if library.isomorphism is not None:
        other = topology.relabel(np.random.default_rng(number).permutation(topology.num_nodes))
        assert topology.relabel(isomorphism(topology, other)) == other
        assert isomorphism(topology, topology_of(topology.num_nodes, [(0, 0)] * topology.num_links)) is None


def only_dreadnaut(monkeypatch, folder, script: str) -> None:
    """Put a program of that name in PATH, and let no other library be there."""
    program = folder / "dreadnaut"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    row = next(row for row in LIBRARIES if row.name == "dreadnaut")
    monkeypatch.setattr(libraries, "LIBRARIES", (row,))
    assert row.is_there()


def test_dreadnaut_is_asked_for_lists_of_images(tmp_path, monkeypatch):
    """What is written and read is what nauty 2.8 takes and prints; generators are of all three parts."""
    answer = r"printf 'Gen(A) #1:  1 2 0 4 5 3 7 8 6\n3 orbits; grpsize=3; 1 gen; 1 node (1 peak); maxlev=0\n'"
    only_dreadnaut(monkeypatch, tmp_path, f"cat > {tmp_path / 'asked'}; {answer}")
    assert [new.tolist() for new in automorphism_generators(ring(3))] == [[1, 2, 0]]
    asked = (tmp_path / "asked").read_text()
    assert asked == "At -m l=0\nn=9 g\n3 6;\n4 7;\n5 8;\n7;\n8;\n6.\nf=[0,1,2|3,4,5|6,7,8]\n+p x q\n"


@pytest.mark.parametrize("script", ["exit 3", "cat", "exec sleep 20"])
def test_a_dreadnaut_that_fails_is_as_good_as_none(script, tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "_SECONDS", 0.2)
    only_dreadnaut(monkeypatch, tmp_path, script)
    assert automorphism_generators(ring(3)) == []


@pytest.mark.parametrize("recipe", ["Pi_{4,500}", "GH(3,3)", "Torus(20,20)"])
def test_libraries_are_quick_and_agree_on_larger_graphs(recipe, library):
    """nauty's own search took more than ten minutes for the first."""
    topology = parse(recipe).topology(keep=False)
    found = automorphism_generators(Topology.from_links(topology.num_nodes, topology.tail, topology.head))
    orbits = {"Pi_{4,500}": 50}.get(recipe, 1)
    parent = list(range(topology.num_nodes))
    for generator in found:
        for u, w in enumerate(generator.tolist()):
            low, high = sorted((root(parent, u), root(parent, w)))
            parent[high] = low
    assert len({root(parent, u) for u in range(topology.num_nodes)}) == orbits


def root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        node = parent[node]
    return node


@settings(max_examples=60)
@given(topologies(tiny, columns=True), st.randoms(use_true_random=False), topologies(tiny, columns=True))
@pytest.mark.slow
def test_own_isomorphisms_against_bliss(topology, random, other):
    renamed = topology.relabel(random.sample(range(topology.num_nodes), topology.num_nodes))
    for right in (renamed, other, topology.transpose()):
        if (topology.num_nodes, topology.num_links) != (right.num_nodes, right.num_links):
            continue
        mapping = isomorphisms._by_refinement(pairs_of(topology), pairs_of(right), topology.num_nodes)
        assert (mapping is None) == (isomorphism(topology, right) is None)
        if mapping is not None:
            assert topology.relabel(mapping) == right


@pytest.mark.parametrize("recipe", ["K_30", "L(Paley(7))", "DBJ(2,6)", "Q(6)", "Pi_{3,36}", "C(64,{1,9})", "K_5*4"])
def test_own_isomorphisms_of_families(recipe, no_library):
    topology = parse(recipe).topology()
    mapping = isomorphism(topology, topology.transpose())
    assert mapping is not None
    assert topology.relabel(mapping) == topology.transpose()


def test_without_a_library_all_works_and_says_so_once(no_library, caplog):
    topology = unknown(parse("Bi(L(Paley(7)))").topology())
    assert node_orbits(topology).tolist() == list(range(21))
    assert automorphism_generators(topology) == [] and symmetry_of(topology).origin == "none known"
    assert ["needs pybliss or igraph, which is not installed" in record.message for record in caplog.records] == [True]
    check_allgather(parse("Bi(DBJ(2,3))").build())


def unknown(topology: Topology) -> Topology:
    """Return the topology without what is known of it."""
    return Topology.from_links(topology.num_nodes, topology.tail, topology.head)


def test_a_search_that_is_too_long_gives_up(monkeypatch, no_library):
    monkeypatch.setattr(isomorphisms, "Pair", partial(Pair, budget=1))
    with pytest.raises(TopologyError, match="no isomorphism was found and none ruled out for 8 nodes"):
        isomorphism(DIAMOND, DIAMOND.transpose())

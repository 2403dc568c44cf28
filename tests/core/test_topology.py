"""Topologies: the door, the views, distances."""

import base64
import dataclasses
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.columns import MAX_NODES
from linkstep.core.distances import (
    _distance_profiles,
    _distances,
    check_connected,
    diameter,
    distance_counts,
    distance_profiles,
    distances_from,
    distances_to,
)
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from support import reference
from support.strategies import (
    complete_bipartite,
    connected_link_lists,
    link_lists,
    pairs,
    ring,
    topologies,
    topology_of,
)


def rich_links(topology: Topology) -> Counter:
    """Return the multiset of (tail, head, *columns)."""
    columns = [topology.tail, topology.head, topology.bandwidth, topology.alpha]
    return Counter(zip(*(c.tolist() for c in columns if c is not None), strict=True))


# The door


@pytest.mark.parametrize(
    ("arguments", "columns", "message"),
    [
        ((0, [], []), {}, f"num_nodes must lie in [1, {MAX_NODES}], not 0"),
        ((2**31, [], []), {}, f"num_nodes must lie in [1, {MAX_NODES}], not {2**31}"),
        ((True, [], []), {}, "num_nodes must be an integer, not True"),
        ((2.0, [], []), {}, "num_nodes must be an integer, not 2.0"),
        ((2, [0, 1], [1]), {}, "tail and head must be equally long, not 2 and 1"),
        ((2, [0, 2], [1, 0]), {}, "link 1: tail must be a node in [0, 2), not 2"),
        ((2, [0, 1], [1, -1]), {}, "link 1: head must be a node in [0, 2), not -1"),
        ((2, [[0, 1]], [1]), {}, "tail must be one-dimensional, not of shape (1, 2)"),
        ((2, 0, [1]), {}, "tail must be one-dimensional, not of shape ()"),
        ((2, [0.5], [1]), {}, "tail must hold integers, not float64"),
        ((2, [True], [1]), {}, "tail must hold integers, not bool"),
        ((2, ["0"], [1]), {}, "tail must hold integers, not <U1"),
        ((2, [0], [2**31]), {}, f"head must lie in [{-(2**31)}, {2**31 - 1}], not {2**31}..{2**31}"),
        ((2, [0], [2**80]), {}, "head must hold integers, not object"),
        ((2, [0], [1]), {"bandwidth": [1, 2]}, "bandwidth must have one value a link (1), not 2"),
        ((2, [0, 1], [1, 0]), {"bandwidth": [5, 0]}, "link 1: bandwidth must be at least 1, not 0"),
        ((2, [0, 1], [1, 0]), {"alpha": [-1, 0]}, "link 0: alpha must be at least 0, not -1"),
        ((2, [0], [1]), {"alpha": [0.5]}, "alpha must hold integers, not float64"),
    ],
)
def test_from_links_refuses(arguments, columns, message):
    with pytest.raises(TopologyError) as caught:
        Topology.from_links(*arguments, **columns)
    assert str(caught.value) == message


def test_from_links_refuses_ragged_lists():
    with pytest.raises(TopologyError, match=r"^tail must be a list of integers: "):
        Topology.from_links(2, [0, [1]], [1, 0])


def test_an_error_is_a_value_error():
    assert issubclass(TopologyError, LinkstepError)
    assert issubclass(LinkstepError, ValueError)


@given(topologies(columns=True))
def test_links_are_sorted_and_frozen(topology):
    columns = [topology.tail, topology.head, topology.bandwidth, topology.alpha]
    assert pairs(topology) == sorted(pairs(topology))
    assert topology.tail.dtype == topology.head.dtype == np.int32
    assert not any(c.flags.writeable for c in columns if c is not None)
    views = [topology.out_ptr, topology.in_ptr, topology.in_link, topology.in_tail]
    assert not any(view.flags.writeable for view in views)


@given(st.data(), link_lists())
def test_the_order_of_links_does_not_matter(data, graph):
    n, links = graph
    given_columns = [(u, w, b, a) for (u, w), b, a in zip(links, [1, 2, 3] * 9, [5, 5, 4] * 9, strict=False)]
    shuffled = data.draw(st.permutations(given_columns))

    def build(rows):
        u, w, b, a = ([row[i] for row in rows] for i in range(4))
        return Topology.from_links(n, u, w, bandwidth=b, alpha=a)

    first, second = build(given_columns), build(shuffled)
    assert first == second
    assert hash(first) == hash(second)
    assert rich_links(first) == Counter(given_columns)


def test_the_input_is_copied():
    tail = np.array([0, 1])
    topology = Topology.from_links(2, tail, [1, 0])
    tail[:] = 0
    assert topology.tail.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        topology.tail[0] = 1


def test_edge_sizes():
    alone = Topology.from_links(1, [], [])
    assert (alone.num_links, alone.degree, alone.is_regular, alone.is_bidirectional) == (0, 0, True, True)
    assert diameter(alone) == 0
    looped = Topology.from_links(np.int64(1), [0, 0], [0, 0])
    assert (looped.degree, looped.num_self_loops, looped.num_parallel, looped.num_nodes) == (2, 2, 1, 1)
    assert type(looped.num_nodes) is int


# Views and counts


@given(topologies())
def test_views_against_the_list_of_links(topology):
    links = pairs(topology)
    n = topology.num_nodes
    for u in range(n):
        out = range(topology.out_ptr[u], topology.out_ptr[u + 1])
        into = topology.in_link[topology.in_ptr[u] : topology.in_ptr[u + 1]].tolist()
        assert list(out) == [e for e, link in enumerate(links) if link[0] == u]
        assert into == [e for e, link in enumerate(links) if link[1] == u]
        assert topology.in_tail[topology.in_ptr[u] : topology.in_ptr[u + 1]].tolist() == [links[e][0] for e in into]
    outs = [sum(link[0] == u for link in links) for u in range(n)]
    ins = [sum(link[1] == u for link in links) for u in range(n)]
    assert topology.num_links == len(links)
    assert topology.degree == max(outs + ins)
    assert topology.is_regular == (len(set(outs + ins)) == 1)
    assert topology.num_self_loops == sum(u == w for u, w in links)
    assert topology.num_parallel == len(links) - len(set(links))


@given(topologies(link_lists(max_nodes=3, max_links=6), columns=True))
def test_bidirectional_counts_columns(topology):
    there = rich_links(topology)
    assert topology.is_bidirectional == (there == Counter({(w, u, *c): k for (u, w, *c), k in there.items()}))


def test_bidirectional_examples():
    both = [(0, 1), (1, 0)]
    assert topology_of(2, both).is_bidirectional
    assert not topology_of(2, [*both, (0, 1)]).is_bidirectional
    assert topology_of(2, both, bandwidth=[10, 10]).is_bidirectional
    assert not topology_of(2, both, bandwidth=[10, 20]).is_bidirectional
    # Sorted by columns within (tail, head), so which of two parallel links is which does not matter.
    assert topology_of(2, [*both, *both], alpha=[1, 2, 2, 1]).is_bidirectional
    assert not ring(3).is_bidirectional


# Other topologies from one


@given(topologies(columns=True))
def test_transpose(topology):
    turned = topology.transpose()
    assert rich_links(turned) == Counter({(w, u, *c): k for (u, w, *c), k in rich_links(topology).items()})
    assert turned.transpose() == topology
    assert turned.name == ("T(G)" if topology.name else "")


@given(st.data(), topologies(columns=True))
def test_relabel(data, topology):
    new = data.draw(st.permutations(range(topology.num_nodes)))
    moved = topology.relabel(new)
    assert rich_links(moved) == Counter({(new[u], new[w], *c): k for (u, w, *c), k in rich_links(topology).items()})
    assert moved.name == topology.name
    assert moved.relabel(np.argsort(new)) == topology


@pytest.mark.parametrize("new", [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2, 3]])
def test_relabel_refuses(new):
    with pytest.raises(TopologyError, match=r"^new must be a permutation of the 3 nodes$"):
        ring(3).relabel(new)


@given(st.data(), topologies(columns=True))
def test_without_links(data, topology):
    """Numbers may repeat; what is left keeps its columns and its order."""
    e = topology.num_links
    gone = data.draw(st.lists(st.integers(0, e - 1), max_size=4)) if e else []
    columns = [c for c in (topology.tail, topology.head, topology.bandwidth, topology.alpha) if c is not None]
    left = [row for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)) if i not in gone]
    fewer = topology.without_links(gone)
    assert rich_links(fewer) == Counter(left)
    assert fewer.num_nodes == topology.num_nodes


def test_without_links_refuses():
    for links, message in [
        ([3], "links must lie in [0, 3), not 3..3"),
        ([1, -1], "links must lie in [0, 3), not -1..1"),
        ([0.5], "links must hold integers, not float64"),
    ]:
        with pytest.raises(TopologyError) as caught:
            ring(3).without_links(links)
        assert str(caught.value) == message


def test_vertex_transitivity_is_a_note_that_symmetry_keeps():
    known = dataclasses.replace(ring(3), vertex_transitive=True)
    assert known == ring(3)
    assert hash(known) == hash(ring(3))
    assert not ring(3).vertex_transitive
    assert known.transpose().vertex_transitive
    assert known.relabel([2, 0, 1]).vertex_transitive
    assert not known.without_links([0]).vertex_transitive


@given(topologies(columns=True))
def test_networkx_round_trip(topology):
    graph = topology.to_networkx()
    assert sorted(graph.edges()) == pairs(topology)
    again = Topology.from_networkx(graph)
    assert (again, again.name) == (topology, topology.name)
    assert Topology.from_networkx(graph, "other").name == "other"


def test_from_networkx_takes_any_graph():
    undirected = nx.Graph([("a", "b"), ("b", "c"), ("c", "c")])
    assert pairs(Topology.from_networkx(undirected)) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    multi = nx.MultiGraph([(0, 1), (0, 1)])
    assert pairs(Topology.from_networkx(multi)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    rated = nx.Graph()
    rated.add_edge(0, 1, bandwidth=5)
    assert Topology.from_networkx(rated).bandwidth.tolist() == [5, 5]
    rated.add_edge(1, 2)
    with pytest.raises(TopologyError, match=r"^bandwidth is given for 2 of 4 links: give all or none$"):
        Topology.from_networkx(rated)
    with pytest.raises(TopologyError, match=r"not 0$"):
        Topology.from_networkx(nx.Graph())


# Names of hosts


@given(st.data(), topologies(columns=True))
def test_property_names_survive_every_transform(data, topology):
    """Links between names stay what they were, whatever numbers the hosts get."""
    n = topology.num_nodes
    named = topology.with_labels([f"h{u}" for u in data.draw(st.permutations(range(n)))])

    def by_name(t):
        return Counter((t.labels[u], t.labels[w]) for u, w in pairs(t))

    links = by_name(named)
    turned = named.transpose()
    assert by_name(turned) == Counter({(w, u): k for (u, w), k in links.items()})
    assert by_name(turned.transpose()) == links
    assert by_name(named.relabel(data.draw(st.permutations(range(n))))) == links
    assert named.with_bandwidth([7] * named.num_links).labels == named.labels
    assert named.without_links([0] if named.num_links else []).labels == named.labels
    gone = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    fewer = named.without_nodes(sorted(gone))
    assert fewer.labels == tuple(label for u, label in enumerate(named.labels) if u not in gone)
    names_gone = {named.labels[u] for u in gone}
    assert by_name(fewer) == Counter({link: k for link, k in links.items() if not names_gone & set(link)})
    graph = Topology.from_networkx(named.to_networkx())
    assert (graph.labels, by_name(graph)) == (named.labels, links)
    assert named == topology


def test_hosts_are_named_by_label_or_number():
    named = ring(3).with_labels(["ant", "bee", "cat"])
    assert [named.node_named(text) for text in ("ant", "cat", "1")] == [0, 2, 1]
    assert [named.called(1), named.host(1), ring(3).called(1), ring(3).host(1)] == ["bee", "bee", "node 1", "1"]
    left = complete_bipartite(2).without_nodes([1])
    assert left.labels == ("0", "2", "3")
    assert left.called(1) == "node 2"
    assert left.node_named("2") == 1


@pytest.mark.parametrize(
    ("topology", "text", "message"),
    [
        (ring(3), "3", "no host is called '3': hosts are the numbers 0 to 2"),
        (ring(3), "-1", "no host is called '-1': hosts are the numbers 0 to 2"),
        (ring(3), "9" * 5000, "hosts are the numbers 0 to 2"),
        (ring(3), "٣", "hosts are the numbers 0 to 2"),
        (ring(3).with_labels(["ant", "bee", "cat"]), "bees", "no host is called 'bees': did you mean 'bee'?"),
        (ring(3).with_labels(["ant", "bee", "cat"]), "x", "no host is called 'x': the first is 'ant'"),
        # What is left after a host went down: 1 is gone, and is not the second of those that are left.
        (complete_bipartite(2).without_nodes([1]), "1", "no host is called '1'"),
    ],
)
def test_no_such_host(topology, text, message):
    with pytest.raises(TopologyError) as caught:
        topology.node_named(text)
    assert message in str(caught.value)


# Equality


def test_equality_ignores_the_name_and_nothing_else():
    one = topology_of(3, [(0, 1), (1, 2), (2, 0)], "one")
    two = topology_of(3, [(1, 2), (2, 0), (0, 1)], "two")
    assert one == two
    assert len({one, two}) == 1
    different = [
        topology_of(4, [(0, 1), (1, 2), (2, 0)]),
        topology_of(3, [(0, 1), (1, 2), (2, 1)]),
        topology_of(3, [(0, 1), (1, 2), (2, 0), (2, 0)]),
        topology_of(3, pairs(one), bandwidth=[1, 1, 1]),
        topology_of(3, pairs(one), alpha=[0, 0, 0]),
    ]
    assert all(one != other for other in different)
    assert topology_of(3, pairs(one), alpha=[1, 1, 2]) != topology_of(3, pairs(one), alpha=[1, 1, 1])
    assert one != "one"


def test_repr():
    assert repr(topology_of(3, [(0, 1), (0, 2)], "fork")) == "<Topology 'fork' N=3 d=2 links=2>"
    assert repr(ring(3)) == "<Topology N=3 d=1 links=3>"


# In a notebook


def test_notebooks_show_a_table(monkeypatch):
    import linkstep.pictures.topology as pictures

    monkeypatch.setattr(pictures, "topology_svg", lambda topology: f"<svg>{topology.num_nodes}</svg>", raising=False)
    named = topology_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)], "<b>&").with_labels(["<i>", "b", "c", "d"])
    table, picture = named._repr_html_().split("<img ")
    assert table == (
        "<table><caption>&lt;b&gt;&amp;</caption><tr><th>N</th><td>4</td></tr><tr><th>d</th><td>1</td></tr>"
        "<tr><th>links</th><td>4</td></tr><tr><th>hosts</th><td>&lt;i&gt;, b, c, ...</td></tr></table>"
    )
    assert named._repr_svg_() == "<svg>4</svg>"
    assert base64.b64decode(picture.split(",")[1].removesuffix('">')) == b"<svg>4</svg>"
    assert ring(64)._repr_svg_() == "<svg>64</svg>"
    assert ring(65)._repr_svg_() is None


def test_notebooks_do_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert ring(3)._repr_svg_() is None
    assert ring(3)._repr_html_().endswith("<tr><th>links</th><td>3</td></tr></table>")


def test_notebooks_show_a_schedule():
    schedule = Schedule.from_columns(ring(2), 1, [0, 1], [0, 0], [1, 1], [0, 1], [1, 1])
    assert schedule._repr_html_() == (
        "<table><caption>allgather schedule</caption><tr><th>topology</th><td>unnamed, N=2, d=1</td></tr>"
        "<tr><th>cost</th><td>1 alpha + 1/2 M/B</td></tr><tr><th>chunks a shard</th><td>1</td></tr>"
        "<tr><th>rows</th><td>2</td></tr></table>"
    )


# Distances


@given(link_lists())
def test_distances_against_floyd_warshall(graph):
    n, links = graph
    topology = topology_of(n, links)
    dist = reference.all_distances(n, links)
    for u in range(n):
        assert distances_from(topology, u).tolist() == dist[u]
        assert distances_to(topology, u).tolist() == [row[u] for row in dist]
        assert _distances(topology.out_ptr, topology.head, u).tolist() == dist[u]


@given(topologies())
def test_distances_against_networkx(topology):
    lengths = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    for u in range(topology.num_nodes):
        assert distances_from(topology, u).tolist() == [lengths[u].get(w, -1) for w in range(topology.num_nodes)]


@given(st.data(), link_lists())
def test_distance_profiles(data, graph):
    n, links = graph
    topology = topology_of(n, links)
    targets = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5))
    assert distance_profiles(topology, targets).tolist() == reference.profiles(n, links, targets)
    many = [targets[k % len(targets)] for k in range(data.draw(st.integers(1, 140)))]
    summed = [sum(column) for column in zip(*reference.profiles(n, links, many), strict=True)]
    assert distance_counts(topology, many).tolist() == summed
    assert distance_profiles(topology).tolist() == reference.profiles(n, links, list(range(n)))
    kernel = _distance_profiles(topology.in_ptr, topology.in_tail, np.array(targets))
    assert kernel.tolist() == reference.profiles(n, links, targets)


@pytest.mark.parametrize("size", [2, 8, 9, 10, 17, 40])
def test_distance_profiles_of_long_graphs(size):
    """More levels than the eight the kernel starts with."""
    assert distance_profiles(ring(size)).tolist() == [[1] * size] * size
    path = topology_of(size, [(u, u + 1) for u in range(size - 1)])
    expected = reference.profiles(size, pairs(path), [0, size - 1, 1])
    assert distance_profiles(path, [0, size - 1, 1]).tolist() == expected


def test_distances_refuse():
    topology = ring(3)
    for function, what in ((distances_to, "target"), (distances_from, "source")):
        for node in (-1, 3):
            with pytest.raises(TopologyError, match=rf"^{what} must be a node in \[0, 3\), not {node}$"):
                function(topology, node)
    with pytest.raises(TopologyError, match=r"^target must be a node in \[0, 3\), not 3$"):
        distance_profiles(topology, [0, 3])
    assert distance_profiles(topology, []).shape[0] == 0


@given(link_lists(min_nodes=1, max_nodes=5, max_links=10))
def test_check_connected_names_two_nodes(graph):
    n, links = graph
    topology = topology_of(n, links)
    dist = reference.all_distances(n, links)
    if all(d >= 0 for row in dist for d in row):
        check_connected(topology)
        assert diameter(topology) == max(max(row) for row in dist)
        return
    for function in (check_connected, diameter):
        with pytest.raises(TopologyError) as caught:
            function(topology)
        words = str(caught.value).split()
        u, w = int(words[words.index("from") + 2]), int(words[-1])
        assert str(caught.value) == f"the topology is disconnected: no path from node {u} to node {w}"
        assert dist[u][w] == -1


@given(connected_link_lists(max_nodes=6))
def test_diameter_of_connected_graphs(graph):
    n, links = graph
    assert diameter(topology_of(n, links)) == max(max(row) for row in reference.all_distances(n, links))


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        pytest.param(ring(9), 8, id="table:toposummary-UniRing(1,9)"),
        pytest.param(complete_bipartite(4), 2, id="table:toposummary-K_{4,4}"),
        pytest.param(topology_of(16, reference.hypercube(4)), 4, id="tab:exampledistreg-Q4"),
    ],
)
def test_diameters_of_the_paper(topology, expected):
    assert diameter(topology) == expected

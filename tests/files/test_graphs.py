"""Published graphs: what networkx and other tools write is read back equal; one line for everything that is wrong."""

import io
import sys
import tracemalloc
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep.cli import main
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.extras import missing
from linkstep.core.topology import Topology
from linkstep.files import load, save
from support.strategies import seeds

FORMATS = (".edges", ".gph", ".adj", ".g6", ".s6")
SQUARE = nx.cycle_graph(4)


@st.composite
def regular_graphs(draw):
    """Connected regular graphs, with nodes 0 to N-1 in any order."""
    degree = draw(st.integers(2, 5))
    count = draw(st.integers(degree + 1, 24).filter(lambda n: n * degree % 2 == 0))
    seed = draw(seeds)
    graph = nx.random_regular_graph(degree, count, seed=seed)
    while not nx.is_connected(graph):
        seed += 1
        graph = nx.random_regular_graph(degree, count, seed=seed)
    order = list(range(count))
    Random(seed).shuffle(order)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(order)
    shuffled.add_edges_from(graph.edges)
    return shuffled


def in_order(graph):
    """Return the graph with its nodes in order, which is how graph6 numbers them."""
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph.nodes))
    ordered.add_edges_from(graph.edges)
    return ordered


def edges_of(topology):
    return sorted(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


def links_of(graph):
    return sorted({(u, w) for u, w in graph.edges} | {(w, u) for u, w in graph.edges})


def neighbours(graph, node, base):
    return " ".join(str(other + base) for other in graph[node])


def graph_golf(graph):
    return "".join(f"{u} {w}\n" for u, w in graph.edges)


def by_networkx(graph):
    file = io.BytesIO()
    nx.write_edgelist(graph, file)
    return file.getvalue().decode()


def from_both_ends(graph):
    return "".join(f"{u} {w}\n{w} {u}\n" for u, w in graph.edges)


def from_one(graph):
    return "".join(f"{u + 1}\t{w + 1}\r\n" for u, w in graph.edges)


def dimacs(graph):
    head = f"c a comment\np edge {len(graph)} {graph.number_of_edges()}\n"
    return head + "".join(f"e {u + 1} {w + 1}\n" for u, w in graph.edges)


def with_counts(graph):
    return f"{len(graph)} {graph.number_of_edges()}\n{graph_golf(graph)}"


def house_of_graphs(graph):
    return "".join(f"{u + 1}: {neighbours(graph, u, 1)}\n" for u in sorted(graph))


def showg(graph):
    """As nauty's showg prints a graph, long lists on lines of their own."""
    lists = (f"  {u} : {neighbours(graph, u, 0)};".replace(" ", "\n     ", 3) for u in sorted(graph))
    return f"\nGraph 1, order {len(graph)}.\n" + "\n".join(lists).replace("\n     \n", "\n") + "\n"


def with_commas(graph):
    return "".join(f"{u}: {neighbours(graph, u, 0).replace(' ', ', ')}\n" for u in graph)


def networkx_list(graph):
    file = io.BytesIO()
    nx.write_adjlist(graph, file)
    return file.getvalue().decode()


def nodes_first(graph):
    return "".join(f"{u + 1} {neighbours(graph, u, 1)}\n" for u in sorted(graph))


def neighbours_alone(graph):
    return "".join(f"{neighbours(graph, u, 0)}\n" for u in sorted(graph))


def neighbours_from_one(graph):
    return "".join(f"{neighbours(graph, u, 1)}\n" for u in sorted(graph))


def graph6(graph):
    return nx.to_graph6_bytes(in_order(graph)).decode()


def plain_graph6(graph):
    return nx.to_graph6_bytes(in_order(graph), header=False).decode()


def sparse6(graph):
    return nx.to_sparse6_bytes(in_order(graph)).decode()


def plain_sparse6(graph):
    return nx.to_sparse6_bytes(in_order(graph), header=False).decode()


WRITERS = {
    ".edges": (graph_golf, by_networkx, from_both_ends, from_one),
    ".gph": (dimacs, with_counts),
    ".adj": (house_of_graphs, showg, with_commas, networkx_list, nodes_first, neighbours_alone, neighbours_from_one),
    ".g6": (graph6, plain_graph6, plain_sparse6),
    ".s6": (sparse6, plain_sparse6),
}
CASES = [(suffix, write) for suffix, writers in WRITERS.items() for write in writers]


@given(graph=regular_graphs())
def test_property_what_others_write_is_read_back(tmp_path_factory, graph):
    for suffix, write in CASES:
        path = tmp_path_factory.getbasetemp() / f"{write.__name__}{suffix}"
        path.write_text(write(graph))
        topology = load(path)
        assert edges_of(topology) == links_of(graph), path.name
        assert (topology.num_nodes, topology.labels, topology.name) == (len(graph), None, "")


@given(graph=regular_graphs())
def test_property_what_we_write_is_read_back(tmp_path_factory, graph):
    topology = Topology.from_networkx(in_order(graph))
    paths = {suffix: tmp_path_factory.getbasetemp() / f"ours{suffix}" for suffix in FORMATS}
    for path in paths.values():
        save(topology, path)
        assert load(path) == topology, path.name
    assert links_of(nx.read_edgelist(paths[".edges"], nodetype=int)) == links_of(graph)
    assert links_of(nx.read_graph6(paths[".g6"])) == links_of(nx.read_sparse6(paths[".s6"])) == links_of(graph)


@st.composite
def digraphs(draw):
    """Strongly connected digraphs without loops or parallel links: a ring and more."""
    count = draw(st.integers(3, 12))
    node = st.integers(0, count - 1)
    more = draw(st.lists(st.tuples(node, node).filter(lambda link: link[0] != link[1]), max_size=20))
    links = {(u, (u + 1) % count) for u in range(count)} | set(more)
    return Topology.from_links(count, [u for u, _ in links], [w for _, w in links])


@given(topology=digraphs())
def test_property_digraphs_are_adjacency_lists(tmp_path_factory, topology):
    path = tmp_path_factory.getbasetemp() / "digraph.adj"
    save(topology, path)
    assert load(path) == topology


@pytest.mark.parametrize("text", ["1\n2\n0\n", "2\n3\n1\n", "0: 1\n1: 2\n2: 0\n", "1 2\n2 3\n3 1\n", "0 1\n1 2\n2 0\n"])
def test_directed_rings_as_lists(tmp_path, text):
    (tmp_path / "ring.adj").write_text(text)
    assert edges_of(load(tmp_path / "ring.adj")) == [(0, 1), (1, 2), (2, 0)]


def test_the_example_in_the_definition_of_graph6(tmp_path):
    (tmp_path / "t.g6").write_text("DQc")
    assert edges_of(load(tmp_path / "t.g6")) == links_of(nx.Graph([(0, 2), (0, 4), (1, 3), (3, 4)]))


def test_irregular_graphs_are_taken(tmp_path):
    for suffix in FORMATS:
        path = Topology.from_networkx(nx.path_graph(5))
        save(path, tmp_path / f"path{suffix}")
        assert load(tmp_path / f"path{suffix}") == path


def test_places_on_a_grid(tmp_path):
    (tmp_path / "grid.edges").write_text("1,0 10,1\n0,2 1,0\n10,1 0,2\n")
    topology = load(tmp_path / "grid.edges")
    assert topology.labels == ("0,2", "1,0", "10,1")
    assert topology.num_links == 6
    save(topology, tmp_path / "again.edges")
    assert (tmp_path / "again.edges").read_text() == "0,2 1,0\n0,2 10,1\n1,0 10,1\n"
    for others in (["1,0", "0,2", "10,1"], ["0,2", "1,0", "10,01"], ["0,2", "1,0", "a"], ["0,2", "1,0", "é"]):
        save(topology.with_labels(others), tmp_path / "again.edges")
        assert load(tmp_path / "again.edges") == topology and load(tmp_path / "again.edges").labels is None


def test_what_files_look_like(tmp_path):
    square = Topology.from_networkx(SQUARE).with_labels(["ant", "bee", "cat", "dog"])
    for suffix in FORMATS:
        save(square, tmp_path / f"square{suffix}")
        assert load(tmp_path / f"square{suffix}").labels is None
    assert [(tmp_path / f"square{suffix}").read_text() for suffix in FORMATS] == [
        "0 1\n0 3\n1 2\n2 3\n",
        "p edge 4 4\ne 1 2\ne 1 4\ne 2 3\ne 3 4\n",
        "0: 1 3\n1: 0 2\n2: 1 3\n3: 0 2\n",
        ">>graph6<<Cl\n",
        ">>sparse6<<:Cda\n",
    ]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("topology", "match"),
    [
        (Topology.from_links(2, [0, 1, 1], [1, 0, 1]), "cannot hold a topology with self-loops"),
        (Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0]), "cannot hold a topology with parallel links"),
        (Topology.from_links(2, [0, 1], [1, 0], alpha=[1, 1]), "with links with bandwidths or latencies"),
        (Topology.from_links(2, [], []), "cannot hold a topology with no links"),
        (Topology.from_links(4, [0, 1, 2, 3], [1, 0, 3, 2]), "the topology is disconnected"),
        (Topology.from_links(3, [0, 1, 2], [1, 2, 0]), "cannot hold a topology with links that go one way"),
    ],
)
def test_what_such_files_cannot_hold(tmp_path, suffix, topology, match):
    path = tmp_path / f"t{suffix}"
    if suffix == ".adj" and "one way" in match:
        save(topology, path)
        assert load(path) == topology
        return
    with pytest.raises(LinkstepError, match=match):
        save(topology, path)
    assert not path.exists()


HOSTILE = [
    (".edges", b"", ": has no edges"),
    (".edges", b"# nothing\n\n", ": has no edges"),
    (".edges", b"0 1\n1 2 3\n", ":2: an edge is written as two nodes, a b, not '1 2 3'"),
    (".edges", b"0 1\n1\n", ":2: an edge is written as two nodes, a b, not '1'"),
    (".edges", b"0 1\n1 two\n", ":2: a node is a whole number of at most 9 digits, not 'two'"),
    (".edges", b"0 1\n1 -2\n", ":2: a node is a whole number of at most 9 digits, not '-2'"),
    (".edges", b"0 1\n1 1\n", ":2: joins a node to itself"),
    (".edges", b"0 1\n1 2\n2 0\n1 2\n", ":4: repeats the edge of line 2"),
    (".edges", b"0 1\n1 2\n2 0\n2 1\n", ":4: repeats the edge of line 2"),
    (".edges", b"0 1\n2 3\n", ": the topology is disconnected: no path from node 0 to node 2"),
    (".edges", b"0 1\n1 3\n", ":2: names node 3, but the 3 nodes that are named must have the numbers 0 to 2 or 1"),
    (".edges", b"0 999999999\n", ":1: names node 999999999, but the 2 nodes"),
    (".edges", b"0 9999999999\n", ":1: a node is a whole number of at most 9 digits, not '9999999999'"),
    (".edges", b"0 1\n1 2\xff\n", ":2: is not plain ASCII text: byte 0xff"),
    (".edges", "0 1\n1 ٣\n".encode(), ":2: is not plain ASCII text"),
    (".edges", b"0,0 0,1\n0,1 2\n", ":2: a node is written x,y as on the first line, not '2'"),
    (".edges", b"0 1\n0,1 2\n", ":2: a node is a whole number of at most 9 digits, not '0,1'"),
    (".edges", b"0,0 0,1,2\n", ":1: a node is written x,y as on the first line, not '0,1,2'"),
    (".edges", b"0 1\n\x1b[31m1 2\n", r":2: a node is a whole number of at most 9 digits, not '\\x1b\[31m1'"),
    (".gph", b"", ":1: the first line must be p edge N M, not ''"),
    (".gph", b"c only a comment\n", ":1: the first line must be p edge N M"),
    (".gph", b"e 1 2\n", ":1: the first line must be p edge N M, not 'e 1 2'"),
    (".gph", b"p edge x 2\n", ":1: N is a whole number"),
    (".gph", b"c\np edge 3 3\ne 1 2\ne 2 3\n", ":2: says 3 edges, but there are 2: is the file whole?"),
    (".gph", b"p edge 3 2\ne 1 2\ne 2 3\ne 3 1\n", ":1: says 2 edges, but there are 3"),
    (".gph", b"p edge 999999999 5\ne 1 2\n", ":1: 5 edges do not connect 999999999 nodes"),
    (".gph", b"p edge 999999999 999999999\ne 1 2\n", ":1: says 999999999 edges, but there are 1"),
    (".gph", b"p edge 3 3\ne 1 2\ne 2 4\ne 4 1\n", ":3: names node 4, but the 3 nodes"),
    (".gph", b"p edge 2 2\ne 1 2\ne 2 3\n", ":1: says 2 nodes, but 3 have edges"),
    (".gph", b"p edge 2 1\ne 1 2 3\n", ":2: an edge is written e a b, not 'e 1 2 3'"),
    (".gph", b"p edge 2 1\ne 1 1\n", ":2: joins a node to itself"),
    (".adj", b"", ": has no edges"),
    (".adj", b"1:\n", ": has no edges"),
    (".adj", b"0: 1\n1: 0\n0: 1\n", ":3: lists the node of line 1 again"),
    (".adj", b"0: 1 1\n1: 0\n", ":1: repeats the edge of line 1"),
    (".adj", b"0: 1\n1 0\n", ":2: is written without a colon, unlike the first"),
    (".adj", b"0 1: 2\n", ":1: a node is a whole number of at most 9 digits, not '0 1'"),
    (".adj", b"0: 1\n1: 0\n2:\n", ": the topology is disconnected"),
    (".adj", b"0: 1\n1: 0 999999999\n", ":2: names node 999999999"),
    (".adj", b"0: 0 1\n1: 0\n", ":1: joins a node to itself"),
    (".adj", b"2 0\n0 1\n1 2\n", ":1: joins a node to itself"),
    (".adj", b"0: 1;\n1: 0\n", ":2: has no semicolon at its end, as others have"),
    (".adj", b"0: 1;\n;\n1: 0;\n", ":2: is written without a colon, unlike the first"),
    (".adj", b"1\n,\n0\n", ":2: lists no node"),
    (".adj", b"Graph 1, order 2.\n0 : 1;\n1 : 0;\nGraph 2, order 2.\n0 : 1;\n", ":4: starts a second graph"),
    (".adj", b"Graph 1, order 2.\n", ": has no edges"),
    (".g6", b"", ": has no graph"),
    (".g6", b"\n\n", ": has no graph"),
    (".g6", b">>graph6<<\n", ":1: ends within the number of nodes"),
    (".g6", b"?\n", ":1: a graph of 0 nodes has no edges"),
    (".g6", b"@\n", ":1: a graph of 1 nodes has no edges"),
    (".g6", b"Cl\nCl\n", ":2: there are 2 graphs, but a file must hold one"),
    (".g6", b"Cll\n", ":1: 4 nodes take 1 characters of graph6, not 2"),
    (".g6", b"I\n", ":1: 10 nodes take 8 characters of graph6, not 0: is the file whole?"),
    (".g6", b"C l\n", ":1: ' ' is not a character of graph6"),
    (".g6", b"C\x7f\n", r":1: '\\x7f' is not a character of graph6"),
    (".g6", b"C`\n", ": the topology is disconnected"),
    (".g6", b"~~~~~~~~l\n", ":1: 68719476735 nodes take 393530540221957231958 characters of graph6, not 1"),
    (".g6", b"~~\n", ":1: ends within the number of nodes"),
    (".g6", b"&C?\n", ":1: is digraph6, which is not read"),
    (".s6", b":~~~~~~~~l\n", ":1: 1 characters of sparse6 cannot connect 68719476735 nodes"),
    (".s6", b":\n", ":1: ends within the number of nodes"),
    (".s6", b";A_\n", ":1: is incremental sparse6, which is not read"),
    (".s6", b":A_\n", ":1: the graph has parallel edges"),
    (".s6", b"\xff", ":1: is not plain ASCII text"),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "data", "match"), HOSTILE)
def test_hostile_files_are_one_line(tmp_path, suffix, data, match):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=f"t{suffix}({match})") as caught:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(str(path)) and str(caught.value).isprintable()


@settings(max_examples=80)
@given(data=st.data())
def test_property_damage_is_a_file_error_or_harmless(tmp_path_factory, data):
    suffix, write = data.draw(st.sampled_from(CASES))
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    raw = bytearray(write(SQUARE).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    try:
        topology = load(path)
    except FileError as error:
        assert str(error).isprintable()
    else:
        assert not topology.num_self_loops and not topology.num_parallel


@pytest.mark.parametrize(("suffix", "most"), [(".edges", 2**26), (".g6", 2**24)])
def test_large_files_are_refused(tmp_path, suffix, most):
    path = tmp_path / f"t{suffix}"
    with path.open("wb") as file:
        file.truncate(most + 1)  # takes no room on the disk
    with pytest.raises(FileError, match=f"is larger than the {most} bytes that linkstep reads"):
        load(path)


def test_graphs_of_too_many_edges_are_refused(tmp_path):
    count = 1600
    bits = np.ones((count * (count - 1) // 2 + 5) // 6 * 6, np.uint8).reshape(-1, 6)
    dense = (
        b"~" + bytes([63, 63 + (count >> 6), 63 + count % 64]) + bytes((63 + np.packbits(bits, 1)[:, 0] // 4).tolist())
    )
    (tmp_path / "t.g6").write_bytes(dense)
    with pytest.raises(FileError, match=r"t.g6:1: has \d+ edges, more than the 1048576 that are read"):
        load(tmp_path / "t.g6")
    (tmp_path / "t.s6").write_bytes(b":A" + b"?" * 500_000)
    with pytest.raises(FileError, match=r"t.s6:1: has \d+ edges, more than the 1048576 that are read"):
        load(tmp_path / "t.s6")


@pytest.mark.parametrize("suffix", [".g6", ".s6"])
def test_without_networkx(tmp_path, capsys, monkeypatch, suffix):
    path = tmp_path / f"square{suffix}"
    save(Topology.from_networkx(SQUARE), path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert main(["convert", str(path), "t.csv"]) == 2
    needs = f"{missing('reading and writing graph6 and sparse6', 'networkx', 'graphs')}\n"
    assert capsys.readouterr().err == f"linkstep: {path}: {needs}"
    assert main(["convert", "K_4", str(path)]) == 2
    assert capsys.readouterr().err.endswith(needs)


def test_commands_take_such_files(tmp_path, capsys):
    path, other = str(tmp_path / "square.edges"), str(tmp_path / "square.s6")
    assert main(["convert", "UniRing(1,4)", path]) == 2
    assert "an edge list cannot hold a topology with links that go one way: save it as .csv" in capsys.readouterr().err
    assert main(["convert", "BiRing(2,4)", path]) == 0
    assert main(["convert", path, other]) == 0
    for argv in (["show", other], ["schedule", path], ["wire", other], ["schedule", path, "--cut", "0,1"]):
        assert main(argv) == 0
    assert "bandwidth-optimal" in capsys.readouterr().out
    (tmp_path / "bad.gph").write_text("p edge 2 1\ne 1 2\ne 1 3\n")
    assert main(["schedule", str(tmp_path / "bad.gph")]) == 2
    error = capsys.readouterr().err
    assert error == f"linkstep: {tmp_path}/bad.gph:1: says 1 edges, but there are 2: is the file whole?\n"

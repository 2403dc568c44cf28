"""graph6 and sparse6, the formats of nauty and of most collections of graphs: one line of printable characters.

networkx decodes and encodes them. Here is what it does not do: find out whether a file is whole, and how much memory
its graph takes, before any is taken. digraph6 and incremental sparse6, which networkx does not read, are refused.
"""

from __future__ import annotations

from typing import Any, BinaryIO

from linkstep.core.distances import check_connected
from linkstep.core.errors import FileError
from linkstep.core.extras import missing
from linkstep.core.topology import Topology
from linkstep.files.graphs import check_plain, edge_list, read_bytes

MAX_BYTES = 2**24
"""The most that is read of a file: graph6 takes N^2 / 12 bytes, so N = 14188."""
MAX_EDGES = 2**20
"""networkx takes some 400 bytes for an edge."""

_HEADERS = (b">>graph6<<", b">>sparse6<<")
_REFUSED = {
    b">>digraph6<<": "digraph6",
    b"&": "digraph6",
    b">>planar_code": "planar code",
    b";": "incremental sparse6",
}


def _networkx() -> Any:
    try:
        import networkx  # here: a quarter of a second, and an extra
    except ImportError:
        raise FileError(missing("reading and writing graph6 and sparse6", "networkx", "graphs")) from None
    return networkx


def read_graph6(file: BinaryIO) -> Topology:
    """Read the one graph of a graph6 or sparse6 file, with or without its header."""
    networkx = _networkx()
    line, text = _one_graph(read_bytes(file, MAX_BYTES))
    is_sparse = text.startswith(b":")
    digits = text.removeprefix(b":")
    odd = next((byte for byte in digits if not 63 <= byte <= 126), None)
    if odd is not None:
        raise FileError(f"line {line}: {chr(odd)!r} is not a character of graph6 or sparse6")
    count, size = _count(digits, line)
    (_check_sparse if is_sparse else _check_dense)(count, digits[size:], line)
    graph = networkx.from_sparse6_bytes(text) if is_sparse else networkx.from_graph6_bytes(text)
    topology = Topology.from_networkx(graph)
    if topology.num_self_loops or topology.num_parallel:
        what = "joins a node to itself" if topology.num_self_loops else "has parallel edges"
        raise FileError(f"line {line}: the graph {what}")
    check_connected(topology)
    return topology


def _one_graph(data: bytes) -> tuple[int, bytes]:
    """Return the only line that holds a graph, without its header, and its number."""
    lines = [(number, line.strip()) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise FileError("has no graph")
    if len(lines) > 1:
        raise FileError(
            f"line {lines[1][0]}: there are {len(lines)} graphs, but a file must hold one "
            "(`sed -n 2p` takes the second)"
        )
    number, text = lines[0]
    for start, name in _REFUSED.items():
        if text.startswith(start):
            raise FileError(f"line {number}: is {name}, which is not read: write graph6, sparse6 or an adjacency list")
    for header in _HEADERS:
        text = text.removeprefix(header)
    return number, text


def _count(digits: bytes, line: int) -> tuple[int, int]:
    """Return N, which comes first, and how many characters it takes: 1, 4 or 8."""
    size = 1 if digits[:1] != b"~" else 4 if digits[1:2] != b"~" else 8
    if len(digits) < size:
        raise FileError(f"line {line}: ends within the number of nodes: is the file whole?")
    count = 0
    for digit in digits[size // 4 : size]:
        count = 64 * count + digit - 63
    if count < 2:
        raise FileError(f"line {line}: a graph of {count} nodes has no edges")
    return count, size


def _check_dense(count: int, digits: bytes, line: int) -> None:
    """Refuse a graph6 line that does not have as many bits as N nodes have pairs, or too many that are set."""
    needed = (count * (count - 1) // 2 + 5) // 6
    if len(digits) != needed:
        raise FileError(
            f"line {line}: {count} nodes take {needed} characters of graph6, not {len(digits)}: is the file whole?"
        )
    _check_edges(sum((byte - 63).bit_count() * digits.count(byte) for byte in range(63, 127)), line)


def _check_sparse(count: int, digits: bytes, line: int) -> None:
    """Refuse a sparse6 line that has fewer or far more bits than a connected graph of N nodes."""
    most = 6 * len(digits) // (1 + (count - 1).bit_length())
    if most < count - 1:
        raise FileError(
            f"line {line}: {len(digits)} characters of sparse6 cannot connect {count} nodes: is the file whole?"
        )
    _check_edges(most, line)


def _check_edges(edges: int, line: int) -> None:
    if edges > MAX_EDGES:
        raise FileError(f"line {line}: has {edges} edges, more than the {MAX_EDGES} that are read: write it as .edges")


def write_graph6(topology: Topology, file: BinaryIO) -> None:
    """Write the graph as graph6, with the header."""
    file.write(_networkx().to_graph6_bytes(_graph(topology, "graph6")))


def write_sparse6(topology: Topology, file: BinaryIO) -> None:
    """Write the graph as sparse6, with the header."""
    file.write(_networkx().to_sparse6_bytes(_graph(topology, "sparse6")))


def _graph(topology: Topology, form: str) -> Any:
    check_plain(topology, form)
    graph = _networkx().Graph()
    graph.add_nodes_from(range(topology.num_nodes))
    graph.add_edges_from(edge_list(topology))
    return graph

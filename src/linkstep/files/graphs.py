"""Published graphs as edge lists: ``.edges`` and ``.gph`` of the order/degree problem; what all such formats share.

Topologies only, and only what such a graph can be: connected, without self-loops or parallel edges, with nodes that
have numbers (or places on a grid) and no names. Whatever else a file holds is refused with its line. Not here:
adjacency lists, nor graph6 and sparse6, which a library reads. The formats are described in
docs/concepts/data-model.md.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from linkstep.core.distances import check_connected
from linkstep.core.errors import FileError
from linkstep.core.topology import Ints, Topology

MAX_BYTES = 2**26
"""The most that is read of a file: some five million edges."""

_MAX_DIGITS = 9
_GRID = re.compile(rb"([0-9]{1,9}),([0-9]{1,9})")
_WIDE = 2**30  # more than any coordinate, so that x * _WIDE + y sorts by (x, y)


@dataclass
class _Pairs:
    """Pairs of nodes as a file names them, and the line of each."""

    tail: array[int] = field(default_factory=lambda: array("q"))
    head: array[int] = field(default_factory=lambda: array("q"))
    line: array[int] = field(default_factory=lambda: array("q"))

    def add(self, tail: int, head: int, line: int) -> None:
        self.tail.append(tail)
        self.head.append(head)
        self.line.append(line)


@dataclass(frozen=True)
class Edges:
    """Edges, or links of a digraph, between nodes 0 to count - 1; ``line`` is where the file has them."""

    tail: Ints
    head: Ints
    line: Ints
    count: int
    labels: list[str] | None = None

    @property
    def keys(self) -> Ints:
        """A number for each, the same for the same ends."""
        return self.tail * self.count + self.head

    @property
    def transposed(self) -> Edges:
        """The same the other way round."""
        return replace(self, tail=self.head, head=self.tail)

    @property
    def has_partner(self) -> NDArray[np.bool_]:
        """For each whether it is there the other way round too."""
        found: NDArray[np.bool_] = np.isin(self.keys, self.transposed.keys)
        return found

    def check(self) -> None:
        """Refuse what joins a node to itself and what is there twice, by the line."""
        if not self.tail.size:
            raise FileError("has no edges")
        loops = np.flatnonzero(self.tail == self.head)
        if loops.size:
            raise FileError(f"line {self.line[loops[0]]}: joins a node to itself")
        order = np.argsort(self.keys, kind="stable")
        again = np.flatnonzero(np.diff(self.keys[order]) == 0)
        if again.size:
            at = again[np.argmin(order[again + 1])]
            raise FileError(f"line {self.line[order[at + 1]]}: repeats the edge of line {self.line[order[at]]}")

    def as_links(self) -> Topology:
        """Return the topology with these links; it must be connected."""
        topology = Topology.from_links(self.count, self.tail, self.head, labels=self.labels)
        check_connected(topology)
        return topology

    def as_duplex_links(self) -> Topology:
        """Return the topology with a duplex link for each of these edges."""
        ends = (self.tail, self.head)
        return replace(self, tail=np.concatenate(ends), head=np.concatenate(ends[::-1])).as_links()


def read_bytes(file: BinaryIO, most: int = MAX_BYTES) -> bytes:
    """Return what a file holds, if that is plain ASCII and not too much."""
    parts: list[bytes] = []
    size = 0
    while part := file.read(2**18):  # to ask for all at once would take as much memory, however little there is
        parts.append(part)
        size += len(part)
        if size > most:
            raise FileError(f"is larger than the {most} bytes that linkstep reads of a graph in this format")
    data = b"".join(parts).removeprefix(b"\xef\xbb\xbf")
    if not data.isascii():
        at = next(i for i, byte in enumerate(data) if byte > 127)
        line = 1 + data.count(b"\n", 0, at)
        raise FileError(f"line {line}: is not plain ASCII text: byte {data[at]:#x}")
    return data


def text_lines(data: bytes, comment: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, text) of every line that is neither blank nor a comment."""
    for number, line in enumerate(io.BytesIO(data), 1):
        text = line.strip()
        if text and not text.startswith(comment):
            yield number, text


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii"))


def whole_number(text: bytes, line: int, what: str = "a node") -> int:
    """Return the number that a word of a line is."""
    if not text.isdigit() or len(text) > _MAX_DIGITS:
        raise FileError(f"line {line}: {what} is a whole number of at most {_MAX_DIGITS} digits, not {_shown(text)}")
    return int(text)


def _place(text: bytes, line: int) -> int:
    """Return a node of a grid, x,y, as one number."""
    match = _GRID.fullmatch(text)
    if match is None:
        raise FileError(f"line {line}: a node is written x,y as on the first line, not {_shown(text)}")
    return int(match[1]) * _WIDE + int(match[2])


def _place_names(places: Iterable[int]) -> list[str]:
    return [f"{place // _WIDE},{place % _WIDE}" for place in places]


def numbering(nodes: Ints, line: Ints) -> tuple[int, int]:
    """Return the least number of a node, 0 or 1, and how many nodes there are; ``line`` says where each is named."""
    used = np.unique(nodes)
    first, last, count = int(used[0]), int(used[-1]), used.size
    if first > 1 or last != first + count - 1:
        rule = f"the {count} nodes that are named must have the numbers 0 to {count - 1} or 1 to {count}"
        raise FileError(f"line {line[nodes == last].min()}: names node {last}, but {rule}")
    return first, count


def _numbered(pairs: _Pairs) -> Edges:
    """Return edges between nodes that count from 0, where the file's do so from 0 or from 1."""
    tail, head, line = (np.array(column, np.int64) for column in (pairs.tail, pairs.head, pairs.line))
    first, count = numbering(np.concatenate((tail, head)), np.concatenate((line, line)))
    return Edges(tail - first, head - first, line, count)


def _undirected(edges: Edges) -> Topology:
    """Return the topology of an edge list: each edge once or, as some tools write them, once in each direction."""
    edges.check()
    twice = edges.has_partner
    if twice.all():
        return edges.as_links()
    if twice.any():
        first = int(np.flatnonzero(twice)[0])
        second = int(np.flatnonzero(edges.keys == edges.transposed.keys[first])[0])
        raise FileError(f"line {edges.line[second]}: repeats the edge of line {edges.line[first]}")
    return edges.as_duplex_links()


# --- .edges ---


def read_edges(file: BinaryIO) -> Topology:
    """Read an edge list of Graph Golf: ``a b`` a line; nodes are numbers or, on a grid, places ``x,y``."""
    pairs, is_grid = _Pairs(), None
    for number, text in text_lines(read_bytes(file), b"#"):
        fields = text.removesuffix(b"{}").split()  # networkx writes {} where an edge has no data
        if len(fields) != 2:
            raise FileError(f"line {number}: an edge is written as two nodes, a b, not {_shown(text)}")
        if is_grid is None:
            is_grid = b"," in fields[0]
        tail, head = (_place(end, number) if is_grid else whole_number(end, number) for end in fields)
        pairs.add(tail, head, number)
    if is_grid is None:
        raise FileError("has no edges: an edge is a line with two nodes, a b")
    return _undirected(_on_grid(pairs) if is_grid else _numbered(pairs))


def _on_grid(pairs: _Pairs) -> Edges:
    """Return edges between places, numbered by x and then by y, which are their labels."""
    ends = np.concatenate([np.array(column, np.int64) for column in (pairs.tail, pairs.head)])
    places, numbers = np.unique(ends, return_inverse=True)
    labels = _place_names(places.tolist())
    tail, head = np.split(numbers.astype(np.int64), 2)
    return Edges(tail, head, np.array(pairs.line, np.int64), places.size, labels)


# --- .gph ---


def read_gph(file: BinaryIO) -> Topology:
    """Read an edge list with a header: ``p edge N M`` and M lines ``e a b``, or the numbers without the letters."""
    lines = text_lines(read_bytes(file), b"c")
    start, text = next(lines, (1, b""))
    fields = text.split()
    fields = fields[2:] if fields[:1] == [b"p"] else fields
    if len(fields) != 2:
        raise FileError(f"line {start}: the first line must be p edge N M, not {_shown(text)}")
    count, size = (whole_number(field, start, what) for field, what in zip(fields, ("N", "M"), strict=True))
    if size < max(count - 1, 1):
        raise FileError(f"line {start}: {size} edges do not connect {count} nodes")
    pairs = _Pairs()
    for number, text in lines:
        fields = text.split()
        fields = fields[1:] if fields[0] == b"e" else fields
        if len(fields) != 2:
            raise FileError(f"line {number}: an edge is written e a b, not {_shown(text)}")
        pairs.add(whole_number(fields[0], number), whole_number(fields[1], number), number)
    if len(pairs.line) != size:
        raise FileError(f"line {start}: says {size} edges, but there are {len(pairs.line)}: is the file whole?")
    topology = _undirected(_numbered(pairs))
    if topology.num_nodes != count:
        raise FileError(f"line {start}: says {count} nodes, but {topology.num_nodes} have edges")
    return topology


# --- writing ---


def check_plain(topology: Topology, form: str, *, directed: bool = False) -> None:
    """Refuse a topology that a file of this form would not give back; names of hosts do not count."""
    reasons = (
        (topology.num_self_loops > 0, "self-loops"),
        (topology.num_parallel > 0, "parallel links"),
        (topology.bandwidth is not None or topology.alpha is not None, "links with bandwidths or latencies"),
        (topology.has_lifetimes, "links that open later or close"),
        (not directed and not topology.is_bidirectional, "links that go one way"),
        (not topology.num_links, "no links"),
    )
    for holds, what in reasons:
        if holds:
            raise FileError(f"{form} cannot hold a topology with {what}: save it as .csv, .graphml, .json or .npz")
    check_connected(topology)


def edge_list(topology: Topology) -> list[tuple[int, int]]:
    """Return each edge of a plain undirected topology once, its lesser node first."""
    once = topology.tail < topology.head
    return list(zip(topology.tail[once].tolist(), topology.head[once].tolist(), strict=True))


def write_edges(topology: Topology, file: BinaryIO) -> None:
    """Write an edge list: nodes count from 0, or are their places where labels are places on a grid, in order."""
    check_plain(topology, "an edge list")
    names = topology.labels or ()
    if not _are_places(names):
        names = tuple(map(str, range(topology.num_nodes)))
    file.writelines(f"{names[u]} {names[w]}\n".encode() for u, w in edge_list(topology))


def _are_places(labels: Sequence[str]) -> bool:
    """Whether labels are what reading an edge list would make of the places that they name."""
    if not labels or not all(_GRID.fullmatch(label.encode()) for label in labels):
        return False
    places = [_place(label.encode(), 0) for label in labels]
    return places == sorted(places) and list(labels) == _place_names(places)


def write_gph(topology: Topology, file: BinaryIO) -> None:
    """Write an edge list with a header; nodes count from 1."""
    check_plain(topology, "an edge list")
    file.write(f"p edge {topology.num_nodes} {topology.num_links // 2}\n".encode())
    file.writelines(f"e {u + 1} {w + 1}\n".encode() for u, w in edge_list(topology))

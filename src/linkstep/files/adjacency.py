"""Adjacency lists (``.adj``), as collections of graphs and tables of degree/diameter graphs publish them.

A line for each node with its neighbours, in the ways that House of Graphs, nauty and networkx write it. Graphs and
digraphs; the rules for what a graph may be are those of edge lists (``linkstep.files.graphs``).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from linkstep.core.errors import FileError
from linkstep.core.topology import Ints, Topology
from linkstep.files.graphs import Edges, check_plain, numbering, read_bytes, text_lines, whole_number

_HEADING = re.compile(rb"Graph +[0-9]+, +order +[0-9]+\.?")  # before each graph that nauty's showg prints


@dataclass
class _Rows:
    """Rows of numbers, of different lengths, and the line where each starts."""

    flat: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    line: array[int] = field(default_factory=lambda: array("q"))

    def add(self, numbers: list[int], line: int) -> None:
        self.flat.extend(numbers)
        self.sizes.append(len(numbers))
        self.line.append(line)


@dataclass(frozen=True)
class _Lists:
    """The neighbours of ``nodes[0]``, then those of ``nodes[1]``, ...; ``sizes`` says how many each has."""

    nodes: Ints
    sizes: Ints
    heads: Ints
    line: Ints

    def to_topology(self) -> Topology:
        """Return the graph, or the digraph, that the lists are of."""
        repeated = np.sort(self.nodes)
        repeated = repeated[1:][np.diff(repeated) == 0]
        if repeated.size:
            first, second = np.flatnonzero(self.nodes == repeated[0])[:2]
            raise FileError(f"line {self.line[second]}: lists the node of line {self.line[first]} again")
        line = np.repeat(self.line, self.sizes)
        first, count = numbering(np.concatenate((self.nodes, self.heads)), np.concatenate((self.line, line)))
        edges = Edges(np.repeat(self.nodes, self.sizes) - first, self.heads - first, line, count)
        edges.check()
        place = np.full(count, self.nodes.size)
        place[self.nodes - first] = np.arange(self.nodes.size)
        once = (place[edges.head] > place[edges.tail]).all()
        return edges.as_duplex_links() if once else edges.as_links()


def read_adjacency(file: BinaryIO) -> Topology:
    """Read an adjacency list: a line for each node, ``node: neighbours`` or ``node neighbours`` or neighbours alone.

    Links lead from a node to its neighbours; if all have partners the other way, that is an undirected graph. Where
    every neighbour has a later line than its node, edges are listed once and are duplex: such a digraph has no cycle.
    """
    rows, has_colons = _Rows(), None
    for number, text in _adjacency_rows(read_bytes(file)):
        node, colon, rest = text.rpartition(b":")
        if has_colons is None:
            has_colons = bool(colon)
        if has_colons != bool(colon):
            raise FileError(f"line {number}: is written {'with' if colon else 'without'} a colon, unlike the first")
        fields = [node.strip()] * bool(colon) + rest.replace(b",", b" ").split()
        if not fields:
            raise FileError(f"line {number}: lists no node")
        rows.add([whole_number(end, number) for end in fields], number)
    if has_colons is None:
        raise FileError("has no edges: an adjacency list has lines such as 1: 2 5 7")
    return _lists(rows, has_colons).to_topology()


def _adjacency_rows(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (line, text) of every node's list; where lists end with a semicolon, they may go on over several lines."""
    has_ends = b";" in data
    parts: list[bytes] = []
    start = graphs = 0
    for number, text in text_lines(data, b"#"):
        if _HEADING.fullmatch(text):
            graphs += 1
            if graphs > 1:
                raise FileError(f"line {number}: starts a second graph, but a file must hold one")
            continue
        start = start if parts else number
        parts.append(text.removesuffix(b";"))
        if text.endswith(b";") or not has_ends:
            yield start, b" ".join(parts)
            parts = []
    if parts:
        raise FileError(f"line {start}: has no semicolon at its end, as others have: is the file whole?")


def _lists(rows: _Rows, has_colons: bool) -> _Lists:
    """Tell the nodes from their neighbours."""
    flat, sizes, line = (np.array(column, np.int64) for column in (rows.flat, rows.sizes, rows.line))
    starts = np.cumsum(sizes) - sizes
    if has_colons or _start_with_nodes(flat, sizes, starts):
        return _Lists(flat[starts], sizes - 1, np.delete(flat, starts), line)
    return _Lists(np.arange(sizes.size) + min(int(flat.min()), 1), sizes, flat, line)


def _start_with_nodes(flat: Ints, sizes: Ints, starts: Ints) -> bool:
    """Whether rows without colons start with their nodes: in order, or in any order that has all neighbours later.

    (networkx writes the latter. In rows of neighbours alone, the last one's neighbours have earlier rows.)
    """
    nodes, rows = flat[starts], np.arange(starts.size)
    if flat.size == nodes.size:
        return False
    if nodes[0] <= 1 and (nodes == nodes[0] + rows).all():
        return True
    used, which = np.unique(flat, return_inverse=True)
    if not used.size == np.unique(nodes).size == nodes.size:
        return False
    place = np.zeros(used.size, np.int64)
    place[which[starts]] = rows
    return bool((place[which] >= np.repeat(rows, sizes)).all())


def write_adjacency(topology: Topology, file: BinaryIO) -> None:
    """Write ``node: neighbours`` a line; nodes count from 0."""
    check_plain(topology, "an adjacency list", directed=True)
    for node, heads in enumerate(np.split(topology.head, topology.out_ptr[1:-1])):
        file.write(f"{node}: {' '.join(map(str, heads.tolist()))}\n".encode())

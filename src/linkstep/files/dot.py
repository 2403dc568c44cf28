"""DOT, the language of Graphviz, as people and tools write wirings in it: ``"h1":"p1" -- "h2":"p2"``. Topologies only.

Understood is all of the language that says what is joined to what: graphs and digraphs, ports, chains of edges, groups
in braces, subgraphs, attributes, comments. Ports stand after a colon, in ``taillabel`` and ``headlabel``, or, as MLX
prints them, in labels ``en3/en5``. Not here: how a graph looks, nor defaults for attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from linkstep.core.columns import LINK_COLUMNS
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.files.cables import DUPLEX, SIMPLEX, CableLines, ListedCable, ReadWiring, cables_of
from linkstep.files.own import check_name
from linkstep.files.tables import decoded, read_limited, whole_number

_MOST_DEEP = 100
"""Of braces in braces."""
_MOST_BYTES = 2**25
_MOST_EDGES = 2**20
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*")
    |(?P<edge>--|->)
    |(?P<name>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
    |(?P<mark>[{}\[\];,=:+])
    |(?P<html><)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r'\\(["\\])')
_NAMES = ("name", "text")
_SPANNING = ("space", "quoted", "html")
"""Kinds of tokens that may go over several lines."""
_COMPASS = {"n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"}
_PORT_PAIR = re.compile(r"([^/\s]+)/([^/\s]+)")
_LOOKS = {"label", "xlabel", "color", "style", "weight", "len", "dir", "taillabel", "headlabel", "kind", "penwidth"}


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class _Edge(NamedTuple):
    """An edge of the text: nodes by id, ports where they are named."""

    tail: tuple[str, str]
    head: tuple[str, str]
    both_ways: bool
    line: int
    attributes: dict[str, str]


def _tokens(text: str) -> Iterator[_Token]:
    """Yield what the text has besides blanks and comments; "name" is a bare name, "text" one in quotes."""
    at, line, end_of_name = 0, 1, -1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FileError(f"line {line}: is not DOT: {text[at : at + 20]!r}")
        kind, end = str(match.lastgroup), match.end()
        if kind == "html":
            end = _html_end(text, at, line)
            yield _Token("text", text[at:end], line)
        elif kind == "quoted":
            yield _Token("text", _ESCAPE.sub(r"\1", match[0][1:-1].replace("\\\n", "")), line)
        elif kind != "space":
            if kind == "name" and end_of_name == at:
                raise FileError(f'line {line}: a name such as "host-1" or "10.0.0.1" must be in quotes')
            yield _Token(kind, match[0], line)
            end_of_name = end if kind == "name" else -1
        if kind in _SPANNING:
            line += text.count("\n", at, end)
        at = end
    yield _Token("end", "", line)


def _html_end(text: str, at: int, line: int) -> int:
    """Return where a name in angle brackets ends."""
    depth = 0
    for match in re.compile("[<>]").finditer(text, at):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    raise FileError(f"line {line}: a name in < > has no end: is the file whole?")


@dataclass
class _Parser:
    """Reads the tokens one after the other; nodes in order of appearance, edges as they come."""

    text: str
    directed: bool = False
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._source = _tokens(self.text)
        self._now = next(self._source)

    def _take(self) -> _Token:
        token = self._now
        if token.kind != "end":
            self._now = next(self._source)
        return token

    def _has(self, text: str) -> bool:
        """Whether a mark or an edge comes next, which is then taken."""
        found = self._now.kind in ("mark", "edge") and self._now.text == text
        if found:
            self._take()
        return found

    def _wrong(self, wanted: str) -> FileError:
        found = repr(self._now.text[:30]) if self._now.kind != "end" else "the end: is the file whole?"
        return FileError(f"line {self._now.line}: wants {wanted}, and there is {found}")

    def _name(self, wanted: str = "a name") -> str:
        if self._now.kind not in _NAMES:
            raise self._wrong(wanted)
        parts = [self._take().text]
        while self._has("+"):
            parts.append(self._name())
        return "".join(parts)

    def read(self) -> None:
        """Read the whole: [strict] (graph | digraph) [name] { ... }."""
        words: list[str] = []
        while self._now.kind in _NAMES and len(words) < 4:
            words.append(self._take().text.strip())
        kinds = [word.lower() for word in words[:2] if word.lower() != "strict"]
        if not kinds or kinds[0] not in ("graph", "digraph") or len(words) > 3 or not self._has("{"):
            raise FileError(f"line {self._now.line}: is not DOT, which starts with graph {{ or digraph {{")
        self.directed = kinds[0] == "digraph"
        self._body(1)
        if self._now.kind != "end":
            raise FileError(f"line {self._now.line}: goes on after its graph: a file must hold one")

    def _body(self, depth: int) -> list[tuple[str, str]]:
        """Read statements to the closing brace; return the nodes that are named there."""
        if depth > _MOST_DEEP:
            raise FileError(f"line {self._now.line}: has more than {_MOST_DEEP} braces in braces")
        named: dict[tuple[str, str], None] = {}
        while not self._has("}"):
            if self._has(";") or self._has(","):
                continue
            named |= dict.fromkeys(self._statement(depth))
        return list(named)

    def _statement(self, depth: int) -> list[tuple[str, str]]:
        first = self._now
        if first.kind == "name" and first.text.lower() in ("graph", "node", "edge"):
            self._take()
            self._attributes()
            return []
        groups, line = [self._group(depth)], first.line
        if len(groups[0]) == 1 and self._has("="):
            self._name("a value")
            return []
        while self._now.kind == "edge":
            self._take()
            groups.append(self._group(depth))
        attributes = self._attributes()
        for group in groups:
            for node, _ in group:
                known = self.nodes.setdefault(node, {})
                if len(groups) == 1:
                    known |= attributes
        self._join(groups, attributes, line)
        return [end for group in groups for end in group]

    def _group(self, depth: int) -> list[tuple[str, str]]:
        """Read a node with its port, or nodes in braces."""
        if self._now.kind == "name" and self._now.text.lower() == "subgraph":
            self._take()
            if self._now.kind in _NAMES:
                self._name()
        if self._has("{"):
            return self._body(depth + 1)
        node, port = self._name("a node"), ""
        if self._has(":"):
            is_side = self._now.kind == "name" and self._now.text in _COMPASS
            port = self._name("a port")
            port = "" if is_side else port.strip()
            if self._has(":"):
                self._name("a side")
        return [(node, port)]

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._has("["):
            while not self._has("]"):
                if self._has(",") or self._has(";"):
                    continue
                name = self._name("an attribute or ]")
                found[name] = self._name("a value") if self._has("=") else "true"
        return found

    def _join(self, groups: list[list[tuple[str, str]]], attributes: dict[str, str], line: int) -> None:
        both = not self.directed or attributes.get("dir") in ("both", "none") or attributes.get("kind") == DUPLEX
        both = both and attributes.get("kind") != SIMPLEX
        for here, there in pairwise(groups):
            if len(self.edges) + len(here) * len(there) > _MOST_EDGES:
                raise FileError(f"line {line}: makes more than {_MOST_EDGES} edges")
            self.edges += [_Edge(tail, head, both, line, attributes) for tail in here for head in there]


def read_dot(file: BinaryIO, both_ways: bool = False) -> ReadWiring:
    """Read a graph; hosts are its nodes by their labels, where all have one of their own, else by their ids."""
    parser = _Parser(decoded(read_limited(file, _MOST_BYTES)).removeprefix("\ufeff"))
    parser.read()
    if not parser.edges:
        raise FileError('has no edges, such as "h1":"p1" -- "h2":"p2"')
    names = _host_names(parser.nodes)
    lines = CableLines()
    ports: tuple[list[str], list[str]] = ([], [])
    edges, pairs = parser.edges, _port_pairs(parser.edges)
    for i, edge in enumerate(edges):
        lines.tail.append(names[edge.tail[0]])
        lines.head.append(names[edge.head[0]])
        lines.line.append(f"line {edge.line}")
        for side, (end, label) in enumerate(((edge.tail, "taillabel"), (edge.head, "headlabel"))):
            ports[side].append(pairs[i][side] if pairs is not None else end[1] or edge.attributes.get(label, ""))
    lines.columns = _columns(edges)
    kept = dict.fromkeys(what for edge in edges for what in edge.attributes if what not in {*_LOOKS, *LINK_COLUMNS})
    if pairs is None and any("label" in edge.attributes for edge in edges):
        kept["label"] = None
    lines.details = {what: [edge.attributes.get(what, "") for edge in edges] for what in kept}
    lines.ports = ports if any(map(any, ports)) else None
    if not parser.directed or any(edge.both_ways for edge in edges) or any("kind" in e.attributes for e in edges):
        lines.duplex = [edge.both_ways for edge in edges]
    labels = _labels(parser.nodes, names)
    num_nodes = len(names) if labels is None else None
    return lines.to_wiring(num_nodes, labels=labels, both_ways=both_ways and lines.duplex is None)


def _host_names(nodes: dict[str, dict[str, str]]) -> dict[str, str]:
    labels = {node: attributes.get("label", "").strip() for node, attributes in nodes.items()}
    plain = all(label and label.isprintable() and not re.search(r"[{}|<>\\]", label) for label in labels.values())
    return labels if plain and len(set(labels.values())) == len(labels) else {node: node.strip() for node in nodes}


def _labels(nodes: dict[str, dict[str, str]], names: dict[str, str]) -> list[str] | None:
    """Return the hosts in the order of the file; None where they are the numbers 0 to N-1."""
    hosts = [names[node] for node in nodes]
    return None if set(hosts) == {str(i) for i in range(len(hosts))} else hosts


def _port_pairs(edges: list[_Edge]) -> list[tuple[str, str]] | None:
    """Return the ports in labels such as ``en3/en5``, if every edge has such a label and none names ports otherwise."""
    found = []
    for edge in edges:
        match = _PORT_PAIR.fullmatch(edge.attributes.get("label", ""))
        if match is None or edge.tail[1] or edge.head[1]:
            return None
        found.append((match[1], match[2]))
    return found


def _columns(edges: list[_Edge]) -> dict[str, list[int]]:
    columns = {}
    for what in LINK_COLUMNS:
        known = sum(what in edge.attributes for edge in edges)
        if known not in (0, len(edges)):
            raise FileError(f"{what} is given for {known} of {len(edges)} edges: give all or none")
        if known:
            columns[what] = [whole_number(edge.attributes[what], what, f"line {edge.line}") for edge in edges]
    return columns


# --- writing ---


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_dot(topology: Topology, file: BinaryIO) -> None:
    """Write a graph of duplex cables where all are, with ports where those are known; else a digraph of links."""
    check_name(topology.name)
    cables = cables_of(topology) or _unnamed(topology)
    undirected = all(cable.duplex for cable in cables)
    kind, arrow = ("graph", "--") if undirected else ("digraph", "->")
    says_kind = not undirected and any(cable.duplex or cable.tail_port or cable.head_port for cable in cables)
    file.write(f"{kind} {_quoted(topology.name or 'wiring')} {{\n".encode())
    file.writelines(f"  {_quoted(topology.host(node))};\n".encode() for node in range(topology.num_nodes))
    for cable in cables:
        ends = [_end(topology, cable.tail, cable.tail_port), _end(topology, cable.head, cable.head_port)]
        said = [(what, str(value)) for what, value in cable.columns if what in topology.columns]
        said += [("kind", DUPLEX if cable.duplex else SIMPLEX)] if says_kind else []
        said += [(what, value) for what, value in cable.details if what.lower() != "kind"]
        text = ", ".join(f"{_quoted(what)}={_quoted(value)}" for what, value in said)
        file.write(f"  {ends[0]} {arrow} {ends[1]}{f' [{text}]' if text else ''};\n".encode())
    file.write(b"}\n")


def _end(topology: Topology, node: int, port: str) -> str:
    return _quoted(topology.host(node)) + (f":{_quoted(port)}" if port else "")


def _unnamed(topology: Topology) -> list[ListedCable]:
    """Return the links of a topology without cables of its own as cables, in pairs where all have their return."""
    columns = {what: column.tolist() for what, column in topology.columns.items()}
    paired = topology.is_bidirectional and not topology.num_self_loops
    found = []
    for e, (tail, head) in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        if not paired or tail < head:
            said = tuple((what, column[e]) for what, column in columns.items())
            found.append(ListedCable(tail, "", head, "", paired, said))
    return found

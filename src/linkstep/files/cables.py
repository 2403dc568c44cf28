"""Lists of cables, whatever format they came in: which lines are duplex cables, and what a topology keeps of them.

A reader of a format fills a ``CableLines``; ``CableLines.to_wiring`` decides what is a cable and what a link, refuses a
port that two cables use, and returns the topology with what a person should hear about it. The topology remembers its
cables by port names and other columns (``cables_of``), for plans and for saving. Not here: the formats themselves, nor
plans (``linkstep.cabling``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkstep.core.columns import MAX_NODES
from linkstep.core.errors import FileError
from linkstep.core.memo import Memo
from linkstep.core.text import counted
from linkstep.core.topology import COPY_OF, Ints, Topology
from linkstep.files.own import check_idle_nodes, check_name

DUPLEX, SIMPLEX = "duplex", "simplex"
"""What a column ``kind`` may say of a cable."""
_WIDE = 2**32  # more than any node, so that tail * _WIDE + head tells links apart
_INTEGER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True)
class ListedCable:
    """A cable as a file lists it: nodes by number, ports by name ("" where the file names none)."""

    tail: int
    tail_port: str
    head: int
    head_port: str
    duplex: bool = True
    columns: tuple[tuple[str, int], ...] = ()
    """Those of its links: bandwidth, alpha, opens, closes."""
    details: tuple[tuple[str, str], ...] = ()
    """Other columns by name: label, length, colour, whatever the file has."""


@dataclass(frozen=True)
class ReadWiring:
    """A topology as it was read, and lines that say how, for whoever gave the file."""

    topology: Topology
    notes: tuple[str, ...] = ()


_CABLES: Memo[tuple[ListedCable, ...]] = Memo()


def cables_of(topology: Topology) -> tuple[ListedCable, ...]:
    """Return the cables that a topology's file listed with ports or other columns; none if it did not.

    A copy with other names of hosts has them too.
    """
    found = _CABLES.get(topology)
    if found is not None:
        return found
    copied = COPY_OF.get(topology)
    if copied is None or copied[1] is not None or copied[0].num_nodes != topology.num_nodes:
        return ()
    return cables_of(copied[0]) if copied[0] == topology else ()


def remember_cables(topology: Topology, cables: tuple[ListedCable, ...]) -> None:
    """Let ``cables_of`` find these for a topology that was just made of them."""
    if cables:
        _CABLES.keep(topology, cables)


@dataclass
class CableLines:
    """Lines of a list as read, column by column: two ends by name, and the line of each."""

    tail: list[str] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    line: list[int | str] = field(default_factory=list)
    """Where each is: the number of its line, or what an error calls it, such as "cable 12"."""
    columns: dict[str, list[int]] = field(default_factory=dict)
    """Those of links: bandwidth, alpha, opens, closes."""
    ports: tuple[list[str], list[str]] | None = None
    """Of the two ends, where the file has ports; "" where a line names none."""
    details: dict[str, list[str]] = field(default_factory=dict)
    """Other columns, as text."""
    duplex: list[bool] | None = None
    """Whether each is a duplex cable, where the file says so."""
    racks: dict[str, str] = field(default_factory=dict)
    """Of hosts, where the file says any."""
    lists_cables: bool = False
    """Whether lines are cables by what the format or its header says, not links."""
    is_own: bool = False
    """Whether linkstep wrote it: then a link without return is meant."""
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tail)

    def where(self, i: int) -> str:
        """Return where a line is, as an error names it."""
        return f"line {self.line[i]}" if isinstance(self.line[i], int) else str(self.line[i])

    def keep(self, wanted: Sequence[bool]) -> None:
        """Drop the lines that are not wanted."""
        for what in ("tail", "head", "line", "duplex"):
            if getattr(self, what) is not None:
                setattr(self, what, _kept(getattr(self, what), wanted))
        self.columns = {what: _kept(column, wanted) for what, column in self.columns.items()}
        self.details = {what: _kept(column, wanted) for what, column in self.details.items()}
        if self.ports is not None:
            self.ports = (_kept(self.ports[0], wanted), _kept(self.ports[1], wanted))

    def to_wiring(
        self, num_nodes: int | None = None, name: str = "", labels: list[str] | None = None, *, both_ways: bool = False
    ) -> ReadWiring:
        """Return the topology that the lines make, numbered as docs/concepts/data-model.md says, and its notes."""
        check_name(name)
        is_cables = self.lists_cables or self.ports is not None or self.duplex is not None
        if is_cables:
            self._drop_self_cables()
        _Numbering.check_header(self, labels)
        numbering = _Numbering.of(self, num_nodes, labels)
        if is_cables:
            _merge_returns(self)
            _check_ports(self)
        ends = numbering.ends(self)
        duplex = self._find_duplex(ends, is_cables, both_ways)
        topology = numbering.topology(self, ends, duplex, name)
        if self.racks and numbering.labels is not None and all(host in self.racks for host in numbering.labels):
            topology = topology.with_places(racks=[self.racks[host] for host in numbering.labels])
        self.notes += _remarks(topology, is_cables)
        if self.ports is not None or self.details:
            remember_cables(topology, tuple(self._listed(ends, duplex)))
        return ReadWiring(topology, tuple(self.notes))

    def _drop_self_cables(self) -> None:
        """Leave out cables from a host to itself, which carry nothing, and say so."""
        loops = [i for i, (a, b) in enumerate(zip(self.tail, self.head, strict=True)) if a == b]
        if not loops:
            return
        more = f" and {len(loops) - 1} more like it" if len(loops) > 1 else ""
        self.notes.append(f"{self.where(loops[0])}: a cable from {self.tail[loops[0]]} to itself{more}: left out")
        gone = set(loops)
        self.keep([i not in gone for i in range(len(self))])

    def _find_duplex(self, ends: Ints, is_cables: bool, both_ways: bool) -> list[bool]:
        """Return for each line whether it is a duplex cable; a note says what was decided for the reader."""
        count = len(self)
        if self.duplex is not None:
            return self.duplex
        keys, returns = ends @ [_WIDE, 1], ends @ [1, _WIDE]
        single = int((~np.isin(keys, returns)).sum())
        if both_ways:
            if count and not single:
                raise FileError(f"--both-ways reads each line as a duplex cable, but all {count} have their return")
            return [tail != head for tail, head in zip(self.tail, self.head, strict=True)]
        if is_cables:
            if count:
                verb = "has no return: it is" if count == 1 else "have no return: they are"
                self.notes.append(f"{counted(count, 'line')} {verb} {counted(count, 'duplex cable')}")
            return [True] * count
        if count and single == count and not self.is_own:
            self.notes.append(
                f"{single} of {count} links have no return; --both-ways reads each line as a duplex cable"
            )
        return [False] * count

    def _listed(self, ends: Ints, duplex: Sequence[bool]) -> Iterator[ListedCable]:
        ports = self.ports or ([""] * len(self), [""] * len(self))
        for i, (tail, head) in enumerate(ends.tolist()):
            details = tuple((what, column[i]) for what, column in self.details.items() if column[i])
            columns = tuple((what, column[i]) for what, column in self.columns.items())
            yield ListedCable(tail, ports[0][i], head, ports[1][i], duplex[i], columns, details)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return what to sort names by, so that numbers in them count as numbers.

    >>> sorted(["eth10", "eth2", "lo"], key=natural)
    ['eth2', 'eth10', 'lo']
    """
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in parts]


def _kept(column: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    return [value for value, is_wanted in zip(column, wanted, strict=True) if is_wanted]


@dataclass(frozen=True)
class _Numbering:
    """Which number each name has; ``labels`` is None where the names are the numbers."""

    num_nodes: int
    labels: list[str] | None
    index: Mapping[str, int]

    @staticmethod
    def check_header(lines: CableLines, labels: list[str] | None) -> None:
        """Refuse a first line of names above numbers."""
        if labels is not None or len(lines) < 2:
            return
        rest = (*lines.tail[1:], *lines.head[1:])
        first = (lines.tail[0], lines.head[0])
        if not any(map(_INTEGER.fullmatch, first)) and all(map(_INTEGER.fullmatch, rest)):
            raise FileError(f"{lines.where(0)}: looks like a header: write it as tail,head")

    @classmethod
    def of(cls, lines: CableLines, num_nodes: int | None, labels: list[str] | None) -> _Numbering:
        """Number the nodes: in the order of the labels, as the integers they are, or in order of first appearance."""
        ends = [end for link in zip(lines.tail, lines.head, strict=True) for end in link]
        if not ends and num_nodes is None and labels is None:
            raise FileError("has no links: write one a line as tail,head, or the number of nodes as # nodes=N")
        if labels is None and all(map(_INTEGER.fullmatch, ends)):
            return cls._by_number(lines, ends, num_nodes)
        hosts = list(dict.fromkeys(ends)) if labels is None else labels
        if num_nodes not in (None, len(hosts)):
            where = "links name" if labels is None else "labels are"
            raise FileError(f"says nodes={num_nodes} but {where} {len(hosts)}: correct or drop that line")
        index = {host: i for i, host in enumerate(hosts)}
        for i, end in enumerate(ends):
            if end not in index:
                raise FileError(f"{lines.where(i // 2)}: {end[:40]!r} is not among the labels")
        return cls(len(hosts), hosts, index)

    @classmethod
    def _by_number(cls, lines: CableLines, ends: list[str], num_nodes: int | None) -> _Numbering:
        for i, end in enumerate(ends):
            if len(end) > 10 or not 0 <= int(end) < MAX_NODES:
                raise FileError(f"{lines.where(i // 2)}: node must lie in [0, {MAX_NODES}), not {end[:40]}")
        index = {end: int(end) for end in ends}
        count = max(index.values(), default=-1) + 1
        if num_nodes is not None:
            if num_nodes < count:
                raise FileError(f"says nodes={num_nodes} but links name node {count - 1}: correct or drop that line")
            count = num_nodes
        check_idle_nodes(count, len(lines))
        return cls(count, None, index)

    def ends(self, lines: CableLines) -> Ints:
        """Return the numbers of both ends of each line, a row each."""
        found = [[self.index[end] for end in side] for side in (lines.tail, lines.head)]
        return np.array(found, np.int64).T.reshape(-1, 2)

    def topology(self, lines: CableLines, ends: Ints, duplex: Sequence[bool], name: str) -> Topology:
        """Return the links of all lines, those of duplex cables both ways."""
        back = np.flatnonzero(np.array(duplex, bool))
        tail, head = (np.concatenate((ends[:, side], ends[back, 1 - side])) for side in (0, 1))
        columns = {what: [*column, *(column[i] for i in back.tolist())] for what, column in lines.columns.items()}
        given: dict[str, Any] = {**columns}
        return Topology.from_links(self.num_nodes, tail, head, name, labels=self.labels, **given)


def _merge_returns(lines: CableLines) -> None:
    """Make one duplex cable of a line and the same cable seen from its other end.

    Where ports are named, that is the line with its ends exchanged. Where none are, hosts alone must match, and only
    if every line has such a return: two lines could be two cables otherwise.
    """
    count = len(lines)
    ports = lines.ports or ([""] * count, [""] * count)
    keys = list(zip(lines.tail, ports[0], lines.head, ports[1], strict=True))
    if lines.duplex is not None and not all(lines.duplex):
        return
    waiting: dict[tuple[str, str, str, str], list[int]] = {}
    back: dict[int, int] = {}
    for i, (a, pa, b, pb) in enumerate(keys):
        mine = waiting.get((b, pb, a, pa))
        if mine:
            back[i] = mine.pop()
        else:
            waiting.setdefault((a, pa, b, pb), []).append(i)
    named = {i for i in back if ports[0][i] and ports[1][i]}
    if 2 * len(back) != count:
        back = {i: j for i, j in back.items() if i in named}
    if not back:
        return
    for i, j in back.items():
        for what, column in lines.columns.items():
            if column[i] != column[j]:
                raise FileError(
                    f"{lines.where(i)}: {what} is {column[i]}, but {column[j]} in {lines.where(j)}, its return"
                )
    lines.keep([i not in back for i in range(count)])
    if 2 * len(back) == count:
        lines.duplex = [True] * len(lines)
    else:
        lines.notes.append(f"{counted(len(back), 'cable')} listed from both ends: each is read once")


def _check_ports(lines: CableLines) -> None:
    """Refuse two cables in one port; a port has two sides, and simplex fibres may use one each."""
    if lines.ports is None:
        return
    taken: dict[tuple[str, str, str], int] = {}
    for i, (tail, tail_port, head, head_port) in enumerate(
        zip(lines.tail, lines.ports[0], lines.head, lines.ports[1], strict=True)
    ):
        duplex = lines.duplex is None or lines.duplex[i]
        sides = [(tail, tail_port, "out"), (head, head_port, "in")]
        sides += [(tail, tail_port, "in"), (head, head_port, "out")] if duplex else []
        for host, port, side in sides:
            if not port:
                continue
            other = taken.setdefault((host, port, side), i)
            if other != i:
                raise FileError(
                    f"{lines.where(i)}: port {port[:40]!r} of {host[:60]!r} is in use already, by {lines.where(other)}"
                )


def _remarks(topology: Topology, is_cables: bool) -> Iterator[str]:
    """Yield what looks like a mistake in the names or the number of cables of hosts."""
    if topology.labels is not None:
        seen: dict[str, str] = {}
        for label in topology.labels:
            other = seen.setdefault(label.casefold(), label)
            if other != label:
                yield f"{other!r:.60} and {label!r:.60} differ only in case: they are read as two hosts"
                break
    if is_cables and topology.num_links and not topology.is_regular:
        ports = np.maximum(np.diff(topology.out_ptr), np.diff(topology.in_ptr))
        least = int(ports.argmin())
        yield f"hosts have {ports.min()} to {ports.max()} cables: {topology.called(least)} has {ports.min()}"

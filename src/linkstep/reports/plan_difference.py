"""The difference of two cabling plans: what to unplug, what to move to another port, and what to plug.

Cables are matched by the names of their hosts, and of parallel cables first those on equal ports. Labels, lengths and
colours do not count. Not here: plans themselves (``linkstep.reports.cabling``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from linkstep.core.text import counted
from linkstep.reports.cabling import DUPLEX, CableRow, CablingReport

_Hosts = tuple[str, str, str]
_Ports = tuple[str, str]


@dataclass(frozen=True)
class MovedCable:
    """A cable that stays between its hosts, on other ports."""

    before: CableRow
    after: CableRow
    """In the same direction as ``before``."""
    words: str
    """What to do."""


@dataclass(frozen=True)
class PluggedCable:
    """A cable of one of the plans alone."""

    cable: CableRow
    words: str
    """What to do."""


@dataclass(frozen=True)
class CablingDifference:
    """What changes from a plan to another."""

    hosts_gone: tuple[str, ...]
    """Hosts that only the first plan wires."""
    hosts_added: tuple[str, ...]
    """Hosts that only the second plan wires."""
    by_name: bool
    """Whether ports are compared by their names; by their numbers where one of the plans has numbers only."""
    num_kept: int
    """How many cables stay as they are."""
    unplug: tuple[PluggedCable, ...]
    """Cables of the first plan only."""
    move: tuple[MovedCable, ...]
    """Cables of both plans, on other ports."""
    plug: tuple[PluggedCable, ...]
    """Cables of the second plan only."""
    words: str
    """All of it in a sentence."""

    @classmethod
    def of(cls, before: CablingReport, after: CablingReport) -> CablingDifference:
        """Compare two plans by the names of hosts."""
        by_name = _has_names(before) and _has_names(after)
        there: dict[_Hosts, list[CableRow]] = defaultdict(list)
        for row in after.cables:
            there[_hosts(row)].append(_ordered(row))
        kept, left = 0, []
        for row in before.cables:
            same = there[_hosts(row)]
            ports = _ports(_ordered(row), by_name)
            found = next((one for one in same if _ports(one, by_name) == ports), None)
            if found is None:
                left.append(row)
            else:
                same.remove(found)
                kept += 1
        unplug, move = [], []
        for row in left:
            same = there[_hosts(row)]
            if same:
                to = same.pop(0)
                move.append(_moved(row, to if _ordered(row) is row else _turned(to), by_name))
            else:
                unplug.append(PluggedCable(row, f"Unplug cable {_called(row)}: {_ends(row, _has_names(before))}."))
        added = {row.cable for rows in there.values() for row in rows}
        plug = tuple(
            PluggedCable(row, f"Plug cable {_called(row)} of the second plan: {_ends(row, _has_names(after))}.")
            for row in after.cables
            if row.cable in added
        )
        gone, new = _only(before, after), _only(after, before)
        return cls(gone, new, by_name, kept, tuple(unplug), tuple(move), plug, _summary(kept, unplug, move, plug))


def _has_names(report: CablingReport) -> bool:
    return any(row.from_port_name or row.to_port_name for row in report.cables)


def _hosts(row: CableRow) -> _Hosts:
    """Return what a cable is matched by: its kind and its hosts, in either order if it is duplex."""
    ordered = _ordered(row)
    return row.kind, ordered.from_, ordered.to


def _ordered(row: CableRow) -> CableRow:
    """Return a duplex cable with the lesser name first; a simplex fibre has a direction."""
    return _turned(row) if row.kind == DUPLEX and row.to < row.from_ else row


def _turned(row: CableRow) -> CableRow:
    return CableRow(
        row.cable, row.to, row.to_port, row.from_, row.from_port, row.kind, row.panel_to, row.panel_from,
        row.to_port_name, row.from_port_name, row.details,
    )  # fmt: skip


def _ports(row: CableRow, by_name: bool) -> _Ports:
    return _port(row.from_port, row.from_port_name, by_name), _port(row.to_port, row.to_port_name, by_name)


def _port(number: int, name: str | None, by_name: bool) -> str:
    return name if by_name and name else str(number)


def _called(row: CableRow) -> str:
    label = next((text for what, text in (row.details or {}).items() if what.lower() in ("label", "cable")), "")
    return label or str(row.cable)


def _ends(row: CableRow, by_name: bool) -> str:
    first, second = _ports(row, by_name)
    return f"{row.from_} port {first} to {row.to} port {second}"


def _moved(before: CableRow, after: CableRow, by_name: bool) -> MovedCable:
    ends = zip((before.from_, before.to), _ports(before, by_name), _ports(after, by_name), strict=True)
    changes = [f"at {host} from port {old} to port {new}" for host, old, new in ends if old != new]
    words = f"Move cable {_called(before)} between {before.from_} and {before.to}: {', and '.join(changes)}."
    return MovedCable(before, after, words)


def _only(mine: CablingReport, theirs: CablingReport) -> tuple[str, ...]:
    known = _wired(theirs.cables)
    return tuple(sorted(_wired(mine.cables) - known))


def _wired(rows: Iterable[CableRow]) -> set[str]:
    return {host for row in rows for host in (row.from_, row.to)}


def _summary(kept: int, unplug: list[PluggedCable], move: list[MovedCable], plug: tuple[PluggedCable, ...]) -> str:
    if not (unplug or move or plug):
        return f"The plans are the same: {counted(kept, 'cable')}."
    return (
        f"{counted(len(unplug), 'cable')} to unplug, {len(move)} to move to other ports, {len(plug)} to plug; "
        f"{counted(kept, 'cable')} {'stays as it is' if kept == 1 else 'stay as they are'}."
    )

"""Cables as NetBox's API lists them (JSON), and linkstep's own plans (JSON). Topologies only.

A NetBox cable has terminations on side A and side B; before version 3.3 it had one of each. Hosts are devices, ports
are interfaces; label, type, colour, length and status are kept. Cables to anything but interfaces are left out, and
that is said. NetBox's CSV, exported or for import, is a list with a header like others (``linkstep.files.headers``).
"""

from __future__ import annotations

from typing import Any

from linkstep.core.errors import FileError
from linkstep.core.text import shown
from linkstep.files.cables import DUPLEX, SIMPLEX, CableLines
from linkstep.files.headers import INTERFACE
from linkstep.files.tables import drop_other_types

_DETAILS = ("label", "type", "status", "color", "length", "length_unit", "description")
_PLAN_DETAILS = "details"


def is_netbox(document: object) -> bool:
    """Whether a document of JSON lists cables as NetBox does."""
    rows = document.get("results") if isinstance(document, dict) else document
    return isinstance(rows, list) and bool(rows) and _is_cable(rows[0])


def _is_cable(row: object) -> bool:
    return isinstance(row, dict) and ("a_terminations" in row or "termination_a" in row)


def is_plan(document: object) -> bool:
    """Whether a document of JSON is a cabling plan that linkstep wrote."""
    rows = document.get("cables") if isinstance(document, dict) else None
    return (
        isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict) and {"from", "to", "kind"} <= set(rows[0])
    )


def netbox_lines(document: Any) -> CableLines:
    """Return the cables of a document."""
    rows = document["results"] if isinstance(document, dict) else document
    total = document.get("count") if isinstance(document, dict) else None
    if isinstance(total, int) and total > len(rows):
        raise FileError(f"holds {len(rows)} of {total} cables, a page: ask NetBox for all of them (?limit=0)")
    lines = CableLines(ports=([], []), duplex=[], details={what: [] for what in _DETAILS})
    kinds: list[tuple[str, str]] = []
    for place, row in enumerate(rows):
        where = f"cable {_text(row.get('id')) or place}" if isinstance(row, dict) else f"cable {place}"
        if not _is_cable(row):
            raise FileError(f"{where}: has no a_terminations, unlike the first: {shown(row)}")
        for ends in zip(*_sides(row, where), strict=True):
            kinds.append((ends[0][2], ends[1][2]))
            _add(lines, ends, row, where)
    drop_other_types(lines, kinds)
    missing = next((i for i, host in enumerate(map(min, lines.tail, lines.head)) if not host), None)
    if missing is not None:
        raise FileError(f"{lines.where(missing)}: names no device: ask NetBox for whole objects, not brief ones")
    status = lines.details["status"]
    planned = [kind for kind in status if kind and kind.lower() != "connected"]
    if planned and len(planned) < len(status):
        lines.notes.append(f"{len(planned)} of {len(status)} cables are not connected by their status: {planned[0]}")
    lines.details = {what: column for what, column in lines.details.items() if any(column)}
    return lines


def _add(lines: CableLines, ends: tuple[tuple[str, str, str], ...], row: dict[str, Any], where: str) -> None:
    assert lines.ports is not None and lines.duplex is not None
    lines.tail.append(ends[0][0])
    lines.head.append(ends[1][0])
    for side in (0, 1):
        lines.ports[side].append(ends[side][1])
    lines.line.append(where)
    lines.duplex.append(True)
    for what in _DETAILS:
        lines.details[what].append(_text(row.get(what)))


def _sides(row: dict[str, Any], where: str) -> list[list[tuple[str, str, str]]]:
    """Return (device, interface, type) of each termination of both sides."""
    found = []
    for side in ("a", "b"):
        if "a_terminations" in row:
            ends = row.get(f"{side}_terminations")
            if not isinstance(ends, list) or not all(isinstance(end, dict) for end in ends):
                raise FileError(f"{where}: {side}_terminations must be a list of objects, not {shown(ends)}")
            found.append([_termination(end.get("object"), _text(end.get("object_type"))) for end in ends])
        else:
            found.append([_termination(row.get(f"termination_{side}"), _text(row.get(f"termination_{side}_type")))])
    if len(found[0]) != len(found[1]):
        raise FileError(
            f"{where}: has {len(found[0])} terminations on side A and {len(found[1])} on side B: a cable between hosts "
            "has as many"
        )
    return found


def _termination(thing: object, kind: str) -> tuple[str, str, str]:
    if not isinstance(thing, dict):
        return "", "", kind
    device = thing.get("device")
    host = (_text(device.get("name")) or _text(device.get("display"))) if isinstance(device, dict) else _text(device)
    return host, _text(thing.get("name")) or _text(thing.get("display")), kind or INTERFACE


def _text(value: object) -> str:
    """Return a member as text; a choice of NetBox's by its value."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None or isinstance(value, (list, dict)) else " ".join(str(value).split())


def plan_lines(document: dict[str, Any]) -> tuple[CableLines, list[str] | None]:
    """Return the cables of a plan, and its hosts in order."""
    lines = CableLines(ports=([], []), duplex=[])
    assert lines.ports is not None and lines.duplex is not None
    rows: list[Any] = document["cables"]
    for place, row in enumerate(rows):
        where = f"cable {place}"
        kind = row.get("kind") if isinstance(row, dict) else None
        if kind not in (DUPLEX, SIMPLEX) or not _text(row.get("from")) or not _text(row.get("to")):
            raise FileError(f"{where}: must have from, to, and a kind that is duplex or simplex, not {shown(row)}")
        lines.tail.append(_text(row["from"]))
        lines.head.append(_text(row["to"]))
        lines.line.append(where)
        lines.duplex.append(kind == DUPLEX)
        for side, end in enumerate(("from", "to")):
            lines.ports[side].append(_text(row.get(f"{end}_port_name")) or _text(row.get(f"{end}_port")))
    said = [row.get(_PLAN_DETAILS) if isinstance(row.get(_PLAN_DETAILS), dict) else {} for row in rows]
    names = dict.fromkeys(str(what) for one in said for what in one)
    lines.details = {what: [_text(one.get(what)) for one in said] for what in names}
    hosts = document.get("hosts")
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        return lines, None
    return lines, None if hosts == [str(i) for i in range(len(hosts))] else hosts

"""What the columns of a list of cables are, by the words of its header.

People write ``A side,B side``, ``source,target``, ``src_host,src_port,dst_host,dst_port`` or ``Device A,Interface
A,Device B,Interface B``; NetBox, SONiC and linkstep's plans have headers of their own. Two columns must be the hosts at
the two ends; ports, racks and the columns of links are known by their names, and all others are kept as they are. Not
here: the lines below (``linkstep.files.tables``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from linkstep.core.columns import LINK_COLUMNS
from linkstep.core.errors import FileError

_SYMMETRIC = ({"a", "1", "left", "near", "local"}, {"b", "z", "2", "right", "far", "remote", "peer", "neighbor"})
"""Words for the ends of a cable, which has no direction."""
_DIRECTED = ({"tail", "source", "src", "from", "start"}, {"head", "target", "dst", "dest", "destination", "to"})
_HOSTS = ("", "side", "end", "host", "hostname", "device", "node", "server", "system", "switch", "machine", "equipment")
_PORTS = ("port", "interface", "iface", "intf", "if", "ifname", "nic")
_HOST_WORDS = {*_HOSTS, *(f"{what} name" for what in _HOSTS[3:]), "side device", "side host", "sysname"}
_PORT_WORDS = {*_PORTS, "port id", "side interface", "side port", "side name", "termination", "side termination"}
_PORT_NAMES = {"port name", "interface name", "if name"}
"""Taken before a port's number where a header has both."""
_ONLY_PORTS = {"termination", "side termination"}
_TYPES = {"type", "side type"}
_MOST_COLUMNS = 1000
_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PLAN = ("cable", "from", "from_port", "to", "to_port", "kind", "panel_from", "panel_to")
"""How a plan of linkstep's starts."""
INTERFACE = "dcim.interface"
"""What NetBox calls a port of a host."""


@dataclass
class Header:
    """The place of each column by what it is; ``details`` are those that mean nothing to linkstep."""

    width: int
    hosts: tuple[int, int] = (0, 1)
    ports: tuple[int, int] | None = None
    racks: tuple[int, int] | None = None
    types: tuple[int, int] | None = None
    kind: int | None = None
    columns: dict[str, int] = field(default_factory=dict)
    megabits: bool = False
    """Whether plain numbers under bandwidth are Mbit/s, as SONiC has them."""
    details: dict[str, int] = field(default_factory=dict)
    lists_cables: bool = False
    is_sure: bool = True
    """Whether no wiring starts with a link between hosts of these names."""


def _words(name: str) -> list[str]:
    """Return the words of a column's name.

    >>> _words("StartDevice"), _words("src_port"), _words("Interface A"), _words("node1")
    (['start', 'device'], ['src', 'port'], ['interface', 'a'], ['node', '1'])
    """
    words = [word.lower() for word in _WORD.findall(_HUMP.sub(" ", name))]
    return ["neighbor" if word == "neighbour" else word for word in words]


def _side_of(name: str) -> tuple[int | None, str, bool]:
    """Return which end a column is about, what of it, and whether its word gives a direction."""
    words = _words(name)
    if words[:1] == ["end"] and len(words) == 2 and words[1] not in _SYMMETRIC[0] | _SYMMETRIC[1]:
        return 1, words[1], True  # StartDevice, EndDevice
    for kinds, directed in ((_DIRECTED, True), (_SYMMETRIC, False)):
        for side in (0, 1):
            found = [word for word in words if word in kinds[side]]
            if found:
                words.remove(found[0])
                return side, " ".join(words), directed
    return None, " ".join(words), False


def guess_header(fields: Sequence[str], where: str) -> Header | None:
    """Return what the columns are, or None if this line is no header.

    >>> guess_header(["Cable", "A side", "A port", "B side", "B port"], "line 1").details
    {'Cable': 0}
    >>> guess_header(["ant", "bee"], "line 1") is None
    True
    """
    if len(fields) > _MOST_COLUMNS:
        raise FileError(f"{where}: has {len(fields)} columns: linkstep reads at most {_MOST_COLUMNS}")
    if [name.lower() for name in fields[: len(_PLAN)]] == list(_PLAN):
        return _plan_header(fields)
    parts = [_side_of(name) for name in fields]
    hosts = _pair(parts, _HOST_WORDS)
    if hosts is None:
        if _pair(parts, _ONLY_PORTS) is not None:
            raise FileError(
                f"{where}: has the terminations of cables and not their devices: export all data, with Device A and "
                "Device B"
            )
        return None
    found = Header(len(fields), hosts)
    found.ports = _pair(parts, _PORT_NAMES) or _pair(parts, _PORT_WORDS)
    found.racks = _pair(parts, {"rack"})
    found.types = _pair(parts, _TYPES)
    used = {place for pair in (hosts, found.ports, found.racks, found.types) if pair for place in pair}
    found.lists_cables = found.ports is not None or not any(parts[place][2] for place in hosts)
    found.is_sure = found.ports is not None or all(parts[place][2] for place in hosts)
    _sort_others(found, fields, used, where)
    found.megabits = "startdevice" in [name.lower() for name in fields]
    return found


def _plan_header(fields: Sequence[str]) -> Header:
    """Return the columns of a plan that linkstep wrote: ports by name where it has names, else by number."""
    names = [name.lower() for name in fields]
    ports = (2, 4)
    if "from_port_name" in names and "to_port_name" in names:
        ports = (names.index("from_port_name"), names.index("to_port_name"))
    found = Header(len(fields), (1, 3), ports, kind=5, lists_cables=True)
    used = {*range(len(_PLAN)), *ports}
    found.details = {name: place for place, name in enumerate(fields) if place not in used and name}
    return found


def _pair(parts: Sequence[tuple[int | None, str, bool]], words: set[str]) -> tuple[int, int] | None:
    """Return the columns of the two ends that are called by one of these words, if there is one of each.

    A column that names no end is the near one where only the far one has a name: ``device,remote_device``. Two columns
    that name none are the ends in order: ``A side,port,B side,port``.
    """
    found: list[list[int]] = [[], []]
    plain = []
    for place, (side, what, _) in enumerate(parts):
        if what in words and side is not None:
            found[side].append(place)
        elif what in words and what:
            plain.append(place)
    if not found[0] and len(found[1]) == 1 and len(plain) == 1:
        found[0] = plain
    elif not found[0] and not found[1] and len(plain) == 2:
        return plain[0], plain[1]
    return (found[0][0], found[1][0]) if len(found[0]) == len(found[1]) == 1 else None


def _sort_others(found: Header, fields: Sequence[str], used: set[int], where: str) -> None:
    """Sort the other columns: those of links, the kind of cable, details; details of one name are numbered."""
    for place, name in enumerate(fields):
        lower = name.lower()
        if place in used or not name:
            continue
        if lower in LINK_COLUMNS:
            if lower in found.columns:
                raise FileError(f"{where}: column {name[:40]!r} must be there only once")
            found.columns[lower] = place
            continue
        if lower == "kind" and found.kind is None:
            found.kind = place
        again = sum(other == name or other.startswith(f"{name} ") for other in found.details)
        found.details[f"{name} {again + 1}" if name in found.details else name] = place

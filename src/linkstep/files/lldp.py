"""What hosts see of each other by LLDP, as ``lldpcli show neighbors -f json0`` or ``-f json`` prints it.

Each host prints its own view, which does not say whose it is: the name of its file does, the member that it stands
under, or the ``local-chassis`` before it (``lldpcli show chassis``); where nothing does, the views of others do. A
cable that both ends see is one cable. Neighbours that have no view of their own, such as a management switch, are left
out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkstep.core.errors import FileError
from linkstep.core.text import counted
from linkstep.files.cables import CableLines

_OPAQUE = ("mac", "ip", "local")
"""Types of port ids that are not a name of the interface."""
_MOST_VIEWS = 2**16
_MOST_UNNAMED = 2048
"""Views whose hosts are found by what the others see."""
_MOST_PARALLEL = 1024
"""Cables between two hosts."""


@dataclass(frozen=True)
class Sighting:
    """A neighbour as a host sees it on one of its ports; ``names`` is what the neighbour's port may be called."""

    port: str
    host: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class HostView:
    """What one host sees; ``host`` is "" where nothing says whose view it is."""

    host: str
    seen: tuple[Sighting, ...]


def is_lldp(document: object) -> bool:
    """Whether a document of JSON is a view, or several by host or in a list."""
    if isinstance(document, dict):
        inner = [value for value in document.values() if isinstance(value, dict)]
        return "lldp" in document or "local-chassis" in document or any("lldp" in value for value in inner)
    return isinstance(document, list) and any(isinstance(one, dict) and is_lldp(one) for one in document[:3])


def documents_in(text: str) -> list[Any]:
    """Return the JSON documents that a text has one after the other; FileError where it has something else."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise FileError(f"line {error.lineno}: is truncated or not JSON: {error.msg.lower()}") from None
        except (RecursionError, ValueError):
            raise FileError("is nested too deeply, or has numbers too long, to be what lldpcli prints") from None
        found.append(document)
        if len(found) > _MOST_VIEWS:
            raise FileError(f"has more than {_MOST_VIEWS} documents")
    return found


def views_in(documents: Sequence[Any], name: str = "") -> list[HostView]:
    """Return the views in the documents of a file of this name, which is the host's where there is one view."""
    found = list(_views(documents, ""))
    if len(found) == 1 and not found[0].host:
        return [HostView(name, found[0].seen)]
    return found


def _views(documents: Sequence[Any], owner: str) -> Iterator[HostView]:
    for document in documents:
        if isinstance(document, list):
            yield from _views(document, owner)
            continue
        if not isinstance(document, dict):
            continue
        if "local-chassis" in document:
            owner = _local_name(document["local-chassis"]) or owner
        if "lldp" in document:
            yield HostView(owner, tuple(_sightings(document["lldp"])))
            owner = ""
        for host, inner in document.items():
            if isinstance(inner, dict) and "lldp" in inner and host != "lldp":
                yield HostView(str(host), tuple(_sightings(inner["lldp"])))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _scalar(value: object) -> str:
    """Return a member as text: ``"x"``, ``{"value": "x"}`` and ``[{"value": "x"}]`` are the same."""
    for one in _list(value):
        one = one.get("value") if isinstance(one, dict) else one
        if one is not None and not isinstance(one, (dict, list)):
            return " ".join(str(one).split())
    return ""


def _local_name(value: object) -> str:
    for one in _list(value):
        for chassis, name in _chassis(one.get("chassis") if isinstance(one, dict) else None):
            return name or _scalar(chassis.get("id"))
    return ""


def _sightings(value: object) -> Iterator[Sighting]:
    for lldp in _list(value):
        for entry in _list(lldp.get("interface") if isinstance(lldp, dict) else None):
            if not isinstance(entry, dict):
                continue
            if "chassis" in entry or "port" in entry:
                yield from _sighting(_scalar(entry.get("name")), entry)
                continue
            for port, inner in entry.items():  # -f json: members by the name of the interface
                for one in _list(inner):
                    if isinstance(one, dict):
                        yield from _sighting(str(port), one)


def _sighting(port: str, entry: dict[str, Any]) -> Iterator[Sighting]:
    if entry.get("via", "LLDP") not in ("LLDP", "unknown") or not port:
        return
    far = next((one for one in _list(entry.get("port")) if isinstance(one, dict)), {})
    kind = next((str(one.get("type")) for one in _list(far.get("id")) if isinstance(one, dict)), "")
    identity, description = _scalar(far.get("id")), _scalar(far.get("descr"))
    names = (description, identity) if kind in _OPAQUE else (identity, description)
    for chassis, name in _chassis(entry.get("chassis")):
        host = name or _scalar(chassis.get("id"))
        if host:
            yield Sighting(port, host, tuple(dict.fromkeys(filter(None, names))))


def _chassis(value: object) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each chassis with its name, which may be a member or what the chassis stands under."""
    for one in _list(value):
        if not isinstance(one, dict):
            continue
        if {"id", "name", "descr"} & set(one):
            yield one, _scalar(one.get("name"))
            continue
        for name, inner in one.items():
            if isinstance(inner, dict):
                yield inner, _scalar(inner.get("name")) or str(name)


# --- from views to cables ---


def lldp_lines(views: Sequence[HostView]) -> CableLines:
    """Return the cables that the views show."""
    if not any(view.seen for view in views):
        raise FileError("has no neighbours: is lldpd running on both ends?")
    views = _named(views)
    names = _Names.of([view.host for view in views])
    lines = CableLines(ports=([], []), duplex=[])
    strangers: Counter[str] = Counter()
    seen: dict[tuple[str, str], list[Sighting]] = {}
    for view in views:
        for sighting in view.seen:
            host = names.known(sighting.host)
            if host is None and len(views) > 1:
                strangers[sighting.host] += 1
                continue
            sighting = Sighting(sighting.port, host or sighting.host, sighting.names)
            seen.setdefault((view.host, sighting.host), []).append(sighting)
    once = _join(seen, lines)
    if strangers:
        many = counted(len(strangers), "neighbour")
        lines.notes.append(f"left out {many} without a view of its own: {', '.join(sorted(strangers))[:80]}")
    if once:
        lines.notes.append(f"{len(once)} of {counted(len(lines), 'cable')} seen from one end only: {once[0]}")
    if not lines.tail:
        raise FileError("has no cable between two hosts whose views it has")
    return lines


def _named(views: Sequence[HostView]) -> list[HostView]:
    """Return the views with a host each: where nothing says whose one is, that which all its neighbours see there."""
    facing: dict[tuple[str, str], set[str]] = {}
    if sum(not view.host for view in views) > _MOST_UNNAMED:
        raise FileError(f"has more than {_MOST_UNNAMED} views that nothing says the host of")
    for view in views:
        for sighting in view.seen:
            for name in sighting.names:
                facing.setdefault((sighting.port, name), set()).add(sighting.host)
    found = []
    for number, view in enumerate(views):
        host = view.host
        if not host:
            votes = Counter(
                name for one in view.seen for far in one.names for name in facing.get((far, one.port), ())
            )  # fmt: skip
            best = votes.most_common(2)
            if not best or (len(best) > 1 and best[0][1] == best[1][1]):
                raise FileError(
                    f"nothing says whose view the {number + 1}th is: name a file for each host, or put the views of "
                    'all under their hosts: {"h1": {"lldp": ...}}'
                )
            host = best[0][0]
        found.append(HostView(host, view.seen))
    twice = [host for host, count in Counter(view.host for view in found).items() if count > 1]
    if twice:
        raise FileError(f"has two views of {twice[0][:60]!r}")
    return found


@dataclass(frozen=True)
class _Names:
    """The hosts whose views there are, in full and up to the first dot."""

    full: frozenset[str]
    short: dict[str, str]

    @classmethod
    def of(cls, hosts: Sequence[str]) -> _Names:
        counts = Counter(host.partition(".")[0] for host in hosts)
        return cls(frozenset(hosts), {h.partition(".")[0]: h for h in hosts if counts[h.partition(".")[0]] == 1})

    def known(self, host: str) -> str | None:
        return host if host in self.full else self.short.get(host.partition(".")[0])


def _join(seen: dict[tuple[str, str], list[Sighting]], lines: CableLines) -> list[str]:
    """Add a cable for each pair of sightings that are of one; return those that only one end sees."""
    once = []
    for here, there in list(seen):
        if (there, here) in seen and there < here:
            continue
        others = list(seen.get((there, here), [])) if there != here else []
        if max(len(others), len(seen[here, there])) > _MOST_PARALLEL:
            raise FileError(f"has more than {_MOST_PARALLEL} cables between {here[:40]!r} and {there[:40]!r}")
        mine = sorted(seen[here, there], key=lambda one: not any(_match(one, other) for other in others))
        for one in mine:
            other = next((o for o in others if _match(one, o)), None) or next(
                (o for o in others if not any(_match(m, o) for m in mine)), None
            )
            if other is not None:
                others.remove(other)
            port = other.port if other is not None else (one.names or ("",))[0]
            if other is None:
                once.append(f"{here} {one.port} - {there} {port}".rstrip())
            _add(lines, (here, one.port), (there, port))
        for other in others:
            port = (other.names or ("",))[0]
            once.append(f"{there} {other.port} - {here} {port}".rstrip())
            _add(lines, (there, other.port), (here, port))
    return once


def _match(one: Sighting, other: Sighting) -> bool:
    """Whether two sightings, from two ends, name the same two ports."""
    return other.port in one.names and one.port in other.names


def _add(lines: CableLines, here: tuple[str, str], there: tuple[str, str]) -> None:
    assert lines.ports is not None and lines.duplex is not None
    lines.tail.append(here[0])
    lines.head.append(there[0])
    lines.ports[0].append(here[1])
    lines.ports[1].append(there[1])
    lines.line.append(f"cable {len(lines)} ({here[0]} {here[1]} - {there[0]} {there[1]})")
    lines.duplex.append(True)

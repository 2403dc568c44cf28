"""The file view's data: a runtime's file, the verdict on it, where its findings stand in it, and its messages in time.

A text that cannot be read is shown too, with the reason for its verdict; a program that is refuted is played as far as
it can be.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.topology import Topology
from linkstep.explorer.document import Panel
from linkstep.explorer.panels.file_messages import MAX_MESSAGES, messages_of
from linkstep.explorer.panels.file_pairs import pairs_of
from linkstep.explorer.panels.file_places import Lines, Places, find_places
from linkstep.explorer.wires import wires_of
from linkstep.programs import Finding, Program, read_program
from linkstep.reports.pricing import Pricing
from linkstep.reports.simulation import SimulationReport
from linkstep.reports.verification import UnreadableFile, VerificationReport, VerifiedFile
from linkstep.simulation import simulate_program, used_links
from linkstep.simulation.wires import wires_of as wires_between
from linkstep.verification import Report, verify_program, verify_text

SHOWN = 2 * 10**6
"""Characters of a text that are shown; of longer ones the beginning, and what is around each finding."""
_AROUND = 1500
"""Characters shown before and after a finding."""
_MOST_NAMED = 4
"""Places that are looked up for one message."""

_PLACE = re.compile(r"\brank (\d{1,9})(?: tb (\d{1,9}))? step (\d{1,9})\b", re.ASCII)
_RANK = re.compile(r"\brank (\d{1,9})\b", re.ASCII)
_PLAN_PLACE = re.compile(r"\bgpu (\d{1,9})(?: tb (\d{1,9})(?: op (\d{1,9}))?)?", re.ASCII)
_LIST_PLACE = re.compile(r"\bat position (\d{1,9}) of rank (\d{1,9})\b", re.ASCII)
_LINE = re.compile(r"\bline (\d{1,9})\b", re.ASCII)
_CHARACTER = re.compile(r"\(char (\d{1,9})\)", re.ASCII)


def file_panel(
    text: str, name: str, pricing: Pricing, on: Topology | None = None, progress: Progress | None = None
) -> Panel:  # fmt: skip
    """Return the panel of a runtime's file, whatever is in it; it is played on ``on``, or on the links that it uses.

    >>> from linkstep.explorer.documents import usual_pricing
    >>> file_panel("<algo", "broken.xml", usual_pricing()).data["facts"]["status"]
    'unreadable'
    """
    title = name or "a file"
    try:
        report = verify_text(text, progress=progress)
    except LinkstepError as error:
        facts = VerificationReport((UnreadableFile.of(title, str(error)),)).to_json()["files"][0]
        blamed = Finding("error", "unreadable", str(error))
        return Panel("file", title, _with_text(text, title, facts, [blamed]) | _not_played("It cannot be read."))
    facts = VerificationReport((VerifiedFile.of(title, report),)).to_json()["files"][0]
    data = _with_text(text, title, facts, report.findings)
    try:
        program = read_program(text, report.dialect)
    except LinkstepError as error:
        why = f"It {error}."  # "cannot run: " and why
        return Panel("file", title, data | _not_played(why) | {"wires": _pairs(text, report.dialect)})
    return Panel("file", title, data | _played(program, title, pricing, on))


def program_panel(program: Program, name: str, pricing: Pricing, on: Topology | None = None) -> Panel:
    """Return the panel of a program that has no text."""
    report: Report = verify_program(program)
    facts = VerificationReport((VerifiedFile.of(name, report),)).to_json()["files"][0]
    return Panel("file", name, _with_text("", name, facts, report.findings) | _played(program, name, pricing, on))


def _with_text(text: str, name: str, facts: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """Return the verdict, the text and where in it everything is; positions are a browser's, in UTF-16."""
    places, lines = find_places(text), Lines(text)
    marks = [_marks(finding, text, places, lines) for finding in findings]
    pieces = _pieces(text, marks, lines)
    units = _Units(text)
    return {
        "file": name,
        "facts": facts,
        "findings": [
            {
                "line": lines.of(spots[0][0]) if spots else None,
                "spots": [[units.of(first), units.of(last)] for first, last in spots],
                "ranks": _ranks(finding),
            }
            for finding, spots in zip(findings, marks, strict=True)
        ],
        "text": [{"at": units.of(at), "line": lines.of(at), "text": text[at:end]} for at, end in pieces],
        "length": len(text),
        "lines": lines.number,
        "places": {
            "rank": places.rank, "block": places.block, "step": places.step,
            "first": units.column(places.first), "last": units.column(places.last),
        },
    }  # fmt: skip


def _marks(finding: Finding, text: str, places: Places, lines: Lines) -> list[tuple[int, int]]:
    """Return the parts of a text that a finding is about: its own place first, then those that its message names."""
    wanted: list[tuple[int, int | None, int | None]] = []
    if finding.rank is not None:
        wanted.append((finding.rank, finding.threadblock, finding.step))
    message = finding.message
    if finding.rule == "unreadable":
        for pattern, base in ((_CHARACTER, 0), (_LINE, 1)):
            if (said := pattern.search(message)) is not None:
                line = lines.of(int(said[1])) if base == 0 else int(said[1])
                first, last = lines.range(line)
                return [(first, min(last, first + _AROUND))] if base else [_near(int(said[1]), first, last)]
        wanted += [_numbers(found.groups()) for found in _PLAN_PLACE.finditer(message)]
        wanted += [(int(found[2]), None, int(found[1])) for found in _LIST_PLACE.finditer(message)]
    wanted += [_numbers(found.groups()) for found in _PLACE.finditer(message)]
    rows = (places.find(*place) for place in wanted[:_MOST_NAMED])
    return list(dict.fromkeys((int(places.first[row]), int(places.last[row])) for row in rows if row is not None))


def _near(character: int, first: int, last: int) -> tuple[int, int]:
    """Return a character's line, or what is around it where the line is long."""
    if last - first <= _AROUND:
        return first, last
    return max(first, character - 40), min(last, character + 40)


def _numbers(groups: tuple[str | None, ...]) -> tuple[int, int | None, int | None]:
    rank, block, step = (None if one is None else int(one) for one in groups)
    assert rank is not None
    return rank, block, step


def _ranks(finding: Finding) -> list[int]:
    """Return the ranks that a finding is about."""
    named = [int(found[1]) for found in _RANK.finditer(finding.message)]
    own = [] if finding.rank is None else [finding.rank]
    return list(dict.fromkeys(own + named))[:8]


def _pieces(text: str, marks: list[list[tuple[int, int]]], lines: Lines) -> list[tuple[int, int]]:
    """Return the parts of a text that are shown, none of which touch."""
    if len(text) <= SHOWN:
        return [(0, len(text))]
    wanted = [(0, _line_end(text, SHOWN))]
    for first, last in (spot for spots in marks for spot in spots):
        begin, end = max(first - _AROUND, 0), min(max(last, first) + _AROUND, first + 4 * _AROUND, len(text))
        feed = text.find("\n", begin, first)
        wanted.append((begin if feed < 0 else feed + 1, end))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(wanted):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _line_end(text: str, most: int) -> int:
    """Return where the last whole line ends, or the end of the part where a line is too long."""
    feed = text.rfind("\n", most - most // 10, most)
    return most if feed < 0 else feed


class _Units:
    """Positions in a text as a browser counts them, which takes two units for a character beyond U+FFFF."""

    def __init__(self, text: str) -> None:
        is_plain = text.isascii() or max(text) <= "\uffff"
        self.wide = np.zeros(0, np.int64) if is_plain else self._wide(text)

    @staticmethod
    def _wide(text: str) -> np.ndarray[Any, Any]:
        return np.flatnonzero(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") > 0xFFFF)

    def column(self, positions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(positions + np.searchsorted(self.wide, positions))

    def of(self, position: int) -> int:
        return position + int(np.searchsorted(self.wide, position))


def _not_played(why: str) -> dict[str, Any]:
    return {"wires": None, "simulation": None, "messages": None, "why_not_played": why}


def _pairs(text: str, dialect: str) -> dict[str, Any] | None:
    """Return the pairs that a file that cannot run names as its peers."""
    pairs = pairs_of(text, dialect)
    return None if pairs is None else wires_of(pairs, orbits=False)


def _played(program: Program, name: str, pricing: Pricing, on: Topology | None) -> dict[str, Any]:
    used = used_links(program)
    wires, topology = wires_of(used, orbits=False), used if on is None else on
    messages = wires_between(program).event.size
    if not messages:
        return _not_played("Nothing is sent between ranks.") | {"wires": wires}
    if messages > MAX_MESSAGES:
        return _not_played(f"It sends {messages} messages, a page plays {MAX_MESSAGES} at most.") | {"wires": wires}
    fabric = pricing.fabric_for(topology.degree).on(topology)
    try:
        done = simulate_program(program, topology, fabric, pricing.size)
    except LinkstepError as error:
        return _not_played(f"{error}.") | {"wires": wires}
    return {
        "wires": wires if on is None else wires_of(on, orbits=False),
        "simulation": SimulationReport.of(done, fabric, pricing, None, name).to_json(),
        "messages": messages_of(done, fabric),
        "why_not_played": None,
    }

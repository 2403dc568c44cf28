"""What a file is, for commands that were given one of the wrong kind: its kind, in words, and which command takes it.

Told by the first bytes, by the format that a JSON file names, and, for wirings and schedules, by reading them. Nothing
here raises on a file that cannot be told: its kind is then unknown.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.files.disk import AnyPath, open_to_read, to_path
from linkstep.files.lldp import is_lldp
from linkstep.files.netbox import is_netbox, is_plan
from linkstep.files.own import loads
from linkstep.files.reading import READABLE, SUFFIXES, WIRING, Reading, read_file

_PLAN = b'"gpus"'
"""A member that every MSCCL++ plan has and no file of ours."""
_TRACE = b'"traceEvents"'
"""The member that trace events are in."""
_HEAD = 2**16
_MOST_JSON = 2**26
_MAGIC = (
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x7fELF", "a program for this machine"),
    (b"#!", "a script"),
)
_XML = {
    b"algo": "an MSCCL program (XML)",
    b"schedule": "a CPU program of linkstep (XML)",
    b"svg": "a picture",
    b"html": "a web page",
    b"system": "a topology dump of NCCL (XML)",
}
_DOCUMENTS = {
    "fabric": ("a fabric", "commands take it as `--fabric {}`"),
    "run": ("a measured run", "`linkstep fit {}` makes a fabric of it"),
    "selector": ("a selector", "`linkstep run {}` runs what it selects"),
    "model": ("a model to train", "`linkstep train-sim {}` takes it"),
}
_TIMED = "with `--timeline t.json` the command writes what `linkstep report` shows"
_REPORTS = {
    "find": "`linkstep report 64 4 -o page.html` makes a page of such an answer",
    "simulation": _TIMED,
    "training": _TIMED,
}
"""How to see again what a command printed as JSON, where that itself cannot be read."""


@dataclass(frozen=True)
class Kind:
    """What a file is: one word, words for a person, and which command takes it ("" where none does)."""

    name: str
    what: str
    use: str = ""


_HELD = ("unknown", "empty", "wiring", "schedule")
"""Kinds of which reading says more, if it fails."""
UNKNOWN = Kind("unknown", "nothing that linkstep knows")


def is_runtime_file(name: str) -> bool:
    """Whether a name is that of a runtime's file, there or not, and not of a recipe or of a file of ours.

    >>> is_runtime_file("allreduce.xml"), is_runtime_file("allreduce.npz"), is_runtime_file("Torus(4,4)")
    (True, False, False)
    """
    suffix = Path(name).suffix.lower()
    if suffix == ".xml":
        return True
    if (suffix in SUFFIXES and suffix != ".json") or not os.path.isfile(name):  # noqa: PTH113
        return False  # Path.is_file raises where a recipe is longer than a file's name can be
    with suppress(FileError), open_to_read(name) as file:  # the reader that comes next says what is wrong
        data = file.read()
        return _PLAN in data or data.lstrip().startswith(b"<")
    return False


def kind_of(path: AnyPath) -> Kind:
    """Return what a file is; ``UNKNOWN`` if that cannot be told, or there is none.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     file = pathlib.Path(here, "wiring.csv")
    ...     _ = file.write_text("ant,bee\\nbee,cat\\ncat,ant\\n")
    ...     kind_of(file).what
    'a wiring of 3 hosts'
    """
    with suppress(FileError, OSError):
        target, name = to_path(path), shlex.quote(str(path))
        if target.is_dir():
            return _read_kind(path, name)
        with open_to_read(path) as file:
            head = file.read(_HEAD)
        return _kind(path, name, head, target.suffix.lower())
    return UNKNOWN


def wrong_kind(path: AnyPath, wanted: str) -> FileError | None:
    """Return what to raise for a file that is not what is ``wanted``; None where nothing better can be said."""
    kind = kind_of(path)
    if kind == UNKNOWN:
        return None
    return FileError(f"{path} is {kind.what}, not {wanted}{f': {kind.use}' if kind.use else ''}")


def read_known(path: AnyPath, wanted: str = "a topology or a schedule", *, both_ways: bool = False) -> Reading:
    """Read a file; one that holds something else is refused by what it is.

    Unless its name says that it is a wiring: then what is wrong with it as such is said.
    """
    try:
        return read_file(path, both_ways=both_ways)
    except FileError:
        is_wiring = to_path(path).suffix.lower() in WIRING or kind_of(path).name in _HELD
        other = None if is_wiring else wrong_kind(path, wanted)
        if other is None:
            raise
        raise other from None


def _kind(path: AnyPath, name: str, head: bytes, suffix: str) -> Kind:
    if not head.strip():
        return Kind("empty", "an empty file")
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return Kind("other", what)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        return _xml_kind(path, name, text, suffix)
    if _TRACE in head:
        return Kind("trace", "a timeline (trace events)", f"`linkstep report {name} -o timeline.html` shows it")
    if suffix == ".json" or text[:1] in (b"{", b"["):
        return _json_kind(path, name)
    return _read_kind(path, name) if suffix in READABLE else UNKNOWN


def _xml_kind(path: AnyPath, name: str, text: bytes, suffix: str) -> Kind:
    bare = re.sub(rb"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>", b"", text, flags=re.DOTALL)
    tag = re.match(rb"\s*<([A-Za-z]+)", bare)
    if tag is None:
        return UNKNOWN
    if tag[1] == b"graphml" and suffix in READABLE:
        return _read_kind(path, name)
    what = _XML.get(tag[1], f"XML that starts with <{tag[1].decode()[:40]}>")
    if tag[1] in (b"algo", b"schedule"):
        return _runtime(what, name)
    return Kind("other", what)


def _runtime(what: str, name: str) -> Kind:
    return Kind("runtime", what, f"`linkstep verify {name}` proves it")


def _json_kind(path: AnyPath, name: str) -> Kind:
    with open_to_read(path) as file:
        data = file.read(_MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        return UNKNOWN
    document = loads(data) if b'"lldp"' not in data else None
    if document is None or is_lldp(document) or is_netbox(document) or is_plan(document):
        return _read_kind(path, name)
    first = document[0] if isinstance(document, list) and document else document
    if not isinstance(first, dict):
        return UNKNOWN
    form = first.get("format")
    if form in ("linkstep", "linkstep/topology", "linkstep/schedule"):
        return _read_kind(path, name)
    own = re.fullmatch(r"linkstep[-/](.+)", form) if isinstance(form, str) else None  # a dash in files of version 1
    if own is not None and own[1] in _DOCUMENTS:
        what, use = _DOCUMENTS[own[1]]
        return Kind(own[1], what, use.format(name))
    if "gpus" in first:
        return _runtime("an MSCCL++ plan (JSON)", name)
    report = first.get("report") if own is None else own[1]
    if isinstance(report, str):
        return Kind("report", f"a report of linkstep's ({shown(report)})", _REPORTS.get(report, ""))
    return UNKNOWN


def _read_kind(path: AnyPath, name: str) -> Kind:
    """Return the kind of what can be read as a topology or a schedule."""
    found = read_file(path)
    if isinstance(found.thing, Schedule):
        return Kind("schedule", f"a schedule ({found.thing.collective})", f"`linkstep check {name}` proves it")
    count = found.thing.num_nodes
    return Kind("wiring", f"a wiring of {count} host{'s' * (count != 1)}", f"`linkstep show {name}` describes it")

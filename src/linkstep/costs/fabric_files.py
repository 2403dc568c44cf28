"""Fabrics in files: a small JSON object that every command takes with ``--fabric``.

Quantities are exact text with units, or fractions of seconds and bit/s; docs/fabrics.md describes the members. A file
describes wires: where a topology has another number of ports, a link keeps its rate (``Fabric.with_degree``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError
from linkstep.core.text import shown
from linkstep.core.units import Number, parse_bandwidth, parse_time, parse_written, write_bandwidth, write_time
from linkstep.costs.fabric import MAX_DEGREE, Fabric
from linkstep.files.disk import AnyPath, check_writable, to_path
from linkstep.files.documents import naming, read_document, write_document

_KIND = "fabric"


@dataclass(frozen=True)
class _Member:
    """A quantity in a fabric file: the field of ``Fabric`` that it is, and how it is read and written."""

    field: str
    parse: Callable[[Number], Fraction]
    write: Callable[[Fraction], str]


_MEMBERS = {
    "alpha": _Member("alpha", parse_time, write_time),
    "bandwidth": _Member("node_bandwidth", parse_bandwidth, write_bandwidth),
    "overhead": _Member("overhead", parse_time, write_time),
    "reduction": _Member("reduction_bandwidth", parse_bandwidth, write_bandwidth),
    "host_bandwidth": _Member("host_bandwidth", parse_bandwidth, write_bandwidth),
    "message": _Member("message", parse_time, write_time),
    "hop": _Member("hop", parse_time, write_time),
    "switching": _Member("switching", parse_time, write_time),
}
_ALWAYS = ("alpha", "bandwidth", "overhead", "reduction")
"""Written even where they say nothing."""
_KNOWN = ("format", "version", *_MEMBERS, "degree", "source")


def check_fabric_path(path: AnyPath) -> None:
    """Raise FileError if no fabric can be saved there: to ask before long work, not after."""
    if to_path(path).suffix.lower() != ".json":
        raise FileError(f"{path}: the name of a fabric file must end in .json")
    check_writable(path)


def save_fabric(fabric: Fabric, path: AnyPath, source: Mapping[str, Any] | None = None) -> None:
    """Write a fabric to a .json file, exactly; ``source`` is kept beside it and says where the figures are from.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save_fabric(Fabric.of("12.3us", "200Mbps", 4, overhead="21us"), pathlib.Path(here, "my.json"))
    ...     print(pathlib.Path(here, "my.json").read_text(), end="")
    {
      "format": "linkstep-fabric",
      "version": 1,
      "alpha": "12.3us",
      "bandwidth": "200Mbps",
      "overhead": "21us",
      "reduction": null,
      "degree": 4,
      "source": null
    }
    """
    check_fabric_path(path)
    check_kind("fabric", fabric, Fabric)
    members: dict[str, Any] = {}
    for name, member in _MEMBERS.items():
        value = getattr(fabric, member.field)
        if value is not None:
            member.parse(value)  # what cannot be read again is not written
        if name in _ALWAYS or value:
            members[name] = None if value is None else member.write(value)
    write_document(path, _KIND, {**members, "degree": fabric.degree, "source": source})


def load_fabric(path: AnyPath) -> Fabric:
    """Return the fabric in a file; FileError of one line if it holds none."""
    document = read_document(path, _KIND)
    with naming(path):
        for name in ("alpha", "bandwidth", "degree"):
            if document.get(name) is None:
                raise FileError(f"has no {name!r}, which a fabric needs")
        for name in document:
            if name not in _KNOWN:
                close = get_close_matches(name, _KNOWN, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_MEMBERS)}"
                raise FileError(f"has {shown(name)}, which no fabric has: {hint}")
        degree = document["degree"]
        if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
            raise FileError(f"degree must be an integer in [1, {MAX_DEGREE}], not {shown(degree)}")
        given = {
            member.field: parse_written(document[name], member.parse)
            for name, member in _MEMBERS.items()
            if document.get(name) is not None
        }
        return Fabric.of(degree=degree, **given)

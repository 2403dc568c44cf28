"""Fabrics in files: a small JSON object that every command takes with ``--fabric``.

Quantities are exact text with units, or fractions of seconds and bit/s; docs/concepts/fabrics.md describes the members.
A file describes wires: where a topology has another number of ports, a link keeps its rate (``Fabric.with_degree``).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError
from linkstep.core.inputs import hook
from linkstep.core.text import shown
from linkstep.core.units import parse_written
from linkstep.costs.fabric import MAX_DEGREE, Fabric
from linkstep.files.disk import AnyPath, check_writable, to_path
from linkstep.files.documents import VERSION, naming, read_document, write_document

_KIND = "fabric"


_FIRST = ("alpha", "node_bandwidth", "overhead", "reduction_bandwidth")
"""Members that are always written."""
_OLDER = {"node_bandwidth": "bandwidth", "reduction_bandwidth": "reduction"}
"""What version 1 calls the same."""


def members(version: int = VERSION) -> dict[str, str]:
    """Return the quantities in a fabric file, each with its field of ``Fabric``, which has its name since version 2.

    >>> list(members())
    ['alpha', 'node_bandwidth', 'overhead', 'reduction_bandwidth', 'host_bandwidth', 'message', 'hop', 'switching']
    """
    names = (*_FIRST, *(name for name in Fabric.quantities() if name not in _FIRST))
    return {_OLDER.get(name, name) if version == 1 else name: name for name in names}


def check_fabric_path(path: AnyPath) -> None:
    """Raise FileError if no fabric can be saved there: to ask before long work, not after."""
    if to_path(path).suffix.lower() != ".json":
        raise FileError(f"{path}: the name of a fabric file must end in .json")
    check_writable(path)


def save_fabric(fabric: Fabric, path: AnyPath, source: Mapping[str, Any] | None = None) -> None:
    """Write a fabric, or that of a fit, to a .json file, exactly; ``source`` is kept and says where figures are from.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save_fabric(Fabric.of("12.3us", "200Mbps", 4, overhead="21us"), pathlib.Path(here, "my.json"))
    ...     print(pathlib.Path(here, "my.json").read_text(), end="")
    {
      "format": "linkstep/fabric",
      "version": 2,
      "alpha": "12.3us",
      "node_bandwidth": "200Mbps",
      "overhead": "21us",
      "reduction_bandwidth": null,
      "degree": 4,
      "source": null
    }
    """
    check_fabric_path(path)
    own = hook(fabric, "_fabric_")
    fabric = check_kind("fabric", fabric if own is None else own(), Fabric)
    quantities, written = Fabric.quantities(), dict[str, Any]()
    for name, field in members().items():
        value = fabric.value_of(field)
        if value is not None:
            quantities[field].parse(value)  # what cannot be read again is not written
        if name in _FIRST or value:
            written[name] = None if value is None else quantities[field].write(value)
    write_document(path, _KIND, {**written, "degree": fabric.degree, "source": source})


def load_fabric(path: AnyPath) -> Fabric:
    """Return the fabric in a file; FileError of one line if it holds none.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save_fabric(Fabric.of("10us", "100Gbps", 4), pathlib.Path(here, "fabric.json"))
    ...     load_fabric(pathlib.Path(here, "fabric.json"))
    <Fabric 10us a hop, 100Gbps over 4 ports>
    """
    document = read_document(path, _KIND)
    there = members(document["version"])
    known = ("format", "version", *there, "degree", "source")
    with naming(path):
        for name in ("alpha", "node_bandwidth" if "node_bandwidth" in there else "bandwidth", "degree"):
            if document.get(name) is None:
                raise FileError(f"has no {name!r}, which a fabric needs")
        for name in document:
            if name not in known:
                close = [_OLDER[name]] if name in _OLDER else get_close_matches(name, known, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(there)}"
                raise FileError(f"has {shown(name)}, which no fabric has: {hint}")
        degree = document["degree"]
        if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
            raise FileError(f"degree must be an integer in [1, {MAX_DEGREE}], not {shown(degree)}")
        quantities = Fabric.quantities()
        given = {
            field: parse_written(document[name], quantities[field].parse)
            for name, field in there.items()
            if document.get(name) is not None
        }
        return Fabric.of(degree=degree, **given)

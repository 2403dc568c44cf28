"""Fabrics in files: a small JSON object that every command takes with ``--fabric``.

Quantities are exact text with units, or fractions of seconds and bit/s; docs/fabrics.md describes the members. A file
describes wires: where a topology has another number of ports, a link keeps its rate (``Fabric.with_degree``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError
from linkstep.core.text import shown
from linkstep.core.units import Number, parse_bandwidth, parse_time, write_bandwidth, write_time
from linkstep.costs.fabric import MAX_DEGREE, Fabric
from linkstep.files.disk import AnyPath, check_writable, to_path
from linkstep.files.documents import naming, read_document, write_document

_KIND = "fabric"
_FRACTION = re.compile(r"\d{1,1000}/0*[1-9]\d{0,999}", re.ASCII)


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
    reduction = check_kind("fabric", fabric, Fabric).reduction_bandwidth
    # What cannot be read again is not written.
    Fabric.of(fabric.alpha, fabric.node_bandwidth, fabric.degree, reduction, fabric.overhead)
    members = {
        "alpha": write_time(fabric.alpha),
        "bandwidth": write_bandwidth(fabric.node_bandwidth),
        "overhead": write_time(fabric.overhead),
        "reduction": None if reduction is None else write_bandwidth(reduction),
        "degree": fabric.degree,
        "source": source,
    }
    write_document(path, _KIND, members)


def load_fabric(path: AnyPath) -> Fabric:
    """Return the fabric in a file; FileError of one line if it holds none."""
    document = read_document(path, _KIND)
    with naming(path):
        for name in ("alpha", "bandwidth", "degree"):
            if document.get(name) is None:
                raise FileError(f"has no {name!r}, which a fabric needs")
        degree = document["degree"]
        if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
            raise FileError(f"degree must be an integer in [1, {MAX_DEGREE}], not {shown(degree)}")
        reduction = document.get("reduction")
        return Fabric.of(
            _quantity(document["alpha"], parse_time),
            _quantity(document["bandwidth"], parse_bandwidth),
            degree,
            None if reduction is None else _quantity(reduction, parse_bandwidth),
            _quantity(document.get("overhead") or 0, parse_time),
        )


def _quantity(value: Number, parse: Callable[[Number], Fraction]) -> Fraction:
    """Read ``12.3us``, or a fraction without a unit such as ``1/300000``."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return parse(Fraction(value))
    return parse(value)

"""Which topology of an answer serves a workload best."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.core.errors import FileError
from linkstep.core.units import parse_size
from linkstep.costs import Fabric
from linkstep.files import wrong_kind
from linkstep.problem import Objective, Workload, ranked
from linkstep.search.answer import Answer
from linkstep.search.choice import Choice

__all__ = ["Workload", "load_workload", "pick"]


def load_workload(path: Path) -> Workload:
    """Read a job's collectives: ``collective,size,count`` lines, or a JSON list of objects with these keys."""
    try:
        return _read(path)
    except FileError:
        other = None if _is_meant(path) else wrong_kind(path, "a list of collectives")
        if other is None:
            raise
        raise other from None


def _is_meant(path: Path) -> bool:
    """Whether a file has the header of a list of collectives, or is empty: then its own mistake is to be said."""
    with suppress(OSError, UnicodeDecodeError):
        head = path.read_text().partition("\n")[0]
        return not head.strip() or "size" in head.split(",")
    return False


def _read(path: Path) -> Workload:
    try:
        text = path.read_text()
        rows: list[Any] = json.loads(text) if path.suffix == ".json" else list(csv.DictReader(text.splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"{path}: is not JSON: {error}") from None
    found: dict[str, list[tuple[Fraction, Fraction]]] = {"allreduce": [], "all-to-all": []}
    if not isinstance(rows, list) or not rows:
        raise FileError(f"{path}: must be a list of collectives: collective, size, count")
    for number, row in enumerate(rows, 1):
        try:
            size, count = parse_size(row["size"]), Fraction(str(row.get("count") or 1))
            found[row["collective"]].append((size, count))
        except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            raise FileError(
                f"{path}: entry {number} must have collective (allreduce or all-to-all), size (such as 25MB) and count"
            ) from None
    return Workload(tuple(found["allreduce"]), tuple(found["all-to-all"]))


def pick(answer: Answer, fabric: Fabric, objective: Objective) -> Choice | None:
    """Return the topology of the frontier with the least time; None if there is none whose time is known."""
    found = ranked(answer.frontier, objective, fabric)
    return found[0][1] if found else None

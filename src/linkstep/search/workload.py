"""What a job communicates, and which topology of an answer serves it best."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.core.units import Number, parse_size
from linkstep.costs import Cost, Fabric
from linkstep.search.answer import Answer
from linkstep.search.choice import Choice


@dataclass(frozen=True)
class Workload:
    """What a job communicates: allreduces and all-to-alls by bytes, each with how often it happens."""

    allreduce: tuple[tuple[Fraction, Fraction], ...]
    all_to_all: tuple[tuple[Fraction, Fraction], ...] = ()

    @classmethod
    def of(cls, size: Number, *, all_to_all: bool = False) -> Workload:
        """One allreduce of this size, or one all-to-all."""
        one = ((parse_size(size), Fraction(1)),)
        return cls((), one) if all_to_all else cls(one)

    def time(self, fabric: Fabric, num_nodes: int, allreduce: Cost, flow: Fraction | None) -> Fraction | None:
        """Return seconds in all, given what an allreduce costs; None if all-to-all counts and its flow is unknown."""
        if self.all_to_all and flow is None:
            return None
        total = Fraction(0)
        for size, count in self.allreduce:
            total += count * fabric.time(allreduce, Collective.ALLREDUCE, size)
        for size, count in self.all_to_all:
            assert flow is not None
            total += count * fabric.all_to_all_time(flow, num_nodes, size)
        return total


def load_workload(path: Path) -> Workload:
    """Read a job's collectives: ``collective,size,count`` lines, or a JSON list of objects with these keys."""
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


def pick(answer: Answer, fabric: Fabric, workload: Workload) -> Choice | None:
    """Return the topology of the frontier with the least time, None if the frontier is empty."""
    timed = [(workload.time(fabric, answer.num_nodes, c.allreduce_cost, c.flow), c) for c in answer.frontier]
    known = [(time, choice) for time, choice in timed if time is not None]
    return min(known, key=lambda pair: pair[0])[1] if known else None

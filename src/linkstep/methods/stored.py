"""Schedules of small bases that BFB does not reach (table:toposummary): found by search, stored, checked on load.

The files are made by scripts/make_bases.py; each holds an allgather on a base, or on its transpose (``T(...)``), from
which the reduce-scatter comes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from linkstep.core.schedule import Schedule
from linkstep.correctness import check_allgather
from linkstep.files import load_schedule

_FOLDER = Path(__file__).parent.parent / "data" / "bases"


STEPS = {"Diamond": 3, "DBJMod(2,3)": 4, "DBJMod(2,4)": 5, "DBJMod(3,2)": 3, "DBJMod(4,2)": 3}
"""The bases with stored schedules, and how many steps these take; all are bandwidth-optimal, transposed too."""


@cache
def _names() -> frozenset[str]:
    return frozenset(file.stem for file in _FOLDER.glob("*.json"))


@cache
def stored_schedule(recipe: str, transposed: bool = False) -> Schedule | None:
    """Return the allgather stored for a base, or for its transpose, or None if BFB is as good.

    >>> stored_schedule("K_5") is None
    True
    """
    name = f"T({recipe})" if transposed else recipe
    if name not in _names():  # a recipe may be longer than the name of any file
        return None
    schedule = load_schedule(_FOLDER / f"{name}.json")
    check_allgather(schedule)
    return schedule

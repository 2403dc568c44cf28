"""What stands for a topology where one is asked for: itself, a recipe, or the name of either.

``linkstep.core.inputs`` says all that stands for one; this reads names, and keeps the recipe where there is one.
"""

from __future__ import annotations

import os
from pathlib import Path

from linkstep.core.inputs import AnyPath, WiringLike, as_wiring
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files import SUFFIXES, load
from linkstep.recipe.member import Recipe
from linkstep.recipe.notation import parse


def resolve(topology: WiringLike) -> tuple[Topology, Recipe | None]:
    """Return the topology that was given or described, and its recipe where there is one.

    >>> resolve("K_4")
    (<Topology 'K_4' N=4 d=3 links=12>, parse('K_4'))
    """
    wiring = as_wiring(topology)
    return (wiring, None) if isinstance(wiring, Topology) else (wiring.topology(), wiring)


def read(name: AnyPath) -> Topology | Schedule | Recipe:
    """Return what a name is of: what ends like a file of ours, exists or is a path is a file, all else a recipe.

    >>> read("K_4")
    parse('K_4')
    """
    if not isinstance(name, str) or Path(name).suffix.lower() in SUFFIXES or _exists(name):
        return load(name)
    return parse(name)


def _exists(name: str) -> bool:
    """Whether there is a file of this name; text that no file system takes, such as a long recipe, names none."""
    try:
        return bool(name) and os.path.isfile(name)  # noqa: PTH113 (Path's raises at long ones)
    except ValueError:
        return False

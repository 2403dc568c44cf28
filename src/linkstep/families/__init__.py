"""Families of topologies: every row of table:toposummary and tab:exampledistreg, Cayley digraphs, what people own.

One file each; a family is a row of ``FAMILIES`` and its builders are plain functions of this package.
"""

import re

from linkstep.core.errors import LinkstepError
from linkstep.core.tables import Rows
from linkstep.families import bundles as _bundles
from linkstep.families import cayley as _cayley
from linkstep.families import circulant as _circulant
from linkstep.families import complete as _complete
from linkstep.families import cubes as _cubes
from linkstep.families import de_bruijn as _de_bruijn
from linkstep.families import distance_regular as _distance_regular
from linkstep.families import dragonfly as _dragonfly
from linkstep.families import lift as _lift
from linkstep.families import mesh as _mesh
from linkstep.families import paley as _paley
from linkstep.families import polygons as _polygons
from linkstep.families import rings as _rings
from linkstep.families import subsets as _subsets
from linkstep.families import torus as _torus
from linkstep.families import trees as _trees
from linkstep.families._family import Args, Family, always, format_argument, never

_TAKEN = frozenset({"L", "Bi", "T", "Cat", "Copies", "Idle", "Insert", "Remove", "Swap"})
"""Words of recipes that are no families'."""


def _unwritable(family: Family) -> str | None:
    """Return why recipes cannot name a family, or None."""
    for word in (family.name, *family.aliases):
        if not re.fullmatch("[A-WYZa-wyz][A-Za-z]*", word) or word in _TAKEN:
            return f"{word!r} cannot begin a recipe: take letters, no x first, and none of {', '.join(sorted(_TAKEN))}"
    return None


FAMILIES = Rows(
    Family,
    "family",
    (
        *_complete.FAMILIES,
        *_cubes.FAMILIES,
        *_circulant.FAMILIES,
        *_rings.FAMILIES,
        *_bundles.FAMILIES,
        *_de_bruijn.FAMILIES,
        *_torus.FAMILIES,
        *_mesh.FAMILIES,
        *_dragonfly.FAMILIES,
        *_trees.FAMILIES,
        *_distance_regular.FAMILIES,
        *_subsets.FAMILIES,
        *_paley.FAMILIES,
        *_polygons.FAMILIES,
        *_cayley.FAMILIES,
        *_lift.FAMILIES,
    ),
    key=lambda family: family.notation,
    words=lambda family: (family.notation, family.name, *family.aliases),
    check=_unwritable,
)


def families_called(word: str) -> list[Family]:
    """Return the rows that a word stands for: those that are here or, if there are none, of plug-ins.

    >>> [family.notation for family in families_called("Q")]
    ['Q(n)']
    """
    found = [family for family in FAMILIES.known if word in (family.name, *family.aliases)]
    return found or [family for family in FAMILIES if word in (family.name, *family.aliases)]


def family_written(notation: str) -> Family:
    """Return the row whose members are written so.

    >>> family_written("Torus(d1,d2,...)").title
    'torus'
    """
    for rows in (FAMILIES.known, FAMILIES):
        for family in rows:
            if family.notation == notation:
                return family
    raise LinkstepError(f"no family is written {notation!r}: `linkstep families` lists them")


__all__ = [
    "FAMILIES",
    "Args",
    "Family",
    "always",
    "families_called",
    "family_written",
    "format_argument",
    "never",
]

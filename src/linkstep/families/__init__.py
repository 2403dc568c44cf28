"""Families of topologies: every row of table:toposummary and tab:exampledistreg, tori, Cayley digraphs.

One file each; a family is a row of ``FAMILIES`` and its builders are plain functions of this package.
"""

from linkstep.families import bundles as _bundles
from linkstep.families import cayley as _cayley
from linkstep.families import circulant as _circulant
from linkstep.families import complete as _complete
from linkstep.families import cubes as _cubes
from linkstep.families import de_bruijn as _de_bruijn
from linkstep.families import distance_regular as _distance_regular
from linkstep.families import lift as _lift
from linkstep.families import paley as _paley
from linkstep.families import polygons as _polygons
from linkstep.families import rings as _rings
from linkstep.families import subsets as _subsets
from linkstep.families import torus as _torus
from linkstep.families import trees as _trees
from linkstep.families._family import Family, format_argument

FAMILIES: tuple[Family, ...] = (
    *_complete.FAMILIES,
    *_cubes.FAMILIES,
    *_circulant.FAMILIES,
    *_rings.FAMILIES,
    *_bundles.FAMILIES,
    *_de_bruijn.FAMILIES,
    *_torus.FAMILIES,
    *_trees.FAMILIES,
    *_distance_regular.FAMILIES,
    *_subsets.FAMILIES,
    *_paley.FAMILIES,
    *_polygons.FAMILIES,
    *_cayley.FAMILIES,
    *_lift.FAMILIES,
)


def family_written(notation: str) -> Family:
    """Return the row whose members are written so.

    >>> family_written("Torus(d1,d2,...)").title
    'torus'
    """
    return next(family for family in FAMILIES if family.notation == notation)


__all__ = ["FAMILIES", "Family", "family_written", "format_argument"]

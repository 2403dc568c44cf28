"""Families of topologies: every row of table:toposummary and tab:exampledistreg, tori, Cayley digraphs.

One file each; a family is a row of ``FAMILIES`` and its builders are plain functions of this package.
"""

from linkstep.families import circulant as _circulant
from linkstep.families._family import Family, format_argument

FAMILIES: tuple[Family, ...] = (*_circulant.FAMILIES,)

__all__ = ["FAMILIES", "Family", "format_argument"]

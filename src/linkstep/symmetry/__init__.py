"""Symmetry of topologies: what builders know, what follows for what is made from them, what a search finds.

``Symmetry`` is the value; ``known_symmetry`` asks nobody, ``symmetry.search.symmetry_of`` searches where nothing is
known. Libraries (``symmetry.libraries``) are optional, and never asked where a builder knows.
"""

from linkstep.symmetry.known import declare, known_symmetry
from linkstep.symmetry.value import Origin, Symmetry

__all__ = ["Origin", "Symmetry", "declare", "known_symmetry"]

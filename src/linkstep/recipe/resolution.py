"""What stands for a topology where one is asked for: itself, a recipe, or the text of one."""

from __future__ import annotations

from linkstep.core.arguments import check_kind
from linkstep.core.topology import Topology
from linkstep.recipe.member import Recipe
from linkstep.recipe.notation import parse


def resolve(topology: Topology | Recipe | str) -> tuple[Topology, Recipe | None]:
    """Return the topology that was given or described, and its recipe where there is one.

    >>> resolve("K_4")
    (<Topology 'K_4' N=4 d=3 links=12>, parse('K_4'))
    """
    check_kind("topology", topology, Topology, Recipe, str)
    if isinstance(topology, Topology):
        return topology, None
    recipe = parse(topology) if isinstance(topology, str) else topology
    return recipe.topology(), recipe

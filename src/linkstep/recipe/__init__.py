"""Recipes: ``L^3(C(16,{3,4}))`` as a value. Parse, print, predict N and d, build the topology."""

from linkstep.recipe._parse import parse
from linkstep.recipe._recipe import (
    Bidirectional,
    Degree,
    Line,
    Member,
    Power,
    Product,
    Recipe,
    Transpose,
)

__all__ = ["Bidirectional", "Degree", "Line", "Member", "Power", "Product", "Recipe", "Transpose", "parse"]

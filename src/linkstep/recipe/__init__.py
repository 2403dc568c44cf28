"""Recipes: ``L^3(C(16,{3,4}))`` as a value. Parse, print, predict N, d and cost, build topology and schedule."""

from linkstep.recipe.expanded import Bidirectional, Degree, Line, Power, Product, Transpose
from linkstep.recipe.grafted import Graft, Insert, Remove, Swap
from linkstep.recipe.member import Member, Prediction, Recipe
from linkstep.recipe.notation import parse
from linkstep.recipe.ports import Copies, Idle, Union
from linkstep.recipe.resolution import resolve

__all__ = [
    "Bidirectional",
    "Copies",
    "Degree",
    "Graft",
    "Idle",
    "Insert",
    "Line",
    "Member",
    "Power",
    "Prediction",
    "Product",
    "Recipe",
    "Remove",
    "Swap",
    "Transpose",
    "Union",
    "parse",
    "resolve",
]

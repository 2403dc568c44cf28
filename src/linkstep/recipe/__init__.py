"""Recipes: ``L^3(C(16,{3,4}))`` as a value. Parse, print, predict N, d and cost, build topology and schedule."""

from linkstep.recipe._expansions import Bidirectional, Degree, Line, Power, Product, Transpose
from linkstep.recipe._parse import parse
from linkstep.recipe._recipe import Member, Prediction, Recipe

__all__ = [
    "Bidirectional",
    "Degree",
    "Line",
    "Member",
    "Power",
    "Prediction",
    "Product",
    "Recipe",
    "Transpose",
    "parse",
]

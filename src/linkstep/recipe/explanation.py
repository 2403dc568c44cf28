"""How a recipe is put together, in words, from the inside out."""

from __future__ import annotations

from linkstep.core.text import counted
from linkstep.costs import Cost
from linkstep.recipe import (
    Bidirectional,
    Copies,
    Degree,
    Idle,
    Insert,
    Line,
    Member,
    Power,
    Product,
    Recipe,
    Remove,
    Swap,
    Transpose,
    Union,
)


def _describe(recipe: Recipe) -> str:
    if isinstance(recipe, Member):
        return f"a {recipe.family.title}"
    if isinstance(recipe, Line):
        times = "" if recipe.times == 1 else f", {recipe.times} times over"
        return f"the line graph{times}: every link becomes a server, d stays"
    if isinstance(recipe, Degree):
        return (
            f"{recipe.times} copies of each server, linked wherever the originals are: N and d grow {recipe.times}-fold"
        )
    if isinstance(recipe, Power):
        return f"{recipe.times} dimensions, each wired like the base"
    if isinstance(recipe, Product):
        return "one dimension for each factor"
    if isinstance(recipe, Bidirectional):
        return "every link gets a partner the other way"
    if isinstance(recipe, Insert):
        return f"{counted(len(recipe.changes), 'server')} put into links of the base"
    if isinstance(recipe, Remove):
        return f"{counted(len(recipe.changes), 'server')} taken out, the links joined"
    if isinstance(recipe, Swap):
        return f"{counted(len(recipe.changes), 'pair')} of links that exchange ends"
    if isinstance(recipe, Idle):
        return f"{counted(recipe.count, 'port')} of every server idle"
    if isinstance(recipe, Copies):
        return f"{recipe.count} cables in parallel for each: d grows {recipe.count}-fold"
    if isinstance(recipe, Union):
        return "the cables of all these on the same servers"
    assert isinstance(recipe, Transpose)
    return "every link the other way round (the transpose)"


def explain(recipe: Recipe, cost: Cost | None = None, method: str = "") -> list[str]:
    """Return one line a step of the construction, with N and d, and last what an allreduce on it costs, and by what.

    >>> from linkstep.recipe import parse
    >>> print("\\n".join(explain(parse("L(K_{2,2})"), Cost(6, 2), "breadth-first broadcast")))
    1. K_{2,2}: a complete bipartite graph; N=4, d=2
    2. L(K_{2,2}): the line graph: every link becomes a server, d stays; N=8, d=2
    3. an allreduce on it by breadth-first broadcast: 6 alpha + 2 M/B
    """
    seen: list[Recipe] = []

    def visit(part: Recipe) -> None:
        for inner in part.parts:
            visit(inner)
        if part not in seen:
            seen.append(part)

    visit(recipe)
    lines = [
        f"{number}. {part.short}: {_describe(part)}; N={part.num_nodes}, d={part.degree}"
        for number, part in enumerate(seen, 1)
    ]
    made = [] if cost is None else [f"{len(seen) + 1}. an allreduce on it by {method}: {cost}"]
    return lines + made

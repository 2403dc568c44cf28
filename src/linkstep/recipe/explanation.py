"""How a recipe is put together, in words, from the inside out."""

from __future__ import annotations

from collections.abc import Sequence

from linkstep.recipe import Bidirectional, Degree, Insert, Line, Member, Power, Product, Recipe, Remove, Swap, Transpose


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
        return f"{_count(recipe.changes, 'server')} put into links of the base"
    if isinstance(recipe, Remove):
        return f"{_count(recipe.changes, 'server')} taken out, the links joined"
    if isinstance(recipe, Swap):
        return f"{_count(recipe.changes, 'pair')} of links that exchange ends"
    assert isinstance(recipe, Transpose)
    return "every link the other way round (the transpose)"


def _count(changes: Sequence[object], noun: str) -> str:
    return f"{len(changes)} {noun}{'' if len(changes) == 1 else 's'}"


def explain(recipe: Recipe, method: str = "expand") -> list[str]:
    """Return one line a step of the construction, with N, d and what the schedule costs then.

    >>> from linkstep.recipe import parse
    >>> print("\\n".join(explain(parse("L(K_{2,2})"))))
    1. K_{2,2}: a complete bipartite graph; N=4, d=2, 2 alpha + 3/4 M/B
    2. L(K_{2,2}): the line graph: every link becomes a server, d stays; N=8, d=2, 3 alpha + 1 M/B
    """
    seen: list[Recipe] = []

    def visit(part: Recipe) -> None:
        for inner in part.parts:
            visit(inner)
        if part not in seen:
            seen.append(part)

    visit(recipe)
    lines = []
    for number, part in enumerate(seen, 1):
        most = "" if part.cost_is_exact else "at most "
        size = f"N={part.num_nodes}, d={part.degree}"
        lines.append(f"{number}. {part.short}: {_describe(part)}; {size}, {most}{part.cost}")
    if method == "bfb" and recipe.parts and not isinstance(recipe, Product):
        lines.append(f"{len(seen) + 1}. breadth-first broadcast on the result instead of the expanded schedule")
    return lines

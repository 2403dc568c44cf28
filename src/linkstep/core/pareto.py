"""The Pareto filter: which of many things no other equals or beats. What the things are is the caller's business."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Thing = TypeVar("Thing")


def pareto(
    things: Iterable[Thing], figures: Callable[[Thing], tuple[Any, ...]], tie: Callable[[Thing], Any]
) -> list[Thing]:
    """Return the things that no other equals or beats in every figure (less is better), sorted by their figures.

    Of things with equal figures the one stays for which ``tie`` is least.

    >>> pareto([(3, 1), (2, 2), (3, 3), (1, 4)], figures=lambda pair: pair, tie=str)
    [(1, 4), (2, 2), (3, 1)]
    """
    kept: list[tuple[tuple[Any, ...], Thing]] = []
    ranked = sorted(((figures(thing), thing) for thing in things), key=lambda pair: (pair[0], tie(pair[1])))
    for found, thing in ranked:  # whatever beats a thing sorts before it
        if not any(all(a <= b for a, b in zip(better, found, strict=True)) for better, _ in kept):
            kept.append((found, thing))
    return [thing for _, thing in kept]

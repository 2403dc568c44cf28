"""Jobs with something changed, to find what a figure of the paper implies: compute times, and what is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from linkstep.simulation.training import Job

_ONE = Fraction(1)
_MOST_COMPUTE = 40
"""Compute times are looked for up to so many times ours."""


def with_changes(job: Job, compute: Fraction = _ONE, gradients: Fraction = _ONE, exchanged: Fraction = _ONE) -> Job:
    """Return a job with compute times, gradients and what is sent to experts so many times as large."""
    layers = (
        replace(
            layer,
            forward=compute * layer.forward,
            backward=compute * layer.backward,
            gradient_bytes=gradients * layer.gradient_bytes,
            all_to_all_bytes=exchanged * layer.all_to_all_bytes,
        )
        for layer in job.layers
    )
    return replace(job, layers=tuple(layers))


def implied_compute(value: Callable[[Fraction], Fraction], figure: int) -> Fraction:
    """Return how many times ours compute times are, to a hundredth, where a value that falls with them is a figure."""
    low, high = 0, 100 * _MOST_COMPUTE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(Fraction(middle, 100)) > figure else (low, middle)
    return Fraction(high, 100)

"""Jobs with other compute times, gradients or exchanges, to find what a figure of the paper implies of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from linkstep.simulation.training import Job

_ONE = Fraction(1)
_MOST_COMPUTE = 40
"""The largest factor on our compute times that is looked for."""


def with_changes(job: Job, compute: Fraction = _ONE, gradients: Fraction = _ONE, exchanged: Fraction = _ONE) -> Job:
    """Return a job whose compute times, gradients and data sent to experts are multiplied by these factors."""
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
    """Return the least factor on our compute times, in hundredths, at which ``value`` is at most the paper's figure.

    ``value`` is a function of the factor that falls as the factor grows, such as a speedup in percent.
    """
    low, high = 0, 100 * _MOST_COMPUTE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(Fraction(middle, 100)) > figure else (low, middle)
    return Fraction(high, 100)

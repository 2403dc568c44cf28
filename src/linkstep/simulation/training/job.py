"""A job: what one of N servers computes and communicates in an iteration, layer by layer. Exact, and only data.

Not here: where the figures come from (``model``) and how they run in time (``streams``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Layer:
    """A part of a model on one server, in seconds and bytes."""

    name: str
    forward: Fraction
    """Seconds of the forward pass."""
    backward: Fraction
    """Seconds of the backward pass; the layer's gradients are ready at its end."""
    gradient_bytes: Fraction = Fraction(0)
    """Gradients that all servers average: those of parameters that every server holds."""
    all_to_all_bytes: Fraction = Fraction(0)
    """Where the layer is one of experts, what a server sends in an all-to-all, of which there are four an iteration:
    before and after the layer, in the forward and in the backward pass."""


@dataclass(frozen=True)
class Job:
    """An iteration of a model on each of ``num_nodes`` servers; layers are in the order of the forward pass.

    >>> job = Job("two", 4, (Layer("a", Fraction(1), Fraction(2), Fraction(100)), Layer("b", Fraction(3), Fraction(6))))
    >>> job.compute, job.gradient_bytes, job.num_all_to_alls
    (Fraction(12, 1), Fraction(100, 1), 0)
    """

    model: str
    num_nodes: int
    layers: tuple[Layer, ...]
    batch: Fraction | None = None
    """Samples a server trains on in an iteration, where that is known."""
    memory: Fraction = Fraction(0)
    """Bytes of parameters, gradients and optimizer state on a server."""

    @property
    def compute(self) -> Fraction:
        """Seconds of computing."""
        return sum((layer.forward + layer.backward for layer in self.layers), Fraction(0))

    @property
    def gradient_bytes(self) -> Fraction:
        """Bytes that are averaged in all."""
        return sum((layer.gradient_bytes for layer in self.layers), Fraction(0))

    @property
    def num_all_to_alls(self) -> int:
        """How many all-to-alls there are in an iteration."""
        return 4 * sum(layer.all_to_all_bytes > 0 for layer in self.layers)

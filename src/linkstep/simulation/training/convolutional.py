"""Convolutional networks from their rows: shapes are followed from the image on, parameters and FLOPs counted.

A row is a list: ``["conv", channels, kernel, stride, padding]``, ``["pool", kernel, stride, padding]``, ``["average",
size]`` (to size x size), ``["linear", outputs]``, and the two blocks of ResNets, ``["basic", channels, stride]`` and
``["bottleneck", channels, stride]``. Activations, norms and pools take no FLOPs worth counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.simulation.training.model import Part

_BOTTLENECK = 4
"""How many times wider a bottleneck is outside."""
_MOST = 10**6
_PADDING = "padding"
"""The only number of a row that may be 0."""


@dataclass
class _Shape:
    """What comes out of the rows so far: channels of height x width numbers."""

    channels: int
    height: int
    width: int
    normed: bool
    """Whether each convolution is followed by a norm, two numbers a channel, and has no bias."""
    parts: list[Part] = field(default_factory=list)

    def shrink(self, kernel: int, stride: int, padding: int) -> None:
        self.height = (self.height + 2 * padding - kernel) // stride + 1
        self.width = (self.width + 2 * padding - kernel) // stride + 1
        if self.height < 1 or self.width < 1:
            raise LinkstepError(f"a kernel of {kernel} is larger than what the layers before it leave")

    def conv(self, channels: int, kernel: int, stride: int, padding: int) -> None:
        self.shrink(kernel, stride, padding)
        weights = self.channels * channels * kernel * kernel
        self.channels = channels
        self._append("conv", weights + (0 if self.normed else channels), weights * self.height * self.width)
        if self.normed:
            self._append("norm", 2 * channels, 0)

    def linear(self, outputs: int) -> None:
        inputs = self.channels * self.height * self.width
        self.channels, self.height, self.width = outputs, 1, 1
        self._append("linear", inputs * outputs + outputs, inputs * outputs)

    def pool(self, kernel: int, stride: int, padding: int) -> None:
        self.shrink(kernel, stride, padding)

    def average(self, size: int) -> None:
        self.height = self.width = size

    def basic(self, channels: int, stride: int) -> None:
        self._block(channels, stride, ((channels, 3, stride), (channels, 3, 1)))

    def bottleneck(self, channels: int, stride: int) -> None:
        wide = _BOTTLENECK * channels
        self._block(wide, stride, ((channels, 1, 1), (channels, 3, stride), (wide, 1, 1)))

    def _block(self, channels: int, stride: int, convs: Sequence[tuple[int, int, int]]) -> None:
        """Append convolutions with a way past them, itself a convolution where it changes the shape."""
        before = (self.channels, self.height, self.width)
        for width, kernel, step in convs:
            self.conv(width, kernel, step, kernel // 2)
        if stride != 1 or before[0] != channels:
            self.channels, self.height, self.width = before
            self.conv(channels, 1, stride, 0)

    def _append(self, kind: str, parameters: int, products: int) -> None:
        self.parts.append(Part(f"{kind} {len(self.parts) + 1}", parameters, Fraction(2 * products)))


_ROWS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "conv": (_Shape.conv, ("channels", "kernel", "stride", _PADDING)),
    "pool": (_Shape.pool, ("kernel", "stride", _PADDING)),
    "average": (_Shape.average, ("size",)),
    "linear": (_Shape.linear, ("outputs",)),
    "basic": (_Shape.basic, ("channels", "stride")),
    "bottleneck": (_Shape.bottleneck, ("channels", "stride")),
}
"""What a row does, and what its numbers are."""


@dataclass(frozen=True)
class Convolutional:
    """An image's shape, whether convolutions have norms, and the rows."""

    channels: int
    height: int
    width: int
    rows: tuple[tuple[Any, ...], ...]
    normed: bool = False

    def parts(self) -> Iterator[Part]:
        """List the parts in the order of the forward pass.

        >>> [part] = Convolutional(3, 8, 8, (("linear", 10),)).parts()
        >>> part.name, part.parameters, int(part.flops)
        ('linear 1', 1930, 3840)
        """
        shape = _Shape(self.channels, self.height, self.width, self.normed)
        for number, (kind, *values) in enumerate(self.rows, 1):
            if not isinstance(kind, str) or kind not in _ROWS or not _fits(values, _ROWS[kind][1]):
                known = ", ".join(f"{name} ({', '.join(numbers)})" for name, (_, numbers) in _ROWS.items())
                raise LinkstepError(
                    f"row {number} must be one of {known}, all whole numbers from 1 to {_MOST} and a padding from 0, "
                    f"not {shown([kind, *values])}"
                )
            action = _ROWS[kind][0]
            action(shape, *values)
        yield from shape.parts


def _fits(values: Sequence[object], names: Sequence[str]) -> bool:
    """Whether a row has as many numbers as it should, all in their ranges."""
    return len(values) == len(names) and all(
        type(value) is int and (name == _PADDING or value > 0) and 0 <= value <= _MOST
        for value, name in zip(values, names, strict=True)
    )

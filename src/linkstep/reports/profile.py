"""The layers of a model, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.reports.view import FieldForm, Seconds, View
from linkstep.simulation.training import Layer


@dataclass(frozen=True)
class LayerRow:
    """A layer: its passes and its parameters."""

    name: str
    parameters: int
    forward_seconds: Seconds
    backward_seconds: Seconds


@dataclass(frozen=True)
class ProfileReport(View):
    """A model file that was made of measured layers."""

    report: ClassVar[str] = "profile"

    output: str
    """The model file."""
    source: str
    """What was measured, and how."""
    num_layers: int
    """How many."""
    parameters: int
    """Of all layers."""
    forward_seconds: Seconds
    """Of all layers."""
    backward_seconds: Seconds
    """Of all layers."""
    rows: Annotated[tuple[LayerRow, ...], FieldForm.UNWRITTEN]

    @classmethod
    def of(cls, file: str, source: str, layers: Sequence[tuple[Layer, int]]) -> ProfileReport:
        """Add layers up; each comes with its number of parameters."""
        rows = tuple(LayerRow(layer.name, count, layer.forward, layer.backward) for layer, count in layers)
        return cls(
            output=file,
            source=source,
            num_layers=len(rows),
            parameters=sum(row.parameters for row in rows),
            forward_seconds=sum((row.forward_seconds for row in rows), Fraction(0)),
            backward_seconds=sum((row.backward_seconds for row in rows), Fraction(0)),
            rows=rows,
        )

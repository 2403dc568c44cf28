"""Kernels that were compiled before any command needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkstep.reports.view import ClockSeconds, View
from linkstep.warming import Warmth


@dataclass(frozen=True)
class WarmReport(View):
    """What ``linkstep warm`` did."""

    report: ClassVar[str] = "warm"

    kernels: int
    """Kernels that commands need, counted for each kind of arguments."""
    compiled: int
    """How many of them were not there yet."""
    processes: int
    """How many processes compiled."""
    elapsed_seconds: ClockSeconds
    """That it took."""
    folder: str | None
    """Where compiled kernels are kept; null: nowhere, so that every process compiles its own."""

    @classmethod
    def of(cls, warmth: Warmth) -> WarmReport:
        """Show what was done."""
        folder = None if warmth.folder is None else str(warmth.folder)
        return cls(warmth.kernels, warmth.compiled, warmth.processes, warmth.seconds, folder)

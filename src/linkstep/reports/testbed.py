"""Emulated clusters of this machine: all of them, and the cables of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from linkstep.engines.testbed import Testbed, TrunkStatus, health
from linkstep.reports.view import Seconds, View


@dataclass(frozen=True)
class TestbedReport(View):
    """A testbed."""

    report: ClassVar[str] = "testbed"

    name: str
    """What it is called."""
    topology: str | None
    """What it emulates; null for a wiring without a name."""
    hosts: int
    """How many."""
    cables: int
    """How many, cut or not."""
    cut: int
    """Pairs of hosts with a cable that is cut."""
    rate: int
    """bit/s of a link, of the fastest where they differ."""
    delay_seconds: Seconds
    """From one end of a cable to the other."""
    state: str
    """Whether it is whole, or what is missing."""

    @classmethod
    def of(cls, bed: Testbed) -> TestbedReport:
        """Look at a testbed."""
        return cls(
            name=bed.name,
            topology=bed.topology.name or None,
            hosts=bed.num_hosts,
            cables=num_cables(bed),
            cut=len(bed.cut),
            rate=bed.rate,
            delay_seconds=Fraction(bed.delay),
            state=str(health(bed)),
        )


@dataclass(frozen=True)
class TestbedCablesReport(View):
    """The cables of a testbed, with the bytes they carried since it came up."""

    report: ClassVar[str] = "testbed-cables"

    name: str
    """What it is called."""
    topology: str | None
    """What it emulates; null for a wiring without a name."""
    cables: tuple[TrunkStatus, ...]
    """Those between each two hosts together."""

    @classmethod
    def of(cls, bed: Testbed, rows: Sequence[TrunkStatus]) -> TestbedCablesReport:
        """Put the state of cables beside their testbed."""
        return cls(bed.name, bed.topology.name or None, tuple(rows))


def num_cables(bed: Testbed) -> int:
    """Return how many cables a testbed has, cut or not."""
    return sum(trunk.num_cables for trunk in bed.trunks)

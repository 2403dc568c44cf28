"""Emulated clusters of this machine: all of them, and the cables of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from linkstep.engines.testbed import Testbed, TrunkStatus, health
from linkstep.reports.view import BitRate, ByteCount, Seconds, View


@dataclass(frozen=True)
class TestbedRow:
    """A testbed."""

    name: str
    """What it is called."""
    recipe: str | None
    """The topology; null for one without a name."""
    nodes: int
    """Hosts, N."""
    num_cables: int
    """Cut or not."""
    num_cut: int
    """Of them."""
    link_bandwidth: BitRate
    """Of a link, of the fastest where they differ."""
    delay_seconds: Seconds
    """From one end of a cable to the other."""
    state: str
    """Whether it is whole, or what is missing."""

    @classmethod
    def of(cls, bed: Testbed) -> TestbedRow:
        """Look at a testbed."""
        return cls(
            name=bed.name,
            recipe=bed.topology.name or None,
            nodes=bed.num_hosts,
            num_cables=num_cables(bed),
            num_cut=len(bed.cut),
            link_bandwidth=Fraction(bed.rate),
            delay_seconds=Fraction(bed.delay),
            state=str(health(bed)),
        )


@dataclass(frozen=True)
class TestbedsReport(View):
    """The testbeds of this machine."""

    report: ClassVar[str] = "testbeds"

    testbeds: tuple[TestbedRow, ...]

    @classmethod
    def of(cls, beds: Iterable[Testbed]) -> TestbedsReport:
        """Look at testbeds."""
        return cls(tuple(map(TestbedRow.of, beds)))


@dataclass(frozen=True)
class TrunkRow:
    """What the cables between two hosts are at, and the bytes they carried each way since the testbed came up."""

    first: int
    """The number of one host."""
    second: int
    """The number of the other."""
    num_cables: int
    """Cut or not."""
    num_cut: int
    """Of them."""
    bandwidth_there: BitRate
    """From ``first`` to ``second`` now; 0 if all is cut."""
    bandwidth_back: BitRate
    """The same from ``second`` to ``first``."""
    bytes_there: ByteCount
    """Carried from ``first`` to ``second``."""
    bytes_back: ByteCount
    """Carried from ``second`` to ``first``."""

    @classmethod
    def of(cls, row: TrunkStatus) -> TrunkRow:
        """Take a row apart."""
        there, back = Fraction(row.rate_there), Fraction(row.rate_back)
        return cls(
            row.first, row.second, row.num_cables, row.num_cut, there, back, row.bytes_there, row.bytes_back
        )  # fmt: skip


@dataclass(frozen=True)
class TestbedCablesReport(View):
    """The cables of a testbed, with the bytes they carried since it came up."""

    report: ClassVar[str] = "testbed-cables"

    name: str
    """What it is called."""
    recipe: str | None
    """The topology; null for one without a name."""
    cables: tuple[TrunkRow, ...]
    """Those between each two hosts together."""

    @classmethod
    def of(cls, bed: Testbed, rows: Sequence[TrunkStatus]) -> TestbedCablesReport:
        """Put the state of cables beside their testbed."""
        return cls(bed.name, bed.topology.name or None, tuple(map(TrunkRow.of, rows)))


def num_cables(bed: Testbed) -> int:
    """Return how many cables a testbed has, cut or not."""
    return sum(trunk.num_cables for trunk in bed.trunks)

"""The exhibit of torus schedules on a supercomputer: fig:supercomp, predicted, simulated, and run on emulated wires.

Frontera is not here. Its nodes have links of 25 Gbps, and let 100 Gbps through in all, less than five to seven links.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from linkstep.baselines import baseline
from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints
from linkstep.core.units import parse_time
from linkstep.costs import Fabric, bandwidth_bound, cost_of
from linkstep.make import schedule
from linkstep.reproduction.charts import Chart, Line, Panel
from linkstep.reproduction.emulation import DELAY, RATE, SIZE, emulated_seconds
from linkstep.reproduction.exhibit import Exhibit, Result
from linkstep.reproduction.figures import ABOUT, Better, Cell, Kind, cell, mean, percent_less, yes
from linkstep.simulation import simulate

TORI = {"Torus(3,3,2)": "29", "Torus(3,3,3)": "0", "Torus(3,3,3,2)": "42"}
"""How many percent more algorithmic bandwidth the paper measured for BFB, on average for 100 MB and more."""
HOST, LINK = 100 * 10**9, 25 * 10**9
LATENCY = "10us"
"""The paper gives no alpha for Frontera; 10us is what it takes elsewhere."""
LARGE = (10**8, 3 * 10**8, 10**9)
SMALL = (10**4, 10**5, 10**6, 10**7)
BFB, TRADITIONAL = "BFB", "traditional"
FRONTERA = "predicted for 25 Gbps a link and 100 Gbps a host, not measured on Frontera"


@dataclass(frozen=True)
class _Made:
    """An allreduce on a torus, and the seconds it takes for a byte, alpha aside."""

    schedule: Schedule
    per_byte: Fraction

    def time(self, size: int) -> Fraction:
        """Return seconds for so many bytes."""
        return self.schedule.num_steps * parse_time(LATENCY) + size * self.per_byte


@cache
def _made(torus: str) -> dict[str, _Made]:
    built = {
        BFB: schedule(torus, Collective.ALLREDUCE, method="bfb").schedule,
        TRADITIONAL: baseline("torus rings", torus).schedule(Collective.ALLREDUCE),
    }
    return {who: _Made(one, _seconds_per_byte(one)) for who, one in built.items()}


def _seconds_per_byte(made: Schedule) -> Fraction:
    """Return the sum over steps of what the busiest link takes, or the busiest host if that is more."""
    chunks = (made.hi - made.lo).astype(np.int64)
    tail, head = made.topology.tail[made.link], made.topology.head[made.link]

    def busiest(where: Ids, at: Ints) -> int:
        return int(np.bincount(where[at], weights=chunks[at]).max())

    total = Fraction(0)
    for step in range(1, made.num_steps + 1):
        at = np.flatnonzero(made.step == step)
        links, hosts = busiest(made.link, at), max(busiest(ends, at) for ends in (tail, head))
        total += max(Fraction(8 * links, LINK), Fraction(8 * hosts, HOST))
    return total / (made.unit * made.topology.num_nodes)


def _gain(torus: str, sizes: tuple[int, ...]) -> Fraction:
    """Return the mean of how many times the algorithmic bandwidth of BFB is that of the traditional rings."""
    made = _made(torus)
    return mean(made[TRADITIONAL].time(size) / made[BFB].time(size) for size in sizes)


def compute_tori() -> Result:
    """Predict and simulate fig:supercomp, and run it on emulated wires where that is possible."""
    cells = [
        cell(
            f"{torus}, 100MB and more", "algbw of BFB above the traditional schedule's", unit="%", paper=paper,
            bases=100 * (_gain(torus, LARGE) - 1), within=ABOUT, why=FRONTERA,
        )
        for torus, paper in TORI.items()
    ]  # fmt: skip
    small = mean(_gain(torus, SMALL) for torus in TORI)
    cells.append(
        cell(
            "all three, below 100MB", "BFB before the traditional schedule", unit="times", paper="3.1", bases=small,
            why=f"{FRONTERA}; sizes from 10KB to 10MB",
        )
    )  # fmt: skip
    for torus in TORI:
        cells += _cost_cells(torus)
    cells.append(_constant_bandwidth())
    cells += _quoted()
    for torus in TORI:
        cells += _simulated(torus)
        cells += _emulated(torus)
    return Result((*cells, *_points()), Chart(tuple(map(_panel, TORI))), _NOTES)


_NOTES = (
    "algbw is M over the time of an allreduce. A step takes as long as its busiest link, or as its busiest host where "
    "that is longer: a host lets 100 Gbps through, less than its 5 to 7 links of 25 Gbps. A schedule that leaves links "
    "idle loses less by that.",
    "What was run on emulated wires is in the table of what was measured, where the machine allows it; with more hosts "
    "than its cores can serve, the machine is measured too.",
)


def _cost_cells(torus: str) -> list[Cell]:
    costs = {who: cost_of(made.schedule) for who, made in _made(torus).items()}
    optimal = costs[BFB].bandwidth == 2 * bandwidth_bound(_made(torus)[BFB].schedule.topology.num_nodes)
    return [
        cell(torus, "T_B of BFB is 2(N-1)/N", paper="yes", bases=yes(optimal)),
        cell(
            torus, "T_L of the traditional schedule over BFB's", unit="times", paper="2",
            bases=Fraction(costs[TRADITIONAL].steps, costs[BFB].steps), better=Better.MORE,
        ),
        *(cell(torus, f"T_L and T_B of the {who} allreduce", bases=str(cost)) for who, cost in costs.items()),
    ]  # fmt: skip


def _constant_bandwidth() -> Cell:
    """Compare algbw of BFB on the smallest and the largest torus, which the paper says hardly changes."""
    first, last = (_made(torus)[BFB].time(LARGE[-1]) for torus in ("Torus(3,3,2)", "Torus(3,3,3,2)"))
    return cell(
        "18 to 54 nodes, 1GB", "algbw of BFB lost, hardly any by the paper", unit="%", paper="0",
        bases=percent_less(first, last), within=ABOUT,
    )  # fmt: skip


def _quoted() -> list[Cell]:
    """Quote what the paper says of the two solvers."""
    return [
        cell("Torus(3,3,2), SCCL", "algbw as BFB's", paper="yes"),
        cell("Torus(3,3,3), SCCL", "schedule within 10^4 s", paper="none"),
        cell("Torus(3,3,3,2), SCCL", "schedule within 10^4 s", paper="none"),
        cell("Torus(3,3,2) and Torus(3,3,3), TACCL", "algbw below BFB's by a large margin", paper="yes"),
        cell("Torus(3,3,3,2), TACCL", "schedule within 1800 s", paper="none"),
    ]


def _simulated(torus: str) -> list[Cell]:
    """Simulate the lowered allreduces: events, not formulas; links alone, without the limit of a host."""
    size, ports = LARGE[0], _made(torus)[BFB].schedule.topology.degree
    fabric = Fabric.of(LATENCY, LINK * ports, ports)
    return [
        cell(
            f"{torus}, 100MB, simulated", f"algbw of {who}, links alone", unit="GB/s",
            ours=size / 1e9 / simulate(made.schedule, fabric, size, to="cpu").time,
        )
        for who, made in _made(torus).items()
    ]  # fmt: skip


def _emulated(torus: str) -> list[Cell]:
    cells = []
    for who, made in _made(torus).items():
        seconds, why = emulated_seconds(made.schedule)
        quantity = f"allreduce of {SIZE} by {who}, emulated wires of {RATE} and {DELAY}"
        found = None if seconds is None else 1000 * seconds
        cells.append(cell(torus, quantity, unit="ms", ours=found, why=why, kind=Kind.MEASURED))
    return cells


def _points() -> list[Cell]:
    return [
        cell(
            f"{torus}, {size} bytes", f"algbw, {who}", unit="GB/s", bases=size / 10**9 / made.time(size),
            kind=Kind.POINT,
        )
        for torus in TORI
        for who, made in _made(torus).items()
        for size in (*SMALL, *LARGE)
    ]  # fmt: skip


def _panel(torus: str) -> Panel:
    sizes = [10**k for k in range(4, 10)]
    lines = tuple(
        Line(who, sizes, [size / 10**9 / made.time(size) for size in sizes], is_marked=True)
        for who, made in _made(torus).items()
    )
    return Panel(torus, "data M", "algbw in GB/s, predicted", lines, log_x=True, x_is_bytes=True)


EXHIBITS = (
    Exhibit(
        "fig:supercomp", "Torus schedules on a supercomputer", compute_tori,
        "Built schedules, their exact loads in seconds for Frontera's links and hosts, event simulations, and runs on "
        "emulated wires.",
        "the measurements themselves, on Frontera.", is_quick=False,
    ),
)  # fmt: skip

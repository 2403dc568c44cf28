"""The exhibit of torus schedules on a supercomputer: fig:supercomp, predicted, simulated, and run on request.

Frontera is not here. Its nodes have links of 25 Gbps, and let 100 Gbps through in all, less than five to seven links.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from linkstep.baselines import baseline
from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.costs import Fabric, bandwidth_bound, cost_of, loads_of, seconds_of
from linkstep.reproduction.charts import Chart, ChartPanel, Curve
from linkstep.reproduction.emulation import DELAY, RATE, SIZE, emulated_seconds
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import ABOUT, Cell, CellKind, Mark, cell, mean, percent_less, yes
from linkstep.scheduling import schedule
from linkstep.simulation import simulate

_EQUAL = "Torus(3,3,3)"
TORI = {"Torus(3,3,2)": "29", _EQUAL: "0", "Torus(3,3,3,2)": "42"}
"""How many percent more algbw the paper measured for BFB, on average for 100 MB and more; 0 stands for "matches"."""
HOST, LINK = 100 * 10**9, 25 * 10**9
LATENCY = "10us"
"""The paper gives no alpha for Frontera; 10us is what it takes elsewhere."""
LARGE = (10**8, 3 * 10**8, 10**9)
SMALL = (10**4, 10**5, 10**6, 10**7)
BFB, TRADITIONAL = "BFB", "traditional"
ORDER = (
    "the host's limit reverses the order of the two tori here, links alone do not, and no single limit gives both "
    "figures of the paper: see below; what it measured on Frontera is not explained"
)
FRONTERA = "predicted for 25 Gbps a link and 100 Gbps a host, not measured on Frontera"


def frontera(ports: int, host: int | None = HOST) -> Fabric:
    """Return links of Frontera, a port each, and what all ports of a host let through together; None: no limit."""
    return Fabric.of(LATENCY, LINK * ports, ports, host_bandwidth=host)


@dataclass(frozen=True)
class _Made:
    """An allreduce on a torus."""

    schedule: Schedule

    def time(self, size: int, host: int | None = HOST, waits: bool = True) -> Fraction:
        """Return seconds for ``size`` bytes, on hosts that let ``host`` bits a second through each way.

        None is a host without a limit. A step begins when the one before has ended everywhere; where nothing
        ``waits``, only what all steps put on the busiest link or host counts, which no execution is faster than.
        """
        fabric = frontera(self.schedule.topology.degree, host)
        if waits:
            return seconds_of(self.schedule, fabric, size)
        link, ports = self.busiest
        limit = Fraction(0) if host is None else 8 * size * ports / host
        return self.schedule.num_steps * fabric.alpha + max(8 * size * link / LINK, limit)

    @cached_property
    def busiest(self) -> tuple[Fraction, Fraction]:
        """How much of M the busiest link carries, and the busiest host sends or receives, over all steps."""
        loads = loads_of(self.schedule)
        totals = [
            int(np.bincount(one.place, weights=one.amount).max()) for one in (loads.links, loads.sent, loads.received)
        ]
        return Fraction(totals[0], loads.whole), Fraction(max(totals[1:]), loads.whole)


@cache
def _made(torus: str) -> dict[str, _Made]:
    built = {
        BFB: schedule(torus, Collective.ALLREDUCE, method="bfb").schedule,
        TRADITIONAL: baseline("torus rings", torus).schedule(Collective.ALLREDUCE),
    }
    return {who: _Made(one) for who, one in built.items()}


def _gain(torus: str, sizes: tuple[int, ...], host: int | None = HOST, waits: bool = True) -> Fraction:
    """Return the mean of how many times the algorithmic bandwidth of BFB is that of the traditional rings."""
    made = _made(torus)
    return mean(made[TRADITIONAL].time(size, host, waits) / made[BFB].time(size, host, waits) for size in sizes)


def _percent(torus: str, host: int | None = HOST, waits: bool = True) -> Fraction:
    return 100 * (_gain(torus, LARGE, host, waits) - 1)


def compute_tori() -> ExhibitResult:
    """Predict and simulate fig:supercomp."""
    cells = [
        cell(
            f"{torus}, 100MB and more", _ABOVE, unit="%", paper=paper, bases=_percent(torus), within=ABOUT,
            why=FRONTERA if torus == _EQUAL else ORDER, mark=Mark.WORDS if torus == _EQUAL else Mark.NONE,
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
    cells += _limits()
    cells += _quoted()
    for torus in TORI:
        cells += _simulated(torus)
    return ExhibitResult((*cells, *_points()), Chart(tuple(map(_panel, TORI))), _NOTES)


_ABOVE = "algbw of BFB above the traditional schedule's"
_NOTES = (
    "algbw is M over the time of an allreduce. A step takes as long as its busiest link, or as its busiest host where "
    "that is longer: a host lets 100 Gbps through, less than its 5 to 7 links of 25 Gbps.",
    "Why the order of the unequal tori is reversed: BFB has all links at work in every step, so that a host's limit "
    "slows it more the more links there are, while the traditional schedule leaves links idle and hardly meets the "
    "limit. Links alone give the paper's order, and its figures lie between those of an execution that waits at every "
    "step and of one that never does. But links alone contradict the paper's observation that BFB's algbw hardly "
    "changes from 18 to 54 nodes, which a host's limit does explain. What decided on Frontera is not known.",
)


def _limits() -> list[Cell]:
    """Say what the figure would be with other limits, and which limit of a host would give the paper's."""
    cells = []
    for torus in TORI:
        item = f"{torus}, 100MB and more"
        cells += [
            cell(item, f"{_ABOVE}, links alone", unit="%", bases=_percent(torus, None)),
            cell(item, f"{_ABOVE}, links alone, no step waits", unit="%", bases=_percent(torus, None, waits=False)),
            cell(item, f"{_ABOVE}, links and hosts, no step waits", unit="%", bases=_percent(torus, waits=False)),
        ]
        if torus != _EQUAL:
            rate = Fraction(_host_rate(torus, int(TORI[torus])), 10**9)
            cells.append(cell(item, f"limit of a host with which it is {TORI[torus]}%", unit="Gbps", bases=rate))
    first, last = (_made(torus)[BFB].time(LARGE[-1], None) for torus in ("Torus(3,3,2)", "Torus(3,3,3,2)"))
    cells.append(cell("18 to 54 nodes, 1GB", "algbw of BFB lost, links alone", unit="%",
                      bases=percent_less(first, last)))  # fmt: skip
    return cells


def _host_rate(torus: str, percent: int) -> int:
    """Return the bits a second of a host, to 0.1 Gbps, with which BFB is this many percent above: more with more."""
    low, high = LINK, LINK * _made(torus)[BFB].schedule.topology.degree
    while high - low > 10**8:
        middle = (low + high) // 2
        low, high = (middle, high) if _percent(torus, middle) < percent else (low, middle)
    return high


def _cost_cells(torus: str) -> list[Cell]:
    costs = {who: cost_of(made.schedule) for who, made in _made(torus).items()}
    optimal = costs[BFB].bandwidth == 2 * bandwidth_bound(_made(torus)[BFB].schedule.topology.num_nodes)
    return [
        cell(torus, "T_B of BFB is 2(N-1)/N", paper="yes", bases=yes(optimal)),
        cell(
            torus, "T_L of the traditional schedule over BFB's", unit="times", paper="2",
            bases=Fraction(costs[TRADITIONAL].steps, costs[BFB].steps),
        ),
        *(cell(torus, f"T_L and T_B of the {who} allreduce", bases=str(cost)) for who, cost in costs.items()),
    ]  # fmt: skip


def _constant_bandwidth() -> Cell:
    """Compare algbw of BFB on the smallest and the largest torus, which the paper says hardly changes."""
    first, last = (_made(torus)[BFB].time(LARGE[-1]) for torus in ("Torus(3,3,2)", "Torus(3,3,3,2)"))
    return cell(
        "18 to 54 nodes, 1GB", "algbw of BFB lost, hardly any by the paper", unit="%", paper="0",
        bases=percent_less(first, last), within=ABOUT, mark=Mark.WORDS,
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
    """Simulate the lowered allreduces: events, not formulas; with links alone, and with the limit of a host."""
    size, ports = LARGE[0], _made(torus)[BFB].schedule.topology.degree
    return [
        cell(
            f"{torus}, 100MB, simulated", f"algbw of {who}, {what}", unit="GB/s",
            ours=size / 1e9 / simulate(made.schedule, frontera(ports, host), size, to="cpu").time,
        )
        for what, host in (("links alone", None), ("links and hosts", HOST))
        for who, made in _made(torus).items()
    ]  # fmt: skip


def run_tori() -> tuple[Cell, ...]:
    """Run the allreduces on emulated wires, where the machine allows it."""
    cells = []
    for torus in TORI:
        for who, made in _made(torus).items():
            seconds, why = emulated_seconds(made.schedule)
            quantity = f"allreduce of {SIZE} by {who}, emulated wires of {RATE} and {DELAY}"
            found = None if seconds is None else 1000 * seconds
            cells.append(cell(torus, quantity, unit="ms", ours=found, why=why, kind=CellKind.MEASURED))
    return tuple(cells)


def _points() -> list[Cell]:
    return [
        cell(
            f"{torus}, {size} bytes", f"algbw, {who}", unit="GB/s", bases=size / 10**9 / made.time(size),
            kind=CellKind.POINT,
        )
        for torus in TORI
        for who, made in _made(torus).items()
        for size in (*SMALL, *LARGE)
    ]  # fmt: skip


def _panel(torus: str) -> ChartPanel:
    sizes = [10**k for k in range(4, 10)]
    lines = tuple(
        Curve(who, sizes, [size / 10**9 / made.time(size) for size in sizes], is_marked=True)
        for who, made in _made(torus).items()
    )
    return ChartPanel(torus, "data M", "algbw in GB/s, predicted", lines, log_x=True, x_is_bytes=True)


EXHIBITS = (
    Exhibit(
        "fig:supercomp", "Torus schedules on a supercomputer", compute_tori,
        "Built schedules, their exact loads in seconds for Frontera's links and hosts, and event simulations.",
        "the measurements themselves, on Frontera.", is_quick=False, takes="10 s", emulate=run_tori,
        emulates="runs of the six allreduces on emulated wires, with up to 54 hosts as network namespaces, which need "
        "root and minutes; with more hosts than its cores can serve, the machine is measured too",
    ),
)  # fmt: skip

"""Prepare a run: read what is to be run, compile it for every rank, see that a testbed has the wires, and predict.

This is what ``linkstep run`` does before ranks exist and after they have ended. Ranks get a ``BenchJob`` and need none
of what is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import Cut, apply
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import write_size
from linkstep.costs import Cost, Fabric, cost_of, seconds_of
from linkstep.engines.bench.measure import Measurement
from linkstep.engines.bench.trace import trace_of
from linkstep.engines.plans.compile import compile_plans
from linkstep.engines.plans.plan import CompiledPlans
from linkstep.engines.plans.source import Source, source_for, sources_of
from linkstep.engines.testbed import Testbed, Trunk, predict_time
from linkstep.simulation import simulate_program, used_links
from linkstep.timelines import Timeline


@dataclass(frozen=True)
class Preparation:
    """What will run: a source for each size, its plans for each rank, and what it costs where that is known."""

    collective: Collective
    root: int
    sources: tuple[Source, ...]
    """Of each size; the same one several times if it serves several."""
    compiled: tuple[CompiledPlans, ...]
    """For each rank, then for each node that only forwards."""

    @property
    def num_ranks(self) -> int:
        """How many take part."""
        return self.sources[0].num_ranks

    @property
    def num_nodes(self) -> int:
        """How many take part or forward: as many processes are run."""
        return self.sources[0].num_nodes

    @property
    def is_switched(self) -> bool:
        """Whether a schedule has links that open later or close: nothing is switched when it is run."""
        schedules = (source.schedule(self.collective, self.root) for source in set(self.sources))
        return any(schedule is not None and schedule.topology.has_lifetimes for schedule in schedules)

    def links(self, source: Source) -> Topology:
        """Return the links that a source uses."""
        schedule = source.schedule(self.collective, self.root)
        return used_links(source.program(self.collective, False, self.root)) if schedule is None else schedule.topology

    @property
    def degree(self) -> int:
        """The ports that a rank needs."""
        return max(self.links(source).degree for source in self.sources)

    @property
    def schedule(self) -> Schedule | None:
        """The one that all sizes run; None where sizes differ in it, and for a program of which none is known."""
        schedules = [source.schedule(self.collective, self.root) for source in set(self.sources)]
        return schedules[0] if len(schedules) == 1 else None

    def method_of(self, source: Source) -> str | None:
        """Return the method of a source's schedule; None where that is not known, as of a program."""
        schedule = source.schedule(self.collective, self.root)
        return None if schedule is None else schedule.method or None

    @property
    def cost(self) -> Cost | None:
        """T_L and T_B; None where no one schedule is known."""
        return None if self.schedule is None else cost_of(self.schedule)

    def predict(self, source: Source, fabric: Fabric, size: int) -> float:
        """Return the seconds that a fabric gives it: by the schedule's cost, or by simulating the program."""
        schedule, links = source.schedule(self.collective, self.root), self.links(source)
        wires = fabric.with_degree(max(links.degree, 1))
        if schedule is not None:
            return float(seconds_of(schedule, wires, size))
        program = source.program(self.collective, False, self.root)
        return simulate_program(program, links, wires, size).time


def prepare(
    what: Any, collective: Collective, sizes: Sequence[int], root: int, name: str = "the selector"
) -> Preparation:
    """Return what serves each size, compiled for every rank; ``name`` is what it is called where nothing does."""
    sources = sources_of(what)
    chosen = tuple(source_for(sources, collective, size, root, name) for size in sizes)
    plans: list[list[tuple[int, Any]]] = [[] for _ in range(chosen[0].num_nodes)]
    prints = []
    for source in dict.fromkeys(chosen):
        program = source.program(collective, False, root)
        prints.append(program.fingerprint)
        largest = max(size for size, serving in zip(sizes, chosen, strict=True) if serving is source)
        for rank, plan in enumerate(compile_plans(program, False not in program.modes)):
            plans[rank].append((largest, plan))
    last = [(2**63, plan) for _, plan in (rows[-1] for rows in plans)]
    compiled = tuple(
        CompiledPlans(" ".join(prints), root, (*rows[:-1], end)) for rows, end in zip(plans, last, strict=True)
    )
    return Preparation(collective, root, chosen, compiled)


@dataclass(frozen=True)
class BenchResult:
    """What was measured, and what it was to cost."""

    name: str
    engine: str
    type_name: str
    operation: str
    testbed: str | None
    prepared: Preparation
    rows: list[Measurement] = field(default_factory=list)

    def predicted(self, fabric: Fabric | None) -> BenchResult:
        """Return it with the times that a fabric predicts."""
        if fabric is None:
            return self
        pairs = zip(self.rows, self.prepared.sources, strict=True)
        rows = [replace(row, predicted=self.prepared.predict(source, fabric, row.size)) for row, source in pairs]
        return replace(self, rows=rows)

    def trace(self, names: Sequence[str] | None = None) -> Timeline:
        """Return what the ranks recorded in the last repetition of the last size; ``names`` are their hosts'."""
        row, prepared = self.rows[-1], self.prepared
        plans = [plans.plan_for(prepared.collective, row.size, False, prepared.root) for plans in prepared.compiled]
        what = f"{prepared.collective} of {write_size(row.size)} by {self.engine}, measured"
        return trace_of(f"{self.name}: {what}", row, plans, self.type_name, names)

    def predicted_on(self, bed: Testbed) -> BenchResult:
        """Return it with the times that a testbed's delay, rates and token buckets predict.

        Where a program's schedule is not known, it is simulated, and the buckets are left out.
        """
        rows = []
        for row, source in zip(self.rows, self.prepared.sources, strict=True):
            schedule = source.schedule(self.prepared.collective, self.prepared.root)
            if schedule is None:
                seconds = self.prepared.predict(source, bed.fabric(), row.size)
            else:
                seconds = float(predict_time(bed, schedule, row.size))
            rows.append(replace(row, predicted=seconds))
        return replace(self, rows=rows)


def check_reachable(bed: Testbed) -> None:
    """Raise if two hosts cannot reach each other since their cable is cut: ranks would wait for each other in vain."""
    cables = {trunk.ends: trunk.num_cables for trunk in bed.trunks}
    for pair in sorted(set(bed.cut)):
        if bed.cut.count(pair) == cables[pair] and pair not in bed.rerouted:
            ends = " and ".join(bed.topology.called(host) for host in pair)
            cable = f"{bed.name} {','.join(bed.topology.host(host) for host in pair)}"
            raise LinkstepError(
                f"testbed {bed.name}: the cable between {ends} is cut, so that ranks there cannot find each other: "
                f"`linkstep testbed mend {cable}`, or `linkstep testbed cut {cable} --reroute` and run without it"
            )


def check_wires(prepared: Preparation, bed: Testbed) -> None:
    """Raise unless every link that is used is a cable of the testbed that is not cut."""
    if prepared.num_nodes != bed.num_hosts:
        raise LinkstepError(f"it is for {prepared.num_nodes} hosts, testbed {bed.name} has {bed.num_hosts} hosts")
    there, left = ({link for trunk in trunks for link in _links(trunk)} for trunks in (bed.trunks, bed.trunks_left))
    for source in set(prepared.sources):
        links = prepared.links(source)
        for a, b in zip(links.tail.tolist(), links.head.tolist(), strict=True):
            if a != b and (a, b) not in left:
                why = "the cable is cut" if (a, b) in there else "there is no link"
                ends = f"from {bed.topology.called(a)} to {bed.topology.called(b)}"
                hint = "leave out the topology to run on the cables there are"
                raise LinkstepError(f"{why} {ends} on testbed {bed.name}: {hint}")


def _links(trunk: Trunk) -> list[tuple[int, int]]:
    a, b = trunk.ends
    return [(a, b)] * bool(trunk.there) + [(b, a)] * bool(trunk.back)


def wiring_of(bed: Testbed) -> Topology:
    """Return the topology of a testbed's cables that are not cut."""
    if not bed.cut:
        return bed.topology
    cuts = [Cut(bed.topology.host(a), bed.topology.host(b)) for a, b in bed.cut]
    return apply(bed.topology, cuts, Fraction(bed.rate))


def devices_of(bed: Testbed, nodes: Sequence[int]) -> list[dict[str, int]]:
    """Return for each rank, or node that forwards, the neighbour behind each device of its host, by such numbers."""
    number = {node: v for v, node in enumerate(nodes)}
    return [{trunk.device: number[trunk.other(host)] for trunk in bed.trunks_at(host)} for host in nodes]

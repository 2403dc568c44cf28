"""Run a program's events in time: the loop and the columns it fills. What is modelled is said in the package."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.assembly import assemble
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import frame_of
from linkstep.core.inputs import ScheduleLike, WiringLike, as_schedule, as_topology
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.core.units import Number, format_time, parse_size, parse_time
from linkstep.costs import (
    SIZE,
    Fabric,
    FabricLike,
    all_to_all_bound,
    as_fabric,
    bandwidth_bound,
    seconds_of,
    usual_fabric,
)
from linkstep.lowering import Lowered, lower
from linkstep.methods.transform import in_rank_order
from linkstep.programs import Program, read_program, runtime_text
from linkstep.programs.events import NONE
from linkstep.simulation.causes import TransferLog
from linkstep.simulation.edges import TimeEdges
from linkstep.simulation.link_times import LinkTimes, link_times_of
from linkstep.simulation.wires import WireTraffic, first_links, used_links, wires_of

_TICK = Fraction(1, 10**15)
_MOST_TICKS = 2**61


@dataclass(frozen=True, eq=False)
class Simulation:
    """When each event of a program ran, and when each link was busy; times in seconds.

    >>> from linkstep import simulate
    >>> simulate("K_{2,2}", size="1MB")
    <Simulation allreduce for msccl on K_{2,2}: 160us>
    """

    program: Program
    topology: Topology
    time: float
    """When the last event ended."""
    start: NDArray[np.float64]
    """When all that an event waits for had ended."""
    end: NDArray[np.float64]
    sent_link: Ints
    """Transfers, sorted by link and time: their link, their round, and when the link carried them."""
    sent_round: Ints
    """One more than the messages that had to come before, one after the other: at most the schedule's step."""
    sent_start: NDArray[np.float64]
    sent_end: NDArray[np.float64]
    predicted: float | None = None
    """The schedule's cost in seconds: T_L alpha + T_B M/B, reductions included; None for a file without a schedule."""
    sent_row: Ints | None = field(default=None, repr=False)
    """Which row of ``wires_of(program)`` each transfer is; None for what was simulated elsewhere."""
    log: TransferLog | None = field(default=None, repr=False)
    """What tells why messages began when they did (``linkstep.simulation.causes``); None where it was not kept."""

    def __repr__(self) -> str:
        what = f"{self.program.collective} for {self.program.dialect}"
        where = self.topology.name or f"N={self.topology.num_nodes}"
        return f"<Simulation {what} on {where}: {format_time(self.time)}>"

    def _wiring_(self) -> Topology:
        return self.topology

    def to_frame(self) -> Any:
        """Return a row for each transfer, as a DataFrame of pandas or polars: its link, its round, and when it was."""
        link = self.sent_link
        return frame_of({
            "link": link, "from": self.topology.tail[link], "to": self.topology.head[link], "round": self.sent_round,
            "start": self.sent_start, "end": self.sent_end,
        })  # fmt: skip

    def _repr_html_(self) -> str:
        fields = [
            ("topology", self.topology.name or f"N={self.topology.num_nodes}"), ("time", format_time(self.time)),
            ("predicted", "" if self.predicted is None else format_time(self.predicted)),
            ("busiest link busy", f"{self.utilisation:.0%}"), ("transfers", self.sent_link.size),
        ]  # fmt: skip
        return html_table(f"{self.program.collective} for {self.program.dialect}, simulated", fields)

    @property
    def rank(self) -> Ints:
        """The rank of each event."""
        return self.program.events.rank

    @property
    def threadblock(self) -> Ints:
        """The threadblock of each event, -1 where there are none."""
        return self.program.events.threadblock

    @property
    def position(self) -> Ints:
        """The position of each event's instruction in its threadblock, or in its rank's list."""
        return self.program.events.step

    @property
    def loss(self) -> float:
        """By what part it is slower than predicted; negative if it is faster."""
        return self.time / self.predicted - 1 if self.predicted else 0.0

    @property
    def busy(self) -> NDArray[np.float64]:
        """For how many seconds each link of the topology carried data."""
        spans = self.sent_end - self.sent_start
        return np.bincount(self.sent_link, spans, self.topology.num_links).astype(np.float64)

    @property
    def busiest(self) -> int:
        """The link that carried data the longest; the first of those that differ by rounding only."""
        busy = self.busy
        return int(np.argmax(busy >= busy.max(initial=0) * (1 - 1e-9)))

    @property
    def utilisation(self) -> float:
        """The part of the time for which the busiest link carried data."""
        return float(self.busy.max()) / self.time if self.time and self.topology.num_links else 0.0


class _Ticks:
    """Seconds as whole ticks: of a femtosecond, or of more where a simulation could outlast 64 bits of them."""

    def __init__(self, longest: Fraction) -> None:
        self.tick = _TICK
        while longest > _MOST_TICKS * self.tick:
            self.tick *= 10

    def __call__(self, seconds: Fraction) -> int:
        return round(seconds / self.tick)


class _Machine:
    """The state of a simulation; plain lists, for one loop that touches each event, edge and transfer once."""

    def __init__(
        self, program: Program, wires: WireTraffic, topology: Topology, fabric: Fabric, size: Number,
        overhead: Fraction, tight: bool,
    ) -> None:  # fmt: skip
        events, moves = program.events, program.events.moves
        n, self.position = events.num_events, events.step.tolist()
        bits = 8 * parse_size(size) / program.chunks
        kinds, host = fabric.links_of(topology), fabric.host_bandwidth
        slowest = min([*kinds.rate, *([] if host is None else [host])], default=Fraction(1))
        sums = np.bincount(moves.event, (moves.addend != NONE) * moves.count, n)
        total = int(wires.chunks.sum()) * bits / slowest + wires.chunks.size * fabric.message
        total += int(sums.sum()) * bits * fabric.gamma + n * overhead + n * max([*kinds.alpha, fabric.alpha])
        ticks = self.ticks = _Ticks(Fraction(total))

        chunk, alpha = [ticks(bits / rate) for rate in kinds.rate], [ticks(one) for one in kinds.alpha]
        self.chunk, self.alpha = ([one[kind] for kind in kinds.of.tolist()] for one in (chunk, alpha))
        self.message, self.host_chunk = ticks(fabric.message), None if host is None else ticks(bits / host)
        added = ticks(bits * fabric.gamma)
        self.works = sums.astype(np.int64) * added + program.is_instruction * ticks(overhead)
        self.work = self.works.tolist()
        first, end = first_links(wires, topology)
        self.servers = [range(a, b) for a, b in zip(first.tolist(), end.tolist(), strict=True)]
        self.wire_event, self.chunks = wires.event.tolist(), wires.chunks.tolist()
        self.fetches = wires.fetches(events.rank).tolist()
        self.wire_ptr = np.searchsorted(wires.event, np.arange(n + 1)).tolist()
        self.latency, self.signal = np.array(self.alpha, np.int64), ticks(fabric.alpha)
        self._set_edges(TimeEdges.of(program, wires, topology, self.latency, self.signal, tight), n)

        self.start, self.end, self.round = [0] * n, [0] * n, [0] * n
        self.free = [0] * topology.num_links
        self.tail, self.head = (topology.host_of[node].tolist() for node in (wires.tail, wires.head))
        self.out, self.into = [0] * topology.num_nodes, [0] * topology.num_nodes
        self.link, self.sent, self.done, self.gone = ([0] * len(self.chunks) for _ in range(4))

    def _set_edges(self, edges: TimeEdges, n: int) -> None:
        """Keep the edges by their first event."""
        self.edge_ptr = np.searchsorted(edges.tail, np.arange(n + 1)).tolist()
        self.edge_head = edges.head.tolist()
        self.missing = np.bincount(edges.head, minlength=n).tolist()
        self.edge_wire, self.edge_time = edges.wire.tolist(), edges.time.tolist()
        self.edge_tells, self.edge_stays = edges.tells.tolist(), edges.stays.tolist()

    def run(self) -> None:
        """Take the earliest event; of several at one time that of the lowest round, then of the lowest position.

        The round of an event is the length of the longest chain of messages that end before it begins; ``told`` is that
        of the chains that end with what it sends, for the events on other ranks that wait for it.
        """
        n, pop, push, position, wire_ptr = len(self.start), heapq.heappop, heapq.heappush, self.position, self.wire_ptr
        rounds, missing, edge_head, edge_wire = self.round, self.missing, self.edge_head, self.edge_wire
        edge_ptr, edge_time, edge_tells, edge_stays = self.edge_ptr, self.edge_time, self.edge_tells, self.edge_stays
        heap = [(0, 0, position[e], e) for e in range(n) if not missing[e]]
        heapq.heapify(heap)
        left = [wire_ptr[e + 1] - wire_ptr[e] for e in range(n)]
        ready, told = [0] * n, [0] * n
        while heap:
            now, round, place, item = pop(heap)
            if item < n:
                event, finish = item, now + self.work[item]
                self.start[event], self.end[event] = now, finish
                if left[event]:
                    for wire in range(wire_ptr[event], wire_ptr[event + 1]):
                        push(heap, (finish, round, place, n + wire))
                    continue
            else:
                event = self.wire_event[item - n]
                self.send(item - n, now)
                left[event] -= 1
                if left[event]:
                    continue
                finish, told[event] = self.end[event], max(told[event], round + 1)
                round += self.fetches[item - n]
            for k in range(edge_ptr[event], edge_ptr[event + 1]):
                then, wire = edge_head[k], edge_wire[k]
                at = finish + edge_time[k] if wire < 0 else self.gone[wire] + self.alpha[self.link[wire]]
                if at > ready[then]:
                    ready[then] = at
                if edge_tells[k]:
                    rounds[then] = max(rounds[then], told[event])
                elif edge_stays[k]:
                    rounds[then], told[then] = max(rounds[then], round), max(told[then], told[event])
                missing[then] -= 1
                if not missing[then]:
                    push(heap, (ready[then], rounds[then], position[then], then))

    def send(self, wire: int, now: int) -> None:
        """Put a transfer on that link of its pair where it ends first.

        It is gone when its link is done with it and, where hosts have a limit and it leaves one, the ports of both ends
        together are.
        """
        chunks, best, end = self.chunks[wire], -1, 0
        for link in self.servers[wire]:
            stop = max(now, self.free[link]) + chunks * self.chunk[link] + self.message
            if best < 0 or stop < end:
                best, end = link, stop
        self.link[wire], self.sent[wire] = best, end - chunks * self.chunk[best] - self.message
        self.free[best] = self.done[wire] = end
        if self.host_chunk is not None:
            sender, receiver = self.tail[wire], self.head[wire]
            for host, ports in ((sender, self.out), (receiver, self.into)) if sender != receiver else ():
                ports[host] = max(now, ports[host]) + chunks * self.host_chunk
                end = max(end, ports[host])
        self.gone[wire] = end
        event = self.wire_event[wire]
        self.end[event] = max(self.end[event], end + (self.alpha[best] if self.fetches[wire] else 0))


def simulate_program(
    program: Program,
    topology: Topology,
    fabric: Fabric,
    size: Number,
    *,
    instruction_time: Number = 0,
    tight: bool = False,
    predicted: float | None = None,
    times: LinkTimes | None = None,
) -> Simulation:
    """Run a program on a topology whose links are the fabric's, with ``size`` bytes of data in all.

    Links with columns of their own keep these. Events begin when the fabric's overhead of a call has passed. Every
    instruction takes ``instruction_time`` seconds more. ``tight`` connections hold no more than the runtime's do, and
    news that a slot is free takes alpha. Links with lifetimes need ``times``: a program knows no steps.

    >>> import linkstep
    >>> schedule = linkstep.parse("K_{4,4}").build("allgather")
    >>> program = assemble(lower(schedule, "rccl"))
    >>> done = simulate_program(program, schedule.topology, Fabric.of("10us", "100Gbps", 4), "1MB")
    >>> f"{done.time * 1e6:.0f} us, the busiest link {done.utilisation:.0%}"
    '90 us, the busiest link 78%'
    """
    if times is None:
        check_permanent(topology, "simulating a program")
    if topology.num_nodes != program.num_nodes:
        more = f" and {program.num_forwarders} that forward" * bool(program.num_forwarders)
        raise LinkstepError(f"the file has {program.num_ranks} ranks{more}, the topology {topology.num_nodes} nodes")
    if topology.num_nodes > 1 and fabric.degree < topology.degree:
        raise LinkstepError(f"the fabric has {fabric.degree} ports a node, the topology needs {topology.degree}")
    wires = wires_of(program)
    machine = _Machine(program, wires, topology, fabric, size, parse_time(instruction_time), tight)
    if times is not None:
        machine.free = [machine.ticks(opens) for opens in times.opens]
    machine.run()
    assert not any(machine.missing)  # a program is built only where there is an order
    second, call = float(machine.ticks.tick), float(fabric.overhead)
    columns = (machine.start, machine.end, machine.sent, machine.done, machine.gone, machine.link)
    start, end, sent, done, gone, link = (np.array(column, np.int64) for column in columns)
    if times is not None:
        times.check_closed(topology, link, done, machine.ticks.tick)
    order = np.lexsort((sent, link))
    rounds = np.array(machine.round, np.int64)[wires.event] + 1
    log = TransferLog(
        link, sent, done, gone, start, end, machine.works, machine.latency, machine.signal, tight,
        Fraction(parse_size(size)) / program.chunks,
    )  # fmt: skip
    starts, ends, begun, over = (
        ticks.astype(np.float64) * second + call for ticks in (start, end, sent[order], done[order])
    )
    return Simulation(
        program, topology, float(ends.max(initial=0)), starts, ends, link[order], rounds[order], begun, over,
        predicted, order, log,
    )  # fmt: skip


def bound_time(program: Program, fabric: Fabric, size: Number) -> float | None:
    """Return the seconds that B alone asks of the collective (thm:bwoptequation), whatever the program."""
    n, data = program.num_ranks, 8 * parse_size(size) / fabric.bandwidth
    if n == 1:
        return 0.0
    if program.collective is Collective.ALL_TO_ALL:
        return float(data * fabric.degree / (n * all_to_all_bound(n, fabric.degree)))
    whole = 1 if program.collective.has_root else len(program.collective.phases) * bandwidth_bound(n)
    return float(data * whole)


def simulate_schedule(
    schedule: Schedule,
    to: str,
    fabric: Fabric,
    size: Number,
    *,
    channels: int | None = None,
    instances: int = 1,
    inplace: bool = False,
    gather: int | None = None,
    instruction_time: Number = 0,
    tight: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Lower a schedule to a runtime, for this size, and run it on the schedule's topology, renamed in rank order.

    Links that open later or close do so when the steps of the schedule begin and end, as predicted.

    >>> import linkstep
    >>> schedule = linkstep.parse("K_{4,4}").build("allreduce")
    >>> done = simulate_schedule(schedule, "msccl", Fabric.of("10us", "100Gbps", 4), "1MB")
    >>> f"{done.time * 1e6:.0f} of {done.predicted * 1e6:.0f} us"
    '180 of 180 us'
    """
    most = max(ceil(parse_size(size)), 1)
    lowered = lower(
        schedule.permanent(), to, channels=channels, instances=instances, inplace=inplace, gather=gather,
        max_bytes=most, progress=progress,
    )  # fmt: skip
    ordered = in_rank_order(schedule)
    topology = ordered.topology
    if ordered is not schedule and topology.labels is None:
        topology = topology.with_labels([str(node) for node in schedule.ranks.node_order.tolist()])
    return simulate_program(
        assemble(lowered), topology, fabric, size, instruction_time=instruction_time, tight=tight,
        predicted=float(seconds_of(schedule, fabric, size)), times=link_times_of(ordered, fabric, size),
    )  # fmt: skip


def simulate(
    what: ScheduleLike | Lowered | Program,
    fabric: FabricLike | None = None,
    size: Number = SIZE,
    *,
    to: str = "msccl",
    topology: WiringLike | None = None,
    instruction_time: Number = 0,
) -> Simulation:
    """Run a schedule as lowered to a runtime, or a runtime's program as it is, with ``size`` bytes of data in all.

    What was lowered runs as it is, on its schedule's topology. A program, or a runtime's file, runs on ``topology``, or
    where it needs a link for each pair that it sends between. Without a fabric it is the usual one.

    >>> import linkstep
    >>> made = linkstep.schedule("K_{4,4}", "allreduce")
    >>> linkstep.simulate(made.schedule, linkstep.Fabric.of("10us", "100Gbps", 4), "1MB")
    <Simulation allreduce for msccl on K_{4,4}: 180us>
    """
    wires = None if fabric is None else as_fabric(fabric)
    more: dict[str, Any] = {"instruction_time": parse_time(instruction_time)}
    wiring = None if topology is None else as_topology(topology)
    check_kind("to", to, str)
    parse_size(size)
    if isinstance(what, Lowered):
        return _simulate_lowered(what, wiring, wires, size, more)
    text = runtime_text(what) if isinstance(what, str | PathLike) else None
    program = what if text is None else read_program(text)
    if isinstance(program, Program):
        wiring = used_links(program) if wiring is None else wiring
        return simulate_program(program, wiring, wires or _usual(wiring), size, **more)
    made = as_schedule(program, "what")
    if wiring is not None:
        raise LinkstepError("topology is for programs: a schedule runs on its own")
    return simulate_schedule(made, to, wires or _usual(made.topology), size, **more)


def _usual(topology: Topology) -> Fabric:
    return usual_fabric(max(topology.degree, 1)).on(topology)


def _simulate_lowered(
    lowered: Lowered, topology: Topology | None, fabric: Fabric | None, size: Number, more: dict[str, Any]
) -> Simulation:
    """Run what was lowered as it is, beside what its schedule is predicted to take."""
    schedule = lowered.placement.schedule
    wiring = topology or schedule.topology
    wires = fabric or _usual(wiring)
    if topology is None:
        more = {**more, "predicted": float(seconds_of(schedule, wires, size))}
    return simulate_program(assemble(lowered), wiring, wires, size, **more)

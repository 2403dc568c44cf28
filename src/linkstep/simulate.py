"""Event simulation of lowered programs: how long the instructions take on a fabric, one by one.

Each link sends one message at a time, first come first served, at its bandwidth; a message arrives alpha after its last
bit left. Threadblocks run in order and wait for their dependencies, nothing else: there are no rounds. What the
schedule's cost promises is T_L alpha + T_B M/B; the ratio to that is what lowering loses or gains. Floating point, but
deterministic.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.cost import Fabric, cost_of, time_of
from linkstep.errors import LinkstepError
from linkstep.lower import Program, Threadblock
from linkstep.units import Number, parse_size

_LONGEST = 40
"""Pictures with more links than this have no link names."""

_At = tuple[int, int]  # (rank, threadblock)


@dataclass(frozen=True)
class Simulation:
    """When each instruction ran, in columns sorted by (rank, threadblock, position); times in seconds."""

    program: Program
    time: float
    """When the last instruction ended."""
    predicted: float
    """The schedule's cost in seconds: T_L alpha + T_B M/B, reductions included."""
    rank: NDArray[np.int32]
    threadblock: NDArray[np.int32]
    position: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    @property
    def loss(self) -> float:
        """By what part it is slower than predicted; negative if it is faster."""
        return self.time / self.predicted - 1 if self.predicted else 0.0


class _Machine:
    """The state of a simulation: what has ended, what is on its way, who waits for what."""

    def __init__(self, program: Program, fabric: Fabric, size: Number, instruction_time: float) -> None:
        topology, links = program.plan.schedule.topology, program.plan.schedule.topology.num_links
        bits = float(8 * parse_size(size) / program.plan.num_chunks)
        rate = float(fabric.link_bandwidth)
        bandwidth = np.full(links, rate) if topology.bandwidth is None else topology.bandwidth.astype(np.float64)
        self.seconds = (bits / bandwidth).tolist()
        alpha = np.full(links, float(fabric.alpha)) if topology.alpha is None else topology.alpha / 1e9
        self.alpha = alpha.tolist()
        self.reduction, self.overhead = bits * float(fabric.gamma), instruction_time
        self.blocks = program.ranks
        self.free = [0.0] * links
        self.arrivals: defaultdict[tuple[int, int], deque[float]] = defaultdict(deque)
        self.receiver: dict[tuple[int, int], _At] = {}
        self.position = {(r, t): 0 for r, blocks in enumerate(self.blocks) for t in range(len(blocks))}
        self.waiters: defaultdict[tuple[int, int, int], list[_At]] = defaultdict(list)
        self.times = {at: [(0.0, 0.0)] * len(self.blocks[at[0]][at[1]].instructions) for at in self.position}
        self.since = dict.fromkeys(self.position, 0.0)
        self.heap: list[tuple[float, int, _At]] = []

    def wake(self, at: _At, time: float) -> None:
        """Look at a threadblock at that time; of several, at the one of the earliest schedule step first."""
        instructions = self.blocks[at[0]][at[1]].instructions
        if self.position[at] < len(instructions):
            heapq.heappush(self.heap, (time, instructions[self.position[at]].step, at))

    def run(self) -> None:
        for at in self.position:
            self.wake(at, 0.0)
        while self.heap:
            now, _, at = heapq.heappop(self.heap)
            self.look(at, now)

    def look(self, at: _At, now: float) -> None:
        """Begin a threadblock's next instruction, or note what it waits for."""
        rank, tb = at
        block, position = self.blocks[rank][tb], self.position[at]
        instruction = block.instructions[position]
        if instruction.depends is not None:
            other, needed = instruction.depends
            if self.position[rank, other] <= needed:
                self.waiters[rank, other, needed].append(at)
                return
            ended = self.times[rank, other][needed][1]
            if ended > now:
                self.wake(at, ended)
                return
        if instruction.type == "s":
            self.send(at, block, instruction.count, now)
        elif instruction.type in ("r", "rrc"):
            self.receive(at, block, instruction.count, instruction.type == "rrc", now)
        else:
            reduces = instruction.type == "re"
            self.end(at, now, now + self.overhead + reduces * instruction.count * self.reduction)

    def send(self, at: _At, block: Threadblock, count: int, now: float) -> None:
        start = max(now + self.overhead, self.free[block.link])
        gone = start + count * self.seconds[block.link]
        self.free[block.link] = gone
        connection = (block.link, block.channel)
        self.arrivals[connection].append(gone + self.alpha[block.link])
        receiver = self.receiver.pop(connection, None)
        if receiver is not None:
            self.wake(receiver, self.arrivals[connection][0])
        self.end(at, start, gone)

    def receive(self, at: _At, block: Threadblock, count: int, reduces: bool, now: float) -> None:
        connection = (block.link, block.channel)
        if not self.arrivals[connection]:
            self.receiver[connection] = at
        elif self.arrivals[connection][0] > now:
            self.wake(at, self.arrivals[connection][0])
        else:
            self.arrivals[connection].popleft()
            self.end(at, self.since[at], now + self.overhead + reduces * count * self.reduction)

    def end(self, at: _At, start: float, end: float) -> None:
        position = self.position[at]
        self.times[at][position] = (start, end)
        self.position[at] = position + 1
        self.since[at] = end
        self.wake(at, end)
        for waiter in self.waiters.pop((*at, position), ()):
            self.wake(waiter, end)


def predicted_time(program: Program, fabric: Fabric, size: Number) -> float:
    """Return the seconds that the schedule's cost stands for."""
    schedule = program.plan.schedule
    topology = schedule.topology
    if topology.alpha is not None and topology.bandwidth is not None:
        return float(time_of(schedule, size))
    cost, bits = cost_of(schedule), 8 * parse_size(size)
    reduces = schedule.collective in ("reduce-scatter", "allreduce", "reduce")
    half = 2 if schedule.collective == "allreduce" else 1
    reduction = cost.bandwidth / half * bits * fabric.gamma if reduces else 0
    return float(cost.steps * fabric.alpha + cost.bandwidth * bits / fabric.node_bandwidth + reduction)


def simulate(program: Program, fabric: Fabric, size: Number, *, instruction_time: float = 0.0) -> Simulation:
    """Run a program on a fabric with ``size`` bytes of data in all; every instruction takes ``instruction_time`` more.

    >>> import linkstep
    >>> from linkstep.lower import program_of
    >>> program = program_of(linkstep.parse("K_{4,4}").build("allreduce"))
    >>> done = simulate(program, Fabric.of("10us", "100Gbps", 4), "1MB")
    >>> f"{done.time * 1e6:.0f} of {done.predicted * 1e6:.0f} us"
    '180 of 180 us'
    """
    topology = program.plan.schedule.topology
    if topology.num_nodes > 1 and fabric.degree < topology.degree:
        raise LinkstepError(f"the fabric has {fabric.degree} ports a node, the topology needs {topology.degree}")
    machine = _Machine(program, fabric, size, instruction_time)
    machine.run()
    keys = sorted(machine.position)
    lengths = [len(machine.times[at]) for at in keys]
    if [machine.position[at] for at in keys] != lengths:
        raise LinkstepError("the program deadlocks: not every instruction could run")
    spans = [span for at in keys for span in machine.times[at]]
    start, end = (np.array([span[k] for span in spans], np.float64) for k in (0, 1))
    return Simulation(
        program,
        float(end.max()) if end.size else 0.0,
        predicted_time(program, fabric, size),
        np.repeat(np.array([at[0] for at in keys], np.int32), lengths),
        np.repeat(np.array([at[1] for at in keys], np.int32), lengths),
        np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]) if lengths else np.zeros(0, np.int32),
        start,
        end,
    )


def link_spans(simulation: Simulation) -> list[tuple[int, int, float, float]]:
    """Return (link, schedule step, start, end) for every time a link was busy."""
    spans = []
    for rank, tb, position, start, end in zip(
        simulation.rank.tolist(), simulation.threadblock.tolist(), simulation.position.tolist(),
        simulation.start.tolist(), simulation.end.tolist(), strict=True,
    ):  # fmt: skip
        block = simulation.program.ranks[rank][tb]
        instruction = block.instructions[position]
        if instruction.type == "s":
            spans.append((block.link, instruction.step, start, end))
    return sorted(spans)


def draw_timeline(simulation: Simulation, axes: Any) -> None:
    """Draw on a matplotlib axes when each link was busy, coloured by schedule step."""
    topology = simulation.program.plan.schedule.topology
    steps = max(simulation.program.plan.schedule.num_steps, 1)
    bars: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for link, step, start, end in link_spans(simulation):
        bars[step, link].append((start * 1e6, (end - start) * 1e6))
    for (step, link), spans in sorted(bars.items()):
        shade = f"C{(step - 1) % 10}"
        axes.broken_barh(spans, (link - 0.4, 0.8), facecolors=shade, edgecolor="white", linewidth=0.3)
    axes.axvline(simulation.predicted * 1e6, color="#d7263d", linestyle=":")
    if topology.num_links <= _LONGEST:
        names = [f"{u} to {w}" for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True)]
        axes.set_yticks(range(topology.num_links), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("microseconds; dotted: what the schedule costs")
    axes.set_ylabel("link")
    collective = simulation.program.plan.schedule.collective
    axes.set_title(f"{topology.name or 'topology'}: {collective}, {steps} steps by colour")

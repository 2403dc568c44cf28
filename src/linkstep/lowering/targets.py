"""The runtimes by name: what each can do and how much fits, as its own parser and interpreter have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES
from linkstep.lowering.values import Program


@dataclass(frozen=True)
class Target:
    """A runtime: its words for collectives and its limits (None: no such limit)."""

    name: str
    collectives: dict[str, str]
    splits: bool = False
    """Whether receiving, reducing and sending on must be instructions of their own."""
    max_count: int | None = None
    max_steps: int | None = None
    """Instructions a threadblock."""
    max_blocks: int | None = None
    """Threadblocks a rank."""
    max_channels: int | None = None
    protocols: tuple[str, ...] = ("Simple",)
    gathers: bool = True
    """Whether scattered pieces can be gathered in scratch; not where one operation sends several anyway."""
    gather_bytes: int = 0
    """Pieces up to this many bytes are gathered, where a message costs more than two copies of them."""


_XML = {c: c for c in ("allgather", "allreduce", "broadcast", "reduce")}
_PLUS = {c: c for c in ("allgather", "allreduce", "broadcast")} | {"reduce-scatter": "reducescatter"}
_PROTOCOLS = ("Simple", "LL", "LL128")
MAX_CHUNKS = 32767  # offsets are int16
MAX_NODES_XML = 4095
MAX_RANKS_XML = 1024
MAX_PEERS = 32
MAX_DEPENDENCY = 127

TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        # All threadblocks must be resident at once: 108 is what the smallest GPU in use has.
        Target("msccl", _XML | {"reduce-scatter": "reduce_scatter"}, False, 71, 256, 108, 32, _PROTOCOLS),
        Target("msccl-azure", _XML | {"reduce-scatter": "reducescatter"}, False, 71, 64, 1024, 32, _PROTOCOLS),
        Target("rccl", _XML | {"reduce-scatter": "reducescatter"}, True, 71, 64, 64, 128, _PROTOCOLS),
        Target("mscclpp", _PLUS, True, None, 64, gathers=False),
        Target("cpu", {c: c for c in COLLECTIVES}, True, gather_bytes=512),
    )
}


def target_named(name: str) -> Target:
    """Return the target; LinkstepError names those there are."""
    if name not in TARGETS:
        raise LinkstepError(f"the target must be one of {', '.join(TARGETS)}, not {name!r}")
    return TARGETS[name]


def check_asked(target: Target, collective: str, proto: str) -> None:
    """Raise unless the runtime knows the collective and the protocol."""
    if collective not in target.collectives:
        able = [t.name for t in TARGETS.values() if collective in t.collectives]
        raise LinkstepError(f"{target.name} has no {collective}: lower it to {' or '.join(able)}")
    if proto not in target.protocols:
        raise LinkstepError(f"{target.name} has no protocol {proto}, only {', '.join(target.protocols)}")


@dataclass(frozen=True)
class Excess:
    """A limit that a program breaks; ``more_channels`` tells whether that could help."""

    what: str
    limit: int
    found: int
    more_channels: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.found}, {self.found - self.limit} over the limit of {self.limit}"


def excesses(program: Program, target: Target) -> Iterator[Excess]:
    """Yield the limits of an XML dialect that a program breaks, those first that more channels cannot mend."""
    plan = program.plan
    n = plan.num_ranks
    steps = max((len(tb.instructions) for blocks in program.ranks for tb in blocks), default=0)
    blocks = max(len(blocks) for blocks in program.ranks)
    nodes = max(1 + n + len(b) + sum(len(tb.instructions) for tb in b) for b in program.ranks)
    peers = max((len({tb.send for tb in b if tb.send >= 0}) for b in program.ranks), default=0)
    asked = max(
        (i.depends[0] for b in program.ranks for tb in b for i in tb.instructions if i.depends is not None), default=0
    )
    fixed = [
        ("ranks", MAX_RANKS_XML, n),
        ("chunks in a buffer", MAX_CHUNKS, max(max(plan.num_chunks, *sizes) for sizes in program.sizes)),
        ("XML elements a rank reads", MAX_NODES_XML, nodes),
        ("threadblocks a rank", target.max_blocks, blocks),
        ("channels", target.max_channels, plan.num_channels),
        ("peers of a rank", MAX_PEERS, peers),
        ("the largest threadblock waited for", MAX_DEPENDENCY, asked),
    ]
    for what, limit, found in fixed:
        if limit is not None and found > limit:
            yield Excess(what, limit, found)
    if target.max_steps is not None and steps > target.max_steps:
        yield Excess("steps a threadblock", target.max_steps, steps, True)

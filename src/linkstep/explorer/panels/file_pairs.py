"""The pairs of ranks that a file names as peers, for files that have no order in which they could run."""

from __future__ import annotations

from collections.abc import Iterator

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.programs import sniff
from linkstep.programs.cpu.reader import CpuFile
from linkstep.programs.msccl.reader import MscclFile
from linkstep.programs.mscclpp.reader import ExecutionPlan

_MOST_RANKS = 4096


def pairs_of(text: str, dialect: str) -> Topology | None:
    """Return a topology with a link for each pair; None where there is none, or nothing to tell it by."""
    try:
        file = sniff(text, dialect).read(text)
    except LinkstepError:
        return None
    what = file.summary
    num_nodes = what.num_ranks + what.num_forwarders
    pairs = sorted({(a, b) for a, b in _named(file) if a != b and 0 <= a < num_nodes and 0 <= b < num_nodes})
    if not pairs or num_nodes > _MOST_RANKS:
        return None
    tails, heads = zip(*pairs, strict=True)
    return Topology.from_links(num_nodes, tails, heads)


def _named(file: object) -> Iterator[tuple[int, int]]:
    if isinstance(file, MscclFile):
        yield from zip(file.tbs.rank.tolist(), file.tbs.send.tolist(), strict=True)
    elif isinstance(file, CpuFile):
        for number, rank in enumerate(file.ranks):
            yield from ((number, one.peer) for one in rank.instructions if one.kind == "send")
    elif isinstance(file, ExecutionPlan):
        for gpu in file.gpus:
            for op in (op for ops in gpu.threadblocks for op in ops):
                yield from ((channel.rank, channel.peer) for channel in op.channels)

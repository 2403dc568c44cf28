"""The best BFB schedule: integral flows for the least loads that the certificate allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_flow import _place, _rows, _tally
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, check_count, parse_size
from linkstep.methods.bfb.cost import bfb_certificate
from linkstep.methods.bfb.problems import Block, Links, Progress, for_each_block
from linkstep.methods.bfb.unequal import grid_capacities, lift_to_grid

_TYPES = {"source": np.int32, "lo": np.int64, "hi": np.int64, "link": np.int32, "step": np.int16}
"""The columns of ``Schedule``, as the kernels take them."""

MAX_UNIT = 2**31
MAX_CHUNKS = 10**6


@dataclass(frozen=True)
class Capacities:
    """At step t a shard is ``share[t - 1]`` pieces and a link of class c may carry ``piece[t - 1, c]`` of them."""

    share: Ints
    piece: NDArray[np.int64]
    link_class: Ints

    @property
    def unit(self) -> int:
        """Pieces of all steps on one grid."""
        return lcm(*self.share.tolist())


def _exact(loads: list[Fraction], links: Links) -> Capacities:
    """Capacities for loads p/q of a link of weight 1: shards of q pieces, p pieces a weight, so flows are integral."""
    weights, classes = links.classes
    share = np.array([load.denominator for load in loads], np.int64)
    piece = np.array([load.numerator for load in loads], np.int64)[:, None] * weights
    return Capacities(share, piece, classes)


def _chunked(loads: list[Fraction], links: Links, chunks: int) -> Capacities:
    """Capacities for P pieces a shard where links are alike: an integral flow exists at ceil(P U) (sec:shortestIP)."""
    piece = np.array([[ceil(chunks * load)] for load in loads], np.int64)
    return Capacities(np.full(len(loads), chunks, np.int64), piece, np.zeros(links.id.size, np.int64))


def bfb_allgather(
    topology: Topology,
    chunks: int | None = None,
    *,
    size: Number | None = None,
    progress: Progress | None = None,
) -> Schedule:
    """Return a BFB allgather of least T_B (thm:shortestlpopt), or the best with ``chunks`` equal chunks a shard.

    Without ``chunks`` the cost is exactly ``bfb_cost(topology)`` and ``unit`` divides lcm(1..d) where links are alike.
    With per-link latencies the best split depends on ``size``, the bytes gathered in all (sec:heterogeneous); shards
    are then cut in ``chunks`` (64 if not given) and the schedule is the fastest BFB one on that grid.

    >>> ring = Topology.from_links(4, [0, 0, 1, 1, 2, 2, 3, 3], [1, 3, 0, 2, 1, 3, 0, 2])
    >>> bfb_allgather(ring)
    <Schedule allgather on N=4: 16 rows, 2 steps, unit 2>
    """
    if chunks is not None:
        chunks = check_count("chunks", chunks, 1, MAX_CHUNKS)
    total = None if size is None else parse_size(size)
    links = Links.of(topology)
    certificate = bfb_certificate(topology)
    if topology.num_nodes == 1:
        return Schedule.from_columns(topology, 1, [], [], [], [], [])
    fastest = int(links.weight.max())
    loads = [step.load / fastest for step in certificate.steps]  # per unit of weight
    if topology.alpha is not None and total is not None:
        caps = Capacities(*grid_capacities(topology, links, chunks or 64, total))
    elif chunks is None:
        caps = _exact(loads, links)
        if caps.unit > MAX_UNIT:
            raise ScheduleError(f"the exact split needs {caps.unit} chunks a shard: ask for a number with chunks")
    elif fastest == int(links.weight.min()):
        caps = _chunked(loads, links, chunks)
    else:
        caps = Capacities(*lift_to_grid(topology, links, loads, chunks))
    return _build(topology, links, caps, progress)


def _columns(size: int) -> dict[str, NDArray[Any]]:
    return {what: np.empty(size, kind) for what, kind in _TYPES.items()}


def _build(topology: Topology, links: Links, caps: Capacities, progress: Progress | None) -> Schedule:
    share, unit = caps.share, caps.unit
    scale = unit // share
    whole = caps.piece // share[:, None]
    steps = share.size
    most = int(min(share.max(), np.diff(links.ptr).max()))

    def work(block: Block) -> dict[str, NDArray[Any]]:
        sources = int((block.problems["end_source"] - block.problems["first_source"]).sum())
        rows = _columns(sources * most)
        count, stuck = _rows(
            *block.groups, block.members, block.group_of, links.ptr, links.id, caps.link_class,
            caps.piece, whole, share, scale, *rows.values(),
        )  # fmt: skip
        assert stuck < 0, f"problem {block.problems[stuck]} does not fit although its load is feasible"
        return {what: column[:count].copy() for what, column in rows.items()}

    counts = np.zeros((steps, topology.num_links), np.int64)
    blocks = []
    for block in for_each_block(topology, np.arange(topology.num_nodes), steps, work, progress):
        _tally(block["link"], block["step"], counts)
        blocks.append(block)
    total = int(counts.sum())
    offset = np.cumsum(counts.ravel()).reshape(counts.shape) - counts
    columns: dict[str, Any] = _columns(total)
    while blocks:
        arrays = (*blocks.pop(0).values(), offset, *columns.values())
        _place(*arrays)
    for column in columns.values():
        column.flags.writeable = False
    return Schedule(topology, unit, **columns)

"""The best schedule for given arrivals, distances in BFB: integral flows for the least loads the certificate allows.

Where a group of automorphisms acts freely, rows are made for one node of each orbit and translated to the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_flow import _place, _plan_translation, _rows, _tally, _translate
from linkstep.core.arguments import check_callable
from linkstep.core.errors import ScheduleError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.core.units import Number, check_count, parse_size
from linkstep.costs import FabricLike
from linkstep.methods.bfb.cost import Certificate, bfb_certificate, solve
from linkstep.methods.bfb.hosts import HostFlows, share_of
from linkstep.methods.bfb.problems import Block, cores, for_each_block, in_parallel
from linkstep.methods.bfb.unequal import grid_capacities, lift_to_grid
from linkstep.methods.common.arrivals import Arrivals, pieces_of
from linkstep.methods.common.links import Links
from linkstep.symmetry.translations import translations

_TYPES = {"source": np.int32, "lo": np.int64, "hi": np.int64, "link": np.int32, "step": np.int16}
"""The columns of ``Schedule``, as the kernels take them."""

Columns = dict[str, NDArray[Any]]

_WORTH_TRANSLATING = 512
"""Nodes from which on looking for a group takes less time than the rows that it saves."""
MAX_UNIT = 2**31
_SHARES = (1, 2, 3, 4, 5, 6, 8, 12, 24, 60, 120, 840)
"""Parts of a piece that are tried, where hosts have a limit, before those of the exact split."""
MAX_CHUNKS = 10**6


@dataclass(frozen=True)
class Capacities:
    """At step t a piece is ``share[t - 1]`` parts and a link of class c may carry ``part[t - 1, c]`` of them.

    A piece is what arrives at one step: a whole shard, unless arrivals say otherwise.
    """

    share: Ints
    part: NDArray[np.int64]
    link_class: Ints

    @property
    def unit(self) -> int:
        """Parts of a piece on one grid for all steps."""
        return lcm(*self.share.tolist())


def _exact(loads: list[Fraction], links: Links) -> Capacities:
    """Capacities for loads p/q of a link of weight 1: pieces of q parts, p parts a weight, so flows are integral."""
    weights, classes = links.classes
    share = np.array([load.denominator for load in loads], np.int64)
    part = np.array([load.numerator for load in loads], np.int64)[:, None] * weights
    return Capacities(share, part, classes)


def _chunked(loads: list[Fraction], links: Links, chunks: int) -> Capacities:
    """Capacities for P parts a piece where links are alike: an integral flow exists at ceil(P U) (sec:shortestIP)."""
    part = np.array([[ceil(chunks * load)] for load in loads], np.int64)
    return Capacities(np.full(len(loads), chunks, np.int64), part, np.zeros(links.id.size, np.int64))


def bfb_allgather(
    topology: WiringLike,
    chunks: int | None = None,
    *,
    size: Number | None = None,
    fabric: FabricLike | None = None,
    progress: Progress | None = None,
) -> Schedule:
    """Return a BFB allgather of least T_B (thm:shortestlpopt), or the best with ``chunks`` equal chunks a shard.

    Without ``chunks`` the cost is exactly ``bfb_cost(topology)`` and ``unit`` divides lcm(1..d) where links are alike.
    With per-link latencies the best split depends on ``size``, the bytes gathered in all (sec:heterogeneous); shards
    are then cut in ``chunks`` (64 if not given) and the schedule is the fastest BFB one on that grid. Where the
    hosts of a ``fabric`` have a limit, its cost is ``bfb_cost(topology, fabric)``, latencies of links left aside.

    >>> ring = Topology.from_links(4, [0, 0, 1, 1, 2, 2, 3, 3], [1, 3, 0, 2, 1, 3, 0, 2])
    >>> bfb_allgather(ring)
    <Schedule allgather on N=4: 16 rows, 2 steps, unit 2>
    """
    check_callable("progress", progress)
    topology = as_topology(topology)
    return build(topology, bfb_certificate(topology, fabric), chunks, size, progress)


def build(
    topology: Topology,
    certificate: Certificate,
    chunks: int | None = None,
    size: Number | None = None,
    progress: Progress | None = None,
) -> Schedule:
    """Return the schedule that reaches what a certificate proves, for its arrivals: see ``bfb_allgather``."""
    if chunks is not None:
        chunks = check_count("chunks", chunks, 1, MAX_CHUNKS)
    total = None if size is None else parse_size(size)
    links = Links.of(topology)
    if topology.num_nodes == 1:
        return Schedule.from_columns(topology, 1, [], [], [], [], [])
    if certificate.arrivals is None:
        group = translations(topology) if topology.num_nodes >= _WORTH_TRANSLATING else None
    else:
        group = certificate.arrivals.group
    if certificate.width is not None and (group is None or len(group) < topology.num_nodes):
        group = None
        caps = _through_hosts(topology, links, certificate, _parts(certificate, chunks))
    else:
        if certificate.width is not None:  # all send alike, whatever links carry: the best split of links is as good
            certificate = solve(topology, links, arrivals=certificate.arrivals)
        caps = _capacities(topology, links, certificate, chunks, total)
    return _build(topology, links, caps, certificate.arrivals, group, progress)


def _parts(certificate: Certificate, chunks: int | None) -> int | None:
    """Return the chunks of what arrives at one step, a piece of a shard; None: as many as it takes."""
    pieces = pieces_of(certificate.arrivals)
    if chunks is not None and chunks % pieces:
        raise ScheduleError(f"{pieces} pieces of a shard arrive apart: chunks must be a multiple, not {chunks}")
    return None if chunks is None else chunks // pieces


def _through_hosts(topology: Topology, links: Links, certificate: Certificate, parts: int | None) -> Capacities:
    """Return what each link carries in the flows that keep within the limit of the hosts that send."""
    assert certificate.width is not None
    flows = HostFlows(topology, links, certificate.width, certificate.arrivals)
    pieces, fastest = pieces_of(certificate.arrivals), int(links.weight.max())
    shares, carried = [], []
    for number, step in enumerate(certificate.steps):
        load = step.load * pieces / fastest
        if parts is not None:
            load, tried = flows.grid_load(number, load, parts), [parts]
        else:
            exact = share_of(load, links, flows.limit)
            tried = [*(share for share in _SHARES if share < exact), exact]
        share, found = _coarsest(flows, number, load, tried, pieces)
        shares.append(share)
        carried.append(found)
    caps = Capacities(np.array(shares, np.int64), np.array(carried), np.arange(links.id.size))
    return _checked(caps, pieces)


def _coarsest(flows: HostFlows, number: int, load: Fraction, tried: list[int], pieces: int) -> tuple[int, Ints]:
    """Return the first number of parts of a piece with which all of a step fits, and what links then carry.

    The last one always does; where hosts are what a step waits for, links have room to spare and few parts will do.
    """
    for share in tried:
        _check_unit(share * pieces)
        found = flows.link_loads(number, share, load)
        if found is not None:
            return share, found
    raise AssertionError(f"step {number + 1} does not fit although its load is feasible")


def _checked(caps: Capacities, pieces: int) -> Capacities:
    _check_unit(caps.unit * pieces)
    return caps


def _check_unit(unit: int) -> None:
    if unit > MAX_UNIT:
        raise ScheduleError(f"the exact split needs {unit} chunks a shard: ask for a number with chunks")


def _capacities(
    topology: Topology, links: Links, certificate: Certificate, chunks: int | None, size: Fraction | None
) -> Capacities:
    arrivals = certificate.arrivals
    pieces = pieces_of(arrivals)
    fastest = int(links.weight.max())
    loads = [step.load * pieces / fastest for step in certificate.steps]  # in pieces, per unit of weight
    parts = _parts(certificate, chunks)
    if topology.alpha is not None and size is not None and certificate.width is None:
        return Capacities(*grid_capacities(topology, links, parts or -(-64 // pieces), size, arrivals))
    if parts is None:
        return _checked(_exact(loads, links), pieces)
    if fastest == int(links.weight.min()):
        return _chunked(loads, links, parts)
    return Capacities(*lift_to_grid(topology, links, loads, parts, arrivals))


def _columns(size: int) -> Columns:
    return {what: np.empty(size, kind) for what, kind in _TYPES.items()}


def _build(
    topology: Topology,
    links: Links,
    caps: Capacities,
    arrivals: Arrivals | None,
    group: Ids | None,
    progress: Progress | None,
) -> Schedule:
    share = caps.share
    scale = caps.unit // share
    whole = caps.part // share[:, None]
    steps = share.size
    most = int(min(share.max(), np.diff(links.ptr).max()))
    pieces = pieces_of(arrivals)

    def work(block: Block) -> Columns:
        sources = int((block.problems["end_source"] - block.problems["first_source"]).sum())
        rows = _columns(sources * most)
        count, stuck = _rows(
            *block.groups, block.members, block.group_of, links.ptr, links.id, caps.link_class,
            caps.part, whole, pieces, share, scale, *rows.values(),
        )  # fmt: skip
        assert stuck < 0, f"problem {block.problems[stuck]} does not fit although its load is feasible"
        return {what: column[:count].copy() for what, column in rows.items()}

    nodes = np.arange(topology.num_nodes) if group is None else np.unique(group.min(axis=0)).astype(np.int64)
    made = for_each_block(topology, nodes, steps, work, progress, arrivals)
    columns: dict[str, Any] = (
        _in_order(topology, steps, made) if group is None else _translated(topology, links, group, steps, made)
    )
    for column in columns.values():
        column.flags.writeable = False
    return Schedule(topology, caps.unit * pieces, **columns)


def _in_order(topology: Topology, steps: int, made: Iterator[Columns]) -> Columns:
    """Return the rows of blocks in canonical order; within a block they are sorted but for step and link."""
    counts = np.zeros((steps, topology.num_links), np.int64)
    blocks = []
    for block in made:
        _tally(block["link"], block["step"], counts)
        blocks.append(block)
    offset = np.cumsum(counts.ravel()).reshape(counts.shape) - counts
    columns = _columns(int(counts.sum()))
    while blocks:
        arrays = (*blocks.pop(0).values(), offset, *columns.values())
        _place(*arrays)
    return columns


def _translated(topology: Topology, links: Links, group: Ids, steps: int, made: Iterator[Columns]) -> Columns:
    """Return the rows of one node of each orbit, and what the group makes of them, in canonical order."""
    blocks = list(made)
    rows = {what: np.concatenate([block[what] for block in blocks]) for what in _TYPES}
    node = topology.head[rows["link"]]
    order = np.lexsort((rows["lo"], rows["source"], node))
    rows = {what: column[order] for what, column in rows.items()}
    nodes, begin = np.unique(node[order], return_index=True)
    most = int(np.diff(links.ptr)[nodes].max())
    bucket = np.empty(order.size, np.int64)
    start = np.zeros((nodes.size, steps * most + 1), np.int64)
    first = np.zeros((nodes.size, topology.num_nodes + 1), np.int64)
    offset = np.zeros((steps, topology.num_links), np.int64)
    graph = links.ptr, links.id, topology.tail
    arrays: Any = (group, nodes, np.append(begin, order.size), *graph, rows["source"], rows["link"], rows["step"])
    arrays += bucket, start, first, offset
    _plan_translation(*arrays)
    columns = _columns(order.size * len(group))
    places: Any = (nodes, *graph, bucket, start, first, offset, rows["lo"], rows["hi"], *columns.values())
    in_parallel(lambda part: _translate(*(part, *places)), np.array_split(group, cores()))
    return columns

"""MSCCL++ JSON as typed rows: the structure of an execution plan, its channels and remote buffers looked up.

What the loader reads without a default is required here too: it does not check, and reads garbage where it is missing.
What is read but cannot be followed (threadblock groups, pipelines, semaphores, switch channels) is noted, not refused.
What numbers may be is for ``rules`` to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.programs.format import Summary
from linkstep.programs.memory import KINDS, LETTERS

MAX_TEXT = 2**27
MAX_RANKS = 1024
MAX_NUMBER = 2**31 - 1
CHANNEL_TYPES = ("memory", "port")
_FOREIGN = ("barrier_id", "num_threadblocks", "semaphore_ids", "iter_context")
"""Fields that share memory with the channels and offsets of an operation (union in execution_common.hpp)."""
_USUAL = frozenset(("name", "channel_type", "channel_ids", "src_buff", "dst_buff", "reduce_op"))
_NOT_FOLLOWED = ("pipeline", "sem_acquire", "sem_release", "glres", "gstore")
"""Operations with fields of their own, which are not read."""

COLLECTIVES = {
    "allgather": Collective.ALLGATHER,
    "allreduce": Collective.ALLREDUCE,
    "reducescatter": Collective.REDUCE_SCATTER,
    "reduce_scatter": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL,
    "broadcast": Collective.BROADCAST,
    "reduce": Collective.REDUCE,
}
"""What plans call them."""


class Ref(NamedTuple):
    """A piece of a buffer; the buffer is -1 where the file names one wrongly."""

    buffer: int
    start: int
    size: int


@dataclass(frozen=True, eq=False)
class Channel:
    """One end of a connection: the ``number``-th of its type between two ranks, counted on its own rank."""

    rank: int
    peer: int
    kind: str
    number: int

    @property
    def key(self) -> tuple[int, int, str, int]:
        """What tells this end from all others."""
        return self.rank, self.peer, self.kind, self.number

    @property
    def other(self) -> tuple[int, int, str, int]:
        """The key of the end at the peer, which may not be listed there."""
        return self.peer, self.rank, self.kind, self.number


class Op(NamedTuple):
    """An operation of a threadblock with its channels and buffers looked up."""

    name: str
    kind: str = "none"
    channels: tuple[Channel, ...] = ()
    src: tuple[Ref, ...] = ()
    dst: tuple[Ref, ...] = ()
    barrier: int = -1
    num_threadblocks: int = 0


NOP = Op("nop")
NOT_FOLLOWED = Op("?")
"""In place of an operation of which the reader has noted that it cannot be followed."""

Note = tuple[str, tuple[int, ...]]
"""What cannot be followed, and where: the rank, threadblock and step, as far as there are any."""


@dataclass(frozen=True)
class Gpu:
    """A rank: the chunks of its input, output and scratch, and its threadblocks' operations."""

    size: tuple[int, int, int]
    threadblocks: tuple[tuple[Op, ...], ...]
    num_channels: tuple[int, ...]
    """Channels of each threadblock, or remote buffers if these are more, of the type that has the most."""
    num_ports: int
    num_port_buffers: int
    not_followed: tuple[Note, ...]


@dataclass(frozen=True)
class ExecutionPlan:
    """An execution plan: its fields but for the gpus, and these."""

    head: dict[str, Any]
    gpus: tuple[Gpu, ...]

    @property
    def collective(self) -> Collective | None:
        """The collective, or None where the plan's word is none we know."""
        return COLLECTIVES.get(self.head["collective"])

    @property
    def chunks(self) -> int:
        """How many chunks the data is."""
        return max(self.gpus[0].size[:2])

    @property
    def has_double_scratch(self) -> bool:
        """Whether runs take turns with two halves of scratch."""
        return self.head.get("use_double_scratch_buffer", False) is True

    @property
    def summary(self) -> Summary:
        """What a report says of the plan."""
        name = self.collective.value if self.collective else self.head["collective"][:40]
        instructions = sum(len(ops) for gpu in self.gpus for ops in gpu.threadblocks)
        return Summary(name, len(self.gpus), self.chunks, instructions, self.head["name"])


def get(thing: Any, key: str, kind: type, of: str, default: Any = None) -> Any:
    """Return ``thing[key]``, which must be of a type; integers must be in range."""
    if not isinstance(thing, dict):
        raise FileError(f"{of} is no object")
    value: Any = thing.get(key, default)
    if value is None:
        raise FileError(f"{of} has no {key}")
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FileError(f"{key} of {of} is no {kind.__name__}: {str(value)[:40]!r}")
    if isinstance(value, int) and not 0 <= value <= MAX_NUMBER:
        raise FileError(f"{key} of {of} is out of range")
    return value


def _is_small(x: Any) -> bool:
    return type(x) is int and 0 <= x <= MAX_NUMBER


def _integers(thing: Any, key: str, of: str, default: list[int] | None = None) -> list[int]:
    values: list[int] = get(thing, key, list, of, default)
    for x in values:
        if not _is_small(x):
            raise FileError(f"{key} of {of} holds {str(x)[:40]!r}, not small integers")
    return values


def _at(values: list[Any], k: int, what: str, of: str) -> Any:
    if k >= len(values):
        raise FileError(f"{of} names {what} {k}, there are {len(values)}")
    return values[k]


class _NotFollowed(Exception):
    """An operation that may be right, but is beyond what is followed here."""


class _Gpu:
    """Looks up what a gpu's threadblocks refer to."""

    def __init__(self, data: Any, rank: int, num_ranks: int) -> None:
        self.rank, self.data, self.of = rank, data, f"gpu {rank}"
        self.own = {letter: KINDS * rank + kind for kind, letter in enumerate(LETTERS)}
        self.not_followed: list[Note] = []
        self.ends: dict[str, list[Channel]] = {kind: [] for kind in CHANNEL_TYPES}
        number: dict[tuple[int, str], int] = {}
        for channel in get(data, "channels", list, self.of):
            kind = get(channel, "channel_type", str, f"a channel of {self.of}")
            if kind not in CHANNEL_TYPES:
                self.not_followed.append((f"a channel of type {kind[:40]!r}: only memory and port", (rank,)))
                continue
            for peer in _integers(channel, "connected_to", f"a channel of {self.of}"):
                if peer >= num_ranks or peer == rank:
                    raise FileError(f"a channel of {self.of} is connected to {peer}, not to another rank")
                number[peer, kind] = number.get((peer, kind), -1) + 1
                self.ends[kind].append(Channel(rank, peer, kind, number[peer, kind]))
        self.remote: list[tuple[int, int, list[str]]] = []
        for buffer in get(data, "remote_buffers", list, self.of):
            of = f"a remote buffer of {self.of}"
            peer, kind = get(buffer, "rank", int, of), get(buffer, "type", str, of)
            if peer >= num_ranks or peer == rank or kind not in self.own:
                raise FileError(f"{of} is {kind[:40]!r} of rank {peer}")
            self.remote.append((peer, LETTERS.index(kind), get(buffer, "access_channel_types", list, of)))

    def threadblock(self, data: Any, t: int) -> tuple[tuple[Op, ...], int]:
        of = f"{self.of} tb {t}"
        if get(data, "id", int, of) != t:
            raise FileError(f"{of} has id {data['id']}: ids are positions")
        channels: dict[str, list[Channel]] = {kind: [] for kind in CHANNEL_TYPES}
        for entry in get(data, "channels", list, of):
            kind = get(entry, "channel_type", str, of)
            ends = self.ends.get(kind)
            if ends is None:
                self.not_followed.append((f"a channel of type {kind[:40]!r}: only memory and port", (self.rank, t)))
                continue
            channels[kind] += [_at(ends, k, f"{kind} channel", of) for k in _integers(entry, "channel_ids", of)]
        buffers: dict[str, list[int]] = {kind: [] for kind in CHANNEL_TYPES}
        for entry in get(data, "remote_buffer_refs", list, of, []):
            kind = get(entry, "access_channel_type", str, of)
            for k in _integers(entry, "remote_buffer_ids", of):
                peer, buffer, access = _at(self.remote, k, "remote buffer", of)
                if kind == "switch":
                    continue
                if kind not in CHANNEL_TYPES or kind not in access:
                    raise FileError(f"{of} reaches remote buffer {k} over {kind[:40]!r}, which it does not allow")
                buffers[kind].append(KINDS * peer + buffer)
        ops = get(data, "ops", list, of)
        read = []
        for k, op in enumerate(ops):
            try:
                read.append(self._op(op, channels, buffers, of, k))
            except _NotFollowed as why:
                self.not_followed.append((str(why), (self.rank, t, k)))
                read.append(NOT_FOLLOWED)
        return tuple(read), max([len(x) for x in channels.values()] + [len(x) for x in buffers.values()])

    def _op(self, op: Any, channels: dict[str, list[Channel]], buffers: dict[str, list[int]], tb: str, k: int) -> Op:
        if op == {"name": "nop"}:
            return NOP
        of = f"{tb} op {k}"
        name = op.get("name") if type(op) is dict else None
        if type(name) is not str:  # ``get`` says why; a call for each of many operations takes long
            name = get(op, "name", str, of)
        kind = op.get("channel_type", "none")
        if type(kind) is not str:
            get(op, "channel_type", str, of)
        if name == "barrier":
            return Op(name, "none", (), (), (), get(op, "barrier_id", int, of), get(op, "num_threadblocks", int, of))
        if name in _NOT_FOLLOWED:
            raise _NotFollowed(f"operation {name!r}")
        if not _USUAL.issuperset(op):
            _check_fields(op, name, of)
        if kind == "switch":
            raise _NotFollowed("a switch channel")
        ends, ids = channels.get(kind, []), op.get("channel_ids", [])
        if type(ids) is not list or len(ids) != 1 or not _is_small(ids[0]):
            ids = _integers(op, "channel_ids", of, [])
        mine = tuple([ends[c] if c < len(ends) else _at(ends, c, f"{kind[:40]} channel", of) for c in ids])
        if "src_buff" not in op and "dst_buff" not in op:
            return Op(name, kind, mine)
        there = buffers.get(kind, [])
        src, dst = get(op, "src_buff", list, of, []), get(op, "dst_buff", list, of, [])
        return Op(
            name,
            kind,
            mine,
            tuple([self._ref(r, there, of) for r in src]),
            tuple([self._ref(r, there, of) for r in dst]),
        )

    def _ref(self, ref: Any, buffers: list[int], of: str) -> Ref:
        if type(ref) is not dict:
            raise FileError(f"a buffer of {of} is no object")
        index, size = ref.get("index"), ref.get("size")
        if not (type(index) is int and type(size) is int and 0 <= index <= MAX_NUMBER and 0 <= size <= MAX_NUMBER):
            index, size = get(ref, "index", int, of), get(ref, "size", int, of)
        if "switch_channel_id" in ref:
            raise _NotFollowed("a switch channel")
        if "buffer_id" in ref:
            return Ref(_at(buffers, get(ref, "buffer_id", int, of), "remote buffer", of), index, size)
        kind = ref["type"] if type(ref.get("type")) is str else get(ref, "type", str, of)
        return Ref(self.own.get(kind, -1), index, size)


def _check_fields(op: Any, name: str, of: str) -> None:
    if "tbg_info" in op and get(get(op, "tbg_info", dict, of), "tbg_size", int, of) != 1:
        raise _NotFollowed("work shared in a threadblock group")
    for key in _FOREIGN:
        if key in op:
            raise FileError(f"{of}, {name[:40]!r}, has {key}, which overwrites its channels")


def _read_gpu(data: Any, rank: int, num_ranks: int) -> Gpu:
    of = f"gpu {rank}"
    if get(data, "id", int, of) != rank:
        raise FileError(f"{of} has id {data['id']}: ids are positions")
    i, o, s = (get(data, f"{word}_chunks", int, of) for word in ("input", "output", "scratch"))
    gpu = _Gpu(data, rank, num_ranks)
    tbs = [gpu.threadblock(tb, t) for t, tb in enumerate(get(data, "threadblocks", list, of))]
    return Gpu(
        (i, o, s), tuple(ops for ops, _ in tbs), tuple(n for _, n in tbs), len(gpu.ends["port"]),
        sum("port" in access for _, _, access in gpu.remote), tuple(gpu.not_followed),
    )  # fmt: skip


def read_mscclpp(text: str) -> ExecutionPlan:
    """Read a text, or raise FileError in one line where it is not an execution plan."""
    if len(text) > MAX_TEXT:
        raise FileError(f"more than {MAX_TEXT} characters of JSON")
    try:
        head = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"not JSON: {str(error)[:100]}") from None
    kinds = {"linkstep": "schedule", "linkstep/schedule": "schedule", "linkstep/topology": "topology"}
    if isinstance(head, dict) and (what := kinds.get(str(head.get("format")))) is not None:
        what = "topology" if head.get("kind") == "topology" else what
        raise FileError(f"a linkstep {what}, not a runtime's file: use `linkstep check`")
    gpus = get(head, "gpus", list, "the plan")
    if not 1 <= len(gpus) <= MAX_RANKS:
        raise FileError(f"{len(gpus)} gpus, not 1 to {MAX_RANKS}")
    for key, kind in (("name", str), ("collective", str), ("protocol", str), ("inplace", bool)):
        get(head, key, kind, "the plan")
    return ExecutionPlan(head, tuple([_read_gpu(data, rank, len(gpus)) for rank, data in enumerate(gpus)]))

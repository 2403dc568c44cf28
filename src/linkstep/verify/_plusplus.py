"""MSCCL++ JSON as typed rows: reads an execution plan's structure and resolves its channels and remote buffers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from linkstep.errors import FileError

MAX_TEXT = 2**27
MAX_RANKS = 1024
MAX_NUMBER = 2**31 - 1
CHANNEL_TYPES = ("memory", "port")

Ref = tuple[int, int, int]
"""A piece of a buffer: 3 rank + buffer, first chunk, chunks; the buffer is -1 where the file names one wrongly."""


@dataclass(frozen=True)
class Channel:
    """One end of a connection: the ``number``-th of its type between two ranks, counted on its own rank."""

    rank: int
    peer: int
    kind: str
    number: int

    @property
    def other(self) -> Channel:
        """The end at the peer."""
        return Channel(self.peer, self.rank, self.kind, self.number)


@dataclass(frozen=True)
class Op:
    """An operation of a threadblock with its channels and buffers looked up."""

    name: str
    kind: str
    channels: tuple[Channel, ...]
    src: tuple[Ref, ...]
    dst: tuple[Ref, ...]
    barrier: int
    num_threadblocks: int


@dataclass(frozen=True)
class Gpu:
    """A rank: its buffers' chunks and its threadblocks' operations."""

    size: tuple[int, int, int]
    threadblocks: tuple[tuple[Op, ...], ...]
    num_channels: tuple[int, ...]
    """Channels of each threadblock."""


@dataclass(frozen=True)
class PlusFile:
    """An execution plan."""

    head: dict[str, Any]
    gpus: tuple[Gpu, ...]


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


def _integers(thing: Any, key: str, of: str) -> list[int]:
    values = get(thing, key, list, of, [])
    for x in values:
        if not isinstance(x, int) or isinstance(x, bool) or not 0 <= x <= MAX_NUMBER:
            raise FileError(f"{key} of {of} holds {str(x)[:40]!r}, not small integers")
    return list(values)


def _at(values: list[Any], k: int, what: str, of: str) -> Any:
    if k >= len(values):
        raise FileError(f"{of} names {what} {k}, there are {len(values)}")
    return values[k]


class _Gpu:
    """Looks up what a gpu's threadblocks refer to."""

    def __init__(self, data: Any, rank: int, num_ranks: int) -> None:
        self.rank, self.data, self.of = rank, data, f"gpu {rank}"
        self.ends: dict[str, list[Channel]] = {kind: [] for kind in CHANNEL_TYPES}
        for channel in get(data, "channels", list, self.of, []):
            kind = get(channel, "channel_type", str, f"a channel of {self.of}")
            if kind not in CHANNEL_TYPES:
                raise FileError(f"channel type {kind[:40]!r} of {self.of} cannot be verified: only memory and port")
            for peer in _integers(channel, "connected_to", f"a channel of {self.of}"):
                if peer >= num_ranks or peer == rank:
                    raise FileError(f"a channel of {self.of} is connected to {peer}, not to another rank")
                number = sum(c.peer == peer for c in self.ends[kind])
                self.ends[kind].append(Channel(rank, peer, kind, number))
        self.remote: list[tuple[int, int, list[str]]] = []
        for buffer in get(data, "remote_buffers", list, self.of, []):
            of = f"a remote buffer of {self.of}"
            peer, kind = get(buffer, "rank", int, of), get(buffer, "type", str, of)
            if peer >= num_ranks or peer == rank or kind not in ("i", "o", "s"):
                raise FileError(f"{of} is {kind[:40]!r} of rank {peer}")
            self.remote.append((peer, "ios".index(kind), get(buffer, "access_channel_types", list, of)))

    def threadblock(self, data: Any, t: int) -> tuple[tuple[Op, ...], int]:
        of = f"{self.of} tb {t}"
        if get(data, "id", int, of) != t:
            raise FileError(f"{of} has id {data['id']}: ids are positions")
        channels: dict[str, list[Channel]] = {kind: [] for kind in CHANNEL_TYPES}
        for entry in get(data, "channels", list, of, []):
            kind = get(entry, "channel_type", str, of)
            ends = self.ends.get(kind)
            if ends is None:
                raise FileError(f"{of} has a channel of type {kind[:40]!r}, which cannot be verified")
            channels[kind] += [_at(ends, k, f"{kind} channel", of) for k in _integers(entry, "channel_ids", of)]
        buffers: dict[str, list[tuple[int, int]]] = {kind: [] for kind in CHANNEL_TYPES}
        for entry in get(data, "remote_buffer_refs", list, of, []):
            kind = get(entry, "access_channel_type", str, of)
            for k in _integers(entry, "remote_buffer_ids", of):
                peer, buffer, access = _at(self.remote, k, "remote buffer", of)
                if kind not in CHANNEL_TYPES or kind not in access:
                    raise FileError(f"{of} reaches remote buffer {k} over {kind[:40]!r}, which it does not allow")
                buffers[kind].append((peer, buffer))
        ops = get(data, "ops", list, of)
        read = tuple(self._op(op, channels, buffers, f"{of} op {k}") for k, op in enumerate(ops))
        return read, sum(map(len, channels.values()))

    def _op(
        self, op: Any, channels: dict[str, list[Channel]], buffers: dict[str, list[tuple[int, int]]], of: str
    ) -> Op:
        name, kind = get(op, "name", str, of), get(op, "channel_type", str, of, "none")
        if "tbg_info" in op and get(get(op, "tbg_info", dict, of), "tbg_size", int, of) != 1:
            raise FileError(f"{of} shares its work in a threadblock group, which cannot be verified")
        ids = _integers(op, "channel_ids", of)
        ends = tuple(_at(channels.get(kind, []), k, f"{kind[:40]} channel", of) for k in ids)
        src, dst = (
            tuple(self._ref(r, buffers.get(kind, []), of) for r in get(op, key, list, of, []))
            for key in ("src_buff", "dst_buff")
        )
        barrier = get(op, "barrier_id", int, of) if name == "barrier" else -1
        number = get(op, "num_threadblocks", int, of) if name == "barrier" else 0
        return Op(name, kind, ends, src, dst, barrier, number)

    def _ref(self, ref: Any, buffers: list[tuple[int, int]], of: str) -> Ref:
        index, size = get(ref, "index", int, of), get(ref, "size", int, of)
        if "buffer_id" in ref:
            peer, buffer = _at(buffers, get(ref, "buffer_id", int, of), "remote buffer", of)
            return 3 * peer + buffer, index, size
        kind = get(ref, "type", str, of)
        return (3 * self.rank + "ios".index(kind) if kind in ("i", "o", "s") else -1), index, size


def read_mscclpp(text: str) -> PlusFile:
    """Read a text, or raise FileError in one line where it is not an execution plan."""
    if len(text) > MAX_TEXT:
        raise FileError(f"more than {MAX_TEXT} characters of JSON")
    try:
        head = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"not JSON: {str(error)[:100]}") from None
    gpus = get(head, "gpus", list, "the plan")
    if not 1 <= len(gpus) <= MAX_RANKS:
        raise FileError(f"{len(gpus)} gpus, not 1 to {MAX_RANKS}")
    for key, kind in (("name", str), ("collective", str), ("protocol", str), ("inplace", bool)):
        get(head, key, kind, "the plan")
    rows = []
    for rank, data in enumerate(gpus):
        of = f"gpu {rank}"
        if get(data, "id", int, of) != rank:
            raise FileError(f"{of} has id {data['id']}: ids are positions")
        size = tuple(get(data, f"{word}_chunks", int, of) for word in ("input", "output", "scratch"))
        gpu = _Gpu(data, rank, len(gpus))
        tbs = [gpu.threadblock(tb, t) for t, tb in enumerate(get(data, "threadblocks", list, of))]
        rows.append(Gpu((size[0], size[1], size[2]), tuple(ops for ops, _ in tbs), tuple(n for _, n in tbs)))
    return PlusFile(head, tuple(rows))

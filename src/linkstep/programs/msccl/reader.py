"""MSCCL XML as named columns: the structure of a file. What its numbers may be is for ``rules`` and ``limits`` to say.

Elements where the runtimes look for others are skipped with all in them, as the runtimes do, but noted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.programs.columns import Columns, Ints
from linkstep.programs.format import Summary
from linkstep.programs.memory import LETTERS
from linkstep.programs.msccl.tokens import line_of, tokens

TYPES = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
SENDS = np.array([t in ("s", "rcs", "rrs", "rrcs") for t in TYPES] + [False])
RECEIVES = np.array([t in ("r", "rcs", "rrc", "rrs", "rrcs") for t in TYPES] + [False])
READS_SRC = np.array([t in ("s", "rrc", "rrs", "rrcs", "cpy", "re") for t in TYPES] + [False])
WRITES_DST = np.array([t in ("r", "rcs", "rrc", "rrcs", "cpy", "re") for t in TYPES] + [False])
"""By type; the last entry is for a type nobody knows, which is -1."""

COLLECTIVES = {
    "allreduce": Collective.ALLREDUCE,
    "allgather": Collective.ALLGATHER,
    "reduce_scatter": Collective.REDUCE_SCATTER,
    "reducescatter": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL,
    "broadcast": Collective.BROADCAST,
    "reduce": Collective.REDUCE,
}
"""What the runtimes call them; each takes one of the two spellings of reduce-scatter."""
CUSTOM = "custom"
"""A collective that microsoft/msccl runs without asking what it is to compute."""

_CHILD = {"": "algo", "algo": "gpu", "gpu": "tb", "tb": "step"}
_ATTRIBUTES = {
    "algo": ("name", "ngpus", "nchunksperloop", "nchannels", "proto", "coll", "inplace"),
    "gpu": ("id", "i_chunks", "o_chunks", "s_chunks"),
    "tb": ("id", "send", "recv", "chan"),
    "step": ("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"),
}
_OPTIONAL = {
    "algo": {"outofplace", "minBytes", "maxBytes", "nthreads", "redop", "version"},
    "gpu": set[str](), "tb": {"rtype", "stype"}, "step": set[str](),
}  # fmt: skip
_NUMBERS = ("s", "srcoff", "dstoff", "cnt", "depid", "deps", "hasdep")
_WORDS = ("type", "srcbuf", "dstbuf")
_KIND = {letter: kind for kind, letter in enumerate(LETTERS)}
_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_LONG = re.compile(r"-?[0-9]{1,18}", re.ASCII)
MAX_RANKS = 1024
_MAX_DEPTH = 16


@dataclass(frozen=True, eq=False)
class Gpus(Columns):
    """The gpu elements: a rank and the chunks it declares for its buffers."""

    rank: Ints
    input: Ints
    output: Ints
    scratch: Ints


@dataclass(frozen=True, eq=False)
class Threadblocks(Columns):
    """The tb elements; ``first`` is the row of a threadblock's first step."""

    rank: Ints
    id: Ints
    send: Ints
    recv: Ints
    chan: Ints
    first: Ints
    num_steps: Ints


@dataclass(frozen=True, eq=False)
class Steps(Columns):
    """The step elements, those of a threadblock one after another.

    ``tb`` is a row of the threadblocks, ``position`` where in it the step is and ``s`` where it says it is; ``type`` is
    an index of TYPES, ``src`` and ``dst`` are kinds of buffers; all three are -1 for words nobody knows.
    """

    rank: Ints
    tb: Ints
    s: Ints
    type: Ints
    src: Ints
    src_offset: Ints
    dst: Ints
    dst_offset: Ints
    count: Ints
    depid: Ints
    deps: Ints
    hasdep: Ints
    position: Ints


@dataclass(frozen=True, eq=False)
class MscclFile:
    """An MSCCL XML file: the attributes of ``algo``, and a row for each gpu, tb and step."""

    algo: dict[str, str]
    ngpus: int
    nchunks: int
    nchannels: int
    gpus: Gpus
    tbs: Threadblocks
    steps: Steps
    bad_types: dict[int, str]
    """The name of the type of steps whose type nobody knows, by row."""
    bad_buffers: dict[int, str]
    unknown: tuple[str, ...]
    """Attributes and elements no runtime reads."""

    @property
    def collective(self) -> Collective | None:
        """The collective, or None if there is no such one."""
        return COLLECTIVES.get(self.algo["coll"])

    @property
    def summary(self) -> Summary:
        """What a report says of the file."""
        name = self.collective.value if self.collective else self.algo["coll"][:40]
        return Summary(name, self.ngpus, self.nchunks, len(self.steps))

    def place(self, row: int) -> tuple[int, int, int]:
        """Return where a step is: rank, id of the tb, position."""
        steps = self.steps
        return int(steps.rank[row]), int(self.tbs.id[steps.tb[row]]), int(steps.position[row])


def integer(values: dict[str, str], name: str, of: str, pattern: re.Pattern[str] = _INTEGER) -> int:
    """Return an attribute that must be a decimal integer of bounded length."""
    if not pattern.fullmatch(values[name]):
        raise ValueError(f"{name} of {of} is no integer in range: {values[name][:40]!r}")
    return int(values[name])


def long_integer(values: dict[str, str], name: str) -> int:
    """Return minBytes or maxBytes, 64-bit."""
    try:
        return integer(values, name, "algo", _LONG)
    except ValueError as error:
        raise FileError(str(error)) from None


def _check_attributes(name: str, values: dict[str, str], unknown: set[str]) -> None:
    required = _ATTRIBUTES[name]
    if len(values) != len(required) or any(a not in values for a in required):
        missing = [a for a in required if a not in values]
        if missing:
            raise ValueError(f"{name} has no {missing[0]}")
        unknown.update(f"{name} {a}" for a in values if a not in required and a not in _OPTIONAL[name])


class _Reader:
    """Collects rows while the elements go by."""

    def __init__(self) -> None:
        self.algo: dict[str, str] | None = None
        self.rank = -1
        self.gpus: list[tuple[int, ...]] = []
        self.tbs: list[tuple[int, ...]] = []
        self.firsts: list[int] = []
        """The row of the first step of each tb."""
        self.steps: list[tuple[int, ...]] = []
        self.bad_types: dict[int, str] = {}
        self.bad_buffers: dict[int, str] = {}
        self.unknown: set[str] = set()
        self.type_code = {t: k for k, t in enumerate(TYPES)}
        self.like_last: re.Pattern[str] | None = None
        """Matches a step with its attributes in the order of the last: most files have one order throughout."""
        self.group: list[int] = []
        self.inside_tb = False

    def open(self, name: str, values: dict[str, str]) -> None:
        _check_attributes(name, values, self.unknown)
        if name == "step":
            self._step(values)
        elif name == "tb":
            self.tbs.append((self.rank, *(integer(values, a, "tb") for a in _ATTRIBUTES["tb"])))
            self.firsts.append(len(self.steps))
        elif name == "gpu":
            self.rank = integer(values, "id", "gpu")
            self.gpus.append(tuple(integer(values, a, "gpu") for a in _ATTRIBUTES["gpu"]))
            if len(self.gpus) > MAX_RANKS:
                raise ValueError(f"more than {MAX_RANKS} gpus")
        else:
            if self.algo is not None:
                raise ValueError("a second algo")
            self.algo = values

    def skip(self, name: str, stack: list[str]) -> None:
        """Note an element that is not read; inside of a step and in great depth there may be none."""
        if stack[-1] == "step" or len(stack) > _MAX_DEPTH:
            raise ValueError(f"element {name[:40]} inside {stack[-1]}, where nothing may be")
        self.unknown.add(f"element {name[:40]} {f'inside {stack[-1][:40]}' if stack[-1] else 'at the top'}")

    def _step(self, v: dict[str, str]) -> None:
        for a in _NUMBERS:
            integer(v, a, "step")
        self._row([v[a] for a in (*_NUMBERS, *_WORDS)])
        if len(v) == len(_NUMBERS) + len(_WORDS):
            values = (f' {a}="({"-?[0-9]{1,9}" if a in _NUMBERS else "[a-z]{1,8}"})"' for a in v)
            self.like_last = re.compile(rf"[ \r\n]*<step{''.join(values)} ?/>", re.ASCII)
            self.group = [list(v).index(a) for a in (*_NUMBERS, *_WORDS)]

    def _row(self, values: list[str]) -> None:
        """Add a step of which ``values`` are the ``_NUMBERS`` and the ``_WORDS``."""
        row, tb = len(self.steps), len(self.tbs) - 1
        s, srcoff, dstoff, cnt, depid, deps, hasdep = map(int, values[:7])
        word, srcbuf, dstbuf = values[7:]
        kind, src, dst = self.type_code.get(word, -1), _KIND.get(srcbuf, -1), _KIND.get(dstbuf, -1)
        if kind < 0:
            self.bad_types[row] = word
        if src < 0 or dst < 0:
            self.bad_buffers[row] = srcbuf if src < 0 else dstbuf
        self.steps.append(
            (self.rank, tb, s, kind, src, srcoff, dst, dstoff, cnt, depid, deps, hasdep, row - self.firsts[-1])
        )

    def steps_like_last(self, text: str, position: int) -> int:
        """Read the steps from a position that look like the last step; return where they end."""
        if self.like_last is None or not self.inside_tb:
            return position
        match, group = self.like_last.match, self.group
        while found := match(text, position):
            values = found.groups()
            self._row([values[k] for k in group])
            position = found.end()
        return position


def read_msccl(text: str) -> MscclFile:
    """Read a text, or raise FileError in one line where it is not MSCCL XML."""
    reader, stack, known = _Reader(), [""], 1
    position = 0
    try:
        for at, name, values, closes, empty in tokens(text, reader.steps_like_last):
            position = at
            if closes:
                if stack[-1] != name or len(stack) == 1:
                    raise ValueError(f"the end of {name[:40]} where {stack[-1] or 'nothing'} is open")
                stack.pop()
                known = min(known, len(stack))
            else:
                if len(stack) == known and name == _CHILD.get(stack[-1]):
                    reader.open(name, values)
                    known += not empty
                else:
                    reader.skip(name, stack)
                if not empty:
                    stack.append(name)
            reader.inside_tb = stack[-1] == "tb" and len(stack) == known
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"line {line_of(text, position)}: {error}") from None
    if len(stack) > 1:
        raise FileError(f"the file ends inside {stack[-1]}: it is truncated")
    if reader.algo is None:
        raise FileError("no algo element: this is not MSCCL XML")
    algo = reader.algo
    try:
        numbers = [integer(algo, a, "algo") for a in ("ngpus", "nchunksperloop", "nchannels")]
        for flag in ("inplace", "outofplace"):
            if algo.get(flag, "0") not in ("0", "1"):
                raise ValueError(f"{flag} of algo must be 0 or 1, not {algo[flag][:40]!r}")
    except ValueError as error:
        raise FileError(str(error)) from None
    sizes = np.diff([*reader.firsts, len(reader.steps)])
    tbs = [(*tb, *more) for tb, *more in zip(reader.tbs, reader.firsts, sizes.tolist(), strict=True)]
    return MscclFile(
        algo=algo, ngpus=numbers[0], nchunks=numbers[1], nchannels=numbers[2], gpus=Gpus.from_rows(reader.gpus),
        tbs=Threadblocks.from_rows(tbs), steps=Steps.from_rows(reader.steps), bad_types=reader.bad_types,
        bad_buffers=reader.bad_buffers, unknown=tuple(sorted(reader.unknown)),
    )  # fmt: skip

"""Lower a schedule to a runtime: the passes in a row, and as many channels as the runtime's limits ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from linkstep.core.arguments import check_callable, check_flag, check_integer, check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import ScheduleLike, as_schedule
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Topology
from linkstep.lowering.blocks import build_blocks
from linkstep.lowering.fitting import FittedProgram, RuntimeProgram
from linkstep.lowering.forms import FORMS
from linkstep.lowering.limits import Excess, Sizing, check_schedule_fits
from linkstep.lowering.placement import Options, num_chunks, place
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import TARGETS, Target, target_named
from linkstep.lowering.values import BlockProgram, Placement
from linkstep.lowering.windows import (
    MAX_BYTES,
    FileOptions,
    SelectionWindow,
    allocated_scratch,
    most_scratch,
    scratch_bytes,
)
from linkstep.lowering.writers.naming import File
from linkstep.methods.transform import in_rank_order

_MOST_CHANNELS = 32
_FEWEST_GATHERED = 4
"""Pieces for which gathering pays (python -m benchmarks.gather), unless it is asked for."""
_MOST_TRIED = 20_000
"""Messages up to which remedies are tried out: a few seconds for all of them."""
_PASSES = 3
"""Of an attempt, at most: placing, following the flow, filling threadblocks."""


@dataclass(frozen=True)
class Lowered:
    """A schedule lowered to a runtime: what its ranks do, and the text of its file, printed when it is asked for.

    >>> from linkstep import lower
    >>> made = lower("K_{2,2}", "msccl")
    >>> made, made.target.name
    (<Lowered <Schedule allreduce on K_{2,2}: 32 rows, 4 steps, unit 2> to msccl: 40 messages>, 'msccl')
    """

    target: Target
    program: RuntimeProgram
    """Threadblocks for the XML dialects, ports for MSCCL++, lists for CPU clusters."""
    channels: int
    """Channels of each link (and instance)."""
    window: SelectionWindow
    """Bytes of data for which the runtime selects the file, both ends included."""
    proto: str = "Simple"
    nodes: tuple[int, ...] | None = None
    """The node of each rank, then of those that only forward, in the schedule that was lowered; None: the same."""

    def __repr__(self) -> str:
        messages = len(self.placement.messages)
        return f"<Lowered {self.placement.schedule!r} to {self.target.name}: {messages} messages>"

    def _schedule_(self) -> Schedule:
        return self.placement.schedule

    def _wiring_(self) -> Topology:
        return self.placement.schedule.topology

    def _text_(self) -> tuple[str, str]:
        """Return the ending of the runtime's file and its text."""
        return self.target.suffix, self.text

    def _repr_html_(self) -> str:
        fields = [
            ("schedule", repr(self.placement.schedule)), ("messages", len(self.placement.messages)),
            ("channels", self.channels), ("scratch", f"{self.scratch_chunks} chunks"),
            ("for", f"{self.window.smallest} to {self.window.largest} bytes"),
        ]  # fmt: skip
        return html_table(f"lowered to {self.target.name}", fields)

    @property
    def placement(self) -> Placement:
        """The messages that it was made from."""
        return self.program.placement

    @property
    def blocks(self) -> BlockProgram | None:
        """Threadblocks, for the XML dialects."""
        return self.program if isinstance(self.program, BlockProgram) else None

    @cached_property
    def head(self) -> Mapping[str, object]:
        """What its file says besides its instructions."""
        return FORMS[self.target.form].head(self.program, self.target, self.proto, self.window)

    @cached_property
    def _file(self) -> File:
        written = FORMS[self.target.form].write(self.program, self.head)
        if not isinstance(written, File) or not isinstance(written.text, str):
            raise LinkstepError(f"form {self.target.form} must write a File, not {shown(written)}")
        return written

    @property
    def text(self) -> str:
        """The text of the file."""
        return self._file.text

    @property
    def name(self) -> str:
        """What MSCCL++ calls the plan; empty for other runtimes."""
        return self._file.name

    @property
    def scratch_chunks(self) -> int:
        """Of the rank that has most of it."""
        return most_scratch(self.program.sizes)

    @property
    def multiple(self) -> int:
        """What the data must be a multiple of: in bytes where the target aligns chunks, else in elements."""
        return self.target.alignment * self.placement.num_chunks

    @property
    def scratch_share(self) -> Fraction:
        """Scratch of that rank as a share of what the runtime sizes it by: the data, or its input's allocation."""
        by_input = self.target.scratch_by_allocation
        return Fraction(self.scratch_chunks, self.placement.sizes[0].input if by_input else self.placement.num_chunks)

    @property
    def scratch_bytes(self) -> int:
        """The most scratch of that rank, for the window's end; ``target`` tells what makes a runtime allocate it."""
        largest = self.window.largest + self.target.excludes_largest
        if self.target.scratch_by_allocation:
            return allocated_scratch(self.scratch_chunks, self.placement.sizes[0].input, largest, self.target.alignment)
        return scratch_bytes(self.scratch_chunks, self.placement.num_chunks, largest)


@dataclass(frozen=True)
class _Asked:
    """What is lowered to what, and how."""

    schedule: Schedule
    target: Target
    options: Options
    channels: int | None
    """Channels of each link; None for the fewest that fit."""
    file: FileOptions
    gather: int | None
    """Bytes of the largest piece to gather; None for what pays."""


def _attempt(asked: _Asked, options: Options, meter: Meter) -> FittedProgram:
    meter.attempt()
    placement = place(asked.schedule, options, meter)
    return FORMS[asked.target.form].fit(placement, asked.target, asked.file, meter)


def _goes_straight(program: RuntimeProgram | None) -> bool:
    """Whether most messages are forwarded by the threadblock that receives them: they should stay on their channels."""
    return isinstance(program, BlockProgram) and 2 * program.num_fused >= len(program.placement.messages)


def _options(asked: _Asked, chunks: int, meter: Meter) -> Options:
    """Return the options of the first attempt."""
    target, channels = asked.target, 1 if asked.channels is None else asked.channels
    bytes_gathered = target.gather_bytes if asked.gather is None else asked.gather
    options = replace(
        asked.options,
        max_count=target.max_count,
        slots=target.splits,
        gather=bytes_gathered * chunks // (asked.file.max_bytes or MAX_BYTES),
        gather_fewest=_FEWEST_GATHERED if asked.gather is None else 2,
    )
    if channels > 1 and not target.splits:
        meter.attempt()
        alone = build_blocks(place(asked.schedule, options, meter), splits=False, meter=meter)
        options = replace(options, stay=_goes_straight(alone))
    return replace(options, channels=channels)


@dataclass(frozen=True)
class _Attempt:
    """The last attempt to fit, and what it exceeded; nothing is fitted where it is known before the work."""

    fitted: FittedProgram | None
    channels: int
    exceeded: tuple[Excess, ...]


def _fit(asked: _Asked, meter: Meter) -> _Attempt:
    """Lower with the channels given, or with the fewest that fit."""
    most, chunks = asked.target.max_chunks, num_chunks(asked.schedule, asked.options)
    if most is not None and chunks > most:
        return _Attempt(None, 0, (Excess("chunks of data", most, chunks),))
    options = _options(asked, chunks, meter)
    fitted = _attempt(asked, options, meter)
    exceeded = fitted.exceeded
    while asked.channels is None and exceeded and all(e.more_channels for e in exceeded):
        if options.channels == _MOST_CHANNELS:
            break
        enough = -(-exceeded[0].found * options.channels // exceeded[0].limit)
        more = min(max(options.channels + 1, enough), _MOST_CHANNELS)
        options = replace(options, channels=more, stay=options.stay or _goes_straight(fitted.program))
        before = exceeded
        fitted = _attempt(asked, options, meter)
        exceeded = fitted.exceeded
        if exceeded and not all(e.more_channels for e in exceeded):
            exceeded = (*exceeded, *before)
    return _Attempt(fitted, options.channels, exceeded)


def _first_that_fits(asked: Iterable[_Asked], meter: Meter) -> _Asked | None:
    return next((one for one in asked if not _fit(one, meter).exceeded), None)


def _remedy(asked: _Asked, attempt: _Attempt, meter: Meter) -> str:
    """Return what would fit instead: channels to be chosen, fewer instances, another runtime."""
    others = [
        t
        for t in TARGETS.values()
        if t != asked.target and asked.schedule.collective in t.collectives
        if t.forwards or not asked.schedule.ranks.has_forwarders
    ]
    if attempt.fitted is not None and len(attempt.fitted.placement.messages) > _MOST_TRIED:
        return f"{' or '.join(t.name for t in others)} may take it"
    found = []
    if asked.channels is not None and _first_that_fits([replace(asked, channels=None)], meter):
        found.append("leave out --channels")
    plain = replace(asked.options, instances=1, chunks=None)
    if plain != asked.options and _first_that_fits([replace(asked, options=plain, channels=None)], meter):
        found.append("leave out --instances and --chunks")
    if asked.gather and _first_that_fits([replace(asked, gather=0)], meter):
        found.append("leave out --gather")
    elsewhere = _first_that_fits((replace(asked, target=t, channels=None, gather=0) for t in others), meter)
    if elsewhere is not None:
        found.append(f"lower it to {elsewhere.target.name}")
    return " or ".join(found) or "no other runtime takes it either"


def _integers(**values: Any) -> list[Any]:
    """Return values as ints, numpy's too; None stays where it is a default."""
    never = ("instances", "min_bytes")
    return [
        None if value is None and what not in never else check_integer(what, value) for what, value in values.items()
    ]


def lower(
    schedule: ScheduleLike,
    to: str,
    *,
    inplace: bool = False,
    proto: str = "Simple",
    channels: int | None = None,
    instances: int = 1,
    chunks: int | None = None,
    gather: int | None = None,
    min_bytes: int = 0,
    max_bytes: int | None = None,
    progress: Progress | None = None,
) -> Lowered:
    """Lower a valid schedule (``linkstep.correctness``) to a runtime of ``TARGETS``; LinkstepError if it does not fit.

    Each link gets ``channels``, by default the fewest that fit. The file is for data of ``min_bytes`` to ``max_bytes``,
    both included; by default that is everything, except that a runtime which allocates scratch for the window's end
    rather than for the call is not made to allocate more than 1 GiB on a rank. Pieces that are ``gather`` bytes or less
    when the data is ``max_bytes`` are gathered in scratch; if not given, where that pays. ``progress`` is called with
    (done, in all).

    >>> import linkstep
    >>> lowered = lower(linkstep.parse("K_{2,2}").build("allreduce"), "msccl")
    >>> print(lowered.text.splitlines()[4])
    <step s="0" type="rrc" srcbuf="i" srcoff="6" dstbuf="o" dstoff="6" cnt="1" depid="-1" deps="-1" hasdep="1" />
    """
    check_callable("progress", progress)
    schedule = as_schedule(schedule)
    target = target_named(check_kind("to", to, str))
    inplace, proto = check_flag("inplace", inplace), check_kind("proto", proto, str)
    channels, instances, chunks, gather, min_bytes, max_bytes = _integers(
        channels=channels, instances=instances, chunks=chunks, gather=gather, min_bytes=min_bytes, max_bytes=max_bytes
    )
    check_schedule_fits(target, schedule, proto, Sizing(channels, instances, chunks))
    if (
        min_bytes < 0
        or (max_bytes is not None and not min_bytes < max_bytes)
        or max(min_bytes, max_bytes or 0) >= 2**62
    ):
        raise LinkstepError(f"the size window must be 0 <= min < max < 2^62 bytes, not {min_bytes} to {max_bytes}")
    if gather is not None and gather < 0:
        raise LinkstepError(f"gather must be 0 bytes or more, not {gather}")
    if gather and not target.gathers:
        raise LinkstepError(f"{to} puts several pieces in one operation and has nothing to gather")
    options = Options(inplace, chunks, 1, instances)
    asked = _Asked(in_rank_order(schedule), target, options, channels, FileOptions(proto, min_bytes, max_bytes), gather)
    meter = Meter(progress, _PASSES)
    attempt = _fit(asked, meter)
    done = attempt.fitted
    if done is None or done.program is None or attempt.exceeded:
        why = "; ".join(str(excess) for excess in attempt.exceeded)
        raise LinkstepError(f"{schedule.collective} does not fit {to}: {why}; {_remedy(asked, attempt, meter)}")
    meter.finish()
    nodes = None if schedule.ranks.is_everyone else tuple(schedule.ranks.node_order.tolist())
    return Lowered(target, done.program, attempt.channels, done.window, proto, nodes)

"""Lower a schedule to a runtime: the passes in a row, and as many channels as the runtime's limits ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.lowering.blocks import make_program
from linkstep.lowering.placement import Options, make_plan, num_chunks
from linkstep.lowering.targets import MAX_CHUNKS, TARGETS, Excess, Target, check_asked, excesses, target_named
from linkstep.lowering.values import Plan, Program
from linkstep.lowering.writers.cpu import cpu_xml
from linkstep.lowering.writers.msccl import msccl_xml
from linkstep.lowering.writers.mscclpp import largest_message, mscclpp_json

MAX_BYTES = 2**40
"""The default upper end of the size window: msccl never selects a file that says 0."""
_MOST_CHANNELS = 32
_FEWEST_GATHERED = 4
"""Pieces for which gathering pays (python -m benchmarks.gather), unless it is asked for."""


@dataclass(frozen=True)
class Lowered:
    """A schedule lowered to a runtime: the text of its file and what it was printed from."""

    text: str
    target: Target
    plan: Plan
    program: Program | None
    """Threadblocks, for the XML dialects."""
    channels: int
    """Channels a link (and instance) has."""
    window: tuple[int, int]
    """Bytes of data for which the runtime selects the file, from and to."""


@dataclass(frozen=True)
class _Asked:
    """What is lowered to what, and how."""

    schedule: Schedule
    target: Target
    options: Options
    channels: int | None
    """Channels a link; None for the fewest that fit."""
    proto: str
    window: tuple[int, int]
    gather: int | None
    """Bytes of the largest piece to gather; None for what pays."""


def _print(asked: _Asked, options: Options) -> tuple[Lowered, list[Excess]]:
    target = asked.target
    plan = make_plan(asked.schedule, options)
    if target.name == "cpu":
        return Lowered(cpu_xml(plan, *asked.window), target, plan, None, options.channels, asked.window), []
    if target.name == "mscclpp":
        text, plan, broken = mscclpp_json(plan, target, *asked.window)
        window = (asked.window[0], min(asked.window[1], largest_message(plan)))
        return Lowered(text, target, plan, None, options.channels, window), broken
    program = make_program(plan, splits=target.splits)
    broken = list(excesses(program, target))
    text = "" if broken else msccl_xml(program, target, asked.proto, *asked.window)
    return Lowered(text, target, plan, program, options.channels, asked.window), broken


def _goes_straight(program: Program | None) -> bool:
    """Whether most messages are sent on by who receives them: with more channels they should stay on theirs."""
    return program is not None and 2 * program.num_fused >= len(program.plan.messages)


def _fit(asked: _Asked) -> tuple[Lowered | None, list[Excess]]:
    """Lower with the channels given, or with the fewest that fit; the limits broken are those of the last attempt."""
    target = asked.target
    options = replace(
        asked.options,
        channels=1 if asked.channels is None else asked.channels,
        max_count=target.max_count,
        slots=target.splits,
    )
    chunks = num_chunks(asked.schedule, options)
    if target.max_count is not None and chunks > MAX_CHUNKS:  # before long work
        return None, [Excess("chunks of data", MAX_CHUNKS, chunks)]
    gather = target.gather_bytes if asked.gather is None else asked.gather
    fewest = _FEWEST_GATHERED if asked.gather is None else 2
    options = replace(options, gather=gather * chunks // asked.window[1], gather_fewest=fewest)
    if options.channels > 1 and not target.splits:
        plan = make_plan(asked.schedule, replace(options, channels=1))
        options = replace(options, stay=_goes_straight(make_program(plan, splits=False)))
    lowered, broken = _print(asked, options)
    while asked.channels is None and broken and all(b.more_channels for b in broken):
        if options.channels == _MOST_CHANNELS:
            break
        enough = -(-broken[0].found * options.channels // broken[0].limit)
        more = min(max(options.channels + 1, enough), _MOST_CHANNELS)
        options = replace(options, channels=more, stay=options.stay or _goes_straight(lowered.program))
        before = broken
        lowered, broken = _print(asked, options)
        if broken and not all(b.more_channels for b in broken):
            broken = [*broken, *before]
    return lowered, broken


def _remedies(asked: _Asked) -> str:
    """Return what would fit instead: channels to be chosen, fewer instances, another runtime."""
    found = []
    if asked.channels is not None and not _fit(replace(asked, channels=None))[1]:
        found.append("leave out --channels")
    plain = replace(asked.options, instances=1, chunks=None)
    if plain != asked.options and not _fit(replace(asked, options=plain, channels=None))[1]:
        found.append("leave out --instances and --chunks")
    if asked.gather and not _fit(replace(asked, gather=0))[1]:
        found.append("leave out --gather")
    others = [t for t in TARGETS.values() if t != asked.target and asked.schedule.collective in t.collectives]
    elsewhere = (t.name for t in others if not _fit(replace(asked, target=t, channels=None, gather=0))[1])
    name = next(elsewhere, None)
    return " or ".join([*found, f"lower it to {name}"] if name else found)


def lower(
    schedule: Schedule,
    to: str,
    *,
    inplace: bool = False,
    proto: str = "Simple",
    channels: int | None = None,
    instances: int = 1,
    chunks: int | None = None,
    gather: int | None = None,
    min_bytes: int = 0,
    max_bytes: int = MAX_BYTES,
) -> Lowered:
    """Lower a valid schedule (``linkstep.correctness``) to a runtime of ``TARGETS``; LinkstepError if it does not fit.

    ``channels`` a link are chosen if not given: the fewest that fit. Pieces that are ``gather`` bytes or less when the
    data is ``max_bytes`` are gathered in scratch; if not given, where that pays.

    >>> import linkstep
    >>> lowered = lower(linkstep.parse("K_{2,2}").build("allreduce"), "msccl")
    >>> print(lowered.text.splitlines()[4])
    <step s="0" type="rrc" srcbuf="i" srcoff="6" dstbuf="o" dstoff="6" cnt="1" depid="-1" deps="-1" hasdep="1" />
    """
    target = target_named(to)
    check_asked(target, schedule.collective, proto)
    if not 0 <= min_bytes < max_bytes < 2**63:
        raise LinkstepError(f"the size window must be 0 <= min < max < 2^63 bytes, not {min_bytes} to {max_bytes}")
    if gather is not None and gather < 0:
        raise LinkstepError(f"gather must be 0 bytes or more, not {gather}")
    if gather and not target.gathers:
        raise LinkstepError(f"{to} puts several pieces in one operation and has nothing to gather")
    options = Options(inplace, chunks, 1, instances)
    asked = _Asked(schedule, target, options, channels, proto, (min_bytes, max_bytes), gather)
    lowered, broken = _fit(asked)
    if lowered is None or broken:
        why = "; ".join(str(b) for b in broken)
        remedy = _remedies(asked) or "no runtime here has room"
        raise LinkstepError(f"{schedule.collective} does not fit {to}: {why}; {remedy}")
    return lowered

"""Lower a schedule to a runtime: the passes in a row, and as many channels as the runtime's limits ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkstep.errors import LinkstepError
from linkstep.lower._blocks import make_program
from linkstep.lower._cpu import cpu_xml
from linkstep.lower._mscclpp import mscclpp_json
from linkstep.lower._place import Options, make_plan, shard_chunks
from linkstep.lower._program import Plan, Program
from linkstep.lower._targets import MAX_CHUNKS, TARGETS, Excess, Target, check_asked, excesses, target_named
from linkstep.lower._xml import msccl_xml
from linkstep.schedule import Schedule

MAX_BYTES = 2**40
"""The default upper end of the size window: msccl never selects a file that says 0."""
_MOST_CHANNELS = 32


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


def program_of(schedule: Schedule, *, inplace: bool = False, channels: int = 1, instances: int = 1) -> Program:
    """Return the program without any runtime's limits: what ``linkstep.simulate`` runs."""
    return make_program(make_plan(schedule, Options(inplace, None, channels, instances)), splits=False)


def _print(
    schedule: Schedule, target: Target, options: Options, proto: str, window: tuple[int, int]
) -> tuple[Lowered, list[Excess]]:
    plan = make_plan(schedule, options)
    if target.name == "cpu":
        return Lowered(cpu_xml(plan), target, plan, None, options.channels), []
    if target.name == "mscclpp":
        text, broken = mscclpp_json(plan, target, *window)
        return Lowered(text, target, plan, None, options.channels), broken
    program = make_program(plan, splits=target.splits)
    broken = list(excesses(program, target))
    text = "" if broken else msccl_xml(program, target, proto, *window)
    return Lowered(text, target, plan, program, options.channels), broken


def _fit(
    schedule: Schedule, target: Target, options: Options, channels: int | None, proto: str, window: tuple[int, int]
) -> tuple[Lowered | None, list[Excess]]:
    """Lower with the channels given, or with the fewest that fit; the limits broken are those of the last attempt."""
    options = replace(
        options, channels=1 if channels is None else channels, max_count=target.max_count, slots=target.splits
    )
    chunks = shard_chunks(schedule, options) * schedule.topology.num_nodes
    if target.max_count is not None and chunks > MAX_CHUNKS:  # before long work
        return None, [Excess("chunks of data", MAX_CHUNKS, chunks)]
    lowered, broken = _print(schedule, target, options, proto, window)
    while channels is None and broken and all(b.more_channels for b in broken) and options.channels < _MOST_CHANNELS:
        enough = -(-broken[0].found * options.channels // broken[0].limit)
        more = min(max(options.channels + 1, enough), _MOST_CHANNELS)
        options = replace(options, channels=more)
        before = broken
        lowered, broken = _print(schedule, target, options, proto, window)
        if broken and not all(b.more_channels for b in broken):
            broken = [*broken, *before]
    return lowered, broken


def _remedies(schedule: Schedule, target: Target, options: Options, channels: int | None) -> str:
    """Return what would fit instead: fewer instances, channels to be chosen, another runtime."""
    found = []
    if channels is not None and not _fit(schedule, target, options, None, "Simple", (0, 1))[1]:
        found.append("leave out --channels")
    plain = replace(options, instances=1, chunks=None)
    if plain != options and not _fit(schedule, target, plain, None, "Simple", (0, 1))[1]:
        found.append("leave out --instances and --chunks")
    others = [t for t in TARGETS.values() if t != target and schedule.collective in t.collectives]
    fits = (t.name for t in others if not _fit(schedule, t, plain, None, "Simple", (0, 1))[1])
    name = next(fits, None)
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
    min_bytes: int = 0,
    max_bytes: int = MAX_BYTES,
) -> Lowered:
    """Lower a valid schedule (``linkstep.check``) to a runtime of ``TARGETS``; LinkstepError if it does not fit.

    ``channels`` a link are chosen if not given: the fewest that fit.

    >>> import linkstep
    >>> lowered = lower(linkstep.parse("K_{2,2}").build("allreduce"), "msccl")
    >>> print(lowered.text.splitlines()[4])
    <step s="0" type="rrc" srcbuf="i" srcoff="6" dstbuf="o" dstoff="6" cnt="1" depid="-1" deps="-1" hasdep="1" />
    """
    target = target_named(to)
    check_asked(target, schedule.collective, proto)
    if not 0 <= min_bytes < max_bytes < 2**63:
        raise LinkstepError(f"the size window must be 0 <= min < max < 2^63 bytes, not {min_bytes} to {max_bytes}")
    options = Options(inplace, chunks, 1, instances)
    lowered, broken = _fit(schedule, target, options, channels, proto, (min_bytes, max_bytes))
    if lowered is None or broken:
        remedy = _remedies(schedule, target, options, channels)
        why = "; ".join(str(b) for b in broken)
        raise LinkstepError(f"{schedule.collective} does not fit {to}: {why}; {remedy or 'no runtime here has room'}")
    return lowered

"""From a placement to a program that fits its runtime: threadblocks, ports or lists, its window, what it exceeds."""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.lowering.blocks import build_blocks
from linkstep.lowering.limits import Excess, excesses, least_excesses
from linkstep.lowering.lists import ListProgram, build_lists
from linkstep.lowering.ports import PortProgram, build_ports, has_later_steps, land_first_step
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import Target
from linkstep.lowering.values import BlockProgram, Placement
from linkstep.lowering.windows import MAX_BYTES, MAX_SCRATCH, FileOptions, SelectionWindow, most_scratch, window_of

RuntimeProgram = BlockProgram | PortProgram | ListProgram
"""What a runtime is to do, as values: what is printed, and what is simulated and run without being printed."""

_BUFFERS = 2**9 - 3  # bits of their numbers in fifo_device.hpp; three buffers are the rank's own
_MOST_BYTES = 2**32 - 1  # offsets and sizes are 32 bits, in bytes


@dataclass(frozen=True)
class FittedProgram:
    """A placement as a runtime has it; no program where it is hopeless before there is one."""

    placement: Placement
    program: RuntimeProgram | None
    window: SelectionWindow
    exceeded: tuple[Excess, ...] = ()


def fit_blocks(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> FittedProgram:
    """Return the threadblocks of an XML dialect."""
    hopeless = tuple(least_excesses(placement, target))
    if hopeless:
        window = window_of(options, target, most_scratch(placement.sizes), placement.num_chunks)
        return FittedProgram(placement, None, window, hopeless)
    program = build_blocks(placement, splits=target.splits, meter=meter)
    window = window_of(options, target, most_scratch(program.sizes), placement.num_chunks)
    return FittedProgram(placement, program, window, tuple(excesses(program, target)))


def fit_lists(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> FittedProgram:
    """Return the lists of a CPU schedule, which has no limits."""
    window = window_of(options, target, most_scratch(placement.sizes), placement.num_chunks)
    return FittedProgram(placement, build_lists(placement, meter), window)


def fit_ports(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> FittedProgram:
    """Return the threadblocks of MSCCL++.

    A schedule of one step has no later signal that could serve as the handshake, so it gains nothing by arriving in
    scratch; and where that would exceed a limit it is left out as well.
    """
    lands = has_later_steps(placement)
    program = build_ports(land_first_step(placement) if lands else placement, lands, meter)
    exceeded = _exceeded(program, target, options.min_bytes)
    if lands and exceeded:
        program = build_ports(placement, False, meter)
        exceeded = _exceeded(program, target, options.min_bytes)
    return FittedProgram(program.placement, program, _window(program.placement, target, options), exceeded)


def _whole(size: int, placement: Placement, target: Target) -> int:
    """Return the largest size of data up to this one that the executor takes: chunks are multiples of 16 bytes."""
    unit = target.alignment * placement.num_chunks
    return size // unit * unit


def _largest_message(placement: Placement, target: Target) -> int:
    """Return the most bytes of data for which all offsets and sizes fit, those of a whole buffer too."""
    most_chunks = max(max(sizes) for sizes in placement.sizes)
    return _whole(_MOST_BYTES * placement.num_chunks // most_chunks, placement, target)


def _window(placement: Placement, target: Target, options: FileOptions) -> SelectionWindow:
    """Return the window asked for, or the default, as far as sizes fit.

    The executor sizes scratch by the allocation that holds the send buffer, cut at the window's end: it may be as much
    for a small call in a large pool as for the largest call.
    """
    largest = options.max_bytes
    if largest is None:
        scratch, input_chunks = most_scratch(placement.sizes), placement.sizes[0].input
        largest = _whole(MAX_SCRATCH // scratch * input_chunks if scratch else MAX_BYTES, placement, target)
        least = _whole(options.min_bytes, placement, target) + target.alignment * placement.num_chunks
        largest = max(largest, least)
    return SelectionWindow(options.min_bytes, min(largest, _largest_message(placement, target)))


def _exceeded(program: PortProgram, target: Target, min_bytes: int) -> tuple[Excess, ...]:
    ranks, operations = program.ranks, (len(block.operations) for rank in program.ranks for block in rank.blocks)
    limits = [
        ("channels of a rank", target.max_channels, max(len(rank.peers) for rank in ranks), False),
        ("remote buffers of a rank", _BUFFERS, max(len(rank.remote) for rank in ranks), False),
        ("bytes of the smallest message", _largest_message(program.placement, target), min_bytes, False),
        ("operations of a threadblock", target.max_steps, max(operations), True),
    ]
    return tuple(Excess(what, limit, found, more) for what, limit, found, more in limits if limit and found > limit)

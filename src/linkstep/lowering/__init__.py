"""Lower schedules to what runtimes execute: MSCCL++ JSON, MSCCL XML in three dialects, CPU XML.

A schedule becomes a ``Placement`` (chunks have places, messages have channels), for some runtimes also a
``BlockProgram`` (threadblocks, dependencies), and a writer prints it. What is printed is proven elsewhere, by code that
shares nothing with this.
"""

from linkstep.lowering.limits import check_carried, check_fits
from linkstep.lowering.pipeline import Lowered, lower
from linkstep.lowering.placement import Options, chunk_grid, place
from linkstep.lowering.targets import TARGETS, Target
from linkstep.lowering.values import BlockProgram, Copy, Instruction, Message, Move, Place, Placement, Threadblock
from linkstep.lowering.writers import MAX_BYTES, MAX_SCRATCH, Window

__all__ = [
    "MAX_BYTES",
    "MAX_SCRATCH",
    "TARGETS",
    "BlockProgram",
    "Copy",
    "Instruction",
    "Lowered",
    "Message",
    "Move",
    "Options",
    "Place",
    "Placement",
    "Target",
    "Threadblock",
    "Window",
    "check_carried",
    "check_fits",
    "chunk_grid",
    "lower",
    "place",
]

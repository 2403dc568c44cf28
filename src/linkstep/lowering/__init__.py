"""Lower schedules to what runtimes execute: MSCCL XML in three dialects, MSCCL++ JSON, CPU XML.

A schedule becomes a ``Plan`` (chunks have places, messages have channels), the plan a ``Program`` (threadblocks,
dependencies), and a writer prints it. What is printed is proven elsewhere, by code that shares nothing with this.
"""

from linkstep.lowering.pipeline import MAX_BYTES, Lowered, lower
from linkstep.lowering.placement import Options, chunk_grid, make_plan
from linkstep.lowering.targets import TARGETS, Target
from linkstep.lowering.values import Copy, Instruction, Message, Move, Place, Plan, Program, Threadblock

__all__ = [
    "MAX_BYTES",
    "TARGETS",
    "Copy",
    "Instruction",
    "Lowered",
    "Message",
    "Move",
    "Options",
    "Place",
    "Plan",
    "Program",
    "Target",
    "Threadblock",
    "chunk_grid",
    "lower",
    "make_plan",
]

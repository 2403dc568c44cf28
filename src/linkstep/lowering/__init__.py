"""Lower schedules to what runtimes execute: MSCCL++ JSON, MSCCL XML in three dialects, CPU XML.

A schedule becomes a ``Placement`` (chunks have places, messages have channels), and that what a runtime's ranks do: a
``BlockProgram`` (threadblocks, dependencies), a ``PortProgram`` (puts, signals) or a ``ListProgram``. A writer prints
it, and only when the text is asked for: ``linkstep.assembly`` needs none. What is printed is proven elsewhere, by code
that shares nothing with this.
"""

from linkstep.lowering.fitting import RuntimeProgram, fit_blocks, fit_lists, fit_ports
from linkstep.lowering.forms import FORMS, Form
from linkstep.lowering.limits import check_fits
from linkstep.lowering.lists import ListInstruction, ListProgram
from linkstep.lowering.pipeline import Lowered, lower
from linkstep.lowering.placement import Options, chunk_grid, place
from linkstep.lowering.ports import Operation, Piece, PortBlock, PortProgram, PortRank
from linkstep.lowering.targets import TARGETS, Target
from linkstep.lowering.values import BlockProgram, Copy, Instruction, Message, Move, Place, Placement, Threadblock
from linkstep.lowering.windows import MAX_BYTES, MAX_SCRATCH, SelectionWindow
from linkstep.lowering.writers.naming import File

__all__ = [
    "FORMS",
    "MAX_BYTES",
    "MAX_SCRATCH",
    "TARGETS",
    "BlockProgram",
    "Copy",
    "File",
    "Form",
    "Instruction",
    "ListInstruction",
    "ListProgram",
    "Lowered",
    "Message",
    "Move",
    "Operation",
    "Options",
    "Piece",
    "Place",
    "Placement",
    "PortBlock",
    "PortProgram",
    "PortRank",
    "RuntimeProgram",
    "SelectionWindow",
    "Target",
    "Threadblock",
    "check_fits",
    "chunk_grid",
    "fit_blocks",
    "fit_lists",
    "fit_ports",
    "lower",
    "place",
]

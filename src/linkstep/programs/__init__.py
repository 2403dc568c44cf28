"""A runtime's file as one value, whatever its format: what it does, in which order, to which buffers.

``read_program`` makes a ``Program`` of a text, ``build_program`` of what a reader would find in one. Each format has a
package (``msccl``, ``mscclpp``, ``cpu``) with its reader, its rules and its events, and a row of ``FORMATS``. Shares no
code with what writes such files.
"""

from linkstep.programs.events import Events, Moves
from linkstep.programs.findings import Finding, Findings, UnverifiableError
from linkstep.programs.format import Format
from linkstep.programs.formats import (
    DIALECTS,
    FORMATS,
    HasText,
    build_program,
    read_program,
    read_text,
    runtime_text,
    sniff,
    text_of,
)
from linkstep.programs.memory import Memory
from linkstep.programs.program import Program

__all__ = [
    "DIALECTS",
    "FORMATS",
    "Events",
    "Finding",
    "Findings",
    "Format",
    "HasText",
    "Memory",
    "Moves",
    "Program",
    "UnverifiableError",
    "build_program",
    "read_program",
    "read_text",
    "runtime_text",
    "sniff",
    "text_of",
]

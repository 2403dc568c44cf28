"""Writers: what lowering made, printed as a runtime's file. They choose no messages and no channels."""

from linkstep.lowering.writers.cpu import write_cpu
from linkstep.lowering.writers.interface import (
    ALIGNMENT,
    MAX_BYTES,
    MAX_SCRATCH,
    FileOptions,
    Window,
    Writer,
    Written,
    allocated_scratch,
    scratch_bytes,
)
from linkstep.lowering.writers.msccl import write_msccl
from linkstep.lowering.writers.mscclpp import write_mscclpp

WRITERS: dict[str, Writer] = {"mscclpp": write_mscclpp, "msccl": write_msccl, "cpu": write_cpu}
"""By the name that a row of ``TARGETS`` gives."""

__all__ = [
    "ALIGNMENT",
    "MAX_BYTES",
    "MAX_SCRATCH",
    "WRITERS",
    "FileOptions",
    "Window",
    "Writer",
    "Written",
    "allocated_scratch",
    "scratch_bytes",
]

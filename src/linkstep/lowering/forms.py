"""The forms of runtimes' programs, as rows: how a placement becomes one that fits, and how its file is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from linkstep.core.tables import NamedRows
from linkstep.lowering.fitting import FittedProgram, fit_blocks, fit_lists, fit_ports
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import Target
from linkstep.lowering.values import Placement
from linkstep.lowering.windows import FileOptions, SelectionWindow
from linkstep.lowering.writers import cpu, msccl, mscclpp
from linkstep.lowering.writers.naming import File


@dataclass(frozen=True)
class Form:
    """One form; its functions take the form's own programs."""

    name: str
    fit: Callable[[Placement, Target, FileOptions, Meter], FittedProgram]
    head: Callable[[Any, Target, str, SelectionWindow], Mapping[str, object]]
    """What the file says besides its instructions: of a program, its target, the protocol and the window."""
    write: Callable[[Any, Mapping[str, object]], File]
    """Print a program under its head."""


FORMS = NamedRows(
    Form,
    "form",
    (
        Form("blocks", fit_blocks, msccl.head, msccl.write),
        Form("ports", fit_ports, mscclpp.head, mscclpp.write),
        Form("lists", fit_lists, cpu.head, cpu.write),
    ),
    key=lambda form: form.name,
)
"""By the name that a row of ``TARGETS`` gives."""

"""MSCCL XML: its tokenizer, reader, rules, dialects and events."""

from __future__ import annotations

from linkstep.programs.format import Format
from linkstep.programs.msccl.dialects import DIALECTS, capacity_of, modes_of
from linkstep.programs.msccl.events import build
from linkstep.programs.msccl.limits import check_dialect
from linkstep.programs.msccl.reader import read_msccl
from linkstep.programs.msccl.rules import check_rules

MSCCL = Format(
    name="msccl",
    dialects=tuple(DIALECTS),
    looks_like=lambda text: "<algo" in text[:4096] or "<schedule" not in text[:4096],
    read=read_msccl,
    check_rules=check_rules,
    check_dialect=check_dialect,
    build=build,
    variant=lambda file, name: (capacity_of(file, DIALECTS[name]), modes_of(file, DIALECTS[name])),
)

"""CPU schedule XML, the format of docs/reference/cpu-xml.md: reader, rules and events."""

from __future__ import annotations

from linkstep.programs.cpu.events import build
from linkstep.programs.cpu.reader import read_cpu
from linkstep.programs.cpu.rules import check_dialect, check_rules
from linkstep.programs.format import Format

CPU = Format(
    name="cpu",
    dialects=("cpu",),
    looks_like=lambda text: "<schedule" in text[:4096],
    read=read_cpu,
    check_rules=check_rules,
    check_dialect=check_dialect,
    build=build,
    variant=lambda file, name: name,
)

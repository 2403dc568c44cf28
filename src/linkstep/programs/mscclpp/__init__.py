"""MSCCL++ execution plans (JSON): reader, rules, events, and runs in a row."""

from __future__ import annotations

from linkstep.programs.format import Format
from linkstep.programs.mscclpp.reader import read_mscclpp
from linkstep.programs.mscclpp.rules import check_dialect, check_rules
from linkstep.programs.mscclpp.runs import build

MSCCLPP = Format(
    name="mscclpp",
    dialects=("mscclpp",),
    looks_like=lambda text: text.lstrip()[:1] in ("{", "["),
    read=read_mscclpp,
    check_rules=check_rules,
    check_dialect=check_dialect,
    build=build,
    variant=lambda file, name: name,
)

"""Proves or refutes a program: it ends, nothing races, and every output is what the collective says.

Independent of formats. If no two accesses race, every execution carries the same data, so one run proves them all.
"""

from __future__ import annotations

from linkstep.core.collective import Collective
from linkstep.programs import Events, Findings, Memory, Program, UnverifiableError
from linkstep.programs.columns import Ints
from linkstep.programs.order import find_order
from linkstep.verification.races import RaceSearch
from linkstep.verification.results import check_input_kept, check_outputs, run_on_symbols
from linkstep.verification.stages import Stages


def prove(program: Program, findings: Findings, stages: Stages) -> None:
    """Report whatever keeps a program from being right, in each way it may be called, or that it is too large."""
    try:
        _prove(program, findings, stages)
    except UnverifiableError as error:
        findings.unknown("size", str(error))


def _prove(program: Program, findings: Findings, stages: Stages) -> None:
    """Out of place the input must be left as it was (NCCL's sendbuff is const); in place a reduce-scatter must leave
    the rest of it only where the format says so.
    """
    events = program.events
    stages.expect((program.num_nodes + 1) * len(program.modes))
    order = find_order(events, findings)
    if order is None:
        return
    runs, order_of_runs = events, order
    if program.several_runs is not None:
        runs = program.several_runs()
        found = find_order(runs, findings)
        if found is None:
            return
        order_of_runs = found
    for inplace in program.modes:
        memory = program.memory(inplace)
        mode = "" if len(program.modes) == 1 else " in place" if inplace else " out of place"
        values = run_on_symbols(program, memory, order)
        stages.advance()
        RaceSearch(events, memory, mode, findings).find_overlaps()
        before = findings.num_errors()
        RaceSearch(runs, memory, mode, findings).find(order_of_runs, stages.advance)
        if findings.num_errors() == before:
            check_outputs(program, memory, values, mode, findings)
            _check_doubts(program, memory, mode, findings)
        if not inplace or (program.keeps_input and program.collective is Collective.REDUCE_SCATTER):
            check_input_kept(program, memory, inplace, mode, findings)


def _check_doubts(program: Program, memory: Memory, mode: str, findings: Findings) -> None:
    """Warn of what the runtime may not do where the program races without it."""
    for doubt in program.doubts:
        if _races(doubt.events(), memory, mode):
            for warning in doubt.warnings:
                findings.add(warning)


def _races(events: Events, memory: Memory, mode: str) -> bool:
    findings = Findings()
    order: Ints | None = find_order(events, findings)
    if order is not None:
        RaceSearch(events, memory, mode, findings).find(order, lambda: None)
    return findings.num_errors() > 0

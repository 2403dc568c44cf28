"""Verify CPU schedule XML."""

from __future__ import annotations

from linkstep.programs.cpu.events import _check_head, _check_rank, _lift, _match, _read
from linkstep.programs.findings import Findings, Report
from linkstep.verification.proof import check_plan


def verify_cpu(text: str) -> Report:
    """Verify the text of a CPU schedule."""
    head, ranks = _read(text)
    findings = Findings()
    task = _check_head(head, ranks, findings)
    if not findings.num_errors():
        for r, rank in enumerate(ranks):
            _check_rank(r, rank, task.num_ranks, findings)
    pairs = [] if findings.num_errors() else _match(ranks, findings)
    if not findings.num_errors():
        plan = _lift(ranks, pairs)
        check_plan(task, plan, [head["inplace"] == "1"], findings, keep_input=True)
    return Report(
        dialect="cpu", collective=task.collective, ranks=task.num_ranks, chunks=task.chunks,
        findings=findings.listed(), dialects=() if findings.num_errors() else ("cpu",),
        instructions=sum(len(rank.program) for rank in ranks),
    )  # fmt: skip

"""Verify MSCCL++ execution plans."""

from __future__ import annotations

from linkstep.programs.findings import Findings, Report
from linkstep.programs.mscclpp.events import _check_head, _Lift
from linkstep.programs.mscclpp.reader import read_mscclpp
from linkstep.programs.mscclpp.runs import check_overlaps, repeated
from linkstep.verification.proof import check_plan


def verify_mscclpp(text: str) -> Report:
    """Verify the text of an execution plan."""
    file, findings = read_mscclpp(text), Findings()
    task = _check_head(file, findings)
    if not findings.num_errors():
        lift, inplace = _Lift(file, findings), file.head["inplace"]
        lift.run()
        if not findings.num_errors():
            plan = lift.build()
            check_overlaps(task, plan, inplace, findings)
            runs = 3 if file.head.get("use_double_scratch_buffer", False) and plan.packets.size else 2
            check_plan(task, plan, [inplace], findings, races_in=repeated(file, plan, lift.opens, lift.ends, runs))
    return Report(
        dialect="mscclpp", collective=task.collective or file.head["collective"][:40], ranks=task.num_ranks,
        chunks=task.chunks, findings=findings.listed(), dialects=() if findings.num_errors() else ("mscclpp",),
        instructions=sum(len(ops) for gpu in file.gpus for ops in gpu.threadblocks),
    )  # fmt: skip

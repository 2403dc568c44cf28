"""The runs view's data: what was measured for each size, beside the engine's own collective and what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.costs.runs import Run, current_run, load_runs
from linkstep.explorer.document import Panel
from linkstep.files.documents import read_documents

KIND = "run"
_MOST = 1e18
_MEASURED = ("min_seconds", "p99_seconds", "algbw", "busbw", "own_median_seconds", "predicted_seconds")
"""What a file says of a size besides; null where an engine did not."""


def runs_panel(runs: str | Path | Sequence[Run], title: str = "") -> Panel:
    """Return the panel of measured runs, or of the file that ``linkstep run -o`` or ``--json`` wrote.

    >>> from linkstep.costs.runs import Timing
    >>> one = Run("K_4", Collective.ALLREDUCE, "mpi", 3, None, (Timing(1000, 0.5),))
    >>> runs_panel([one]).data["runs"][0]["rows"][0]["algbw"]
    2000.0
    """
    if isinstance(runs, (str, Path)):
        documents: Sequence[Mapping[str, Any]] = [current_run(one) for one in read_documents(runs, KIND)]
        known: Sequence[Run] = load_runs(runs)
        title = title or Path(runs).name
    else:
        known, documents = runs, [{} for _ in runs]
    if not any(run.rows for run in known):
        raise LinkstepError(f"{title or 'the runs'}: no size was measured")
    made = [_run(run, document) for run, document in zip(known, documents, strict=True)]
    return Panel("runs", title or "measured runs", {"runs": made})


def _run(run: Run, document: Mapping[str, Any]) -> dict[str, Any]:
    more = document.get("rows") or [{} for _ in run.rows]
    rows = []
    for row, said in zip(run.rows, more, strict=True):
        numbers = {name: _number(said.get(name)) for name in _MEASURED}
        numbers["algbw"] = numbers["algbw"] or row.size / row.median
        repetitions = said.get("repetitions")
        rows.append({
            "size": row.size, "median_seconds": row.median, "wrong": row.wrong, **numbers,
            "repetitions": repetitions if type(repetitions) is int else None, "method": _text(said.get("method")),
        })  # fmt: skip
    return {
        "what": run.what, "collective": str(run.collective), "engine": run.engine, "degree": run.degree,
        "cost": None if run.cost is None else str(run.cost), "method": run.method, "testbed": run.testbed,
        "ranks": _whole(document.get("ranks")), "type": _text(document.get("type")),
        "operation": _text(document.get("operation")) if Collective(run.collective).reduces else None, "rows": rows,
    }  # fmt: skip


def _number(value: object) -> float | None:
    """Return what a file says as a number above 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MOST:  # nan too
        return None
    return float(value)


def _whole(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

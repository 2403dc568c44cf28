"""A file of measured runs, as ``linkstep run -o`` writes it, with numbers that are easy to check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_runs(path: Path, what: str = "K_{4,4}") -> dict[str, Any]:
    """Write a run of five sizes, and return it."""
    rows = []
    for size in (1024, 16384, 262144, 4194304, 67108864):
        median = 2e-5 + size / 2e8
        rows.append({
            "size": size, "count": size // 4, "repetitions": 20, "min_seconds": median * 0.75, "median_seconds": median,
            "p99_seconds": median * 2, "algbw": size / median, "busbw": 1.75 * size / median, "wrong": 0,
            "own_median_seconds": median * 1.25, "predicted_seconds": median * 0.5, "cables_over_schedule": None,
            "method": "bfb",
        })  # fmt: skip
    run = {
        "format": "linkstep/run", "version": 2, "what": what, "collective": "allreduce", "engine": "mpi", "ranks": 8,
        "forwarders": 0, "degree": 4, "steps": 4, "t_b": "7/4", "step_loads": None, "type": "float32",
        "operation": "sum", "testbed": None, "unswitched": False, "rows": rows, "method": "bfb", "trace": None,
    }  # fmt: skip
    path.write_text(json.dumps(run))
    return run

"""One rank of a run that ``linkstep run`` started here: ``python -P -m linkstep.engines.bench.rank ENGINE FOLDER``.

The folder holds the job, and is where the first rank leaves the result. What takes time to import comes after the
rank's number is known to the launcher.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from linkstep.core.errors import LinkstepError
from linkstep.engines.transports.engine import engine_named
from linkstep.engines.transports.notes import count_ended, fail, leave, leave_process, register_end, register_start, say

if TYPE_CHECKING:
    from linkstep.engines.bench.job import BenchJob

JOB, ROWS, ROW = "job", "rows", "row"
"""The files, and the ending of those of one size: pickled by this machine's linkstep for itself."""


_GRACE = 2.5
"""Seconds that a failed rank stays at most: who sees it gone would name it, and not what it waits for itself."""


def main(engine: str, folder: Path) -> int:
    """Run the job and return the exit code: 0 done, 1 wrong results, 2 failed."""
    row = engine_named(engine)
    register_start(row.rank_of(os.environ))
    from linkstep.engines.bench.job import run_job

    job: BenchJob = pickle.loads((folder / JOB).read_bytes())
    try:
        rank, rows = run_job(job, lambda number, row: leave(folder / f"{number}.{ROW}", pickle.dumps(row)))
    except LinkstepError as error:
        say(str(error))
        fail(_GRACE)
    if rank == 0:
        leave(folder / ROWS, pickle.dumps(rows))
    code = 1 if any(row.wrong for row in rows) else 0
    register_end(rank, code)
    if row.lingers:  # the threads of torch take seconds to end, on a busy machine half a minute
        while rank == 0 and count_ended() < len(job.compiled):
            time.sleep(0.01)  # the others need the store, which goes with this process
        leave_process(code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

"""One rank of a run that ``linkstep run`` started on this machine: ``python -m linkstep.engines.rank FOLDER``.

The folder holds the job, and is where the first rank leaves the result.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from linkstep.core.errors import LinkstepError
from linkstep.engines.job import Job, run_job
from linkstep.engines.launch import fail, register_end, say

JOB, ROWS = "job", "rows"
"""The files: pickled by this machine's linkstep for itself."""


_GRACE = 2.5
"""Seconds that a failed rank stays at most: who sees it gone would name it, and not what it waits for itself."""


def main(folder: Path) -> int:
    """Run the job and return the exit code: 0 done, 1 wrong results, 2 failed."""
    job: Job = pickle.loads((folder / JOB).read_bytes())
    try:
        rank, rows = run_job(job, lambda done, total: None)
    except LinkstepError as error:
        say(str(error))
        fail(_GRACE)
    if rank == 0:
        part = folder / f"{ROWS}.part"
        part.write_bytes(pickle.dumps(rows))
        part.rename(folder / ROWS)
    code = 1 if any(row.wrong for row in rows) else 0
    register_end(rank, code)
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

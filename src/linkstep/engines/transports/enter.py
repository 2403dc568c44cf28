"""Become another command with the prefix of this rank: ``python -m THIS_MODULE PREFIXES COMMAND...``.

MPI launchers start one command for all ranks; this one looks up its own prefix, such as that of a network namespace,
in a file with one for each rank.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    rank = int(os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or "0")
    words = [*json.loads(Path(sys.argv[1]).read_text())[rank], *sys.argv[2:]]
    os.execvp(words[0], words)

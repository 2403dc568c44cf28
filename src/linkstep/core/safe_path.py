"""Starting processes that run nothing of the current folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def safe_path() -> Iterator[None]:
    """Let processes started meanwhile run nothing that lies in the current folder: ``python -c`` looks there first."""
    name = "PYTHONSAFEPATH"  # multiprocessing takes no options for the interpreter
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

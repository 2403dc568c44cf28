"""A failure as JSON: one document on standard output, beside the line on standard error, where ``--json`` asked for it.

A command that printed a report before it failed has its document already: no second one follows.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence

from linkstep.cli._terminal import ReaderLeft, has_printed, last_message
from linkstep.core.errors import FileError
from linkstep.reports.error import ErrorReport


def print_failure(words: Sequence[str], code: int, kind: str) -> None:
    """Print what the last line on standard error says, unless there is a document or others print it."""
    if has_printed() or not _is_asked(words) or _is_other_rank(words):
        return
    said = last_message() or f"failed with exit code {code}: standard error says why"
    with contextlib.suppress(ReaderLeft, FileError):  # standard output may be what failed
        sys.stdout.write(json.dumps(ErrorReport(said, kind, code).to_json(), indent=2) + "\n")
        sys.stdout.flush()


def _is_asked(words: Sequence[str]) -> bool:
    """Whether ``--json`` is an option of ours, not a word of a command that a testbed runs, nor a name after ``--``."""
    ours = words[: list(words).index("--")] if "--" in words else words
    return "--json" in ours and list(words[:2]) != ["testbed", "exec"]


def _is_other_rank(words: Sequence[str]) -> bool:
    """Whether this is one of several ranks that somebody else started, and not the first."""
    if words[0] != "run":
        return False
    from linkstep.engines.transports.engine import ENGINES  # here: only runs have ranks

    return any(row.rank_of(os.environ) not in (None, "0") for row in ENGINES.values())

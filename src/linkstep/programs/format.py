"""What a format of runtime files must offer: a row of functions, from a text to a ``Program``."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from linkstep.programs.findings import Findings
from linkstep.programs.program import Program


class Summary(NamedTuple):
    """What can be said of a file before anything in it was checked."""

    collective: str
    """Our name, or the file's word where that is none we know."""
    num_ranks: int
    chunks: int
    num_instructions: int
    name: str = ""
    """What the runtime knows the file by; empty where it knows files by nothing."""
    num_forwarders: int = 0


class RuntimeFile(Protocol):
    """A file as its reader returns it; only its own format looks into it."""

    @property
    def summary(self) -> Summary:
        """What to say of it in a report."""


@dataclass(frozen=True)
class Format:
    """One format: how its files are recognised, read, checked and brought into events."""

    name: str
    dialects: tuple[str, ...]
    """The runtimes that read it."""
    looks_like: Callable[[str], bool]
    """Whether a text is of this format, if it is of none before it in the table."""
    read: Callable[[str], Any]
    """Return the file, or raise FileError where the text is not of this format."""
    check_rules: Callable[[Any, Findings], None]
    """Report what no runtime can run, and what cannot be followed."""
    check_dialect: Callable[[Any, str, Findings], None]
    """Report what one runtime refuses, and what it would do silently; right after reading, rules checked or not."""
    build: Callable[[Any, str, bool, Findings], Program | None]
    """Return the program of a file that broke no rule, or report why there is none.

    If the flag is set, it must end where connections hold a single message, and not only with what the runtime has.
    """
    variant: Callable[[Any, str], Hashable]
    """What the program depends on beside the file: equal for dialects that run it alike."""

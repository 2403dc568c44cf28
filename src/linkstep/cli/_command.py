"""What a command is: a row of the command table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One row of the command table: the help, the parser and the completion are made from it."""

    name: str
    help: str
    """One line, as `linkstep --help` lists it."""
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

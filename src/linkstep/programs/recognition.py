"""Which names are those of runtimes' files: every command that takes a recipe or a file asks here."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.files import SUFFIXES
from linkstep.programs.formats import read_text

_PLAN = '"gpus"'
"""A member that every MSCCL++ plan has and no file of ours."""


def is_runtime_file(name: str) -> bool:
    """Whether a name is that of a runtime's file, there or not, and not of a recipe or of a file of ours.

    >>> is_runtime_file("allreduce.xml"), is_runtime_file("allreduce.npz"), is_runtime_file("Torus(4,4)")
    (True, False, False)
    """
    suffix = Path(name).suffix.lower()
    if suffix == ".xml":
        return True
    if (suffix in SUFFIXES and suffix != ".json") or not os.path.isfile(name):  # noqa: PTH113
        return False  # Path.is_file raises where a recipe is longer than a file's name can be
    with suppress(FileError):  # whoever reads it next says what is wrong
        text = read_text(name)
        return _PLAN in text or text.lstrip().startswith("<")
    return False

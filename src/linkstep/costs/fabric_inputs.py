"""What stands for a fabric where a verb asks for one: itself, a file that holds one, or a result that has one."""

from __future__ import annotations

from os import PathLike
from typing import Any, Protocol

from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import hook
from linkstep.core.text import shown
from linkstep.costs.fabric import Fabric
from linkstep.costs.fabric_files import load_fabric
from linkstep.files.disk import AnyPath


class HasFabric(Protocol):
    """A result that has a fabric, such as a fit."""

    def _fabric_(self) -> Any:
        """Return what stands for the fabric."""


FabricLike = Fabric | HasFabric | AnyPath
"""What ``as_fabric`` takes."""


def as_fabric(value: Any) -> Fabric:
    """Return the fabric that is given, that a result has, or that a file holds; LinkstepError if there is none.

    >>> as_fabric(5)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: fabric must be a Fabric, a fabric file or a Fit, not 5
    """
    if isinstance(value, Fabric):
        return value
    if isinstance(value, str | PathLike):
        return load_fabric(value)
    own = hook(value, "_fabric_")
    if own is None:
        raise LinkstepError(f"fabric must be a Fabric, a fabric file or a Fit, not {shown(value)}")
    return as_fabric(own())

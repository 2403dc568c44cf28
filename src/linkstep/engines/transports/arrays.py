"""What differs between numpy arrays and torch tensors: how to make one, combine two, and see one as bytes.

``ArrayLibrary`` is that difference as a value, so that plans are executed alike on both. Reductions are done here,
never by the engine: an engine only carries bytes, so that every element type works on each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from linkstep.core.errors import LinkstepError

OPERATIONS = ("sum", "min", "max", "prod")
_NUMPY = {"sum": np.add, "min": np.minimum, "max": np.maximum, "prod": np.multiply}
_TORCH = {"sum": "add", "min": "minimum", "max": "maximum", "prod": "mul"}


@dataclass(frozen=True)
class ArrayLibrary:
    """How to handle arrays of one library."""

    combine: Callable[[str], Callable[..., Any]]
    """Return f(a, b, out) of an operation."""
    copy: Callable[[Any, Any], Any]
    """Set the first array to the second."""
    make: Callable[[int, Any], Any]
    """Return a flat array of zeros, of this many elements, of the type (and on the device) of another."""
    to_bytes: Callable[[Any], Any]
    """Return the memory of a flat array as something with the buffer interface."""
    address: Callable[[Any], int]
    """Where its first element is."""
    type_name: Callable[[Any], str]
    key: Callable[[Any], Any]
    """Something hashable that is equal for arrays in the same place, of the same shape and type; quick to have."""
    form: Callable[[Any], Any]
    """Something hashable that is equal for arrays of the same shape and type, wherever they are."""
    length: Callable[[Any], int]
    item_size: Callable[[Any], int]
    """Bytes of an element."""
    is_flat: Callable[[Any], bool]
    """Whether its elements lie one after the other."""


def _numpy_name(array: Any) -> str:
    if array.dtype.kind not in "iuf":
        raise LinkstepError(f"arrays must be of integers or floats, not {array.dtype}")
    return str(array.dtype)


NUMPY = ArrayLibrary(
    combine=lambda name: _NUMPY[name],
    copy=np.copyto,
    make=lambda size, like: np.zeros(size, like.dtype),
    to_bytes=lambda array: array.view(np.uint8),
    address=lambda array: int(array.__array_interface__["data"][0]),
    type_name=_numpy_name,
    key=lambda array: (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype),
    form=lambda array: (array.shape, array.dtype),
    length=lambda array: int(array.size),
    item_size=lambda array: int(array.itemsize),
    is_flat=lambda array: bool(array.flags.c_contiguous and array.flags.aligned),
)


@cache
def _torch() -> ArrayLibrary:
    import torch

    def combine(name: str) -> Callable[..., Any]:
        function = getattr(torch, _TORCH[name])
        return lambda a, b, out: function(a, b, out=out)

    return ArrayLibrary(
        combine=combine,
        copy=lambda to, source: to.copy_(source),
        make=lambda size, like: torch.zeros(size, dtype=like.dtype, device=like.device),
        to_bytes=lambda tensor: tensor.view(torch.uint8).numpy(),
        address=lambda tensor: int(tensor.data_ptr()),
        type_name=lambda tensor: str(tensor.dtype).removeprefix("torch."),
        key=lambda tensor: (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype),
        form=lambda tensor: (tensor.shape, tensor.dtype, tensor.device),
        length=lambda tensor: int(tensor.numel()),
        item_size=lambda tensor: int(tensor.element_size()),
        is_flat=lambda tensor: bool(tensor.is_contiguous()),
    )


def kind_of(array: Any) -> ArrayLibrary:
    """Return how to handle an array; LinkstepError if it is neither numpy's nor torch's.

    >>> kind_of(np.zeros(3, np.float32)).type_name(np.zeros(3, np.float32))
    'float32'
    """
    if isinstance(array, np.ndarray):
        if isinstance(array, np.ma.MaskedArray):
            raise LinkstepError("data must be a plain array: masks are not sent; give array.filled(...)")
        return NUMPY
    if type(array).__module__.partition(".")[0] == "torch" and hasattr(array, "data_ptr"):
        return _torch()
    raise LinkstepError(f"data must be a numpy array or a torch tensor, not {type(array).__name__}")


def check_operation(name: str) -> str:
    """Return the name of a reduction; LinkstepError if there is none of that name."""
    if name not in OPERATIONS:
        raise LinkstepError(f"the operation must be one of {', '.join(OPERATIONS)}, not {name!r}")
    return name

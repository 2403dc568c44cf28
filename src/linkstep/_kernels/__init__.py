"""Loops over raw arrays, compiled by numba: no objects in, no objects out, no checks.

The function that validates and documents has the same name without the underscore, in the package above. Numba takes
half a second to import, which is put off until a kernel is first called: a kernel file takes ``njit`` from here. It
imports no other file: a cached kernel does not notice edits in a file it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        """The function as it is written, as numba's own kernels have it."""
        self._options = options
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        if self._compiled is None:
            _make_kernels(self.py_func.__globals__)
            assert self._compiled is not None
        return self._compiled(*args)

    def make(self) -> Callable[..., Any]:
        """Return what numba makes of the function, once."""
        if self._compiled is None:
            import numba

            self._compiled = numba.njit(**self._options)(self.py_func)
        return self._compiled


def _make_kernels(names: dict[str, Any]) -> None:
    """Put what numba makes of a file's kernels in their places, where they find each other."""
    for name, value in list(names.items()):
        if isinstance(value, Kernel):
            names[name] = value.make()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Let numba compile a function, with these options, when it is first called."""
    return lambda function: Kernel(function, options)

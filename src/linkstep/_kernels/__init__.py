"""Loops over raw arrays, compiled by numba: no objects in, no objects out, no checks.

The function that validates and documents has the same name without the underscore, in the package above. A kernel file
takes ``njit`` from here, which puts importing numba and compiling off until they pay (``linkstep._compiling``). It
imports no other file: a cached kernel does not notice edits in a file it calls.
"""

from __future__ import annotations

from linkstep._compiling import Kernel, njit

__all__ = ["Kernel", "njit"]

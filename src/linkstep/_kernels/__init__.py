"""Loops over raw arrays, compiled by numba: no objects in, no objects out, no checks.

The function that validates and documents has the same name without the underscore, in the package above.
No file here imports another: a cached kernel does not notice edits in a file it calls.
"""

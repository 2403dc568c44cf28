"""A document as bytes that a browser unpacks: a header of JSON and columns of little-endian numbers, deflated.

The bytes, inflated: the header's length in 4 bytes, the header, then the columns, each at a multiple of 8. In the
header a column stands as ``{"$column": k}``, where ``columns[k]`` is (number type, length, offset, steps): where
``steps`` is true each number is what it adds to the one before it. Integers are kept in the fewest bytes, as
differences where that deflates better. ``explorer/src/model/document.ts`` reads them again, and ``unpack`` for tests.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.errors import LinkstepError
from linkstep.explorer.document import Document

FORMAT = "linkstep/document"
VERSION = 1
_ALIGNED = 8
_SAMPLE = 2**16
"""Numbers by which it is decided how a column is kept."""
_LARGEST = 2**53
"""The largest integer that a browser's numbers hold exactly."""
_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4")


def pack(document: Document) -> bytes:
    """Return a document's bytes.

    >>> from linkstep.explorer.document import Panel
    >>> one = Document("one", (Panel("wiring", "w", {"tail": np.array([0, 0, 1])}),))
    >>> unpack(pack(one))["panels"][0]["data"]["tail"].tolist()
    [0, 0, 1]
    """
    columns: list[tuple[str, int, int, bool]] = []
    body = bytearray()

    def place(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            kind, steps, data = _column(value)
            body.extend(bytes(-len(body) % _ALIGNED))
            columns.append((kind, int(value.size), len(body), steps))
            body.extend(data)
            return {"$column": len(columns) - 1}
        if isinstance(value, Mapping):
            return {str(key): place(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [place(one) for one in value]
        return value.item() if isinstance(value, np.generic) else value

    panels = [{"kind": one.kind, "title": one.title, "data": place(one.data)} for one in document.panels]
    header = {"format": FORMAT, "version": VERSION, "title": document.title, "panels": panels, "columns": columns}
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = written.encode(errors="backslashreplace")  # half a surrogate pair, which files may hold, as JSON escapes it
    text += b" " * (-(len(text) + 4) % _ALIGNED)
    return zlib.compress(len(text).to_bytes(4, "little") + text + bytes(body), 9)


def unpack(packed: bytes) -> dict[str, Any]:
    """Return what ``pack`` took: title and panels."""
    raw = zlib.decompress(packed)
    start = 4 + int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4:start])

    def restore(value: Any) -> Any:
        if isinstance(value, dict):
            if "$column" in value:
                kind, length, offset, steps = header["columns"][value["$column"]]
                found = np.frombuffer(raw, f"<{kind}", length, start + offset)
                return np.cumsum(found, dtype=np.int64) if steps else found
            return {key: restore(one) for key, one in value.items()}
        return [restore(one) for one in value] if isinstance(value, list) else value

    return {"title": header["title"], "panels": restore(header["panels"])}


def _column(value: NDArray[Any]) -> tuple[str, bool, bytes]:
    """Return the type of a column's numbers, whether they are differences, and their bytes."""
    if value.dtype.kind == "f":
        kind = "f4" if value.dtype.itemsize <= 4 else "f8"
        return kind, False, value.astype(f"<{kind}").tobytes()
    if value.dtype.kind == "b":
        return "u1", False, value.astype(np.uint8).tobytes()
    if value.dtype.kind not in "iu":
        raise LinkstepError(f"a column is of numbers, not of {value.dtype}")
    most = max(int(value.max(initial=0)), -int(value.min(initial=0)))
    if most >= _LARGEST:
        raise LinkstepError(f"a page's numbers are below 2^53, not {most}: the schedule is too fine to be shown")
    whole = value.astype(np.int64).ravel()
    plain, steps = _fewest(whole), _fewest(np.diff(whole, prepend=0))
    if steps is not None and (plain is None or _deflated(whole, steps, True) < _deflated(whole, plain, False)):
        return steps, True, np.diff(whole, prepend=0).astype(f"<{steps}").tobytes()
    if plain is None:
        return "f8", False, whole.astype("<f8").tobytes()
    return plain, False, whole.astype(f"<{plain}").tobytes()


def _fewest(whole: NDArray[np.int64]) -> str | None:
    """Return the smallest type that holds integers; None where 32 bits do not."""
    low, high = int(whole.min(initial=0)), int(whole.max(initial=0))
    return next((one for one in _TYPES if np.iinfo(one).min <= low and high <= np.iinfo(one).max), None)


def _deflated(whole: NDArray[np.int64], kind: str, steps: bool) -> int:
    """Return how many bytes a column takes, by a part of it."""
    some = whole if whole.size <= _SAMPLE else whole[(whole.size - _SAMPLE) // 2 :][:_SAMPLE]
    # A part of the middle starts with what its first number is, which a wider type than the others' might be for.
    some = np.diff(some) if steps and whole.size > _SAMPLE else np.diff(some, prepend=0) if steps else some
    return len(zlib.compress(some.astype(f"<{kind}").tobytes(), 1))

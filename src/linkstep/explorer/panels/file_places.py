"""Where the instructions of a runtime's file stand in its text, whatever its format, right or broken.

This reader looks for positions only and refuses nothing: what a file means is for ``linkstep.programs`` to say, what is
wrong with it for ``linkstep.verification``. It follows no entity, takes time in proportion to the text, and stops where
it no longer knows where it is; what it found up to there counts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkstep.programs.columns import Columns, Ints

NOWHERE = -1
"""The threadblock of a rank with a single list, and the step of what is a whole rank or threadblock."""

_TAG = re.compile(r"""<(/?)([A-Za-z_][\w.:-]*)((?:[^<>"']++|"[^"<]*"|'[^'<]*')*+)>""", re.ASCII)
_ID = re.compile(r"""\sid\s*=\s*["'](-?[0-9]{1,9})["']""", re.ASCII)
_SPACE = re.compile(r"[ \t\r\n]*")
_SKIPPED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_LISTS = ("rank", "forwarder")
"""What has a list of instructions in CPU XML."""


@dataclass(frozen=True, eq=False)
class Places(Columns):
    """Row k: ``step`` of threadblock ``block`` of ``rank`` is characters ``first`` to ``last`` of the text.

    Without a step it is where the threadblock or the rank begins.
    """

    rank: Ints
    block: Ints
    step: Ints
    first: Ints
    last: Ints

    def find(self, rank: int, block: int | None = None, step: int | None = None) -> int | None:
        """Return the row of an instruction; where it is not in the text, of its threadblock or rank; else None."""
        block = NOWHERE if block is None else block
        for wanted in (
            (rank, block, NOWHERE if step is None else step),
            (rank, block, NOWHERE),
            (rank, NOWHERE, NOWHERE),
        ):
            is_it = (self.rank == wanted[0]) & (self.block == wanted[1]) & (self.step == wanted[2])
            if is_it.any():
                return int(np.argmax(is_it))
        return None


class Lines:
    """The lines of a text, from 1, as the readers of runtimes' files count them: by line feeds."""

    def __init__(self, text: str) -> None:
        self._feeds = [found.start() for found in re.finditer("\n", text)]
        self._end = len(text)

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._feeds) + 1

    def of(self, position: int) -> int:
        """Return the line that a character is on."""
        return bisect_right(self._feeds, position - 1) + 1

    def range(self, line: int) -> tuple[int, int]:
        """Return the first character of a line, and the one behind its last; of the last line if there are less."""
        k = min(max(line, 1), self.number) - 1
        return (self._feeds[k - 1] + 1 if k else 0), (self._feeds[k] if k < len(self._feeds) else self._end)


def find_places(text: str) -> Places:
    """Return where a text's instructions are, of MSCCL XML, CPU XML or an MSCCL++ plan.

    >>> text = '<algo ngpus="1"><gpu id="0"><tb id="4"><step s="0"/></tb></gpu></algo>'
    >>> found = find_places(text)
    >>> row = found.find(0, 4, 0)
    >>> text[found.first[row] : found.last[row]]
    '<step s="0"/>'
    """
    rows: list[tuple[int, int, int, int, int]] = []
    if text.lstrip().startswith("{"):
        _Json(text, rows).read()
    else:
        _read_xml(text, rows)
    return Places.from_rows(rows)


def _read_xml(text: str, rows: list[tuple[int, int, int, int, int]]) -> None:
    """Take algo / gpu / tb / step, or schedule / rank / instructions; other elements and what is in them count not."""
    stack, rank, block, step, ranks, at = [""], NOWHERE, NOWHERE, 0, 0, 0
    while (at := text.find("<", at)) >= 0:
        skipped = next((end for begin, end in _SKIPPED if text.startswith(begin, at)), None)
        if skipped is not None:
            at = text.find(skipped, at)
            if at < 0:
                return
            continue
        tag = _TAG.match(text, at)
        if tag is None:  # a DTD, or what is no tag: no reader goes on from here
            return
        closes, name, attributes = tag.groups()
        parent, place, at = stack[-1], (tag.start(), tag.end()), tag.end()
        if closes:
            if name != parent:
                return
            stack.pop()
            continue
        depth = len(stack)
        if depth == 2 and parent == "algo" and name == "gpu":
            rank, block = _number(attributes), NOWHERE
            rows.append((rank, NOWHERE, NOWHERE, *place))
        elif depth == 3 and parent == "gpu" and name == "tb":
            block, step = _number(attributes), 0
            rows.append((rank, block, NOWHERE, *place))
        elif depth == 4 and parent == "tb" and name == "step":
            rows.append((rank, block, step, *place))
            step += 1
        elif depth == 2 and parent == "schedule" and name in _LISTS:
            rank, step, ranks = ranks, 0, ranks + 1
            rows.append((rank, NOWHERE, NOWHERE, *place))
        elif depth == 3 and parent in _LISTS:
            rows.append((rank, NOWHERE, step, *place))
            step += 1
        if not attributes.endswith("/"):
            stack.append(name)


def _number(attributes: str) -> int:
    found = _ID.search(attributes)
    return NOWHERE if found is None else int(found[1])


class _Json:
    """Walks down to the operations of a plan; all else is passed over by Python's own decoder, which is fast."""

    def __init__(self, text: str, rows: list[tuple[int, int, int, int, int]]) -> None:
        self.text, self.rows = text, rows
        self.decode = json.JSONDecoder(parse_int=str).raw_decode  # a number of any length takes no time
        self.rank = self.block = self.step = NOWHERE

    def read(self) -> None:
        """Fill the rows until the text ends or is no JSON any more."""
        try:
            self._members(self._space(0), {"gpus": lambda at: self._items(at, self._gpu)})
        except (ValueError, IndexError, RecursionError):
            return

    def _space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _value(self, at: int) -> int:
        return self.decode(self.text, at)[1]

    def _members(self, at: int, known: dict[str, Callable[[int], int]]) -> int:
        """Pass over an object, handing the values of known members on; return where it ends."""
        if self.text[at] != "{":
            return self._value(at)
        at = self._space(at + 1)
        while self.text[at] != "}":
            key, at = self.decode(self.text, at)
            at = self._space(at)
            if self.text[at] != ":":
                raise ValueError
            at = self._space(at + 1)
            visit = known.get(key, self._value) if isinstance(key, str) else self._value
            at = self._space(visit(at))
            at = self._comma(at, "}")
        return at + 1

    def _items(self, at: int, visit: Callable[[int, int], int]) -> int:
        """Pass over a list, handing its values on with their numbers; return where it ends."""
        if self.text[at] != "[":
            return self._value(at)
        at, number = self._space(at + 1), 0
        while self.text[at] != "]":
            at = self._comma(self._space(visit(number, at)), "]")
            number += 1
        return at + 1

    def _comma(self, at: int, end: str) -> int:
        if self.text[at] == ",":
            return self._space(at + 1)
        if self.text[at] != end:
            raise ValueError
        return at

    def _gpu(self, number: int, at: int) -> int:
        self.rank = number
        self.rows.append((number, NOWHERE, NOWHERE, at, at + 1))
        return self._members(at, {"threadblocks": lambda there: self._items(there, self._threadblock)})

    def _threadblock(self, number: int, at: int) -> int:
        self.block = number
        self.rows.append((self.rank, number, NOWHERE, at, at + 1))
        return self._members(at, {"ops": lambda there: self._items(there, self._op)})

    def _op(self, number: int, at: int) -> int:
        end = self._value(at)
        self.rows.append((self.rank, self.block, number, at, end))
        return end

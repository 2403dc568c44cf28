"""Selectors: a small file that says which schedule serves which collective at which size.

A selector is a list of rules; a rule names a window of sizes and a source: a recipe, or a file of a topology, of a
schedule or of a runtime, beside the selector. ``linkstep find --selector`` and ``linkstep lower --selector`` write
them, engines read them. Not here: which choice is best (``linkstep.search.windows``), and making or running what a
rule names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.frames import frame_of_rows
from linkstep.core.notebook import cell_text, html_rows, html_table
from linkstep.core.text import shown
from linkstep.core.units import check_count
from linkstep.files import SUFFIXES, AnyPath, check_writable, locked, to_path
from linkstep.files.documents import naming, read_document, renamed, write_document

_KIND = "selector"
_FILES = (*SUFFIXES, ".xml")
"""How the name of a file ends that a rule may name; every other source is a recipe."""
_MOST = 2**62
_NEWEST = 3
_OLDER = {"smallest": "min_bytes", "largest": "max_bytes", "chunks": "chunks_per_shard"}
"""What versions 1 and 2 call members of a rule, as ``Rule`` does, and what they are called since."""
_SEARCH = {"steps": 1, "rounds": 0, "chunks": 1, "seed": 0}
"""The members of a rule that say how a schedule is searched for, and the least each may be."""
_OPTIONAL = (*_SEARCH, "inplace")


@dataclass(frozen=True)
class Rule:
    """What serves a collective of ``smallest`` to ``largest`` bytes in all, both included; None is no limit.

    ``source`` is a recipe, or the path of a file from the selector's folder; ``method`` is how a schedule is made of a
    recipe or a topology, in how many ``steps`` (of each half of an allreduce, or of its reduce-scatter and of its
    allgather), by how many ``rounds`` of a search with a ``seed``, in how many ``chunks`` a shard: all that
    ``linkstep.schedule`` takes, so that what is made is what the rule was written for. ``dialect`` is the runtime that
    a runtime's file is for, ``inplace`` the only kind of call that it serves where the runtime tells them apart.

    >>> Rule("allreduce", None, 65536, "K_{4,4}").source
    'K_{4,4}'
    """

    collective: Collective
    smallest: int | None
    largest: int | None
    source: str
    method: str = "best"
    dialect: str | None = None
    inplace: bool | None = None
    steps: int | tuple[int, int] | None = None
    rounds: int | None = None
    chunks: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "collective", Collective(check_kind("collective", self.collective, str)))
        for size in (self.smallest, self.largest):
            if size is not None and (type(size) is not int or not 0 <= size <= _MOST):
                raise LinkstepError(f"a window of sizes must be whole bytes from 0, not {shown(size)}")
        if self.largest is not None and self.least > self.largest:
            raise LinkstepError(f"a window must go from the smaller size to the larger, not {self.window}")
        if self.inplace is not None and type(self.inplace) is not bool:
            raise LinkstepError(f"inplace must be true, false or null, not {shown(self.inplace)}")
        for name, value in (
            ("source", self.source),
            ("method", self.method),
            ("dialect", "-" if self.dialect is None else self.dialect),
        ):
            if not isinstance(value, str) or not value or not value.isprintable():
                raise LinkstepError(f"the {name} of a rule must be one line of text, not {shown(value)}")
        for name, least in _SEARCH.items():
            value = getattr(self, name)
            numbers = value if name == "steps" and isinstance(value, tuple) and len(value) == 2 else (value,)
            if value is None and name != "seed":
                continue
            if not all(type(n) is int and least <= n <= _MOST for n in numbers):
                two = ", or two of them" if name == "steps" else ""
                raise LinkstepError(
                    f"the {name} of a rule must be a whole number from {least}{two}, not {shown(value)}"
                )

    @property
    def arguments(self) -> dict[str, Any]:
        """What ``linkstep.schedule`` takes besides the source and the collective.

        >>> Rule("allreduce", None, None, "Pi_{2,9}", "arrival", steps=(4, 5), rounds=0).arguments
        {'method': 'arrival', 'steps': (4, 5), 'rounds': 0, 'chunks': None, 'seed': 0}
        """
        return {"method": self.method} | {name: getattr(self, name) for name in _SEARCH}

    @property
    def _members(self) -> dict[str, Any]:
        """As files have it: numbers of a search, and ``inplace``, only where there are any."""
        fields = type(self).__dataclass_fields__
        there = {k: v for k, v in asdict(self).items() if k not in _OPTIONAL or v != fields[k].default}
        return renamed(there, _OLDER)

    @property
    def least(self) -> int:
        """The smallest size, 0 where there is no limit."""
        return self.smallest or 0

    @property
    def window(self) -> str:
        """The window in words.

        >>> Rule("allreduce", 1024, None, "K_5").window, Rule("allreduce", None, 9, "K_5").window
        ('1024 bytes and more', '0 to 9 bytes')
        """
        return f"{self.least} bytes and more" if self.largest is None else f"{self.least} to {self.largest} bytes"

    @property
    def is_file(self) -> bool:
        """Whether the source is a file, by the ending of its name; else it is a recipe."""
        return self.source.lower().endswith(_FILES)

    def _row_(self) -> dict[str, Any]:
        return {
            "collective": self.collective, "smallest": self.smallest, "largest": self.largest, "source": self.source,
            "method": self.method, "dialect": self.dialect,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Rule {self.collective} of {self.window}: {self.source}>"

    def _repr_html_(self) -> str:
        return html_table("rule", [(name, cell_text(cell)) for name, cell in self._row_().items()])

    def serves(self, size: int) -> bool:
        """Whether a size lies in the window."""
        size = check_count("size", size, 0, _MOST)
        return self.least <= size and (self.largest is None or size <= self.largest)


@dataclass(frozen=True)
class Selector:
    """Rules, sorted by collective and size, no two of them for the same collective, size and place of the output.

    >>> small = Rule("allreduce", None, 65536, "K_{4,4}")
    >>> selector = Selector((small, Rule("allreduce", 65537, None, "ring.xml", dialect="cpu")))
    >>> selector.rule_for("allreduce", 1024) == small
    True
    """

    rules: tuple[Rule, ...]
    folder: Path = field(default=Path(), compare=False)
    """What the paths of files start from: where the selector was loaded from."""

    def __post_init__(self) -> None:
        for rule in check_kind("rules", self.rules, tuple, list):
            check_kind("a rule", rule, Rule)
        rules = sorted(self.rules, key=lambda rule: (rule.collective, rule.least, rule.inplace is True))
        kinds = ([rule for rule in rules if rule.inplace is not kind] for kind in (True, False))
        for one, other in (pair for kind in kinds for pair in pairwise(kind)):
            if one.collective == other.collective and one.serves(other.least):
                raise LinkstepError(
                    f"two rules serve {one.collective} of {other.least} bytes: {one.source} ({one.window}) and "
                    f"{other.source} ({other.window}); give them windows apart"
                )
        object.__setattr__(self, "rules", tuple(rules))

    def __repr__(self) -> str:
        return f"<Selector of {len(self.rules)} rules>"

    def to_frame(self) -> Any:
        """Return a row for each rule, as a DataFrame of pandas or polars."""
        return frame_of_rows(self.rules)

    def _repr_html_(self) -> str:
        return html_rows("selector", [rule._row_() for rule in self.rules])

    @classmethod
    def load(cls, path: AnyPath) -> Selector:
        """Return the selector in a file; FileError of one line if it holds none."""
        document = read_document(path, _KIND, _NEWEST)
        with naming(path):
            rules = document.get("rules")
            if not isinstance(rules, list):
                raise FileError(f"rules must be a list, not {shown(rules)}")
            names = {} if document["version"] < _NEWEST else {new: old for old, new in _OLDER.items()}
            found = tuple(_rule(number, rule, names) for number, rule in enumerate(rules, 1))
            return cls(found, to_path(path).parent)

    def save(self, path: AnyPath) -> None:
        """Write the selector to a .json file, whole or not at all."""
        check_selector_path(path)
        write_document(path, _KIND, {"rules": [rule._members for rule in self.rules]}, _NEWEST)

    def rule_for(self, collective: Collective | str, size: int) -> Rule:
        """Return the rule for a collective of ``size`` bytes in all; LinkstepError says which windows there are."""
        wanted, size = Collective(check_kind("collective", collective, str)), check_count("size", size, 0, _MOST)
        found = [rule for rule in self.rules if rule.collective is wanted]
        for rule in found:
            if rule.serves(size):
                return rule
        there = f"there are {', '.join(rule.window for rule in found)}" if found else "there is none for any size"
        raise LinkstepError(f"no rule of the selector serves {wanted} of {size} bytes: {there}")

    def path_of(self, rule: Rule) -> Path | None:
        """Return where the file is that a rule names; None if its source is a recipe."""
        check_kind("a rule", rule, Rule)
        return self.folder / rule.source if rule.is_file else None

    def with_rule(self, rule: Rule) -> Selector:
        """Return the selector with a rule added, in place of any of the same collective and source."""
        check_kind("a rule", rule, Rule)
        kept = [r for r in self.rules if (r.collective, r.source) != (rule.collective, rule.source)]
        return Selector((*kept, rule), self.folder)


def check_selector_path(path: AnyPath) -> None:
    """Raise FileError if no selector can be saved there: to ask before long work, not after."""
    if to_path(path).suffix.lower() != ".json":
        raise FileError(f"{path}: the name of a selector must end in .json")
    check_writable(path)


def update_selector(path: AnyPath, change: Callable[[Selector], Selector]) -> Selector:
    """Change the selector in a file, or one without rules if there is no such file yet, and return it.

    Several processes may do this at once: one changes the file after the other.
    """
    check_selector_path(path)
    target = to_path(path)
    if target.exists() and not target.is_file():
        kind = "pipe" if target.is_fifo() else "device"
        raise FileError(f"{path}: is a {kind}, and a selector that is changed is read first")
    with locked(target.parent):  # the folder itself, so that no file is left behind
        changed = change(Selector.load(path) if target.exists() else Selector((), target.parent))
        changed.save(path)
    return changed


def source_beside(selector: AnyPath, file: AnyPath) -> str:
    """Return the path of a file as a selector names it: from the selector's folder; its name must tell it is a file."""
    if not str(file).lower().endswith(_FILES):
        raise LinkstepError(f"a selector takes names of files that end like x.json, x.xml, not {str(file)!r:.60}")
    return Path(os.path.relpath(file, to_path(selector).parent)).as_posix()


def _rule(number: int, written: object, names: Mapping[str, str]) -> Rule:
    """Return a rule of a file, whose ``names`` for members are those of its version."""
    if not isinstance(written, Mapping):
        raise FileError(f"rule {number} must be an object, not {shown(written)}")
    members = renamed(written, names)
    known: dict[str, Any] = {name: members[name] for name in Rule.__dataclass_fields__ if name in members}
    for name in ("collective", "source"):
        if name not in known:
            raise FileError(f"rule {number} has no {name!r}")
    if isinstance(known.get("steps"), list):
        known["steps"] = tuple(known["steps"])
    try:
        return Rule(**({"smallest": None, "largest": None} | known))
    except LinkstepError as error:
        raise FileError(f"rule {number}: {error}") from None

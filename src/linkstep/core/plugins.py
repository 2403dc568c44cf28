"""Plug-ins: rows of one's own for the tables of linkstep, without a fork.

``register`` adds rows, from a program or from a plug-in: a file (``--plugin my.py``, ``LINKSTEP_PLUGINS``) or an entry
point of an installed package, in the group ``linkstep.plugins``. A plug-in is Python and runs as code: load only what
you would run. What fails is undone and refused in a line that says where. Not here: the tables (``core.tables``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from linkstep.core.errors import LinkstepError
from linkstep.core.tables import TABLES, RowTable, look_again
from linkstep.core.text import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import TracebackType

VARIABLE = "LINKSTEP_PLUGINS"
"""Names files to load, separated as PATH is; ``none`` among them leaves out what is installed."""
NONE = "none"
GROUP = "linkstep.plugins"
"""The group of entry points: each names a module that registers when it is imported, or a function that does."""

ROWS = {
    "Family": "linkstep.families",
    "Method": "linkstep.scheduling",
    "BaselineAlgorithm": "linkstep.baselines",
    "CostModel": "linkstep.costs",
    "Target": "linkstep.lowering",
    "Form": "linkstep.lowering",
    "Engine": "linkstep.engines",
    "Export": "linkstep.timelines",
}
"""The types of rows, and where each is imported from."""

_registered: list[tuple[RowTable[Any], Any]] = []
"""All rows that were added and are still there, in order."""
_loaded: dict[Path, tuple[str, Sequence[tuple[RowTable[Any], Any]]]] = {}
"""Files that were loaded: the module of each, and what it registered."""
_installed: set[str] = set()
"""Entry points that were loaded."""


class Registration:
    """Rows that were added: until ``undo``, or until the end of a ``with`` block.

    >>> from linkstep.costs import CostModel
    >>> added = register(CostModel("idle", "waiting", ("idle",), lambda step, fabric: fabric.number("idle")))
    >>> added
    <Registration of cost model>
    >>> added.undo()
    """

    def __init__(self, entries: Sequence[tuple[RowTable[Any], Any]]) -> None:
        self._entries = tuple(entries)

    def __repr__(self) -> str:
        return f"<Registration of {', '.join(table.what for table, _ in self._entries)}>"

    def undo(self) -> None:
        """Take the rows out again."""
        _remove(self._entries)

    def __enter__(self) -> Registration:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def register(*rows: object) -> Registration:
    """Add rows to the tables they belong to: all of them, or none where one is refused.

    A row is a ``Family``, a ``Method``, a ``BaselineAlgorithm``, a ``CostModel``, a ``Target`` or its ``Form``, an
    ``Engine`` or an ``Export`` (docs/reference/plugins.md). Everything that reads a table knows the row from then on.

    >>> from linkstep.costs import CostModel, Fabric
    >>> sync = CostModel("sync", "waiting for all ranks", ("sync",), lambda step, fabric: fabric.number("sync"))
    >>> with register(sync):
    ...     Fabric.of("10us", "100Gbps", 4, sync="1us").number("sync")
    Fraction(1, 1000000)
    >>> register("sync")
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: register takes rows, such as a Family or a Method, not 'sync'
    """
    if not rows:
        raise LinkstepError("register takes a row or several, and was given none")
    entries: list[tuple[RowTable[Any], Any]] = []
    try:
        for row in rows:
            table = next((table for kind, table in TABLES.items() if isinstance(row, kind)), None)
            if table is None:
                raise LinkstepError(f"register takes rows, such as a Family or a Method, not {shown(row)}")
            table.add(row)
            entries.append((table, row))
            _registered.append((table, row))
    except BaseException:
        _remove(entries)
        raise
    return Registration(entries)


def _remove(entries: Sequence[tuple[RowTable[Any], Any]]) -> None:
    for table, row in reversed(entries):
        table.remove(row)
        _registered[:] = [entry for entry in _registered if entry[1] is not row]


@contextmanager
def plugged(files: Sequence[str]) -> Iterator[None]:
    """Load files for as long as a block takes; processes that it starts load them too.

    An error in the block that comes from code of these files is a LinkstepError that says where.
    """
    before, text = set(_loaded), os.environ.get(VARIABLE)
    paths: list[Path] = []
    try:
        paths += (load_file(name) for name in files if name != NONE)
        words = [*filter(None, [text]), *([NONE] * (NONE in files)), *map(str, paths)]
        os.environ[VARIABLE] = os.pathsep.join(words)
        yield
    except Exception as error:
        line = None if isinstance(error, LinkstepError) else _line_in(error, *map(str, paths))
        if line is None:
            raise
        raise LinkstepError(f"plug-in {line[0]}, line {line[1]}: {_said(error)}") from error
    finally:
        for path in set(paths) - before:
            module, entries = _loaded.pop(path)
            _remove(entries)
            del sys.modules[module]
        if NONE in files:
            look_again()
        if text is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = text


def load_file(name: str) -> Path:
    """Run a file that registers rows, unless that was done; LinkstepError names the file and the line otherwise."""
    path = Path(name).expanduser().resolve()
    if path in _loaded:
        return path
    if not path.is_file():
        raise LinkstepError(f"plug-in {name}: {'it is no file' if path.exists() else 'there is no such file'}")
    module = ModuleType(f"linkstep_plugin_{len(_loaded)}_{path.stem}")
    module.__file__ = str(path)

    def run() -> None:
        sys.modules[module.__name__] = module  # as pickle and dataclasses want it
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)

    try:
        entries = _registered_by(run)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        line = _line_in(error, str(path))
        where = "" if line is None else f", line {line[1]}"
        raise LinkstepError(f"plug-in {name}{where}: {_said(error)}") from error
    if not entries:
        del sys.modules[module.__name__]
        raise LinkstepError(f"plug-in {name} registers nothing: call linkstep.register with a row")
    _loaded[path] = module.__name__, entries
    return path


def load_waiting() -> None:
    """Load what the environment names and, unless it says ``none``, what is installed."""
    words = [word for word in os.environ.get(VARIABLE, "").split(os.pathsep) if word]
    for word in words:
        if word != NONE:
            load_file(word)
    if NONE not in words:
        from importlib.metadata import entry_points

        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            if point.value not in _installed:
                _load_installed(point)
                _installed.add(point.value)


def _load_installed(point: EntryPoint) -> None:
    """Import the module of an entry point, and call the function that it names, if it names one."""
    was_imported = point.module in sys.modules
    package = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"

    def run() -> None:
        found = point.load()
        if callable(found):
            found()

    try:
        if _registered_by(run) or was_imported:
            return
        why = "it registers nothing"
    except Exception as error:
        line = _line_in(error)
        where = "" if line is None else f"{line[0]}, line {line[1]}: "
        raise LinkstepError(
            f"plug-in {point.name!r}{package}: {where}{_said(error)}; uninstall it, or set {VARIABLE}={NONE}"
        ) from error
    raise LinkstepError(f"plug-in {point.name!r}{package}: {why}; uninstall it, or set {VARIABLE}={NONE}")


def _registered_by(run: Callable[[], None]) -> Sequence[tuple[RowTable[Any], Any]]:
    """Run a plug-in and return what it registered; what it did before it failed is undone."""
    start = len(_registered)
    try:
        run()
    except BaseException:
        _remove(_registered[start:])
        raise
    return _registered[start:]


def _line_in(error: BaseException, *files: str) -> tuple[str, int] | None:
    """Return the file and the line that an error came from: the last in these files, or in any that is not ours."""
    if isinstance(error, SyntaxError) and error.filename and (not files or error.filename in files):
        return error.filename, error.lineno or 1
    found, trace = None, error.__traceback__
    ours = (str(Path(__file__).parents[1]) + os.sep, "<frozen ")
    standard = str(Path(os.__file__).parent / "importlib") + os.sep
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in files if files else not name.startswith((*ours, standard)):
            found = name, trace.tb_lineno
        trace = trace.tb_next
    return found


def _said(error: BaseException) -> str:
    """Return what an error says, in a line; of one of ours that is all there is to say."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    line = " ".join(text.split())
    return line if isinstance(error, LinkstepError) else f"{type(error).__name__}{f': {line}' if line else ''}"

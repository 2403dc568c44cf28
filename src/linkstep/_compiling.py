"""How a kernel is run: as plain Python while that is cheaper than compiling it, compiled by numba from then on.

Numba takes half a second to import and seconds to compile a kernel; most topologies that people begin with are small
enough for Python itself. A kernel that says how many ``passes`` through its innermost loop a call makes runs as it is
written until all its calls together come to about what compiling would have cost, so that no sequence of calls takes
much more than twice the best. Passes are counted, not timed: what runs how does not depend on a clock, and what comes
out is the same. Here too: where compiled kernels are kept if numba finds no place, and who is told of compiling.
Not here: the kernels (``linkstep._kernels``).
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from types import FunctionType, SimpleNamespace
from typing import Any

UNKEPT_PASSES = 400_000
"""Passes of a kernel that has to be compiled: about a second."""
KEPT_PASSES = 400_000
"""Passes of all kernels together that are compiled already, in a process that has not imported numba: half a second."""

_CACHE_FAILS = OSError, EOFError, UnpicklingError
"""What numba raises where a file of its cache cannot be read or written."""


class Kernel:
    """A function that numba compiles when that pays."""

    plain_allowed = True
    """Whether any kernel may run as plain Python."""
    recorder: Callable[[Kernel, tuple[Any, ...]], None] | None = None
    """Is called with every kernel and its arguments, in place of compiling: all run as plain Python meanwhile."""
    _plain_in_all = 0

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        passes: Callable[[Any], int] | None = None,
        fills: tuple[str, ...] | None = None,
    ) -> None:
        self.py_func = function
        """The function as it is written, as numba's own kernels have it."""
        self.passes = passes
        """How many passes a call makes, nearly, from its arguments by their names; None: it is always compiled."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._read = () if fills is None else tuple(at for at, name in enumerate(names) if name not in fills)
        """The places of arguments that are passed on read-only."""
        self._options = options
        self._compiled: Callable[..., Any] | None = None
        self._plain: Callable[..., Any] | None = None
        self._plain_passes = 0
        FILES.setdefault(function.__module__, []).append(self)

    def __call__(self, *args: Any) -> Any:
        """Call the function, compiled or as it is."""
        if self._read:
            args = tuple(_read_only(one) if at in self._read else one for at, one in enumerate(args))
        if Kernel.recorder is not None:
            Kernel.recorder(self, args)
            return self._call_plainly(*args)
        if self._compiled is None:
            if self._is_cheap(args):
                return self._call_plainly(*args)
            for kernel in FILES[self.py_func.__module__]:
                kernel.put_in_place()
            assert self._compiled is not None
        try:
            return self._compiled(*args)
        except _CACHE_FAILS:  # no kernel raises these: nothing has run yet
            _keep_nothing()
            return self._compiled(*args)

    def make(self) -> Callable[..., Any]:
        """Return what numba makes of the function, once."""
        if self._compiled is None:
            self._compiled = _compiler(self._options)(self.py_func)
        return self._compiled

    def put_in_place(self) -> None:
        """Put what numba makes of the function where the other kernels of its file find it."""
        self.py_func.__globals__[self.py_func.__name__] = self.make()

    def forget_compiled(self) -> None:
        """Let numba make it again, without its cache."""
        if self._compiled is not None and self._options.get("cache"):
            self._compiled, self._options = None, self._options | {"cache": False}

    def _is_cheap(self, args: tuple[Any, ...]) -> bool:
        """Whether to run a call as plain Python; if so, count it."""
        if self.passes is None or not Kernel.plain_allowed:
            return False
        names = self.py_func.__code__.co_varnames[: len(args)]
        passes = int(self.passes(SimpleNamespace(**dict(zip(names, args, strict=True)))))
        if not self.is_kept():
            cheap = self._plain_passes + passes <= UNKEPT_PASSES
        else:
            cheap = "numba" not in sys.modules and Kernel._plain_in_all + passes <= KEPT_PASSES
        if cheap:
            self._plain_passes += passes
            Kernel._plain_in_all += passes
        return cheap

    def _call_plainly(self, *args: Any) -> Any:
        import numpy as np

        if self._plain is None:
            _make_plain(self.py_func.__module__)
        assert self._plain is not None
        with np.errstate(over="ignore"):  # as in compiled code, bits above the 64th are dropped
            return _unboxed(self._plain(*args))

    def is_kept(self) -> bool:
        """Whether numba has compiled it before, by the name of its file."""
        code = self.py_func.__code__
        version = "py{}{}".format(*sys.version_info[:2])
        name = f"{Path(code.co_filename).stem}.{self.py_func.__qualname__}-{code.co_firstlineno}.{version}"
        return name in _kept_names(str(Path(code.co_filename).parent))


FILES: dict[str, list[Kernel]] = {}
"""The kernels of each file, by the name of its module."""


def njit(
    *, passes: Callable[[Any], int] | None = None, fills: tuple[str, ...] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Kernel]:
    """Let numba compile a function, with these options, once that pays.

    Numba compiles a kernel again for an array that can be written to where it met one that cannot. ``fills`` names the
    arrays that the function writes to: it gets all others read-only, whoever calls it, and is compiled once. None: it
    gets all as they are.
    """
    return lambda function: Kernel(function, options, passes, fills)


def _read_only(value: Any) -> Any:
    """Return a read-only view of an array, any other value as it is."""
    flags = getattr(value, "flags", None)
    if flags is None or not getattr(flags, "writeable", False):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _make_plain(module: str) -> None:
    """Make plain functions of a file's kernels, in a namespace of their own: numba's take the places of the others."""
    kernels = FILES[module]
    names = dict(kernels[0].py_func.__globals__)
    for kernel in kernels:
        function = kernel.py_func
        assert isinstance(function, FunctionType)
        kernel._plain = names[function.__name__] = FunctionType(function.__code__, names, function.__name__)


def _unboxed(value: Any) -> Any:
    """Return Python's own numbers in place of NumPy's, as compiled code does."""
    if isinstance(value, tuple):
        return tuple(map(_unboxed, value))
    return value if not hasattr(value, "item") or hasattr(value, "__len__") else value.item()


# --- the cache ---


def _folders(source: str) -> list[Path]:
    """Return where numba may keep what it compiles of the sources in a folder."""
    import hashlib

    name = f"{Path(source).name}_{hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()}"
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return [Path(own) / name, temporary_folder() / name]
    home = Path("~").expanduser()
    users = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    roots = (Path(users) / "numba", home / "Library/Caches/numba", temporary_folder())
    return [Path(source) / "__pycache__", *(root / name for root in roots)]


@cache
def _kept_names(source: str) -> frozenset[str]:
    """Return the kernels that numba has an index of, as it names their files."""
    found: set[str] = set()
    for folder in _folders(source):
        try:
            found.update(path.stem for path in folder.iterdir() if path.suffix == ".nbi")
        except OSError:
            continue
    return frozenset(found)


def temporary_folder() -> Path:
    """Return where this user's kernels are kept if there is no better place; it need not exist."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir()) / f"linkstep-kernels-{user}"


def _safe_folder() -> Path | None:
    """Return a folder for compiled code that no one else can write to; None where there is none.

    What lies in it is loaded and run, so it must be this user's own and closed to all others.
    """
    try:
        folder = temporary_folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return None
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
            return None
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return folder


def _compiler(options: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return numba's decorator; where it finds no place for its cache, a temporary one is used, or none."""
    import numba

    _listen()

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any]
        try:
            made = numba.njit(**options)(function)
        except RuntimeError:  # no locator available
            folder = _safe_folder()
            if folder is None:
                return numba.njit(**options | {"cache": False})(function)  # type: ignore[no-any-return]
            numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
            try:
                made = numba.njit(**options)(function)
            except RuntimeError:
                made = numba.njit(**options | {"cache": False})(function)
        return made

    return compiled


def _keep_nothing() -> None:
    """Compile without a cache from here on: it cannot be read, or is full."""
    made = [kernel for kernels in FILES.values() for kernel in kernels if kernel._compiled is not None]
    for kernel in made:
        kernel.forget_compiled()
    for kernel in made:
        kernel.put_in_place()


def cache_folder(kernels: Iterable[Kernel]) -> Path | None:
    """Return where numba keeps these kernels, which are compiled; None: nowhere."""
    for kernel in kernels:
        path = getattr(getattr(kernel.make(), "stats", None), "cache_path", None)
        if path:
            return Path(path)
    return None


# --- who is told ---

_TOLD: list[Callable[[str], None]] = []


def tell_of_compiling(told: Callable[[str], None]) -> None:
    """Have a function called with the name of each kernel that is about to be compiled, not of those that are kept."""
    _TOLD[:] = [told]


@cache
def _listen() -> None:
    """Pass numba's events on, from now on."""
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, event: Any) -> None:
            for told in _TOLD:
                told(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compiling())  # type: ignore[no-untyped-call]

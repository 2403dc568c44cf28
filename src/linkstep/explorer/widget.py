"""The page in a notebook: a widget that shows a thing, and what is shown of it where widgets do not run.

It is the page of a report: a document travels to it, and it asks for nothing. Not here: live pages
(``linkstep.explorer.serving``), which a browser of their own shows.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from linkstep.argument import read_argument
from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.core.units import Number
from linkstep.costs import FabricLike
from linkstep.costs.usual import SIZE
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack
from linkstep.explorer.page import script, style
from linkstep.explorer.reporting import pricing_for
from linkstep.recipe import Recipe

_STILLS = (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_"))
"""What stands for a widget where none can run."""


def explore(thing: object, *, size: Number = SIZE, fabric: FabricLike | None = None) -> Any:
    """Return a notebook's widget that shows a thing: a recipe, a topology, a schedule, an answer, a file.

    Times in it are for this size of data, on this fabric. It needs the extra ``widget``. Elsewhere than in a notebook
    there is ``linkstep explore``, and ``save_page``.

    >>> explore("K_3")
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: explore shows widgets in a notebook: run `linkstep explore`, or use save_page
    """
    document = document_of(thing, pricing_for(size, fabric))
    if not _is_notebook():
        raise LinkstepError("explore shows widgets in a notebook: run `linkstep explore`, or use save_page")
    return _widget_class()(document.title, pack(document), still_of(thing))


def _is_notebook() -> bool:
    """Whether a notebook runs this: of Jupyter, or of marimo."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return hasattr(running, "kernel") or "marimo" in sys.modules


def still_of(thing: object) -> dict[str, str]:
    """Return what a notebook shows of a thing without scripts, by its kind: a picture, a table, what there is of these.

    >>> list(still_of("plan.xml"))
    []
    """
    value: Any = thing
    if isinstance(thing, (str, Path)):
        try:
            given, _ = read_argument(str(thing))
        except LinkstepError:  # the file of a runtime, of runs ...
            return {}
        value = given.schedule or given.topology
    elif isinstance(thing, Recipe):
        value = thing.topology()
    made = {kind: getattr(value, name)() for kind, name in _STILLS if hasattr(value, name)}
    return {kind: text for kind, text in made.items() if text is not None}


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise LinkstepError(missing("explore", "anywidget", "widget")) from None

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """A widget that holds a document."""

        _esm = script()
        _css = style()
        document = traitlets.Bytes().tag(sync=True)

        def __init__(self, title: str, packed: bytes, still: dict[str, str]) -> None:
            super().__init__(document=packed)
            self._title, self._still = title, still

        def __repr__(self) -> str:
            return f"<ExplorerWidget {self._title}>"

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """Return the widget, with what stands for it where widgets do not run."""
            found = super()._repr_mimebundle_(**options)
            if found is None:
                return None
            data, more = found if isinstance(found, tuple) else (found, {})
            return {**data, "text/plain": repr(self), **self._still}, more

    return ExplorerWidget

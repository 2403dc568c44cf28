"""What all pictures share: colours told apart by everyone, fonts, how a file is written, and what drawing needs.

Not here: what any one picture shows. A picture is a function that fills a matplotlib figure; this module makes the
figure, so that the same input always gives the same bytes (with the same matplotlib), whatever the user's own
matplotlib settings are.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, cast

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.extras import missing
from linkstep.files import AnyPath, check_writable, to_path, write_atomically

# The palette of Okabe and Ito ("Color Universal Design", 2008), which people with any colour vision can tell apart.
# Its yellow is left out: it is too pale for lines and text on white.
BLUE, VERMILLION, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY, BLACK = "#cc79a7", "#e69f00", "#56b4e9", "#000000"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
"""Line styles that go with the colours, for pictures in grey."""

INK, SOFT, LINE, PALE = "#22262e", "#5b6474", "#8a94a6", "#dfe3ea"
"""Text, lesser text, plain lines, and what stays in the background."""

SUFFIXES = (".svg", ".png")

Fill = Callable[[Any], None]
"""A function that fills a matplotlib figure (or axes)."""

_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "linkstep",
    "svg.fonttype": "none",  # text stays text: it can be searched and copied
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "text.parse_math": False,  # a $ in a name is a $
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def check_drawable(path: AnyPath) -> None:
    """Raise if no picture can be written there; to ask before long work, not after.

    The name must end in .svg or .png, its folder must exist, and matplotlib must be installed.
    """
    if to_path(path).suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: the name of a picture must end in .svg or .png")
    check_writable(path)
    check_matplotlib()


def check_matplotlib() -> None:
    """Raise if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise LinkstepError(missing("drawing", "matplotlib", "plot")) from None


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw by these settings alone: matplotlib's defaults with ours, none of the user's."""
    check_matplotlib()
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(cast(Any, _SETTINGS))
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # an SVG shows it all the same
        yield


def _write(figure: Any, file: Any, format: str) -> None:
    """Write a figure without date or version: the same picture is the same file."""
    metadata = {"Date": None, "Creator": "linkstep"} if format == "svg" else {"Software": None}
    figure.savefig(file, format=format, dpi=150, metadata=metadata, facecolor="white")


def save_picture(fill: Fill, path: AnyPath | None, size: tuple[float, float]) -> Any:
    """Let ``fill(figure)`` draw a figure of this size in inches, and return it.

    It is written to path, whole or not at all, if there is one.
    """
    if path is not None:
        check_drawable(path)
    with house_style():
        figure = _filled(fill, size)
        if path is not None:
            format = to_path(path).suffix.lower()[1:]
            write_atomically(path, lambda file: _write(figure, file, format))
    return figure


def save_figure(draw: Fill, path: AnyPath | None, size: tuple[float, float] = (8, 5)) -> Any:
    """Let ``draw(axes)`` fill one axes and return its figure, written to a .png or .svg file if there is a path."""

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        draw(figure.add_subplot())

    return save_picture(fill, path, size)


def svg_text(fill: Fill, size: tuple[float, float]) -> str:
    """Return the picture as one SVG element, for a notebook or a page."""
    with house_style():
        return _svg_of(_filled(fill, size))


def _svg_of(figure: Any) -> str:
    file = io.BytesIO()
    _write(figure, file, "svg")
    text = file.getvalue().decode()
    return text[text.index("<svg") :]


def _filled(fill: Fill, size: tuple[float, float]) -> Any:
    figure = _picture_class()(figsize=size)
    fill(figure)
    return figure


@cache
def _picture_class() -> type[Any]:
    """Return a figure of matplotlib that notebooks show, whether or not pyplot is set up."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that shows itself in house style."""

        def _repr_svg_(self) -> str:
            with house_style():
                return _svg_of(self)

    return Picture


def node_names(topology: Any) -> Sequence[str]:
    """Return what nodes are called: the hosts' names where the topology has them, else numbers."""
    labels = getattr(topology, "labels", None)
    return [str(node) for node in range(topology.num_nodes)] if labels is None else labels


def shades(count: int) -> list[Any]:
    """Return a colour for each of some things in order: unlike ones if few, else from dark to light.

    Both kinds are told apart by everyone (``viridis`` grows lighter steadily).
    """
    from matplotlib import colormaps

    if count <= len(PALETTE):
        return list(PALETTE[:count])
    return [colormaps["viridis"](0.95 * k / (count - 1)) for k in range(count)]

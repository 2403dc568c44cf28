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
from typing import Any, cast

from linkstep.core.errors import FileError, LinkstepError
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
NEEDS_MATPLOTLIB = "drawing needs matplotlib: install it with pip install '.[plot]' from a clone of linkstep"

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
        raise LinkstepError(NEEDS_MATPLOTLIB) from None


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


def save_picture(fill: Fill, path: AnyPath, size: tuple[float, float]) -> None:
    """Let ``fill(figure)`` draw a figure of this size in inches and write it to path, whole or not at all."""
    check_drawable(path)
    with house_style():
        figure = _filled(fill, size)
        format = to_path(path).suffix.lower()[1:]
        write_atomically(path, lambda file: _write(figure, file, format))


def save_figure(draw: Fill, path: AnyPath, size: tuple[float, float] = (8, 5)) -> None:
    """Let ``draw(axes)`` fill one axes and write it to a .png or .svg file, whole or not at all."""

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        draw(figure.add_subplot())

    save_picture(fill, path, size)


def svg_text(fill: Fill, size: tuple[float, float]) -> str:
    """Return the picture as one SVG element, for a notebook or a page."""
    with house_style():
        file = io.BytesIO()
        _write(_filled(fill, size), file, "svg")
    text = file.getvalue().decode()
    return text[text.index("<svg") :]


def _filled(fill: Fill, size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    fill(figure)
    return figure


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

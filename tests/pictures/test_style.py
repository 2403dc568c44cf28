"""What all pictures share: refusals before the work, files whole or not at all, the user's settings left aside."""

import sys

import pytest

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import printable, shortened
from linkstep.pictures.style import (
    DASHES,
    PALETTE,
    check_drawable,
    save_figure,
    shades,
    svg_text,
)
from support.pictures import texts


def luminance(colour):
    """Return how light a colour is, as seen in grey: 0 is black and 1 is white (WCAG)."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] if isinstance(colour, str) else colour[:3]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_check_drawable_before_long_work(tmp_path, monkeypatch):
    check_drawable(tmp_path / "a.svg")
    check_drawable(str(tmp_path / "a.PNG"))
    with pytest.raises(FileError, match=r"a\.pdf: the name of a picture must end in \.svg or \.png"):
        check_drawable(tmp_path / "a.pdf")
    with pytest.raises(FileError, match="there is no folder"):
        check_drawable(tmp_path / "nowhere" / "a.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(FileError, match="is a directory, not a file"):
        check_drawable(tmp_path / "folder.svg")
    for name in ("", "x" * 300 + ".svg", "a\0.svg"):
        with pytest.raises(FileError):
            check_drawable(name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LinkstepError, match="drawing needs matplotlib, which is not installed: python -m pip install "):
        check_drawable(tmp_path / "a.svg")


def test_a_picture_that_fails_leaves_no_file(tmp_path):
    def draw(axes):
        raise LinkstepError("no data")

    with pytest.raises(LinkstepError, match="no data"):
        save_figure(draw, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_users_settings_do_not_count(tmp_path, suffix):
    import matplotlib

    def draw(axes):
        axes.plot([1, 2], [3, 4], label="a $line$")
        axes.legend()

    save_figure(draw, tmp_path / f"a{suffix}")
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "black", "text.parse_math": True}):
        save_figure(draw, tmp_path / f"b{suffix}")
        assert matplotlib.rcParams["font.size"] == 20
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_texts_of_any_script(tmp_path):
    save_figure(lambda axes: axes.set_title("机架 7"), tmp_path / "a.svg")  # not in the font
    assert "机架 7" in texts(tmp_path / "a.svg")
    save_figure(lambda axes: axes.set_title("机架 7"), tmp_path / "a.png")


def test_svg_text_is_one_element():
    text = svg_text(lambda figure: figure.text(0.5, 0.5, "here"), (2, 1))
    assert text.startswith("<svg") and text.rstrip().endswith("</svg>") and "here" in text


def test_colours_differ_in_grey_or_style():
    for count in (1, 2, 4, 7, 8, 30):
        assert len(set(shades(count))) == count
    many = [luminance(colour) for colour in shades(12)]
    assert many == sorted(many)
    styled = {(round(luminance(colour), 1), str(DASHES[k % len(DASHES)])) for k, colour in enumerate(PALETTE)}
    assert len(styled) == len(PALETTE)
    assert max(luminance(colour) for colour in PALETTE) < 0.5  # seen on white


def test_shortened_keeps_both_ends():
    assert shortened("Torus(4,4)", 10) == "Torus(4,4)"
    assert shortened("abcdefghijklmnop", 8) == "abcde…op"
    assert all(len(shortened("x" * 99, most)) == most for most in (5, 17, 60))
    assert printable("a\x1b[0m\nb") == "a?[0m?b"

"""Charts: axes that a reader can read, and a colour for every curve."""

import re

from linkstep.pictures.style import PALETTE
from linkstep.reproduction.charts import Chart, ChartPanel, Curve, draw_chart


def drawn(tmp_path, *panels, **options):
    path = tmp_path / "chart.svg"
    draw_chart(Chart(panels, **options), "title", path)
    return path.read_text(encoding="utf-8")


def words(text):
    return re.findall(r"<text[^>]*>([^<]*)</text>", text)


def test_bytes_have_units(tmp_path):
    line = Curve("one", [10**k for k in range(3, 10)], [1, 2, 3, 4, 5, 6, 7], is_marked=True)
    text = words(drawn(tmp_path, ChartPanel("bytes", "data M", "us", (line,), log_x=True, x_is_bytes=True)))
    assert {"1KB", "10KB", "1MB", "1GB"} <= set(text)
    assert not any("e+" in word for word in text)


def test_no_tick_between_whole_steps(tmp_path):
    line = Curve("one", [3, 4], [2, 3], is_marked=True)
    text = words(drawn(tmp_path, ChartPanel("steps", "T_L in steps", "T_L in steps", (line,))))
    assert not any("." in word for word in text)


def test_bounds_take_no_colour(tmp_path):
    """As many curves as there are colours, and bounds among them: all colours are in use."""
    lines = [Curve(f"curve {k}", [1, 2], [k, k], is_scattered=True) for k in range(len(PALETTE))]
    lines.insert(2, Curve("bound", [1, 2], [0, 0], is_bound=True))
    text = drawn(tmp_path, ChartPanel("colours", "N", "us", tuple(lines)))
    assert all(colour.lower() in text.lower() for colour in PALETTE)
    assert "bound" in words(text)

"""What a picture says and whether its texts lie on each other, found by reading or rendering it."""

import xml.etree.ElementTree as ET
from itertools import combinations

from linkstep.pictures import style


def texts(path):
    """Return every text of an SVG file."""
    return [e.text for e in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def overlapping(draw, folder, least=1.0):
    """Return the pairs of texts in a picture whose boxes overlap by more than ``least`` square points.

    ``draw(path)`` writes the picture; its figure is caught on the way to the file and rendered. Of texts that stand
    aslant the upright boxes say nothing: they are left out.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    boxes = []

    def catch(figure, file, format):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        upright = [text for text in figure.findobj(Text) if text.get_visible() and not text.get_rotation() % 90]
        boxes.extend((t.get_text(), t.get_window_extent().extents * 72 / figure.dpi) for t in upright if t.get_text())

    write = style._write
    style._write = catch
    try:
        draw(folder / "overlapping.png")
    finally:
        style._write = write
    assert boxes
    found = []
    for (one, a), (other, b) in combinations(boxes, 2):
        width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        if width > 0 and height > 0 and width * height > least:
            found.append((one, other))
    return found

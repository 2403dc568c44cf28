"""Pictures: they exist, say what they should, are the same every time, and fail in one line."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from linkstep.core.errors import FileError, LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.pictures.topology import MAX_NODES, _along, _lines, draw_topology, layout


def circulant(size, *jumps):
    tail = np.repeat(np.arange(size), 2 * len(jumps))
    head = (tail + np.tile([*jumps, *(-j for j in jumps)], size)) % size
    return Topology.from_links(size, tail, head, f"C({size},{set(jumps)})")


def digraph(size, *jumps):
    tail = np.repeat(np.arange(size), len(jumps))
    return Topology.from_links(size, tail, (tail + np.tile(jumps, size)) % size, "DiC")


def torus(side):
    u = np.arange(side * side)
    heads = [u // side * side + (u + 1) % side, (u + side) % (side * side)]
    tail, head = np.tile(u, 2), np.concatenate(heads)
    return Topology.from_links(side * side, np.concatenate([tail, head]), np.concatenate([head, tail]), "torus")


SQUARE = Topology.from_links(4, [0, 0, 1, 1, 2, 2, 3, 3], [2, 3, 2, 3, 0, 1, 0, 1], "K(2,2)")
TWICE = Topology.from_links(3, [0, 0, 0, 1, 1, 2], [1, 1, 1, 0, 2, 2], "a $x$ & <b> \n")
EXAMPLES = [
    SQUARE,
    TWICE,
    digraph(8, 1, 3),
    circulant(16, 3, 4),
    torus(8),
    digraph(100, 7, 31),
    circulant(200, 1, 9),
    Topology.from_links(1, [0, 0], [0, 0], "loops"),
    Topology.from_links(5, [], []),
    Topology.from_links(70, [], []),
]


def texts(path):
    return [e.text for e in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
@pytest.mark.parametrize("topology", EXAMPLES, ids=lambda t: f"{t.name.strip()}-{t.num_nodes}")
def test_draws(tmp_path, topology, suffix):
    path = tmp_path / f"picture{suffix}"
    draw_topology(topology, path)
    start = path.read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if suffix == ".png" else start.startswith(b"<?xml")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_svg_says_name_size_and_node_numbers(tmp_path):
    draw_topology(circulant(16, 3, 4), tmp_path / "c.svg")
    assert {"C(16,{3, 4})", "N = 16, d = 4", *map(str, range(16))} == set(texts(tmp_path / "c.svg"))
    draw_topology(TWICE, str(tmp_path / "t.svg"))
    assert "a $x$ & <b> ?" in texts(tmp_path / "t.svg")


def test_large_pictures_number_no_nodes(tmp_path):
    draw_topology(digraph(100, 7, 31), tmp_path / "l.svg", {0: "step 1"})
    assert texts(tmp_path / "l.svg") == ["step 1", "DiC", "N = 100, d = 2"]


def test_long_names_are_cut(tmp_path):
    draw_topology(Topology.from_links(2, [0], [1], "x" * 500), tmp_path / "x.svg")
    assert f"{'x' * 57}..." in texts(tmp_path / "x.svg")


def test_labels_light_links_apart_from_their_partners(tmp_path):
    draw_topology(SQUARE, tmp_path / "a.svg", {0: "step 1", 4: "step 2"})
    assert {"step 1", "step 2"} < set(texts(tmp_path / "a.svg"))
    assert "#d7263d" in (tmp_path / "a.svg").read_text()
    draw_topology(SQUARE, tmp_path / "b.svg", {})
    assert "#d7263d" not in (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize("suffix", [".svg", ".png"])
@pytest.mark.parametrize("topology", [TWICE, torus(6), digraph(90, 7, 31)], ids=["small", "springs", "large"])
def test_same_topology_same_bytes(tmp_path, topology, suffix):
    for name in ("a", "b"):
        draw_topology(topology, tmp_path / f"{name}{suffix}", {0: "x"})
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_every_link_is_one_stroke_or_half_a_pair():
    strokes = [(s.u, s.w, s.link) for s in _lines(TWICE, frozenset())]
    assert strokes == [(0, 1, -1), (0, 1, 0), (0, 1, 1), (1, 2, 4), (2, 2, 5)]
    apart = [(s.u, s.w, s.link) for s in _lines(TWICE, frozenset([3]))]
    assert apart == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (1, 0, 3), (1, 2, 4), (2, 2, 5)]
    bends = [s.bend if s.u == 0 else -s.bend for s in _lines(TWICE, frozenset([3])) if {s.u, s.w} == {0, 1}]
    assert bends == [-1.5, -0.5, 0.5, 1.5]  # seen from one side: all different


def test_a_curve_starts_and_ends_at_its_nodes():
    a, b = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    assert _along(a, b, 0.5, 0.0).tolist() == [0, 0]
    assert _along(a, b, 0.5, 1.0).tolist() == [2, 0]
    assert _along(a, b, 0.5, 0.5).tolist() == [1, -0.5]


@pytest.mark.parametrize("topology", [SQUARE, torus(8), digraph(100, 7, 31), circulant(300, 1), digraph(40, 1)])
def test_layout_puts_nodes_apart_in_the_disc(topology):
    place = layout(topology)
    assert place.shape == (topology.num_nodes, 2)
    assert np.linalg.norm(place, axis=1).max() <= 1 + 1e-9
    gaps = np.linalg.norm(place[:, None] - place, axis=2) + 9 * np.eye(topology.num_nodes)
    assert gaps.min() > 0.05 / np.sqrt(topology.num_nodes)
    assert np.allclose(place[0], [0, np.hypot(*place[0])])


def test_small_bidirectional_graphs_are_walked():
    square = layout(SQUARE)
    assert np.allclose(square[0], -square[1])  # 0 and 1 are not linked: opposite corners


@pytest.mark.parametrize("name", ["picture.pdf", "picture", "picture.svg.gz"])
def test_unknown_ending(tmp_path, name):
    with pytest.raises(FileError, match=r"must end in \.svg or \.png"):
        draw_topology(SQUARE, tmp_path / name)


def test_rejections(tmp_path):
    with pytest.raises(TopologyError, match=f"pictures are drawn up to {MAX_NODES} nodes, not {MAX_NODES + 1}"):
        draw_topology(Topology.from_links(MAX_NODES + 1, [], []), tmp_path / "a.svg")
    for link in (-1, 8):
        with pytest.raises(LinkstepError, match=rf"labels: link must lie in \[0, 8\), not {link}"):
            draw_topology(SQUARE, tmp_path / "a.svg", {link: "x"})
    with pytest.raises(FileError, match="there is no folder"):
        draw_topology(SQUARE, tmp_path / "nowhere" / "a.svg")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LinkstepError, match=r"drawing needs matplotlib: pip install 'linkstep\[plot\]'"):
        draw_topology(SQUARE, tmp_path / "a.svg")

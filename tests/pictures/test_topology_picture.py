"""Pictures: they exist, say what they should, are the same every time, and fail in one line."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import FileError, LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.pictures.layout import (
    by_springs,
    cables,
    grid_dims,
    hops,
    in_columns,
    is_circulant,
    lay_out,
    on_circle,
)
from linkstep.pictures.strokes import along, strokes
from linkstep.pictures.style import VERMILLION
from linkstep.pictures.topology import MAX_NODES, draw_topology, topology_svg
from support import strategies as _settings  # noqa: F401  (the profile)
from support.pictures import overlapping, texts


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


def shuffled(topology, seed=0):
    return replace(topology.relabel(np.random.default_rng(seed).permutation(topology.num_nodes)), name="shuffled")


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


@pytest.mark.slow
@pytest.mark.parametrize("topology", EXAMPLES, ids=lambda t: f"{t.name.strip()}-{t.num_nodes}")
def test_draws(tmp_path, topology):
    draw_topology(topology, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")
    assert [p.name for p in tmp_path.iterdir()] == ["picture.svg"]


@pytest.mark.parametrize("topology", [SQUARE, digraph(100, 7, 31)])
def test_draws_png(tmp_path, topology):
    draw_topology(topology, tmp_path / "picture.PNG")
    assert (tmp_path / "picture.PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_svg_says_name_size_and_node_numbers(tmp_path):
    draw_topology(circulant(16, 3, 4), tmp_path / "c.svg")
    said = {"C(16,{3, 4})", "N = 16, d = 4", "cable: a link each way", *map(str, range(16))}
    assert set(texts(tmp_path / "c.svg")) == said
    draw_topology(TWICE, str(tmp_path / "t.svg"))
    assert "a $x$ & <b> ?" in texts(tmp_path / "t.svg")


def test_large_pictures_number_no_nodes(tmp_path):
    draw_topology(digraph(100, 7, 31), tmp_path / "l.svg", {0: "step 1"})
    assert set(texts(tmp_path / "l.svg")) == {"step 1", "DiC", "N = 100, d = 2", "node number", "0", "99"}


def test_long_names_are_cut(tmp_path):
    draw_topology(Topology.from_links(2, [0], [1], "x" * 500), tmp_path / "x.svg")
    title = next(text for text in texts(tmp_path / "x.svg") if text.startswith("xx"))
    assert len(title) < 40 and "…" in title


def test_labels_light_links_apart_from_their_partners(tmp_path):
    draw_topology(SQUARE, tmp_path / "a.svg", {0: "step 1", 4: "step 2"})
    assert {"step 1", "step 2"} < set(texts(tmp_path / "a.svg"))
    assert VERMILLION in (tmp_path / "a.svg").read_text()
    draw_topology(SQUARE, tmp_path / "b.svg", {})
    assert VERMILLION not in (tmp_path / "b.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "suffix"),
    [(TWICE, ".png"), (torus(4), ".svg"), (shuffled(torus(6)), ".svg"), (digraph(90, 7, 31), ".svg")],
    ids=["small", "grid", "springs", "large"],
)
def test_same_topology_same_bytes(tmp_path, topology, suffix):
    for name in ("a", "b"):
        draw_topology(topology, tmp_path / f"{name}{suffix}", {0: "x"})
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_every_link_is_one_stroke_or_half_a_pair():
    found = [(s.u, s.w, s.link) for s in strokes(TWICE)]
    assert found == [(0, 1, -1), (0, 1, 0), (0, 1, 1), (1, 2, 4), (2, 2, 5)]
    apart = [(s.u, s.w, s.link) for s in strokes(TWICE, frozenset([3]))]
    assert apart == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (1, 0, 3), (1, 2, 4), (2, 2, 5)]
    bends = [s.bend if s.u == 0 else -s.bend for s in strokes(TWICE, frozenset([3])) if {s.u, s.w} == {0, 1}]
    assert bends == [-1.5, -0.5, 0.5, 1.5]  # seen from one side: all different


def test_a_curve_starts_and_ends_at_its_nodes():
    a, b = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    assert along(a, b, 0.5, 0.0).tolist() == [0, 0]
    assert along(a, b, 0.5, 1.0).tolist() == [2, 0]
    assert along(a, b, 0.5, 0.5).tolist() == [1, -0.5]


GRID_FREE = [SQUARE, digraph(100, 7, 31), circulant(300, 1), digraph(40, 1), shuffled(torus(8)), shuffled(torus(12))]


@pytest.mark.parametrize("topology", GRID_FREE)
def test_layout_puts_nodes_apart_in_the_disc(topology):
    place = lay_out(topology).place
    assert place.shape == (topology.num_nodes, 2)
    assert np.linalg.norm(place, axis=1).max() <= 1 + 1e-6
    gaps = np.linalg.norm(place[:, None] - place, axis=2) + 9 * np.eye(topology.num_nodes)
    assert gaps.min() > 0.02 / np.sqrt(topology.num_nodes)
    assert np.allclose(place[0], [0, np.hypot(*place[0])])


def test_small_bidirectional_graphs_are_walked():
    square = lay_out(SQUARE).place
    assert np.allclose(square[0], -square[1])  # 0 and 1 are not linked: opposite corners


@pytest.mark.parametrize(
    ("recipe", "dims"),
    [
        ("Torus(4,4)", (4, 4)),
        ("Torus(6,8)", (6, 8)),
        ("Torus(2,5)", (2, 5)),
        ("Torus(3,3,3)", (3, 3, 3)),
        ("TwistedTorus(4,8)", (4, 8)),
        ("Q(3)", (2, 2, 2)),
        ("Q(4)", (2, 2, 2, 2)),
        ("UniRing(1,4) x UniRing(1,4)", (4, 4)),
    ],
)
def test_grids_stand_on_grids(recipe, dims):
    topology = linkstep.parse(recipe).topology()
    assert grid_dims(topology) == dims
    assert grid_dims(replace(topology, name="")) == (None if "Twisted" in recipe else dims)
    laid = lay_out(topology)
    assert laid.dims == dims
    place = laid.place.reshape(*dims, 2)
    if len(dims) == 2:
        assert np.allclose(np.ptp(place[..., 1], axis=1), 0) and np.allclose(np.ptp(place[..., 0], axis=0), 0)
    for axis in range(len(dims)):  # every dimension goes one way, in even steps
        steps = np.diff(place, axis=axis).reshape(-1, 2)
        assert np.allclose(steps, steps[0]) and np.hypot(*steps[0]) > 0.05
    gaps = np.linalg.norm(laid.place[:, None] - laid.place, axis=2) + 9 * np.eye(topology.num_nodes)
    assert gaps.min() > 0.05


def test_a_mesh_and_a_torus_with_cables_cut_are_grids():
    whole = torus(5)
    assert grid_dims(whole.without_links([0, 7, 30])) == (5, 5)
    u, w = whole.tail, whole.head
    around = np.flatnonzero((abs(u // 5 - w // 5) == 4) | (abs(u % 5 - w % 5) == 4))
    assert grid_dims(whole.without_links(around)) == (5, 5)
    assert grid_dims(shuffled(torus(5))) is None
    assert grid_dims(Topology.from_links(16, [0], [1], "Torus(4,5)")) is None  # the name lies


@pytest.mark.parametrize(
    "recipe", ["C(16,{3,4})", "UniRing(1,8)", "BiRing(2,30)", "ShiftedRing(4,64)", "DirCirculant(4)", "K_5"]
)
def test_circulants_stand_on_a_ring(recipe):
    topology = linkstep.parse(recipe).topology()
    assert is_circulant(topology)
    laid = lay_out(topology)
    assert laid.ring and np.array_equal(laid.place, on_circle(topology.num_nodes))


def test_what_is_no_circulant():
    assert not is_circulant(torus(4)) and not is_circulant(TWICE)
    assert not is_circulant(Topology.from_links(5, [], []))


def stress(place, far):
    """Return how badly places show the hops: the sum over pairs of (drawn / hops - 1)^2, at the best scale."""
    ratio = np.linalg.norm(place[:, None] - place, axis=2) / np.maximum(far, 1)
    total, pairs = np.square(ratio).sum(), len(place) * (len(place) - 1)
    return pairs - ratio.sum() ** 2 / total


@settings(max_examples=20)
@given(rows=st.integers(2, 9), columns=st.integers(3, 9), seed=st.integers(0, 9))
def test_property_springs_show_tori_better_than_a_circle(rows, columns, seed):
    topology = linkstep.parse(f"Torus({rows},{columns})").topology()
    topology = shuffled(topology, seed)
    far = hops(topology)
    place = by_springs(topology)
    assert stress(place, far) < stress(on_circle(topology.num_nodes), far)
    assert np.array_equal(place, by_springs(topology))


def test_springs_hold_apart_what_is_not_joined():
    place = by_springs(Topology.from_links(30, [0, 1, 10], [1, 2, 11]))
    assert np.isfinite(place).all() and np.linalg.norm(place[0] - place[20]) > np.linalg.norm(place[0] - place[1])


def test_stress_is_none_where_hops_can_be_drawn():
    path = Topology.from_links(4, [0, 1, 2], [1, 2, 3])
    line = np.array([[0.0, 0], [2, 0], [4, 0], [6, 0]])
    assert stress(line, hops(path)) == pytest.approx(0, abs=1e-6)  # at any scale
    assert stress(line[[0, 2, 1, 3]], hops(path)) > 1


def test_columns_are_distances():
    place, column = in_columns(linkstep.parse("K_{2,2}").topology(), 0)
    assert column.tolist() == [0, 2, 1, 1]
    assert place.tolist() == [[0, 0], [2, 0], [1, 0.5], [1, -0.5]]
    _, column = in_columns(Topology.from_links(3, [0], [1]), 0)
    assert column.tolist() == [0, 1, 2]  # what the root cannot reach stands last


def test_a_root_puts_nodes_in_columns_and_labels_stay_apart(tmp_path):
    topology = linkstep.parse("Torus(4,4)").topology()
    labels = {e: f"step {e % 3 + 1}" for e in range(0, topology.num_links, 4)}
    draw_topology(topology, tmp_path / "a.svg", labels, 0)
    assert texts(tmp_path / "a.svg").count("step 1") == 6
    assert overlapping(lambda path: draw_topology(topology, path, labels, 0), tmp_path) == []


def test_cables_are_pairs():
    assert cables(TWICE).tolist() == [[0, 1], [1, 2]]


def named(topology, *names):
    object.__setattr__(topology, "labels", tuple(names))
    return topology


@pytest.mark.slow
@pytest.mark.parametrize("ring", [True, False])
def test_hosts_have_their_names(tmp_path, ring):
    names = [f"rack{k // 4}-{k % 4:02}" for k in range(16)]
    topology = named(circulant(16, 3, 4) if ring else torus(4), *names)
    draw_topology(topology, tmp_path / "named.svg")
    said = texts(tmp_path / "named.svg")
    assert set(names) < set(said) and "7" not in said
    overlaps = overlapping(lambda path: draw_topology(topology, path), tmp_path)
    assert overlaps == []


def test_long_names_of_hosts_keep_their_ends(tmp_path):
    names = [f"accelerator-host-in-the-second-room-{k:03}" for k in range(3)]
    draw_topology(named(digraph(3, 1), *names), tmp_path / "long.svg")
    short = [text for text in texts(tmp_path / "long.svg") if text.startswith("accel")]
    assert len(set(short)) == 3 and all(len(text) <= 18 for text in short)


def test_svg_for_notebooks():
    text = topology_svg(SQUARE)
    assert text.startswith("<svg") and text == topology_svg(SQUARE)
    with pytest.raises(TopologyError, match="pictures are drawn up to"):
        topology_svg(Topology.from_links(MAX_NODES + 1, [], []))


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


def test_igraph_is_not_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    draw_topology(shuffled(torus(6)), tmp_path / "a.svg")


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (lambda: draw_topology(SQUARE, tmp_path / "a.svg"), lambda: topology_svg(SQUARE)):
        with pytest.raises(LinkstepError, match="needs matplotlib, which is not installed: python -m pip install "):
            draw()

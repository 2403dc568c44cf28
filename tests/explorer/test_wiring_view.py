"""The wiring view in a real browser: its numbers are the library's, and every control does what it says."""

from __future__ import annotations

import json
import re
import struct
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.explorer import save_page
from linkstep.recipe import parse
from linkstep.symmetry.isomorphisms import node_orbits
from support.pages import OpenPage, address, check_fluid, facts, screenshot, table

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
HOSTS = "Hosts and what they are wired to"
PATH = Topology.from_links(5, [0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3], "path")
HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'quotes' & \"more\"",
    "\U0001f600\U0001f525 \u05d0", "h" * 200, "a,b;c", "]]>&#0;", "</style>",
]  # fmt: skip
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Picture:
    """What the SVG button saves: hosts in their order, where no colours sort them, and links in theirs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = ElementTree.fromstring(text)
        circles = list(self.root.iter(f"{SVG}circle"))
        self.places = np.array([(float(one.get("cx", "nan")), float(one.get("cy", "nan"))) for one in circles])
        self.fills = [one.get("fill") for one in circles]
        self.texts = [one.text or "" for one in self.root.iter(f"{SVG}text")]
        paths = " ".join(one.get("d", "") for one in self.root.iter(f"{SVG}path") if one.get("fill") == "none")
        self.num_links = paths.count("M")
        self.straight = [
            tuple(map(float, found)) for found in re.findall(r"M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)", paths)
        ]
        numbers = [float(text) for text in re.findall(r"-?[\d.]+", paths)]
        self.reach = np.array(numbers).reshape(-1, 2) if numbers else np.zeros((0, 2))


def saved(opened: OpenPage, kind: str) -> Any:
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return download.value.path().read_bytes()


def picture(opened: OpenPage) -> Picture:
    opened.page.evaluate(FRAMES)
    return Picture(saved(opened, "SVG").decode())


def widest_line(opened: OpenPage) -> float:
    """Return how many pixels the widest line of the first picture takes."""
    opened.page.evaluate(FRAMES)
    with opened.page.expect_download() as download:
        opened.page.locator(".stage").first.get_by_role("button", name="SVG").click()
    lines = re.findall(r'fill="none" stroke="[^"]*" stroke-width="([\d.]+)"', download.value.path().read_text())
    return max(map(float, lines))


def click(opened: OpenPage, x: float, y: float) -> None:
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.click(box["x"] + x, box["y"] + y)


def pointed(opened: OpenPage) -> str:
    return str(opened.page.locator(".pointed").inner_text())


def test_a_wiring_says_what_show_says(open_report) -> None:
    opened = open_report("Torus(4,4)", "#host=5")
    page = opened.page
    found = linkstep.describe("Torus(4,4)")
    assert facts(page)["farthest hosts"].startswith(f"{found.diameter} hops")
    assert facts(page)["allreduce"].startswith("230us")
    hops = table(page, "Hosts by their distance from host 5")
    assert [int(row["hosts"]) for row in hops] == found.profile.tolist()
    neighbours = {row["host"]: row["cables to"] for row in table(page, HOSTS)}
    assert neighbours["5"] == "1, 4, 6, 9"
    opened.check()
    opened.check_accessible()
    screenshot(page, "wiring")


# --- controls ---


def test_layouts(open_report) -> None:
    topology = parse("Torus(4,4)").topology().with_places(racks=[f"rack{node % 3}" for node in range(16)])
    opened = open_report(topology)
    select = opened.page.get_by_label("Layout")
    names = select.locator("option").all_inner_texts()
    assert names == ["grid", "ring", "force", "racks", "layers around a host"]
    seen = []
    for name in names:
        select.select_option(label=name)
        found = picture(opened)
        assert found.places.shape == (16, 2) and np.isfinite(found.places).all()
        width, height = float(found.root.get("width", 0)), float(found.root.get("height", 0))
        inside = [found.places, *([found.reach] if name == "ring" else [])]
        for places in inside:
            assert (places >= 0).all() and (places <= (width, height)).all()
        assert not any(np.allclose(found.places, other) for other in seen)
        seen.append(found.places)
    grid, ring, _, racks, layers = seen
    middle = ring.mean(axis=0)
    assert np.allclose(np.linalg.norm(ring - middle, axis=1), np.linalg.norm(ring[0] - middle), atol=0.1)
    assert len({round(x) for x, _ in grid.tolist()}) == 4
    assert [round(x) for x, _ in racks.tolist()[:3]] == [round(x) for x, _ in racks.tolist()[3:6]]
    out = np.linalg.norm(layers - layers[0], axis=1)
    hops = [int(row["hops from 0"]) for row in table(opened.page, HOSTS)]
    for a in range(16):
        for b in range(16):
            assert (hops[a] < hops[b]) <= (out[a] < out[b])
    assert "layout=layers" in address(opened.page)
    opened.check()


def test_colours(open_report) -> None:
    opened = open_report(PATH)
    select = opened.page.get_by_label("Colours")
    assert len(set(picture(opened).fills)) == 1
    select.select_option("orbit")
    assert len(set(picture(opened).fills)) == 3
    select.select_option("distance")
    opened.page.get_by_label("Host", exact=True).fill("2")
    opened.page.keyboard.press("Enter")
    fills = picture(opened).fills
    assert len(set(fills)) == 3  # the host itself, which is marked by the same colour, one hop, two hops
    opened.check()


@pytest.mark.parametrize("topology", [PATH, parse("Torus(3,4)").topology(), parse("L(K_4)").topology()])
def test_kinds_and_hops_are_the_librarys(open_report, topology) -> None:
    opened = open_report(topology, "#host=1")
    rows = table(opened.page, HOSTS)
    orbits = node_orbits(topology)
    same = [[a["kind"] == b["kind"] for a in rows] for b in rows]
    assert same == [[bool(a == b) for a in orbits] for b in orbits]
    hops = {1: 0}
    links = list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    while len(hops) < topology.num_nodes:
        hops |= {w: hops[u] + 1 for u, w in links if u in hops and w not in hops and hops[u] == max(hops.values())}
    assert [int(row["hops from 1"]) for row in rows] == [hops[node] for node in range(topology.num_nodes)]


def test_a_host_by_its_name(open_report) -> None:
    topology = parse("K_4").topology().with_labels(["ada", "bob", "cyd", "dan"])
    opened = open_report(topology)
    for text in ("cyd", "2"):
        opened.page.get_by_label("Host", exact=True).fill(text)
        opened.page.keyboard.press("Enter")
        assert pointed(opened) == "cyd sends to ada, bob, dan."
        assert f"host={text}" in address(opened.page)
    opened.page.locator("td").get_by_role("button", name="dan").click()
    assert pointed(opened) == "dan sends to ada, bob, cyd."
    assert opened.page.locator("tr.marked td").first.inner_text() == "dan"


def test_hosts_and_cables_are_clicked(open_report) -> None:
    opened = open_report("Torus(4,4)")
    found = picture(opened)
    for node in (0, 7, 15):
        click(opened, *found.places[node])
        assert f"host={node}" in address(opened.page)
        assert pointed(opened).startswith(f"host {node} sends to ")
    x0, y0, x1, y1 = found.straight[0]
    click(opened, (x0 + x1) / 2, (y0 + y1) / 2)
    assert "host=" not in address(opened.page)
    assert pointed(opened) == "Duplex cable between host 0 and host 1."
    assert "linkstep show 'Torus(4,4)' --cut 0,1" in opened.page.locator("main").inner_text()
    opened.check()


def test_zoom_and_moves(open_report) -> None:
    opened = open_report("Torus(4,4)")
    page = opened.page
    home = picture(opened).places
    page.get_by_role("button", name="Zoom in").click()
    larger = picture(opened).places
    assert np.allclose(larger[3] - larger[0], 1.25 * (home[3] - home[0]), atol=0.1)
    page.get_by_role("button", name="Zoom out").click()
    assert np.allclose(picture(opened).places, home, atol=0.1)
    page.locator("canvas").focus()
    for key, shift in {"ArrowLeft": (40, 0), "ArrowUp": (0, 40), "ArrowRight": (-40, 0), "ArrowDown": (0, -40)}.items():
        page.keyboard.press("0")
        page.keyboard.press(key)
        assert np.allclose(picture(opened).places - home, shift, atol=0.1)
        page.locator("canvas").focus()
    page.keyboard.press("+")
    page.keyboard.press("-")
    page.keyboard.press("0")
    assert np.allclose(picture(opened).places, home, atol=0.1)
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 35, steps=4)
    page.mouse.up()
    assert np.allclose(picture(opened).places - home, (30, 15), atol=0.1)
    page.get_by_role("button", name="All", exact=True).click()
    assert np.allclose(picture(opened).places, home, atol=0.1)
    opened.check()


def test_what_is_saved(open_report) -> None:
    opened = open_report(parse("K_8").topology().with_labels([*HOSTILE[:7], "plain"]), "#layout=ring")
    found = picture(opened)
    assert {name if len(name) <= 24 else f"{name[:23]}\u2026" for name in HOSTILE[:7]} <= set(found.texts)
    assert found.num_links == 28
    png = saved(opened, "PNG")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (2 * float(found.root.get(side, 0)) for side in ("width", "height"))
    assert struct.unpack(">II", png[16:24]) == (width, height)
    data = json.loads(saved(opened, "JSON"))
    assert data["wires"]["labels"][:7] == HOSTILE[:7]
    topology = parse("K_8").topology()
    assert (data["wires"]["tail"], data["wires"]["head"]) == (topology.tail.tolist(), topology.head.tolist())
    opened.check()


# --- any wiring ---


def test_links_one_way(open_report) -> None:
    opened = open_report("L(K_4)", "#host=0")
    topology = parse("L(K_4)").topology()
    assert facts(opened.page)["cables"] == f"{topology.num_links} one-way links"
    into = [int(u) for u, w in zip(topology.tail, topology.head, strict=True) if w == 0]
    row = table(opened.page, HOSTS)[0]
    assert sorted(map(int, row["hears from"].split(", "))) == sorted(into)
    found = picture(opened)
    assert found.num_links == topology.num_links
    assert "Z" in "".join(one.get("d", "") for one in found.root.iter(f"{SVG}path"))  # heads of arrows
    opened.check()


def test_parallel_cables_are_side_by_side(open_report) -> None:
    doubled = Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0], "two cables")
    opened = open_report(doubled)
    assert facts(opened.page)["cables"] == "2 duplex cables"
    found = picture(opened)
    assert len(set(found.straight)) == found.num_links == 2
    opened.check()


def test_cables_to_oneself_and_hosts_alone(open_report) -> None:
    opened = open_report(Topology.from_links(3, [0, 1, 2, 0, 1, 2], [1, 2, 0, 0, 1, 2], "loops"))
    assert facts(opened.page)["cables"] == "6 one-way links"
    opened.check()
    alone = open_report(Topology.from_links(1, [], [], "alone"))
    assert facts(alone.page)["hosts"].startswith("1,")
    for layout in ("ring", "layers"):
        alone.page.get_by_label("Layout").select_option(layout)
        assert np.isfinite(picture(alone).places).all()
    alone.check()


def test_a_wiring_in_two_parts_is_one_line(tmp_path) -> None:
    parted = Topology.from_links(4, [0, 1, 2, 3], [1, 0, 3, 2])
    with pytest.raises(LinkstepError, match=r"^the topology is disconnected: no path from node 0 to node 2$"):
        save_page(parted, tmp_path / "parted.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("recipe", ["K_{4,4}", "Torus(8,8)", "Torus(32,32)"])
def test_sizes(open_report, recipe) -> None:
    opened = open_report(recipe)
    topology = parse(recipe).topology()
    assert facts(opened.page)["hosts"].startswith(f"{topology.num_nodes},")
    found = picture(opened)
    assert len(found.places) == topology.num_nodes and found.num_links == topology.num_links // 2
    opened.check()


def test_many_long_lines_are_thin_and_grow_when_looked_at_closely(open_report) -> None:
    """Lines leave room between them: of the wiring, and of a schedule in which every link is as busy as can be."""
    widest = {}
    for recipe in ("K_{4,4}", "Cat(64,4,26778)"):
        for panel in "01":
            opened = open_report(recipe, f"#panel={panel}&layout=ring")
            widest[recipe, panel] = widest_line(opened)
    assert widest["K_{4,4}", "0"] == 1.3
    assert widest["K_{4,4}", "1"] == 3.5
    assert widest["Cat(64,4,26778)", "1"] < 2
    for _ in range(6):
        opened.page.get_by_role("button", name="Zoom in").click()
    assert widest_line(opened) > 1.5 * widest["Cat(64,4,26778)", "1"]
    opened.check()


def test_a_thousand_hosts_are_fluid(open_report) -> None:
    opened = open_report("Torus(32,32)")
    canvas = opened.page.locator("canvas")
    canvas.focus()

    def move() -> None:
        for k in range(60):
            opened.page.keyboard.press("ArrowLeft" if k % 2 else "ArrowRight")
            opened.page.evaluate(FRAMES)

    check_fluid(canvas, move)


@pytest.mark.parametrize("window", [{"width": 400}, {"dark": True}, {"width": 400, "dark": True}])
def test_narrow_and_dark_pages(open_report, window) -> None:
    opened = open_report("Torus(4,4)", "#host=3&colour=distance", **window)
    assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    opened.check()
    opened.check_accessible()
    screenshot(opened.page, f"wiring-{'-'.join(window)}")


@pytest.mark.parametrize("width", [1200, 400])
def test_hostile_names_are_text(open_report, width) -> None:
    topology = parse("K_8").topology().with_labels(HOSTILE)
    opened = open_report(topology, "#host=1", width=width)
    page = opened.page
    assert page.locator("main script, main img").count() == 0
    text = page.locator("main").inner_text()
    for name in HOSTILE[:4]:
        assert name in text
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    for layout in ("ring", "layers"):
        page.get_by_label("Layout").select_option(layout)
        assert len(picture(opened).places) >= 8
    opened.check()
    opened.check_accessible()

"""Graphs that a user adds: compared in hops, kept with their source, found again by name; refused in one line."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.cli import main
from linkstep.core.errors import LinkstepError, LinkstepWarning
from linkstep.core.topology import Topology
from linkstep.files import save
from linkstep.recipe import names, parse
from linkstep.recipe.names import catalog_folders
from linkstep.search import find, load_catalog
from linkstep.search.added import MAX_LENGTH, Hops, add_graph, compare, graph_entry, graph_recipe
from linkstep.search.answer import finder
from linkstep.search.catalog import Catalog
from linkstep.search.finders import forget_catalog
from linkstep.search.scoring import check_entry

# Of degree 9, which does not ship: 3 and 2 hops at most.
POOR, GOOD = "C(32,{1,2,3,4,16})", "C(32,{1,2,3,9,16})"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of the user's own catalog, which does not exist yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield tmp_path / "data" / "linkstep" / "catalog"
    finder.cache_clear()


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def graph(text: str) -> Topology:
    return replace(parse(text).topology(), name="", vertex_transitive=False)


@given(st.integers(2, 9), st.integers(1, 3), st.data())
def test_property_a_recipe_lists_the_links(count, degree, data):
    ways = [data.draw(st.permutations(range(count))) for _ in range(degree)]
    topology = Topology.from_links(count, [u for way in ways for u in range(count)], [w for way in ways for w in way])
    recipe = graph_recipe(topology)
    assert recipe.topology() == topology
    assert parse(str(recipe)) == recipe


def test_the_entry_is_scored_as_others_are():
    entry = graph_entry(graph(GOOD))
    assert (entry.num_nodes, entry.degree, entry.bidirectional, entry.diameter) == (32, 9, True, 2)
    check_entry(entry)


def test_what_counts_is_the_diameter_then_the_mean_distance(tmp_path):
    line = graph_entry(graph(POOR)).line()
    (tmp_path / "d9.csv").write_text(f"{names.HEADER}\n{line}\n")
    catalog = Catalog(tmp_path)
    good = compare(graph(GOOD), catalog)
    assert good.beats and good.hops == Hops(2, Fraction(9 + 2 * 22, 31)) and good.known_hops.diameter == 3
    assert not compare(graph(POOR), catalog).beats
    far = compare(graph("C(32,{1,2,3,5,16})"), catalog)
    assert far.hops.diameter == 3 and far.beats == (far.hops.mean < good.known_hops.mean)


def test_one_way_graphs_must_beat_duplex_ones(tmp_path):
    line = graph_entry(graph("C(8,{1,2})")).line()
    (tmp_path / "d4.csv").write_text(f"{names.HEADER}\n{line}\n")
    slow = Topology.from_links(
        8, [u for u in range(8) for _ in range(4)], [(u + j) % 8 for u in range(8) for j in range(1, 5)]
    )
    assert not compare(slow, Catalog(tmp_path)).beats
    (tmp_path / "d4.csv").write_text(f"{names.HEADER}\n{graph_entry(slow).line()}\n")
    assert compare(graph("C(8,{1,2})"), Catalog(tmp_path)).known is None


def test_add_and_use(capsys, tmp_path, own):
    poor, good = str(tmp_path / "poor.edges"), str(tmp_path / "good.s6")
    save(graph(POOR), poor)
    save(graph(GOOD), good)
    code, out, error = run(capsys, "catalog", "add", poor, "--source", "a first try")
    (number,) = names.catalog_names(32, 9)
    assert (code, error) == (0, "")
    assert out == (
        "N=32, d=9, duplex links: diameter 3, mean distance 1.9032 (diameter at least 2)\n"
        "nothing is known of this N, d and kind\n"
        f"added to {own} as Cat(32,9,{number})\n"
        f"next: linkstep show 'Cat(32,9,{number})'; linkstep find 32 9 counts it in\n"
    )
    code, out, _ = run(capsys, "catalog", "add", good, "--source", "Graph Golf 2099, N. N.")
    assert code == 0
    assert out.split("\n")[1] == f"beats what is known: diameter 3, mean distance 1.9032 (Cat(32,9,{number}))"
    name = names.name_of(str(graph_recipe(graph(GOOD))), 32, 9)
    assert out.split("\n")[2] == f"added to {own} as {name}"
    code, out, _ = run(capsys, "catalog", "add", poor, "--source", "a first try")
    assert code == 1
    assert out.split("\n")[1:] == [f"does not beat what is known: diameter 2, mean distance 1.7097 ({name})", ""]
    assert parse(name).topology() == graph(GOOD)
    assert {entry.diameter for entry in load_catalog().listed(32, 9)} >= {2}
    assert name in {choice.recipe.short for choice in finder("all", True).bases(32, 9)}
    assert names.source_of(str(parse(name))) == "Graph Golf 2099, N. N."
    code, out, _ = run(capsys, "catalog", "verify", "--catalog", str(own))
    assert code == 0 and "every figure is right" in out


@pytest.mark.slow
def test_find_and_show_say_so(capsys, own):
    name = add_graph(graph(GOOD), "Graph Golf 2099, N. N.")
    assert name in {row.recipe.short for row in find(32, 9).frontier}
    code, out, _ = run(capsys, "show", name)
    assert code == 0 and out.startswith(f"{name}\n") and "source               Graph Golf 2099, N. N.\n" in out
    code, out, _ = run(capsys, "schedule", name)
    assert code == 0 and out.startswith(f"{name}: allreduce by ")


def test_digraphs_too(capsys, tmp_path, own):
    (tmp_path / "ring.adj").write_text("0: 1\n1: 2\n2: 0\n")
    code, out, _ = run(capsys, "catalog", "add", str(tmp_path / "ring.adj"), "--source", "by hand")
    assert code == 0 and out.startswith(
        "N=3, d=1, one-way links: diameter 2, mean distance 1.5000 (diameter at least 2)\n"
    )
    (tmp_path / "two.g6").write_text("A_")
    code, out, _ = run(capsys, "catalog", "add", str(tmp_path / "two.g6"), "--source", "by hand")
    assert code == 0 and out.startswith(
        "N=2, d=1, duplex links: diameter 1, mean distance 1.0000 (diameter at least 1)\n"
    )


def test_another_folder(capsys, tmp_path, own):
    save(graph(POOR), tmp_path / "poor.edges")
    argv = ("catalog", "add", str(tmp_path / "poor.edges"), "--source", "here", "--into", str(tmp_path / "other"))
    code, out, _ = run(capsys, *argv)
    assert code == 0 and out.endswith(
        f"added to {tmp_path}/other, which linkstep does not read: merge it, or add without --into\n"
    )
    assert not own.exists() and list(load_catalog(tmp_path / "other"))
    code, out, _ = run(capsys, *argv)
    assert code == 1 and "does not beat what is known" in out


def test_what_ships_keeps_its_names(own, monkeypatch):
    """Even where a recipe of the user's own has the same number."""
    monkeypatch.setattr(names, "_DIGITS", 2)
    names._names.cache_clear()
    shipped = dict(names.catalog_names(5, 4))
    (number,) = shipped
    twin = next(text for i in range(10**4) if int(names.digest(text := f"Twin({i})"), 16) % 100 == number)
    own.mkdir(parents=True)
    (own / "d4.csv").write_text(f"{names.HEADER}\n5,4,bi,1,4/5,4/5,4,{twin}\n")
    both = names.catalog_names(5, 4)
    assert shipped.items() <= both.items() and len(both) == 2
    assert both[int(names.digest(twin), 16) % 1000] == twin
    (own / "d4.csv").write_text(f"{names.HEADER}\n")
    assert names.catalog_names(5, 4) == shipped
    names._names.cache_clear()


PETERSEN = Topology.from_networkx(nx.petersen_graph())
REFUSED = {
    "irregular": (Topology.from_networkx(nx.path_graph(3)), "x", "the catalog holds regular graphs"),
    "columns": (Topology.from_links(2, [0, 1], [1, 0], alpha=[1, 1]), "x", "whose links are all alike"),
    "disconnected": (Topology.from_links(4, [0, 1, 2, 3], [1, 0, 3, 2]), "x", "the topology is disconnected"),
    "a line break": (PETERSEN, "a\nb", "the source must be one line of printable text"),
    "no source": (PETERSEN, " ", "the source must be one line of printable text"),
    "a long source": (PETERSEN, "x" * 501, "of at most 500 characters"),
}


@pytest.mark.parametrize(("topology", "source", "match"), REFUSED.values(), ids=REFUSED)
def test_refused_in_one_line(capsys, tmp_path, own, topology, source, match):
    save(topology, tmp_path / "t.npz")
    code, out, error = run(capsys, "catalog", "add", str(tmp_path / "t.npz"), "--source", source)
    assert (code, out) == (2, "") and match in error and error.count("\n") == 1
    assert not own.exists()


def test_long_recipes(own):
    match = rf"take \d+ characters, and an entry of .* may have {MAX_LENGTH}: use the file"
    with pytest.raises(LinkstepError, match=match):
        add_graph(graph("C(2000,{1,2,3,4})"), "x")
    with pytest.raises(LinkstepError, match="may have 2500: use the file itself"):
        add_graph(graph("C(400,{1,2})"), "x", names.DATA)


def test_folders_that_cannot_be(capsys, tmp_path, monkeypatch):
    save(graph("K_10"), tmp_path / "t.npz")
    argv = ("catalog", "add", str(tmp_path / "t.npz"), "--source", "x")
    code, _, error = run(capsys, *argv, "--into", str(tmp_path / "t.npz"))
    assert code == 2 and error.count("\n") == 1 and "t.npz" in error

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setattr(Path, "home", homeless)
    assert names.catalog_folders() == (names.DATA,)
    code, _, error = run(capsys, *argv)
    assert code == 2 and error == (
        "linkstep: there is no home folder for a catalog of your own: set XDG_DATA_HOME, or name a folder\n"
    )


def test_a_damaged_catalog_of_ones_own(capsys, own):
    own.mkdir(parents=True)
    (own / "d9.csv").write_bytes(b"\xff\xfe")
    warning = f"linkstep: warning: a file of your own catalog is left out: {own}/d9.csv: is not a text file"
    for argv, expected in ((("find", "32", "9", "--seconds", "0"), 0), (("show", "Cat(32,9,1)"), 2)):
        code, _, error = run(capsys, *argv)
        assert code == expected and error.startswith(warning) and error.count("\n") == 1 + (expected > 0)
        names._lines.cache_clear()
        names._names.cache_clear()
    (own / "d9.csv").write_text(f"{names.HEADER}\n32,9,bi,nonsense\n")
    with pytest.warns(LinkstepWarning, match="not an entry"):
        assert load_catalog().listed(32, 9) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "is not a text file"), (b"nodes,...\n64,junk\n", "a line of your own catalog is left out: ")],
)
def test_an_own_catalog_that_cannot_be_read_is_a_warning(own, capsys, content, words):
    own.mkdir(parents=True)
    (own / "d4.csv").write_bytes(content)
    forget_catalog()
    assert main(["find", "64", "4"]) == 0
    lines = capsys.readouterr().err.splitlines()
    forget_catalog()
    assert len(lines) == 1 and lines[0].startswith("linkstep: warning: ") and words in lines[0]


def test_a_folder_that_cannot_be_entered(own, capsys, monkeypatch):
    own.mkdir(parents=True)

    def closed(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(own), "iterdir", closed)
    with pytest.warns(LinkstepWarning, match="your own catalog is left out: .*Permission denied"):
        assert len(catalog_folders()) == 1

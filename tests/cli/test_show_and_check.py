"""``show``, ``check``, ``schedule``, ``wire``, ``convert``: times, bounds, names of files, what is too much work."""

import io
import json
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import _progress, main
from linkstep.cli._progress import busy
from linkstep.core.topology import Topology
from linkstep.costs import distance_flow_bound
from linkstep.files import save
from support import reference
from support.strategies import pairs

pytestmark = pytest.mark.usefixtures("wide")

CATALOG = Path(linkstep.__file__).parent / "data" / "catalog" / "d3.csv"


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("nodes", "one_half", "both"), [(31, 40, 88), pytest.param(127, 168, 376, marks=pytest.mark.slow)]
)
def test_times(capsys, nodes, one_half, both):
    """At the size and on the fabric asked for; an allreduce is both halves, which differ where links go one way."""
    _, out, _ = run(
        capsys, "show", f"Pi_{{4,{nodes}}}", "--json", "--size", "1MiB", "--alpha", "0us", "--bandwidth", "8bps"
    )
    bfb = json.loads(out)["bfb"]
    assert (bfb["t_b"], bfb["allreduce_t_b"]) == (f"{one_half}/{nodes}", f"{both}/{nodes}")
    assert bfb["allgather_seconds"] == pytest.approx(2**20 * one_half / nodes)
    assert bfb["allreduce_seconds"] == pytest.approx(2**20 * both / nodes)


def test_check_gives_microseconds_and_the_bound_of_an_allreduce(capsys, tmp_path):
    file = str(tmp_path / "a.npz")
    run(capsys, "schedule", "K_5", "-o", file)
    _, out, _ = run(capsys, "check", file, "--size", "1GB")
    assert out.endswith(": 2 alpha + 8/5 M/B, bandwidth-optimal, 128ms for 1GB (alpha 10us, 100Gbps a server)\n")
    code, _, err = run(capsys, "check", file, "--size", "much")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("recipe", ["Torus(3,4)", "Pi_{4,33}", "L(Paley(7))", "UniRing(2,5)"])
def test_one_bound_on_all_to_all(capsys, recipe):
    _, out, _ = run(capsys, "show", recipe, "--json")
    topology = linkstep.parse(recipe).topology()
    assert Fraction(json.loads(out)["all_to_all_bound"]) == distance_flow_bound(topology)
    dist = reference.all_distances(topology.num_nodes, pairs(topology))
    carrying = topology.num_links - topology.num_self_loops
    assert distance_flow_bound(topology) == Fraction(carrying, sum(map(sum, dist)))
    assert distance_flow_bound(replace(topology, vertex_transitive=False)) == distance_flow_bound(topology)


def test_the_bound_counts_slow_links_in_part(capsys, tmp_path):
    rated = Topology.from_links(3, [0, 1, 2, 2], [1, 2, 0, 2], bandwidth=[4, 4, 1, 9])
    assert distance_flow_bound(rated) == Fraction(9, 4 * 9)


# Names of files


@pytest.mark.parametrize("name", ["x.xml", "X.XML", "plan.json"])
def test_check_leads_to_verify(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text('{"name": "x", "gpus": []}' if name.endswith("json") else "<algo/>")
    code, _, err = run(capsys, "check", name)
    what = "an MSCCL++ plan (JSON)" if name.endswith("json") else "an MSCCL program (XML)"
    assert (code, err) == (2, f"linkstep: {name} is {what}, not a schedule: `linkstep verify {name}` proves it\n")


@pytest.mark.parametrize("argv", [["schedule", "K_3", "-o"], ["wire", "K_3", "-o"], ["convert", "K_3"]])
def test_no_name_is_no_file(capsys, tmp_path, monkeypatch, argv):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv, "")
    assert (code, out, err) == (2, "", "linkstep: '' is not the name of a file\n")
    assert not list(tmp_path.iterdir())


def long_recipe() -> str:
    """Return a recipe of the catalog that no file could be called after."""
    recipes = (line.split(",", 7)[7] for line in CATALOG.read_text().splitlines()[1:])
    return next(recipe for recipe in recipes if len(recipe) > 255)


def test_recipes_longer_than_a_name_of_a_file(capsys, tmp_path):
    recipe = long_recipe()
    for argv in (["show", recipe], ["wire", recipe], ["convert", recipe, str(tmp_path / "t.npz")]):
        code, _, err = run(capsys, *argv)
        assert (code, err) == (0, "")
    assert linkstep.load(tmp_path / "t.npz").name == linkstep.parse(recipe).short
    code, _, err = run(capsys, "show", "K_3\0")
    assert (code, err.count("\n")) == (2, 1)


# Too much


def test_more_rows_than_a_file_holds(capsys):
    code, _, err = run(capsys, "schedule", "Q(16)")
    assert (code, err) == (
        2,
        "linkstep: allreduce on N=65536 takes 8589803520 rows or more, above the 214748364 of a file: "
        "`linkstep show` gives the cost\n",
    )


def test_more_cables_than_are_listed(capsys):
    code, _, err = run(capsys, "wire", "Q(17)")
    assert (code, err) == (2, "linkstep: has 2228224 links: cables are planned for up to 1048576\n")


def test_show_of_large_graphs_of_unlike_nodes(capsys, tmp_path, monkeypatch):
    """Distances are counted in blocks of nodes, which may see different diameters."""
    from linkstep import description

    path = Topology.from_links(5, [0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3])
    save(path, tmp_path / "path.csv")
    expected = run(capsys, "show", str(tmp_path / "path.csv"), "--json")
    monkeypatch.setattr(description, "LARGE", 3)
    monkeypatch.setattr(description, "_BLOCK", 1)
    code, out, err = run(capsys, "show", str(tmp_path / "path.csv"), "--json")
    assert (code, err) == (0, "")
    unknown = {"vertex_transitive": None}
    assert json.loads(out) == json.loads(expected[1]) | unknown


# Long work


@pytest.mark.parametrize(("is_terminal", "said"), [(True, "linkstep: counting sheep ..."), (False, "")])
def test_long_work_says_what_it_is(monkeypatch, is_terminal, said):
    class Terminal(io.StringIO):
        def isatty(self):
            return is_terminal

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with busy("counting sheep"):
        deadline = time.monotonic() + 30
        while is_terminal and not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert terminal.getvalue() == said
    assert terminal.getvalue() == (f"{said}\r\x1b[K" if said else "")
    monkeypatch.setattr(_progress, "PATIENCE", 1000.0)
    quick = terminal.getvalue()
    with busy("nothing much"):
        pass
    assert terminal.getvalue() == quick


def test_the_proof_by_an_equal_split(capsys):
    """thm:shortestbwoptsuff in one line, and in --json."""
    _, out, _ = run(capsys, "show", "K_{4,4}")
    line = next(line for line in out.splitlines() if "proven by" in line)
    assert (
        line.split("by", 1)[1].strip() == "each link serves 1 3 shards at distance 1, 2, ..., each shard has 1 4 links"
    )
    _, out, _ = run(capsys, "show", "K_{4,4}", "--json")
    assert json.loads(out)["equal_split"] == {"loads": ["1", "3/4"], "constants": [[4, 1, 1], [3, 3, 4]]}
    for recipe in ("Diamond", "Torus(3,4)"):
        _, out, _ = run(capsys, "show", recipe)
        assert "proven by" not in out

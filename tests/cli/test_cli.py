"""The command line, in process and on exact text; bad input is one line and exit code 2."""

import json
import subprocess
import sys

import pytest

import linkstep
from linkstep.cli import main
from linkstep.cli._parser import load_commands
from linkstep.core.schedule import COLLECTIVES, Schedule

SHOW = """\
K_{4,4}
  servers N            8
  ports d              4
  cables               16 duplex
  diameter             2 hops; no duplex wiring of this N and d has less than 2
  allreduce of 1MB     180us by breadth-first broadcast (alpha 10us, 100Gbps a
                       server)
    costs              4 steps, 7/4 = 1.7500 M/B, bandwidth-optimal
  all-to-all           at most 70Gbps a server: f <= 4.000e-01 of a link's rate
                       for every pair (any wiring: 4.000e-01)
  servers by distance  1 4 3
  mean distance        1.4286 hops
  vertex-transitive    yes
  reverse-symmetric    yes
  BFB allgather        2 steps, 7/8 = 0.8750 M/B, bandwidth-optimal
    proven by          each link serves 1 3 shards at distance 1, 2, ..., each
                       shard has 1 4 links
    time for 1MB       90us
"""


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_show(capsys):
    assert run(capsys, "show", "K_{4,4}") == (0, SHOW, "")


def test_show_json(capsys):
    code, out, _ = run(capsys, "show", "Pi_{4,64}", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["nodes"], facts["degree"], facts["diameter"], facts["self_loops"]) == (64, 4, 3, 4)
    assert (facts["bfb"]["steps"], facts["bfb"]["t_b"]) == (3, "21/16")
    assert facts["t_b_bound"] == "63/64"


def test_show_draws(capsys, tmp_path):
    code, out, _ = run(capsys, "show", "Diamond", "--draw", str(tmp_path / "d.svg"))
    assert code == 0
    assert out.endswith(f"drawn to {tmp_path / 'd.svg'}\n")
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")


def test_show_irregular_file(capsys, tmp_path):
    (tmp_path / "path.csv").write_text("tail,head\n0,1\n1,0\n1,2\n2,1\n")
    _, out, _ = run(capsys, "show", str(tmp_path / "path.csv"))
    assert "ports d              2 (the most of any server; not regular)" in out
    assert "servers by distance  1 1.333 0.6667 (mean over nodes)" in out


def test_families(capsys):
    code, out, _ = run(capsys, "families")
    assert code == 0
    assert "Pi_{d,m}" in out and "twisted torus" in out
    code, out, _ = run(capsys, "families", "--nodes", "32", "--degree", "4")
    assert code == 0
    for recipe in ("Pi_{4,32}", "C(32,{4,5})", "Torus(4,8)", "DistReg(4,32)"):
        assert f"\n{recipe} " in out
    _, out, _ = run(capsys, "families", "--nodes", "8", "--degree", "4", "--json")
    found = json.loads(out)
    assert (found["format"], found["nodes"], found["degree"]) == ("linkstep/members", 8, 4)
    assert {"recipe": "K_{4,4}", "family": "complete bipartite graph"} in found["members"]
    _, out, _ = run(capsys, "families", "--nodes", "2", "--degree", "9")
    assert "UniRing(9,2)" in out


@pytest.mark.usefixtures("wide")
def test_schedule_check_convert(capsys, tmp_path):
    npz, text = str(tmp_path / "a.npz"), str(tmp_path / "a.json")
    code, out, _ = run(capsys, "schedule", "Torus(3,4)", "--collective", "allgather", "-o", npz)
    assert code == 0
    assert out == (
        "Torus(3,4): allgather by breadth-first broadcast, checked\n"
        "  time for 1MB    103.3us (alpha 10us, 100Gbps a server)\n"
        "  steps (T_L)     3, not Moore-optimal (bound 2)\n"
        "  M/B (T_B)       11/12 = 0.9167, bandwidth-optimal\n"
        "  chunks a shard  4\n"
        f"  rows            {linkstep.load(npz).num_rows}\n"
        f"saved to {npz}\n"
    )
    assert run(capsys, "convert", npz, text)[0] == 0
    assert linkstep.load(text) == linkstep.load(npz)
    code, out, _ = run(capsys, "check", text)
    assert code == 0
    rows = linkstep.load(npz).num_rows
    assert out == (
        f"{text}: valid allgather on Torus(3,4), N=12, {rows} rows: 3 alpha + 11/12 M/B, bandwidth-optimal, "
        "103.3us for 1MB (alpha 10us, 100Gbps a server)\n"
    )
    _, out, _ = run(capsys, "check", text, "--json")
    facts = json.loads(out)
    wiring = facts.pop("wiring_bound")
    assert (wiring["steps"], wiring["t_b"], wiring["verdict"], wiring["summary"]) == (3, "11/12", "optimal", None)
    assert facts == {
        "format": "linkstep/check", "version": 2,
        "file": text, "collective": "allgather", "num_rows": rows, "valid": True, "steps": 3, "t_b": "11/12",
        "size": 10**6, "seconds": pytest.approx(103.3e-6, rel=1e-3), "fabric": "alpha 10us, 100Gbps a server",
    }  # fmt: skip


def test_schedule_chunks(capsys):
    _, out, _ = run(capsys, "schedule", "Pi_{4,64}", "--collective", "allgather", "--chunks", "3")
    assert "  M/B (T_B)       21/16 = 1.3125, not bandwidth-optimal (63/64)\n" in out
    assert "  on this wiring  optimal; 3 alpha + 21/16 M/B at least: " in out
    assert "  chunks a shard  3\n" in out


def test_schedule_chooses_the_better_method(capsys):
    for recipe, method, steps in (("BiRing(2,5)*2", "bfb", 2), ("L(K_{2,2})", "bfb", 3), ("Diamond^2", "expand", 6)):
        _, out, _ = run(capsys, "schedule", recipe, "--collective", "allgather", "--json")
        facts = json.loads(out)
        assert (facts["method"], facts["steps"]) == (method, steps)
    _, out, _ = run(capsys, "schedule", "BiRing(2,5)*2", "--method", "expand", "--json")
    assert json.loads(out)["steps"] == 6


@pytest.mark.parametrize(
    ("method", "collective"),
    [(method, c) for c in COLLECTIVES for method in (["exchange"] if c.exchanges else ["bfb", "expand"])],
)
@pytest.mark.usefixtures("wide")
def test_schedule_every_collective(capsys, tmp_path, collective, method):
    file = str(tmp_path / "s.npz")
    args = ["--collective", collective, "--method", method, "--root", "3", "-o", file]
    code, _, err = run(capsys, "schedule", "L(Pi_{2,5})", *args)
    assert (code, err) == (0, "")
    assert linkstep.load(file).topology.name == "L(Pi_{2,5})"
    code, out, err = run(capsys, "check", file)
    assert (code, err) == (0, "")
    assert f"valid {collective} on L(Pi_{{2,5}}), N=10" in out


def test_check_shows_the_witness(capsys, tmp_path):
    ring = linkstep.parse("UniRing(1,3)").topology()
    file = str(tmp_path / "bad.json")
    linkstep.save(Schedule.from_columns(ring, 1, [0, 0], [0, 0], [1, 1], [1, 2], [1, 2]), file)
    code, out, err = run(capsys, "check", file)
    assert (code, out) == (1, "")
    assert err == (
        f"linkstep: {file} is not a valid allgather: row 0: step 1, link 1 (1 -> 2) carries [0, 1)/1 of shard 0, "
        "but node 1 does not hold [0, 1)/1 yet\n"
    )
    code, out, _ = run(capsys, "check", file, "--json")
    assert code == 1
    assert json.loads(out)["row"] == 0


BAD = [
    (
        ["show", "L^2(Diamnd)"],
        "linkstep: recipe 'L^2(Diamnd)', character 5: no family is called 'Diamnd'; did you mean",
    ),
    (["show", "nowhere.npz"], "nowhere.npz"),
    (["show", "K_0"], "K_m"),
    (["schedule", "K_5", "-o", "x.csv"], "x.csv: a .csv file holds a topology, not a schedule"),
    (["schedule", "K_5", "-o", "nowhere/x.npz"], "there is no folder nowhere"),
    (["schedule", "K_5", "--chunks", "0"], "chunks must lie in [1, 1000000], not 0"),
    (["schedule", "K_5", "--root", "5"], "root must be a node in [0, 5), not 5"),
    (["schedule", "K_5", "--method", "expand", "--chunks", "2"], "method expand takes neither chunks nor size"),
    (["families", "--nodes", "8"], "--nodes and --degree go together"),
    (["families", "--nodes", "0", "--degree", "4"], "--nodes must be at least 1, not 0"),
    (["families", "--nodes", "x", "--degree", "4"], "argument --nodes: must be a whole number, not 'x'"),
    (["convert", "K_5", "out.txt"], "must end in one of .npz, .json, .csv, .graphml"),
    (["frobnicate"], "no command is called 'frobnicate'; `linkstep --help` lists them"),
]


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[" ".join(argv) for argv, _ in BAD])
def test_bad_input_is_one_line_and_code_2(capsys, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("linkstep: ") and err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_disconnected_wiring_names_two_nodes(capsys, tmp_path):
    (tmp_path / "two.csv").write_text("0,1\n1,0\n2,3\n3,2\n")
    code, _, err = run(capsys, "schedule", str(tmp_path / "two.csv"))
    assert (code, err) == (2, "linkstep: the topology is disconnected: no path from node 0 to node 2\n")


@pytest.mark.parametrize("command", load_commands(), ids=lambda command: command.name)
def test_help_has_an_example_and_fits(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, command.name, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert f"example: {command.example}" in out
    assert command.example.startswith(f"linkstep {command.name}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "families" in out


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_next_to_nothing(option):
    script = (
        "import sys; from linkstep.cli import main; main([sys.argv[1]])\n"
        "heavy = {'numpy', 'numba', 'tqdm', 'dataclasses', 'linkstep.core.topology', 'linkstep.cli._find'}\n"
        "print(sorted(heavy & set(sys.modules)), len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, option], capture_output=True, text=True, check=True)
    loaded, count = done.stderr.rsplit(" ", 1)
    assert loaded == "[]" and int(count) < 150

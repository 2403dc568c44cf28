"""Names of hosts and faults on the command line: what is printed, what is in the JSON, what is one line and code 2."""

import csv
import json

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.schedule import Schedule

pytestmark = pytest.mark.usefixtures("wide")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, with a named wiring of four hosts: a ring with one chord."""
    monkeypatch.chdir(tmp_path)
    ring = [("ant", "bee"), ("bee", "cat"), ("cat", "dog"), ("dog", "ant"), ("ant", "cat")]
    lines = [f"{u},{w}" for u, w in ring + [(w, u) for u, w in ring]]
    (tmp_path / "pod.csv").write_text("\n".join(lines))
    return tmp_path


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def facts(capsys, *argv: str) -> dict:
    code, out, err = run(capsys, *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# Names


def test_names_go_from_a_wiring_through_everything(capsys, here):
    shown = facts(capsys, "show", "pod.csv")
    assert shown["labels"] == ["ant", "bee", "cat", "dog"]
    assert "step 2, bee:" in shown["bfb"]["limited_by"]
    assert facts(capsys, "schedule", "pod.csv", "-o", "s.npz")["limited_by"].startswith("step 2, bee: ")
    for suffix in (".json", ".npz"):
        assert run(capsys, "convert", "s.npz", f"again{suffix}")[0] == 0
        assert linkstep.load(f"again{suffix}").topology.labels == ("ant", "bee", "cat", "dog")
    for suffix in (".csv", ".graphml", ".json", ".npz"):
        assert run(capsys, "convert", "pod.csv", f"pod2{suffix}")[0] == 0
        cables = facts(capsys, "wire", f"pod2{suffix}")["cables"]
        assert [(c["from"], c["to"]) for c in cables][:2] == [("ant", "bee"), ("ant", "cat")]


def test_a_witness_names_hosts(capsys, here):
    named = linkstep.load("pod.csv")
    linkstep.save(Schedule.from_columns(named, 1, [0, 0], [0, 0], [1, 1], [3, 4], [1, 2]), "bad.json")
    code, out, err = run(capsys, "check", "bad.json")
    assert (code, out) == (1, "")
    assert err == (
        "linkstep: bad.json is not a valid allgather: row 0: step 1, link 3 (bee -> ant) carries [0, 1)/1 of ant's "
        "shard, but bee does not hold [0, 1)/1 yet\n"
    )


@pytest.mark.parametrize("how", ["file", "list"])
def test_a_recipe_is_given_names(capsys, here, how):
    (here / "hosts.txt").write_text("ant\nbee\n\n cat \n")
    names = "hosts.txt" if how == "file" else "ant,bee,cat"
    code, out, _ = run(capsys, "wire", "K_3", "--names", names)
    assert code == 0
    assert out.startswith(
        "cable  from  port  to   port  kind    panel  panel\n"
        "0      ant   0     bee  0     duplex  0      2\n"
        "1      ant   1     cat  0     duplex  1      4\n"
    )
    assert facts(capsys, "wire", "K_3", "--names", names)["labels"] == ["ant", "bee", "cat"]
    assert run(capsys, "wire", "K_3", "--names", names, "-o", "plan.csv")[0] == 0
    rows = list(csv.DictReader((here / "plan.csv").read_text().splitlines()))
    assert [row["to"] for row in rows] == ["bee", "cat", "cat"]
    assert run(capsys, "convert", "K_3", "k3.graphml", "--names", names)[0] == 0
    assert linkstep.load("k3.graphml").labels == ("ant", "bee", "cat")


def test_a_schedule_is_given_names(capsys, here):
    assert run(capsys, "schedule", "K_3", "-o", "s.npz")[0] == 0
    assert run(capsys, "convert", "s.npz", "named.npz", "--names", "ant,bee,cat")[0] == 0
    named = linkstep.load("named.npz")
    assert isinstance(named, Schedule)
    assert named.topology.labels == ("ant", "bee", "cat")
    assert named == linkstep.load("s.npz")


def test_a_root_by_name(capsys, here):
    code, _, err = run(capsys, "schedule", "pod.csv", "--collective", "broadcast", "--root", "cat", "-o", "b.npz")
    assert (code, err) == (0, "")
    assert set(linkstep.load("b.npz").source.tolist()) == {2}
    code, _, err = run(capsys, "schedule", "pod.csv", "--collective", "broadcast", "--root", "cow")
    assert (code, err) == (2, "linkstep: no host is called 'cow': the first is 'ant'\n")
    assert run(capsys, "show", "pod.csv", "--broadcast", "cat", "--draw", "pod.svg")[0] == 0
    assert (here / "pod.svg").exists()


# Faults


def test_schedule_says_what_changed(capsys, here):
    code, out, err = run(capsys, "schedule", "pod.csv", "--cut", "ant,cat", "--collective", "allgather")
    assert (code, err) == (0, "")
    assert out.startswith("a topology, cut ant,cat: allgather by breadth-first broadcast, checked\n")
    assert "\n  faults              cut ant,cat\n  without the faults  2 steps, 9/8 M/B, 110us\n" in out
    found = facts(capsys, "schedule", "pod.csv", "--cut", "ant,cat", "--collective", "allgather")
    assert found["faults"] == ["cut ant,cat"]
    assert found["without_faults"] == {
        "method": "bfb", "steps": 2, "t_b": "9/8", "seconds": pytest.approx(110e-6),
    }  # fmt: skip
    # The ring of four that is left has links of B/3: its 3/4 M/B counts with B = 2/3 of 100Gbps.
    assert (found["steps"], found["t_b"]) == (2, "3/4")
    assert found["seconds"] == pytest.approx(20e-6 + 0.75 * 80e-6 * 3 / 2)


def test_show_says_what_changed(capsys, here):
    found = facts(capsys, "show", "Torus(4,4)", "--cut", "0,1", "--down", "5")
    assert found["faults"] == ["cut 0,1", "down 5"]
    assert (found["nodes"], found["num_links"]) == (15, 54)
    before = found["without_faults"]
    assert (before["nodes"], before["num_links"], before["bfb"]["t_b"]) == (16, 64, "15/16")
    assert before["bfb"]["allreduce_seconds"] < found["bfb"]["allreduce_seconds"]
    _, out, _ = run(capsys, "show", "Torus(4,4)", "--cut", "0,1")
    assert out.endswith(
        "  faults               cut 0,1\n  without the faults   N=16, 64 links, allreduce 230us, 8 steps, 15/8 M/B\n"
    )


def test_a_cut_costs_what_the_wiring_without_it_does(capsys, here):
    assert run(capsys, "convert", "Torus(4,4)", "cut.csv", "--cut", "0,1")[0] == 0
    cut = facts(capsys, "schedule", "Torus(4,4)", "--cut", "0,1")
    from_file = facts(capsys, "schedule", "cut.csv")
    assert [cut[key] for key in ("steps", "t_b", "seconds")] == [from_file[key] for key in ("steps", "t_b", "seconds")]
    assert cut["method"] == "bfb"


def test_slow_links_take_the_rate_of_the_option(capsys, here):
    found = facts(
        capsys, "schedule", "K_3", "--slow", "0,1=10Gbps", "--bandwidth", "40Gbps", "--collective", "allgather"
    )
    assert found["t_b"] == "4/3"  # half the speed of the others, 20Gbps
    assert found["seconds"] == pytest.approx(10e-6 + 8e6 / 3 / 10e9)
    assert run(capsys, "convert", "K_3", "slow.json", "--slow", "0,1,oneway=10Gbps", "--bandwidth", "40Gbps")[0] == 0
    assert sorted(linkstep.load("slow.json").bandwidth.tolist()) == [10**10] + [2 * 10**10] * 5


def test_wire_with_faults(capsys, here):
    plan = facts(capsys, "wire", "pod.csv", "--down", "dog", "--cut", "ant,bee")
    assert (plan["faults"], plan["labels"]) == (["down dog", "cut ant,bee"], ["ant", "bee", "cat"])
    cables = plan["cables"]
    assert [(c["from"], c["to"]) for c in cables] == [("ant", "cat"), ("bee", "cat")]
    cables = facts(capsys, "wire", "K_4", "--down", "1")["cables"]
    assert [(c["from"], c["to"]) for c in cables] == [("0", "2"), ("0", "3"), ("2", "3")]


def test_lower_with_faults_says_which_rank_is_which_host(capsys, here):
    argv = ["lower", "pod.csv", "--to", "cpu", "--down", "bee", "-o", "left.xml"]
    assert facts(capsys, *argv)["rank_labels"] == ["ant", "cat", "dog"]
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert "  hosts        rank 0, 1, ... on ant, cat, dog\n" in out


def test_simulate_with_faults(capsys, here):
    """Slow links are as slow in the simulation as in the prediction, and go by their hosts' names."""
    argv = ["simulate", "pod.csv", "--to", "cpu", "--collective", "allgather"]
    faults = ["--slow", "ant,bee=1Gbps", "--slow", "bee,cat=1Gbps"]  # one alone would be avoided
    whole = facts(capsys, *argv)
    slow = facts(capsys, *argv, *faults)
    assert "bee" in slow["busiest_link"]
    assert slow["simulated_seconds"] > 10 * whole["simulated_seconds"]
    assert slow["simulated_seconds"] <= slow["predicted_seconds"] * 1.001
    assert f"busiest link    {' to '.join(slow['busiest_link'])}, " in run(capsys, *argv, *faults)[1]


def test_a_runtime_file_on_a_slow_fabric(capsys, here):
    assert run(capsys, "lower", "K_4", "--to", "msccl", "-o", "k4.xml")[0] == 0
    whole = facts(capsys, "simulate", "k4.xml", "--on", "K_4")
    slow = facts(capsys, "simulate", "k4.xml", "--on", "K_4", "--slow", "0,1=1Gbps")
    assert slow["simulated_seconds"] > whole["simulated_seconds"]
    code, _, err = run(capsys, "simulate", "k4.xml", "--slow", "0,1=1Gbps")
    assert (code, err) == (
        2,
        "linkstep: faults are those of a topology: name the one the file runs on with --on\n",
    )
    code, _, err = run(capsys, "simulate", "k4.xml", "--on", "K_4", "--cut", "0,1")
    assert (code, err.count("\n")) == (2, 1)
    assert "rank 0 sends to rank 1, which K_4, cut 0,1 does not join" in err


def test_synthesize_with_faults(capsys, here):
    code, out, err = run(capsys, "synthesize", "K_3", "--steps", "2", "--chunks", "1", "--cut", "0,1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["recipe"] == "K_3, cut 0,1"


def test_the_rate_of_links_with_a_rate_is_theirs(capsys, here):
    """Not that of --bandwidth, which is for links without."""
    (here / "slow.csv").write_text("tail,head,bandwidth\n0,1,1000000000\n1,0,1000000000\n")
    found = facts(capsys, "schedule", "slow.csv", "--collective", "allgather", "--alpha", "0us")
    assert found["seconds"] == pytest.approx(8e6 / 2 / 1e9)
    assert "links of up to 1Gbps" in run(capsys, "schedule", "slow.csv")[1]


BAD = [
    (["show", "K_4", "--cut", "0,9"], "linkstep: no host is called '9': hosts are the numbers 0 to 3\n"),
    (["show", "K_4", "--cut", "0"], "a cut cable is written A,B, or with oneway after the hosts, not '0'"),
    (["show", "K_4", "--slow", "0,1=10MB"], "bandwidth '10MB' is a size: write 10MB/s or 10Mbps"),
    (["show", "K_4", "--slow", "0,1=10"], "bandwidth '10' has no known unit"),
    (["schedule", "pod.csv", "--down", "rat"], "no host is called 'rat': did you mean 'cat'?"),
    (["schedule", "pod.csv", "--cut", "bee,dog"], "cut bee,dog: there is no cable between bee and dog"),
    (
        ["schedule", "BiRing(2,5)", "--cut", "0,1", "--cut", "2,3"],
        "disconnected: no path from node 0 to node 1 (cut 2,3)",
    ),
    (["schedule", "pod.csv", "--down", "ant", "--down", "cat"], "no path from bee to dog (down cat)"),
    (["schedule", "pod.csv", "--down", "ant", "--down", "0"], "down 0: that host is down already"),
    (["wire", "K_3", "--names", "a,b"], "--names must name all 3 hosts, not 2: 'a,b'"),
    (
        ["wire", "K_3", "--names", "hosts.txt"],
        "--names must name all 3 hosts, not 1: 'hosts.txt', and there is no such",
    ),
    (["wire", "K_3", "--names", "a,b,a"], "two hosts are called 'a': labels must be different"),
    (["convert", "K_3", "x.csv", "--names", "a,b,\x1b[0m"], "the label of node 2 must be one line of printable text"),
    (["wire", "K_3", "--names", "."], "cannot be read as a list of names"),
]


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[" ".join(argv) for argv, _ in BAD])
def test_bad_faults_are_one_line_and_code_2(capsys, here, argv, message):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("linkstep: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("command", ["show", "wire", "convert", "schedule", "simulate", "synthesize"])
def test_a_schedule_is_for_its_own_topology(capsys, here, command):
    assert run(capsys, "schedule", "K_4", "-o", "s.npz")[0] == 0
    needed = {"convert": ["out.npz"], "synthesize": ["--steps", "1", "--chunks", "1"]}
    code, _, err = run(capsys, command, "s.npz", *needed.get(command, []), "--cut", "0,1")
    assert (code, err) == (
        2,
        "linkstep: s.npz holds a schedule, which is for its own topology: give faults with a recipe or a topology\n",
    )

"""``linkstep baselines``: the list, a schedule that other commands take, and refusals of one line."""

import json
import re

import pytest

import linkstep
from linkstep.cli import main
from linkstep.costs import Fabric, cost_of, save_fabric

LIST = """\
8 servers with 3 ports each, duplex cables; alpha 10us a hop, 100Gbps a server
An allreduce of M bytes takes steps x alpha + T_B x M/B, B the rate of a server

wiring               schedule            allreduce 1MB  steps      T_B
Torus(2,4)           torus-rings                 320us      8   3.0000
                     swing                       270us      6   2.6250
                     bruck                       960us     12  10.5000  multihop
                     our schedule (bfb)          200us      6   1.7500
Q(3)                 recursive-doubling          480us      6   5.2500
                     nccl-ring                   560us     14   5.2500
                     our schedule (bfb)          200us      6   1.7500
TwistedHypercube(3)  recursive-doubling          560us      8   6.0000  multihop
                     nccl-ring                   560us     14   5.2500
                     our schedule (bfb)          180us      4   1.7500
no wiring beats                                  180us      4   1.7500

next: linkstep baselines 8 3 --on 'Torus(2,4)' --schedule torus-rings -o ar.npz
"""


def run(capsys, *argv):
    code = main(["baselines", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list(capsys):
    assert run(capsys, "8", "3") == (0, LIST, "")


LIMITED = """\
144 servers with 4 ports each, duplex cables; alpha 10us a hop, 100Gbps a
server, at most 60Gbps together
An allreduce of M bytes takes steps x alpha + T_B x M/B, B the rate of a server

wiring           schedule            allreduce 1MB  steps      T_B
Torus(9,16)      torus-rings             <=841.5us     46   2.8611
                 bruck                   <=4.407ms     54  29.0000  multihop
                 our schedule (bfb)        504.8us     24   1.9861
no wiring beats                            344.8us      8   1.9861
<=: at most, as if every port ran slower by what its host lacks

next: linkstep baselines 144 4 --on 'Torus(9,16)' --schedule torus-rings -o ar.npz
"""


def test_times_at_most_are_marked(capsys):
    words = ("--host-bandwidth", "60Gbps", "--on", "Torus(9,16)")
    assert run(capsys, "144", "4", *words) == (0, LIMITED, "")
    _, out, _ = run(capsys, "144", "4", *words, "--json")
    rows = json.loads(out)["baselines"]
    assert [(row["allreduce_at_most"], row["our_allreduce_at_most"]) for row in rows] == [(True, False)] * 2
    _, out, _ = run(capsys, "64", "4", "--host-bandwidth", "60Gbps", "--on", "Torus(8,8)")
    assert "<=" not in out


def test_cutting_through(capsys):
    _, out, _ = run(capsys, "8", "3", "--on", "TwistedHypercube(3)", "--cut-through", "--json")
    facts = json.loads(out)
    assert facts["cut_through"] and [row["schedule"] for row in facts["baselines"]] == [
        "recursive-doubling",
        "nccl-ring",
    ]
    assert (facts["baselines"][0]["steps"], facts["baselines"][0]["t_b"]) == (6, "6")
    assert facts["baselines"][0]["several_hops"]
    _, out, _ = run(capsys, "8", "3", "--cut-through")
    assert out.startswith("8 servers with 3 ports each, duplex cables; alpha 10us a message, 100Gbps a\nserver\n")


def test_one_way_fibres_are_asked_for(capsys):
    """The bound is that of the kind; `find` says the same. A schedule or a wiring may be named without the option."""
    duplex, directed = run(capsys, "64", "4")[1], run(capsys, "64", "4", "--directed")[1]
    assert "UniRing" not in duplex and "UniRing(4,64)" in directed and "one-way fibres" in directed
    assert re.search(r"^no wiring beats +237.5us ", duplex, re.M)
    for words, kind, bound in ((("64", "4"), "duplex", 8), (("64", "4", "--directed"), "directed", 6)):
        facts = json.loads(run(capsys, *words, "--json")[1])
        assert (facts["kind"], facts["bounds"]["steps"]) == (kind, bound)
        assert main(["find", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["bounds"]["steps"] == bound
    facts = json.loads(run(capsys, "64", "4", "--on", "UniRing(4,64)", "--json")[1])
    assert (facts["kind"], facts["bounds"]["steps"]) == ("directed", 6)
    assert run(capsys, "8", "1")[1].startswith(
        "no baseline has 8 servers with 1 port each and duplex cables: --directed"
    )
    assert run(capsys, "8", "1", "--schedule", "ring")[0] == 0


def test_what_cuts_through_has_a_bound_of_its_own(capsys):
    """5^3 >= 64 > 5^2: from d ports and from itself a node can have heard of that many in three and in two steps."""
    bounds = json.loads(run(capsys, "64", "4", "--cut-through", "--json")[1])["bounds"]
    assert bounds["steps"] == 2 * 3
    facts = json.loads(run(capsys, "125", "4", "--cut-through", "--json")[1])
    assert facts["bounds"]["steps"] == 2 * 3  # fewer than the Moore bound of one-way fibres, 2 * 4
    assert all(row["steps"] >= 6 for row in facts["baselines"])


def test_a_schedule_is_saved_and_checked(capsys, tmp_path, monkeypatch):
    file = str(tmp_path / "s.npz")
    code, out, err = run(capsys, "16", "4", "--on", "Torus(4,4)", "--schedule", "swing", "-o", file)
    assert (code, err) == (0, "")
    assert out == (
        "Torus(4,4): allreduce by Swing, checked\n"
        "  what            halving and doubling with partners that stay close, on all\n"
        "                  ports\n"
        "  T_L             8 steps\n"
        "  T_B             15/8 = 1.8750 M/B\n"
        "  time for 1MB    230us\n"
        "  chunks a shard  4\n"
        "  rows            1920\n"
        f"saved to {file}\n"
    )
    monkeypatch.setenv("COLUMNS", "400")  # wherever the file is
    assert main(["check", file]) == 0 and "valid allreduce on Torus(4,4), N=16" in capsys.readouterr().out


def test_depth_follows_the_size(capsys, tmp_path):
    file = str(tmp_path / "s.npz")
    args = ["12", "4", "--schedule", "double-binary-tree", "--size", "1KB", "-o", file]
    _, out, _ = run(capsys, *args)
    assert "  pipeline        1 piece through roots, the best for 1KB\n" in out
    assert cost_of(linkstep.load(file)).steps == 8
    _, out, _ = run(capsys, *args, "--size", "1MB")
    assert "  pipeline        depth 6, the best for 1MB\n" in out
    _, out, _ = run(capsys, *args, "--size", "1GB", "--json")
    facts = json.loads(out)
    assert (facts["depth"], facts["through_roots"], facts["steps"]) == (335, True, 342)
    _, out, _ = run(capsys, *args, "--size", "1GB", "--collective", "allgather", "--json")
    facts = json.loads(out)
    assert (facts["depth"], facts["through_roots"], facts["steps"]) == (6, False, 6)


def test_halves_that_differ(capsys):
    """Through roots, the first half lasts until the last piece is at its root."""
    _, out, _ = run(capsys, "12", "4", "--on", "DoubleBinaryTree(12)", "--size", "1GB")
    row = next(line for line in out.splitlines() if "double-binary-tree" in line)
    assert row.split()[3:5] == ["342", "2.0418"] and row.endswith("  335")
    _, out, _ = run(capsys, "12", "4", "--on", "DoubleBinaryTree(12)", "--size", "1GB", "--json")
    row = next(row for row in json.loads(out)["baselines"] if row["schedule"] == "double-binary-tree")
    assert (row["steps"], row["reduce_scatter_steps"], row["allgather_steps"]) == (342, 338, 4)


def test_reductions_leave_repeats_out_and_say_so(capsys):
    _, out, _ = run(capsys, "12", "4", "--on", "ShiftedRing(4,12)", "--schedule", "bruck")
    assert "  as listed       14 = 14.0000 M/B: nodes are sent what they passed on before\n" in out
    _, out, _ = run(capsys, "12", "4", "--on", "ShiftedRing(4,12)", "--schedule", "bruck", "--collective", "allgather")
    assert "as listed" not in out and "  T_B             7 = 7.0000 M/B\n" in out


def test_nothing_there(capsys):
    assert run(capsys, "7", "5", "--on", "K_7") == (2, "", "linkstep: --on K_7 has N=7, d=6, not N=7, d=5\n")
    assert run(capsys, "7", "6", "--on", "K_7")[1] == "no baseline has 7 servers with 6 ports each on K_7\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("1", "4"), "nodes must lie in [2, 10000000], not 1"),
        (("8", "65"), "degree must lie in [1, 64], not 65"),
        (("8", "3", "--size", "0B"), "--size must be positive, not 0B"),
        (("8", "3", "-o", "x.npz"), "--output is of one schedule: say which with --schedule NAME"),
        (("8", "3", "--collective", "reduce"), "--collective is of one schedule: say which with --schedule NAME"),
        (
            ("12", "4", "--schedule", "torus-rings"),
            "--schedule torus-rings runs on 2 wirings: say --on which of 'Torus(2,2,3)', 'Torus(3,4)'",
        ),
        (
            ("7", "1", "--schedule", "swing"),
            "--schedule swing has no wiring of 7 servers with 1 ports; those that do: ring",
        ),
        (
            ("8", "3", "--schedule", "swing", "--cut-through"),
            "a schedule stores and forwards: --cut-through is for the list of costs only",
        ),
        (("16", "4", "--on", "Torus(4,4)", "--schedule", "ring"),
         "no baseline called 'ring' runs on Torus(4,4); those that do: torus-rings, swing, bruck"),
        (("8", "3", "--schedule", "ring", "--collective", "all-to-all"),
         "ring makes no all-to-all: it gathers and reduces"),
    ],
    ids=["nodes", "degree", "size", "output", "collective", "wirings", "no-wiring", "cut-through", "on", "all-to-all"],
)  # fmt: skip
def test_refusals(capsys, argv, message):
    assert run(capsys, *argv) == (2, "", f"linkstep: {message}\n")


def test_show_compares_with_what_is_run_today(capsys):
    assert main(["show", "Torus(8,4)"]) == 0
    out = capsys.readouterr().out
    assert "  today: torus rings   435us, 20 steps, 2.9375 M/B\n" in out
    assert "  today: Swing         320us, 14 steps, 2.2500 M/B\n" in out
    assert main(["show", "K_5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baselines"] == []


def test_all_that_a_fabric_says_is_printed(tmp_path, capsys):
    """What messages, hops, switches and sums take; a table of costs says which messages it counts."""
    path = tmp_path / "fabric.json"
    fabric = Fabric.of(
        "5us", "200Gbps", 4, message="1us", hop="200ns", switching="10ms", reduction_bandwidth="400Gbps"
    )  # fmt: skip
    save_fabric(fabric, path)
    words = "200Gbps a server, 1us a message, 200ns a hop passed through, 10ms to switch links, sums at 400Gbps"
    for command in ("find", "baselines"):
        assert main([command, "16", "4", "--fabric", str(path)]) == 0
        out = capsys.readouterr().out
        assert words in " ".join(out.splitlines()[:3])
        assert "times count one message a link and step" in out
    assert main(["schedule", "Torus(4,4)", "--fabric", str(path)]) == 0
    assert words in " ".join(capsys.readouterr().out.split())

    for command in (["find", "16", "4"], ["simulate", "K_4", "--to", "cpu"]):
        assert main([*command, "--fabric", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [found[f"{name}_seconds"] for name in ("message", "hop", "switching")] == [1e-6, 200e-9, 0.01]
        assert found["reduction_bandwidth"] == 400 * 10**9
        assert "host_bandwidth" not in found

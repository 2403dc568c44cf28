"""``linkstep baselines``: the list, a schedule that other commands take, and refusals of one line."""

import json

import pytest

import linkstep
from linkstep.cli import main
from linkstep.costs import Fabric, cost_of, save_fabric

LIST = """\
8 servers, 3 ports each; alpha 10us a hop, 100Gbps a server
T_L in steps (times alpha), T_B in M/B, of each half of an allreduce

wiring               schedule            T_L     T_B  allreduce 1MB  bound
UniRing(3,8)         ring                  7  0.8750          280us  1.56x
                     our schedule (bfb)    7  0.8750          280us  1.56x
Torus(2,4)           torus-rings           4  1.5000          320us  1.78x
                     swing                 3  1.3125          270us  1.50x
                     bruck                 6  5.2500          960us  5.33x  several hops
                     our schedule (bfb)    3  0.8750          200us  1.11x
Q(3)                 recursive-doubling    3  2.6250          480us  2.67x
                     nccl-ring             7  2.6250          560us  3.11x
                     our schedule (bfb)    3  0.8750          200us  1.11x
TwistedHypercube(3)  recursive-doubling    4  3.0000          560us  3.11x  several hops
                     nccl-ring             7  2.6250          560us  3.11x
                     our schedule (bfb)    2  0.8750          180us  1.00x
no graph beats                             2  0.8750          180us  1.00x

next: linkstep baselines 8 3 --on 'UniRing(3,8)' --schedule ring -o allreduce.npz
"""


def run(capsys, *argv):
    code = main(["baselines", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list(capsys):
    assert run(capsys, "8", "3") == (0, LIST, "")


LIMITED = """\
144 servers, 4 ports each; alpha 10us a hop, 100Gbps a server, at most 60Gbps together
T_L in steps (times alpha), T_B in M/B, of each half of an allreduce

wiring          schedule            T_L      T_B  allreduce 1MB   bound
Torus(9,16)     torus-rings          23   1.4306      <=841.5us   2.44x
                bruck                27  14.5000      <=4.407ms  12.78x  several hops
                our schedule (bfb)   12   0.9931        504.8us   1.46x
no graph beats                        4   0.9931        344.8us   1.00x
<=: at most, as if every port ran slower by what its host lacks

next: linkstep baselines 144 4 --on 'Torus(9,16)' --schedule torus-rings -o allreduce.npz
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
    assert (facts["baselines"][0]["steps"], facts["baselines"][0]["bandwidth"]) == (3, "3")
    assert facts["baselines"][0]["several_hops"]
    _, out, _ = run(capsys, "8", "3", "--cut-through")
    assert out.startswith("8 servers, 3 ports each; alpha 10us a message, 100Gbps a server\n")


def test_a_schedule_is_saved_and_checked(capsys, tmp_path):
    file = str(tmp_path / "s.npz")
    code, out, err = run(capsys, "16", "4", "--on", "Torus(4,4)", "--schedule", "swing", "-o", file)
    assert (code, err) == (0, "")
    assert out == (
        "Torus(4,4): allreduce by Swing, checked\n"
        "  what            halving and doubling with partners that stay close, on all ports\n"
        "  T_L             8 steps\n"
        "  T_B             15/8 = 1.8750 M/B\n"
        "  time for 1MB    230us\n"
        "  chunks a shard  4\n"
        "  rows            1920\n"
        f"saved to {file}\n"
    )
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
    assert "of each half of an allreduce (first + second if they differ)\n" in out
    row = next(line for line in out.splitlines() if "double-binary-tree" in line)
    assert row.split()[2:4] == ["338+4", "2.0179+0.0239"] and row.endswith("335 pieces through roots")


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
    assert "  today: torus rings           10 steps, 1.4688 M/B each half; allreduce 435us\n" in out
    assert "  today: Swing                 7 steps, 1.1250 M/B each half; allreduce 320us\n" in out
    assert main(["show", "K_5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baselines"] == []


def test_all_that_a_fabric_says_is_printed(tmp_path, capsys):
    """What messages, hops, switches and sums take; a table of costs says which messages it counts."""
    path = tmp_path / "fabric.json"
    fabric = Fabric.of(
        "5us", "200Gbps", 4, message="1us", hop="200ns", switching="10ms", reduction_bandwidth="400Gbps"
    )  # fmt: skip
    save_fabric(fabric, path)
    words = "200Gbps a {}, 1us a message, 200ns a hop passed through, 10ms to switch links, sums at 400Gbps"
    for command in ("find", "baselines"):
        assert main([command, "16", "4", "--fabric", str(path)]) == 0
        out = capsys.readouterr().out
        assert words.format("server") in out.splitlines()[0]
        assert "times count one message a link and step" in out
    assert main(["schedule", "Torus(4,4)", "--fabric", str(path)]) == 0
    assert words.format("node") in capsys.readouterr().out

    for command in (["find", "16", "4"], ["simulate", "K_4", "--to", "cpu"]):
        assert main([*command, "--fabric", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [found[name] for name in ("message", "hop", "switching", "reduction_bandwidth")] == [
            "1us", "200ns", "10ms", "400Gbps",
        ]  # fmt: skip
        assert "host_bandwidth" not in found

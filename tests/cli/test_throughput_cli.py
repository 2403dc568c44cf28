"""``linkstep throughput``: what it prints, and what it refuses in one line."""

import json
from fractions import Fraction

import pytest

from linkstep.cli import main

pytestmark = pytest.mark.usefixtures("wide")


def run(capsys, *argv):
    code = main(["throughput", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_an_exact_answer(capsys):
    code, out, err = run(capsys, "Torus(8,8)", "--size", "64MB")
    assert (code, err) == (0, "")
    assert out == (
        "Torus(8,8)\n"
        "  servers N               64\n"
        "  ports d                 4\n"
        "  all-to-all              24.6Gbps a server, to all others at once\n"
        "    time for 64MB a host  20.48ms (alpha 10us, 100Gbps a server)\n"
        "  throughput f            0.015625 exactly (1/64)\n"
        "    by distances at most  0.015625\n"
        "    by cuts at most       0.015625\n"
        "    any topology at most  0.0242424\n"
        "    found by              mixtures of cheapest routes, in fractions\n"
        "  what f is               the part of a link's rate that every host can send to every other, all at once\n"
    )


@pytest.mark.slow
def test_an_interval(capsys):
    code, out, _ = run(capsys, "Pi_{4,33}", "--seconds", "1ms", "--gap", "5%")
    assert code == 0
    assert "  proven to be at most" in out and "and no schedule takes less than" in out


def test_json_with_faults(capsys):
    _, out, _ = run(capsys, "Torus(3,3)", "--slow", "0,1=10Gbps", "--json")
    facts = json.loads(out)
    assert facts["faults"] == ["slow 0,1=10Gbps"] and facts["all_to_all_exact"]
    assert Fraction(facts["all_to_all"]) == Fraction(3, 10) == Fraction(facts["all_to_all_bound"])
    assert facts["all_to_all_seconds"] == pytest.approx(8e6 / 9 / (0.3 * 25e9))
    assert facts["pair_bandwidth"] == 0.3 * 25e9 and facts["all_to_all_bandwidth"] == 8 * facts["pair_bandwidth"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["K_5", "--gap", "x"], "a gap is written 1% or 0.01, not 'x'"),
        (["K_5", "--gap", "1e999999999"], "a gap is written 1% or 0.01, not '1e999999999'"),
        (["K_5", "--gap", "200%"], "gap must lie in [0, 1), not 2"),
        (["K_5", "--seconds", "soon"], "soon"),
        (["K_5", "--size", "much"], "much"),
        (["UniRing(1,4)", "--cut", "0,1"], "the topology is disconnected: no path from node 0 to node 1 (cut 0,1)"),
    ],
)
def test_refusals(capsys, argv, message):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1

"""Fits: exact times give the fabric back, noise moves it little, and what rows cannot tell is said."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.baselines import baseline
from linkstep.core.errors import FileError, LinkstepError
from linkstep.costs import Cost, Fabric, fit, load_runs
from linkstep.costs.fitting import _solved
from support.runs import ALLREDUCES, document, documents, run_of

FABRIC = Fabric.of("350us", "197Mbps", 4, overhead="120us")


def runs(found, tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(found))
    return load_runs(path)


def test_exact_times_give_the_fabric_back(tmp_path):
    found = fit(runs(documents(FABRIC), tmp_path))
    assert (found.fabric, found.notes) == (FABRIC, ())
    assert found.max_error < 1e-9
    assert len(found.points) == 9
    assert repr(found) == "<Fit to 9 times: average error 0.00%, at most 0.00%>"


@settings(max_examples=30)
@given(st.integers(0, 999_999), st.integers(0, 999_999), st.integers(1, 999_999), st.integers(1, 8), st.integers(0, 3))
def test_any_exact_times_give_the_fabric_back(tmp_path_factory, alpha, overhead, rate, degree, scale):
    """Six digits of each value, from nanoseconds to seconds."""
    fabric = Fabric(Fraction(alpha, 10**9), Fraction(rate * 10**3), degree, overhead=Fraction(overhead, 10**9))
    sizes = [1, 1000 * 10**scale, 10**7]
    found = fit(runs(documents(fabric, sizes=sizes), tmp_path_factory.getbasetemp()))
    assert float(found.fabric.node_bandwidth) == pytest.approx(float(fabric.node_bandwidth), rel=1e-5)
    assert found.max_error < 1e-5
    for point in found.points:
        assert found.seconds(point) == pytest.approx(point.seconds, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_noise_moves_the_fabric_little(tmp_path, seed):
    found = fit(runs(documents(FABRIC, noise=0.02, seed=seed), tmp_path))
    assert float(found.fabric.node_bandwidth / FABRIC.node_bandwidth) == pytest.approx(1, abs=0.03)
    assert float(found.fabric.alpha / FABRIC.alpha) == pytest.approx(1, abs=0.06)
    assert 0 < found.mean_error <= found.max_error < 0.04


def test_the_fit_of_the_paper(tmp_path):
    """fig:latencyfit and fig:betafit: alpha 13.33 us, epsilon 21.60 us, 1/B 1.018e-4 us a byte or 79 Gbps."""
    rate = 1 / (Fraction("1.018e-4") / 10**6 / 8)
    fabric = Fabric.of("13.33us", rate, 4, overhead="21.60us")
    assert round(rate / 10**9) == 79
    rings = {f"ShiftedRing(4,{n})": Cost(2 * (n - 1), 2 * Fraction(n - 1, n)) for n in range(5, 13)}
    rings |= {f"ShiftedBFBRing {n}": Cost(2 * (n // 2), 2 * Fraction(n - 1, n)) for n in range(5, 13)}
    made = [document(fabric, what, cost, (1000, 10**9), noise=0.0171) for what, cost in rings.items()]
    found = fit(runs(made, tmp_path)).fabric
    assert float(found.alpha) == pytest.approx(13.33e-6, rel=0.03)
    assert float(found.overhead) == pytest.approx(21.6e-6, rel=0.1)
    assert float(found.node_bandwidth) == pytest.approx(78.6e9, rel=0.01)
    made = [document(fabric, what, cost, (1000, 10**9)) for what, cost in rings.items()]
    assert fit(runs(made, tmp_path)).fabric == replace(fabric, node_bandwidth=Fraction(f"{float(rate):.6g}"))


def test_links_have_one_rate_whatever_the_ports(tmp_path):
    narrow = FABRIC.with_degree(2)
    made = [
        document(FABRIC, "K_{4,4}", ALLREDUCES["K_{4,4}"]),
        document(narrow, "BiRing(2,8)", Cost(8, Fraction(7, 4))),
    ]
    assert fit(runs(made, tmp_path)).fabric == FABRIC


def test_one_topology_does_not_tell_the_overhead_from_alpha(tmp_path):
    found = fit(runs(document(FABRIC, "K_{4,4}", ALLREDUCES["K_{4,4}"]), tmp_path))
    assert found.fabric == replace(FABRIC, alpha=FABRIC.alpha + FABRIC.overhead / 4, overhead=Fraction(0))
    assert found.notes == (
        "all runs take 4 steps, which does not tell the overhead of a call from alpha: it is taken as 0",
    )
    two = [document(FABRIC, *pair, sizes=[size]) for pair, size in zip(ALLREDUCES.items(), (1024, 10**6), strict=False)]
    assert fit(runs(two, tmp_path)).notes[0].startswith("the rows are too few, which does not tell")


def test_no_part_is_negative(tmp_path):
    """Times that fall with the steps would give a negative alpha: the best fit without one is at alpha = 0."""
    made = [document(FABRIC, what, Cost(20 - c.steps, c.bandwidth)) for what, c in ALLREDUCES.items()]
    for run, cost in zip(made, ALLREDUCES.values(), strict=True):
        run["steps"] = cost.steps
    found = fit(runs(made, tmp_path))
    assert found.fabric.alpha == 0
    assert found.fabric.overhead > 0
    columns, chosen = [0, 1, 2], found.points
    values = _solved([point.columns for point in chosen], chosen, columns)
    table = np.array([[float(x) / p.seconds for x in p.columns] for p in chosen])
    least = np.linalg.norm(table @ values - 1)
    rng = np.random.default_rng(0)
    scale = 1 / np.linalg.norm(table, axis=0)
    for _ in range(300):
        near = np.maximum(values + rng.normal(size=3) * scale * 0.1, 0)
        assert np.linalg.norm(table @ near - 1) >= least - 1e-12


# A limit of hosts

TORI = ("Torus(3,3,2)", "Torus(3,3)", "Torus(4,4,3)")


def measured(fabric, **how):
    """Return runs on tori, by BFB and by rings, as if on this fabric."""
    schedules = [linkstep.schedule(torus, "allreduce", method="bfb").schedule for torus in TORI]
    schedules += [baseline("torus rings", torus).schedule("allreduce") for torus in TORI]
    return [run_of(fabric, made, sizes=(10**4, 10**6, 10**8), **how) for made in schedules]


@pytest.mark.parametrize("host", ["100Gbps", "61Gbps", "126Gbps"])
def test_a_limit_of_hosts_is_found(tmp_path, host):
    """Of 25 Gbps a port and four to six ports; with rings some steps wait for links, with BFB for hosts."""
    fabric = Fabric.of("10us", "150Gbps", 6, overhead="20us", host_bandwidth=host)
    found = fit(runs(measured(fabric), tmp_path))
    assert found.fabric == fabric
    assert found.max_error < 1e-6
    assert "a limit of theirs explains the times better than links alone" in found.notes[0]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_a_limit_is_found_in_noise_and_none_where_there_is_none(tmp_path, seed):
    fabric = Fabric.of("10us", "150Gbps", 6, overhead="20us", host_bandwidth="80Gbps")
    found = fit(runs(measured(fabric, noise=0.02, seed=seed), tmp_path)).fabric
    assert float(found.host_bandwidth) == pytest.approx(80e9, rel=0.03)
    assert float(found.node_bandwidth) == pytest.approx(150e9, rel=0.05)
    free = replace(fabric, host_bandwidth=None)
    assert fit(runs(measured(free, noise=0.02, seed=seed), tmp_path)).fabric.host_bandwidth is None


def test_where_all_steps_wait_for_hosts_links_are_said_to_be_unknown(tmp_path):
    """Hosts of 10 Gbps and ports of 25: what a port does is not seen, whatever the schedule."""
    fabric = Fabric.of("10us", "150Gbps", 6, host_bandwidth="10Gbps")
    found = fit(runs(measured(fabric), tmp_path))
    assert found.fabric.host_bandwidth == fabric.host_bandwidth
    assert found.notes[-1].endswith("and links may be faster than they are said to be")


def loads_of(steps, link, host):
    return [{"steps": steps, "link_load": link, "host_load": host}]


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (7, "step_loads must be a list of objects with steps, link_load, host_load, not 7"),
        ([{"steps": 1, "link_load": "1/4"}], "step_loads must be a list of objects with"),
        (loads_of(0, "1/4", "1/2"), "steps must be an integer in [1, 1000000000], not 0"),
        (loads_of(1, "1/2", "1/4"), "step_loads must be parts of M, a host's no less than a link's"),
        (loads_of(1, 0.5, "1"), "link_load must be one line of text, not 0.5"),
    ],
)
def test_loads_that_are_none(tmp_path, loads, message):
    with pytest.raises(FileError) as caught:
        runs(document(FABRIC, "K_4", Cost(2, Fraction(3, 2)), step_loads=loads), tmp_path)
    assert message in str(caught.value)


def test_wrong_and_unknown_rows_are_left_out_with_a_word(tmp_path):
    made = documents(FABRIC)
    made[0]["rows"][1] |= {"wrong": 3, "median_seconds": 99.0}
    made.append(document(FABRIC, "theirs.xml", Cost(4, Fraction(1)), steps=None, t_b=None))
    found = fit(runs(made, tmp_path))
    assert found.fabric == FABRIC
    assert found.notes == (
        "left out, as results were wrong: K_{4,4} at 65536 bytes",
        "left out, as T_L or T_B is not known: theirs.xml",
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([], "there are no runs to fit: give files that `linkstep run --json` wrote"),
        ([document(FABRIC, "K_5", Cost(2, Fraction(8, 5)), sizes=[])], "there are no rows to fit"),
        (
            [document(FABRIC, "K_5", Cost(2, Fraction(8, 5)), t_b=None)],
            "there are no rows to fit; left out, as T_L or T_B is not known: K_5",
        ),
        (
            [*documents(FABRIC), document(FABRIC, "K_5", Cost(2, Fraction(8, 5)), engine="torch")],
            "runs of different engines have no alpha in common: fit mpi and torch apart",
        ),
        (
            [*documents(FABRIC), document(FABRIC, "K_5", Cost(2, Fraction(8, 5)), testbed="t")],
            "runs in a testbed and outside have no wires in common: fit them apart",
        ),
        (
            [document(FABRIC, "K_5", Cost(2, Fraction(8, 5)), sizes=[1000])],
            "the rows do not tell the bandwidth from the latency: measure several sizes",
        ),
    ],
)
def test_what_cannot_be_fitted(tmp_path, made, message):
    with pytest.raises(LinkstepError) as caught:
        fit(runs(made, tmp_path))
    assert str(caught.value) == message


def test_times_that_do_not_grow(tmp_path):
    made = documents(FABRIC, sizes=[1, 2, 4])
    for run in made:
        for row, time in zip(run["rows"], (3e-3, 2e-3, 1e-3), strict=True):
            row["median_seconds"] = time
    with pytest.raises(LinkstepError, match=r"^times do not grow with the size, so that no bandwidth can be fitted"):
        fit(runs(made, tmp_path))


@pytest.mark.parametrize(
    ("members", "row", "message"),
    [
        ({"rows": None}, {}, "rows must be a list of objects, one for each size, not None"),
        ({"rows": [1]}, {}, "rows must be a list of objects, one for each size, not [1]"),
        ({"collective": "gossip"}, {}, "collective must be one of "),
        ({"engine": 1}, {}, "engine must be one line of text, not 1"),
        ({"what": "a\x1b"}, {}, "what must be one line of text, not 'a\\x1b'"),
        ({"degree": 0}, {}, "degree must be an integer in [1, 1000000], not 0"),
        ({"steps": -1}, {}, "steps must be an integer in [1, 1000000000], not -1"),
        ({"t_b": "0"}, {}, "t_b, T_B in M/B, must lie in [1e-9, 1e9], not '0'"),
        ({"t_b": "x"}, {}, "t_b must be a fraction such as 7/8, not 'x'"),
        ({"t_b": 1.75}, {}, "t_b must be one line of text, not 1.75"),
        ({}, {"median_seconds": -1.0}, "median_seconds must be seconds, from 1e-12 to 1e+09, not -1.0"),
        ({}, {"median_seconds": 0}, "median_seconds must be seconds, from 1e-12 to 1e+09, not 0"),
        ({}, {"median_seconds": True}, "median_seconds must be seconds, from 1e-12 to 1e+09, not True"),
        ({}, {"size": 1.5}, "size must be an integer in [1, 4611686018427387904], not 1.5"),
        ({}, {"wrong": None}, "wrong must be an integer in [0, 4611686018427387904], not None"),
    ],
)
def test_bad_runs_are_refused_in_one_line(tmp_path, members, row, message):
    made = document(FABRIC, "K_5", Cost(2, Fraction(8, 5))) | members
    if row:
        made["rows"][0] |= row
    with pytest.raises(FileError) as caught:
        runs(made, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'runs.json'}: {message}")
    assert "\n" not in str(caught.value)


def test_not_a_number_is_refused(tmp_path):
    text = json.dumps(document(FABRIC, "K_5", Cost(2, Fraction(8, 5)))).replace('"wrong": 0', '"wrong": NaN', 1)
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(FileError, match="NaN is not a number"):
        load_runs(tmp_path / "r.json")

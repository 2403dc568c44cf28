"""Links with latencies of their own: every command and every function times them alike, with or without rates."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.cli import main
from linkstep.core.collective import Collective
from linkstep.core.topology import Topology
from linkstep.costs import Fabric, save_fabric, seconds_of, time_of
from linkstep.engines.bench.preparation import prepare
from linkstep.files import load
from linkstep.simulation import simulate_schedule

RING = Topology.from_links(3, [0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2], alpha=[50_000] * 6)


def said(capsys, *argv):
    assert main([*argv, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_links_with_an_alpha_alone(collective):
    """Each step takes the links' own alpha, and the fabric's rate: as the simulation of the file has it."""
    fabric = Fabric.of("10us", "100Gbps", 2, overhead="3us")
    made = linkstep.schedule(RING, collective).schedule
    cost = linkstep.cost_of(made)
    expected = Fraction(3, 10**6) + cost.steps * Fraction(50, 10**6) + cost.bandwidth * 8 * 10**6 / 10**11
    assert seconds_of(made, fabric, "1MB") == expected
    assert simulate_schedule(made, "msccl", fabric, "1MB").time == pytest.approx(float(expected))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10**5), min_size=6, max_size=6), st.sampled_from([None, "50Gbps"]))
def test_the_same_as_with_a_column_of_that_rate(alpha, reduction):
    rate = 50 * 10**9
    alone = Topology.from_links(3, RING.tail, RING.head, alpha=alpha)
    both = alone.with_bandwidth([rate] * 6)
    made = linkstep.schedule(alone, "allgather").schedule
    twin = linkstep.Schedule.from_columns(both, made.unit, made.source, made.lo, made.hi, made.link, made.step)
    fabric = Fabric.of("10us", 2 * rate, 2, reduction)
    assert seconds_of(made, fabric, "1MB") == seconds_of(twin, fabric, "1MB") == time_of(made, "1MB", bandwidth=rate)


def test_a_frontier_counts_the_links_own_latencies(capsys, tmp_path):
    """Each step at 50us as schedules on these links have it; where links differ, at the slowest: then it says so."""
    for alpha, file in (([50_000] * 6, "same.csv"), ([50_000, *[1000] * 5], "other.csv")):
        linkstep.save(Topology.from_links(3, RING.tail, RING.head, alpha=alpha), tmp_path / file)
    same, other = (said(capsys, "schedule", str(tmp_path / f), "--frontier") for f in ("same.csv", "other.csv"))
    assert same["points"][0]["seconds"] == other["points"][0]["seconds"] == pytest.approx(2 * 50e-6 + 4 / 3 * 80e-6)
    assert (same["seconds_at_most"], other["seconds_at_most"]) == (False, True)
    assert main(["schedule", str(tmp_path / "other.csv"), "--frontier"]) == 0
    assert "at most for 1MB" in capsys.readouterr().out


def test_commands_agree(capsys, tmp_path):
    """What schedule, check and show say is what is simulated: 50us a step, not the 10us of --alpha's default."""
    file, saved = str(tmp_path / "t.csv"), str(tmp_path / "s.npz")
    linkstep.save(RING, file)
    times = [said(capsys, "schedule", file, "-o", saved)["seconds"]]
    assert said(capsys, "schedule", file, "--size", "1MB")["seconds"] == times[0]
    times.append(said(capsys, "check", saved)["seconds"])
    times.append(said(capsys, "show", file)["bfb"]["allreduce_seconds"])
    times.append(said(capsys, "simulate", file)["simulated_seconds"])
    assert times == pytest.approx([2 * 50e-6 + 4 / 3 * 80e-6] * 4)
    assert main(["schedule", file]) == 0
    assert "alpha of each link, 100Gbps a server" in capsys.readouterr().out
    assert load(saved).topology == RING


def test_columns_with_units(tmp_path):
    plain, units = tmp_path / "plain.csv", tmp_path / "units.csv"
    plain.write_text("tail,head,bandwidth,alpha\n0,1,100000000000,50000\n1,0,1e10,2\n")
    units.write_text("tail,head,bandwidth,alpha\n0,1,100Gbps,50us\n1,0,1.25GB/s,0.002us\n")
    assert load(units) == load(plain)
    assert load(units).alpha.tolist() == [50_000, 2]
    assert load(units).bandwidth.tolist() == [10**11, 10**10]


def test_an_overhead_is_predicted_once(tmp_path):
    """Of a schedule's file and of a runtime's file alike."""
    made = linkstep.schedule("K_3", "allreduce").schedule
    fabric = Fabric.of("10us", "100Gbps", 2, overhead="1ms")
    linkstep.save(made, tmp_path / "s.npz")
    (tmp_path / "p.xml").write_text(linkstep.lower(made, "cpu").text)
    expected = float(fabric.time(linkstep.cost_of(made), "allreduce", 3000))
    for name in ("s.npz", "p.xml"):
        prepared = prepare(str(tmp_path / name), Collective.ALLREDUCE, [3000], 0)
        assert prepared.predict(prepared.sources[0], fabric, 3000) == pytest.approx(expected)


def test_an_overhead_is_simulated_once(capsys, tmp_path):
    file = str(tmp_path / "f.json")
    save_fabric(Fabric.of("10us", "100Gbps", 2, overhead="1ms"), file)
    found = said(capsys, "simulate", "K_3", "--fabric", file)
    assert found["simulated_seconds"] == pytest.approx(said(capsys, "schedule", "K_3", "--fabric", file)["seconds"])

"""Fabrics: the overhead of a call, wires that keep their rate, and files that are exact or refused in one line."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.baselines import double_tree_time
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.core.units import parse_bandwidth, parse_time, write_bandwidth, write_time
from linkstep.costs import Cost, Fabric, load_fabric, save_fabric, seconds_of
from linkstep.lowering import lower
from linkstep.methods.bfb import bfb_allgather
from linkstep.programs import read_program
from linkstep.simulation import simulate_program, simulate_schedule

PLAIN = Fabric.of("10us", "100Gbps", 4)
CALLED = Fabric.of("10us", "100Gbps", 4, overhead="21us")
CALL = Fraction(21, 10**6)
GOOD = {"format": "linkstep/fabric", "version": 2, "alpha": "12.3us", "node_bandwidth": "200Mbps", "degree": 4}
OLDER = {"format": "linkstep-fabric", "version": 1, "alpha": "12.3us", "bandwidth": "200Mbps", "degree": 4}

positive = st.fractions(min_value=Fraction(1, 10**15), max_value=10**15)


def test_a_call_takes_its_overhead_once():
    cost, schedule = Cost(4, Fraction(7, 4)), linkstep.schedule("K_{4,4}", "allreduce").schedule
    assert CALLED.time(cost, "allreduce", "1MB") == PLAIN.time(cost, "allreduce", "1MB") + CALL
    assert seconds_of(schedule, CALLED, "1MB") == seconds_of(schedule, PLAIN, "1MB") + CALL
    assert double_tree_time(CALLED, 8, "1MB") == double_tree_time(PLAIN, 8, "1MB") + CALL
    assert (PLAIN.overhead, CALLED.on(schedule.topology), CALLED.with_degree(4)) == (0, CALLED, CALLED)


def test_links_with_columns_of_their_own_have_the_overhead_too():
    ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], bandwidth=[10**9] * 3, alpha=[500] * 3)
    schedule = bfb_allgather(ring)
    assert seconds_of(schedule, CALLED, "1MB") == seconds_of(schedule, PLAIN, "1MB") + CALL


def test_what_is_simulated_begins_after_the_overhead():
    schedule = linkstep.schedule("K_4", "allreduce").schedule
    program, call = read_program(lower(schedule, "cpu").text), float(CALL)
    plain, called = (simulate_program(program, schedule.topology, fabric, "1MB") for fabric in (PLAIN, CALLED))
    assert called.time == pytest.approx(plain.time + call)
    assert called.start.min() == pytest.approx(call)
    assert simulate_schedule(schedule, "cpu", CALLED.with_degree(3), "1MB").loss == pytest.approx(0, abs=1e-9)


@given(st.integers(1, 64), st.integers(1, 64))
def test_wires_keep_their_rate_at_any_number_of_ports(degree, other):
    fabric = Fabric.of("1us", "100Gbps", degree, "50Gbps", "3us")
    turned = fabric.with_degree(other)
    assert (turned.link_bandwidth, turned.degree) == (fabric.link_bandwidth, other)
    assert turned.with_degree(degree) == fabric
    assert (turned.alpha, turned.gamma, turned.overhead) == (fabric.alpha, fabric.gamma, fabric.overhead)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0s"),
        (Fraction(1), "1s"),
        (Fraction(123, 10**7), "12.3us"),
        (Fraction(1, 10**12), "1ps"),
        (Fraction(1, 10**14), "0.01ps"),
        (Fraction(90), "90s"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 2**200), f"1/{2**200}"),
        (Fraction(10**41), f"{10**41}/1"),
    ],
)
def test_times_are_written_exactly(value, text):
    assert write_time(value) == text


@given(st.decimals(min_value="0.000001", max_value=10**9, places=6))
def test_written_quantities_read_back(number):
    value = Fraction(number)
    assert parse_time(write_time(value)) == value
    assert parse_bandwidth(write_bandwidth(value)) == value


@settings(max_examples=25)
@given(positive, positive, st.integers(1, 100), st.none() | positive, st.just(Fraction(0)) | positive)
def test_files_are_exact(tmp_path_factory, alpha, rate, degree, reduction, overhead):
    path = tmp_path_factory.getbasetemp() / "fabric.json"
    fabric = Fabric(alpha, rate, degree, reduction, overhead)
    save_fabric(fabric, path, {"why": "a test"})
    assert load_fabric(path) == fabric
    assert json.loads(path.read_text())["source"] == {"why": "a test"}


def test_files_written_by_hand(tmp_path):
    path = tmp_path / "f.json"
    path.write_text(json.dumps(GOOD))
    assert load_fabric(path) == Fabric.of("12.3us", "200Mbps", 4)
    more = {"alpha": "1/3", "node_bandwidth": "25MB/s", "overhead": 0, "reduction_bandwidth": "1Gbps"}
    path.write_text(json.dumps(GOOD | more))
    assert load_fabric(path) == Fabric.of(Fraction(1, 3), "200Mbps", 4, "1Gbps")


def test_files_of_version_1(tmp_path):
    """They call two members otherwise, and errors speak of these."""
    path = tmp_path / "f.json"
    path.write_text(json.dumps(OLDER | {"reduction": "1Gbps", "host_bandwidth": "100Mbps"}))
    assert load_fabric(path) == Fabric.of("12.3us", "200Mbps", 4, "1Gbps", host_bandwidth="100Mbps")
    for text, message in (
        (OLDER | {"bandwidth": None}, "has no 'bandwidth', which a fabric needs"),
        (OLDER | {"node_bandwidth": "1Gbps"}, "has 'node_bandwidth', which no fabric has: did you mean 'bandwidth'?"),
        (OLDER | {"version": 2}, "written by a newer linkstep (version 2)"),
    ):
        path.write_text(json.dumps(text))
        with pytest.raises(FileError) as caught:
            load_fabric(path)
        assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(GOOD | {"alpha": None}), ": has no 'alpha', which a fabric needs"),
        (json.dumps(GOOD | {"alpha": 1.5}), ": time must be text with a unit, such as 10us, or an int or a Fraction"),
        (json.dumps(GOOD | {"alpha": "1/0"}), ": time must be a number with a unit, such as 10us, not '1/0'"),
        (json.dumps(GOOD | {"alpha": [1]}), ": time must be text with a unit"),
        (json.dumps(GOOD | {"node_bandwidth": "-1Gbps"}), ": bandwidth must be a number with a unit"),
        (json.dumps(GOOD | {"node_bandwidth": "0bps"}), ": bandwidth must be positive, not 0"),
        (json.dumps(GOOD | {"overhead": "10"}), ": time '10' has no known unit"),
        (json.dumps(GOOD | {"degree": 0}), ": degree must be an integer in [1, 1000000], not 0"),
        (json.dumps(GOOD | {"degree": True}), ": degree must be an integer in [1, 1000000], not True"),
        (
            json.dumps(GOOD | {"bandwidth": "1Gbps"}),
            ": has 'bandwidth', which no fabric has: did you mean 'node_bandwidth'?",
        ),
        (json.dumps(GOOD | {"version": 3}), ": written by a newer linkstep (version 3); upgrade linkstep to read it"),
        (json.dumps(GOOD | {"version": "1"}), ": version must be a positive integer, not '1'"),
        (
            json.dumps(GOOD | {"format": "linkstep/run"}),
            " is a measured run, not a fabric file: `linkstep fit ",
        ),
        ("[]", ': is not a fabric file of linkstep ("format": "linkstep/fabric")'),
        ('{"alpha":\n', ":2: is truncated or not JSON"),
        ("\x00", ":1: is truncated or not JSON"),
        ("[" * 100_000, ": is nested too deeply"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "f.json"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        load_fabric(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match=r"f\.json: no such file$"):
        load_fabric(tmp_path / "f.json")
    with pytest.raises(FileError, match=r"is a directory, not a file$"):
        load_fabric(tmp_path)
    with pytest.raises(FileError, match=r"f\.csv: the name of a fabric file must end in \.json$"):
        save_fabric(PLAIN, tmp_path / "f.csv")
    with pytest.raises(FileError, match="there is no folder"):
        save_fabric(PLAIN, tmp_path / "none" / "f.json")
    assert not list(tmp_path.iterdir())

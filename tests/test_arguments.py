"""Public functions called with values of the wrong type: one short line, a LinkstepError, never anything else."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

import linkstep
from linkstep import Fabric, LinkstepError, Rule, Selector, Topology
from linkstep.core.distances import distance_counts, distance_profiles
from linkstep.engines.transports.arrays import kind_of
from linkstep.methods.subset import for_ranks
from linkstep.search.spot import Spot
from linkstep.timelines import export_timeline

TORUS = linkstep.parse("Torus(3,3)").topology()
TRIANGLE = linkstep.parse("K_3").topology()
REDUCED = linkstep.schedule("K_3", "allreduce").schedule
GATHERED = linkstep.schedule("K_3", "allgather").schedule
FABRIC = Fabric.of("10us", "100Gbps", 4)
LOWERED = linkstep.lower(REDUCED, "msccl")

WRONG = [
    "8", "", "x\n<", 8.5, -1, None, [], [1], {}, (), b"x", object, float("nan"), float("inf"), 1j, 10**400, 10**5000,
    Fraction(1, 2), np.float64(2.5), np.array([True, False]), np.array([1, 2]), np.array(3), np.bool_(True), TORUS,
    REDUCED, linkstep.parse("K_4"), "9" * 6000, "\ud800", "5%", "a\0b", set(), np.str_("K_4"),
    np.ma.array([1], mask=[1]),
]  # fmt: skip

CALLS = {
    "find": (linkstep.find, (5, 4)),
    "Spot": (Spot, (1.0, 0)),
    "schedule": (linkstep.schedule, ("K_3", "broadcast")),
    "lower": (linkstep.lower, (REDUCED, "msccl")),
    "simulate": (linkstep.simulate, (REDUCED, FABRIC, "1MB")),
    "verify": (linkstep.verify, (LOWERED.text,)),
    "read_program": (linkstep.read_program, (LOWERED.text,)),
    "step_bound": (linkstep.step_bound, (TRIANGLE, 2)),
    "wiring_bound": (linkstep.wiring_bound, (TRIANGLE,)),
    "all_to_all": (linkstep.all_to_all, (TRIANGLE,)),
    "bfb_allgather": (linkstep.bfb_allgather, (TRIANGLE,)),
    "bfb_cost": (linkstep.bfb_cost, (TRIANGLE,)),
    "bfb_certificate": (linkstep.bfb_certificate, (TRIANGLE,)),
    "check": (linkstep.check, (REDUCED,)),
    "check_allgather": (linkstep.check_allgather, (GATHERED,)),
    "check_allreduce": (linkstep.check_allreduce, (REDUCED,)),
    "check_broadcast": (linkstep.check_broadcast, (GATHERED,)),
    "check_reduce": (linkstep.check_reduce, (GATHERED,)),
    "check_reduce_scatter": (linkstep.check_reduce_scatter, (GATHERED,)),
    "check_all_to_all": (linkstep.check_all_to_all, (GATHERED,)),
    "describe": (linkstep.describe, ("K_4",)),
    "trade_off": (linkstep.trade_off, ("K_4",)),
    "cost_of": (linkstep.cost_of, (REDUCED,)),
    "time_of": (linkstep.time_of, (REDUCED, "1MB")),
    "wire": (linkstep.wire, (TRIANGLE,)),
    "fit": (linkstep.fit, ([],)),
    "load": (linkstep.load, ("nowhere.npz",)),
    "load_fabric": (linkstep.load_fabric, ("nowhere.json",)),
    "load_runs": (linkstep.load_runs, ("nowhere.json",)),
    "parse": (linkstep.parse, ("K_4",)),
    "Fabric.of": (Fabric.of, ("1us", "1Gbps", 2)),
    "Fabric.time": (FABRIC.time, (linkstep.cost_of(REDUCED), "allreduce", "1MB")),
    "from_links": (Topology.from_links, (3, [0, 1, 2], [1, 2, 0])),
    "with_labels": (TRIANGLE.with_labels, (["a", "b", "c"],)),
    "without_nodes": (TRIANGLE.without_nodes, ([0],)),
    "without_links": (TRIANGLE.without_links, ([0],)),
    "relabel": (TRIANGLE.relabel, ([2, 1, 0],)),
    "Rule": (Rule, ("allreduce", None, None, "K_4")),
    "Selector": (Selector, ((),)),
    "rule_for": (Selector((Rule("allreduce", None, None, "K_4"),)).rule_for, ("allreduce", 5)),
}
NEVER = {"progress", "watch", "price", "name", "folder", "tight"}
"""What is called or kept rather than read."""


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types_end_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    function, arguments = CALLS[name]
    refused = 0
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        for value in WRONG:
            by_place = list(arguments)
            by_name = {}
            if parameter.name in NEVER:
                continue
            if place < len(arguments):
                by_place[place] = value
            else:
                by_name = {parameter.name: value}
            try:
                function(*by_place, **by_name)
            except LinkstepError as error:
                assert len(str(error)) <= 280 and "\n" not in str(error)
                refused += 1
    assert refused >= 10
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linkstep.faults.Forward(3), "host must be a str, not 3"),
        (lambda: linkstep.faults.Down(None), "host must be a str, not None"),
        (lambda: linkstep.faults.ranks_left(TRIANGLE, None), "faults must be a tuple or a list, not None"),
        (
            lambda: linkstep.faults.apply(TRIANGLE, ["0"], Fraction(1)),
            "a fault must be a Down or a Forward or a Cut or a Slow, not '0'",
        ),
        (lambda: for_ranks("K_4", None), "schedule must be a Schedule, not 'K_4'"),
        (lambda: for_ranks(REDUCED, [0, 1]), "ranks must be a Ranks, not [0, 1]"),
        (lambda: export_timeline(REDUCED, "a.json"), "timeline must be a Timeline, not a Schedule"),
        (lambda: linkstep.find("8", 4), "the number of nodes must be an integer, not '8'"),
        (lambda: linkstep.find(8.5, 4), "the number of nodes must be an integer, not 8.5"),
        (lambda: linkstep.find(8, True), "the degree must be an integer, not True"),
        (lambda: linkstep.find(8, 4, bidirectional="no"), "bidirectional must be True or False, not 'no'"),
        (lambda: linkstep.find(8, 4, max_steps=2.5), "max_steps must be an integer, not 2.5"),
        (lambda: linkstep.step_bound(TRIANGLE, 2.5), "steps must be an integer, not 2.5"),
        (lambda: linkstep.schedule("K_4", "broadcast", root="0"), "root must be a node in [0, 4), not '0'"),
        (lambda: linkstep.schedule("K_4", "broadcast", root=True), "root must be a node in [0, 4), not True"),
        (lambda: linkstep.schedule(8.5), "topology must be a Topology or a Recipe or a str, not 8.5"),
        (lambda: linkstep.all_to_all(TRIANGLE, gap="5%"), "gap must be a number in [0, 1), such as 0.05, not '5%'"),
        (lambda: linkstep.all_to_all(TRIANGLE, seconds="1"), "seconds must be a number of seconds, not '1'"),
        (lambda: linkstep.load(5), "the name of a file must be text or a path, not 5"),
        (lambda: linkstep.check(TRIANGLE), "schedule must be a Schedule, not a Topology"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(LinkstepError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16])
def test_integers_of_numpy_are_integers(kind):
    assert linkstep.find(kind(5), kind(4), max_steps=kind(3)) == linkstep.find(5, 4, max_steps=3)
    assert type(linkstep.find(kind(5), kind(4)).num_nodes) is int
    made = linkstep.schedule("K_4", "broadcast", root=kind(2), chunks=kind(3), seed=kind(1))
    assert made == linkstep.schedule("K_4", "broadcast", root=2, chunks=3, seed=1)
    assert linkstep.step_bound(TRIANGLE, kind(2)).cost == linkstep.step_bound(TRIANGLE, 2).cost
    assert Fabric.of("1us", "1Gbps", kind(4)) == Fabric.of("1us", "1Gbps", 4)
    assert FABRIC.time(made.cost, "broadcast", kind(100)) == FABRIC.time(made.cost, "broadcast", 100)
    assert Topology.from_links(kind(3), [0, 1, 2], [1, 2, 0]).num_nodes == 3
    low = linkstep.lower(REDUCED, "msccl", channels=kind(1), instances=kind(2), min_bytes=kind(0))
    assert low.text == linkstep.lower(REDUCED, "msccl", channels=1, instances=2).text


def test_masks_are_not_lists_of_nodes():
    """[True, False, True] says which, not nodes 1, 0 and 1; masked values are no values."""
    mask = np.array([True, False, True])
    hidden = np.ma.array([0, 1, 2], mask=[0, 1, 0])
    calls = (
        TRIANGLE.without_nodes,
        TRIANGLE.without_links,
        TRIANGLE.relabel,
        lambda nodes: distance_profiles(TRIANGLE, nodes),
        lambda nodes: distance_counts(TRIANGLE, nodes),
        lambda nodes: Topology.from_links(3, nodes, [1, 2, 0]),
        lambda nodes: Topology.from_links(3, [1, 2, 0], [2, 0, 1], bandwidth=nodes),
    )
    for call in calls:
        with pytest.raises(LinkstepError, match="must hold integers, not bool"):
            call(mask)
        with pytest.raises(LinkstepError, match="must hold integers, not masked values"):
            call(hidden)
    assert TRIANGLE.relabel(np.ma.array([2, 1, 0])) == TRIANGLE.relabel([2, 1, 0])
    with pytest.raises(LinkstepError, match="masks are not sent"):
        kind_of(np.ma.array([1.0, 2.0], mask=[0, 1]))

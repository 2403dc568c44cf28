"""Public functions called with values of the wrong type: one short line, a LinkstepError, never anything else."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

import linkstep
from linkstep import Fabric, LinkstepError, Ranks, Rule, Schedule, Selector, Topology
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
ANSWER = linkstep.find(5, 4)
ROW = ANSWER.frontier[0]
JOB = linkstep.training.load_model("resnet18").job(5)
NETWORK = linkstep.training.bound_network(ANSWER, FABRIC)
RULE = Rule("allreduce", None, None, "K_4")
LINKS = (np.array([0, 1]), np.array([1, 0]))

WRONG = [
    "8", "", "x\n<", 8.5, -1, None, [], [1], {}, (), b"x", object, float("nan"), float("inf"), 1j, 10**400, 10**5000,
    Fraction(1, 2), np.float64(2.5), np.array([True, False]), np.array([1, 2]), np.array(3), np.bool_(True), TORUS,
    REDUCED, linkstep.parse("K_4"), "9" * 6000, "\ud800", "5%", "a\0b", set(), np.str_("K_4"),
    np.ma.array([1], mask=[1]), object(), Topology, LOWERED, ANSWER, FABRIC, {1: 2}, [None], True,
]  # fmt: skip

WIRING = "a wiring (a topology, recipe, file, graph, list of pairs or matrix) or a result with one"


def _save_layers(path, name, layers, source="by hand", gradient_bytes=4):
    linkstep.training.save_layers(path, name, layers, source=source, gradient_bytes=gradient_bytes)


def _problem(wiring, collectives="allreduce", fabric=None, objective=None, requirements=(), ranks=None):
    return linkstep.Problem(
        wiring=wiring, collectives=collectives, fabric=fabric, objective=objective, requirements=requirements,
        ranks=ranks,
    )  # fmt: skip


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
    "seconds_of": (linkstep.seconds_of, (REDUCED, FABRIC, "1MB")),
    "loads_of": (linkstep.loads_of, (REDUCED,)),
    "save": (linkstep.save, (REDUCED, "nowhere/a.npz")),
    "save_fabric": (linkstep.save_fabric, (FABRIC, "nowhere/a.json")),
    "draw": (linkstep.draw, ("K_3", "nowhere/a.svg")),
    "save_page": (linkstep.save_page, ("K_3", "nowhere/a.html")),
    "explore": (linkstep.explore, ("K_3",)),
    "synthesize": (linkstep.synthesize, (TRIANGLE, 0, 1)),
    "faults.apply": (linkstep.faults.apply, (TRIANGLE, [], Fraction(1))),
    "faults.ranks_left": (linkstep.faults.ranks_left, (TRIANGLE, [])),
    "faults.parse": (linkstep.faults.parse, ("cut", "0,1")),
    "faults.format_rate": (linkstep.faults.format_rate, (5,)),
    "faults.Cut": (linkstep.faults.Cut, ("0", "1")),
    "faults.Slow": (linkstep.faults.Slow, ("0", "1", Fraction(1))),
    "baselines.baseline": (linkstep.baselines.baseline, ("ring", "UniRing(1,4)")),
    "baselines.baselines": (linkstep.baselines.baselines, (8, 4)),
    "baselines.usual_baselines": (linkstep.baselines.usual_baselines, (8, 4)),
    "baselines.baselines_on": (linkstep.baselines.baselines_on, ("UniRing(1,4)",)),
    "baselines.double_tree_time": (linkstep.baselines.double_tree_time, (FABRIC, 8, "1MB")),
    "training.load_model": (linkstep.training.load_model, ("resnet18",)),
    "training.compare": (linkstep.training.compare, (JOB, linkstep.find(3, 1), FABRIC)),
    "training.rank_choices": (linkstep.training.rank_choices, (JOB, linkstep.find(3, 1), FABRIC)),
    "training.bound_network": (linkstep.training.bound_network, (ANSWER, FABRIC)),
    "training.choice_network": (linkstep.training.choice_network, (ROW, FABRIC)),
    "training.simulate_iteration": (linkstep.training.simulate_iteration, (JOB, NETWORK, "25MB")),
    "training.best_iteration": (linkstep.training.best_iteration, (JOB, NETWORK, ("25MB",))),
    "training.save_layers": (_save_layers, ("nowhere/a.json", "a", [])),
    "Fabric": (Fabric, (Fraction(1), Fraction(1), 2)),
    "Fabric.on": (FABRIC.on, (TRIANGLE,)),
    "Fabric.slowest_on": (FABRIC.slowest_on, (TRIANGLE,)),
    "Fabric.links_of": (FABRIC.links_of, (TRIANGLE,)),
    "Fabric.width": (FABRIC.width, (TRIANGLE,)),
    "Fabric.with_degree": (FABRIC.with_degree, (3,)),
    "Cost.is_within": (linkstep.cost_of(REDUCED).is_within, (linkstep.cost_of(REDUCED),)),
    "Problem": (_problem, ("K_4",)),
    "Problem.arrange": (linkstep.Problem(num_nodes=5, degree=4).arrange, (TRIANGLE,)),
    "Problem.price": (linkstep.Problem(wiring="K_4", objective="allreduce").price, (TRIANGLE,)),
    "Duplex.admits": (linkstep.Duplex().admits, (TRIANGLE,)),
    "Duplex.excess": (linkstep.Duplex().excess, (LINKS,)),
    "Duplex.keeps": (linkstep.Duplex().keeps, (ROW,)),
    "MaxSteps": (linkstep.MaxSteps, (2,)),
    "MaxSteps.admits": (linkstep.MaxSteps(2).admits, (TRIANGLE,)),
    "MaxSteps.excess": (linkstep.MaxSteps(2).excess, (LINKS,)),
    "MaxSteps.keeps": (linkstep.MaxSteps(2).keeps, (ROW,)),
    "Call": (linkstep.Call, ("allreduce", 5)),
    "Call.seconds": (linkstep.Call("allreduce", 5).seconds, (ROW, FABRIC)),
    "SizeRange": (linkstep.SizeRange, ((1, 2), "allreduce")),
    "SizeRange.seconds": (linkstep.SizeRange((1, 2)).seconds, (ROW, FABRIC)),
    "SizeRange.windows": (lambda rows, fabric: list(linkstep.SizeRange((1, 2)).windows(rows, fabric)), ([ROW], FABRIC)),
    "Workload": (linkstep.Workload, (((Fraction(1), 1),), ())),
    "Workload.of": (linkstep.Workload.of, (5,)),
    "Answer.ranked_by": (ANSWER.ranked_by, ("allreduce", FABRIC)),
    "Answer.ranked_by_all_to_all": (ANSWER.ranked_by_all_to_all, (1,)),
    "Choice.build": (ROW.build, ("broadcast",)),
    "Choice.cost_of": (ROW.cost_of, ("allreduce",)),
    "Choice.within": (ROW.within, (FABRIC,)),
    "Choice.with_flow": (ROW.with_flow, (1,)),
    "Recipe.build": (linkstep.parse("K_3").build, ("broadcast",)),
    "Recipe.cost_of": (linkstep.parse("K_3").cost_of, ("allreduce",)),
    "from_networkx": (Topology.from_networkx, (TRIANGLE.to_networkx(),)),
    "node_named": (TRIANGLE.node_named, ("0",)),
    "with_bandwidth": (TRIANGLE.with_bandwidth, ([1] * 6,)),
    "with_places": (TRIANGLE.with_places, (["a", "b", "c"],)),
    "from_columns": (Schedule.from_columns, (TRIANGLE, 1, [0], [0], [1], [0], [1])),
    "Ranks": (Ranks, (3, [0, 1])),
    "Ranks.of": (Ranks.of, (TRIANGLE, [0, 1])),
    "Ranks.everyone": (Ranks.everyone, (TRIANGLE,)),
    "Ranks.without_ranks": (Ranks.everyone(TRIANGLE).without_ranks, ([0],)),
    "Run": (linkstep.Run, ("K_3", "allreduce", "mpi", 2, None, ())),
    "Rule.serves": (RULE.serves, (5,)),
    "with_rule": (Selector(()).with_rule, (RULE,)),
    "path_of": (Selector(()).path_of, (RULE,)),
    "Selector.load": (Selector.load, ("nowhere.json",)),
    "Selector.save": (Selector(()).save, ("nowhere/a.json",)),
    "Cabling.panel": (linkstep.wire("K_3").panel, (0, 0)),
    "Program.memory": (linkstep.read_program(LOWERED).memory, (True,)),
}
KEPT = {"what", "engine", "degree", "cost", "testbed", "loads", "collective"}
"""Of a ``Run``: what was read from a file before."""


def public_functions():
    """Return every public function by its name, those of the rooms with the name of their room."""
    found = {name: getattr(linkstep, name) for name in linkstep.__all__}
    for room in ("baselines", "faults", "training"):
        found |= {f"{room}.{name}": value for name, value in vars(found[room]).items() if not name.startswith("_")}
    functions = {name: value for name, value in found.items() if inspect.isfunction(value)}
    return {
        name for name, value in functions.items() if value.__module__.startswith("linkstep.") and _is_own(name, value)
    }


def _is_own(name, value):
    """Whether a function is of the room that it is found in, not one that the room only imports."""
    room = {
        "baselines": "linkstep.baselines",
        "faults": "linkstep.core.faults",
        "training": "linkstep.simulation.training",
    }
    return "." not in name or value.__module__.startswith(room[name.partition(".")[0]])


def test_every_public_function_is_called_wrongly():
    called = {name.removeprefix("training.") for name in CALLS}
    missing = {name for name in public_functions() if name.removeprefix("training.") not in called}
    # one takes nothing, and wrong rows of the other are in tests/test_plugins.py
    assert missing == {"training.model_names", "register"}


@pytest.mark.filterwarnings("ignore:find.*bidirectional:FutureWarning")
@pytest.mark.parametrize("name", CALLS)
def test_wrong_types_end_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    function, arguments = CALLS[name]
    refused = 0
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        for value in WRONG:
            by_place = list(arguments)
            by_name = {}
            if parameter.kind is parameter.VAR_KEYWORD or (name == "Run" and parameter.name in KEPT):
                continue
            if place < len(arguments):
                by_place[place] = value
            else:
                by_name = {parameter.name: value}
            try:
                repr(function(*by_place, **by_name))
            except LinkstepError as error:
                assert len(str(error)) <= 280 and "\n" not in str(error)
                refused += 1
    assert refused >= 8
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
        (lambda: linkstep.Problem(num_nodes=5, degree=4).arrange(3), f"topology must be {WIRING}, not 3"),
        (lambda: linkstep.MaxSteps(2).excess(3), "links must be a pair of columns, tails and heads, not 3"),
        (lambda: linkstep.Duplex().excess(3), "links must be a pair of columns, tails and heads, not 3"),
        (lambda: linkstep.lower(REDUCED, "msccl", progress=3), "progress must be a function, not 3"),
        (lambda: linkstep.seconds_of(REDUCED, 3), "fabric must be a Fabric, a fabric file or a Fit, not 3"),
        (lambda: linkstep.find(8, 4, objective=3), "objective must be the name of a collective or an Objective, not 3"),
        (lambda: for_ranks("K_4", None), "schedule must be a Schedule, not 'K_4'"),
        (lambda: for_ranks(REDUCED, [0, 1]), "ranks must be a Ranks, not [0, 1]"),
        (lambda: export_timeline(REDUCED, "a.json"), "timeline must be a Timeline, not a Schedule"),
        (lambda: linkstep.find("8", 4), "the number of nodes must be an integer, not '8'"),
        (lambda: linkstep.find(8.5, 4), "the number of nodes must be an integer, not 8.5"),
        (lambda: linkstep.find(8, True), "the degree must be an integer, not True"),
        (lambda: linkstep.find(8, 4, directed="no"), "directed must be True or False, not 'no'"),
        (lambda: linkstep.find(8, 4, bidirectional="no"), "bidirectional must be True or False, not 'no'"),
        (lambda: linkstep.find(8, 4, max_steps=2.5), "max_steps must be an integer, not 2.5"),
        (lambda: linkstep.step_bound(TRIANGLE, 2.5), "steps must be an integer, not 2.5"),
        (lambda: linkstep.schedule("K_4", "broadcast", root="0"), "root must be a node in [0, 4), not '0'"),
        (lambda: linkstep.schedule("K_4", "broadcast", root=True), "root must be a node in [0, 4), not True"),
        (lambda: linkstep.schedule(8.5), f"topology must be {WIRING}, not 8.5"),
        (lambda: linkstep.all_to_all(TRIANGLE, gap="5%"), "gap must be a number in [0, 1), such as 0.05, not '5%'"),
        (lambda: linkstep.all_to_all(TRIANGLE, seconds="1"), "seconds must be a number of seconds, not '1'"),
        (lambda: linkstep.load(5), "the name of a file must be text or a path, not 5"),
        (
            lambda: linkstep.check(TRIANGLE),
            "schedule: K_3 is a wiring and holds no schedule: linkstep.schedule makes one",
        ),
        (lambda: linkstep.check(5), f"schedule must be a Schedule, a result or file with one, or {WIRING}, not 5"),
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

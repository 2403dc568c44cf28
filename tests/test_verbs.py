"""Verbs that chain: each takes what the others return, and whatever else stands for a wiring or a schedule."""

import builtins
import inspect
import subprocess
import sys
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import linkstep
from linkstep import Collective, Fabric, LinkstepError, Topology, TopologyError
from linkstep.core.frames import Table
from linkstep.core.inputs import as_made_schedule, as_schedule, as_topology, as_wiring

K44 = linkstep.parse("K_{4,4}").topology()
MADE = linkstep.schedule("K_{4,4}")
LOWERED = linkstep.lower(MADE, "msccl")
ANSWER = linkstep.find(8, 4)
FABRIC = Fabric.of("10us", "100Gbps", 4)
TRIANGLE = Topology.from_links(3, [0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2])

RESULTS = {
    "topology": K44,
    "recipe": linkstep.parse("K_{4,4}"),
    "text": "K_{4,4}",
    "schedule": MADE.schedule,
    "result": MADE,
    "answer": ANSWER,
    "choice": ANSWER.frontier[0],
    "description": linkstep.describe(K44),
    "cabling": linkstep.wire(K44),
    "lowered": LOWERED,
    "simulation": linkstep.simulate(LOWERED),
    "throughput": linkstep.all_to_all(K44),
    "bound": linkstep.wiring_bound(K44),
    "step bound": linkstep.step_bound(K44, 2),
    "certificate": linkstep.bfb_certificate(K44),
    "trade-off": linkstep.trade_off(K44),
    "problem": linkstep.Problem(wiring=K44),
    "baseline": linkstep.baselines.baseline("torus-rings", "Torus(2,4)"),
    "networkx": K44.to_networkx(),
    "pairs": list(zip(K44.tail.tolist(), K44.head.tolist(), strict=True)),
    "matrix": nx.to_numpy_array(K44.to_networkx()),
}
HOLD_SCHEDULES = {"schedule", "result", "answer", "choice", "lowered", "baseline"}

OF_WIRINGS = {
    "describe": linkstep.describe,
    "wire": linkstep.wire,
    "all_to_all": linkstep.all_to_all,
    "wiring_bound": linkstep.wiring_bound,
    "step_bound": lambda given: linkstep.step_bound(given, 4),
    "bfb_cost": linkstep.bfb_cost,
    "bfb_allgather": linkstep.bfb_allgather,
    "bfb_certificate": linkstep.bfb_certificate,
    "schedule": linkstep.schedule,
    "trade_off": linkstep.trade_off,
    "Problem": lambda given: linkstep.Problem(wiring=given).resolved(),
    "arrange": linkstep.Problem(num_nodes=8, degree=4).arrange,
    "faults": lambda given: linkstep.faults.apply(given, [linkstep.faults.Down("3")], "25Gbps"),
}
OF_SCHEDULES = {
    "cost_of": linkstep.cost_of,
    "seconds_of": lambda given: linkstep.seconds_of(given, FABRIC, "1MB"),
    "loads_of": linkstep.loads_of,
    "lower": lambda given: linkstep.lower(given, "msccl"),
    "simulate": linkstep.simulate,
    "draw": linkstep.draw,
}


@pytest.mark.parametrize("given", RESULTS)
@pytest.mark.parametrize("verb", OF_WIRINGS)
def test_verbs_of_wirings_take_every_result(verb, given):
    if given == "problem" and verb == "schedule":
        return  # a problem is what it takes anyway
    assert OF_WIRINGS[verb](RESULTS[given]) is not None


@pytest.mark.parametrize("given", RESULTS)
@pytest.mark.parametrize("verb", OF_SCHEDULES)
def test_verbs_of_schedules_take_every_result(verb, given):
    assert OF_SCHEDULES[verb](RESULTS[given]) is not None


@pytest.mark.parametrize("given", RESULTS)
def test_checks_take_results_that_hold_a_schedule(given):
    if given in HOLD_SCHEDULES:
        linkstep.check(RESULTS[given])
        linkstep.check_allreduce(RESULTS[given])
    else:
        with pytest.raises(LinkstepError, match=r"is a wiring and holds no schedule: linkstep\.schedule makes one"):
            linkstep.check(RESULTS[given])


@pytest.mark.parametrize("given", [name for name in RESULTS if name != "baseline"])
def test_results_stand_for_their_own_wiring(given):
    """All but the baseline are of K_{4,4}; rows of ``find`` of one that is isomorphic to it."""
    found = as_topology(RESULTS[given])
    assert nx.is_isomorphic(nx.Graph(found.to_networkx()), nx.complete_bipartite_graph(4, 4))
    if given not in ("answer", "choice"):
        assert found == K44


def test_the_chains_of_the_documentation(tmp_path):
    made = linkstep.schedule("K_{4,4}")
    assert made.schedule.collective is Collective.ALLREDUCE
    lowered = linkstep.lower(made, "msccl")
    assert linkstep.verify(lowered).is_verified
    assert linkstep.verify(lowered.text).is_verified
    assert linkstep.cost_of(made) == made.cost == linkstep.cost_of(lowered)
    assert linkstep.simulate(lowered).time == pytest.approx(float(linkstep.seconds_of(made)))
    assert linkstep.simulate(lowered).predicted == float(linkstep.seconds_of(made))
    assert linkstep.read_program(lowered).fingerprint == linkstep.read_program(lowered.text).fingerprint
    for name, kind in (("a.npz", linkstep.Schedule), ("a.csv", Topology)):
        linkstep.save(made, tmp_path / name)
        assert type(linkstep.load(tmp_path / name)) is kind
    linkstep.check(tmp_path / "a.npz")
    linkstep.save(lowered, tmp_path / "a.xml")
    assert (tmp_path / "a.xml").read_text() == lowered.text
    assert linkstep.verify(tmp_path / "a.xml").is_verified
    assert linkstep.simulate(str(tmp_path / "a.xml")).time == linkstep.simulate(lowered).time
    with pytest.raises(LinkstepError, match=r"the runtime's file ends in \.xml"):
        linkstep.save(lowered, tmp_path / "a.json")


def test_a_row_of_find_gets_the_schedule_that_it_promises():
    for servers in (13, 17, 24):
        answer = linkstep.find(servers, 4)
        for row in answer.frontier:
            assert linkstep.schedule(row).cost == row.allreduce_cost == linkstep.cost_of(row)
            assert linkstep.schedule(row, "allgather").cost == row.cost
        assert linkstep.schedule(answer).cost == answer.best.allreduce_cost


def test_find_ranks_by_a_size_or_an_objective():
    small, large = (linkstep.find(64, 4, directed=True, size=size) for size in ("1KB", "1GB"))
    assert small.is_ranked and small.best is small.frontier[0]
    fabric = Fabric.of("10us", "100Gbps", 4)
    for answer, size in ((small, "1KB"), (large, "1GB")):
        times = [fabric.time(row.allreduce_cost, "allreduce", size) for row in answer.frontier]
        assert times == sorted(times)
    assert small.best.allreduce_cost.steps < large.best.allreduce_cost.steps
    slow = linkstep.find(64, 4, directed=True, size="1KB", fabric=Fabric.of("0s", "100Gbps", 4))
    assert slow.best.allreduce_cost.bandwidth == min(row.allreduce_cost.bandwidth for row in slow.frontier)
    flows = [row.flow for row in linkstep.find(16, 4, objective="all-to-all").frontier]
    assert flows == sorted(flows, reverse=True)
    by_call = linkstep.find(16, 4, objective=linkstep.Call("allreduce", "1KB"))
    assert by_call.frontier == linkstep.find(16, 4, objective="allreduce", size="1KB").frontier
    with pytest.raises(LinkstepError, match="an Objective says its own sizes"):
        linkstep.find(16, 4, objective=linkstep.Call("allreduce", 5), size=5)
    assert not linkstep.find(16, 4).is_ranked


def test_the_best_of_an_answer_without_rows():
    empty = linkstep.find(16, 4, max_steps=1)
    assert empty.frontier == ()
    for verb in (linkstep.schedule, linkstep.wire, linkstep.cost_of):
        with pytest.raises(LinkstepError, match="nothing was found for N=16, d=4"):
            verb(empty)


def test_defaults_are_those_of_the_commands():
    """``schedule``, ``trade_off`` and what stands for a schedule: an allreduce; 1MB; the usual fabric."""
    assert inspect.signature(linkstep.schedule).parameters["collective"].default is Collective.ALLREDUCE
    assert inspect.signature(linkstep.trade_off).parameters["collective"].default is Collective.ALLREDUCE
    assert as_schedule("K_5").collective is Collective.ALLREDUCE
    usual = Fabric.of("10us", "100Gbps", 4)
    assert linkstep.seconds_of(MADE) == linkstep.seconds_of(MADE, usual, "1MB")
    assert linkstep.simulate(MADE).time == linkstep.simulate(MADE, usual, 10**6).time


def test_costs_count_the_fabric_that_a_result_was_made_for():
    limited = Fabric.of("10us", "100Gbps", 4, host_bandwidth="50Gbps")
    made = linkstep.schedule("Pi_{4,17}", fabric=limited)
    assert linkstep.cost_of(made) == made.cost
    assert linkstep.cost_of(made.schedule) != made.cost
    assert linkstep.seconds_of(made, size=1000) == linkstep.seconds_of(made.schedule, limited, 1000)


def test_fabrics_by_file_and_by_fit(tmp_path):
    linkstep.save_fabric(FABRIC, tmp_path / "f.json")
    assert linkstep.seconds_of(MADE, tmp_path / "f.json") == linkstep.seconds_of(MADE, str(tmp_path / "f.json"))
    assert linkstep.find(8, 4, fabric=tmp_path / "f.json", size=5).is_ranked
    rows = tuple(linkstep.costs.runs.Timing(n, float(FABRIC.time(MADE.cost, "allreduce", n))) for n in (10**3, 10**9))
    run = linkstep.Run("K_{4,4}", Collective.ALLREDUCE, "mpi", 4, MADE.cost, rows)
    fitted = linkstep.fit([run])
    assert linkstep.seconds_of(MADE, fitted, 10**6) == linkstep.seconds_of(MADE, fitted.fabric, 10**6)
    assert len(fitted.to_frame()) == 2


# --- graphs, pairs, matrices ---


def test_undirected_graphs_are_duplex_cables_and_directed_ones_links():
    cables, links = as_topology(nx.cycle_graph(4)), as_topology(nx.cycle_graph(4, create_using=nx.DiGraph))
    assert (cables.num_links, cables.is_bidirectional) == (8, True)
    assert (links.num_links, links.is_bidirectional) == (4, False)
    named = as_topology(nx.Graph([("ant", "bee"), ("bee", "cat"), ("cat", "ant")]))
    assert named.labels == ("ant", "bee", "cat")

    class Mine(nx.Graph):
        pass

    assert as_topology(Mine([(0, 1)])).num_links == 2
    parallel = nx.MultiGraph([(0, 1), (0, 1)])
    assert as_topology(parallel).num_parallel == 2
    with pytest.raises(TopologyError, match="bandwidth is given for 2 of 4 links"):
        as_topology(nx.Graph([(0, 1, {"bandwidth": 5}), (1, 2)]))


def test_graphs_of_rustworkx():
    rx = pytest.importorskip("rustworkx", reason="the extra test brings it")
    assert as_topology(rx.generators.cycle_graph(5)) == as_topology(nx.cycle_graph(5))
    ring = as_topology(rx.generators.directed_cycle_graph(5))
    assert ring == as_topology(nx.cycle_graph(5, create_using=nx.DiGraph))
    graph = rx.PyGraph()
    ends = graph.add_nodes_from(["ant", "gone", "bee"])
    graph.add_edge(ends[0], ends[2], {"bandwidth": 10**9})
    graph.remove_node(ends[1])
    found = as_topology(graph)
    assert (found.labels, found.bandwidth.tolist(), found.num_links) == (("ant", "bee"), [10**9] * 2, 2)
    assert linkstep.schedule(graph).cost == linkstep.schedule("K_2").cost
    with pytest.raises(LinkstepError, match="num_nodes must lie in"):
        as_topology(rx.PyGraph())


def test_pairs():
    assert as_topology([(0, 1), (1, 2), (2, 0)]) == linkstep.parse("UniRing(1,3)").topology()
    assert as_topology((["a", "b"], ["b", "a"])).labels == ("a", "b")
    assert as_topology([(20, 10), (10, 20)]).labels == ("10", "20")
    assert as_topology([(np.int64(0), 1), (1, 0)]).labels is None
    for pairs, message in (
        ([(0, 1), (1, 2)], r"one way each, and none goes to 0: give duplex cables both ways round, or as networkx"),
        ([("a", "b"), ("c", "b"), ("b", "c")][:2], "none goes to 'a'"),
        ([(0, "a"), ("a", 0)], "pairs must be of numbers or of names, not of both"),
        ([(0, 1, 2), (1, 0, 2)], "topology must be a wiring"),
        ([(True, False), (False, True)], "topology must be a wiring"),
        ([(0, 1.5)], "topology must be a wiring"),
    ):
        with pytest.raises(LinkstepError, match=message):
            as_topology(pairs)


def test_matrices():
    sparse = pytest.importorskip("scipy.sparse", reason="the extra test brings it")
    counts = np.array([[0, 2, 0], [0, 0, 1], [1, 1, 0]])
    wanted = Topology.from_links(3, [0, 0, 1, 2, 2], [1, 1, 2, 0, 1])
    for kind in (np.int8, np.uint64, np.float64):
        assert as_topology(counts.astype(kind)) == wanted
    for form in (sparse.csr_array, sparse.coo_matrix, sparse.lil_array, sparse.dia_array):
        assert as_topology(form(counts)) == wanted
    assert as_topology(counts > 0) == Topology.from_links(3, [0, 1, 2, 2], [1, 2, 0, 1])
    for matrix, message in (
        (counts[:2], "must be square, not 2 by 3"),
        (sparse.csr_array(counts[:2]), "must be square, not 2 by 3"),
        (counts - 1, "must hold numbers of links, not -1"),
        (counts * 0.5, "must hold numbers of links, not 0.5"),
        (counts * np.nan, "must hold numbers of links, not nan"),
        (sparse.csr_array(counts * 0.5), "must hold numbers of links, not 0.5"),
        (counts.astype(complex), "must hold numbers of links, not complex128"),
        (counts.astype(object), "must hold numbers of links, not object"),
        (np.ma.masked_equal(counts, 2), "not masked values"),
        (counts * 10**9, "must hold numbers of links"),
        (counts[0], "topology must be a wiring"),
        (np.zeros((0, 0)), "topology must be a wiring"),
    ):
        with pytest.raises(LinkstepError, match=message):
            as_topology(matrix)


def test_random_graphs_in_every_form_are_one_wiring():
    rx, sparse = pytest.importorskip("rustworkx"), pytest.importorskip("scipy.sparse")
    for seed in range(10):
        graph = nx.random_regular_graph(3, 10, seed=seed)
        matrix = nx.to_numpy_array(graph, nodelist=range(10), dtype=int)
        forms = [
            graph, rx.networkx_converter(graph), matrix, sparse.csr_array(matrix), sorted(graph.to_directed().edges),
        ]  # fmt: skip
        plain = nx.Graph()
        plain.add_nodes_from(range(10))
        plain.add_edges_from(graph.edges)
        assert all(as_topology(form).relabel(_order(form)) == as_topology(plain) for form in forms)


def _order(form):
    return list(form.nodes) if isinstance(form, nx.Graph) else _payloads(form)


def _payloads(form):
    nodes = form.nodes() if hasattr(form, "edge_list") else range(10)
    return [int(node) for node in nodes]


def test_files_and_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    linkstep.save("K_{4,4}", "k.csv")
    assert as_topology("k.csv") == as_topology(tmp_path / "k.csv") == K44
    linkstep.save(MADE, "m.json")
    assert as_made_schedule("m.json") == MADE.schedule
    assert as_topology("m.json") == K44
    assert str(as_wiring("L(K_3)")) == "L(K_3)"
    for name, message in (
        ("nowhere.csv", "nowhere.csv: no such file"),
        (tmp_path / "K_4", "the name must end in one of"),
        ("no such thing", "recipe 'no such thing'"),
        ("", "recipe ''"),
    ):
        with pytest.raises(LinkstepError, match=message):
            linkstep.wire(name)


def test_foreign_libraries_are_not_imported():
    code = (
        "import sys, linkstep; linkstep.schedule([(0, 1), (1, 0)]); linkstep.lower('K_4', 'msccl');"
        "names = ('networkx', 'rustworkx', 'scipy.sparse', 'pandas', 'polars', 'matplotlib');"  # numba imports scipy
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- pictures ---


@pytest.mark.parametrize(
    "given",
    [
        "K_5", MADE, LOWERED, ANSWER, ANSWER.best, RESULTS["trade-off"],
        pytest.param(RESULTS["simulation"], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_draw_returns_the_figure(given, tmp_path):
    from matplotlib.figure import Figure

    figure = linkstep.draw(given)
    assert isinstance(figure, Figure) and figure._repr_svg_().startswith("<svg")
    written = linkstep.draw(given, tmp_path / "a.svg")
    assert isinstance(written, Figure)
    assert figure._repr_svg_() in (tmp_path / "a.svg").read_text()


def test_draw_refuses_before_it_writes(tmp_path):
    for thing, path, message in (
        ("K_5", tmp_path / "a.pdf", "must end in .svg or .png"),
        (5, tmp_path / "a.svg", "what is drawn must be a wiring"),
        ("K_5", 5, "the name of a file must be text or a path, not 5"),
    ):
        with pytest.raises(LinkstepError, match=message):
            linkstep.draw(thing, path)
    assert not list(tmp_path.iterdir())


# --- frames ---

FRAMES = {
    "answer": (lambda: ANSWER, len(ANSWER.frontier)),
    "topology": (lambda: K44, K44.num_links),
    "schedule": (lambda: MADE.schedule, MADE.schedule.num_rows),
    "result": (lambda: MADE, MADE.schedule.num_rows),
    "cabling": (lambda: linkstep.wire(K44), 16),
    "trade-off": (lambda: RESULTS["trade-off"], len(RESULTS["trade-off"])),
    "simulation": (lambda: RESULTS["simulation"], RESULTS["simulation"].sent_link.size),
    "loads": (lambda: linkstep.loads_of(MADE), len(linkstep.loads_of(MADE).links)),
    "baselines": (lambda: linkstep.baselines.baselines(12, 4), 9),
    "usual baselines": (lambda: linkstep.baselines.usual_baselines(8, 3), 3),
    "selector": (lambda: linkstep.Selector((linkstep.Rule("allreduce", None, None, "K_4"),)), 1),
    "report": (lambda: linkstep.verify(LOWERED.text.replace('cnt="1"', 'cnt="2"', 1)), None),
    "workload": (lambda: linkstep.Workload.of("1MB"), 1),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_as_frames(name, library, monkeypatch):
    module = pytest.importorskip(library, reason="the extra frames brings pandas")
    if library == "polars":
        _hide(monkeypatch, "pandas")
    make, rows = FRAMES[name]
    value = make()
    frame = value.to_frame()
    assert isinstance(frame, module.DataFrame)
    assert len(frame) == (len(value.findings) if rows is None else rows) > 0
    assert len(frame.columns) >= 2


def test_frames_hold_what_values_say():
    pytest.importorskip("pandas")
    frame = ANSWER.to_frame()
    assert frame["bandwidth"].tolist() == [float(row.allreduce_cost.bandwidth) for row in ANSWER.frontier]
    rows = MADE.to_frame()
    assert rows["from"].tolist() == K44.tail[MADE.schedule.link].tolist()
    assert rows["step"].max() == MADE.cost.steps
    loads = linkstep.loads_of(MADE).to_frame()
    assert loads.groupby("step")["part"].max().sum() * 4 == pytest.approx(float(MADE.cost.bandwidth))
    named = as_topology([("ant", "bee"), ("bee", "ant")])
    assert named.to_frame()["from"].tolist() == ["ant", "bee"]


def test_without_pandas_and_polars_there_is_one_line(monkeypatch):
    _hide(monkeypatch, "pandas", "polars")
    with pytest.raises(LinkstepError, match="a frame needs pandas or polars, which is not installed: "):
        ANSWER.to_frame()


def _hide(monkeypatch, *names):
    imported = builtins.__import__

    def hidden(name, *rest, **more):
        if name.partition(".")[0] in names:
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", hidden)


# --- what notebooks show ---

UNSHOWN = {"Communicator", "Objective", "Collective", "Registration"}
"""What runs, what is only a protocol, and a word."""
SHOWN = {
    "Answer": ANSWER, "Cable": RESULTS["cabling"].cables[0], "Cabling": RESULTS["cabling"],
    "Call": linkstep.Call("allreduce", 5), "Certificate": RESULTS["certificate"], "Choice": ANSWER.frontier[0],
    "Cost": MADE.cost, "Description": RESULTS["description"], "Duplex": linkstep.Duplex(), "Fabric": FABRIC,
    "Lowered": LOWERED, "MaxSteps": linkstep.MaxSteps(2), "Problem": RESULTS["problem"],
    "Program": linkstep.read_program(LOWERED), "Ranks": MADE.schedule.ranks, "Recipe": linkstep.parse("K_4"),
    "Report": linkstep.verify(LOWERED), "Requirement": linkstep.Duplex(),
    "Rule": linkstep.Rule("allreduce", None, None, "K_4"), "Schedule": MADE.schedule, "ScheduleResult": MADE,
    "Selector": linkstep.Selector(()), "Simulation": RESULTS["simulation"], "SizeRange": linkstep.SizeRange((1, 2)),
    "StepBound": RESULTS["step bound"], "Throughput": RESULTS["throughput"], "Topology": K44,
    "WiringBound": RESULTS["bound"], "Workload": linkstep.Workload.of(5),
    "Run": linkstep.Run("K_{4,4}", Collective.ALLREDUCE, "mpi", 4, MADE.cost, ()),
    "Fit": linkstep.costs.Fit(FABRIC, (linkstep.costs.fitting.Observation(
        "K_{4,4}", Collective.ALLREDUCE, MADE.cost, 4, 10**6, 2e-4),)),
}  # fmt: skip


def public_classes():
    named = ((name, getattr(linkstep, name)) for name in linkstep.__all__)
    return {
        name
        for name, value in named
        if isinstance(value, type) and not issubclass(value, Exception) and name not in UNSHOWN
    }


def test_every_public_class_is_looked_at():
    assert set(SHOWN) == public_classes()


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_values_show_themselves(name):
    value = SHOWN[name]
    assert isinstance(value, getattr(linkstep, name))
    text, line = value._repr_html_(), repr(value)
    assert text.startswith("<table>") and " at 0x" not in text
    assert "\n" not in line and len(line) < 180 and "array(" not in line


@pytest.mark.parametrize(
    "value",
    [RESULTS["trade-off"], RESULTS["trade-off"][0], linkstep.baselines.baselines(12, 4), RESULTS["baseline"]],
)
def test_tables_show_themselves(value):
    assert value._repr_html_().startswith("<table>")
    assert isinstance(value, Table) or len(repr(value)) < 180


def test_names_of_hosts_are_escaped():
    bad = as_topology([("<b>", "&"), ("&", "<b>")])
    for value in (bad, linkstep.describe(bad), linkstep.wiring_bound(bad), linkstep.schedule(bad)):
        assert "<b>" not in value._repr_html_()


def test_long_tables_are_cut():
    assert linkstep.wire("Torus(8,8)")._repr_html_().endswith("<tr><td>... 108 more</td></tr></table>")


def test_fractions_in_a_table_stay_exact():
    assert RESULTS["trade-off"][0]._row_()["T_B"] == Fraction(7, 4)
    assert "7/4" in RESULTS["trade-off"]._repr_html_()

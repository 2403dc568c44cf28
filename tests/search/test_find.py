"""The finder: the paper's tables row by row, the better frontier, what a user asks of it, and bad input."""

import json
import sys
from fractions import Fraction

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.errors import LinkstepError
from linkstep.costs import Cost, Fabric, bandwidth_bound, cost_of
from linkstep.recipe import parse
from linkstep.recipe.explanation import explain
from linkstep.search import Workload, find, pick
from linkstep.search.bases import paper_bases
from linkstep.search.finder import Finder
from linkstep.throughput import all_to_all

# The paper's frontiers: N -> (T_L, T_B to three digits, D), in the order of table:paretooptimal and tab:allourtopos.
PAPER = {
    32: [(3, "1.000", 3), (4, "0.969", 4)],
    64: [(3, "1.312", 3), (4, "1.000", 4), (6, "0.984", 6)],
    128: [(4, "1.031", 4), (5, "1.000", 5), (10, "0.992", 10)],
    256: [(4, "1.328", 4), (5, "1.016", 5), (7, "1.000", 7), (10, "0.996", 8)],
    512: [(5, "1.039", 5), (6, "1.008", 6), (11, "1.000", 11), (16, "0.998", 16)],
    1024: [(5, "1.332", 5), (6, "1.020", 6), (8, "1.004", 8), (11, "1.000", 9), (20, "0.999", 20)],
}
ROWS = [(n, *row) for n, rows in PAPER.items() for row in rows]
BEST_SMALL = {5: 1, 6: 2, 7: 2, 8: 2, 9: 2, 10: 2, 11: 2, 12: 2}  # tab:ourtopologies: N -> steps of the allgather


def near(text: str) -> Fraction:
    """The largest value that rounds (or is cut, as 1.3125 is) to the table's three digits."""
    return Fraction(text) + Fraction(1, 1000)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "steps", "bandwidth", "diameter"), ROWS,
                         ids=[f"tab:allourtopos-{n}-{t}-{b}" for n, t, b, _ in ROWS])  # fmt: skip
def test_paper_mode_has_a_row_at_least_as_good(nodes, steps, bandwidth, diameter):
    rows = find(nodes, 4, directed=True, families="paper").frontier
    better = [f for f in rows if f.cost.steps <= steps and f.cost.bandwidth < near(bandwidth)]
    assert better
    assert any(f.diameter is not None and f.diameter <= diameter for f in better)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [32, 64, 128, 256, 512, 1024], ids=lambda n: f"tab:allourtopos-{n}")
def test_paper_mode_finds_nothing_that_the_paper_does_not_explain(nodes):
    """Every row of ours is a row of the table, or beats one of its rows; docs/concepts/finder.md has the two."""
    beaten = []
    for found in find(nodes, 4, directed=True, families="paper").frontier:
        same = [
            r
            for r in PAPER[nodes]
            if r[0] == found.cost.steps and abs(found.cost.bandwidth - Fraction(r[1])) < Fraction(1, 1000)
        ]
        if not same:
            beaten.append((str(found.recipe), found.cost.steps))
    assert beaten == {128: [("C(128,{8,9})", 8)], 512: [("L(C(128,{8,9}))", 9)]}.get(nodes, [])


@pytest.mark.parametrize(("nodes", "steps"), BEST_SMALL.items(), ids=[f"tab:ourtopologies-{n}" for n in BEST_SMALL])
def test_tab_ourtopologies(nodes, steps):
    rows = find(nodes, 4, families="paper").frontier
    assert [f.cost for f in rows] == [Cost(steps, bandwidth_bound(nodes))]
    assert rows[0].recipe.topology().is_bidirectional


def test_degree_expansion_is_scheduled_by_bfb_where_that_is_better():
    """BiRing(2,5)*2 takes 2 steps by BFB, not the 3 of its expansion."""
    frontier = Finder(lambda n, d: [c for c in paper_bases(n, d) if str(c.recipe) == "BiRing(2,5)"]).frontier(10, 4)
    assert [(str(c.recipe), c.cost, c.method) for c in frontier] == [("BiRing(2,5)*2", Cost(2, Fraction(9, 10)), "bfb")]


LARGER = [(64, 4), (128, 4), (256, 5), (512, 6), (1024, 6)]


@pytest.mark.parametrize(("nodes", "steps"), [(32, 3), *(pytest.param(*row, marks=pytest.mark.slow) for row in LARGER)])
def test_bandwidth_optimal_next_to_moore_latency(nodes, steps):
    """Powers of two at d = 4: an exactly bandwidth-optimal topology in this many steps or fewer."""
    optimal = [f for f in find(nodes, 4, directed=True).frontier if f.is_bandwidth_optimal]
    assert optimal and optimal[0].cost.steps <= steps


SOME = [pytest.param(n, marks=pytest.mark.slow) for n in (64, 128, 256, 512)]


@pytest.mark.parametrize("nodes", [32, *SOME, pytest.param(1024, marks=pytest.mark.long)])
def test_the_paper_s_frontier_is_dominated(nodes):
    """Each of its topologies is equalled or beaten in steps, bandwidth and all-to-all throughput together.

    Ours are proven to be reached; where the paper's are only bounded by distances, prices of links bound them.
    """
    ours = find(nodes, 4, directed=True).ranked_by_all_to_all(30.0).frontier
    ours = [f for f in ours if f.is_flow_reached]
    for row in find(nodes, 4, directed=True, families="paper").frontier:
        flow = row.flow if row.is_flow_reached else all_to_all(row.recipe.topology(), seconds=30).bound
        assert any(f.cost.is_within(row.cost) and f.flow >= flow for f in ours), row


LOW_LATENCY = [(64, 3, "17/16"), (256, 4, "1.079"), (512, 5, "1.008"), (1024, 5, "1.083")]


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "steps", "bandwidth"), LOW_LATENCY, ids=[str(n) for n, _, _ in LOW_LATENCY])
def test_low_latency_end(nodes, steps, bandwidth):
    assert any(f.cost.steps <= steps and f.cost.bandwidth < near(bandwidth) if "." in bandwidth
               else f.cost.steps <= steps and f.cost.bandwidth <= Fraction(bandwidth)
               for f in find(nodes, 4, directed=True).frontier)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [4096, 100_000, 1_000_000])
def test_answers_far_beyond_the_catalog(nodes):
    answer = find(nodes, 4, directed=True)
    assert any(f.is_bandwidth_optimal for f in answer.frontier)
    assert {found.num_nodes for found in answer.frontier} == {nodes}


def test_pick_by_workload():
    """Small messages want few steps, large ones little bandwidth, all-to-all the most throughput."""
    answer = find(1024, 4, directed=True, families="paper")
    fabric = Fabric.of("10us", "100Gbps", 4)
    assert pick(answer, fabric, Workload.of("1KB")).cost.steps == 5
    assert pick(answer, fabric, Workload.of("100GB")).is_bandwidth_optimal
    job = Workload(((Fraction(10**6), Fraction(1)),), ((Fraction(10**9), Fraction(1)),))
    assert pick(answer, fabric, job).flow == max(f.flow for f in answer.frontier)


def test_explain():
    assert explain(parse("L^2(Diamond^2)"), Cost(16, Fraction(257, 128)), "breadth-first broadcast") == [
        "1. Diamond: a Diamond; N=8, d=2",
        "2. Diamond^2: 2 dimensions, each wired like the base; N=64, d=4",
        "3. L^2(Diamond^2): the line graph, 2 times over: every link becomes a server, d stays; N=1024, d=4",
        "4. an allreduce on it by breadth-first broadcast: 16 alpha + 257/128 M/B",
    ]


def test_the_explanation_ends_with_what_the_row_costs(capsys):
    """Not with what breadth-first broadcast would."""
    assert main(["find", "70", "4", "--explain"]) == 0
    row = find(70, 4).frontier[0]
    assert (
        row.method == "arrival"
        and f"an allreduce on it by arrival times: {row.allreduce_cost}\n" in capsys.readouterr().out
    )


def test_rejections():
    with pytest.raises(LinkstepError, match=r"the number of nodes must lie in \[2, 10000000\], not 1"):
        find(1, 4, directed=True)
    with pytest.raises(LinkstepError, match=r"the degree must lie in \[1, 64\], not 65"):
        find(100, 65, directed=True)
    with pytest.raises(LinkstepError, match="families must be one of all, paper, not 'some'"):
        find(100, 4, directed=True, families="some")
    with pytest.raises(LinkstepError, match="max_steps must be at least 1, not 0"):
        find(100, 4, directed=True, max_steps=0)


# The command


COMMAND = """\
12 servers with 4 ports each, duplex cables; alpha 10us, 100Gbps a server
An allreduce of M bytes takes steps x alpha + T_B x M/B, where B is the rate of
a server; all-to-all is the rate at which a server then sends.

wiring           allreduce 1MB  bound  steps      T_B  all-to-all  diameter
C(12,{2,3})            186.7us  1.00x     4*  1.8333*    58.9Gbps         2
no wiring beats        186.7us  1.00x     4   1.8333     61.1Gbps         2
*: the least possible, of steps at this N and d, of T_B on this wiring

today                 schedule            allreduce  bound  steps  our schedule
Torus(3,4)            torus rings           286.7us  1.54x     10       206.7us
Torus(2,2,3)          torus rings           293.3us  1.57x      8       206.7us
BiRing(4,12)          bidirectional ring    366.7us  1.96x     22       266.7us
ShiftedRing(4,12)     shifted rings         366.7us  1.96x     22       206.7us
DoubleBinaryTree(12)  double binary tree    413.3us  2.21x     12         380us

best for an allreduce of 1MB: C(12,{2,3}), 186.7us
Torus(3,4) takes 286.7us today; with our schedule 206.7us, no cable moved.
C(12,{2,3}) is 1.5 times as fast as the best of today, torus rings on
Torus(3,4).
One-way fibres (--directed) are not known to gain anything here.

next: linkstep wire 'C(12,{2,3})' -o cables.csv
      linkstep schedule 'C(12,{2,3})' -o allreduce.npz
      linkstep run allreduce.npz
"""


def test_command(capsys):
    assert main(["find", "12", "4", "--families", "paper"]) == 0
    assert capsys.readouterr().out == COMMAND


def test_command_ranks_by_all_to_all(capsys):
    """True throughput, not the distances' bound: of these three the one with the longest way is not the last."""
    assert (
        main(["find", "32", "4", "--directed", "--families", "paper", "--all-to-all", "--size", "100MB", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    flows = [float(Fraction(row["all_to_all"])) for row in found["frontier"]]
    assert flows == sorted(flows, reverse=True) and flows[0] == pytest.approx(2 / 35)
    assert found["best"]["recipe"] == "L(K_{4,4})"
    assert found["best"]["seconds"] == found["frontier"][0]["all_to_all_seconds"]
    assert main(["find", "32", "4", "--directed", "--families", "paper", "--all-to-all"]) == 0
    out = capsys.readouterr().out
    assert "best for an all-to-all of 1MB: L(K_{4,4}), " in out
    assert "      linkstep schedule 'L(K_{4,4})' --collective all-to-all -o all-to-all.npz" in out


@pytest.mark.slow
def test_rows_say_whether_throughput_is_reached():
    """Exact where symmetries leave few orbits of links; elsewhere what distances allow, until it is asked for."""
    rows = {str(row.recipe): row for row in find(64, 4, directed=True, families="paper").frontier}
    circulant = rows["C(64,{6,7})"]
    assert circulant.is_flow_reached and circulant.flow == all_to_all(circulant.recipe.topology()).value
    kautz = next(row for row in find(47, 3, directed=True, families="paper").frontier if str(row.recipe) == "Pi_{3,47}")
    assert not kautz.is_flow_reached
    proven = kautz.with_flow(20.0)
    assert proven.is_flow_reached and kautz.flow * Fraction(4, 5) < proven.flow <= kautz.flow


def test_command_json(capsys):
    assert main(["find", "1024", "4", "--directed", "--json", "--max-steps", "14"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) >= {"frontier", "bounds", "baselines", "best"}
    assert answer["bounds"]["steps"] == 10
    assert answer["bounds"]["t_b"] == "1023/512"
    assert "1023/512" in [row["t_b"] for row in answer["frontier"]]
    assert all(row["steps"] <= 14 for row in answer["frontier"])
    wirings = {b["recipe"]: b for b in answer["baselines"]}
    tori = ["Torus(2,2,256)", "Torus(4,256)", "Torus(8,128)", "Torus(16,64)", "Torus(32,32)"]
    assert set(wirings) == {"UniRing(4,1024)", "BiRing(4,1024)", "ShiftedRing(4,1024)", *tori, "DoubleBinaryTree(1024)"}
    square = wirings["Torus(32,32)"]
    assert (square["schedule_name"], square["steps"], square["our_steps"]) == ("torus rings", 124, 64)
    assert (wirings["Torus(16,64)"]["steps"], wirings["Torus(16,64)"]["our_t_b"]) == (156, "1023/512")


@pytest.mark.slow
def test_command_by_a_job(capsys, tmp_path):
    job = tmp_path / "job.csv"
    job.write_text("collective,size,count\nallreduce,25MB,40\nall-to-all,1MB,100\n")
    assert main(["find", "64", "4", "--sizes", str(job)]) == 0
    assert f"best for the job in {job}: " in capsys.readouterr().out
    (tmp_path / "job.json").write_text('[{"collective": "allreduce", "size": "1KB"}]')
    assert main(["find", "64", "4", "--sizes", str(tmp_path / "job.json"), "--explain"]) == 0
    assert "\n1. " in capsys.readouterr().out
    for text in ("collective,size\nallreduce,25furlongs\n", "collective,size\ngather,1MB\n", "", "size\n1MB\n"):
        job.write_text(text)
        assert main(["find", "64", "4", "--sizes", str(job)]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"linkstep: {job}: ") and err.count("\n") == 1


@pytest.mark.slow
def test_command_says_what_the_minimum_is(capsys):
    assert main(["find", "1000", "4", "--directed", "--max-steps", "2"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\nnothing found with --max-steps 2: with one-way fibres no reduce-scatter and\nallgather of 1000 "
        "servers with 4 ports take fewer than 10 steps together (the\nMoore bound); the best known takes 10\n"
    )
    assert main(["find", "1000", "4", "--directed", "--max-steps", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["frontier"], answer["best"], answer["fewest_steps"], answer["bounds"]["steps"]) == ([], None, 10, 10)


@pytest.mark.parametrize("size", ["nan", "0B", "0MB", "-1MB", "inf", ""])
def test_command_refuses_sizes(capsys, size):
    assert main(["find", "12", "4", f"--size={size}"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("linkstep: ") and captured.err.count("\n") == 1


def test_command_gives_both_halves(capsys):
    """The row has the whole, and JSON its halves."""
    asked = ["find", "47", "3", "--directed", "--alpha", "5us", "--bandwidth", "25Gbps", "--size", "2MB", "--json"]
    assert main([*asked, "--families", "paper"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["alpha_seconds"], answer["node_bandwidth"], answer["size"]) == (5e-6, 25 * 10**9, 2 * 10**6)
    row = answer["frontier"][0]
    assert (row["recipe"], row["allgather_t_b"], row["reduce_scatter_t_b"]) == (
        "Pi_{3,47}",
        "69/47",
        "78/47",
    )
    assert row["allreduce_seconds"] == pytest.approx(8 * 5e-6 + 147 / 47 * 16e6 / 25e9)
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)["frontier"]
    assert all(row["exact"] for row in rows)
    named = next(row for row in rows if row["name"] != row["recipe"])
    assert parse(named["name"]) == parse(named["recipe"]) and len(named["recipe"]) > 255
    assert main(["find", "47", "3", "--directed"]) == 0
    assert f"\n{named['name']} " in capsys.readouterr().out


@pytest.mark.slow
def test_command_says_where_a_cost_is_a_bound(capsys):
    assert main(["find", "3000", "4", "--directed"]) == 0
    out = capsys.readouterr().out
    assert "  <=" in out and "\n<=: " not in out


def test_command_marks_times_at_most_under_a_limit_of_hosts(capsys):
    """Rows of many servers that are not bandwidth-optimal; what is wired today; all-to-alls, whose flow is of links."""
    words = ["find", "600", "4", "--directed", "--host-bandwidth", "60Gbps"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "\n<=: at most, as if every port ran slower by what its host lacks\n" in out
    times = [line for line in out.splitlines() if "  torus rings " in line]
    assert times and all("<=" in line for line in times)
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    for row in facts["frontier"]:
        assert row["allreduce_at_most"] == (not row["bandwidth_optimal"]) == (not row["exact"])
        assert row["all_to_all_at_most"] == (row["all_to_all"] is not None)
    for row in facts["baselines"]:
        optimal = {row["allgather_t_b"], row["reduce_scatter_t_b"]} == {"599/600"}
        assert row["allreduce_at_most"] == (not optimal), row["schedule_name"]
        ours = None if row["our_t_b"] is None else row["our_t_b"] != "599/300"
        assert row["our_allreduce_at_most"] == ours


@pytest.mark.slow
def test_what_comes_next_makes_what_was_found(capsys):
    name = parse("L(Cayley(Z8:Z2[7],{(0,1),(1,0),(3,1),(6,0)}))").short
    for size, how in (("1KB", ""), ("100MB", " --method arrival --steps 4 --rounds 0")):
        assert main(["find", "64", "4", "--directed", "--size", size]) == 0
        line = f"      linkstep schedule '{name}'{how} -o allreduce.npz\n"
        assert line in capsys.readouterr().out
        assert main(["schedule", name, *how.split(), "--size", size, "--json"]) == 0
        seconds = json.loads(capsys.readouterr().out)["seconds"]
        assert main(["find", "64", "4", "--directed", "--size", size, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["best"]["seconds"] == seconds


def test_command_asks_for_matplotlib_before_it_searches(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("linkstep.cli._find.find", None)
    assert main(["find", "64", "4", "--plot", str(tmp_path / "f.svg")]) == 2
    assert "drawing needs matplotlib, which is not installed: python -m pip install" in capsys.readouterr().err
    assert main(["find", "64", "4", "--plot", str(tmp_path / "f.gif")]) == 2
    assert "must end in .svg or .png" in capsys.readouterr().err


def test_find_reports_progress():
    seen = []
    find(96, 4, directed=True, families="paper", progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 2 and all(done <= total for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[-1][0] == seen[-1][1]


@pytest.mark.slow
def test_show_and_find_agree_on_all_to_all(capsys):
    """Self-loops carry nothing: Pi_{3,47} has some."""
    row = next(row for row in find(47, 3, directed=True, families="paper").frontier if str(row.recipe) == "Pi_{3,47}")
    assert not row.is_flow_reached
    assert main(["show", "Pi_{3,47}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["all_to_all_bound"] == str(row.flow)


@pytest.mark.slow
def test_command_plots(capsys, tmp_path):
    assert main(["find", "64", "4", "--plot", str(tmp_path / "f.svg")]) == 0
    assert "torus rings" in (tmp_path / "f.svg").read_text()
    assert main(["find", "64", "4", "--plot", str(tmp_path / "f.gif")]) == 2
    capsys.readouterr()


@pytest.mark.slow
def test_every_size_in_a_minute():
    """All N up to 2000 for d = 2, 4, 8, 16 in paper mode, as sec:topofinder; no size is left without an answer."""
    finder = Finder(paper_bases)
    for degree in (2, 4, 8, 16):
        for nodes in range(degree + 1, 2001):
            assert finder.frontier(nodes, degree), (nodes, degree)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [32, 64, 128, 256, 512, 1024])
def test_the_table_of_the_readme(nodes):
    """Each bandwidth-optimal row at d = 4: allgather and reduce-scatter built, checked, and as cheap as promised."""
    found = next(f for f in find(nodes, 4, directed=True).frontier if f.is_bandwidth_optimal)
    assert found.cost == Cost({32: 3, 64: 4, 128: 4, 256: 5, 512: 5, 1024: 6}[nodes], bandwidth_bound(nodes))
    gather, scatter = found.build("allgather"), found.build("reduce-scatter")
    linkstep.check_allgather(gather)
    linkstep.check_reduce_scatter(scatter)
    assert cost_of(gather) == cost_of(scatter) == found.cost

"""A researcher in a notebook: every verb takes what the one before returned, in exact fractions."""

from fractions import Fraction

import networkx as nx
import pytest

import linkstep


def test_from_question_to_picture():
    answer = linkstep.find(8, 4)
    row = answer.best
    made = linkstep.schedule(row)
    linkstep.check(made)
    cost = linkstep.cost_of(made)
    assert cost == made.cost == row.allreduce_cost == linkstep.Cost(4, Fraction(7, 4))
    assert isinstance(cost.bandwidth, Fraction)
    for runtime in ("msccl", "mscclpp", "cpu"):
        lowered = linkstep.lower(made, runtime)
        assert linkstep.verify(lowered).is_verified
        simulated = linkstep.simulate(lowered)
        assert simulated.predicted == float(linkstep.seconds_of(made, linkstep.Fabric.of("10us", "100Gbps", 4), "1MB"))
    assert linkstep.simulate(linkstep.lower(made, "msccl")).time == pytest.approx(180e-6)


@pytest.mark.parametrize(("nodes", "degree"), [(8, 4), (8, 8), (8, 14), (12, 3), (16, 4), (27, 6), (64, 4)])
def test_a_row_costs_what_its_schedule_does(nodes, degree):
    for row in linkstep.find(nodes, degree).frontier:
        made = linkstep.schedule(row)
        linkstep.check(made)
        assert linkstep.cost_of(made) == made.cost == row.allreduce_cost


def test_figures():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    made = linkstep.schedule(linkstep.find(8, 4))
    for drawn in (linkstep.draw(made), linkstep.draw("K_{4,4}")):
        assert drawn.get_axes() and "<svg" in drawn._repr_svg_()


def test_frames_and_notebooks():
    pytest.importorskip("pandas", reason="frames need pandas")
    answer = linkstep.find(8, 4)
    made = linkstep.schedule(answer)
    frame = answer.to_frame()
    assert list(frame["topology"]) == ["K_{4,4}"] and len(made.to_frame()) == made.schedule.num_rows
    for value in (
        answer,
        answer.best,
        made,
        linkstep.wire(answer),
        linkstep.describe(answer),
        linkstep.all_to_all(answer),
    ):
        html = value._repr_html_()
        assert html.startswith("<") and html.count("<table") == html.count("</table>")
        assert len(repr(value)) < 200 and " at 0x" not in repr(value)


def test_a_graph_of_networkx():
    petersen = nx.petersen_graph()
    made = linkstep.schedule(petersen)
    linkstep.check(made)
    bound = linkstep.wiring_bound(petersen)
    assert bound.cost == linkstep.Cost(2, Fraction(9, 10))
    assert made.cost == linkstep.Cost(2 * bound.cost.steps, 2 * bound.cost.bandwidth)
    assert linkstep.all_to_all(petersen).value == Fraction(1, 5)
    assert linkstep.simulate(made).time >= made.cost.steps * Fraction(10, 10**6)


def test_the_old_word_still_works_and_says_so():
    with pytest.warns(FutureWarning, match=r"bidirectional=True\) is written find\(\.\.\., directed=False\) now"):
        old = linkstep.find(8, 4, bidirectional=True)
    assert old.best.allreduce_cost == linkstep.find(8, 4).best.allreduce_cost
    with pytest.warns(FutureWarning, match="directed=True"):
        assert linkstep.find(8, 4, bidirectional=False).directed

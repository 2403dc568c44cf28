"""The Pareto filter."""

from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.pareto import pareto

FIGURES = st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=30)


@given(FIGURES)
def test_pareto_is_what_no_other_beats(points):
    def beats(a, b):
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    kept = pareto(points, figures=lambda p: p, tie=lambda p: 0)
    assert kept == sorted({p for p in points if not any(beats(q, p) for q in points)})


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3)), max_size=12))
def test_ties_go_to_the_least(points):
    kept = pareto(points, figures=lambda p: (p[0],), tie=lambda p: p[1])
    assert kept == ([min(points)] if points else [])

"""A strategy for recipes: small bases, expanded in every way there is."""

from hypothesis import strategies as st

from linkstep.recipe import Bidirectional, Degree, Line, Power, Product, Recipe, Transpose, parse

SMALL = st.sampled_from(["K_3", "K_{2,2}", "UniRing(1,3)", "BiRing(2,3)", "Diamond", "C(5,{1,2})", "UniRing(1,2)"])


def expansions(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    return st.one_of(
        st.builds(Line, inner, st.integers(1, 2)),
        st.builds(Degree, inner, st.integers(1, 3)),
        st.builds(Power, inner, st.integers(1, 2)),
        st.builds(Bidirectional, inner),
        st.builds(Transpose, inner),
        st.builds(lambda *factors: Product(factors), inner, inner),
    )


RECIPES = st.recursive(SMALL.map(parse), expansions, max_leaves=3)

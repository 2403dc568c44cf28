"""Short names of the catalog's recipes: unique, read back, used inside expansions, refused with what there is."""

import pytest

from linkstep.core.errors import RecipeError
from linkstep.recipe import Line, parse
from linkstep.recipe.names import LONG, catalog_names, name_of
from linkstep.search import find, load_catalog


@pytest.mark.slow
def test_every_entry_has_a_name_of_its_own():
    sizes = {}
    for entry in load_catalog():
        sizes.setdefault((entry.num_nodes, entry.degree), set()).add(entry.recipe)
    for (nodes, degree), recipes in sizes.items():
        assert set(catalog_names(nodes, degree).values()) == recipes
    digits = {len(str(number)) for nodes, degree in sizes for number in catalog_names(nodes, degree)}
    assert max(digits) <= 6  # one more where two would collide


def test_names_read_back():
    for nodes, degree in [(47, 3), (53, 2), (59, 6), (1024, 4)]:
        for text in catalog_names(nodes, degree).values():
            recipe = parse(text)
            assert str(recipe) == text and parse(recipe.short) == recipe
            assert recipe.short == (text if len(text) <= LONG else name_of(text, nodes, degree))
            line = Line(recipe, 2)
            assert parse(line.short) == line
            if len(text) > LONG and name_of(str(line), line.num_nodes, degree) is None:
                assert line.short == f"L^2({recipe.short})"
    long = next(text for text in catalog_names(47, 3).values() if len(text) > LONG)
    both = parse(f"{long} x {long}^2 x K_2")
    assert len(both.short) < 80 and parse(both.short) == both


def test_what_has_no_name_is_written_out():
    text = "Cayley(Z97,{" + ",".join(str(3 * k) for k in range(1, 31)) + "})"
    assert parse(text).short == text and len(text) > LONG
    assert parse("Torus(4,4)").short == "Torus(4,4)"


def test_wrong_names():
    with pytest.raises(RecipeError, match=r"Cat\(47,3,1\) is not in the catalog; its numbers for N=47, d=3: \d+, \d+"):
        parse("L(Cat(47,3,1))")
    with pytest.raises(RecipeError, match=r"its numbers for N=47, d=99: none"):
        parse("Cat(47,99,1)")
    for text in ("Cat", "Cat(1,2)", "Cat_3", "Cat({1},2,3)", "Cat(Z5,2,3)"):
        with pytest.raises(RecipeError, match=r"Cat is written Cat\(N,d,number\)"):
            parse(text)


def test_find_gives_short_names():
    short = [row.recipe.short for row in find(47, 3, directed=True).frontier]
    assert max(map(len, short)) <= LONG and any(name.startswith("Cat(47,3,") for name in short)

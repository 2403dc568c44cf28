"""The public surface: one ``dir(linkstep)`` shows all of it, every name is there, and nothing shadows a room."""

import ast
import pkgutil
import re
import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import linkstep

VERBS = [
    "find", "schedule", "check", "lower", "verify", "simulate", "parse", "load", "save", "wire", "draw", "describe",
    "trade_off", "check_all_to_all", "all_to_all", "synthesize", "fit",
]  # fmt: skip
ROOMS = ["baselines", "faults", "timelines", "training"]


def test_dir_lists_the_verbs_and_the_types():
    names = dir(linkstep)
    assert names == sorted(linkstep.__all__)
    assert {*VERBS, *ROOMS} < set(names)
    for kept in ("bfb_cost", "bfb_allgather", "cost_of", "Topology", "Schedule", "check_allgather", "check_allreduce"):
        assert kept in names


@pytest.mark.parametrize("name", sorted(linkstep.__all__))
def test_every_name_is_there(name):
    value = getattr(linkstep, name)
    assert name == "__version__" or value.__name__.rpartition(".")[2] == name


def test_rooms_among_the_names():
    assert {name for name in linkstep.__all__ if isinstance(getattr(linkstep, name), ModuleType)} == set(ROOMS)
    topology = linkstep.parse("Torus(4,4)").topology()
    cut = linkstep.faults.apply(topology, [linkstep.faults.parse("cut", "0,1")], Fraction(10**9))
    assert linkstep.describe(cut).topology.num_links == topology.num_links - 2
    assert linkstep.baselines.baseline("swing", "Torus(4,4)").num_nodes == 16
    assert "gpt2-small" in linkstep.training.model_names()


@pytest.mark.slow
def test_every_name_comes_on_its_own():
    """Whatever is asked for first: rooms whose modules nothing has imported yet, too."""
    code = f"import linkstep; print(*(getattr(linkstep, name).__name__ for name in {ROOMS[::-1]!r}))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "linkstep.simulation.training linkstep.timelines linkstep.core.faults linkstep.baselines\n"


def test_no_name_shadows_a_room():
    for room in {module.name for module in pkgutil.iter_modules(linkstep.__path__)} & set(linkstep.__all__):
        assert getattr(linkstep, room) is import_module(f"linkstep.{room}")
    for room in pkgutil.walk_packages(linkstep.__path__, "linkstep."):
        if room.ispkg:
            package = __import__(room.name, fromlist=["__all__"])
            inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
            assert not inside & set(getattr(package, "__all__", ())), room.name


def test_a_public_class_name_stands_for_one_thing():
    texts = {path: path.read_text(encoding="utf-8") for path in Path(linkstep.__file__).parent.rglob("*.py")}
    names = [
        (name, path) for path, text in texts.items() for name in re.findall(r"^\s*class ([A-Za-z]\w*)", text, re.M)
    ]
    assert len(names) > 200
    several = {name for name, count in Counter(name for name, _ in names).items() if count > 1}
    homes = defaultdict(list)
    for path in sorted({path for name, path in names if name in several}):  # a line may be part of a text
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.ClassDef) and node.name in several:
                homes[node.name].append(f"{path.name}:{node.lineno}")
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_the_list_is_read_as_type_checkers_read_it():
    stub = Path(linkstep.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    told = []
    for node in ast.parse(stub).body[1:]:
        homes = [(one.name if isinstance(node, ast.Import) else node.module, one.asname) for one in node.names]
        told += [(name, (home, isinstance(node, ast.Import))) for home, name in homes]
    assert len(told) == len(dict(told))
    assert dict(told) == linkstep._HOMES


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match="module 'linkstep' has no attribute 'gossip'"):
        linkstep.gossip  # noqa: B018


def test_importing_is_cheap():
    """A script pays for what it uses: neither numpy nor numba before the first name is asked for."""
    code = "import sys, linkstep; print(any(m in sys.modules for m in ('numpy', 'numba', 'typing')))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        ("linkstep.parse('Torus(4,4)')", "parse('Torus(4,4)')"),
        ("linkstep.parse('Torus(4,4)').topology()", "<Topology 'Torus(4,4)' N=16 d=4 links=64>"),
        ("linkstep.parse('K_3').build()", "<Schedule allgather on K_3: 6 rows, 1 steps, unit 1>"),
        ("linkstep.parse('L(K_{2,2})').cost", "Cost(steps=3, bandwidth=Fraction(1, 1))"),
    ],
)
def test_short_reprs(thing, shown):
    assert repr(eval(thing)) == shown


@pytest.mark.parametrize(
    "thing",
    [
        "linkstep.schedule('Torus(4,4)', 'allreduce')",
        "linkstep.find(32, 4)",
        "linkstep.find(32, 4).frontier[0]",
        "linkstep.lower(linkstep.parse('K_4').build('allreduce'), 'msccl')",
        "linkstep.read_program(linkstep.lower(linkstep.parse('K_4').build('allreduce'), 'msccl').text)",
        "linkstep.bfb_certificate(linkstep.parse('Torus(4,4)').topology())",
        "linkstep.wire(linkstep.parse('Torus(4,4)').topology())",
    ],
)
def test_reprs_fit_a_line_or_two(thing):
    assert len(repr(eval(thing))) < 240


def test_answers_are_tables_in_notebooks():
    assert linkstep.find(5, 4)._repr_html_() == (
        "<table><caption>N=5, d=4</caption><tr><th>K_5</th><td>2 alpha + 8/5 M/B</td></tr>"
        "<tr><th>no wiring beats</th><td>2 alpha + 8/5 M/B</td></tr></table>"
    )

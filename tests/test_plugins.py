"""Plug-ins: rows of one's own from a program, a file and an installed package; the examples, and what is refused."""

import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from pathlib import Path

import pytest

import linkstep
from linkstep.baselines import baseline
from linkstep.cli import main
from linkstep.core import plugins, tables
from linkstep.core.plugins import ROWS, VARIABLE, load_file
from linkstep.core.tables import TABLES
from linkstep.costs import Cost, CostModel, Fabric, load_fabric, save_fabric, seconds_of
from linkstep.engines import Engine
from linkstep.families import _TAKEN, FAMILIES, Family
from linkstep.lowering import FORMS, TARGETS, Form, Target, lower
from linkstep.recipe.grafted import GRAFTS
from linkstep.scheduling import METHODS, Method, ScheduleResult
from linkstep.search.bases import family_bases
from linkstep.search.finders import finder
from linkstep.timelines import Export

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "plugins"


def rows():
    return {kind.__name__: table.known for kind, table in TABLES.items()}


@pytest.fixture(autouse=True)
def tables_stay_as_they_are(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    before = rows()
    yield
    assert rows() == before and not plugins._registered and VARIABLE not in os.environ


def family(name="Toy", **changes):
    given = {
        "name": name, "title": "toy", "params": ("int",), "notation": f"{name}(m)", "coverage": "d = 1",
        "build": lambda m: linkstep.Topology.from_links(m, range(m), [(u + 1) % m for u in range(m)]),
        "size": lambda m: (m, 1), "members": lambda n, d: iter([(n,)] if d == 1 and n > 1 else []),
    }  # fmt: skip
    return Family(**given | changes)


def example(name):
    return str(EXAMPLES / f"{name}.py")


@pytest.fixture
def registered_by():
    """Run an example as a program does; what it registered goes at the end of the test."""
    start = len(plugins._registered)
    yield lambda name: runpy.run_path(example(name))
    plugins._remove(plugins._registered[start:])


def out(capsys, *words, code=0):
    assert main(list(words)) == code
    return capsys.readouterr().out


def refused(capsys, *words):
    assert main(list(words)) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err.removeprefix("linkstep: ").rstrip("\n")


# --- the examples ---


def test_there_is_an_example_of_each():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "family", "method", "baseline", "cost_model", "target", "engine", "price",
    }  # fmt: skip


def test_every_kind_of_row_is_listed():
    """The page, and the list of where rows are imported from, name those that there are."""
    page = (ROOT / "docs" / "reference" / "plugins.md").read_text()
    assert {kind.__name__ for kind in TABLES} == set(ROWS)
    for name, module in ROWS.items():
        assert getattr(sys.modules[module], name) in TABLES
        assert f"`{name}`" in page and f"`{module}`" in page


def test_family(capsys, registered_by):
    file = example("family")
    assert "Prism(m)" in out(capsys, "families", "--plugin", file)
    assert "Prism(8)" in out(capsys, "families", "--nodes", "16", "--degree", "3", "--plugin", file)
    assert json.loads(out(capsys, "show", "L(Prism(6))", "--json", "--plugin", file))["nodes"] == 36
    assert "Prism(m) needs m >= 3, not 2" in refused(capsys, "show", "Prism(2)", "--plugin", file)
    assert "no family is called 'Prism'" in refused(capsys, "show", "Prism(6)")
    finders = finder("all", False)
    registered_by("family")
    assert finder("all", False) is not finders
    made = linkstep.schedule("Prism(6)", "allreduce")
    assert made.cost == Cost(8, Fraction(11, 6))
    assert "Prism(6)" in {str(row.recipe) for row in family_bases(12, 3, compute=False)}  # no sweep has seen it


def test_a_family_that_wins_is_found():
    """One that claims what no graph has, where the catalog has all that was searched for."""
    claim = (Cost(2, Fraction(63, 64)),) * 2
    wonder = family(
        "Wonder", params=("int", "int"), notation="Wonder(n,d)", size=lambda n, d: (n, d),
        members=lambda n, d: iter([(n, d)] if (n, d) == (64, 4) else []),
        build=lambda n, d: linkstep.parse("Torus(8,8)").topology(),
        costs=lambda n, d: claim, bidirectional=lambda n, d: True,
    )  # fmt: skip
    before = {str(row.recipe) for row in linkstep.find(64, 4).frontier}
    with linkstep.register(wonder):
        assert "Wonder(64,4)" in {str(row.recipe) for row in linkstep.find(64, 4).frontier}
    assert {str(row.recipe) for row in linkstep.find(64, 4).frontier} == before


def test_method(capsys, registered_by):
    file = example("method")
    words = ("schedule", "Torus(4,4)", "--method", "trees", "--plugin", file)
    assert "allreduce by a tree of shortest paths for each shard, checked" in out(capsys, *words)
    assert "method trees makes no all-to-all" in refused(capsys, *words, "--collective", "all-to-all")
    assert "trees a tree of shortest paths" in " ".join(out(capsys, "schedule", "--help", "--plugin", file).split())
    assert "trees" not in out(capsys, "schedule", "--help")
    registered_by("method")
    for collective in ("allgather", "reduce-scatter", "allreduce", "broadcast"):
        made = linkstep.schedule("Pi_{3,10}", collective, method="trees")
        linkstep.check(made.schedule)
        assert (made.method, made.schedule.method) == ("trees", "trees")
    assert linkstep.schedule("Pi_{3,10}", "allreduce").method != "trees"


def test_baseline(capsys, registered_by):
    file = example("baseline")
    found = json.loads(out(capsys, "baselines", "8", "7", "--json", "--plugin", file))["baselines"]
    assert ("K_8", "direct") in {(row["recipe"], row["schedule"]) for row in found}
    words = ("baselines", "8", "7", "--on", "K_8", "--schedule", "direct", "--plugin", file)
    assert "K_8: allreduce by direct, checked" in out(capsys, *words)
    registered_by("baseline")
    one = baseline("direct", "K_6")
    for collective in ("allgather", "allreduce"):
        made = one.schedule(collective)
        linkstep.check(made)
        assert linkstep.cost_of(made) == (one.cost if collective == "allgather" else one.cost + one.cost)
    assert "direct" in {row.name for row in linkstep.find(8, 7).baselines}


def test_cost_model(capsys, registered_by, tmp_path):
    path, file = tmp_path / "slow.json", example("cost_model")
    given = {"alpha": "10us", "bandwidth": "100Gbps", "degree": 4, "sync": "3us"}
    path.write_text(json.dumps({"format": "linkstep-fabric", "version": 1, **given}))
    words = ("schedule", "K_{4,4}", "--fabric", str(path))
    assert "time for 1MB    192us (alpha 10us, 100Gbps a server, sync 3us)" in out(capsys, *words, "--plugin", file)
    assert "has 'sync', which no fabric has" in refused(capsys, *words)
    registered_by("cost_model")
    plain, slow = Fabric.of("10us", "100Gbps", 4), Fabric.of("10us", "100Gbps", 4, sync="3us")
    assert load_fabric(path) == slow != plain
    save_fabric(slow, tmp_path / "again.json")
    assert load_fabric(tmp_path / "again.json") == slow
    made = linkstep.schedule("K_{4,4}", "allreduce")
    more = 4 * Fraction(3, 10**6)
    assert seconds_of(made.schedule, slow, "1MB") == seconds_of(made.schedule, plain, "1MB") + more
    assert slow.time(made.cost, "allreduce", "1MB") == plain.time(made.cost, "allreduce", "1MB") + more
    assert slow.with_degree(2).number("sync") == Fraction(3, 10**6) and plain.number("sync") == 0


def test_a_cost_model_of_a_rate():
    def switch(step, fabric):
        rate = fabric.number("backplane")
        return sum((bits for _, _, _, bits in step.links), Fraction(0)) / rate if rate else Fraction(0)

    with linkstep.register(CostModel("backplane", "one switch", ("backplane",), switch, rates=("backplane",))):
        fabric = Fabric.of("1us", "8Gbps", 1, backplane="4Gbps")
        made = linkstep.parse("UniRing(1,4)").build("allgather")
        assert seconds_of(made, fabric, 4000) == 3 * Fraction(8000, 4 * 10**9)
        with pytest.raises(linkstep.LinkstepError, match="4us"):
            Fabric.of("1us", "8Gbps", 1, backplane="4us")


def test_target(capsys, registered_by, tmp_path):
    file, path = example("target"), tmp_path / "ar.jsonl"
    words = ("lower", "K_{4,4}", "--to", "jsonl", "-o", str(path), "--plugin", file)
    said = out(capsys, *words)
    assert "lowered to jsonl and verified as a program: linkstep does not read such files back" in said
    head, *lines = map(json.loads, path.read_text().splitlines())
    assert head == {"collective": "allreduce", "ranks": 8, "chunks": 32}
    assert {line["type"] for line in lines} <= {"send", "recv", "reduce", "copy", "sync"}
    said = out(capsys, "simulate", "K_{4,4}", "--to", "jsonl", "--plugin", file)
    assert "allreduce of 1MB for jsonl, simulated" in said and "180us, the same" in said
    assert "invalid choice: 'jsonl'" in refused(capsys, *words[:-2])
    registered_by("target")
    lowered = lower(linkstep.parse("K_3").build("allgather"), "jsonl")
    assert lowered.text.startswith('{"collective": "allgather", "ranks": 3')
    assert linkstep.simulate(linkstep.parse("K_3").build(), Fabric.of("1us", "1Gbps", 2), "1MB", to="jsonl").time > 0


def test_a_target_of_a_form_that_there_is(tmp_path, capsys):
    """Other limits alone: its files are read by the reader of that form's other targets."""
    small = Target(
        name="small", note="few threadblocks", form="blocks", suffix=".xml",
        collectives={linkstep.Collective.ALLREDUCE: "allreduce"}, max_blocks=2,
    )  # fmt: skip
    with linkstep.register(small):
        assert linkstep.verify(lower(linkstep.parse("K_2").build("allreduce"), "small").text).is_verified
        with pytest.raises(linkstep.LinkstepError, match="threadblocks"):
            lower(linkstep.parse("K_8").build("allreduce"), "small")


@pytest.mark.slow
def test_engine(capsys, monkeypatch, registered_by):
    for name in ("PMI_RANK", "RANK", "FILE_RANK"):
        monkeypatch.delenv(name, raising=False)
    words = ("run", "UniRing(1,3)", "--engine", "files", "--size", "1003B", "--repetitions", "2", "--json")
    document = json.loads(out(capsys, *words, "--plugin", example("engine")))
    assert (document["engine"], document["method"]) == ("files", "bfb")
    assert [(row["wrong"], row["own_median_seconds"]) for row in document["rows"]] == [(0, None)]
    assert "invalid choice: 'files'" in refused(capsys, *words[:-1])
    registered_by("engine")
    assert linkstep.engines.transports.engine.engine_named("files").rank_of({"FILE_RANK": "2"}) == "2"


@pytest.mark.slow
def test_price(capsys):
    done = subprocess.run([sys.executable, example("price")], capture_output=True, text=True, check=True)
    cheap, narrow = done.stdout.splitlines()
    assert "by bfb: 6 alpha + 128/51 M/B" in cheap and "14 alpha" in narrow
    price = runpy.run_path(example("price"))["price"]
    assert price(Cost(6, Fraction(1))) == 5 * 6 + 20 * 2 + 80
    assert "registers nothing" in refused(capsys, "show", "K_4", "--plugin", example("price"))


class Callable:
    def __call__(self, cost):
        return float(cost.bandwidth)


@pytest.mark.parametrize("price", [Callable(), attrgetter("steps"), lambda cost: Decimal(cost.steps)])
def test_any_callable_is_a_price(price):
    assert linkstep.schedule("Pi_{4,9}", "allreduce", price=price).schedule.num_rows


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (lambda cost: "cheap", "price must return a number, not 'cheap' as for 1 alpha + 1 M/B"),
        (lambda cost: None, "price must return a number, not None as for"),
        (lambda cost: float("nan"), "price must return a number, not nan as for"),
        (lambda cost: 1j, "price must return a number, not 1j as for"),
        (lambda cost: True, "price must return a number, not True as for"),
        (lambda cost: 1 / 0, "price fails for 1 alpha + 1 M/B: ZeroDivisionError: division by zero"),
        (lambda: 1, "price fails for 1 alpha + 1 M/B: TypeError: "),
        (5, "price must be a function of a cost, not 5"),
    ],
)
def test_what_is_no_price(price, said):
    with pytest.raises(linkstep.LinkstepError, match=f"^{re.escape(said)}") as caught:
        linkstep.schedule("Pi_{4,9}", "allreduce", price=price)
    assert "\n" not in str(caught.value)


# --- registering ---


def test_registering_is_undone():
    before = rows()
    with linkstep.register(family("One"), family("Two")) as both:
        assert linkstep.parse("One(3) x Two(3)").num_nodes == 9
        assert repr(both) == "<Registration of family, family>"
    assert rows() == before
    again = linkstep.register(family("One"))
    again.undo()
    again.undo()
    assert rows() == before


def test_all_or_none():
    with pytest.raises(linkstep.LinkstepError, match=r"^there is a family 'Q' already: choose another name$"):
        linkstep.register(family("One"), family("Q"))


def method(name="mine", make=None):
    return Method(name, "mine", make or (lambda request: None), lambda r: None, lambda r: None, lambda r, o: [], turn=9)


def target(**changes):
    given = {"name": "mine", "note": "mine", "form": "lists", "suffix": ".txt", "collectives": {"allreduce": "a"}}
    return Target(**given | changes)


def engine(name):
    return Engine(name=name, title="mine", open=print, rank_variables=(), start=print)


def no_step(step, fabric):
    return Fraction(0)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (lambda: 5, "register takes rows, such as a Family or a Method, not 5"),
        (lambda: Family, "register takes rows, such as a Family or a Method, not a type"),
        (lambda: [family()], "register takes rows, such as a Family or a Method, not [a Family]"),
        (lambda: family("K"), "there is a family 'K' already: choose another name"),
        (lambda: family(notation="Q(n)"), "there is a family 'Q(n)' already: choose another name"),
        (lambda: family(aliases=("Torus",)), "there is a family 'Torus' already: choose another name"),
        (lambda: family("xRing"), "family 'xRing(m)': 'xRing' cannot begin a recipe: take letters, no x first, "),
        (lambda: family("Ring2"), "family 'Ring2(m)': 'Ring2' cannot begin a recipe: "),
        (lambda: family("Cat"), "family 'Cat(m)': 'Cat' cannot begin a recipe: "),
        (lambda: family(build=5), "family: build must be a function, not 5"),
        (lambda: family(name=5), "family: name must be text, not 5"),
        (lambda: family(""), "family: a name must be one line of text, not ''"),
        (lambda: method("bfb"), "there is a method 'bfb' already: choose another name"),
        (lambda: method("best"), "method 'best': that is the best of all methods"),
        (lambda: CostModel("hosts", "", (), no_step), "there is a cost model 'hosts' already"),
        (lambda: CostModel("mine", "", ("a b",), no_step), "cost model 'mine': 'a b' cannot be a number of a fabric"),
        (lambda: CostModel("mine", "", ("degree",), no_step), "cost model 'mine': 'degree' cannot be a number"),
        (lambda: target(name="cpu"), "there is a target 'cpu' already: choose another name"),
        (lambda: target(form="trees"), "target 'mine': form must be one of blocks, ports, lists, not 'trees'"),
        (lambda: target(suffix="txt"), "target 'mine': suffix must be such as '.json', not 'txt'"),
        (lambda: target(collectives={"gossip": "g"}), "target 'mine': collectives has 'gossip', which is none"),
        (lambda: target(collectives={}), "target 'mine': collectives must have a word for at least one"),
        (lambda: Form("lists", no_step, no_step, no_step), "there is a form 'lists' already"),
        (lambda: engine("mpi"), "there is an engine 'mpi' already: choose another name"),
        (lambda: Export(".csv", "", no_step), "there is a timeline export '.csv' already"),
        (lambda: Export("txt", "", no_step), "timeline export 'txt': an ending is such as '.json'"),
    ],
)  # fmt: skip
def test_rows_that_are_refused(row, said):
    with pytest.raises(linkstep.LinkstepError) as caught:
        linkstep.register(row())
    assert str(caught.value).startswith(said)


def test_a_baseline_needs_a_family():
    from linkstep.baselines import BaselineAlgorithm

    row = BaselineAlgorithm("mine", "mine", "Nowhere(m)", no_step, no_step)
    with pytest.raises(linkstep.LinkstepError, match=r"no family is written 'Nowhere\(m\)': `linkstep families` lists"):
        linkstep.register(row)


def test_nothing_to_register():
    with pytest.raises(linkstep.LinkstepError, match=r"^register takes a row or several, and was given none$"):
        linkstep.register()


def test_words_of_recipes_are_taken():
    assert {graft.word for graft in GRAFTS} | {"L", "Bi", "T", "Cat", "Copies", "Idle"} == _TAKEN


def made(recipe, collective):
    return linkstep.parse(recipe).build(collective)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda request: None, "method mine must make a ScheduleResult, not None"),
        (lambda request: made("K_4", "allgather"), "method mine must make a ScheduleResult, not a Schedule"),
        (lambda request: ScheduleResult(made("K_4", "allgather"), ""), "was asked for allreduce, and made "),
        (lambda request: ScheduleResult(made("K_5", "allreduce"), ""), "was asked for allreduce, and made "),
    ],
)  # fmt: skip
def test_what_a_method_makes_is_what_it_was_asked_for(make, said):
    with linkstep.register(method(make=make)), pytest.raises(linkstep.LinkstepError, match=re.escape(said)):
        linkstep.schedule("K_4", "allreduce", method="mine")


def test_best_asks_a_registered_method():
    bfb = METHODS["bfb"]
    mine = replace(bfb, name="mine", title="as good", turn=9, wins_ties=True)
    with linkstep.register(mine):
        assert linkstep.schedule("K_4", "allreduce").method == "mine"
        assert linkstep.schedule("K_4", "allreduce", method="bfb").method == "bfb"
    assert linkstep.schedule("K_4", "allreduce").method == "bfb"


def test_a_form_writes_a_file():
    form = Form("mine", FORMS["lists"].fit, FORMS["lists"].head, lambda program, head: "text")
    with linkstep.register(form, target(form="mine")):
        lowered = lower(linkstep.parse("K_3").build("allreduce"), "mine")
        with pytest.raises(linkstep.LinkstepError, match=r"^form mine must write a File, not 'text'$"):
            _ = lowered.text


# --- files ---


GOOD = "import linkstep\nfrom linkstep.costs import CostModel\n"
ROW = 'linkstep.register(CostModel("nothing", "nothing", (), lambda step, fabric: 0))\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", " registers nothing: call linkstep.register with a row"),
        ("x = 1\ny = x / 0\n", ", line 2: ZeroDivisionError: division by zero"),
        ("x = 1\n\n\ny = x x\n", ", line 4: SyntaxError: invalid syntax"),
        ("import nowhere_at_all\n", ", line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (GOOD + "linkstep.register(5)\n", ", line 3: register takes rows, such as a Family or a Method, not 5"),
        (GOOD + ROW + ROW, ", line 4: there is a cost model 'nothing' already: choose another name"),
        (GOOD + ROW + "raise SystemExit(3)\n", ", line 4: SystemExit: 3"),
        ("x = '\0'", ": SyntaxError: source code string cannot contain null bytes"),
    ],
)
def test_files_that_are_refused(tmp_path, capsys, text, said):
    path = tmp_path / "my.py"
    path.write_text(text)
    found = refused(capsys, "show", "K_4", "--plugin", str(path))
    assert (
        found.replace("ValueError: source", "SyntaxError: source") == f"plug-in {path}{said}"
    )  # as Python 3.11.2 has it
    with pytest.raises(linkstep.LinkstepError):
        load_file(str(path))
    assert not [name for name in sys.modules if name.startswith("linkstep_plugin")]


def test_files_that_are_none(tmp_path, capsys):
    for words in (["--plugin", str(tmp_path)], [f"--plugin={tmp_path}"]):
        assert refused(capsys, "show", "K_4", *words) == f"plug-in {tmp_path}: it is no file"
    assert refused(capsys, "--plugin", "no.py", "show", "K_4") == "plug-in no.py: there is no such file"
    assert refused(capsys, "show", "K_4", "--plugin") == "--plugin takes a file"
    assert refused(capsys, "show", "K_4", "--plug", "no.py").startswith("write --plugin in full; ")


def test_several_files_before_and_after_the_command(capsys):
    words = [
        "--plugin",
        example("family"),
        "schedule",
        "Prism(4)",
        f"--plugin={example('method')}",
        "--method",
        "trees",
    ]
    assert "Prism(4): allreduce by a tree of shortest paths" in out(capsys, *words)
    words = ["--plugin", example("family")] * 2 + ["show", "Prism(4)"]
    assert out(capsys, *words).startswith("Prism(4)")  # one file twice is one file


def test_an_error_while_it_is_used_says_where(tmp_path, capsys):
    path = tmp_path / "my.py"
    text = (
        Path(example("family"))
        .read_text()
        .replace("after = (node + 1) % size", "after = (node + 1) / (size - size)[0]")
    )
    path.write_text(text)
    line = next(k for k, one in enumerate(text.splitlines(), 1) if "/ (size - size)" in one)
    said = refused(capsys, "show", "Prism(4)", "--plugin", str(path))
    assert said == f"plug-in {path}, line {line}: TypeError: 'int' object is not subscriptable"


def test_commands_that_others_run_keep_their_words():
    from linkstep.cli._plugins import plugin_files

    words = ["testbed", "exec", "lab", "all", "linkstep", "run", "--plugin", "my.py"]
    assert plugin_files(words) == (words, [])
    assert plugin_files(["show", "--", "--plugin"]) == (["show", "--", "--plugin"], [])


def test_every_command_has_it(capsys):
    from linkstep.cli._parser import NAMES

    for name in NAMES:
        assert "--plugin FILE" in out(capsys, name, "--help")


# --- installed packages, and the environment ---


def linkstep_there(site, *words, code=0, **variables):
    """Run linkstep where a folder of packages is installed."""
    path = os.pathsep.join([str(site), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", "linkstep", *words], env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def installed(site, name, entry, text):
    """Install a package of one module, as pip leaves it."""
    site.mkdir(exist_ok=True)
    (site / f"{name}.py").write_text(text)
    info = site / f"{name}-1.2.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[linkstep.plugins]\n{name} = {entry}\n")
    return site


@pytest.mark.slow
def test_an_entry_point_is_a_module(tmp_path):
    mark = "open(__file__ + '.was-imported', 'w').close()\n"
    site = installed(tmp_path / "site", "prisms", "prisms", Path(example("family")).read_text() + mark)
    assert linkstep_there(site, "--version").startswith("linkstep ")
    assert linkstep_there(site, "convert", "K_4", str(tmp_path / "k.csv")) and (tmp_path / "k.csv").exists()
    assert not (site / "prisms.py.was-imported").exists()  # every name was known
    assert linkstep_there(site, "show", "Prism(6)").startswith("Prism(6)")
    assert (site / "prisms.py.was-imported").exists()
    assert "Prism(m)" in linkstep_there(site, "families")
    said = linkstep_there(site, "show", "Prism(6)", LINKSTEP_PLUGINS="none", code=2)
    assert "no family is called 'Prism'" in said
    assert "no family is called 'Prism'" in linkstep_there(site, "show", "Prism(6)", "--plugin", "none", code=2)


def test_an_entry_point_is_a_function(tmp_path):
    text = (
        Path(example("family"))
        .read_text()
        .replace("\nlinkstep.register(PRISM)", "\n\ndef add():\n    linkstep.register(PRISM)")
    )
    site = installed(tmp_path / "site", "prisms", "prisms:add", text)
    assert linkstep_there(site, "show", "Prism(6)").startswith("Prism(6)")


@pytest.mark.slow
def test_what_is_installed_outlives_a_file(tmp_path):
    """Files are of one command; commands in one process after it still know what is installed."""
    add = "\n\ndef add():\n    linkstep.register(PRISM)"
    text = Path(example("family")).read_text().replace("\nlinkstep.register(PRISM)", add)
    site = installed(tmp_path / "site", "prisms", "prisms:add", text)
    code = f"""if True:
        from linkstep.cli import main
        assert main(["show", "Prism(6)", "--plugin", "none"]) == 2
        assert main(["schedule", "Prism(6)", "--method", "trees", "--plugin", {example("method")!r}]) == 0
        assert main(["schedule", "Prism(6)", "--method", "trees"]) == 2
        assert main(["show", "Prism(6)", "--plugin", "none"]) == 0  # it was loaded before
        assert main(["show", "Prism(6)"]) == 0
    """
    path = os.pathsep.join([str(site), str(ROOT / "src")])
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n1 / 0\n", "FILE, line 2: ZeroDivisionError: division by zero"),
        pytest.param("x = 1\n", "it registers nothing", marks=pytest.mark.slow),
    ],
)
def test_an_entry_point_that_fails(tmp_path, text, said):
    site = installed(tmp_path / "site", "bad", "bad", text)
    line = linkstep_there(site, "families", code=2)
    expected = f"linkstep: plug-in 'bad' of bad 1.2: {said}; uninstall it, or set LINKSTEP_PLUGINS=none\n"
    assert line == expected.replace("FILE", str(site / "bad.py"))
    assert linkstep_there(site, "--version")
    assert "Torus(d1,d2,...)" in linkstep_there(site, "families", LINKSTEP_PLUGINS="none")


def test_the_environment_names_files(monkeypatch, capsys):
    files = os.pathsep.join([example("family"), example("method")])
    monkeypatch.setenv(VARIABLE, files)
    start = len(plugins._registered)
    tables.look_again()
    try:
        assert "Prism(4): allreduce by a tree of shortest" in out(capsys, "schedule", "Prism(4)", "--method", "trees")
        assert len(plugins._registered) == start + 2
    finally:
        plugins._remove(plugins._registered[start:])
        plugins._loaded.clear()
    monkeypatch.setenv(VARIABLE, "no.py")
    tables.look_again()
    for _ in range(2):  # not only the first time
        assert refused(capsys, "families") == "plug-in no.py: there is no such file"
    monkeypatch.delenv(VARIABLE)
    assert "Torus" in out(capsys, "families")


def test_a_name_that_is_known_asks_for_no_plugin():
    code = """if True:
        import sys
        from linkstep.cli import main
        main(["--version"])
        assert "importlib.metadata" not in sys.modules and "linkstep.core.plugins" not in sys.modules
        import linkstep
        from linkstep.core import tables
        from linkstep.lowering import TARGETS
        from linkstep.scheduling import METHODS
        assert linkstep.parse("L(K_4)").num_nodes == 12
        assert "bfb" in METHODS and "cpu" in TARGETS
        assert not tables._is_looked_for
        assert "bfs" not in METHODS
        assert tables._is_looked_for
    """
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_tables_are_read_as_before():
    assert len(FAMILIES) == len(list(FAMILIES)) and FAMILIES[0] in FAMILIES and FAMILIES[1:3] == FAMILIES.known[1:3]
    assert next(iter(TARGETS)) == "mscclpp" and TARGETS.get("gpu") is None and len(METHODS) == len(METHODS.known)
    with pytest.raises(KeyError):
        METHODS["bfs"]

"""Reports: the table lists all views, the page describes what JSON has, values stay exact until they are written."""

import ast
import inspect
import json
import pkgutil
import re
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Annotated, ClassVar, get_type_hints

import pytest
from scripts import make_reports_page as page

import linkstep.reports
from linkstep import Fabric, Topology, find, save, schedule
from linkstep.cli import main
from linkstep.costs import Cost, load_runs
from linkstep.description import describe
from linkstep.recipe import parse
from linkstep.reports import VIEWS, load_view
from linkstep.reports.find import FindReport
from linkstep.reports.pricing import FabricFacts, FabricText, Pricing
from linkstep.reports.schedule import ScheduleReport
from linkstep.reports.topology import TopologyReport
from linkstep.reports.view import FieldForm, Seconds, View, to_members

MODULES = [module.name for module in pkgutil.iter_modules(linkstep.reports.__path__)]
PRICING = Pricing("1MB", Fabric.of("10us", "100Gbps", 4))


def classes() -> dict[str, type]:
    """Return every dataclass of the package by module and name."""
    modules = [import_module(f"linkstep.reports.{name}") for name in MODULES]
    return {
        f"{module.__name__.rsplit('.', 1)[1]}.{name}": thing
        for module in modules
        for name, thing in vars(module).items()
        if isinstance(thing, type) and is_dataclass(thing) and thing.__module__ == module.__name__
    }


# The table


def test_the_table_has_every_view():
    views = {name: kind for name, kind in classes().items() if issubclass(kind, View)}
    assert sorted(views) == sorted(f"{row.module}.{row.kind}" for row in VIEWS)
    assert len({row.report for row in VIEWS}) == len(VIEWS)
    for row in VIEWS:
        assert (load_view(row.report).report, load_view(row.report).version) == (
            row.report,
            1 if row.report == "error" else 2,
        )


@pytest.mark.parametrize("name", sorted(classes()))
def test_reports_cannot_be_changed(name):
    kind = classes()[name]
    one = object.__new__(kind)
    with pytest.raises(FrozenInstanceError):
        setattr(one, fields(kind)[0].name, None)


@pytest.mark.parametrize("name", MODULES)
def test_reports_print_nothing(name):
    """Nor do they ask what a terminal is like; that they parse no options is a contract of import-linter."""
    tree = ast.parse(inspect.getsource(import_module(f"linkstep.reports.{name}")))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    imported = {alias.name for node in names for alias in node.names}
    assert not called & {"print", "input", "open"}
    assert not imported & {"sys", "os", "shutil", "argparse"}


# The page


def test_the_page_is_made_from_the_source():
    made = page.make_page()
    assert page.PAGE.read_text() == made, "run scripts/make_reports_page.py"
    assert "|  |" not in made, "a member that nothing is said of"


def as_version_1(run):
    """Return a run as it was written before: by other names, and loads as lists."""
    names = {"t_b": "bandwidth", "step_loads": "loads"}
    row_names = {"cables_over_schedule": "cables"} | {
        f"{name}_seconds": name for name in ("min", "median", "p99", "own_median", "predicted")
    }
    older = {names.get(name, name): value for name, value in run.items()}
    older |= {"format": "linkstep-run", "version": 1, "loads": [list(load.values()) for load in run["step_loads"]]}
    older["rows"] = [{row_names.get(name, name): value for name, value in row.items()} for row in run["rows"]]
    assert {"bandwidth", "loads"} < older.keys() and "median" in older["rows"][0]
    return older


def test_a_run_is_a_file_of_measured_runs(folder, capsys):
    """What runs print is read back, a list of them too, and so are files from before runs were reports."""
    printed = []
    for what in ("K_4", "UniRing(1,4)"):
        assert main(["run", what, "--sizes", "4KiB,1MiB", "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    (folder / "printed.json").write_text(json.dumps(printed))
    first, second = load_runs(folder / "printed.json")
    assert (first.what, first.cost, first.degree, first.engine) == ("K_4", Cost(2, Fraction(3, 2)), 3, "mpi")
    assert first.loads == ((2, Fraction(1, 4), Fraction(3, 4)),) and second.cost == Cost(6, Fraction(3, 2))
    rows = [(row["size"], row["median_seconds"]) for row in printed[0]["rows"]]
    assert [(row.size, row.median) for row in first.rows] == rows and [size for size, _ in rows] == [4096, 2**20]
    (folder / "older.json").write_text(json.dumps([as_version_1(run) for run in printed]))
    assert load_runs(folder / "older.json") == (first, second)
    assert main(["fit", "printed.json", "--json"]) == 0


# Values


def test_a_fabric_for_other_ports():
    ten, wires = Fabric.of("10us", "100Gbps", 4), Fabric.of("10us", "100Gbps", 4, host_bandwidth="60Gbps")
    assert Pricing("1MB", ten).fabric_for(2) == Fabric.of("10us", "100Gbps", 2)
    assert Pricing("1MB", ten).text_for(2) == FabricText.of(Fabric.of("10us", "100Gbps", 2))
    by_wires = Pricing("1MB", wires, is_of_wires=True, as_given={"host_bandwidth": "0.06Tbps"})
    assert by_wires.fabric_for(2) == Fabric.of("10us", "50Gbps", 2, host_bandwidth="60Gbps")
    written = by_wires.text_for(2)
    assert (written.alpha, written.bandwidth, written.host_bandwidth) == ("10us", "50Gbps", "0.06Tbps")
    assert written.facts == FabricFacts.of(by_wires.fabric_for(2)) and written.facts.host_bandwidth == 60 * 10**9
    ring = Topology.from_links(2, [0, 1], [1, 0], alpha=[1000, 1000], bandwidth=[10**9, 10**9])
    assert by_wires.words_for(ring) == "alpha of each link, links of up to 1Gbps, 0.06Tbps a host"
    assert Pricing("1MB", ten) == Pricing("1MB", Fabric.of("0.01ms", "0.1Tbps", 4))


def test_reports_hold_no_functions():
    """A report holds facts: nothing that would still have to be asked."""
    for name, kind in classes().items():
        for field, hint in get_type_hints(kind, include_extras=True).items():
            assert "Callable" not in str(hint), (name, field)


def test_how_fields_are_written():
    @dataclass(frozen=True)
    class Part:
        kept: int

    @dataclass(frozen=True)
    class Example(View):
        report: ClassVar[str] = "example"
        from_: tuple[Fraction, ...]
        seconds: Seconds | None
        parts: tuple[Part, ...]
        inner: Annotated[Part | None, FieldForm.INLINE]
        absent: Annotated[int | None, FieldForm.OPTIONAL]
        hidden: Annotated[int, FieldForm.UNWRITTEN]

    third = Fraction(1, 3)
    assert to_members(Part(3)) == {"kept": 3}
    full = Example((third,), third, (Part(1),), Part(2), 5, 7)
    assert full.to_json() == {
        "format": "linkstep/example", "version": 2, "from": ["1/3"], "seconds": float(third), "parts": [{"kept": 1}],
        "kept": 2, "absent": 5,
    }  # fmt: skip
    assert list(Example((), None, (), None, None, 7).to_json()) == ["format", "version", "from", "seconds", "parts"]


def test_times_are_exact_until_they_are_written():
    report = FindReport.of(find(5, 4), PRICING)
    row = report.frontier[0]
    # K_5: one step and 4/5 M/B in each half of an allreduce, M = 8 Mbit, B = 100 Gbit/s
    assert row.allreduce_seconds == 2 * (Fraction(10, 10**6) + Fraction(4, 5) * Fraction(8 * 10**6, 10**11))
    assert row.allreduce_over_bound == 1
    assert report.bounds.allreduce_seconds == row.allreduce_seconds
    assert report.to_json()["frontier"][0]["allreduce_seconds"] == float(row.allreduce_seconds)


@pytest.mark.parametrize("name", sorted(classes()))
def test_what_is_called_seconds_is_in_seconds(name):
    """A float only where a clock or a simulator's clock gave it: all say that they are seconds."""
    hints = get_type_hints(classes()[name], include_extras=True)
    for field, hint in hints.items():
        if re.search("(^|_)seconds$", field):
            assert "'seconds'" in str(hint), field


def test_ours_is_said_where_it_is_faster():
    rows = FindReport.of(find(16, 4, directed=True), PRICING).baselines
    assert {row.faster is None for row in rows} == {True, False}
    for row in rows:
        if row.faster is not None:
            cost, seconds = row.faster
            assert seconds == PRICING.fabric.time(cost, "allreduce", "1MB") < row.allreduce_seconds


def test_a_topology_beside_what_it_was(tmp_path):
    whole, cut = describe(parse("K_4")), describe(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]))
    report = TopologyReport.of(cut, PRICING, whole=whole)
    assert report.without_faults is not None and report.without_faults.num_links == 12
    assert report.bfb is not None and report.without_faults.bfb is not None
    assert report.bfb.allreduce_seconds > report.without_faults.bfb.allreduce_seconds
    assert report.baselines == () and report.recipe is None


def test_a_schedule_and_its_file(tmp_path):
    made = schedule("Torus(3,4)", "allgather")
    save(made.schedule, tmp_path / "a.npz")
    report = ScheduleReport.of(made, PRICING, str(tmp_path / "a.npz"))
    assert (report.steps, report.t_b, report.bandwidth_optimal) == (3, Fraction(11, 12), True)
    assert report.limited_by is None and report.without_faults is None
    assert Path(report.output).exists()


@pytest.mark.parametrize("more", [[], ["--host-bandwidth", "30Gbps"]])
def test_a_page_has_what_the_command_prints(more, capsys):
    """Made of a fabric and a size, without a command's options, as CONTRIBUTING says a page does."""
    host = None if not more else "30Gbps"
    pricing = Pricing.of(Fabric.of("10us", "100Gbps", 4, host_bandwidth=host), "1MB")
    recipe = parse("Torus(3,3)")
    report = TopologyReport.of(describe(recipe, fabric=pricing.fabric_for(4)), pricing, recipe)
    assert main(["show", "Torus(3,3)", "--json", *more]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(json.dumps(report.to_json())) == printed
    assert printed["bfb"]["fabric"] == f"alpha 10us, 100Gbps a server{', 30Gbps a host' * bool(more)}"


def test_a_pricing_keeps_the_rate_of_links():
    pricing = Pricing.of(Fabric.of("10us", "100Gbps", 4, overhead="1us"))
    assert pricing.fabric_for(2) == Fabric.of("10us", "50Gbps", 2, overhead="1us")
    assert pricing.text_for(2) == FabricText.of(Fabric.of("10us", "50Gbps", 2, overhead="1us"))
    slow = Topology.from_links(2, [0, 1], [1, 0], alpha=[1, 2], bandwidth=[10**9, 10**9])
    assert pricing.words_for(slow) == "alpha of each link, links of up to 1Gbps, 1us a call"

"""JSON that can be relied on: each document says what it is, is as its schema says, and calls one thing by one name."""

import json
import re
from argparse import ArgumentParser
from fractions import Fraction

import pytest
from scripts import make_reports_page as page

from linkstep.cli import main
from linkstep.cli._parser import NAMES, build_parser
from linkstep.reports import VIEWS, load_view
from support.schemas import FOLDER, check_document, load_schema, objects_of

COMMANDS = {
    "find": "find 16 4 --sizes 1KiB:1GiB --selector selector.json",
    "find --job": "find 16 4 --job resnet18",
    "find of a limited host": "find 16 4 --host-bandwidth 60Gbps --size 1.5KB",
    "topology-report": "show Torus(3,4) --cut 0,1",
    "topology-report of a line": "show UniRing(1,5)",
    "topology-report by size": "show Torus(3,4) --sizes 1KiB,1MiB",
    "ranks": "show Torus(3,4) --ranks --down 5",
    "schedule-report": "schedule Torus(3,4) --cut 0,1",
    "schedule-report, saved": "schedule K_4 -o saved.json --host-bandwidth 30Gbps",
    "trade-off": "schedule Diamond --frontier --collective allgather",
    "check": "check made.npz",
    "refutation": "check made.npz --collective allgather",
    "throughput": "throughput K_4",
    "cabling": "wire L(K_{2,2})",
    "lowering": "lower K_4 --to mscclpp -o plan.json",
    "lowering, with hosts": "lower Torus(2,2) --down 3 --to cpu -o plan.xml",
    "verification": "verify made.xml",
    "verification of several": "verify wrong.xml made.xml",
    "verification of what is unreadable": "verify made.npz",
    "simulation": "simulate K_4",
    "simulation of a file": "simulate made.xml",
    "training": "train-sim resnet18 --nodes 8",
    "run": "run K_4 --sizes 1KiB,1MiB --alpha 10us",
    "run of a file": "run made.xml",
    "testbeds": "testbed status",
    "fit": "fit runs.json",
    "baselines": "baselines 16 4",
    "baseline-schedule": "baselines 16 4 --on Torus(4,4) --schedule swing",
    "families": "families",
    "members": "families --nodes 32 --degree 4",
    "members, none": "families --nodes 33 --degree 31",
    "synthesis": "synthesize Diamond --steps 3 --chunks 2",
    "synthesis, none": "synthesize Diamond --steps 1 --chunks 1",
    "pareto": "synthesize K_4 --steps 1 --chunks 1 --pareto",
    "coverage": "catalog stats",
    "exhibits": "reproduce --list",
    "reproduction": "reproduce table:toposummary",
    "error": "show Nothing",
}
ELSEWHERE = {"addition", "profile", "testbed-cables", "warm"}
"""Of these no command here is quick, or may be run, or prints JSON."""
SLOW = ("reproduction", "coverage")


def cases(names):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in names]


def test_commands_for_all_views():
    assert {re.match(r"[\w-]+", name)[0] for name in COMMANDS} | ELSEWHERE == {row.report for row in VIEWS}


# The schemas


def test_schemas_are_made_from_the_source():
    made = page.make_schemas()
    assert {path.name: path.read_text() for path in FOLDER.glob("*.json")} == made, "run scripts/make_reports_page.py"


@pytest.mark.parametrize("name", cases(COMMANDS))
def test_what_commands_print_is_as_the_schema_says(name, folder, capsys):
    """The same document on standard output and in a file; members that a schema does not know are refused here."""
    heading, out = re.match(r"[\w-]+", name)[0], folder / "out.json"
    out.unlink(missing_ok=True)
    code = main([*COMMANDS[name].split(), "--json", "--json-file", str(out)])
    printed = capsys.readouterr().out
    document = json.loads(printed)
    check_document(document, heading)
    if heading == "error":
        assert code == 2 and not out.exists()
    else:
        assert out.read_text() == printed


def test_views_that_commands_here_do_not_print():
    from linkstep.engines.testbed import TrunkStatus
    from linkstep.recipe import parse
    from linkstep.reports.catalog import AdditionReport, CoverageReport
    from linkstep.reports.profile import ProfileReport
    from linkstep.reports.testbed import TestbedCablesReport, TrunkRow
    from linkstep.search.added import Hops, RecordComparison
    from linkstep.search.coverage import Coverage
    from linkstep.simulation.training import Layer

    layer = Layer("first", Fraction(1, 10), Fraction(1, 5))
    standing = RecordComparison(parse("K_5").topology(), Hops(1, Fraction(1)), None)
    views = [
        CoverageReport.of([Coverage(4, True, 5, 64, 60, 50, 40, 30, (1.0, 1.5), (2.0, 2.5))]),
        AdditionReport.of(standing),
        ProfileReport.of("model.json", "by hand", [(layer, 12), (layer, 30)]),
        TestbedCablesReport("lab", "K_2", (TrunkRow.of(TrunkStatus(0, 1, 1, 0, 10**7, 10**7, 5, 6)),)),
    ]
    for view in views:
        check_document(json.loads(json.dumps(view.to_json())), view.report)
    assert views[0].ranges[0].num_moore_optimal == 40
    assert views[1].beats and views[1].moore_steps == 1
    assert (views[2].parameters, views[2].forward_seconds) == (42, Fraction(1, 5))
    assert views[3].to_json()["cables"][0]["bandwidth_there"] == 10**7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": "16"}, "is not of type 'integer'"), ({"node_bandwidth": "100Gbps"}, "is not of type 'number'"),
        ({"version": 1}, "2 was expected"), ({"nodes": None}, "is not of type 'integer'"),
        ({"speed": 3}, "'speed' was unexpected"), ({"best": {"recipe": "K_5"}}, "is not valid under any"),
    ],
)  # fmt: skip
def test_a_schema_refuses_what_is_not_so(change, said, capsys):
    """The tests above could fail."""
    assert main(["find", "5", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "find")
    with pytest.raises(AssertionError, match=said):
        check_document(document | change, "find")
    document.pop("size")
    with pytest.raises(AssertionError, match="'size' is a required property"):
        check_document(document, "find")


# One name for one thing


def shape(schema: dict) -> str:
    """Return what a member is, in a word or two: its type, null aside, and its unit."""
    if "anyOf" in schema:
        (found,) = {shape(one) for one in schema["anyOf"] if one != {"type": "null"}}
        return found
    if "$ref" in schema:
        return "object"
    if "const" in schema:
        return "text" if isinstance(schema["const"], str) else "integer"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    (kind,) = (one for one in kinds if one != "null")
    if kind == "array":
        (inner,) = {shape(one) for one in schema.get("prefixItems", [schema.get("items")])}
        return f"list of {inner}"
    unit = schema.get("x-unit")
    kind = "number" if unit == "bytes" else "fraction" if "pattern" in schema else kind
    return f"{kind} in {unit}" if unit else {"string": "text"}.get(kind, kind)


def survey() -> dict[str, dict[str, list[str]]]:
    """Return every member of every report by name: what it is, and where."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in VIEWS:
        for place, one in objects_of(load_schema(row.report)).items():
            for name, schema in one["properties"].items():
                found.setdefault(name, {}).setdefault(shape(schema), []).append(place)
    return found


def test_one_name_is_of_one_type_and_unit():
    differing = {name: shapes for name, shapes in survey().items() if len(shapes) > 1}
    assert not differing


UNITS = {"seconds": "seconds", "bandwidth": "bit/s", "bytes": "bytes"}


@pytest.mark.parametrize("name", sorted(survey()))
def test_a_name_says_the_unit(name):
    """Numbers of seconds, bit/s and bytes are called so, and nothing else is; T_B is t_b."""
    (found,) = survey()[name]
    kind, _, unit = found.partition(" in ")
    if kind == "boolean" or name.startswith("num_"):
        return
    words = {"size": ["bytes"]}.get(name, name.split("_"))
    assert [UNITS[word] for word in words if word in UNITS][-1:] == ([unit] if unit in UNITS.values() else []), found
    assert ("_t_b_" in f"_{name}_") == (unit == "M/B"), found


def test_names_that_are_gone():
    """What version 1 had for two things."""
    gone = {
        "bandwidth",
        "bidirectional",
        "alpha",
        "unit_",
        "to_",
        "why",
        "best_",
        "servers",
        "ports",
        "at_most",
        "report",
    }
    assert not gone & set(survey())


def test_seconds_spent_and_seconds_predicted():
    places = {name: where for name, shapes in survey().items() for where in shapes.values()}
    assert places["elapsed_seconds"] == ["linkstep/synthesis", "linkstep/warm"]
    assert not {"linkstep/synthesis", "linkstep/warm", "RunRow", "FitRow"} & {*places["seconds"]}


def test_every_format_has_its_own_name():
    formats = [load_schema(row.report)["properties"]["format"]["const"] for row in VIEWS]
    files = ["linkstep/topology", "linkstep/schedule", "linkstep/fabric", "linkstep/selector", "linkstep/model",
             "linkstep/testbed"]  # fmt: skip
    assert len({*formats, *files}) == len(formats) + len(files)
    assert all(load_view(row.report).report == row.report for row in VIEWS)


# A table and a file at once


def json_commands() -> dict[str, ArgumentParser]:
    """Return the parsers that have ``--json``, by the words that lead to them."""
    found = {}

    def look(parser, words):
        if "--json" in parser._option_string_actions:
            found[" ".join(words)] = parser
        for action in parser._actions:
            for name, sub in (action.choices or {}).items() if hasattr(action, "_parser_class") else ():
                look(sub, [*words, name])

    look(build_parser(NAMES), [])
    return found


QUICK = {
    "find": "find 5 4", "show": "show K_4", "check": "check made.npz", "throughput": "throughput K_4",
    "verify": "verify made.xml", "simulate": "simulate K_4", "train-sim": "train-sim resnet18 --nodes 5",
    "run": "run K_4", "testbed status": "testbed status", "families": "families", "catalog stats": "catalog stats",
    "schedule": "schedule K_4 -o a.npz", "wire": "wire K_4 -o a.csv", "lower": "lower K_4 --to cpu -o a.xml",
    "fit": "fit runs.json -o fabric.json", "baselines": "baselines 5 4 --schedule ring -o a.npz",
    "synthesize": "synthesize K_4 --steps 1 --chunks 1 -o a.npz", "reproduce": "reproduce --list",
    "profile": "profile --trace trace.json -o model.json", "warm": "warm",
}  # fmt: skip
NOT_QUICK = ("profile", "warm")
"""Not run here: torch may be missing, and kernels take long to compile."""
OWN = {"schedule", "wire", "lower", "fit", "baselines", "synthesize", "profile", "reproduce"}
"""Commands whose -o is what they make."""


def test_every_command_with_json_writes_a_file_too():
    parsers = json_commands()
    assert set(parsers) == set(QUICK)
    for name, parser in parsers.items():
        options = parser._option_string_actions
        assert options["--json-file"].dest == "json_file"
        wanted = "output" if name in OWN else "json_file"
        assert getattr(options.get("-o"), "dest", None) == wanted, name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "catalog stats"))
        for name in (*QUICK, "show --ranks")
        if name not in NOT_QUICK
    ],
)
def test_a_table_and_a_file_at_the_same_time(name, folder, capsys, tmp_path):
    out = tmp_path / "result.json"
    words = (QUICK | {"show --ranks": "show K_4 --ranks"})[name].split()
    assert main(words) == 0
    table = capsys.readouterr().out
    option = "--json-file" if name in OWN else "-o"
    assert main([*words, option, str(out)]) == 0
    assert capsys.readouterr().out == f"{table}JSON saved to {out}\n"
    check_document(json.loads(out.read_text()))
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_refuted_schedule_is_written_too(folder, capsys, tmp_path):
    out = tmp_path / "result.json"
    assert main(["check", "made.npz", "--collective", "allgather", "-o", str(out)]) == 1
    check_document(json.loads(out.read_text()), "refutation")
    assert "is not a valid allgather" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("families -o nowhere/x.json", "nowhere/x.json: there is no folder nowhere"),
        ("families -o x.npz", "x.npz: the name of a file with JSON must end in .json"),
        ("families -o .", ".: the name of a file with JSON must end in .json"),
        ("families -o folder.json", "folder.json: is a directory, not a file"),
        (
            "schedule K_4 -o s.json --json-file ./s.json",
            "--json-file and --output must be two files, not both ./s.json",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    for name in ("families.FamiliesReport.of_all", "schedule.ScheduleReport.of"):
        monkeypatch.setattr(f"linkstep.reports.{name}", lambda *_: pytest.fail("it was worked out"))
    assert main(words.split()) == 2
    assert capsys.readouterr() == ("", f"linkstep: {said}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]


def test_a_failure_leaves_the_file_as_it_was(tmp_path):
    out = tmp_path / "result.json"
    out.write_text("before")
    assert main(["show", "Nothing", "-o", str(out)]) == 2
    assert out.read_text() == "before"

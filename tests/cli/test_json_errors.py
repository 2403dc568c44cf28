"""Errors as JSON: with --json one document on standard output, the same line on standard error, the same exit code."""

import json
import os

import pytest

from linkstep.cli import INTERRUPTED, main
from support.schemas import check_document


def failure(capsys, *words) -> tuple[int, dict, str]:
    """Return exit code, document and the line on standard error."""
    code = main(list(words))
    out, err = capsys.readouterr()
    document = json.loads(out)
    check_document(document, "error")
    assert document["exit_code"] == code
    assert err == f"linkstep: {document['error']}\n"
    return code, document, err


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ("show Nothing --json", "RecipeError", "no family is called 'Nothing'"),
        ("show no.npz --json", "FileError", "no.npz: no such file"),
        ("find 16 4 --size 3furlongs --json", "UsageError", "3furlongs"),
        ("find 16 4 --max-steps 0 --json", "LinkstepError", "--max-steps must be at least 1, not 0"),
        ("find --json 16", "UsageError", "the following arguments are required: DEGREE"),
        ("find 16 4 --json --nonsense", "UsageError", "unrecognized arguments: --nonsense"),
        ("find 16 four --json", "UsageError", "argument DEGREE: must be a whole number, not 'four'"),
        ("--json", "UsageError", "--json comes after a command, as in `linkstep find 16 4`"),
        ("fidn 16 4 --json", "UsageError", "did you mean 'find'?"),
        ("convert K_4 a.csv --json", "UsageError", "unrecognized arguments: --json"),
        ("families --json -o nowhere/x.json", "FileError", "there is no folder nowhere"),
        ("catalog stats --json --catalog nowhere", "FileError", "nowhere"),
        ("simulate K_4 --json --on K_4", "LinkstepError", "--on is for runtime files"),
    ],
)
def test_bad_input(words, kind, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, document, _ = failure(capsys, *words.split())
    assert (code, document["kind"]) == (2, kind)
    assert said in document["error"]
    assert not list(tmp_path.iterdir())


def test_without_json_standard_output_stays_empty(capsys):
    assert main(["show", "Nothing"]) == 2
    assert capsys.readouterr().out == ""


def raising(error):
    def run(*args, **options):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "kind", "said"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "KeyboardInterrupt", "interrupted"),
        (MemoryError(), 2, "MemoryError", "out of memory"),
        (OSError(28, "No space left on device", "/tmp/x"), 2, "OSError", "/tmp/x: no space left on device"),
    ],
)
def test_what_stops_a_command(error, code, kind, said, capsys, monkeypatch):
    monkeypatch.setattr("linkstep.reports.families.FamiliesReport.of_all", raising(error))
    found, document, _ = failure(capsys, "families", "--json")
    assert (found, document["error"]) == (code, said)
    assert document["kind"] == kind


def test_a_run_that_failed_without_a_report(capsys, monkeypatch):
    monkeypatch.setattr("linkstep.cli._run.launch_job", lambda job, bed, on_row: (3, []))
    assert main(["run", "K_4", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    check_document(document, "error")
    assert (document["kind"], document["exit_code"]) == ("Failure", 3)
    assert "standard error says why" in document["error"]


def test_what_was_not_written_is_not_said_to_be(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("linkstep.cli._run.launch_job", lambda job, bed, on_row: (3, []))
    assert main(["run", "K_4", "-o", str(tmp_path / "r.json")]) == 3
    assert capsys.readouterr().out == "" and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("variable", "rank"), [("PMI_RANK", "3"), ("OMPI_COMM_WORLD_RANK", "1"), ("PMI_RANK", "0")])
def test_of_several_ranks_the_first_prints(variable, rank, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, variable, rank)
    assert main(["run", "K_4", "--json", "--size", "nothing"]) == 2
    out, err = capsys.readouterr()
    assert bool(out) == (rank == "0") and err.startswith("linkstep: ")


def test_a_report_that_was_printed_is_the_only_document(capsys, monkeypatch, tmp_path):
    """A refuted schedule has a report of its own; and what fails after a report was printed adds none."""
    assert main(["schedule", "K_4", "-o", str(tmp_path / "a.npz")]) == 0
    capsys.readouterr()
    assert main(["check", str(tmp_path / "a.npz"), "--collective", "allgather", "--json"]) == 1
    check_document(json.loads(capsys.readouterr().out), "refutation")

    def print_and_fail(report, args):
        print(json.dumps(report.to_json()))
        raise KeyboardInterrupt

    monkeypatch.setattr("linkstep.cli._families.show_json", print_and_fail)
    assert main(["families", "--json"]) == INTERRUPTED
    check_document(json.loads(capsys.readouterr().out), "families")


def test_json_may_be_a_word_of_others(capsys):
    """Of a command that a testbed runs, or a name after --."""
    assert main(["testbed", "exec", "none-there", "0", "ip", "--json"]) == 2
    assert main(["show", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_names_with_escapes_stay_one_line(capsys):
    _, document, _ = failure(capsys, "show", "a\x1b[2J\nb", "--json")
    assert "\x1b" not in document["error"] and "\n" not in document["error"]

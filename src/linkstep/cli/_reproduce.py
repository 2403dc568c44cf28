"""``linkstep reproduce``: tables and figures of the paper, made again and compared."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_table, print_text, show_json
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.files import check_writable, write_atomically
from linkstep.reports.reproduction import ExhibitsReport, ReproducedExhibit, ReproductionReport
from linkstep.reproduction import EXHIBITS, Exhibit, check_needs, exhibit_labelled
from linkstep.reproduction.figures import Cell, CellKind, Verdict, show
from linkstep.reproduction.output import ShownExhibit, make, prepare
from linkstep.reproduction.report import write_page


class _Completions(tuple[str, ...]):
    """What a shell completes; anything else is let through, to be refused with the nearest label."""

    def __contains__(self, label: object) -> bool:
        return True


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "labels", nargs="*", metavar="LABEL", choices=_Completions(exhibit.name for exhibit in EXHIBITS),
        help="LaTeX label in the paper, such as table:paretooptimal; table-paretooptimal is the same",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="every exhibit; with --output, those that are not there yet")
    parser.add_argument("--list", action="store_true", help="list the labels, and about how long each takes")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write LABEL.csv, LABEL.svg and LABEL.md to this folder, made if missing"
    )
    parser.add_argument("--report", metavar="FILE", help="with --all and --output: write a page of all results")
    parser.add_argument(
        "--emulate", action="store_true",
        help="also run on emulated hosts and cables (network namespaces, built and removed again; needs root)",
    )  # fmt: skip
    add_json(parser, is_short=False)  # --output is a folder


def _asked(args: argparse.Namespace) -> tuple[Exhibit, ...]:
    """Return the exhibits that were asked for; raise where the options contradict each other."""
    if sum((bool(args.labels), args.all, args.list)) != 1:
        raise LinkstepError("say what to reproduce: labels, or --all, or --list to see them")
    if args.report is not None and not (args.all and args.output):
        raise LinkstepError("--report is a page of all exhibits and links to their files: give --all and --output too")
    for option, given in (("--output", args.output is not None), ("--emulate", args.emulate)):
        if args.list and given:
            raise LinkstepError(f"--list makes nothing: leave out {option}")
    return EXHIBITS if args.all or args.list else tuple(dict.fromkeys(map(exhibit_labelled, args.labels)))


def _list(exhibits: Sequence[Exhibit], args: argparse.Namespace) -> None:
    if show_json(ExhibitsReport.of(exhibits), args):
        return
    rows = [(one.label, one.takes or ("seconds" if one.is_quick else "slow"), one.title) for one in exhibits]
    print_table(("label", "takes about", "what"), rows)
    for exhibit in exhibits:
        if exhibit.emulates:
            print()
            print_text(f"only with --emulate: {exhibit.label}: {exhibit.emulates}")


def _run(args: argparse.Namespace) -> int:
    exhibits = _asked(args)
    if args.list:
        _list(exhibits, args)
        return 0
    check_needs(exhibits)
    folder = None if args.output is None else prepare(args.output)
    page = None if args.report is None else Path(args.report)
    if page is not None:
        _check_writable(page)
    found = list(_progress(exhibits, folder, args))
    if page is not None and folder is not None:
        text = write_page(found, folder, page)
        write_atomically(page, lambda file: _write(file, text))
    if not show_json(ReproductionReport.of(found, folder), args) and page is not None:
        print(f"written to {page}")
    return 0


def _check_writable(page: Path) -> None:
    """Raise before any work if a file cannot be written; what is there stays as it is."""
    check_writable(page)
    if not page.exists():
        write_atomically(page, lambda file: None)


def _write(file: Any, text: str) -> None:
    file.write(text.encode())


def _progress(exhibits: Sequence[Exhibit], folder: Path | None, args: argparse.Namespace) -> Iterator[ShownExhibit]:
    """Yield exhibits as they are made, with a bar, printing each unless JSON is asked for."""
    begin = time.monotonic()
    with progress_bar("reproduce", " exhibits") as bar:
        for done, shown in enumerate(make(exhibits, folder, args.emulate), 1):
            bar(done, len(exhibits))
            if not args.json:
                took = time.monotonic() - begin
                _print_line(ReproducedExhibit.of(shown, folder), took) if args.all else _print(shown, folder)
            begin = time.monotonic()
            yield shown


def _print_line(report: ReproducedExhibit, seconds: float) -> None:
    """Print how one of many exhibits went."""
    summary = "; ".join(
        f"{who} {', '.join(f'{count} {verdict}' for verdict, count in verdicts.items() if count)}"
        for who, verdicts in (("paper's bases", report.paper_bases_counts), ("linkstep", report.linkstep_counts))
        if any(verdicts.values())
    )
    marked = f"{report.marked} marked" if report.marked else ""
    summary = "; ".join(filter(None, (summary, marked))) or "nothing to compare"
    how = f"{seconds:.1f} s" if report.new else "unchanged"
    print(f"{report.label}: {summary} ({how})", flush=True)


def _said(one: Cell, verdict: Verdict) -> str:
    return f"{verdict}, {one.mark}" if verdict and one.mark else str(verdict)


def _text(one: Cell) -> tuple[str, ...]:
    values = ((one.bases, one.bases_verdict), (one.ours, one.ours_verdict))
    shown = [f"{show(v, one.paper)} {_said(one, verdict)}".rstrip() for v, verdict in values]
    unit = f" [{one.unit}]" if one.unit else ""
    return (one.item, one.quantity + unit, one.paper or "-", *shown, one.why)


def _print(shown: ShownExhibit, folder: Path | None) -> None:
    exhibit, result = shown.exhibit, shown.result
    print(f"{exhibit.label}: {exhibit.title}\n{exhibit.method}")
    if exhibit.missing:
        print(f"Not made again here: {exhibit.missing}")
    print()
    head = ("", "", "paper", "paper's bases", "linkstep", "")
    print_table(head, [_text(one) for one in result.of_kind(CellKind.COMPARED)])
    if measured := result.of_kind(CellKind.MEASURED):
        print("\nmeasured on this machine:")
        print_table(head, [_text(one) for one in measured])
    for note in result.notes:
        print(f"\nnote: {note}")
    if folder is not None:
        how = "written to" if shown.is_new else "unchanged, in"
        print(
            f"\n{how} {folder / exhibit.name}.csv, .md"
            + (", .svg" if (folder / f"{exhibit.name}.svg").exists() else "")
        )
    print()


COMMAND = Command(
    name="reproduce",
    example="linkstep reproduce table:paretooptimal --output results",
    add_arguments=_add_arguments,
    run=_run,
)

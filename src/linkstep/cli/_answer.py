"""How an answer of ``linkstep find`` is printed: what was found, what is wired today, and sentences that compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkstep.cli._directed_option import KIND_WORDS
from linkstep.cli._output import (
    AT_MOST,
    ONE_MESSAGE,
    Style,
    halves_text,
    print_fields,
    print_line,
    print_table,
    print_text,
    time_text,
)
from linkstep.core.text import counted, shortened
from linkstep.core.units import format_bandwidth, format_time
from linkstep.costs import Cost
from linkstep.reports.find import FindReport, FoundRow, TodayRow
from linkstep.scheduling import METHODS
from linkstep.search import Choice
from linkstep.search.scoring import ROUNDS

LONGEST = 40
"""Characters of a name in a sentence: what was just found has no short name yet."""
MOST_TODAY = 6
"""Rows of what is wired today, unless all are asked for."""


def short_name(name: str) -> str:
    """Return what a sentence calls a topology; what has no short name yet, since it was just found, without its middle.

    >>> short_name("Cayley(Z2xZ2xZ2xZ2xZ3,{(0,0,0,1,0),(1,0,0,0,1)})")
    'Cayley(Z2xZ2xZ2xZ2xZ3,{(…),(1,0,0,0,1)})'
    """
    return shortened(name, LONGEST)


def print_head(report: FindReport) -> None:
    """Say what was asked for, and what the columns are."""
    wires = f"alpha {report.fabric.alpha}, {report.fabric.rates}{report.fabric.besides}"
    print_text(f"{report.nodes} servers with {report.degree} ports each, {KIND_WORDS[report.kind]}; {wires}")
    print_text(
        "An allreduce of M bytes takes steps x alpha + T_B x M/B, where B is the rate of a server; all-to-all is the "
        "rate at which a server then sends."
    )
    print()


def print_answer(report: FindReport, all_rows: bool) -> None:
    """Print the rows of the frontier, the bound, and what is wired today."""
    _print_frontier(report)
    if report.baselines:
        print()
        _print_today(report, all_rows)
    if report.has_times_at_most:
        print(AT_MOST)
    if report.fabric.message is not None:
        print_text(ONE_MESSAGE)


def _print_frontier(report: FindReport) -> None:
    """What a narrow terminal does without: all-to-all in seconds, then the diameter."""
    names = [row.name for row in report.frontier]
    twice = len(set(names)) < len(names)
    head = (
        "wiring", *(("method",) if twice else ()), f"allreduce {report.size}", "bound", "steps", "T_B", "all-to-all",
        f"all-to-all {report.size}", "diameter",
    )  # fmt: skip
    styles = [Style.BOLD if _is_best(row, report) else Style.PLAIN for row in report.frontier]
    drop = (len(head) - 2, len(head) - 1)
    print_table(head, _rows(report, twice), right=range(1 + twice, len(head)), drop=drop, styles=styles)
    starred = any(row.moore_optimal or row.is_bandwidth_least for row in report.frontier)
    if starred:
        print_text("*: the least possible, of steps at this N and d, of T_B on this wiring")


def _is_best(row: FoundRow, report: FindReport) -> bool:
    best = report.best
    return best is not None and (row.recipe, row.method) == (best.recipe, best.method)


def _rows(report: FindReport, methods: bool) -> Iterator[tuple[str, ...]]:
    bounds = report.bounds
    for row in report.frontier:
        yield (
            row.name,
            *((row.method,) if methods else ()),
            time_text(row.allreduce_seconds, row.allreduce_at_most),
            f"{float(row.allreduce_over_bound):.2f}x",
            f"{row.halves.steps}{'*' if row.moore_optimal else ' '}",
            f"{float(row.halves.t_b):.4f}{'*' if row.is_bandwidth_least else ' '}",
            *_exchange(row),
            "-" if row.diameter is None else str(row.diameter),
        )
    yield (
        "no wiring beats",
        *(("",) if methods else ()),
        format_time(bounds.allreduce_seconds),
        "1.00x",
        f"{bounds.steps} ",
        f"{float(bounds.t_b):.4f} ",
        format_bandwidth(bounds.all_to_all_bandwidth),
        format_time(bounds.all_to_all_seconds),
        str(bounds.steps // 2),
    )


def _exchange(row: FoundRow | TodayRow) -> tuple[str, str]:
    """Return what a server sends in an all-to-all, and what that takes."""
    if row.all_to_all_seconds is None or row.all_to_all_bandwidth is None:
        return "-", "-"
    rate, time = format_bandwidth(row.all_to_all_bandwidth), format_time(row.all_to_all_seconds)
    if row.all_to_all is None:
        return f"<={rate}", f">={time}"
    return (f">={rate}", f"<={time}") if row.all_to_all_at_most else (rate, time)


def _print_today(report: FindReport, all_rows: bool) -> None:
    rows = sorted(report.baselines, key=lambda row: row.allreduce_seconds)
    shown = rows if all_rows else _of_every_kind(rows)
    head = ("today", "schedule", "allreduce", "bound", "steps", "our schedule", "all-to-all")
    lines = (_today(row, report) for row in shown)
    print_table(head, lines, right=range(2, 7), drop=(6, 3), styles=[Style.DIM] * len(shown))
    if len(shown) < len(rows):
        print_line(f"and {len(rows) - len(shown)} more: --all", Style.DIM)


def _of_every_kind(rows: Sequence[TodayRow]) -> list[TodayRow]:
    """Return the fastest of each schedule, then the fastest of all, at most ``MOST_TODAY``, the fastest first."""
    first = sorted({row.schedule_name: row for row in reversed(rows)}.values(), key=rows.index)
    kept = list(dict.fromkeys([*map(rows.index, first), *range(len(rows))]))[:MOST_TODAY]
    return [rows[k] for k in sorted(kept)]


def _today(row: TodayRow, report: FindReport) -> tuple[str, ...]:
    ours = "" if row.faster is None else time_text(row.faster[1], row.ours.our_allreduce_at_most)
    return (
        row.short,
        row.schedule_name,
        time_text(row.allreduce_seconds, row.allreduce_at_most),
        f"{float(row.allreduce_seconds / report.bounds.allreduce_seconds):.2f}x",
        str(row.halves.steps),
        ours,
        _exchange(row)[0],
    )


def print_comparisons(report: FindReport, is_allreduce: bool) -> None:
    """Say what the best of today gains by our schedule, by another wiring, and by one-way fibres."""
    if not is_allreduce or report.best is None:
        return
    today = min(report.baselines, key=lambda row: row.allreduce_seconds, default=None)
    gains = [row for row in report.baselines if row.faster is not None]
    row = min(gains, key=lambda row: row.allreduce_seconds, default=None)
    if row is not None and row.faster is not None:
        was = time_text(row.allreduce_seconds, row.allreduce_at_most)
        now = time_text(row.faster[1], row.ours.our_allreduce_at_most)
        print_text(f"{row.short} takes {was} today; with our schedule {now}, no cable moved.")
    if today is not None and report.best.seconds < today.allreduce_seconds:
        times = float(today.allreduce_seconds / report.best.seconds)
        wiring = "the same wiring" if today.short == report.best.name else today.short
        beaten = f"the best of today, {today.schedule_name} on {wiring}"
        print_text(f"{short_name(report.best.name)} is {times:.2g} times as fast as {beaten}.")
    _print_other(report)


def _print_other(report: FindReport) -> None:
    """Say what the other kind of cable would gain, and need."""
    other, best = report.other.fastest, report.best
    if best is None:
        return
    if report.kind == "directed":
        need = "each port sends to one server and receives from another, over split fibres"
        ours = "" if other is None else f"; duplex cables take {_time(other)}, {short_name(other.name)}"
        print_text(f"One-way fibres: {need}{ours}.")
    elif other is not None and other.allreduce_seconds < best.seconds:
        less = 100 * (1 - other.allreduce_seconds / best.seconds)
        print_text(
            f"One-way fibres (--directed) would take {_time(other)}, {float(less):.2g}% less, as "
            f"{short_name(other.name)}: the two fibres of each port, split, go to different servers."
        )
    else:
        print_text("One-way fibres (--directed) are not known to gain anything here.")


def _time(row: FoundRow) -> str:
    return time_text(row.allreduce_seconds, row.allreduce_at_most)


def why_nothing(report: FindReport, max_steps: int | None) -> str:
    """Say why there is no row."""
    if max_steps is None or report.fewest_steps is None:
        fibres = "" if report.kind == "directed" else "allow one-way fibres (--directed), or "
        return f"nothing found: {fibres}ask for another number of servers or ports"
    return (
        f"nothing found with --max-steps {max_steps}: with {KIND_WORDS[report.kind]} no reduce-scatter and allgather "
        f"of {report.nodes} servers with {report.degree} ports take fewer than {report.bounds.steps} steps together "
        f"(the Moore bound); the best known takes {report.fewest_steps}"
    )


def print_details(row: FoundRow) -> None:
    """Print what the table leaves out of a row."""
    least, reached = row.wiring_t_b_bound, row.all_to_all is not None
    flow = row.all_to_all if reached else row.all_to_all_bound
    fields = [
        ("recipe", row.recipe if len(row.recipe) <= 500 else f"{row.name}, {len(row.recipe)} characters written out"),
        ("schedule", f"{METHODS[row.method].title}; {'' if row.exact else 'at most '}{halves_text(row.halves.costs)}"),
    ]
    if least is not None and not row.bandwidth_optimal:
        fields.append(("on this wiring", f"each half needs {float(least):.4f} M/B at least"))
    if row.diameter is not None:
        fields.append(("diameter", counted(row.diameter, "hop")))
    if flow is not None:
        fields.append(("all-to-all f", f"{'' if reached else '<='}{float(flow):.3e} of a link's rate for every pair"))
    if row.origin is not None:
        fields.append(("known from", "the catalog" if row.origin == "known best" else "a search just now"))
    print_fields(fields)


def print_paper(report: FindReport) -> None:
    """Say where twice the allgather, which the paper counts, is not what an allreduce costs."""
    for row in report.frontier:
        reduced, gathered = row.halves.costs
        if reduced != gathered:
            twice, time = format_time(row.twice_allgather_seconds), format_time(row.allreduce_seconds)
            print_text(
                f"{short_name(row.name)}: the paper counts 2 (T_L + T_B) of its allgather, {twice}; its reduce-scatter "
                f"costs {reduced}, so an allreduce takes {time}"
            )


def print_next(choice: Choice, rows: Sequence[Choice], all_to_all: bool) -> None:
    """Print the commands that wire it, make its schedule and run that."""
    name, collective = choice.recipe.short, "all-to-all" if all_to_all else "allreduce"
    how = " --collective all-to-all" if all_to_all else options_of(choice, rows)
    print(f"next: linkstep wire '{name}' -o cables.csv")
    print(f"      linkstep schedule '{name}'{how} -o {collective}.npz")
    print(f"      linkstep run {collective}.npz")


def options_of(choice: Choice, rows: Sequence[Choice]) -> str:
    """Return the options of ``linkstep schedule`` that make a choice's schedule, where it would make another's."""
    alike = [row for row in rows if row.recipe == choice.recipe]
    if choice.method != "relayed" and (len(alike) < 2 or (choice.method == "bfb" and choice is alike[0])):
        return ""
    if choice.method == "arrival":
        steps = dict.fromkeys((choice.reduce_scatter.steps, choice.cost.steps))
        return f" --method arrival --steps {','.join(map(str, steps))} --rounds {ROUNDS}"
    return f" --method {choice.method}"


def print_windows(report: FindReport) -> None:
    """Print which row is the fastest at which sizes."""
    rows = [
        (
            str(row.min_bytes), str(row.max_bytes), row.name, str(Cost(row.steps, row.t_b)),
            time_text(row.min_bytes_seconds, row.seconds_at_most),
            time_text(row.max_bytes_seconds, row.seconds_at_most),
        )
        for row in report.windows
    ]  # fmt: skip
    head = ("from bytes", "to bytes", "fastest allreduce", "cost", "takes", "to")
    print_table(head, rows, right=(0, 1, 4, 5), drop=(3,))

"""How an answer of ``linkstep find`` is printed: the table, and what is said below it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from linkstep.cli._output import AT_MOST, ONE_MESSAGE, both_halves, print_table, time_text
from linkstep.core.text import shortened
from linkstep.core.units import format_time
from linkstep.costs import Cost
from linkstep.recipe.names import LONG
from linkstep.reports.find import FindReport, FoundRow, TodayRow
from linkstep.search import Choice
from linkstep.search.scoring import ROUNDS


def short_name(name: str) -> str:
    """Return what a table calls a topology; what has no short name yet, since it was just found, without its middle."""
    return shortened(name, LONG)


def print_answer(report: FindReport) -> None:
    """Print the rows of the frontier, the bound, and what is wired today."""
    size = report.size
    head = ("topology", "T_L", "T_B", f"allreduce {size}", "bound", "diameter", "f", f"all-to-all {size}", "")
    print_table(head, _lines(report), right=range(1, 8))
    if report.has_times_at_most:
        print(AT_MOST)
    if report.fabric.message is not None:
        print(ONE_MESSAGE)


def _lines(report: FindReport) -> Iterator[tuple[str, ...]]:
    bounds = report.bounds

    def costs(halves: tuple[Cost, Cost], time: Fraction, at_most: bool = False) -> tuple[str, ...]:
        return *both_halves(halves), time_text(time, at_most), f"{float(time / bounds.allreduce_seconds):.2f}x"

    for row in report.frontier:
        hops = "-" if row.diameter is None else str(row.diameter)
        yield (
            short_name(row.name),
            *costs(row.halves.costs, row.allreduce_seconds, row.allreduce_at_most),
            hops,
            *_flow(row),
            _notes(row, report),
        )
    least = (Cost(bounds.steps, bounds.bandwidth),) * 2
    flow = f"{float(bounds.all_to_all_bound):.2e}", format_time(bounds.all_to_all_seconds)
    yield "no graph beats", *costs(least, bounds.allreduce_seconds), str(bounds.steps), *flow, ""
    for today in report.baselines:
        line = costs(today.halves.costs, today.allreduce_seconds, today.allreduce_at_most)
        yield f"today: {today.short}", *line, "-", *_flow(today), _schedules(today)


def _flow(row: FoundRow | TodayRow) -> tuple[str, str]:
    if row.all_to_all_seconds is None:
        return "-", "-"
    time = time_text(row.all_to_all_seconds, row.all_to_all_at_most)
    if row.all_to_all is not None:
        return f"{float(row.all_to_all):.2e}", time
    return f"<={float(row.all_to_all_bound or 0):.2e}", f">={time}"


def _notes(row: FoundRow, report: FindReport) -> str:
    bandwidth, least = row.worse_bandwidth, row.wiring_bandwidth_bound or Fraction(0)
    by_wiring = least > report.bounds.bandwidth
    notes = (
        (row.origin or "", row.origin is not None),
        ("at most", not row.exact),
        ("bandwidth-optimal", row.bandwidth_optimal),
        ("bandwidth-optimal on its wiring", by_wiring and bandwidth == least),
        (f"T_B at least {float(least):.4f} on its wiring", by_wiring and bandwidth > least),
        ("Moore-optimal", row.moore_optimal),
    )
    return ", ".join(word for word, holds in notes if holds)


def _schedules(row: TodayRow) -> str:
    """Say which schedule a baseline has, and what ours takes on the same wires, where it is faster."""
    if row.faster is None:
        return row.name
    cost, time = row.faster
    ours = f"{cost.steps} steps, {float(cost.bandwidth):.4f} M/B, {time_text(time, row.ours.our_allreduce_at_most)}"
    return f"{row.name}; our schedule on it: {ours}"


def why_nothing(report: FindReport, max_steps: int | None, bidirectional: bool) -> str:
    """Say why there is no row."""
    if max_steps is None or report.fewest_steps is None:
        return "nothing found: allow one-way links, or another number of servers or ports"
    both = " bidirectional" if bidirectional else ""
    return (
        f"nothing found with --max-steps {max_steps}: no{both} topology of {report.nodes} servers with "
        f"{report.degree} ports takes fewer than {report.bounds.steps} steps (the Moore bound); the best known takes "
        f"{report.fewest_steps}"
    )


def print_paper(report: FindReport) -> None:
    """Say where twice the allgather, which the paper counts, is not what an allreduce costs."""
    for row in report.frontier:
        reduced, gathered = row.halves.costs
        if reduced != gathered:
            twice, time = format_time(row.twice_allgather_seconds), format_time(row.allreduce_seconds)
            print(
                f"{row.name}: the paper counts 2 (T_L + T_B) of its allgather, {twice}; its reduce-scatter costs "
                f"{reduced}, so an allreduce takes {time}"
            )


def options_of(choice: Choice) -> str:
    """Return the options of ``linkstep schedule`` that make a choice's schedule."""
    if choice.method == "arrival":
        steps = dict.fromkeys((choice.reduce_scatter.steps, choice.cost.steps))
        return f" --method arrival --steps {','.join(map(str, steps))} --rounds {ROUNDS}"
    return f" --method {choice.method}" if choice.recipe.parts else ""


def print_windows(report: FindReport) -> None:
    """Print which row is the fastest at which sizes."""
    rows = [
        (
            str(row.smallest), str(row.largest), row.name, str(Cost(row.steps, row.bandwidth)),
            time_text(row.smallest_seconds, row.at_most), time_text(row.largest_seconds, row.at_most),
        )
        for row in report.windows
    ]  # fmt: skip
    print_table(("from bytes", "to bytes", "fastest allreduce", "cost", "takes", "to"), rows, right=(0, 1, 4, 5))

"""What is said beside a timeline: of a simulated program, and of an iteration of training."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from linkstep.core.units import format_size, format_time
from linkstep.explorer.document import Panel
from linkstep.explorer.panels.time import BesideTable, Rows, time_panel
from linkstep.reports.simulation import SimulationReport
from linkstep.reports.training import TrainingReport
from linkstep.simulation import Simulation
from linkstep.simulation.training import Comparison, Iteration, Outcome
from linkstep.timelines import timeline_of

Asked = Mapping[str, Any] | None
_HEADS = ("topology", "iteration", "compute", "exposed allreduce", "all-to-all", "bucket")


def simulation_panel(
    done: Simulation, title: str = "", report: SimulationReport | None = None, asked: Asked = None
) -> Panel:
    """Return the panel of a simulated program; ``report`` says for which data and fabric it was."""
    topology = done.topology
    facts: list[tuple[str, str]] = []
    if report is not None and report.cost is not None:
        facts.append(("schedule", f"{report.cost} = {format_time(report.predicted_seconds or 0)}"))
    facts.append(("simulated", f"{format_time(done.time)}{_change(done)}"))
    if topology.num_links:
        ends = (topology.host(int(column[done.busiest])) for column in (topology.tail, topology.head))
        facts.append(("busiest link", "{} to {}, {:.0%} of the time".format(*ends, done.utilisation)))
    facts.append(("instructions", str(done.program.num_instructions)))
    if report is not None:
        facts.append(("for", f"{report.size} over alpha {report.fabric.alpha}, {report.fabric.rates}"))
    return time_panel(timeline_of(done, title), facts=facts, asked=asked)


def unsimulated_panel(title: str, asked: Mapping[str, Any], why: str) -> Panel:
    """Return the panel of what was not simulated, with what may be asked instead."""
    return Panel("time", title, {"asked": asked, "why_not": why})


def _change(done: Simulation) -> str:
    if not done.predicted:
        return ""
    loss = done.loss
    if abs(loss) <= 5e-4:  # nobody would notice
        return ", as the schedule costs"
    return f", {abs(loss):.1%} {'slower' if loss > 0 else 'faster'} than the schedule costs"


def iteration_panel(
    done: Iteration, title: str, beside: BesideTable | None = None, more: Rows = (), asked: Asked = None
) -> Panel:
    """Return the panel of an iteration of training."""
    facts = [
        ("iteration", format_time(done.time)), ("compute", format_time(done.compute)),
        ("allreduce", f"{format_time(done.allreduce)}, of which {format_time(done.exposed_allreduce)} is exposed"),
    ]  # fmt: skip
    if done.all_to_all:
        facts.append(("all-to-all", format_time(done.all_to_all)))
    facts.append(("bucket", format_size(done.bucket)))
    return time_panel(timeline_of(done, title), facts=(*facts, *more), asked=asked, beside=beside)


def comparison_panel(found: Comparison) -> Panel:
    """Return the panel of the iteration on our topology, the others in a table beside it."""
    return iteration_panel(found.ours.iteration, title_of(found, found.ours), comparison_table(found))


def title_of(found: Comparison, outcome: Outcome) -> str:
    """Return what an iteration is called."""
    return f"{found.job.model} on {outcome.name}, N = {found.job.num_nodes}"


def comparison_table(found: Comparison, *more: Outcome) -> BesideTable:
    """Return what an iteration takes on each topology; ``more`` stand first."""
    rows = (*more, *found.outcomes)
    return BesideTable("An iteration on other topologies", _HEADS, tuple(_row(row) for row in rows))


def _row(row: Outcome) -> tuple[str, ...]:
    done = row.iteration
    parts: tuple[Fraction, ...] = (done.time, done.compute, done.exposed_allreduce, done.all_to_all)
    return (row.name, *map(format_time, parts), format_size(done.bucket))


def job_facts(report: TrainingReport) -> Rows:
    """Return what the model and the hosts are."""
    batch = "" if report.batch is None else f", a batch of {report.batch} on each"
    return (
        ("model", f"{report.parameters:,} parameters on {report.nodes} servers{batch}"),
        ("gradients", f"{format_size(report.gradient_bytes)} are averaged, {report.all_to_alls} all-to-alls"),
        ("for", f"alpha {report.fabric.alpha}, {report.fabric.rates}"),
        ("over what no wiring beats", f"{float(report.over_bound):.1%}, by the best wiring found"),
    )

"""Reports: a value in, facts out. What commands print and a page shows is worked out here, once.

Each is a frozen dataclass, a ``View``, made by its ``of`` from what was found; ``to_json()`` is its versioned JSON,
which docs/reference/reports.md describes member by member. Nothing here parses options, prints, or knows how wide a
terminal is. ``VIEWS`` lists them; each is imported when it is first asked for, so that a command pays for its own
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from linkstep.reports.view import View

__all__ = ["VIEWS", "ViewRow", "load_view"]


class ViewRow(NamedTuple):
    """A row of the table of views."""

    report: str
    """What its JSON says it is."""
    module: str
    """Of this package."""
    kind: str
    """The class there."""
    command: str
    """What prints it."""


VIEWS = (
    ViewRow("find", "find", "FindReport", "linkstep find --json"),
    ViewRow("topology-report", "topology", "TopologyReport", "linkstep show --json"),
    ViewRow("ranks", "ranks", "RanksReport", "linkstep show --ranks --json"),
    ViewRow("schedule-report", "schedule", "ScheduleReport", "linkstep schedule --json"),
    ViewRow("trade-off", "tradeoff", "TradeOffReport", "linkstep schedule --frontier --json"),
    ViewRow("check", "check", "CheckReport", "linkstep check --json"),
    ViewRow("refutation", "check", "RefutationReport", "linkstep check --json"),
    ViewRow("throughput", "throughput", "ThroughputReport", "linkstep throughput --json"),
    ViewRow("cabling", "cabling", "CablingReport", "linkstep wire --json"),
    ViewRow("lowering", "lowering", "LoweringReport", "linkstep lower --json"),
    ViewRow("verification", "verification", "VerificationReport", "linkstep verify --json"),
    ViewRow("simulation", "simulation", "SimulationReport", "linkstep simulate --json"),
    ViewRow("training", "training", "TrainingReport", "linkstep train-sim --json"),
    ViewRow("profile", "profile", "ProfileReport", "linkstep profile --json"),
    ViewRow("run", "run", "RunReport", "linkstep run --json"),
    ViewRow("testbeds", "testbed", "TestbedsReport", "linkstep testbed status --json"),
    ViewRow("testbed-cables", "testbed", "TestbedCablesReport", "linkstep testbed status NAME --json"),
    ViewRow("fit", "fit", "FitReport", "linkstep fit --json"),
    ViewRow("baselines", "baselines", "BaselinesReport", "linkstep baselines --json"),
    ViewRow("baseline-schedule", "baselines", "BaselineScheduleReport", "linkstep baselines --schedule NAME --json"),
    ViewRow("families", "families", "FamiliesReport", "linkstep families --json"),
    ViewRow("members", "families", "MembersReport", "linkstep families --nodes N --degree D --json"),
    ViewRow("synthesis", "synthesis", "SynthesisReport", "linkstep synthesize --json"),
    ViewRow("pareto", "synthesis", "ParetoReport", "linkstep synthesize --pareto --json"),
    ViewRow("coverage", "catalog", "CoverageReport", "linkstep catalog stats --json"),
    ViewRow("addition", "catalog", "AdditionReport", "`linkstep catalog add`, as text"),
    ViewRow("exhibits", "reproduction", "ExhibitsReport", "linkstep reproduce --list --json"),
    ViewRow("reproduction", "reproduction", "ReproductionReport", "linkstep reproduce --json"),
    ViewRow("warm", "warm", "WarmReport", "linkstep warm --json"),
    ViewRow("error", "error", "ErrorReport", "any command that fails, with `--json`"),
)
"""All views, in the order of a day's work."""


def load_view(report: str) -> type[View]:
    """Return the class of a view.

    >>> load_view("find").__name__
    'FindReport'
    """
    from importlib import import_module

    row = next(row for row in VIEWS if row.report == report)
    found: type[View] = getattr(import_module(f"linkstep.reports.{row.module}"), row.kind)
    return found

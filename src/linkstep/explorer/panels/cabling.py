"""The cabling view's data: every cable by hosts and ports, what a panel connects, and what another plan changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkstep.cabling import Cabling
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.explorer.document import Panel
from linkstep.reports.cabling import CablingReport
from linkstep.reports.plan_difference import CablingDifference
from linkstep.reports.view import to_members

MAX_CABLES = 2**14
"""The most cables that a page lists."""

Plan = tuple[Cabling, Topology]
"""A plan, and the topology that has the names of its hosts."""


def cabling_panel(
    cabling: Cabling,
    topology: Topology | None = None,
    argument: str = "",
    faults: Sequence[Fault] = (),
    *,
    other: Plan | None = None,
    other_argument: str = "",
) -> Panel:
    """Return the panel of a cabling plan; with another plan, what it takes to get there from the first.

    ``topology`` names the hosts, by number where it is missing.
    """
    named = cabling._wiring_() if topology is None else topology
    report = _report(cabling, named, faults)
    facts = report.to_json()
    connects = facts.pop("cross_connects")
    racks = None if named.racks is None else list(named.racks)
    data: dict[str, Any] = {
        "argument": argument or named.name,
        "facts": facts,
        "racks": racks,
        "cross_connects": np.array(connects, np.int64).ravel(),
        "difference": None,
    }
    if other is not None:
        there = _report(other[0], other[1])
        data["difference"] = to_members(CablingDifference.of(report, there)) | {
            "argument": other_argument or other[1].name,
            "labels": list(there.labels),
            "racks": None if other[1].racks is None else list(other[1].racks),
            "degree": there.degree,
        }
    return Panel("cabling", f"Cables of {argument or named.name or 'this plan'}", data)


def _report(cabling: Cabling, topology: Topology, faults: Sequence[Fault] = ()) -> CablingReport:
    count = len(cabling.cables)
    if count > MAX_CABLES:
        raise LinkstepError(f"the plan has {count} cables, a page lists {MAX_CABLES} at most: use linkstep wire")
    return CablingReport.of(cabling, topology, faults)

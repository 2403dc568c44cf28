"""Schedules: what each link carries at which step, as columns.

A row is the paper's tuple ((v, C), (u, w), t): source v's chunk C = [lo, hi) / unit goes over the link
from u to w at step t. Sources are ranks (``linkstep.core.ranks``): where everyone takes part, source v is node v. A
schedule says nothing of whether it is right; ``linkstep.correctness`` decides that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep._kernels.rows import _first_misplaced
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.columns import frozen
from linkstep.core.errors import ScheduleError, TopologyError
from linkstep.core.frames import frame_of
from linkstep.core.notebook import cost_text, html_table
from linkstep.core.ranks import Ranks
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Ints, Topology

Steps = NDArray[np.int16]

COLLECTIVES = tuple(Collective)
"""Those that rows of (source, chunk, link, step) can say; of an all-to-all, the w-th R-th of a shard is for rank w."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rows of (source, [lo, hi) / unit, link, step), sorted by (step, link, source, lo); steps count from 1.

    ``collective`` is what the rows are meant to do; ``linkstep.correctness`` proves or refutes it. ``ranks`` is who
    takes part, everyone where None is given; a source is a rank, and nodes that are none may forward.

    >>> ring = Topology.from_links(2, [0, 1], [1, 0])
    >>> s = Schedule.from_columns(ring, 1, source=[1, 0], lo=[0, 0], hi=[1, 1], link=[1, 0], step=[1, 1])
    >>> s.source.tolist(), s.num_steps
    ([0, 1], 1)
    """

    topology: Topology
    unit: int
    source: Ids
    lo: Ints
    hi: Ints
    link: Ids
    step: Steps
    collective: Collective = Collective.ALLGATHER
    ranks: Ranks = None  # type: ignore[assignment]
    method: str = ""
    """What made it, in a word, such as "bfb"; empty where that is not known. Equal schedules may differ in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "collective", Collective(self.collective))  # its name will do
        given: Ranks | None = vars(self)["ranks"]
        if given is None:
            object.__setattr__(self, "ranks", Ranks.everyone(self.topology))
        elif given.num_nodes != self.topology.num_nodes:
            raise ScheduleError(f"ranks are of {given.num_nodes} nodes, the topology has {self.topology.num_nodes}")
        sizes = {what: int(getattr(self, what).size) for what in ROW_COLUMNS}
        if len(set(sizes.values())) != 1:  # a kernel would read past the end of the shorter ones
            raise ScheduleError(f"columns must be equally long, not {sizes}")
        if not self.num_rows:
            return
        if self.unit * self.num_rows >= 2**63:
            raise ScheduleError(f"unit {self.unit} is too fine for {self.num_rows} rows: loads must stay below 2^63")
        row, rule = _first_misplaced(
            self.num_ranks, self.topology.num_links, self.unit,
            self.source, self.lo, self.hi, self.link, self.step,
        )  # fmt: skip
        if row >= 0:
            raise ScheduleError(f"row {row}: {self._broken_rule(row, rule)}", row)

    def _broken_rule(self, row: int, rule: int) -> str:
        who = "node" if self.ranks.is_everyone else "rank"
        return (
            f"source must be a {who} in [0, {self.num_ranks}), not {self.source[row]}",
            f"link must lie in [0, {self.topology.num_links}), not {self.link[row]}",
            f"step must be at least 1, not {self.step[row]}",
            f"chunk must be inside the shard and not empty: [{self.lo[row]}, {self.hi[row]}) of unit {self.unit}",
            "rows must be sorted by (step, link, source, lo)",
        )[rule]

    @classmethod
    def from_columns(
        cls,
        topology: Topology,
        unit: int,
        source: ArrayLike,
        lo: ArrayLike,
        hi: ArrayLike,
        link: ArrayLike,
        step: ArrayLike,
        collective: Collective | str = Collective.ALLGATHER,
        ranks: Ranks | None = None,
    ) -> Schedule:
        """Check, sort and freeze rows in any order; the only way in from outside."""
        check_kind("topology", topology, Topology)
        if check_kind("collective", collective, str) not in COLLECTIVES:
            raise ScheduleError(f"collective must be one of {', '.join(COLLECTIVES)}, not {str(collective)!r}")
        if isinstance(unit, bool) or not isinstance(unit, (int, np.integer)) or not 1 <= unit < 2**62:
            raise ScheduleError(f"unit must be an integer in [1, 2^62), not {shown(unit)}")
        try:
            columns: dict[str, Any] = {
                "source": frozen(source, np.int32, "source"),
                "lo": frozen(lo, np.int64, "lo"),
                "hi": frozen(hi, np.int64, "hi"),
                "link": frozen(link, np.int32, "link"),
                "step": frozen(step, np.int16, "step"),
            }
        except TopologyError as error:
            raise ScheduleError(str(error)) from None
        sizes = {what: column.size for what, column in columns.items()}
        if len(set(sizes.values())) != 1:
            raise ScheduleError(f"columns must be equally long, not {sizes}")
        order = np.lexsort((columns["lo"], columns["source"], columns["link"], columns["step"]))
        for what in columns:
            columns[what] = columns[what][order]
            columns[what].flags.writeable = False
        who = Ranks.everyone(topology) if ranks is None else check_kind("ranks", ranks, Ranks)
        return cls(topology, int(unit), **columns, collective=Collective(collective), ranks=who)

    def permanent(self) -> Schedule:
        """Return the schedule on links that are all there at every step, for those who switch none."""
        return replace(self, topology=self.topology.permanent()) if self.topology.has_lifetimes else self

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.source.size)

    @property
    def num_ranks(self) -> int:
        """R, how many take part: as many as there are shards."""
        return self.ranks.num_ranks

    @property
    def num_steps(self) -> int:
        """The last step that carries anything (rows are sorted by step first)."""
        return int(self.step[-1]) if self.num_rows else 0

    def __eq__(self, other: object) -> bool:
        """Compare everything: topology, ranks, unit, rows and collective."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return (
            (self.unit, self.collective, self.topology) == (other.unit, other.collective, other.topology)
            and self.ranks == other.ranks
            and all(np.array_equal(getattr(self, c), getattr(other, c)) for c in ROW_COLUMNS)
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.topology, self.unit, self.collective, self.source.tobytes(), self.link.tobytes()))

    def __repr__(self) -> str:
        where = self.topology.name or f"N={self.topology.num_nodes}"
        where += "" if self.ranks.is_everyone else f", {self.num_ranks} of {self.topology.num_nodes} nodes"
        return (
            f"<Schedule {self.collective} on {where}: {self.num_rows} rows, {self.num_steps} steps, unit {self.unit}>"
        )

    def to_frame(self) -> Any:
        """Return a row for each message, as a DataFrame of pandas or polars; ``lo`` and ``hi`` are in 1/unit."""
        ends = {"from": self.topology.tail[self.link], "to": self.topology.head[self.link]}
        return frame_of({"step": self.step, **ends, **{name: getattr(self, name) for name in ROW_COLUMNS[:4]}})

    def _repr_html_(self) -> str:
        topology = self.topology
        fields = [
            ("topology", f"{topology.name or 'unnamed'}, N={topology.num_nodes}, d={topology.degree}"),
            *([] if self.ranks.is_everyone else [("ranks", f"{self.num_ranks} of {topology.num_nodes} nodes")]),
            ("cost", cost_text(self)),
            ("chunks a shard", self.unit),
            ("rows", self.num_rows),
        ]
        return html_table(f"{self.collective} schedule", fields)


ROW_COLUMNS = ("source", "lo", "hi", "link", "step")

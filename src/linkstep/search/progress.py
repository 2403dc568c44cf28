"""How far ``find`` is, for a progress bar."""

from __future__ import annotations

from collections.abc import Iterator

from linkstep.core.progress import Progress
from linkstep.groups.tables import divisors
from linkstep.search.choice import Choice


class FindProgress:
    """Counts what is done for a progress bar: (N, d) worked out, then topologies measured."""

    def __init__(self, num_nodes: int, degree: int, progress: Progress | None) -> None:
        self.progress = progress
        self.done, self.total = 0, len(divisors(num_nodes)) * degree

    def step(self) -> None:
        """Count one more."""
        self.done += 1
        self.total = max(self.total, self.done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def over(self, choices: list[Choice]) -> Iterator[Choice]:
        """List choices, each counted once it is done."""
        self.total = self.done + len(choices)
        for choice in choices:
            yield choice
            self.step()

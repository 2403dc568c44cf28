"""A transport whose ranks have other numbers: node v of the topology is wherever its host is, rank r where it sits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.engines.transports.transport import Silence, Silent, Transport, Wire


class RenumberedTransport:
    """Another transport, with rank ``order[v]`` of it called v."""

    def __init__(self, inner: Transport, order: Sequence[int]) -> None:
        self.inner, self._order = inner, list(order)
        self._number = {rank: v for v, rank in enumerate(self._order)}
        self.rank, self.size, self.timeout = self._number[inner.rank], inner.size, inner.timeout
        self.posts_late, self.tag_limit, self.shares_clock = inner.posts_late, inner.tag_limit, inner.shares_clock
        self.acknowledges = inner.acknowledges

    def prepare(self, wires: Sequence[Wire]) -> list[Any]:
        """Prepare messages to where the peers are."""
        return self.inner.prepare([wire._replace(peer=self._order[wire.peer]) for wire in wires])

    def start(self, handles: Sequence[Any]) -> None:
        """Start messages."""
        self.inner.start(handles)

    def wait(self, handles: Sequence[Any]) -> None:
        """Wait for messages."""
        try:
            self.inner.wait(handles)
        except Silent as silent:
            raise Silent(self._translated(silent.silence)) from None

    def is_open(self) -> bool:
        """Whether the engine still runs."""
        return self.inner.is_open()

    def dead(self) -> tuple[int, ...]:
        """Return the ranks that are known to be gone."""
        return tuple(self._number[rank] for rank in self.inner.dead())

    def _translated(self, silence: Silence) -> Silence:
        def numbers(ranks: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(self._number[rank] for rank in ranks))

        return silence._replace(
            from_ranks=numbers(silence.from_ranks), to_ranks=numbers(silence.to_ranks), dead=numbers(silence.dead)
        )

    def release(self, handles: Sequence[Any]) -> None:
        """Give back handles."""
        self.inner.release(handles)

    def array(self, length: int, type_name: str) -> Any:
        """Return a flat array of zeros."""
        return self.inner.array(length, type_name)

    def own(
        self, collective: Collective, source: Any, target: Any, operation: str, root: int
    ) -> Callable[[], Any] | None:  # fmt: skip
        """Return the engine's own collective, whose results are in the order of its own ranks."""
        return self.inner.own(collective, source, target, operation, self._order[root])

    def gather(self, value: bytes, patience: float | None = None) -> list[bytes]:
        """Return what every rank gave."""
        try:
            values = self.inner.gather(value, patience)
        except Silent as silent:
            raise Silent(self._translated(silent.silence)) from None
        return [values[rank] for rank in self._order]

    def split(self, members: Sequence[int]) -> Transport | None:
        """Return the transport between some of its ranks."""
        inner = self.inner.split(sorted(self._order[v] for v in members))
        if inner is None:
            return None
        known = {rank: k for k, rank in enumerate(sorted(self._order[v] for v in members))}
        return numbered(inner, [known[self._order[v]] for v in members])

    def mark_failed(self) -> None:
        """Note that the process must not wait for messages when it ends."""
        self.inner.mark_failed()

    def abort(self) -> None:
        """End the job."""
        self.inner.abort()


def numbered(transport: Transport, order: Sequence[int] | None) -> Transport:
    """Return the transport with rank ``order[v]`` of it called v; the same one if all keep their numbers."""
    if order is None or list(order) == list(range(transport.size)):
        return transport
    return RenumberedTransport(transport, order)


def order_of(hosts: Sequence[str], found: Sequence[str]) -> list[int]:
    """Return the rank that runs on each host of a list; ``found`` are the hosts of the ranks.

    Names are compared in full, or up to their first dot.

    >>> order_of(["a", "b"], ["b.cluster", "a.cluster"])
    [1, 0]
    """
    ranks: dict[str, int] = {}
    for rank, name in enumerate(found):
        known = name if name in hosts else name.partition(".")[0]
        if known not in hosts:
            raise LinkstepError(f"rank {rank} runs on {name}, which is none of the hosts that were named")
        if known in ranks:
            raise LinkstepError(f"ranks {ranks[known]} and {rank} both run on {known}: start one rank on each host")
        ranks[known] = rank
    missing = [host for host in hosts if host not in ranks]
    if missing:
        raise LinkstepError(f"no rank runs on {missing[0]}")
    return [ranks[host] for host in hosts]

"""What was worked out for a topology, kept by the module that did: found once, forgotten with the topology.

A room that works something out declares a module-level ``Memo`` of its type and is the only one to use it. Values are
kept for the topology *object*: equal topologies may know different things of themselves, such as their names. They lie
in a slot of the topology, which no one but ``Memo`` reads, and not in a table here: a value may refer back to its
topology, and a table of such values would keep all of them alive. Pickles and copies of a topology start with none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar, cast

from linkstep.core.stopping import current_stop

Value = TypeVar("Value")


class MemoOwner(Protocol):
    """What values can be kept for: it has a dict that goes when it goes."""

    @property
    def _memo(self) -> dict[tuple[Memo[Any], Hashable], Any]: ...


class Memo(Generic[Value]):
    """Values of one kind, one for each topology and each ``key`` (what else the value depends on).

    Two threads that ask at once may both work a value out; the first one stays, and both get it.

    >>> from linkstep.core.topology import Topology
    >>> ring, sizes = Topology.from_links(3, [0, 1, 2], [1, 2, 0]), Memo[int]()
    >>> sizes.find(ring, lambda: 3), sizes.find(ring, lambda: 4), sizes.get(ring), sizes.get(ring, "other")
    (3, 3, 3, None)
    """

    def get(self, topology: MemoOwner, key: Hashable = None) -> Value | None:
        """Return what is kept, or None."""
        return cast("Value | None", topology._memo.get((self, key)))

    def keep(self, topology: MemoOwner, value: Value, key: Hashable = None) -> Value:
        """Keep a value unless there is one; return the one that is kept."""
        return cast("Value", topology._memo.setdefault((self, key), value))

    def find(self, topology: MemoOwner, make: Callable[[], Value], key: Hashable = None) -> Value:
        """Return what is kept; work it out first if nothing is. What a stopped search found is not kept for others."""
        kept = topology._memo
        if (self, key) not in kept:
            stop = current_stop()
            if stop is not None and (id(topology), self, key) in stop.kept:
                return cast("Value", stop.kept[id(topology), self, key][1])
            value = make()
            if stop is not None and stop.is_asked:
                stop.kept[id(topology), self, key] = topology, value  # with the topology, or its id may be another's
                return value
            kept.setdefault((self, key), value)
        return cast("Value", kept[self, key])

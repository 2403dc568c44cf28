"""What an engine must offer to execute plans: messages that are prepared once and started many times.

``mpi`` and ``torchdist`` are the two there are; ``numbering`` gives the ranks of either other numbers. A transport
knows nothing of plans or chunks. It carries bytes, notices when they do not come and which ranks are gone, makes arrays
of the library it is at home with, and can call the engine's own collectives, to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from linkstep.core.collective import Collective

TIMEOUT = 5.0
"""Seconds without a message, by default, after which a run has failed; with what follows it ends within ten."""


SETUP = 60.0
"""Seconds that ranks wait for each other where one may be making plans, or importing torch, while others are done."""


class Wire(NamedTuple):
    """One message to be carried again and again: from or to ``peer``, told apart from others by ``tag``."""

    is_send: bool
    peer: int
    tag: int
    data: Any
    """A flat array; its memory is read or written whenever the message is started."""


class Silence(NamedTuple):
    """What a rank was waiting for when it gave up."""

    seconds: float
    from_ranks: tuple[int, ...]
    """Whose messages did not come."""
    to_ranks: tuple[int, ...]
    """Who did not take what was sent."""
    dead: tuple[int, ...] = ()
    """Which of all ranks are known to be gone."""
    reason: str = ""
    """What the engine said, if it said something."""

    def words(self, names: Sequence[str] | None = None) -> str:
        """Say it, with hosts by their names if they have any.

        >>> Silence(5.2, (1, 2), ()).words()
        'nothing came from ranks 1, 2 for 5 s: is it alive, is the cable up, does it make the same call?'
        >>> Silence(0.3, (), (), dead=(3,)).words(["a", "b", "c", "d"])
        'rank 3 (d) ended before the others'
        """
        if self.dead:
            return f"{ranks_in_words(self.dead, names)} ended before the others"
        parts = []
        if self.from_ranks:
            parts.append(f"nothing came from {ranks_in_words(self.from_ranks, names)}")
        if self.to_ranks:
            parts.append(f"{ranks_in_words(self.to_ranks, names)} took nothing")
        text = " and ".join(parts) or "not all others came"
        text += f" for {self.seconds:.0f} s" if self.seconds >= 1 else ""
        text += ": is it alive, is the cable up, does it make the same call?"
        return f"{text} ({self.reason})" if self.reason else text


def ranks_in_words(ranks: Sequence[int], names: Sequence[str] | None = None) -> str:
    """Return ranks as a message names them.

    >>> ranks_in_words((0, 2), ["a", "b", "c"])
    'ranks 0 (a), 2 (c)'
    """
    found = [str(r) if names is None else f"{r} ({names[r]})" for r in ranks]
    return f"rank{'s' * (len(found) > 1)} {', '.join(found)}"


class Silent(Exception):
    """Raised by ``wait``; what runs a plan turns it into words."""

    def __init__(self, silence: Silence) -> None:
        super().__init__(silence.words())
        self.silence = silence


class Transport(Protocol):
    """Messages between the ranks of a group; handles are the transport's own."""

    rank: int
    size: int
    timeout: float
    posts_late: bool
    """Whether a receive must be started with the sends of its level, as NCCL asks, and not as soon as it can be."""
    acknowledges: bool
    """Whether a send may be complete only when the receiver has said so, a round trip later."""
    shares_clock: bool
    """Whether all ranks run on one machine."""
    tag_limit: int
    """Tags are below this."""

    def prepare(self, wires: Sequence[Wire]) -> list[Any]:
        """Return a handle for each message."""

    def start(self, handles: Sequence[Any]) -> None:
        """Start messages; they go on by themselves."""

    def wait(self, handles: Sequence[Any]) -> None:
        """Return when all are complete, or raise Silent if none of them was for as long as the timeout."""

    def is_open(self) -> bool:
        """Whether the engine still runs: a program may shut it down before it lets go of a communicator."""

    def dead(self) -> tuple[int, ...]:
        """Return the ranks that are known to be gone."""

    def release(self, handles: Sequence[Any]) -> None:
        """Give back handles, none of which is in flight."""

    def array(self, length: int, type_name: str) -> Any:
        """Return a flat array of zeros, of the library that the engine is at home with."""

    def own(
        self, collective: Collective, source: Any, target: Any, operation: str, root: int
    ) -> Callable[[], Any] | None:  # fmt: skip
        """Return a call of the engine's own collective on two flat arrays, to compare with; None if it has none."""

    def gather(self, value: bytes, patience: float | None = None) -> list[bytes]:
        """Return what every rank gave, in their order; for set-up and results, not for data. All must call it.

        Silent is raised if a rank does not come for ``patience`` seconds, by default the timeout.
        """

    def split(self, members: Sequence[int]) -> Transport | None:
        """Return the transport between some of its ranks, ascending, renumbered; None on the others. All call it."""

    def mark_failed(self) -> None:
        """Note that messages may be in flight that never arrive: at its end the process must not wait for them."""

    def abort(self) -> None:
        """End the job: other ranks as well where the engine can, at least this one's part in it."""

"""What a step takes, as rows: each is a limit that real machines have, or something that they wait for besides.

A step lasts until everything in it has arrived: as long as the slowest of the rows of ``MODELS`` says, and what the
rows that add say besides. To add one, write its function and its row here, and its number as a field of ``Fabric``; the
number of a row that is registered is one of ``Fabric.more``.
``seconds_of`` asks the rows step by step, and ``Fabric.time`` for a cost, of which only T_L and T_B are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from linkstep.core.tables import Rows
from linkstep.core.text import shown

if TYPE_CHECKING:
    from linkstep.costs.fabric import Fabric

_NOTHING = Fraction(0)


@dataclass(frozen=True)
class StepLoads:
    """What decides how long one step takes: of links, and of hosts, that are alike only the busiest."""

    links: tuple[tuple[Fraction, Fraction, int, Fraction], ...] = ()
    """(alpha, rate, messages, bits) of links."""
    hosts: tuple[tuple[Fraction, Fraction], ...] = ()
    """(alpha, bits) of hosts that send or receive: alpha is the least of the links that they use."""
    switches: bool = False
    """Whether a link that is used opens at this step, after the first."""


@dataclass(frozen=True)
class CostModel:
    """A row of ``MODELS``: what it counts, the members of a fabric file that it needs, and seconds of one step."""

    name: str
    title: str
    members: tuple[str, ...]
    step: Callable[[StepLoads, Fabric], Fraction]
    adds: bool = False
    """Whether its seconds come on top of what the others take, rather than at the same time."""
    rates: tuple[str, ...] = ()
    """Those of its members that are in bit/s, where ``Fabric`` has no such field; others are seconds."""


_NO_NUMBERS = ("format", "version", "degree", "source", "more")
"""What else a fabric and its file have."""


def _unwritable(model: CostModel) -> str | None:
    """Return that a member cannot be a number of a fabric, or None."""
    for member in model.members:
        if not isinstance(member, str) or not member.isidentifier() or member in _NO_NUMBERS:
            return f"{shown(member)} cannot be a number of a fabric: take a word that it does not have"
    return None


def _links(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A link is done after its alpha, its messages one by one, and its bits at its rate; an empty step takes alpha."""
    if not fabric.message:
        return max((a + bits / rate for a, rate, _, bits in loads.links), default=fabric.alpha)
    return max((a + count * fabric.message + bits / rate for a, rate, count, bits in loads.links), default=fabric.alpha)


def _hosts(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A host is done after the least alpha of its links, and the bits of all its links together at its own rate."""
    rate = fabric.host_bandwidth
    return _NOTHING if rate is None else max((a + bits / rate for a, bits in loads.hosts), default=_NOTHING)


def _switching(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A step whose links open only then begins when they are there."""
    return fabric.switching if loads.switches else _NOTHING


MODELS = Rows(
    CostModel,
    "cost model",
    (
        CostModel("links", "a link's alpha, messages and bits", ("alpha", "node_bandwidth", "message"), _links),
        CostModel("hosts", "all ports of a host together, in and out", ("host_bandwidth",), _hosts),
        CostModel("switching", "opening links between two steps", ("switching",), _switching, adds=True),
    ),
    key=lambda model: model.name,
    check=_unwritable,
)
"""What a step takes. What a call takes besides (overhead, reductions) is ``Fabric.time``'s."""


def step_seconds(step: StepLoads, fabric: Fabric) -> Fraction:
    """Return how long a step takes: the slowest limit, and what comes on top."""
    longest, added = _NOTHING, _NOTHING
    for model in MODELS:
        seconds = model.step(step, fabric)
        if not seconds:
            continue  # to add and to compare fractions takes longer than all else here
        if model.adds:
            added += seconds
        elif seconds > longest:
            longest = seconds
    return longest + added if added else longest

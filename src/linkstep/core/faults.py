"""Faults: cables that are cut or slow, hosts that are down or only forward. They leave a topology, and ranks on it.

Hosts are named as people name them, by label or by number, always those of the whole topology. Not here: what faults
cost (make a schedule on the topology that ``apply`` returns) and where they come from (a command's options).

>>> import linkstep
>>> torus = linkstep.parse("Torus(4,4)").topology()
>>> apply(torus, [Cut("0", "1")], link_bandwidth=25 * 10**9)
<Topology 'Torus(4,4), cut 0,1' N=16 d=4 links=62>
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from linkstep.core.arguments import check_flag, check_kind
from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.ranks import Ranks
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, parse_bandwidth

ONE_WAY = "oneway"
_TOO_FAST = 2**62
_LEAST_MEASURE = 10**3
"""Rates are whole bit/s. Where they cannot be, they are rounded to multiples of a measure of at least this."""


def _quoted(host: str) -> str:
    return f'"{host}"' if "," in host else host


@dataclass(frozen=True)
class Cut:
    """A cable cut: one link each way between two hosts, whichever exist, or only the link from the first."""

    first: str
    second: str
    one_way: bool = False

    def __post_init__(self) -> None:
        _check_ends(self)

    def __str__(self) -> str:
        return f"cut {_ends(self)}"


@dataclass(frozen=True)
class Down:
    """A host that is down; its cables go with it and the rest goes on."""

    host: str

    def __post_init__(self) -> None:
        check_kind("host", self.host, str)

    def __str__(self) -> str:
        return f"down {_quoted(self.host)}"


@dataclass(frozen=True)
class Forward:
    """A host that has lost its part in collectives, its GPU say, and still forwards what others send."""

    host: str

    def __post_init__(self) -> None:
        check_kind("host", self.host, str)

    def __str__(self) -> str:
        return f"forward {_quoted(self.host)}"


@dataclass(frozen=True)
class Slow:
    """A cable that runs at ``rate`` (bit/s): one link each way, whichever exist, or only the link from the first."""

    first: str
    second: str
    rate: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        _check_ends(self)
        object.__setattr__(self, "rate", parse_bandwidth(self.rate))

    def __str__(self) -> str:
        return f"slow {_ends(self)}={format_rate(self.rate)}"


Fault = Cut | Down | Forward | Slow


def _check_ends(fault: Cut | Slow) -> None:
    for host in (fault.first, fault.second):
        check_kind("host", host, str)
    check_flag("one_way", fault.one_way)


def _ends(fault: Cut | Slow) -> str:
    ends = [_quoted(fault.first), _quoted(fault.second)]
    return ",".join([*ends, ONE_WAY] if fault.one_way else ends)


def format_rate(rate: Fraction | int) -> str:
    """Return bits per second as people write them.

    >>> format_rate(25 * 10**9), format_rate(1)
    ('25Gbps', '1bps')
    """
    rate = parse_bandwidth(rate)
    for prefix, scale in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if rate >= scale:
            return f"{float(rate / scale):.6g}{prefix}bps"
    return f"{float(rate):.6g}bps"


# --- as people write them ---


def _hosts(text: str) -> list[str]:
    """Split at commas; a host whose name has one is written in double quotes."""
    try:
        return [part.strip() for part in next(csv.reader([text], strict=True), [])]
    except csv.Error:
        return []


def _cable(text: str, what: str, form: str) -> tuple[str, str, bool]:
    hosts = _hosts(text)
    one_way = len(hosts) == 3 and hosts[2] == ONE_WAY
    if len(hosts) != 2 + one_way or not all(hosts):
        raise LinkstepError(f"{what} is written {form}, or with {ONE_WAY} after the hosts, not {text!r:.60}")
    if hosts[0] == hosts[1]:
        raise LinkstepError(f"{what}: a cable joins two hosts, not {hosts[0]!r} to itself")
    return hosts[0], hosts[1], one_way


def _parse_cut(text: str) -> Cut:
    return Cut(*_cable(text, "a cut cable", "A,B"))


def _parse_down(text: str) -> Down:
    return Down(_host(text, "is down"))


def _parse_forward(text: str) -> Forward:
    return Forward(_host(text, "only forwards"))


def _host(text: str, which: str) -> str:
    hosts = _hosts(text)
    if len(hosts) != 1 or not hosts[0]:
        raise LinkstepError(f"a host that {which} is named alone, not {text!r:.60}")
    return hosts[0]


def _parse_slow(text: str) -> Slow:
    cable, equals, rate_text = text.rpartition("=")
    first, second, one_way = _cable(cable if equals else text, "a slow cable", "A,B=10Gbps")
    if not equals:
        raise LinkstepError(f"a slow cable is written A,B=10Gbps: {text!r:.60} says no rate")
    rate = parse_bandwidth(rate_text)
    if rate <= 0:
        raise LinkstepError(f"a slow cable has a rate above 0, not {rate_text}: one without is cut")
    return Slow(first, second, rate, one_way)


KINDS: dict[str, Callable[[str], Fault]] = {
    "cut": _parse_cut, "down": _parse_down, "slow": _parse_slow, "forward": _parse_forward,
}  # fmt: skip


def parse(kind: str, text: str) -> Fault:
    """Read a fault of a kind in ``KINDS``.

    >>> parse("slow", "rack1,rack2,oneway=10Gbps")
    Slow(first='rack1', second='rack2', rate=Fraction(10000000000, 1), one_way=True)
    """
    if check_kind("a kind of fault", kind, str) not in KINDS:
        raise LinkstepError(f"a fault is one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind](check_kind("a fault", text, str))


# --- what is left ---


@dataclass
class _Rest:
    """What faults leave of a topology, link by link, in the whole topology's numbers."""

    topology: Topology
    is_down: set[int]
    forwards: set[int]
    gone: set[int]
    rate: dict[int, Fraction]

    def take_down(self, fault: Down) -> None:
        node = self.topology.node_named(fault.host)
        if node in self.is_down:
            raise TopologyError(f"{fault}: that host is down already")
        self.is_down.add(node)

    def take_part(self, fault: Forward) -> None:
        node = self.topology.node_named(fault.host)
        if node in self.is_down:
            raise TopologyError(f"{fault}: that host is down, and forwards nothing")
        if node in self.forwards:
            raise TopologyError(f"{fault}: that host takes no part already")
        self.forwards.add(node)

    def links_of(self, fault: Cut | Slow) -> list[int]:
        """Return the link each way, or the one, that a fault is about: the first neither gone nor slow yet."""
        u, w = (self.topology.node_named(host) for host in (fault.first, fault.second))
        if u == w:
            raise TopologyError(f"{fault}: both are {self.topology.called(u)}, and a cable joins two hosts")
        for node in (u, w):
            if node in self.is_down:
                raise TopologyError(f"{fault}: {self.topology.called(node)} is down, and its cables with it")
        ways = [(u, w)] if fault.one_way else [(u, w), (w, u)]
        found = [e for way in ways for e in self._left(*way)[:1]]
        if not found:
            ends = [self.topology.called(node) for node in (u, w)]
            what = "link {}from {} to {}" if fault.one_way else "cable {}between {} and {}"
            any_left = "left " if any(self._between(*way) for way in ways) else ""
            raise TopologyError(f"{fault}: there is no {what.format(any_left, *ends)}")
        return found

    def _between(self, u: int, w: int) -> list[int]:
        begin, end = self.topology.out_ptr[u : u + 2].tolist()
        return [begin + int(k) for k in np.flatnonzero(self.topology.head[begin:end] == w)]

    def _left(self, u: int, w: int) -> list[int]:
        return [e for e in self._between(u, w) if e not in self.gone and e not in self.rate]


def _check_faults(faults: object) -> None:
    for fault in check_kind("faults", faults, tuple, list):
        check_kind("a fault", fault, Down, Forward, Cut, Slow)


def _rest(topology: Topology, faults: Iterable[Fault]) -> _Rest:
    """Hosts go down first, then cables are cut, then slow: the order in which faults are named does not count."""
    rest = _Rest(topology, set(), set(), set(), {})
    order = {Down: 0, Forward: 1, Cut: 2, Slow: 3}
    for fault in sorted(faults, key=lambda fault: order[type(fault)]):
        if isinstance(fault, Down):
            rest.take_down(fault)
        elif isinstance(fault, Cut):
            rest.gone.update(rest.links_of(fault))
        elif isinstance(fault, Forward):
            rest.take_part(fault)
        else:
            rest.rate |= dict.fromkeys(rest.links_of(fault), fault.rate)
    return rest


def _whole_rates(rates: Iterable[Fraction]) -> dict[Fraction, int]:
    """Return rates as whole bit/s in exactly the same proportions, so that costs stay exact.

    A third of 100Gbps is not whole: it is rounded together with the others, to multiples of what measures them all.
    """
    known = sorted(set(rates))
    if known[-1] >= _TOO_FAST:
        raise TopologyError(f"a link's rate must be below 2^62 bit/s, not {format_rate(known[-1])}")
    scale = lcm(*(rate.denominator for rate in known))
    measure = Fraction(gcd(*(int(rate * scale) for rate in known)), scale)
    if measure.denominator != 1 and measure < _LEAST_MEASURE:
        shown = ", ".join(format_rate(rate) for rate in known)
        raise TopologyError(f"rates of links have no common measure ({shown}): round them, to 1Mbps say")
    return {rate: int(rate / measure * int(measure)) for rate in known}


def _bandwidth(rest: _Rest, link_bandwidth: Fraction) -> Ints:
    """Return the rate of every link of the whole topology, given that some are slow."""
    topology = rest.topology
    for link, rate in rest.rate.items():
        usual = link_bandwidth if topology.bandwidth is None else Fraction(int(topology.bandwidth[link]))
        if rate > usual:
            tail, head = (topology.called(int(ids[link])) for ids in (topology.tail, topology.head))
            raise TopologyError(
                f"the link from {tail} to {head} runs at {format_rate(usual)}: {format_rate(rate)} is not slow"
            )
        if topology.bandwidth is not None and rate.denominator != 1:
            raise TopologyError(f"a link's rate must be whole bit/s, not {format_rate(rate)}")
    if topology.bandwidth is None:
        whole = _whole_rates([link_bandwidth, *rest.rate.values()])
        column = np.full(topology.num_links, whole[link_bandwidth], np.int64)
    else:
        whole = {rate: int(rate) for rate in rest.rate.values()}
        column = topology.bandwidth.copy()
    for link, rate in rest.rate.items():
        column[link] = whole[rate]
    return column


def _without(topology: Topology, faults: Iterable[Fault], link_bandwidth: Fraction) -> Topology:
    rest = _rest(topology, faults)
    left = topology.without_links(sorted(rest.gone)) if rest.gone else topology
    if rest.rate:
        # Given only after cut links are gone: links between the same two hosts sort by rate and change their numbers.
        column = np.delete(_bandwidth(rest, link_bandwidth), sorted(rest.gone))
        left = left.with_bandwidth(column)
    if rest.is_down:
        left = left.without_nodes(sorted(rest.is_down))
    if left.bandwidth is None and left.num_links and left.degree < topology.degree:
        # B over fewer ports would make every link faster than it was.
        left = left.with_bandwidth(np.full(left.num_links, _whole_rates([link_bandwidth])[link_bandwidth]))
    return left


def apply(topology: WiringLike, faults: Sequence[Fault], link_bandwidth: Number) -> Topology:
    """Return what faults leave of a topology whose links run at ``link_bandwidth`` (bit/s) where no column says.

    The hosts that are left keep their names, or their numbers for names; links keep their rates. Raises where a
    connected topology is connected no longer, and says by which fault.

    >>> square = Topology.from_links(4, [0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3], "square")
    >>> apply(square, [parse("cut", "0,1"), parse("slow", "2,3=1Gbps")], Fraction(5 * 10**10))
    <Topology 'square, cut 0,1, slow 2,3=1Gbps' N=4 d=2 links=6>
    """
    topology, rate = as_topology(topology), parse_bandwidth(link_bandwidth)
    _check_faults(faults)
    if not faults:
        return topology
    if rate <= 0:
        raise LinkstepError(f"link_bandwidth must be above 0, not {link_bandwidth}")
    left = _without(topology, faults, rate)
    try:
        check_connected(left)
    except TopologyError as error:
        by = _first_to_disconnect(topology, faults, rate)
        if by is not None:
            raise TopologyError(f"{error} ({by})") from None
    name = ", ".join([topology.name or "a topology", *(str(fault) for fault in faults)])
    return replace(left, name=name)


def ranks_left(topology: WiringLike, faults: Sequence[Fault]) -> Ranks | None:
    """Return who takes part in what ``apply`` leaves of a topology; None where all do that are left.

    >>> square = Topology.from_links(4, [0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3])
    >>> ranks_left(square, [Down("0"), Forward("2")]).nodes.tolist()
    [0, 2]
    """
    topology = as_topology(topology)
    _check_faults(faults)
    rest = _rest(topology, faults)
    if not rest.forwards:
        return None
    if len(rest.forwards) + len(rest.is_down) == topology.num_nodes:
        raise TopologyError("no host is left that takes part")
    ranks = Ranks.everyone(topology).without_ranks(sorted(rest.forwards))
    return ranks.without_nodes(sorted(rest.is_down)) if rest.is_down else ranks


def _first_to_disconnect(topology: Topology, faults: Sequence[Fault], link_bandwidth: Fraction) -> Fault | None:
    """Return the first fault that takes the last way between two hosts; None if there was none from the start."""
    breaking = [fault for fault in faults if not isinstance(fault, (Slow, Forward))]
    for count in range(len(breaking) + 1):
        left = _without(topology, breaking[:count], link_bandwidth) if count else topology
        try:
            check_connected(left)
        except TopologyError:
            return breaking[count - 1] if count else None
    raise AssertionError("slow links never disconnect")

"""Making a testbed, cutting and mending its cables, taking it down. The only module here that changes the machine.

The file of a testbed is written before anything is made. Signals wait while something is half done: an ``up`` that is
interrupted takes down what it made, and then the signal has its effect. Whatever is done here can be done again.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import FrameType

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology, check_permanent
from linkstep.engines.testbed import namespaces, network, relaying, state
from linkstep.engines.testbed.network import Delay, Tools
from linkstep.engines.testbed.testbed import Testbed
from linkstep.engines.transports.counters import device_bytes

MAX_HOSTS = 256
LEAST_RATE, MOST_RATE = 10**4, 10**11
MOST_DELAY = 1
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)
_GRACE = 1.0
"""Seconds that processes on hosts have to end after SIGTERM, before SIGKILL."""


def check_name(name: str) -> None:
    """Raise unless a testbed may have this name: it becomes part of file names and of namespaces."""
    if _NAME.fullmatch(name) is None:
        raise LinkstepError(
            f"a testbed's name is up to 32 letters a-z, digits and hyphens and begins with a letter, not {name!r:.60}"
        )


def load(name: str) -> Testbed:
    """Return the testbed of this name, as it is now; LinkstepError naming those there are if there is none."""
    check_name(name)
    return state.load(name)


# --- signals ---


@contextmanager
def _held_signals() -> Iterator[Callable[[], None]]:
    """Keep signals waiting until the block ends; yields a function that raises if one came."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    def check() -> None:
        if came:
            raise LinkstepError(f"interrupted by {signal.Signals(came[0]).name}")

    if threading.current_thread() is not threading.main_thread():  # where Python lets nobody handle signals
        yield check
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, note)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


# --- up ---


def scale(topology: Topology, rate: int) -> Topology:
    """Return a topology as a testbed emulates it: its fastest link at ``rate``, others in proportion.

    Links' latencies are dropped: all cables of a testbed have the same delay.
    """
    check_permanent(topology, "a testbed")
    if topology.bandwidth is None and topology.alpha is None:
        return topology
    rates = None
    if topology.bandwidth is not None:
        fastest = int(topology.bandwidth.max(initial=1))
        rates = [max(speed * rate // fastest, 1) for speed in topology.bandwidth.tolist()]
    return Topology.from_links(
        topology.num_nodes, topology.tail, topology.head, topology.name, bandwidth=rates, labels=topology.labels
    )


def check_sizes(topology: Topology, rate: Fraction, delay: Fraction) -> int:
    """Raise if a testbed cannot have these; return the rate as whole bit/s."""
    if not 2 <= topology.num_nodes <= MAX_HOSTS:
        raise LinkstepError(f"a testbed has 2 to {MAX_HOSTS} hosts, not {topology.num_nodes}")
    if rate.denominator != 1 or not LEAST_RATE <= rate <= MOST_RATE:
        raise LinkstepError(f"a testbed's rate must be whole bit/s from 10kbps to 100Gbps, not {float(rate):g}bps")
    if not 0 <= delay <= MOST_DELAY:
        raise LinkstepError(f"a testbed's delay must be at most {MOST_DELAY} s, not {float(delay):g} s")
    return int(rate)


def up(topology: Topology, name: str, rate: int, delay: Fraction = Fraction(0)) -> Testbed:
    """Make a testbed of a topology (see ``scale``), links without a rate of their own at ``rate`` bit/s.

    Whatever goes wrong, nothing is left behind.
    """
    check_name(name)
    check_sizes(topology, Fraction(rate), delay)
    network.check_possible()
    with state.lock() as descriptor, _held_signals() as check_signals:
        testbed = Testbed(name, topology, rate, delay, secrets.token_hex(16), state.boot_id())
        _check_free(testbed)
        tools = Tools(descriptor)
        try:
            state.save(testbed)
            for _ in _making(testbed, tools):
                check_signals()
            testbed = state.load(name)
            check_signals()
        except BaseException:
            _remove(testbed, tools)
            raise
    return testbed


def _check_free(testbed: Testbed) -> None:
    if state.path_of(testbed.name).exists():
        raise LinkstepError(
            f"there is a testbed {testbed.name} already: choose another name, or linkstep testbed down {testbed.name}"
        )
    taken = [namespace for namespace in testbed.namespaces if namespaces.inode_of(namespace) is not None]
    if taken:
        raise LinkstepError(
            f"there is a network namespace {taken[0]} already, which is no testbed's: choose another name"
        )


def _making(testbed: Testbed, tools: Tools) -> Iterator[None]:
    """Make everything, step by step, and write down that all is there."""
    tools.ip(network.namespace_lines(testbed))
    yield
    settings = network.SETTINGS | (network.SETTINGS_IPV6 if Path("/proc/sys/net/ipv6").exists() else {})
    for namespace in testbed.namespaces:
        namespaces.inside(namespace, lambda: namespaces.write_settings(settings))
    yield
    by = _choose_delay(testbed, tools)
    testbed = replace(testbed, relayed=by is Delay.RELAY)
    if testbed.relayed:
        relaying.start(testbed)
    else:
        tools.ip(network.veth_lines(testbed))
    yield
    for host, namespace in enumerate(testbed.namespaces):
        tools.ip(network.host_lines(testbed, host) + network.wiring_lines(testbed, host), namespace)
        tools.tc(network.rate_lines(testbed, host, by), namespace)
        yield
    inodes = [inode for namespace in testbed.namespaces if (inode := namespaces.inode_of(namespace)) is not None]
    if len(inodes) != testbed.num_hosts:
        raise LinkstepError(f"somebody removed namespaces of testbed {testbed.name} while it was made")
    state.save(replace(testbed, inodes=tuple(inodes)))


def _choose_delay(testbed: Testbed, tools: Tools) -> Delay:
    """Ask the kernel for netem, on a device that carries nothing."""
    if not testbed.delay:
        return Delay.NOTHING
    try:
        tools.tc(["qdisc add dev lo root netem delay 1ms"], testbed.namespace(0))
    except LinkstepError:
        return Delay.RELAY
    tools.tc(["qdisc del dev lo root"], testbed.namespace(0))
    return Delay.NETEM


def _delayed_by(testbed: Testbed) -> Delay:
    if not testbed.delay:
        return Delay.NOTHING
    return Delay.RELAY if testbed.relayed else Delay.NETEM


# --- down ---


def down(name: str) -> int:
    """Take a testbed down: its relay, what runs on its hosts, its namespaces; return how many processes it ended."""
    check_name(name)
    network.check_possible()
    with state.lock() as descriptor, _held_signals():
        return _remove(state.load(name), Tools(descriptor))


def _remove(testbed: Testbed, tools: Tools) -> int:
    ended = 0
    if testbed.boot == state.boot_id():
        relaying.stop(testbed)
        own = _own_namespaces(testbed)
        ended = _end_processes(set(own.values()))
        tools.ip([f"netns delete {namespace}" for namespace in own])
    state.forget(testbed)
    return ended


def _own_namespaces(testbed: Testbed) -> dict[str, int]:
    """Return the namespaces that this testbed made and that are still there, with their numbers.

    Before all numbers are known, those with its names are its own: there were none when it began.
    """
    found = {namespace: namespaces.inode_of(namespace) for namespace in testbed.namespaces}
    expected: Iterable[int | None] = testbed.inodes or found.values()
    return {
        namespace: inode
        for (namespace, inode), known in zip(found.items(), expected, strict=True)
        if inode is not None and inode == known
    }


def _end_processes(inodes: set[int]) -> int:
    """End what runs in namespaces: devices would live on with it. Never what runs where this process does."""
    inodes = inodes - {namespaces.current_inode()}
    seen: set[int] = set()
    begin = time.monotonic()
    while running := namespaces.processes_in(inodes) if inodes else []:
        late = time.monotonic() - begin > _GRACE
        for process in running:
            if late or process not in seen:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
        seen.update(running)
        if time.monotonic() - begin > 10 * _GRACE:
            raise LinkstepError(f"process {running[0]} on a host of the testbed does not end")
        time.sleep(0.02)
    return len(seen)


# --- cut and mend ---


def cut(name: str, hosts: Sequence[str], *, reroute: bool = False) -> Testbed:
    """Cut a cable between two hosts of a running testbed, the slowest of several; return the testbed as it is then.

    The two hosts cannot reach each other when their last cable is cut. With ``reroute``, which also works on a cable
    that was cut before, set-up traffic between them goes round, so that a runtime can start with a schedule that does
    not use the cable.
    """

    def change(testbed: Testbed) -> Testbed:
        pair = testbed.pair(hosts)
        trunk = next(trunk for trunk in testbed.trunks if trunk.ends == pair)
        if testbed.cut.count(pair) == trunk.num_cables:
            if not reroute or pair in testbed.rerouted:
                raise LinkstepError(f"{_between(testbed, pair)} no cable is left to cut")
        else:
            testbed = replace(testbed, cut=tuple(sorted((*testbed.cut, pair))))
        if reroute and testbed.cut.count(pair) == trunk.num_cables:
            testbed = replace(testbed, rerouted=tuple(sorted((*testbed.rerouted, pair))))
        return testbed

    return _change(name, change)


def mend(name: str, hosts: Sequence[str]) -> Testbed:
    """Mend a cable that ``cut`` cut, the fastest of several; return the testbed as it is then."""

    def change(testbed: Testbed) -> Testbed:
        pair = testbed.pair(hosts)
        if pair not in testbed.cut:
            raise LinkstepError(f"{_between(testbed, pair)} no cable is cut")
        left = list(testbed.cut)
        left.remove(pair)
        return replace(testbed, cut=tuple(left), rerouted=tuple(p for p in testbed.rerouted if p != pair))

    return _change(name, change)


def _between(testbed: Testbed, pair: tuple[int, int]) -> str:
    ends = " and ".join(testbed.topology.called(host) for host in pair)
    return f"testbed {testbed.name}: between {ends}"


def _change(name: str, change: Callable[[Testbed], Testbed]) -> Testbed:
    """Write down what is to change, then bring every host whose lines differ to it."""
    check_name(name)
    network.check_possible()
    with state.lock() as descriptor, _held_signals():
        before = state.load(name)
        check_whole(before)
        after = change(before)
        state.save(after)
        tools, by = Tools(descriptor), _delayed_by(after)
        # Hosts whose devices change come first: a cut is a cut at once, whatever the rest of the routes take.
        hosts = sorted(range(after.num_hosts), key=lambda host: not _rewired(before, after, host))
        for host in hosts:
            lines = network.wiring_lines(after, host)
            if lines != network.wiring_lines(before, host):
                tools.ip(lines, after.namespace(host))
            rates = network.rate_lines(after, host, by)
            if rates != network.rate_lines(before, host, by):
                tools.tc(rates, after.namespace(host))
    return after


def _rewired(before: Testbed, after: Testbed, host: int) -> bool:
    pairs = zip(before.trunks_left, after.trunks_left, strict=True)
    return any(old != new for old, new in pairs if host in old.ends)


# --- status ---


class Health(StrEnum):
    """Whether a testbed can be used."""

    UP = "up"
    INCOMPLETE = "incomplete"
    """A part of it was never made or has gone; ``down`` removes the rest."""


def health(testbed: Testbed) -> Health:
    """Say whether all of a testbed is there."""
    whole = (
        testbed.boot == state.boot_id()
        and testbed.inodes is not None
        and len(_own_namespaces(testbed)) == testbed.num_hosts
        and (not testbed.relayed or bool(relaying.find(testbed)))
    )
    return Health.UP if whole else Health.INCOMPLETE


def check_whole(testbed: Testbed) -> None:
    """Raise unless all of a testbed is there."""
    if health(testbed) is not Health.UP:
        raise LinkstepError(
            f"a part of testbed {testbed.name} is missing: take it down with linkstep testbed down {testbed.name}"
        )


@dataclass(frozen=True)
class TrunkStatus:
    """What the cables between two hosts are at, and the bytes they carried each way since the testbed came up."""

    first: int
    """The number of one host."""
    second: int
    """The number of the other."""
    num_cables: int
    """Cut or not."""
    num_cut: int
    """Of them."""
    rate_there: int
    """Bit/s from ``first`` to ``second`` now; 0 if all is cut."""
    rate_back: int
    """The same from ``second`` to ``first``."""
    bytes_there: int
    """Carried from ``first`` to ``second``."""
    bytes_back: int
    """Carried from ``second`` to ``first``."""


def status(testbed: Testbed) -> list[TrunkStatus]:
    """Return the state of every trunk of a testbed that is whole."""
    check_whole(testbed)
    counted = {
        host: namespaces.inside(testbed.namespace(host), device_bytes)
        for host in sorted({trunk.first for trunk in testbed.trunks})
    }
    rows = []
    for trunk, left in zip(testbed.trunks, testbed.trunks_left, strict=True):
        sent, received = counted[trunk.first].get(trunk.device, (0, 0))
        rows.append(
            TrunkStatus(
                trunk.first, trunk.second, trunk.num_cables, testbed.cut.count(trunk.ends),
                left.rate_from(trunk.first), left.rate_from(trunk.second), sent, received,
            )
        )  # fmt: skip
    return rows

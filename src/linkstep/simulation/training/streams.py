"""An iteration of training in time, on two streams: computing, and communication with one collective at a time.

The rules are those of app-sec:simtrainingdetails. The forward pass goes through the layers, the backward pass back.
Gradients gather in a bucket as they become ready, last layer first; once a bucket holds as much as its capacity, or
nothing more comes, its allreduce is given to the communication stream. Before and after a layer of experts there is an
all-to-all, and the computing stream waits for it. The communication stream runs what it is given in that order, as a
CUDA stream does: an all-to-all waits for the allreduces given before it. The iteration ends when both streams are done.

Since the order never depends on how long anything takes, no part that becomes faster makes the whole slower: a network
whose collectives are all as fast as another's gives an iteration that is as fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.arguments import check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.core.units import Number, parse_size
from linkstep.simulation.training.job import Job, Layer
from linkstep.simulation.training.network import Network

COMPUTE, COMMUNICATION = "compute", "communication"
FORWARD, BACKWARD, ALLREDUCE, ALL_TO_ALL = "forward", "backward", "allreduce", "all-to-all"
STREAM_OF = {FORWARD: COMPUTE, BACKWARD: COMPUTE, ALLREDUCE: COMMUNICATION, ALL_TO_ALL: COMMUNICATION}
"""The kinds of events, and the stream that each runs on."""
BUCKETS = (10**6, 10**7, 10**8, 10**9)
"""The bucket sizes, in bytes, among which the paper takes the best."""


@dataclass(frozen=True)
class Event:
    """Something that a stream does from ``start`` to ``end``, in seconds."""

    kind: str
    """A key of ``STREAM_OF``."""
    name: str
    start: Fraction
    end: Fraction

    @property
    def stream(self) -> str:
        """The stream it runs on."""
        return STREAM_OF[self.kind]

    @property
    def duration(self) -> Fraction:
        """Seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Iteration:
    """A simulated iteration: its events, in the order in which streams were given them."""

    events: tuple[Event, ...]
    bucket: Fraction
    """Bytes at which a bucket is full."""

    def total(self, *kinds: str) -> Fraction:
        """Return the seconds of all events of some kinds together."""
        return sum((event.duration for event in self.events if event.kind in kinds), Fraction(0))

    @property
    def time(self) -> Fraction:
        """Seconds from the start to the end of the last event."""
        return max((event.end for event in self.events), default=Fraction(0))

    @property
    def compute(self) -> Fraction:
        """Seconds of computing."""
        return self.total(FORWARD, BACKWARD)

    @property
    def all_to_all(self) -> Fraction:
        """Seconds of all-to-alls; all are exposed, for computing waits for them."""
        return self.total(ALL_TO_ALL)

    @property
    def allreduce(self) -> Fraction:
        """Seconds of allreduces, hidden behind computing or not."""
        return self.total(ALLREDUCE)

    @property
    def exposed_allreduce(self) -> Fraction:
        """Seconds of allreduces during which nothing is computed: what is left of the iteration."""
        return self.time - self.compute - self.all_to_all


def simulate_iteration(job: Job, network: Network, bucket: Number) -> Iteration:
    """Run one iteration with buckets of this capacity.

    >>> layers = (Layer("a", Fraction(1), Fraction(2), Fraction(8)), Layer("b", Fraction(1), Fraction(2), Fraction(8)))
    >>> wire = Network("8 bytes in a second", lambda size: size / 8)
    >>> done = simulate_iteration(Job("two", 2, layers), wire, 8)
    >>> [(event.name, int(event.start), int(event.end)) for event in done.events if event.kind == ALLREDUCE]
    [('b', 4, 5), ('a', 6, 7)]
    >>> done.time, done.exposed_allreduce
    (Fraction(7, 1), Fraction(1, 1))
    """
    check_kind("job", job, Job)
    check_kind("network", network, Network)
    capacity = parse_size(bucket)
    if capacity <= 0:
        raise LinkstepError(f"a bucket must hold more than 0 bytes, not {bucket}")
    streams = _Streams(network)
    for layer in job.layers:
        streams.run_layer(FORWARD, layer, layer.forward)
    gathered = Fraction(0)
    names: list[str] = []
    for layer in reversed(job.layers):
        streams.run_layer(BACKWARD, layer, layer.backward)
        if layer.gradient_bytes:
            gathered, names = gathered + layer.gradient_bytes, [*names, layer.name]
        if gathered >= capacity:
            streams.allreduce(gathered, names)
            gathered, names = Fraction(0), []
    if gathered:
        streams.allreduce(gathered, names)
    return Iteration(tuple(streams.events), capacity)


class _Streams:
    """Both streams as they are filled: until when each is busy, and what it does."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.free = {COMPUTE: Fraction(0), COMMUNICATION: Fraction(0)}
        self.events: list[Event] = []

    def run_layer(self, kind: str, layer: Layer, seconds: Fraction) -> None:
        """Compute a layer, between two all-to-alls if it is one of experts."""
        if layer.all_to_all_bytes:
            self._exchange(layer)
        self._append(kind, layer.name, self.free[COMPUTE], seconds)
        if layer.all_to_all_bytes:
            self._exchange(layer)

    def allreduce(self, size: Fraction, names: list[str]) -> None:
        """Average a bucket whose last gradient is ready now; computing goes on."""
        name = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
        self._append(ALLREDUCE, name, self._both_free(), self.network.allreduce(size))

    def _exchange(self, layer: Layer) -> None:
        seconds = self.network.all_to_all(layer.all_to_all_bytes)
        self._append(ALL_TO_ALL, layer.name, self._both_free(), seconds)
        self.free[COMPUTE] = self.free[COMMUNICATION]

    def _both_free(self) -> Fraction:
        return max(self.free.values())

    def _append(self, kind: str, name: str, start: Fraction, seconds: Fraction) -> None:
        event = Event(kind, name, start, start + seconds)
        self.free[event.stream] = event.end
        self.events.append(event)


def iterations(job: Job, network: Network, buckets: Iterable[Number] = BUCKETS) -> Iterator[Iteration]:
    """Run an iteration with each of some bucket sizes."""
    return (simulate_iteration(job, network, bucket) for bucket in buckets)


def best_iteration(job: Job, network: Network, buckets: Sequence[Number] = BUCKETS) -> Iteration:
    """Return the fastest iteration over some bucket sizes; of equally fast ones that with the first size."""
    if not isinstance(buckets, list | tuple):
        raise LinkstepError(f"buckets must be a list of sizes, not {shown(buckets)}")
    found = list(iterations(job, network, buckets))
    if not found:
        raise LinkstepError("buckets must have a size")
    return min(found, key=lambda iteration: iteration.time)

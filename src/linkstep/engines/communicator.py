"""The front door of the engines: collectives on arrays, by schedules of ours or programs of anyone.

A ``Communicator`` is made once, by all ranks alike, from whatever says how to communicate: a recipe, a topology,
schedules, programs, or a selector file. A schedule is lowered to a CPU program and a program proven before it is
compiled; then each call binds the plan to its arrays, once for arrays that come again. Calls must be made by all ranks
in the same order, as with any such library. What differs between ranks (data of another length or type, another
operation, another file) never meets: messages carry a tag made from all of it, so that a mistake ends in an
EngineError on every rank, not in wrong data.
"""

from __future__ import annotations

import contextlib
import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from linkstep.core.collective import Collective
from linkstep.core.errors import EngineError, LinkstepError
from linkstep.core.text import shown
from linkstep.engines.plans.binding import SMALL, Bound, bind_direct, bind_staged
from linkstep.engines.plans.layout import BufferLayout
from linkstep.engines.plans.plan import CompiledPlans, Plan, Plans
from linkstep.engines.plans.recording import Recording
from linkstep.engines.plans.session import Stuck
from linkstep.engines.transports.arrays import ArrayLibrary, check_operation, kind_of
from linkstep.engines.transports.engine import engine_named
from linkstep.engines.transports.numbering import numbered
from linkstep.engines.transports.transport import SETUP, TIMEOUT, Silence, Silent, Transport, ranks_in_words

if TYPE_CHECKING:
    from linkstep.core.schedule import Schedule
    from linkstep.core.topology import Topology
    from linkstep.programs import Program
    from linkstep.recipe import Recipe
    from linkstep.selector import Selector

_KEPT = 16
"""Calls whose arrays stay bound, so that those of a training loop find everything prepared."""
_MOST_KNOWN = 256
"""Calls that are recognised by their arrays."""


def _library(what: Any, node: int, num_nodes: int) -> Plans:
    from linkstep.engines.plans.source import PlanLibrary  # what makes schedules takes a second to import

    return PlanLibrary(what, node, num_nodes)


@dataclass(frozen=True)
class _Call:
    """What all ranks must agree on."""

    collective: Collective
    length: int
    """Elements of a rank's input."""
    type_name: str
    operation: str
    root: int
    is_inplace: bool
    fingerprint: str
    """Of the program."""

    def tag(self, limit: int, span: int) -> int:
        """Return the first of ``span`` tags, by a hash of the call: calls that differ are unlikely to share any."""
        digest = hashlib.sha256(repr(self).encode()).digest()
        return int.from_bytes(digest[:8]) % max(limit // span, 1) * span

    def __str__(self) -> str:
        return f"{self.collective} of {self.length} {self.type_name}"


class _Ready(NamedTuple):
    """A call with everything prepared."""

    what: _Call
    bound: Bound
    out_length: int


class Communicator:
    """Collectives between the ranks of an engine.

    ``what`` is a recipe, a topology, a schedule, a program, the text or path of a runtime's file, a ``Selector``, or
    several of these. A schedule or a program serves its own collective; a topology or recipe serves those it is not
    given a schedule for. ``engine`` is "mpi", "torch" or a transport, whose process v is node v of the topology.
    ``names`` are what the hosts of the nodes are called in messages.

    Where a schedule says that some nodes only forward, their processes make the same calls with arrays like the
    others', which are neither read nor written.

    Arrays may have any shape; they are taken row by row. Without ``out``, a result that is as long as the array has its
    shape, and the others one dimension.

    >>> import numpy as np
    >>> communicator = Communicator("K_{4,4}")  # doctest: +SKIP
    >>> communicator.allreduce(np.ones(1000))[0]  # doctest: +SKIP
    8.0
    """

    def __init__(
        self,
        what: str | Recipe | Topology | Schedule | Program | Selector | CompiledPlans | Sequence[Any],
        engine: str | Transport = "mpi",
        *,
        timeout: float = TIMEOUT,
        names: Sequence[str] | None = None,
    ) -> None:
        self._names, self._broken = names, ""
        self.silence: Silence | None = None
        """Why it failed, if it did."""
        is_transport = not isinstance(engine, type) and hasattr(engine, "rank") and hasattr(engine, "size")
        if not isinstance(engine, str) and not is_transport:
            raise EngineError(f"engine must be the name of one, or a transport, not {shown(engine)}")
        try:
            self.transport = engine_named(engine).open(timeout) if isinstance(engine, str) else engine
        except Silent as silent:
            raise EngineError(f"the ranks cannot begin: {self._words(silent.silence)}") from None
        self._bounds: OrderedDict[Any, Bound] = OrderedDict()
        self._known: dict[Any, _Ready | None] = {}
        """Calls by the arrays they were made with, or by what these look like; all of them are in ``_bounds`` too."""
        self._calls = 0
        self._recording: Recording | None = None
        self._plans: Plans = CompiledPlans("", 0, ())
        mistake = ""
        try:
            if isinstance(what, CompiledPlans):
                self._plans = what
            else:
                self._plans = _library(what, self.transport.rank, self.transport.size)
        except LinkstepError as error:
            mistake = str(error)
        order = self._plans.order
        if order is not None:
            self.transport = numbered(self.transport, order)
            self._names = None if names is None else [names[node] for node in order]
        self._end = weakref.finalize(self, _settle, self._bounds, self.transport)
        self._agree(mistake)

    @property
    def rank(self) -> int:
        """The rank of the calling process; where it only forwards, a number from ``size`` on."""
        return self.transport.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._plans.num_ranks

    @property
    def forwards(self) -> bool:
        """Whether the calling process passes data on and takes no part."""
        return self.rank >= self.size

    def _agree(self, mistake: str) -> None:
        """Raise unless every rank was given the same, naming those that were not."""
        digest = hashlib.sha256(self._plans.fingerprint.encode()).digest()
        state = b"!" + mistake.encode() if mistake else digest
        try:
            answers = self.transport.gather(state, SETUP)
        except Silent as silent:
            raise self.failure("while the ranks looked for each other", silent.silence) from None
        if mistake:
            raise LinkstepError(mistake)
        wrong = [rank for rank, text in enumerate(answers) if text[:1] == b"!" and len(text) != len(digest)]
        if wrong:
            raise EngineError(f"{self._ranks(wrong)} cannot begin: {answers[wrong[0]][1:].decode()}")
        common = max(set(answers), key=lambda text: (answers.count(text), -answers.index(text)))
        odd = [rank for rank, text in enumerate(answers) if text != common]
        if odd:
            raise EngineError(f"{self._ranks(odd)} was given another schedule than the rest: give all the same file")

    def allreduce(self, array: Any, out: Any = None, op: str = "sum") -> Any:
        """Return the element-wise sum (or min, max, prod) over all ranks; with ``out=array`` it is done in place."""
        return self._call(Collective.ALLREDUCE, array, out, op)

    def reduce_scatter(self, array: Any, out: Any = None, op: str = "sum") -> Any:
        """Return this rank's N-th of the sum; the length must be a multiple of N.

        It is done in place where ``out`` is that part of the array.
        """
        return self._call(Collective.REDUCE_SCATTER, array, out, op)

    def allgather(self, array: Any, out: Any = None) -> Any:
        """Return the arrays of all ranks, one after the other.

        It is done in place where the array is this rank's part of ``out``.
        """
        return self._call(Collective.ALLGATHER, array, out)

    def broadcast(self, array: Any, out: Any = None, root: int = 0) -> Any:
        """Return the root's array: in the same one, unless ``out`` is another."""
        return self._call(Collective.BROADCAST, array, array if out is None else out, root=root)

    def plan_for(self, collective: Collective | str, size: int, inplace: bool = False, root: int = 0) -> Plan:
        """Return this rank's plan for a collective of ``size`` bytes in all."""
        return self._plans.plan_for(Collective(collective), size, inplace, root)

    def reduce(self, array: Any, out: Any = None, op: str = "sum", root: int = 0) -> Any:
        """Return the sum over all ranks at the root; elsewhere the result is undefined."""
        return self._call(Collective.REDUCE, array, out, op, root)

    def all_to_all(self, array: Any, out: Any = None) -> Any:
        """Return what each rank had for this one: its r-th N-th of the array goes to rank r."""
        return self._call(Collective.ALL_TO_ALL, array, out)

    def run(
        self, collective: Collective | str, array: Any, out: Any = None, op: str = "sum", root: int = 0
    ) -> Any:  # fmt: skip
        """Run any collective by its name."""
        wanted = Collective(collective)
        if wanted is Collective.BROADCAST and out is None:
            out = array
        return self._call(wanted, array, out, op, root)

    def record(self, collective: Collective, array: Any, out: Any, op: str = "sum", root: int = 0) -> Recording:
        """Run a collective and return when this rank did what in it."""
        self._recording = recording = Recording()
        try:
            self._call(collective, array, out, op, root)
        finally:
            self._recording = None
        return recording

    def _call(self, collective: Collective, array: Any, out: Any, op: str = "sum", root: int = 0) -> Any:
        if self._broken:
            raise EngineError(f"this communicator failed before: {self._broken}")
        kind = kind_of(array)
        key: Any
        if out is None:  # small data goes through buffers of our own, wherever it is
            key = collective, op, root, type(array), kind.form(array)
            known = self._known.get(key)
            length = self._out_length(collective, kind, array) if known is None else known.out_length
            out = kind.make(length, array)
            out = out if collective.is_divided else out.reshape(array.shape)
            is_known_again = kind.length(array) * kind.item_size(array) <= SMALL
        else:
            if type(out) is not type(array):
                raise LinkstepError(f"out must be like the array, of {kind.type_name(array)}")
            key = collective, op, root, kind.key(array), kind.key(out)
            known, is_known_again = self._known.get(key), True
        if known is None:  # arrays that come again need no second look
            known = self._prepared(collective, kind, array, out, op, root)
            if is_known_again:
                self._keep(key, known)
        if known is not None:
            self._run(known.what, known.bound, array, out)
        return out

    def _keep(self, key: Any, known: _Ready | None) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = known

    def _out_length(self, collective: Collective, kind: ArrayLibrary, array: Any) -> int:
        shape = BufferLayout.of(collective, self.size, self.size, kind.length(array))
        return shape.section * shape.output_sections

    def _prepared(
        self, collective: Collective, kind: ArrayLibrary, array: Any, out: Any, op: str, root: int
    ) -> _Ready | None:  # fmt: skip
        """Return a call bound to its arrays; None if there is nothing to do."""
        if collective.has_root and not 0 <= root < self.size:
            raise LinkstepError(f"root must be a rank in [0, {self.size}), not {root}")
        check_operation(op)
        if kind.type_name(out) != kind.type_name(array):
            raise LinkstepError(f"out must be like the array, of {kind.type_name(array)}")
        out_length = self._out_length(collective, kind, array)
        if kind.length(out) != out_length:
            raise LinkstepError(f"out must have {out_length} elements, not {kind.length(out)}")
        length, type_name = kind.length(array), kind.type_name(array)
        if not length:
            return None
        shape = BufferLayout.of(collective, self.size, self.size, length)
        inplace = _is_inplace(collective, kind, array, out, self.rank * shape.section)
        is_small = length * kind.item_size(array) <= SMALL
        wanted = inplace and not (is_small and self.transport.acknowledges)  # it is copied anyhow, and then none waits
        wanted = wanted and self.transport.size == self.size  # those that forward could not know
        plan = self._plan(collective, shape.total * kind.item_size(array), wanted, root, f"{length} {type_name}")
        what = _Call(collective, length, type_name, op, root, plan.is_inplace, plan.fingerprint)
        return _Ready(what, self._bound(what, plan, kind, array, out, inplace), out_length)

    def _run(self, what: _Call, bound: Bound, array: Any, out: Any) -> None:
        self._calls += 1
        try:
            if self._recording is None:
                bound.run(array, out)
            else:
                bound.record(array, out, self._recording)
        except Stuck as stuck:
            steps = bound.plan.num_steps
            where = f"{what} (call {self._calls}) at step {min(stuck.level, steps)} of {steps}"
            raise self.failure(where, stuck.silence) from None

    def _plan(self, collective: Collective, size: int, inplace: bool, root: int, data: str) -> Plan:
        """Return the plan of a call; where it is not there yet, all ranks compile theirs at the same call.

        They first compare what they are about to run, so that ranks that make different calls find out at once. When
        they have compiled, they wait for each other up to ``SETUP`` seconds, not the timeout of a message: compiling
        takes some ranks much longer than others.
        """
        wanted = collective, size, inplace, root
        if self._plans.has_plan(*wanted):
            return self._plans.plan_for(*wanted)
        what = f"{collective} of {data}{f' with root {root}' * collective.has_root}{' in place' * inplace}"
        calls = self._gathered(what, None)
        odd = [rank for rank, text in enumerate(calls) if text != calls[self.rank]]
        if odd:
            others = f"{self._ranks(odd[:1])} calls {calls[odd[0]]}"
            why = "all ranks must make the same calls in the same order"
            raise EngineError(f"rank {self.rank}: it calls {calls[self.rank]}, and {others}: {why}")
        plan = self._plans.plan_for(*wanted)
        self._gathered(what, SETUP)
        return plan

    def _gathered(self, what: str, patience: float | None) -> list[str]:
        try:
            return [text.decode() for text in self.transport.gather(what.encode(), patience)]
        except Silent as silent:
            raise self.failure(f"{what} (call {self._calls + 1})", silent.silence) from None

    def _bound(self, what: _Call, plan: Plan, kind: ArrayLibrary, array: Any, out: Any, inplace: bool) -> Bound:
        """Return the call with its arrays bound: those that were used of late still are."""
        layout = BufferLayout.of(what.collective, self.size, plan.chunks, what.length)
        direct = (
            plan.is_inplace == inplace and not layout.is_padded and what.length * kind.item_size(array) > SMALL
            and kind.is_flat(array) and kind.is_flat(out)
        )  # fmt: skip
        places = (kind.address(array), kind.address(out)) if direct else ()
        key = what, type(array), places
        if key in self._bounds:
            self._bounds.move_to_end(key)
            bound = self._bounds[key]
        else:
            tag = what.tag(self.transport.tag_limit, plan.most_messages)
            make = bind_direct if direct else bind_staged
            bound = self._bounds[key] = make(plan, self.transport, kind, what.operation, tag, layout, array, out)
            while len(self._bounds) > _KEPT:
                self._known.clear()
                self._let_go(self._bounds.popitem(last=False)[1])
        return bound

    def _let_go(self, bound: Bound) -> None:
        """Give back what the engine holds for arrays, once nothing is in flight any more."""
        try:
            if not self._broken:
                bound.settle()
        except Stuck as stuck:
            raise self.failure(f"{bound.plan.collective}, an earlier call", stuck.silence) from None
        bound.close()

    def failure(self, where: str, silence: Silence) -> EngineError:
        """Return the error that says what a rank waited for in vain; the communicator is of no more use."""
        self.silence = silence
        self._broken = f"rank {self.rank}: {where}: {self._words(silence)}"
        self._end.detach()
        self.transport.mark_failed()
        return EngineError(self._broken)

    def _words(self, silence: Silence) -> str:
        return silence.words(self._names)

    def _ranks(self, ranks: Sequence[int]) -> str:
        return ranks_in_words(ranks, self._names)

    def close(self) -> None:
        """Give back what the engine holds for this communicator; it may go on being used afterwards."""
        self._known.clear()
        while self._bounds:
            self._let_go(self._bounds.popitem()[1])


def _settle(bounds: Mapping[Any, Bound], transport: Transport) -> None:
    """Wait for what is in flight when a communicator is no longer needed: memory must not go while it is sent."""
    with contextlib.suppress(Stuck):
        for bound in bounds.values() if transport.is_open() else ():
            bound.settle()


def _is_inplace(collective: Collective, kind: ArrayLibrary, array: Any, out: Any, own: int) -> bool:
    """Whether the shorter of two arrays is the rank's own part of the longer, or both are the same."""
    offset = 0 if collective.starts_with_shard == collective.ends_with_shard else own
    short, long = (array, out) if collective.starts_with_shard else (out, array)
    return kind.address(short) == kind.address(long.reshape(-1)[offset:])

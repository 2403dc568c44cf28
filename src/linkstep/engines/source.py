"""Where programs come from: files of runtimes, schedules, topologies, or a selector that says which serves what size.

A source answers for which collectives and sizes it has a program, and makes it. A program that was given is proven
first, and a schedule checked; what is made and lowered here is proven in tests.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError, ScheduleError
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.engines.compile import compile_plan, fingerprint_of
from linkstep.engines.plan import Plan
from linkstep.files import SUFFIXES, load
from linkstep.lowering import check_carried, lower
from linkstep.make import schedule
from linkstep.programs import Program, is_runtime_file, read_program, read_text
from linkstep.recipe import Recipe, parse
from linkstep.selector import Rule, Selector
from linkstep.verification import verify_program


class Source(Protocol):
    """Something that programs can be had from."""

    @property
    def num_ranks(self) -> int:
        """For how many ranks."""

    @property
    def fingerprint(self) -> str:
        """Equal on all ranks that were given the same."""

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether it has a program for a collective of ``size`` bytes in all."""

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Return it; in place if it can be."""

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Return the schedule that the program is made from, if there is one."""


@dataclass(frozen=True, eq=False)
class ProgramSource:
    """A program that was given."""

    given: Program

    @property
    def num_ranks(self) -> int:
        """Its ranks."""
        return self.given.num_ranks

    @property
    def fingerprint(self) -> str:
        """Of what it moves."""
        return fingerprint_of(self.given)

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether it is of this collective, whatever the size."""
        return collective is self.given.collective and (not collective.has_root or self.given.root in (-1, root))

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Return it as it is."""
        return self.given

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Return None: a program does not say."""
        return None


@dataclass(frozen=True, eq=False)
class ScheduleSource:
    """A schedule that was given."""

    given: Schedule
    _made: dict[bool, Program] = field(default_factory=dict)

    @property
    def num_ranks(self) -> int:
        """Its nodes."""
        return self.given.topology.num_nodes

    @property
    def fingerprint(self) -> str:
        """Of the program it becomes."""
        return fingerprint_of(self.program(self.given.collective, False, 0))

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether it is of this collective, whatever the size."""
        if collective is not self.given.collective:
            return False
        return not collective.has_root or self.program(collective, False, root).root == root

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Lower it; an all-to-all out of place always, whoever calls it in place gets a copy."""
        inplace = inplace and not self.given.collective.exchanges
        if inplace not in self._made:
            self._made[inplace] = read_program(lower(self.given, "cpu", inplace=inplace).text, "cpu")
        return self._made[inplace]

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Return it."""
        return self.given


@dataclass(frozen=True, eq=False)
class TopologySource:
    """A topology, or a recipe, on which schedules are made when they are asked for."""

    given: Topology | Recipe
    how: Mapping[str, Any] = field(default_factory=dict)
    """What ``linkstep.schedule`` takes besides: a method, and all that a rule says of its search."""
    _made: dict[tuple[Collective, int], ScheduleSource] = field(default_factory=dict)

    @property
    def num_ranks(self) -> int:
        """Its nodes."""
        return self.given.num_nodes

    @property
    def fingerprint(self) -> str:
        """Of its recipe, or of its links."""
        how = "".join(f" {name}={value}" for name, value in self.how.items() if value is not None)
        if isinstance(self.given, Recipe):
            return f"{self.given}{how}"
        return hashlib.sha256(self.given.tail.tobytes() + self.given.head.tobytes()).hexdigest() + how

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether there are schedules of this collective."""
        return collective in COLLECTIVES

    def _source(self, collective: Collective, root: int) -> ScheduleSource:
        key = collective, root if collective.has_root else 0
        if key not in self._made:
            made = schedule(self.given, collective, root=key[1], **self.how)
            self._made[key] = ScheduleSource(made.schedule)
        return self._made[key]

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Make a schedule and lower it."""
        return self._source(collective, root).program(collective, inplace, root)

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Make it."""
        return self._source(collective, root).given


@dataclass(frozen=True, eq=False)
class RuleSource:
    """A source that serves one collective in a window of sizes."""

    rule: Rule
    inner: Source

    @property
    def num_ranks(self) -> int:
        """The source's ranks."""
        return self.inner.num_ranks

    @property
    def fingerprint(self) -> str:
        """Of the source and its window."""
        return f"{self.inner.fingerprint} for {self.rule.collective} of {self.rule.window}"

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether the rule is for it, and the source has it."""
        return (
            collective is self.rule.collective and self.rule.serves(size) and self.inner.serves(collective, size, root)
        )

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Return the source's."""
        return self.inner.program(collective, inplace, root)

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Return the source's."""
        return self.inner.schedule(collective, root)


def _selected(selector: Selector) -> list[Source]:
    found: list[Source] = []
    for rule in selector.rules:
        path = selector.path_of(rule)
        source = _from_name(rule.source if path is None else str(path), rule.arguments, rule.dialect)
        found.append(RuleSource(rule, source))
    return found


def proven(program: Program, name: str) -> Program:
    """Return the program if the verifier proves it; FileError names what it has against it otherwise."""
    report = verify_program(program)
    if report.errors:
        raise FileError(f"{name}: not run, it is wrong: {report.errors[0]}")
    if not report.is_verified:
        raise FileError(f"{name}: not run, as it {report.unknowns[0].message}")
    return program


_checked: weakref.WeakSet[Schedule] = weakref.WeakSet()
"""Schedules that were found right: they are asked for several times before a run."""


def checked(schedule: Schedule, name: str) -> Schedule:
    """Return the schedule if it does what it says; ScheduleError shows a witness otherwise."""
    if schedule not in _checked:
        try:
            check(schedule)
        except ScheduleError as error:
            raise ScheduleError(f"{name}: not run, it is wrong: {error}", error.row) from None
        check_carried(schedule, "running")
        _checked.add(schedule)
    return schedule


def _from_text(text: str, name: str, dialect: str | None = None) -> Program:
    try:
        return proven(read_program(text, dialect), name)
    except FileError as error:
        raise FileError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _from_name(name: str, how: Mapping[str, Any] = MappingProxyType({}), dialect: str | None = None) -> Source:
    if "\n" in name:
        return ProgramSource(_from_text(name, "the text"))
    if is_runtime_file(name):
        return ProgramSource(_from_text(read_text(name), name, dialect))
    path = Path(name)
    try:
        is_file = path.is_file() or path.suffix.lower() in SUFFIXES
    except OSError:
        is_file = False
    if not is_file:
        return TopologySource(parse(name), how)
    thing = load(name)
    if isinstance(thing, Schedule):
        return ScheduleSource(checked(thing, name))
    return TopologySource(thing, how)


def is_selector(name: str) -> bool:
    """Whether a name is that of a selector file."""
    path = Path(name)
    return path.suffix.lower() == ".json" and path.is_file() and '"linkstep-selector"' in read_text(path)[:4096]


def _sources(what: Any) -> list[Source]:
    if isinstance(what, Program):
        return [ProgramSource(proven(what, "the program"))]
    if isinstance(what, Schedule):
        return [ScheduleSource(checked(what, "the schedule"))]
    if isinstance(what, (Topology, Recipe)):
        return [TopologySource(what)]
    if isinstance(what, Selector):
        return _selected(what)
    if isinstance(what, (str, Path)):
        return _selected(Selector.load(what)) if is_selector(str(what)) else [_from_name(str(what))]
    raise LinkstepError(f"give a recipe, a topology, a schedule, a program or a file, not {type(what).__name__}")


def first_collective(what: Any) -> Collective | None:
    """Return the collective that something is made for, the first if there are several; None for a topology."""
    source = sources_of(what)[0]
    if isinstance(source, RuleSource):
        return source.rule.collective
    return source.given.collective if isinstance(source, (ProgramSource, ScheduleSource)) else None


class Library:
    """Sources in the order they are asked, and the plans of one rank that were made from them."""

    def __init__(self, what: Any, rank: int, num_ranks: int) -> None:
        self.sources, self._rank = sources_of(what, num_ranks), rank
        self._plans: dict[Any, Plan] = {}

    @property
    def fingerprint(self) -> str:
        """Of all sources."""
        return " ".join(source.fingerprint for source in self.sources)

    def _key(self, source: Source, collective: Collective, inplace: bool, root: int) -> tuple[Any, ...]:
        return id(source), collective, inplace, root if collective.has_root else 0

    def has_plan(self, collective: Collective, size: int, inplace: bool, root: int) -> bool:
        """Whether it was compiled already."""
        source = source_for(self.sources, collective, size, root)
        return self._key(source, collective, inplace, root) in self._plans

    def plan_for(self, collective: Collective, size: int, inplace: bool, root: int) -> Plan:
        """Return the rank's plan by the first source that serves; it is compiled once."""
        source = source_for(self.sources, collective, size, root)
        key = self._key(source, collective, inplace, root)
        if key not in self._plans:
            program = source.program(collective, inplace, root)
            mode = inplace if inplace in program.modes else not inplace
            self._plans[key] = compile_plan(program, mode, self._rank)
        return self._plans[key]


def source_for(sources: Sequence[Source], collective: Collective, size: int, root: int) -> Source:
    """Return the first source that serves a collective of ``size`` bytes in all."""
    for source in sources:
        if source.serves(collective, size, root):
            return source
    of = f" from root {root}" if collective.has_root else ""
    raise LinkstepError(f"nothing here serves {collective}{of} of {size} bytes: give a schedule or a topology for it")


def sources_of(what: Any, num_ranks: int | None = None) -> list[Source]:
    """Return the sources of what was given, all for so many ranks, or for as many as the first.

    A schedule's own topology serves what nothing else does.
    """
    several = list(what) if isinstance(what, Sequence) and not isinstance(what, str) else [what]
    found = [source for one in several for source in _sources(one)]
    if not found:
        raise LinkstepError("nothing was given to run")
    num_ranks = found[0].num_ranks if num_ranks is None else num_ranks
    for source in found:
        if source.num_ranks != num_ranks:
            raise LinkstepError(f"it is for {source.num_ranks} ranks, and there are {num_ranks}")
    if not any(isinstance(source, TopologySource) for source in found):
        topologies = [source.given.topology for source in found if isinstance(source, ScheduleSource)]
        found.extend(TopologySource(topology) for topology in topologies[:1])
    return found

"""Where programs come from: files of runtimes, schedules, topologies, or a selector that says which serves what size.

A source answers for which collectives and sizes it has a program, and makes it. A program that was given is proven
first, and a schedule checked; what is made and lowered here is proven in tests.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from linkstep.assembly import assemble
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError, ScheduleError
from linkstep.core.inputs import as_made_schedule, as_wiring, holds_schedule, hook
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import write_size
from linkstep.correctness import check
from linkstep.engines.plans.compile import compile_plan
from linkstep.engines.plans.plan import Plan
from linkstep.files import READABLE, load
from linkstep.lowering import Lowered, lower
from linkstep.programs import Program, read_program, runtime_text
from linkstep.recipe import Recipe, parse
from linkstep.scheduling import schedule
from linkstep.selector import Rule, Selector
from linkstep.verification import verify_program


@dataclass(frozen=True, eq=False)
class Source:
    """Something that programs can be had from: a program, a schedule, or a topology on which schedules are made."""

    given: Program | Schedule | Topology | Recipe
    how: Mapping[str, Any] = field(default_factory=dict)
    """Of a topology or recipe: what ``linkstep.schedule`` takes besides, a method and all that a search depends on."""
    rule: Rule | None = None
    """The collective and the window of sizes that it serves, where a selector says so."""
    _schedules: dict[tuple[Collective, int], Schedule] = field(default_factory=dict)
    _programs: dict[tuple[Collective, int, bool], Program] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What was given: "program", "schedule" or "topology", which a recipe is too."""
        if isinstance(self.given, Program):
            return "program"
        return "schedule" if isinstance(self.given, Schedule) else "topology"

    @property
    def num_ranks(self) -> int:
        """How many take part."""
        return self.given.num_ranks if isinstance(self.given, (Program, Schedule)) else self.given.num_nodes

    @property
    def num_nodes(self) -> int:
        """How many take part or forward: as many processes are run."""
        return self.given.topology.num_nodes if isinstance(self.given, Schedule) else self.given.num_nodes

    @property
    def order(self) -> tuple[int, ...] | None:
        """The node of each rank, then of those that only forward; None where these have the same numbers."""
        if not isinstance(self.given, Schedule) or self.given.ranks.is_everyone:
            return None
        return tuple(self.given.ranks.node_order.tolist())

    @property
    def collective(self) -> Collective | None:
        """The only one that it serves; None for a topology, which serves all."""
        if self.rule is not None:
            return self.rule.collective
        return self.given.collective if isinstance(self.given, (Program, Schedule)) else None

    @property
    def fingerprint(self) -> str:
        """Equal on all ranks that were given the same: of the program, of the recipe or of the links."""
        window = "" if self.rule is None else f" for {self.rule.collective} of {self.rule.window}"
        if isinstance(self.given, (Program, Schedule)):
            where = "" if self.order is None else f" at nodes {self.order}"
            return self.program(self.given.collective, False, 0).fingerprint + where + window
        how = "".join(f" {name}={value}" for name, value in self.how.items() if value is not None)
        if isinstance(self.given, Recipe):
            return f"{self.given}{how}{window}"
        return hashlib.sha256(self.given.tail.tobytes() + self.given.head.tobytes()).hexdigest() + how + window

    def serves(self, collective: Collective, size: int, root: int) -> bool:
        """Whether it has a program for a collective of ``size`` bytes in all."""
        if self.rule is not None and not self.rule.serves(size):
            return False
        if self.collective not in (None, collective):
            return False
        if not isinstance(self.given, (Program, Schedule)):
            return collective in COLLECTIVES
        if collective is not self.given.collective:
            return False
        return not collective.has_root or self.program(collective, False, root).root in (-1, root)

    def schedule(self, collective: Collective, root: int) -> Schedule | None:
        """Return the schedule that a program is made from, made once; None where a program was given."""
        if isinstance(self.given, Program):
            return None
        if isinstance(self.given, Schedule):
            return self.given
        key = collective, root if collective.has_root else 0
        if key not in self._schedules:
            self._schedules[key] = schedule(self.given, collective, root=key[1], **self.how).schedule
        return self._schedules[key]

    def program(self, collective: Collective, inplace: bool, root: int) -> Program:
        """Return the program, lowered once; in place if it can be.

        An all-to-all is always lowered out of place: a caller in place gets a copy.
        """
        if isinstance(self.given, Program):
            return self.given
        inplace = inplace and not collective.exchanges
        key = collective, root if collective.has_root else 0, inplace
        if key not in self._programs:
            made = self.schedule(collective, root)
            assert made is not None
            self._programs[key] = assemble(lower(made.permanent(), "cpu", inplace=inplace))  # nothing is switched
        return self._programs[key]


def _selected(selector: Selector) -> list[Source]:
    found: list[Source] = []
    files: dict[tuple[str, str | None], Source] = {}
    """Several rules may name one file, which is read and proven once."""
    for rule in selector.rules:
        path = selector.path_of(rule)
        name = rule.source if path is None else str(path)
        source = files.get((name, rule.dialect)) or _from_name(name, rule.arguments, rule.dialect)
        if source.kind != "topology":  # what is made on one depends on the rule's arguments
            files[name, rule.dialect] = source
        found.append(replace(source, rule=rule))
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
        _checked.add(schedule)
    return schedule


def _from_text(text: str, name: str, dialect: str | None = None) -> Program:
    try:
        return proven(read_program(text, dialect), name)
    except FileError as error:
        raise FileError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _from_name(name: str, how: Mapping[str, Any] = MappingProxyType({}), dialect: str | None = None) -> Source:
    if "\n" in name:
        return Source(_from_text(name, "the text"))
    text = runtime_text(name)
    if text is not None:
        return Source(_from_text(text, name, dialect))
    path = Path(name)
    try:
        is_file = path.is_file() or path.suffix.lower() in READABLE
    except OSError:
        is_file = False
    if not is_file:
        return Source(parse(name), how)
    thing = load(name)
    if isinstance(thing, Schedule):
        return Source(checked(thing, name))
    return Source(thing, how)


def is_selector(name: str) -> bool:
    """Whether a name is that of a selector file."""
    path = Path(name)
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
        return b'"linkstep/selector"' in head or b'"linkstep-selector"' in head


def sources_of_file(name: str) -> list[Source] | None:
    """Return the sources of a runtime's file or a selector, which is read once; None if a name is of something else."""
    if is_selector(name):
        return _selected(Selector.load(name))
    text = runtime_text(name)
    return None if text is None else [Source(_from_text(text, name))]


def _sources(what: Any) -> list[Source]:
    if isinstance(what, Source):
        return [what]
    if isinstance(what, Program):
        return [Source(proven(what, "the program"))]
    if isinstance(what, Schedule):
        return [Source(checked(what, "the schedule"))]
    if isinstance(what, (Topology, Recipe)):
        return [Source(what)]
    if isinstance(what, Selector):
        return _selected(what)
    if isinstance(what, (str, Path)):
        return _selected(Selector.load(what)) if is_selector(str(what)) else [_from_name(str(what))]
    if isinstance(what, Lowered):
        return [Source(proven(assemble(what), "what was lowered"))]
    promised = hook(what, "_how_")
    if promised is not None:  # a row of ``find``, or its answer: the schedules that it promises
        return [Source(as_wiring(what), promised())]
    if holds_schedule(what):
        return [Source(checked(as_made_schedule(what), "the schedule"))]
    return [Source(as_wiring(what, "what runs"))]


def first_collective(what: Any) -> Collective | None:
    """Return the collective that something is made for, the first if there are several; None for a topology."""
    return sources_of(what)[0].collective


class PlanLibrary:
    """Sources in the order they are asked, and the plans of one rank that were made from them."""

    def __init__(self, what: Any, node: int, num_nodes: int) -> None:
        """Take sources for ``num_nodes`` nodes; the rank is the one at ``node``, if not one that only forwards."""
        self.sources = sources_of(what, num_nodes)
        self.num_ranks, self.order = self.sources[0].num_ranks, self.sources[0].order
        self._rank = node if self.order is None else self.order.index(node)
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


def source_for(
    sources: Sequence[Source], collective: Collective, size: int, root: int, name: str = "the selector"
) -> Source:
    """Return the first source that serves a collective of ``size`` bytes in all; ``name`` is what they are of."""
    for source in sources:
        if source.serves(collective, size, root):
            return source
    of = f" from root {root}" if collective.has_root else ""
    rules = [source.rule for source in sources if source.rule is not None and source.rule.collective is collective]
    if rules:
        raise LinkstepError(f"{_served(name, rules)}; nothing for {write_size(size)}")
    raise LinkstepError(f"nothing here serves {collective}{of} of {size} bytes: give a schedule or a topology for it")


def _served(name: str, rules: Sequence[Rule]) -> str:
    """Return which sizes of a collective the rules of a selector serve, in all and one by one.

    >>> _served("sel.json", [Rule("allreduce", 2**14, 2**20, "K_4"), Rule("allreduce", 2**20 + 1, 2**30, "UniRing(4)")])
    'sel.json serves allreduce of 16KiB to 1GiB by 2 plans: K_4 (16KiB to 1MiB), UniRing(4) (1048577B to 1GiB)'
    """
    ordered = sorted(rules, key=lambda rule: rule.least)
    largest = None if any(rule.largest is None for rule in rules) else max(rule.largest or 0 for rule in rules)
    parts = ", ".join(f"{rule.source} ({_window(rule.least, rule.largest)})" for rule in ordered)
    plans = "1 plan" if len(rules) == 1 else f"{len(rules)} plans"
    return f"{name} serves {rules[0].collective} of {_window(ordered[0].least, largest)} by {plans}: {parts}"


def _window(least: int, largest: int | None) -> str:
    return f"{write_size(least)} and more" if largest is None else f"{write_size(least)} to {write_size(largest)}"


def sources_of(what: Any, num_nodes: int | None = None) -> list[Source]:
    """Return the sources of what was given, all for this many nodes, or for as many as the first, and the same ranks.

    A schedule's own topology serves what nothing else does, where everyone takes part.
    """
    several = list(what) if isinstance(what, Sequence) and not isinstance(what, str) else [what]
    found = [source for one in several for source in _sources(one)]
    if not found:
        raise LinkstepError("nothing was given to run")
    num_nodes = found[0].num_nodes if num_nodes is None else num_nodes
    for source in found:
        if source.num_nodes != num_nodes:
            which = "ranks" if source.num_nodes == source.num_ranks else f"nodes, {source.num_ranks} of them ranks"
            raise LinkstepError(f"it is for {source.num_nodes} {which}, and there are {num_nodes}")
        if (source.num_ranks, source.order) != (found[0].num_ranks, found[0].order):
            raise LinkstepError("not the same nodes take part in all that was given: run them one by one")
    always = [source for source in found if source.rule is None]
    if not any(source.kind == "topology" for source in always):
        schedules = [source.given for source in always if isinstance(source.given, Schedule)]
        topologies = [one.topology for one in schedules if one.ranks.is_everyone and not one.topology.has_lifetimes]
        found.extend(Source(topology) for topology in topologies[:1])
    return found

"""What a live page asks, and the document that answers: the rows of ``QUESTIONS``, each asked for by its name.

A question is JSON from a browser, so everything in it is checked here; what is wrong with it is one line. Not here: how
questions come and who works on them (``linkstep.explorer.serving`` and ``worker``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from linkstep.argument import TopologyArgument, read_argument, with_faults
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import parse as parse_fault
from linkstep.core.progress import Progress
from linkstep.core.text import shown
from linkstep.core.units import WrittenSize, parse_size
from linkstep.correctness import check
from linkstep.costs import Fabric, load_fabric
from linkstep.costs.usual import ALPHA, BANDWIDTH
from linkstep.explorer.beside import beside_of
from linkstep.explorer.document import Document
from linkstep.explorer.documents import SIZE, document_of, plan_panel, why_unplayable
from linkstep.explorer.panels.choose import RANKINGS, choose_panel
from linkstep.explorer.panels.file import file_panel
from linkstep.explorer.panels.schedule import schedule_panel
from linkstep.explorer.panels.wiring import wiring_panel
from linkstep.explorer.timing import timed_panel
from linkstep.problem import Problem
from linkstep.reports.find import KINDS
from linkstep.reports.pricing import Pricing
from linkstep.scheduling import BEST, METHODS, Request, ScheduleResult, schedule
from linkstep.search import find
from linkstep.simulation.training import Job, load_model, model_names

FILE = "file"
"""What the schedule in a file is called, beside the names of methods."""

Question = Mapping[str, Any]
Watching = Callable[[str, int, int | None], None]
"""Is called with what is worked on, how much of it is done, and of how much, as far as that is known."""


@dataclass(frozen=True)
class QuestionRow:
    """A row of ``QUESTIONS``."""

    ask: str
    """Its name: the kind of the panel that answers, or "document" for all of a thing's."""
    answer: Callable[[Question, Watching], Document]


def answer(question: object, watching: Watching = lambda label, done, total: None) -> Document:
    """Return the document that answers a question; LinkstepError where it cannot be asked so.

    >>> answer({"ask": "wiring", "what": "K_3"}).panels[0].title
    'K_3'
    """
    asked: Question = check_kind("a question", question, dict)
    row = next((row for row in QUESTIONS if row.ask == asked.get("ask")), None)
    if row is None:
        known = ", ".join(row.ask for row in QUESTIONS)
        raise LinkstepError(f"a page can ask for {known}, not for {shown(asked.get('ask'))}")
    return row.answer(asked, watching)


def text_of(question: Question, name: str, usual: str = "") -> str:
    """Return a member of a question that is text; what is usual where it is missing, null or empty."""
    value = question.get(name)
    if value is None or value == "":
        return usual
    return str(check_kind(name, value, str))


def pricing_of(question: Question) -> Pricing:
    """Return what times are for: a ``size``, and a file, ``fabric``, or ``alpha`` and ``bandwidth``."""
    size, file = WrittenSize(text_of(question, "size", SIZE)), text_of(question, "fabric")
    given = {name: text_of(question, name) for name in ("alpha", "bandwidth", "host_bandwidth")}
    written = {name: value for name, value in given.items() if value}
    limit = {name: value for name, value in written.items() if name == "host_bandwidth"}
    fabric = Fabric.of(given["alpha"] or ALPHA, given["bandwidth"] or BANDWIDTH, 1, **limit)
    if not file:
        return Pricing(size, fabric, False, written)
    known = load_fabric(file)
    return Pricing(size, replace(known, host_bandwidth=fabric.host_bandwidth or known.host_bandwidth), True, limit)


def wiring_of(question: Question, pricing: Pricing) -> tuple[str, TopologyArgument]:
    """Return what ``what`` names, and that with the ``faults`` on it."""
    what = text_of(question, "what")
    if not what:
        raise LinkstepError("name a wiring: a recipe such as Torus(4,4), or a file")
    given, _ = read_argument(what)
    faults = question.get("faults") or []
    if not faults:
        return what, given
    if given.schedule is not None:
        raise LinkstepError(f"{what} holds a schedule, which is for its own topology: cut a recipe or a topology")
    written = [check_kind("a fault", one, dict) for one in check_kind("faults", faults, list)]
    parsed = tuple(parse_fault(text_of(one, "kind"), text_of(one, "text")) for one in written)
    return what, with_faults(given, parsed, pricing.fabric_for(given.topology.degree).link_bandwidth)


@contextmanager
def _named(watching: Watching, label: str) -> Iterator[Progress]:
    watching(label, 0, None)
    yield lambda done, total: watching(label, done, total)


def one_of(question: Question, name: str, known: Sequence[str], usual: str) -> str:
    """Return a member of a question that is one of some words."""
    value = text_of(question, name, usual)
    if value not in known:
        raise LinkstepError(f"{name} must be one of {', '.join(known)}, not {shown(value)}")
    return value


def _choose(question: Question, watching: Watching) -> Document:
    pricing = pricing_of(question)
    if not parse_size(pricing.size):
        raise LinkstepError(f"size must be positive, not {pricing.size}")
    kind = one_of(question, "kind", tuple(KINDS.values()), KINDS[False])
    rank_by = one_of(question, "rank_by", RANKINGS, RANKINGS[0])
    problem = Problem(
        num_nodes=question.get("nodes"), degree=question.get("degree"), directed=kind == KINDS[True]
    )  # fmt: skip
    nodes, degree = problem.size
    job = _job(question, nodes) if rank_by == "job" else None
    with _named(watching, "find") as progress:
        found = find(nodes, degree, directed=problem.directed, fabric=pricing.fabric_for(degree), progress=progress)
    if rank_by == Collective.ALL_TO_ALL:
        with _named(watching, "all-to-all") as progress:
            found = found.ranked_by_all_to_all(progress=progress)
    with _named(watching, "rank") as progress:
        panel = choose_panel(found, pricing, rank_by=rank_by, job=job, progress=progress)
    return Document(panel.title, (panel,))


def _job(question: Question, nodes: int) -> Job:
    return load_model(one_of(question, "job", model_names(), "")).job(nodes)


def _wiring(question: Question, watching: Watching) -> Document:
    pricing = pricing_of(question)
    what, given = wiring_of(question, pricing)
    panel = wiring_panel(given, pricing, what, lambda label: _named(watching, label))
    return Document(panel.title, (panel,))


def _document(question: Question, watching: Watching) -> Document:
    """Show a file that was named when the page was opened, whatever kind of thing it holds."""
    watching("reading the file", 0, None)
    return document_of(text_of(question, "what"), pricing_of(question))


def _schedule(question: Question, watching: Watching) -> Document:
    pricing = pricing_of(question)
    what, given = wiring_of(question, pricing)
    own = None if given.schedule is None else given.schedule.collective
    collective = Collective(text_of(question, "collective", own or Collective.ALLREDUCE))
    fabric = pricing.fabric_for(given.topology.degree)
    root = root_of(given, text_of(question, "root"))
    method = text_of(question, "method", BEST if given.schedule is None or collective is not own else FILE)
    request = Request(given.topology, collective, given.recipe, root=_node(given, root), fabric=fabric)
    methods = [{"name": one.name, "title": one.title} for one in METHODS.values() if one.refuse(request) is None]
    if given.schedule is not None and collective is own:
        methods.insert(0, {"name": FILE, "title": "the one in the file"})
    collectives = [str(one) for one in Collective]
    asked = {
        "collective": str(collective), "collectives": collectives, "method": method, "root": root, "methods": methods
    }  # fmt: skip
    if method == FILE and given.schedule is not None and collective is own:
        check(given.schedule)
        made = ScheduleResult(given.schedule, given.schedule.method or FILE)
    else:
        why = why_unplayable(given, collective)
        if why is not None:
            raise LinkstepError(why)
        with _named(watching, f"{collective} on {given.called(what)}") as progress:
            made = schedule(
                given.recipe or given.topology, collective, method=method, root=root, ranks=given.ranks,
                fabric=fabric, progress=progress,
            )  # fmt: skip
    watching("others on the same wires", 0, None)
    beside = () if given.whole is not None else beside_of(made, pricing, given.recipe)
    panel = schedule_panel(made, pricing, what, beside, asked)
    return Document(panel.title, (panel,))


def root_of(given: TopologyArgument, text: str) -> int:
    """Return the rank of the host that ``root`` names; the first where it is empty."""
    if not text:
        return 0
    node = given.topology.node_named(text)
    rank = node if given.ranks is None else int(given.ranks.rank_of[node])
    if rank < 0:
        raise LinkstepError(f"root {text}: that host takes no part")
    return rank


def _node(given: TopologyArgument, rank: int) -> int:
    return rank if given.ranks is None else int(given.ranks.nodes[rank])


def _file(question: Question, watching: Watching) -> Document:
    pricing = pricing_of(question)
    text, name = check_kind("text", question.get("text"), str), text_of(question, "name", "a file")
    on = text_of(question, "on")
    topology = read_argument(on)[0].topology if on else None
    with _named(watching, "verify") as progress:
        panel = file_panel(text, name, pricing, topology, progress)
    return Document(panel.title, (panel,))


def _cabling(question: Question, watching: Watching) -> Document:
    what, given = wiring_of(question, pricing_of(question))
    watching("cables", 0, None)
    panel = plan_panel(given, what)
    return Document(panel.title, (panel,))


def _time(question: Question, watching: Watching) -> Document:
    pricing = pricing_of(question)
    what, given = wiring_of(question, pricing)
    told = {name: text_of(question, name) for name in ("to", "collective", "job")}
    panel = timed_panel(what, given, pricing, watching, **told)
    return Document(panel.title, (panel,))


QUESTIONS = (
    QuestionRow("choose", _choose),
    QuestionRow("document", _document),
    QuestionRow("wiring", _wiring),
    QuestionRow("schedule", _schedule),
    QuestionRow("file", _file),
    QuestionRow("cabling", _cabling),
    QuestionRow("time", _time),
)
"""All that a page can ask."""

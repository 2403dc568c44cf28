"""The Python by which a program registers MSCCL++ plans and picks one for each call.

MSCCL++ reads no folder of plans: a file counts only once a program has registered it. What is written here does that,
and selects by collective, ranks, buffers, size and root. Each plan is a ``RegisteredPlan``, made from what was
lowered or read back from a file. Not here: which plan serves which size (``linkstep.selector``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from linkstep.core.errors import FileError, LinkstepError
from linkstep.files import AnyPath
from linkstep.files.disk import open_to_read
from linkstep.lowering.pipeline import Lowered
from linkstep.lowering.targets import TARGETS
from linkstep.selector import Selector

MARK = "# Written by linkstep"
"""How a written module begins; nothing else is overwritten."""
_UNLIMITED = 2**64 - 1
"""The end of a window that a plan does not give, as the loader has it."""
_ALIGNMENT = 16
"""What the loader takes where a plan gives no buffer_alignment."""
_NAMED = "but a rule of the selector names it: lower it again"


def _is_registered(dialect: str | None) -> bool:
    return dialect is not None and dialect in TARGETS and TARGETS[dialect].registers


class RegisteredPlan(NamedTuple):
    """What a call must be like to be served by a plan; a row of the written module's table."""

    file: str
    """From the folder of the module."""
    name: str
    collective: str
    """MSCCL++'s word."""
    in_place: bool
    ranks: int
    smallest: int
    largest: int
    """Bytes of data in all, both included."""
    multiple: int
    """Bytes of which the data must be a multiple."""
    root: int | None
    """None where there is none, or where the file does not say."""


def plan_of(lowered: Lowered, file: str) -> RegisteredPlan:
    """Return the row of a plan that was just lowered."""
    placement = lowered.placement
    return RegisteredPlan(
        file=file, name=lowered.name, collective=lowered.target.collectives[placement.collective],
        in_place=placement.inplace, ranks=placement.num_ranks, smallest=lowered.window.smallest,
        largest=lowered.window.largest, multiple=lowered.multiple,
        root=None if placement.root < 0 else placement.root,
    )  # fmt: skip


def read_plan(path: AnyPath, file: str) -> RegisteredPlan:
    """Return the row of a plan in a file, which the written module names ``file``; FileError if it holds none."""
    try:
        with open_to_read(path) as opened:
            text = opened.read()
    except FileError as error:
        raise FileError(f"{error}, {_NAMED}") from None
    try:
        data = json.loads(text)
        gpu, root = data["gpus"][0], data.get("root")
        row = RegisteredPlan(
            file=file, name=data["name"], collective=data["collective"], in_place=data["inplace"],
            ranks=len(data["gpus"]), smallest=data.get("min_message_size", 0),
            largest=data.get("max_message_size", _UNLIMITED),
            multiple=data.get("buffer_alignment", _ALIGNMENT) * max(gpu["input_chunks"], gpu["output_chunks"]),
            root=root,
        )  # fmt: skip
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise FileError(f"{path}: no MSCCL++ plan, {_NAMED}") from None
    numbers = (row.smallest, row.largest, row.multiple, *([] if root is None else [root]))
    words = (row.name, row.collective)
    if not (all(type(n) is int for n in numbers) and all(type(w) is str for w in words) and type(row.in_place) is bool):
        raise FileError(f"{path}: no MSCCL++ plan, {_NAMED}")
    return row


def plans_of(selector: Selector, new: RegisteredPlan) -> list[RegisteredPlan]:
    """Return the rows of all MSCCL++ plans that a selector names, of which ``new`` may not be written yet."""
    files = [rule.source for rule in selector.rules if _is_registered(rule.dialect)]
    plans = [new if file == new.file else read_plan(selector.folder / file, file) for file in files]
    named: dict[str, str] = {}
    for plan in plans:
        if plan.name in named:
            raise LinkstepError(f"{named[plan.name]} and {plan.file} are both named {plan.name!r}: keep one of them")
        named[plan.name] = plan.file
    return plans


def module_beside(selector: AnyPath) -> Path:
    """Return where the module of a selector is written: beside it, under a name that can be imported.

    >>> module_beside("runs/my-selector.json").name
    'my_selector_mscclpp.py'
    """
    path = Path(selector)
    stem = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    return path.with_name(f"{'_' * stem[:1].isdigit()}{stem}_mscclpp.py")


def check_module_path(path: Path) -> None:
    """Raise FileError if something that linkstep did not write is there: to ask before long work, not after."""
    if not path.exists():
        return
    with open_to_read(path) as file:
        if not file.read(len(MARK)) == MARK.encode():
            raise FileError(f"{path}: not written by linkstep, and --selector would replace it: move it away")


def algorithm_call(plan: RegisteredPlan, path: AnyPath) -> str:
    """Return the Python that makes an algorithm of a plan; ``rank`` and the ranks of a node are the program's."""
    constraint = f"mscclpp.Algorithm.Constraint({plan.ranks}, ranks_per_node)"
    return f"mscclpp.Algorithm({plan.name!r}, mscclpp.ExecutionPlan({str(path)!r}, rank), constraint={constraint})"


def registration(plans: Iterable[RegisteredPlan]) -> str:
    """Return the text of the module that registers plans and selects among them."""
    rows = "".join(f"    {plan!r},\n" for plan in plans)
    return f"{MARK}: `lower --selector` replaces this file, so changes are lost.\n{_MODULE.replace('@PLANS@', rows)}"


_MODULE = '''\
"""Registers MSCCL++ plans and selects one for each call.

Call ``register(rank)`` on every rank before the communicator is made, so before
``torch.distributed.init_process_group`` where MSCCL++ stands in for NCCL.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import mscclpp

try:
    from mscclpp.ext import AlgorithmCollectionBuilder
except ImportError:  # where other versions have it
    from mscclpp import AlgorithmCollectionBuilder


class RegisteredPlan(NamedTuple):
    """What a call must be like to be served by a plan."""

    file: str
    name: str
    collective: str
    in_place: bool
    ranks: int
    smallest: int  # bytes of data in all: of output in an allgather, else of input
    largest: int  # included
    multiple: int  # the executor takes whole chunks of 16 bytes only
    root: int | None


PLANS = (
@PLANS@)


def register(rank, ranks_per_node=0):
    """Register the plans of a rank and the selector.

    With ``ranks_per_node`` they serve only communicators with that many ranks on a node. MSCCL++'s own selector then
    considers them too where ``select`` declines: it looks at the window but not at whole chunks, and a call that is
    not a multiple of them fails instead of going to NCCL. With 0 that selector leaves them alone.
    """
    builder = AlgorithmCollectionBuilder()
    for plan in PLANS:
        path = str(Path(__file__).resolve().parent / plan.file)
        constraint = mscclpp.Algorithm.Constraint(plan.ranks, ranks_per_node)
        execution_plan = mscclpp.ExecutionPlan(path, rank)
        builder.add_algorithm_builder(mscclpp.Algorithm(plan.name, execution_plan, constraint=constraint))
    builder.set_algorithm_selector(lambda algorithms, request: select(algorithms, request, ranks_per_node))


def select(algorithms, request, ranks_per_node=0):
    """Return the algorithm that serves a call, or None: then MSCCL++ goes on to its own choice."""
    if ranks_per_node not in (0, request.n_ranks_per_node):
        return None
    size = request.message_size * (request.world_size if request.collective == "allgather" else 1)
    in_place = is_in_place(request, size)
    for plan in PLANS:
        if (
            (plan.collective, plan.ranks, plan.in_place) == (request.collective, request.world_size, in_place)
            and plan.smallest <= size <= plan.largest
            and size % plan.multiple == 0
            and (plan.root is None or list(request.hints.get("root", ())) == [plan.root])
        ):
            return algorithms.get(plan.collective, {}).get(plan.name)
    return None


def is_in_place(request, size):
    """Return whether input and output share memory as NCCL defines it; None if they overlap in another way.

    ``request.buffer_mode()`` does not recognise a reduce-scatter in place.
    """
    part, send, receive = size // request.world_size, request.input_buffer, request.output_buffer
    sent = part if request.collective == "allgather" else size
    received = part if request.collective == "reducescatter" else size
    own = request.rank * part
    if request.collective == "allgather":
        shares = send == receive + own
    elif request.collective == "reducescatter":
        shares = receive == send + own
    else:
        shares = send == receive
    if shares:
        return True
    return None if send < receive + received and receive < send + sent else False
'''

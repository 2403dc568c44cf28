"""The runtimes by name: what each can do and how much it takes, as its own parser and interpreter have it.

One row of ``TARGETS`` for each; how a schedule is held against the limits is in ``linkstep.lowering.limits``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.tables import NamedRows
from linkstep.core.text import shown


@dataclass(frozen=True, kw_only=True)
class Target:
    """A runtime: its file format, its words for collectives and its limits (None: it has no such limit)."""

    name: str
    note: str
    """What it is, in one line."""
    form: str
    """The row of ``linkstep.lowering.forms.FORMS`` that its programs have."""
    suffix: str
    """How the names of its files end."""
    collectives: Mapping[Collective, str]
    """Its word for each collective it knows."""
    protocols: tuple[str, ...] = ("Simple",)
    environment: str = ""
    """The variables that make it read ``{file}``, or every file of ``{folder}``."""
    loader: str = ""
    """What loads a file, where no variable and no registration does."""
    registers: bool = False
    """Whether a file counts only once a program has registered it (``linkstep.lowering.registration``)."""
    uncalled: frozenset[Collective] = frozenset()
    """Collectives that no call asks for: their files are run by hand."""
    forwards: bool = False
    """Whether its files know nodes that pass data on and take no part; elsewhere a collective is one of all ranks."""
    selects: bool = True
    """Whether it picks a file by a call's size and buffers; if not, the program that loads one decides."""
    compares_root: bool = False
    """Whether it sees that a file is for another root than a call."""
    alignment: int = 1
    """Bytes of which every chunk and every buffer must be a multiple; 1 where any whole elements do."""
    splits: bool = False
    """Whether receiving, reducing and forwarding must be instructions of their own."""
    gathers: bool = True
    """Whether scattered pieces can be gathered in scratch; not where one operation sends several anyway."""
    gather_bytes: int = 0
    """Pieces up to this many bytes are gathered, where a message costs more than two copies of them."""
    scratch_at_start: bool = False
    """Whether scratch for the largest data of the window is allocated at start-up, not by the call."""
    scratch_by_allocation: bool = False
    """Whether scratch is sized by the allocation that holds the send buffer, up to the window, not by the call."""
    excludes_largest: bool = False
    """Whether a file is used only for *less* than its maxBytes."""
    max_ranks: int | None = None
    max_chunks: int | None = None
    """Chunks of a buffer."""
    max_count: int | None = None
    """Chunks that one instruction moves."""
    max_steps: int | None = None
    """Instructions (operations) of a threadblock."""
    max_blocks: int | None = None
    """Threadblocks of a rank."""
    max_channels: int = 1024
    """Channels between two ranks; in MSCCL++ those of a rank to all its peers together.

    The default is our own, so that a mistyped number is not hours of work.
    """
    max_peers: int | None = None
    """Ranks that one rank sends to, and ranks that it receives from."""
    max_elements: int | None = None
    """XML elements that a rank reads."""
    max_dependency: int | None = None
    """The largest number of a threadblock that is waited for."""

    @property
    def reads_folder(self) -> bool:
        """Whether it parses every file of a directory: ours must then be alone there."""
        return "{folder}" in self.environment


def _spelled(reduce_scatter: str, *, reduce: bool = True) -> dict[Collective, str]:
    """Return the words of a GPU runtime: they differ in one, and not all of them reduce to a root."""
    words = {
        Collective.ALLGATHER: "allgather",
        Collective.REDUCE_SCATTER: reduce_scatter,
        Collective.ALLREDUCE: "allreduce",
        Collective.BROADCAST: "broadcast",
        Collective.ALL_TO_ALL: "alltoall",
    }
    return words | ({Collective.REDUCE: "reduce"} if reduce else {})


def _unfit(target: Target) -> str | None:
    """Return which part of a row does not go with the rest of linkstep, or None."""
    from linkstep.lowering.forms import FORMS  # here: forms are of targets

    if target.form not in FORMS:
        return f"form must be one of {', '.join(FORMS)}, not {target.form!r}"
    if not re.fullmatch("[.][a-z0-9]+", target.suffix):
        return f"suffix must be such as '.json', not {target.suffix!r}"
    unknown = [collective for collective in target.collectives if collective not in COLLECTIVES]
    if not target.collectives:
        return "collectives must have a word for at least one"
    return f"collectives has {shown(unknown[0])}, which is none" if unknown else None


_PROTOCOLS = ("Simple", "LL", "LL128")

TARGETS = NamedRows(
    Target,
    "target",
    (
        Target(
            name="mscclpp",
            note="microsoft/mscclpp, the maintained successor of MSCCL",
            form="ports",
            suffix=".json",
            collectives=_spelled("reducescatter", reduce=False),
            registers=True,
            uncalled=frozenset({Collective.ALL_TO_ALL}),
            alignment=16,
            splits=True,
            gathers=False,
            scratch_by_allocation=True,
            max_steps=64,
            max_channels=2**10,  # bits of their numbers in fifo_device.hpp
        ),
        Target(
            name="msccl",
            note="microsoft/msccl, the first runtime of such files",
            form="blocks",
            suffix=".xml",
            collectives=_spelled("reduce_scatter"),
            protocols=_PROTOCOLS,
            environment="MSCCL_XML_FILES={file} NCCL_ALGO=MSCCL,RING,TREE",
            scratch_at_start=True,
            excludes_largest=True,
            max_ranks=1024,
            max_chunks=2**15 - 1,  # offsets are int16
            max_count=71,
            max_steps=256,
            max_blocks=108,  # all must be resident at once, and the smallest GPU in use has 108 multiprocessors
            max_channels=32,
            max_peers=32,
            max_elements=4095,
            max_dependency=127,
        ),
        Target(
            name="msccl-azure",
            note="Azure/msccl-executor-nccl, Azure's executor of such files",
            form="blocks",
            suffix=".xml",
            collectives=_spelled("reducescatter"),
            protocols=_PROTOCOLS,
            environment="MSCCL_ALGO_DIR={folder}",
            max_ranks=1024,
            max_chunks=2**15 - 1,
            max_count=71,
            max_steps=64,
            max_blocks=1024,
            max_channels=32,
            max_peers=32,
            max_elements=4095,
            max_dependency=127,
        ),
        Target(
            name="rccl",
            note="older releases of RCCL: MSCCL was removed from it in 2026, and newer ones ignore such files",
            form="blocks",
            suffix=".xml",
            collectives=_spelled("reducescatter"),
            protocols=_PROTOCOLS,
            environment="MSCCL_ALGO_DIR={folder} RCCL_MSCCL_FORCE_ENABLE=1",
            splits=True,
            max_ranks=1024,
            max_chunks=2**15 - 1,
            max_count=71,
            max_steps=64,
            max_blocks=64,
            max_channels=128,
            max_peers=32,
            max_elements=4095,
            max_dependency=127,
        ),
        Target(
            name="cpu",
            note="CPU clusters, by an interpreter of docs/reference/cpu-xml.md",
            form="lists",
            forwards=True,
            suffix=".xml",
            collectives={c: c.value for c in COLLECTIVES},
            loader="an interpreter of docs/reference/cpu-xml.md",
            selects=False,
            compares_root=True,
            splits=True,
            gather_bytes=512,
        ),
    ),
    key=lambda target: target.name,
    check=_unfit,
)


def target_named(name: str) -> Target:
    """Return the target; LinkstepError names those there are."""
    if name not in TARGETS:
        raise LinkstepError(f"the target must be one of {', '.join(TARGETS)}, not {name!r}")
    return TARGETS[name]

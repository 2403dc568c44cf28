"""An engine of one's own: ranks are processes, and messages are files in a folder that they share.

Try: `linkstep run K_4 --engine files --size 64KiB --plugin examples/plugins/engine.py`.

Ranks are processes of their own, which load this file too: `linkstep run` hands its plug-ins on. An engine in use would
keep messages in memory and wait without asking again and again; all that it must offer is what is here.
"""

import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np

import linkstep
from linkstep.engines import Engine
from linkstep.engines.transports.notes import leave, run_folder_here
from linkstep.engines.transports.start import LaunchSite, started_process
from linkstep.engines.transports.transport import Silence, Silent, Wire


class Message:
    """A wire, and the number of the next message on it."""

    def __init__(self, wire: Wire, rank: int) -> None:
        ends = (rank, wire.peer) if wire.is_send else (wire.peer, rank)
        self.wire, self.stem = wire, "{}-{}-{}".format(*ends, wire.tag)
        self.numbers = itertools.count()
        self.awaited: Path | None = None


class FileTransport:
    """Messages between processes that share a folder; `transport.py` says what each function is for."""

    posts_late, acknowledges, shares_clock, tag_limit = False, False, True, 2**20

    def __init__(self, timeout: float, folder: Path | None = None, members: Sequence[int] = ()) -> None:
        ranks = list(members or range(int(os.environ["FILE_RANKS"])))
        self.rank, self.size, self.timeout = ranks.index(int(os.environ["FILE_RANK"])), len(ranks), timeout
        self.folder, self.meetings = folder or run_folder_here() or Path(), itertools.count()

    def prepare(self, wires: Sequence[Wire]) -> list[Message]:
        return [Message(wire, self.rank) for wire in wires]

    def start(self, handles: Sequence[Message]) -> None:
        for message in handles:
            path = self.folder / f"{message.stem}-{next(message.numbers)}"
            if message.wire.is_send:
                part = path.with_name(f"{path.name}.part")
                part.write_bytes(message.wire.data.tobytes())
                part.rename(path)
            else:
                message.awaited = path

    def wait(self, handles: Sequence[Message]) -> None:
        for message in handles:
            if message.awaited is not None:
                data = self._read(message.awaited, self.timeout, message.wire.peer)
                message.wire.data[:] = np.frombuffer(data, message.wire.data.dtype)
                message.awaited.unlink()
                message.awaited = None

    def _read(self, path: Path, patience: float, rank: int) -> bytes:
        end = time.monotonic() + patience
        while not path.exists():
            if time.monotonic() > end:
                raise Silent(Silence(patience, (rank,), ()))
            time.sleep(1e-4)
        return path.read_bytes()

    def gather(self, value: bytes, patience: float | None = None) -> list[bytes]:
        meeting = f"meeting-{next(self.meetings)}"
        leave(self.folder / f"{meeting}-{self.rank}", value.hex() or " ")
        long = self.timeout if patience is None else patience
        found = [self._read(self.folder / f"{meeting}-{rank}", long, rank) for rank in range(self.size)]
        return [bytes.fromhex(text.decode()) for text in found]

    def split(self, members: Sequence[int]) -> "FileTransport | None":
        part = self.folder / "-".join(map(str, members))
        part.mkdir(exist_ok=True)
        return FileTransport(self.timeout, part, members) if self.rank in members else None

    def array(self, length: int, type_name: str) -> Any:
        return np.zeros(length, type_name)

    def own(self, collective: Any, source: Any, target: Any, operation: str, root: int) -> None:
        return None  # it has no collectives of its own to compare with

    def is_open(self) -> bool:
        return True

    def dead(self) -> tuple[int, ...]:
        return ()

    def release(self, handles: Sequence[Message]) -> None: ...

    def mark_failed(self) -> None: ...

    def abort(self) -> None: ...


def start(
    num_ranks: int, command: list[str], environment: dict[str, str], place: LaunchSite | None, folder: Path
) -> list["Popen[bytes]"]:  # fmt: skip
    """Start a process for each rank."""
    if place is not None:
        raise linkstep.LinkstepError("engine files knows no testbeds")
    variables = ({"FILE_RANK": str(rank), "FILE_RANKS": str(num_ranks)} for rank in range(num_ranks))
    return [started_process(command, environment | own) for own in variables]


ENGINE = Engine(name="files", title="files", open=FileTransport, rank_variables=("FILE_RANK",), start=start)

linkstep.register(ENGINE)

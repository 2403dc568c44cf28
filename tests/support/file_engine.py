"""An engine of one page, as CONTRIBUTING says one is added: ranks are processes, and messages are files in a folder."""

import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np

from linkstep.engines.transports.engine import ENGINES, Engine
from linkstep.engines.transports.notes import leave, run_folder_here
from linkstep.engines.transports.start import started_process
from linkstep.engines.transports.transport import Silence, Silent

TESTS = Path(__file__).parents[1]
_RANK = """
import sys
sys.path.insert(0, {tests!r})
from support import file_engine
from linkstep.engines.bench.rank import main
from pathlib import Path
file_engine.register()
sys.exit(main({engine!r}, Path({folder!r})))
"""


class Message:
    """A wire, and the number of the next message on it."""

    def __init__(self, wire, rank):
        self.wire, self.numbers, self.awaited = wire, itertools.count(), None
        ends = (rank, wire.peer) if wire.is_send else (wire.peer, rank)
        self.stem = "{}-{}-{}".format(*ends, wire.tag)


class FileTransport:
    """Messages between processes that share a folder."""

    posts_late, acknowledges, shares_clock, tag_limit = False, False, True, 2**20

    def __init__(self, timeout, folder=None, members=None):
        rank, members = int(os.environ["FILE_RANK"]), members or list(range(int(os.environ["FILE_RANKS"])))
        self.rank, self.size, self.timeout = members.index(rank), len(members), timeout
        self.folder, self.meetings = folder or run_folder_here(), itertools.count()

    def prepare(self, wires):
        return [Message(wire, self.rank) for wire in wires]

    def start(self, handles):
        for message in handles:
            path = self.folder / f"{message.stem}-{next(message.numbers)}"
            if message.wire.is_send:
                part = path.with_name(f"{path.name}.part")
                part.write_bytes(message.wire.data.tobytes())
                part.rename(path)
            else:
                message.awaited = path

    def wait(self, handles):
        for message in handles:
            if message.awaited is not None:
                data = self._read(message.awaited, self.timeout, (message.wire.peer,))
                message.wire.data[:] = np.frombuffer(data, message.wire.data.dtype)
                message.awaited.unlink()
                message.awaited = None

    def _read(self, path, patience, ranks):
        end = time.monotonic() + patience
        while not path.exists():
            if time.monotonic() > end:
                raise Silent(Silence(patience, ranks, ()))
            time.sleep(1e-4)
        return path.read_bytes()

    def gather(self, value, patience=None):
        meeting, patience = next(self.meetings), self.timeout if patience is None else patience
        leave(self.folder / f"meeting-{meeting}-{self.rank}", value.hex() or " ")
        found = [self._read(self.folder / f"meeting-{meeting}-{r}", patience, (r,)) for r in range(self.size)]
        return [bytes.fromhex(text.decode()) for text in found]

    def array(self, length, type_name):
        return np.zeros(length, type_name)

    def is_open(self):
        return True

    def dead(self):
        return ()

    def release(self, handles): ...

    def mark_failed(self): ...

    def abort(self): ...

    def split(self, members):
        part = self.folder / "-".join(map(str, members))
        part.mkdir(exist_ok=True)
        return FileTransport(self.timeout, part, list(members)) if self.rank in members else None

    def own(self, collective, source, target, operation, root):
        return None


def start(num_ranks, command, environment, place, folder):
    """Start a process for each rank, which registers the row before it looks itself up."""
    code = _RANK.format(tests=str(TESTS), engine=command[-2], folder=command[-1])
    variables = [environment | {"FILE_RANK": str(rank), "FILE_RANKS": str(num_ranks)} for rank in range(num_ranks)]
    return [started_process([sys.executable, "-c", code], own) for own in variables]


ENGINE = Engine(name="files", title="files", open=FileTransport, rank_variables=("FILE_RANK",), start=start)


def register():
    """Add the row."""
    ENGINES[ENGINE.name] = ENGINE

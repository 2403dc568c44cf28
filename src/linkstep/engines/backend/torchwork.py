"""A thread that runs collectives one after the other, and what torch is given for each: a future and a Work."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

import torch
from torch._C._distributed_c10d import Work

_Queue = SimpleQueue[tuple[Callable[[], Any], Any]]


class WorkerThread:
    """The thread; what it is given by all ranks in the same order, it does in that order."""

    def __init__(self, name: str) -> None:
        self._queue: _Queue = SimpleQueue()
        Thread(target=_serve, args=(self._queue,), name=name, daemon=True).start()

    def submit(self, action: Callable[[], Any]) -> Any:
        """Return a future of what an action will return; waiting for it raises what the action raises."""
        future: Any = torch.futures.Future()
        self._queue.put((action, future))
        return future


def _serve(queue: _Queue) -> None:
    with torch.no_grad():  # the mode is a thread's own
        while True:
            action, future = queue.get()
            try:
                result = action()
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            del action, future  # or its tensors live until the next call


def checked(future: Any) -> Any:
    """Return a future that has failed where this one holds an exception.

    What ``set_exception`` sets is raised to Python only; torch's own code would take the exception for the result.
    """
    return future.then(lambda done: done.value())


class FutureWork(Work):  # type: ignore[misc, unused-ignore]
    """A collective in flight, as torch.distributed's callers want it."""

    def __init__(self, future: Any) -> None:
        super().__init__()
        self._future, self._checked = future, checked(future)

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the end; the timeout is the group's own."""
        self._future.wait()  # raises what happened, of its own type
        self._checked.wait()
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return bool(self._checked.done())

    def get_future(self) -> Any:
        """Return the future of its tensors."""
        return self._checked

    def result(self) -> Any:
        """Return its tensors."""
        return self._future.value()

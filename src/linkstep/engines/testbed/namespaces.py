"""Network namespaces by name, as ``ip netns`` keeps them: which there are, what runs in them, and acting inside one.

Not here: making and deleting them (``network`` has the commands).
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from linkstep.core.errors import LinkstepError

FOLDER = Path("/run/netns")
_CLONE_NEWNET = 0x40000000

Result = TypeVar("Result")


def inode_of(namespace: str) -> int | None:
    """Return the number that identifies a named namespace; None if there is none of that name."""
    try:
        return (FOLDER / namespace).stat().st_ino
    except FileNotFoundError:
        return None


def current_inode() -> int:
    """Return the number of the namespace that this process runs in."""
    return Path("/proc/self/ns/net").stat().st_ino


def processes_in(inodes: Collection[int]) -> list[int]:
    """Return the ids of the processes that run in namespaces of these numbers, without this process."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            if (folder / "ns" / "net").stat().st_ino in inodes:
                found.append(int(folder.name))
        except OSError:  # it has just ended
            continue
    return sorted(found)


def inside(namespace: str, act: Callable[[], Result]) -> Result:
    """Call a function in a thread that has entered a namespace; the process itself stays where it is."""
    outcome: list[Result] = []
    failure: list[Exception] = []

    def enter_and_act() -> None:
        try:
            _enter(namespace)
            outcome.append(act())
        except Exception as error:  # raised again below, where someone sees it
            failure.append(error)

    thread = threading.Thread(target=enter_and_act)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        descriptor = os.open(FOLDER / namespace, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise LinkstepError(f"there is no network namespace {namespace}") from None
    try:
        if libc.setns(descriptor, _CLONE_NEWNET):
            reason = os.strerror(ctypes.get_errno()).lower()
            raise LinkstepError(f"the network namespace {namespace} cannot be entered: {reason}")
    finally:
        os.close(descriptor)


def write_settings(settings: dict[str, str]) -> None:
    """Set ``/proc/sys/net`` values of the namespace that the calling thread is in."""
    for name, value in settings.items():
        path = Path("/proc/sys/net", name)
        try:
            path.write_text(value)
        except OSError as error:
            raise LinkstepError(f"{path} cannot be set to {value}: {(error.strerror or str(error)).lower()}") from None

"""What is known of each testbed on this machine: a JSON file, written before anything is made, and one lock for all.

Whatever becomes of the command that makes a testbed, its file says which namespaces and which relay are its own, so
that taking it down is always possible and touches nothing else.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.topology import Topology
from linkstep.engines.testbed.testbed import Testbed
from linkstep.files import write_atomically
from linkstep.files.documents import renamed
from linkstep.files.own import read_json, write_json

FOLDER = Path("/run/linkstep/testbeds")
_FORMAT, _VERSION = "linkstep/testbed", 2
_OLDER = {"format_version": "version", "rate": "link_bandwidth"}
"""What version 1, whose format is "linkstep-testbed", calls members, and what they are called now."""
_PATIENCE = 30.0
"""Seconds to wait for another command that changes a testbed."""


def boot_id() -> str:
    """Return what tells this start of the machine from all others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def path_of(name: str) -> Path:
    """Return the file of a testbed."""
    return FOLDER / f"{name}.json"


def names() -> list[str]:
    """Return the names of all testbeds on this machine, whole or not."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if not path.name.startswith("."))


@contextmanager
def lock() -> Iterator[int]:
    """Hold the lock of all testbeds; yields its descriptor, for commands started here to hold it as long as they run.

    A command killed with -9 may leave an ``ip`` at work: nobody else begins before that has ended too.
    """
    import fcntl  # which only Unix has; this module is imported everywhere

    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as file:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LinkstepError(
                        f"another command has been changing testbeds for {_PATIENCE:.0f} s: wait for it or end it"
                    ) from None
                time.sleep(0.02)
        yield file.fileno()


def to_json(testbed: Testbed) -> dict[str, Any]:
    """Return a testbed as JSON values; the topology as in linkstep's own files."""
    topology = io.BytesIO()
    write_json(testbed.topology, topology)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "name": testbed.name,
        "link_bandwidth": testbed.rate,
        "delay": str(testbed.delay),
        "token": testbed.token,
        "boot": testbed.boot,
        "cut": [list(pair) for pair in testbed.cut],
        "rerouted": [list(pair) for pair in testbed.rerouted],
        "relayed": testbed.relayed,
        "inodes": testbed.inodes,
        "topology": json.loads(topology.getvalue()),
    }


def from_json(facts: dict[str, Any]) -> Testbed:
    """Return the testbed that ``to_json`` wrote; KeyError, TypeError or ValueError if it did not write this."""
    if facts["format"] == "linkstep-testbed":
        facts = renamed(facts, _OLDER)
    if (facts["format"], facts["version"]) not in ((_FORMAT, _VERSION), ("linkstep-testbed", 1)):
        raise ValueError("of another format or version")
    topology = read_json(io.BytesIO(json.dumps(facts["topology"]).encode()))
    if not isinstance(topology, Topology):
        raise ValueError("holds no topology")
    return Testbed(
        name=str(facts["name"]),
        topology=topology,
        rate=int(facts["link_bandwidth"]),
        delay=Fraction(facts["delay"]),
        token=str(facts["token"]),
        boot=str(facts["boot"]),
        cut=_pairs(facts["cut"]),
        rerouted=_pairs(facts["rerouted"]),
        relayed=bool(facts["relayed"]),
        inodes=None if facts["inodes"] is None else tuple(int(inode) for inode in facts["inodes"]),
    )


def _pairs(rows: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(first), int(second)) for first, second in rows)


def save(testbed: Testbed) -> None:
    """Write a testbed's file, whole or not at all."""

    def write(file: BinaryIO) -> None:
        file.write(json.dumps(to_json(testbed), indent=1).encode())

    write_atomically(path_of(testbed.name), write)


def load(name: str) -> Testbed:
    """Return the testbed of this name, as it is now; LinkstepError naming those there are if there is none."""
    path = path_of(name)
    try:
        facts = json.loads(path.read_bytes())
    except FileNotFoundError:
        known = names()
        there = f"there are {', '.join(known)}" if known else "there is none; linkstep testbed up makes one"
        raise LinkstepError(f"no testbed is called {name!r:.60}: {there}") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from None
    try:
        return from_json(facts)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: is not the file of a testbed: {error}") from None


def forget(testbed: Testbed) -> None:
    """Remove a testbed's file."""
    path_of(testbed.name).unlink(missing_ok=True)

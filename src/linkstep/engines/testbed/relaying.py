"""Starting the relay of a testbed, finding it, and ending it. The relay itself is ``relay``, a program of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from linkstep.core.errors import LinkstepError
from linkstep.engines.testbed.state import path_of
from linkstep.engines.testbed.testbed import Testbed

_PROGRAM = Path(__file__).with_name("relay.py")
_PATIENCE = 20.0
"""Seconds in which a relay must have made its devices, or have ended."""


def start(testbed: Testbed) -> None:
    """Start the relay and wait until all its devices are there."""
    plan = {
        "delay": float(testbed.delay),
        "cables": [
            [word for host in trunk.ends for word in (testbed.namespace(host), trunk.device)]
            for trunk in testbed.trunks
        ],
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_PROGRAM), testbed.token, str(path_of(testbed.name))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, cwd="/",
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write(json.dumps(plan).encode())
        process.stdin.close()
        answered, _, _ = select.select([process.stdout], [], [], _PATIENCE)
        if answered and process.stdout.readline() == b"ready\n":
            # It lives on without us: told apart by its token from now on, it is nobody's child to wait for.
            process.returncode = 0
            return
        process.kill()
        said = process.stderr.read().decode(errors="replace").strip().splitlines()
        process.wait()
    raise LinkstepError(f"the relay that delays packets did not start: {said[-1] if said else 'it said nothing'}")


def find(testbed: Testbed) -> list[int]:
    """Return the ids of this testbed's relays: processes with its token among the words of their command."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
        if os.fsencode(_PROGRAM.name) in {Path(os.fsdecode(word)).name.encode() for word in words[1:4]} and (
            testbed.token.encode() in words
        ):
            found.append(int(folder.name))
    return found


def stop(testbed: Testbed) -> None:
    """End the relay and wait until it is gone: as long as it lives, so do the namespaces it has devices in."""
    deadline = time.monotonic() + _PATIENCE
    while relays := find(testbed):
        for process in relays:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            raise LinkstepError(f"the relay of testbed {testbed.name} (process {relays[0]}) does not end")
        time.sleep(0.01)

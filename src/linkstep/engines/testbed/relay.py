"""The relay process: carries every packet of a testbed from one end of its cable to the other, after a fixed delay.

A program of its own that imports nothing but the standard library, so that it starts at once. Each cable end is a TUN
device; the kernel's token bucket has shaped what is read from it. ``relaying`` starts and ends this process. It ends by
itself within a second or two of its testbed's file being gone.

Arguments: the testbed's token (by which the process is known), the testbed's file. Standard input: JSON with ``delay``
(seconds) and ``cables``, each the namespace and device of both ends. It prints a line when all devices are there.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import resource
import select
import struct
import sys
import time
from collections import deque
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_LONGEST = 2**14
"""Bytes of a packet, at most: more than any device's MTU."""
_CHECK = 1.0
"""Seconds between two looks at the testbed's file."""


def enter(namespace: str) -> None:
    """Move this process to a named network namespace."""
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    finally:
        os.close(descriptor)


def open_device(namespace: str, device: str) -> int:
    """Return a new TUN device in a namespace, non-blocking; it is gone when the descriptor is closed."""
    enter(namespace)
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI))
    return descriptor


def is_wanted(state: Path, token: str) -> bool:
    """Whether the testbed that this relay belongs to still exists."""
    try:
        return token in state.read_text()
    except OSError:
        return False


def relay(ready: select.epoll, partner: dict[int, int], delay: float, state: Path, token: str) -> None:
    """Carry packets between partners until the testbed is gone. All have the same delay: first in, first out."""
    for descriptor in partner:
        ready.register(descriptor, select.EPOLLIN)
    clock, read, write, poll = time.monotonic, os.read, os.write, ready.poll
    under_way: deque[tuple[float, int, bytes]] = deque()
    arrive, depart = under_way.append, under_way.popleft
    next_check = clock() + _CHECK
    while True:
        now = clock()
        while under_way and under_way[0][0] <= now:
            _, target, packet = depart()
            with contextlib.suppress(OSError):  # the cable is cut: the packet is lost
                write(target, packet)
        if now >= next_check:
            if not is_wanted(state, token):
                return
            next_check = now + _CHECK
        until = under_way[0][0] if under_way else next_check
        # select on the epoll descriptor waits for microseconds; epoll itself would round up to milliseconds.
        select.select([ready], [], [], max(min(until, next_check) - clock(), 0.0))
        for descriptor, _ in poll(0):
            # One packet a turn: to ask for more until there is none costs more than another notification.
            with contextlib.suppress(BlockingIOError):
                arrive((clock() + delay, partner[descriptor], read(descriptor, _LONGEST)))


def main() -> None:
    """Make the devices, say so, and relay."""
    token, state = sys.argv[1], Path(sys.argv[2])
    plan = json.load(sys.stdin)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ready = select.epoll()  # before all others: select takes only low descriptors
    partner: dict[int, int] = {}
    for first_namespace, first_device, second_namespace, second_device in plan["cables"]:
        first = open_device(first_namespace, first_device)
        second = open_device(second_namespace, second_device)
        partner |= {first: second, second: first}
    print("ready", flush=True)
    with contextlib.suppress(OSError):  # a cable waits for no process: without this, busy hosts would slow it down
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    gc.disable()  # nothing here forms cycles
    relay(ready, partner, plan["delay"], state, token)


if __name__ == "__main__":
    main()

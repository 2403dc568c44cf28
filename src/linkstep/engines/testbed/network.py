"""The commands for ``ip`` and ``tc``: first as lines of text, which are plain values, then run as batches.

Not here: when (``lifecycle``). A bridge without ports holds each host's address; each trunk is a veth pair with a token
bucket in each direction, or, where a relay delays packets, a TUN device at each end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from linkstep.core.errors import LinkstepError
from linkstep.engines.testbed.testbed import BURST, HOST_DEVICE, Testbed

MTU = 9000
"""With 1500 bytes a packet, the machine's processor and not the rate would limit a testbed of a few hosts."""
_LIMIT = "512kb"
_NETEM_PACKETS = 10_000

SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/tcp_congestion_control": "reno",  # bbr leaves a quarter of the rate unused on such short cables
    "ipv4/tcp_slow_start_after_idle": "0",
    "ipv4/tcp_no_metrics_save": "1",  # or a run would inherit the window of the run before
}
SETTINGS_IPV6 = {"ipv6/conf/all/disable_ipv6": "1", "ipv6/conf/default/disable_ipv6": "1"}
"""Without IPv6 a cable carries nothing that no host sent."""


class Delay(StrEnum):
    """What delays packets."""

    NOTHING = "nothing"
    NETEM = "netem"
    RELAY = "relay"


# --- as text ---


def namespace_lines(testbed: Testbed) -> list[str]:
    """Return what makes the namespaces."""
    return [f"netns add {namespace}" for namespace in testbed.namespaces]


def veth_lines(testbed: Testbed) -> list[str]:
    """Return what makes a veth pair for each trunk, each end in its namespace."""
    return [
        f"link add {trunk.device} netns {testbed.namespace(trunk.first)} type veth"
        f" peer name {trunk.device} netns {testbed.namespace(trunk.second)}"
        for trunk in testbed.trunks
    ]


def host_lines(testbed: Testbed, host: int) -> list[str]:
    """Return what gives a host its address."""
    return [
        "link set lo up",
        f"link add {HOST_DEVICE} type bridge",
        f"address add {testbed.address(host)}/32 dev {HOST_DEVICE}",
        f"link set {HOST_DEVICE} mtu {MTU} up",
        *(f"link set {trunk.device} mtu {MTU}" for trunk in testbed.trunks_at(host)),
    ]


def wiring_lines(testbed: Testbed, host: int) -> list[str]:
    """Return what brings a host's trunks and routes to what they must be now; may be run again at any time.

    A device that goes down loses its routes, so all routes follow after all devices. New connections to a host that
    cannot be reached fail at once; those that were open wait, as they do when a real cable is cut.
    """
    lines = [
        f"link set {trunk.device} {'up' if trunk.rate_from(host) else 'down'}"
        for trunk in testbed.trunks_left
        if host in trunk.ends
    ]
    mine = testbed.address(host)
    for route in testbed.routes[host]:
        target = f"{testbed.address(route.target)}/32"
        if route.trunk is None:
            lines.append(f"route replace unreachable {target}")
        elif route.hop == route.target:
            lines.append(f"route replace {target} dev {route.trunk.device} scope link src {mine}")
        else:
            hop = testbed.address(route.hop)
            lines.append(f"route replace {target} via inet {hop} dev {route.trunk.device} onlink src {mine}")
    return lines


def rate_lines(testbed: Testbed, host: int, by: Delay) -> list[str]:
    """Return what gives a host's trunks their rates, outwards; may be run again at any time."""
    lines = []
    for trunk in testbed.trunks_left:
        rate = trunk.rate_from(host) if host in trunk.ends else 0
        if not rate:
            continue
        bucket = f"tbf rate {rate}bit burst {BURST // 1024}kb limit {_LIMIT}"
        if by is Delay.NETEM:
            delay = f"netem delay {round(testbed.delay * 10**6)}us limit {_NETEM_PACKETS}"
            lines.append(f"qdisc replace dev {trunk.device} root handle 1: {delay}")
            lines.append(f"qdisc replace dev {trunk.device} parent 1:1 handle 10: {bucket}")
        else:
            lines.append(f"qdisc replace dev {trunk.device} root handle 1: {bucket}")
    return lines


# --- as commands ---


def check_possible() -> None:
    """Raise unless this machine can hold testbeds: Linux, root, iproute2."""
    if not sys.platform.startswith("linux"):
        raise LinkstepError(f"a testbed is made of Linux network namespaces, and this is {sys.platform}")
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        raise LinkstepError(f"a testbed needs {' and '.join(missing)} of iproute2: install it, or add it to PATH")
    if os.geteuid() != 0:
        raise LinkstepError("a testbed is made of network namespaces, which only root may make: run this as root")


@dataclass(frozen=True)
class Tools:
    """Runs ``ip`` and ``tc`` in batches; they hold the lock of testbeds (a descriptor) as long as they run."""

    lock: int

    def ip(self, lines: Sequence[str], namespace: str | None = None) -> None:
        """Run ``ip``, in a namespace if one is named."""
        self._run("ip", lines, namespace)

    def tc(self, lines: Sequence[str], namespace: str) -> None:
        """Run ``tc`` in a namespace."""
        self._run("tc", lines, namespace)

    def _run(self, tool: str, lines: Sequence[str], namespace: str | None) -> None:
        if not lines:
            return
        where = [] if namespace is None else ["-n", namespace]
        done = subprocess.run(
            [tool, *where, "-batch", "-"],
            input="\n".join(lines) + "\n", capture_output=True, text=True, check=False,
            pass_fds=(self.lock,),
            start_new_session=True,  # Ctrl-C is for us: a batch that has begun runs to its end
        )  # fmt: skip
        if done.returncode:
            raise LinkstepError(_failure(tool, lines, namespace, done.stderr))


def _failure(tool: str, lines: Sequence[str], namespace: str | None, said: str) -> str:
    """Return one line that says which command failed and why; the tool names it as ``Command failed -:7``."""
    texts = [text.strip() for text in said.splitlines() if text.strip()]
    number = next(_numbers(texts), None)
    command = lines[number - 1] if number is not None and number <= len(lines) else lines[0]
    reason = next((text for text in texts if not text.startswith("Command failed")), "no reason given")
    where = "" if namespace is None else f" in {namespace}"
    return f"`{tool} {command}`{where} failed: {reason}"


def _numbers(texts: Sequence[str]) -> Iterator[int]:
    for text in texts:
        _, _, number = text.rpartition(":")
        if text.startswith("Command failed") and number.isdecimal():
            yield int(number)

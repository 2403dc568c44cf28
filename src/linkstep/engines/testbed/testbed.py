"""A testbed as a value: which hosts, which trunks, at which rates, what is cut, and how to run something on a host.

Not here: making one (``lifecycle``) and the file it is kept in (``state``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from ipaddress import IPv4Address

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import Fabric
from linkstep.engines.testbed import namespaces
from linkstep.engines.testbed.routes import Route, find_routes
from linkstep.engines.testbed.trunks import Trunk, trunks_left, trunks_of
from linkstep.engines.transports.counters import device_bytes

HOST_DEVICE = "host"
"""The device that holds a host's address: a bridge without ports, for it outlives any cable."""
BURST = 2**15
"""Bytes that the token bucket of a cable holds: what it lends after idle time."""
_FIRST_ADDRESS = IPv4Address("198.18.0.1")  # of the range for benchmarks (RFC 2544), which is never on the Internet


@dataclass(frozen=True)
class Testbed:
    """An emulated cluster: a network namespace for each host of a topology, rates on links, cables that can be cut."""

    name: str
    topology: Topology
    """Without the cuts; its ``bandwidth``, where it has one, is in bit/s of the emulated links."""
    rate: int
    """Bit/s of a link, of the fastest where they differ."""
    delay: Fraction
    """Seconds that a packet takes from one end of a cable to the other."""
    token: str
    """Random text that tells this testbed's relay from all other processes."""
    boot: str
    """Identifies the time between two starts of the machine: no namespace survives one."""
    cut: tuple[tuple[int, int], ...] = ()
    """The hosts (lower first) of each cable that is cut now; twice where two parallel cables are."""
    rerouted: tuple[tuple[int, int], ...] = ()
    """Pairs of hosts whose cables are all cut and whose set-up traffic may go round."""
    relayed: bool = False
    """Whether a relay process carries packets and delays them, for the kernel cannot."""
    inodes: tuple[int, ...] | None = None
    """The number of each host's namespace; None before all is made."""

    @cached_property
    def trunks(self) -> tuple[Trunk, ...]:
        """All trunks, uncut."""
        return trunks_of(self.topology, self.rate)

    @cached_property
    def trunks_left(self) -> tuple[Trunk, ...]:
        """The same trunks with what the cuts leave of them."""
        return trunks_left(self.trunks, self.cut)

    @cached_property
    def routes(self) -> list[list[Route]]:
        """The routes of each host, as things are now."""
        return find_routes(self.topology.num_nodes, self.trunks_left, self.rerouted)

    @property
    def num_hosts(self) -> int:
        """N."""
        return self.topology.num_nodes

    def fabric(self) -> Fabric:
        """Return the fabric for predictions: alpha is the delay, B is the rate of a link times the degree."""
        degree = max(self.topology.degree, 1)
        return Fabric(self.delay, Fraction(self.rate * degree), degree)

    def namespace(self, host: int) -> str:
        """Return the name of a host's network namespace."""
        return f"ls-{self.name}-{host}"

    @property
    def namespaces(self) -> list[str]:
        """The names of all namespaces, in order of hosts."""
        return [self.namespace(host) for host in range(self.num_hosts)]

    def address(self, host: int) -> str:
        """Return a host's address, valid on all its cables."""
        return str(_FIRST_ADDRESS + host)

    def device(self, host: int) -> str:
        """Return the device that holds a host's address: what FI_TCP_IFACE and GLOO_SOCKET_IFNAME name."""
        return HOST_DEVICE

    def prefix(self, host: int) -> list[str]:
        """Return the words to put in front of a command so that it runs on a host."""
        return ["ip", "netns", "exec", self.namespace(host)]

    def environment(self) -> dict[str, str]:
        """Return the variables that ranks need so that MPICH and gloo talk over the cables, also to the next host."""
        return {
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": HOST_DEVICE,
            "FI_TCP_MAX_INJECT": "65536",  # above this a send is complete only when the receiver has said so
            "GLOO_SOCKET_IFNAME": HOST_DEVICE,
        }

    def trunks_at(self, host: int) -> list[Trunk]:
        """Return the trunks that end at a host, uncut."""
        return [trunk for trunk in self.trunks if host in trunk.ends]

    def host_here(self) -> int:
        """Return the host whose namespace this process runs in; LinkstepError if it is none of this testbed."""
        here = namespaces.current_inode()
        for host, inode in enumerate(self.inodes or ()):
            if inode == here:
                return host
        raise LinkstepError(f"this process runs on no host of testbed {self.name}: start it with linkstep testbed exec")

    def cable_bytes(self) -> dict[int, tuple[int, int]]:
        """Return bytes (sent, received) over the cables of the host that this process runs on, by neighbour.

        Counted by the kernel since the testbed came up, with the headers of Ethernet, IP and TCP and with
        acknowledgements. Parallel cables to a neighbour count together.
        """
        host = self.host_here()
        counted = device_bytes()
        return {trunk.other(host): counted[trunk.device] for trunk in self.trunks_at(host)}

    def pair(self, hosts: Sequence[str]) -> tuple[int, int]:
        """Return the two hosts of a cable, lower first, from their names or numbers; LinkstepError if there is none."""
        first, second = sorted(self.topology.node_named(host) for host in hosts)
        if not any(trunk.ends == (first, second) for trunk in self.trunks):
            ends = " and ".join(self.topology.called(node) for node in (first, second))
            raise LinkstepError(f"testbed {self.name} has no cable between {ends}")
        return first, second

"""A family of one's own: prisms, two rings side by side.

Try: `linkstep show 'Prism(6)' --plugin examples/plugins/family.py`.
"""

from collections.abc import Iterator

import numpy as np

import linkstep
from linkstep.families import Args, Family, always


def prism(size: int) -> linkstep.Topology:
    """Return Prism(m), two rings of m nodes joined node by node: N = 2m, d = 3."""
    num_nodes, _ = prism_size(size)
    node = np.arange(size)
    after = (node + 1) % size
    one = np.concatenate([node, node + size, node])
    other = np.concatenate([after, after + size, node + size])
    return linkstep.Topology.from_links(num_nodes, np.append(one, other), np.append(other, one))


def prism_size(size: int) -> tuple[int, int]:
    """Return (N, d), and refuse arguments that name no member."""
    if size < 3:
        raise linkstep.RecipeError(f"Prism(m) needs m >= 3, not {size}")
    return 2 * size, 3


def members(num_nodes: int, degree: int) -> Iterator[Args]:
    """List the arguments of every member with this N and d."""
    if degree == 3 and num_nodes >= 6 and num_nodes % 2 == 0:
        yield (num_nodes // 2,)


PRISM = Family(
    name="Prism", title="prism", params=("int",), notation="Prism(m)", coverage="even N of at least 6, d = 3",
    build=prism, size=prism_size, members=members,
    vertex_transitive=always, reverse_symmetric=always, bidirectional=always, simple=always, loop_free=always,
)  # fmt: skip

linkstep.register(PRISM)

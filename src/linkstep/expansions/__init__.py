"""Expansions: larger topologies, and allgather schedules on them, from smaller ones (sec:expansion). Pure functions."""

from linkstep.expansions.grafts import insert_nodes, remove_nodes, swap_links
from linkstep.expansions.ports import (
    idle_ports_schedule,
    parallel_copies,
    parallel_copies_schedule,
    union,
    with_idle_ports,
)
from linkstep.expansions.schedules import (
    cartesian_power_schedule,
    degree_expand_schedule,
    line_graph_schedule,
    to_bidirectional_schedule,
)
from linkstep.expansions.topologies import (
    MAX_PROOF_NODES,
    cartesian_power,
    cartesian_product,
    degree_expand,
    line_graph,
    line_graph_keeps_bfb,
    to_bidirectional,
)

__all__ = [
    "MAX_PROOF_NODES",
    "cartesian_power",
    "cartesian_power_schedule",
    "cartesian_product",
    "degree_expand",
    "degree_expand_schedule",
    "idle_ports_schedule",
    "insert_nodes",
    "line_graph",
    "line_graph_keeps_bfb",
    "line_graph_schedule",
    "parallel_copies",
    "parallel_copies_schedule",
    "remove_nodes",
    "swap_links",
    "to_bidirectional",
    "to_bidirectional_schedule",
    "union",
    "with_idle_ports",
]

"""Allreduce as one schedule: shards that are complete are gathered while others are still being reduced.

Each shard has its own step at which it is complete at its node. Its gathering after that is arrival times
(``linkstep.methods.arrival``), its reduction before that the same on the transpose, backwards; both halves share links.
"""

from linkstep.methods.overlap.schedule import least_overlapped_steps, overlapped_allreduce, overlapped_cost

__all__ = ["least_overlapped_steps", "overlapped_allreduce", "overlapped_cost"]

"""All-to-all throughput with a certificate: how much every node can send to every other at once (app-sec:all-to-all).

The largest concurrent flow f is bracketed by a flow that is shown to exist and by prices of links that rule out more.
Not here: schedules, which need more than a flow.
"""

from linkstep.throughput.result import Flow, Throughput
from linkstep.throughput.solve import all_to_all, exact_all_to_all, quick_all_to_all

__all__ = ["Flow", "Throughput", "all_to_all", "exact_all_to_all", "quick_all_to_all"]

"""What people use today, as algorithms like ours: rings, tori, hypercubes and double binary trees with their schedules.

``BASELINES`` is the table, one row for each algorithm and family of wirings; every row builds schedules that are
checked, costed, lowered, simulated and run as ours are. ``baselines`` lists its rows for N nodes and d ports,
``usual_baselines`` the schedule in common use on each wiring, ``baselines_on`` the rows of one wiring.

>>> [(str(one.recipe), one.row.key) for one in baselines(8, 2)]
[('BiRing(2,8)', 'bidirectional-ring')]
"""

from linkstep.baselines.row import Baseline, BaselineAlgorithm, Pipeline
from linkstep.baselines.table import BASELINES, baseline, baselines, baselines_on, usual_baselines
from linkstep.baselines.trees import double_tree_time

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineAlgorithm",
    "Pipeline",
    "baseline",
    "baselines",
    "baselines_on",
    "double_tree_time",
    "usual_baselines",
]

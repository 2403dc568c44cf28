"""Search for topologies: the finder, and the catalog of the best ones known.

The sweeps that fill the catalog are in ``linkstep.search.sweep.runner``.
"""

from linkstep.search.answer import Answer, find
from linkstep.search.catalog import Catalog, load_catalog
from linkstep.search.choice import Choice
from linkstep.search.entry import Entry
from linkstep.search.sweep.job import SweepJob
from linkstep.search.workload import Workload, pick

__all__ = [
    "Answer",
    "Catalog",
    "Choice",
    "Entry",
    "SweepJob",
    "Workload",
    "find",
    "load_catalog",
    "pick",
]

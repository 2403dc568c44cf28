"""Search for topologies: the finder, and the catalog of the best ones known with the sweeps that fill it."""

from linkstep.search.answer import Answer, find
from linkstep.search.catalog import Catalog, load_catalog
from linkstep.search.choice import Choice
from linkstep.search.entry import Entry
from linkstep.search.sweep.job import Job
from linkstep.search.sweep.runner import build, search
from linkstep.search.workload import Workload, pick

__all__ = [
    "Answer",
    "Catalog",
    "Choice",
    "Entry",
    "Job",
    "Workload",
    "build",
    "find",
    "load_catalog",
    "pick",
    "search",
]

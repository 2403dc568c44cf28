"""Search for topologies: Cayley digraphs with little latency and bandwidth, and the catalog of the best ones known."""

from linkstep.search.answer import Answer, Baseline, Found, Workload, find, pick
from linkstep.search.catalog import Catalog, Entry, load_catalog
from linkstep.search.sweep.job import Unit
from linkstep.search.sweep.jobs import build, search

__all__ = [
    "Answer",
    "Baseline",
    "Catalog",
    "Entry",
    "Found",
    "Unit",
    "Workload",
    "build",
    "find",
    "load_catalog",
    "pick",
    "search",
]

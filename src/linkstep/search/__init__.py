"""Search for topologies: Cayley digraphs with little latency and bandwidth, and the catalog of the best ones known."""

from linkstep.search._build import build, search
from linkstep.search._find import Answer, Baseline, Found, Workload, find, pick
from linkstep.search._unit import Unit
from linkstep.search.catalog import Catalog, Entry, load_catalog

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

"""Make a schedule of a collective on a wiring, and say what the wiring allows.

``schedule`` takes a wiring or a ``Problem`` and runs one of ``METHODS``, or the best of them; ``trade_off`` sets steps
against bandwidth. Not here: how methods work (``linkstep.methods``), and which wiring to build (``linkstep.search``).
"""

from linkstep.scheduling.make import BEST, MAX_ROWS, best_offer, schedule
from linkstep.scheduling.methods import METHODS
from linkstep.scheduling.request import Method, Offers, Request, ScheduleResult
from linkstep.scheduling.tradeoff import Point, TradeOff, trade_off

__all__ = [
    "BEST",
    "MAX_ROWS",
    "METHODS",
    "Method",
    "Offers",
    "Point",
    "Request",
    "ScheduleResult",
    "TradeOff",
    "best_offer",
    "schedule",
    "trade_off",
]

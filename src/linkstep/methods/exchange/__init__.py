"""All-to-all schedules: every chunk takes a path of its own, and all links are kept equally busy at every step."""

from linkstep.methods.exchange.schedule import MAX_CHUNKS, Exchange, all_to_all_schedule

__all__ = ["MAX_CHUNKS", "Exchange", "all_to_all_schedule"]

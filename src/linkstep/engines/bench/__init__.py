"""The bench of ``linkstep run``: prepare, start ranks, measure every size, watch over them, and say how it ended."""

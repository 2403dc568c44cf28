"""Transports: what carries bytes between ranks, by MPI or torch.distributed, and a row for each engine.

``transport`` says what a transport offers, ``engine`` is the table. Nothing here knows of plans, chunks or collectives
but for an engine's own, to compare with.
"""

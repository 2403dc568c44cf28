"""Engines: where schedules really run, and the testbed they can run on."""

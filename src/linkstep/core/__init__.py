"""The values everything speaks: errors, units, topologies, schedules, collectives, memos."""

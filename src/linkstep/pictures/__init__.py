"""Pictures of topologies, broadcasts, schedules, frontiers and simulations, as ``.svg`` or ``.png`` files.

``style`` holds what they share: colours, fonts, and how a file is written. matplotlib is imported only when something
is drawn, and nothing here decides what is drawn on the command line.
"""

"""How crowded the machine is: what is promised in seconds is promised of one that has cores to spare."""

import os


def crowding():
    """Return by how much a limit of wall-clock time is stretched: 1 up to two busy processes a core, more with more."""
    return max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1)))

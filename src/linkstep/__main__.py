"""``python -m linkstep`` is ``linkstep``."""

from linkstep.cli import entry

entry()

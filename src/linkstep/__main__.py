"""``python -m linkstep`` is ``linkstep``."""

from linkstep.cli import entry

if __name__ == "__main__":  # the workers of mpi4py.futures import this module under another name
    entry()

"""``python -m linkstep`` is ``linkstep``."""

if __name__ == "__main__":  # the workers of mpi4py.futures import this module under another name
    from linkstep.cli import entry

    entry()

"""The errors that a user can cause. Not here: what is a bug of ours, which stays an AssertionError or the like.

All are ``ValueError``s with a one-line message that names the thing, the rule and the value found. The command line
prints the line and exits with code 2. A line is at most 300 characters long, whatever was given.
"""

from linkstep.core.text import cut

LONGEST = 280
"""Characters of a message; the command line puts ``linkstep: `` before it."""


class LinkstepError(ValueError):
    """Anything wrong with what was given to linkstep.

    >>> import linkstep
    >>> linkstep.find(1, 4)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: the number of nodes must lie in [2, 10000000], not 1
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(cut(str(message).replace("\n", "\\n"), LONGEST))


class TopologyError(LinkstepError):
    """A graph that is not what was asked for: bad node numbers, disconnected, wrong size.

    >>> import linkstep
    >>> linkstep.Topology.from_links(2, [0], [2])
    Traceback (most recent call last):
    linkstep.core.errors.TopologyError: link 0: head must be a node in [0, 2), not 2
    """


class ScheduleError(LinkstepError):
    """A schedule that breaks a rule; ``row`` is the witness's row, or None if no single row is to blame.

    >>> import linkstep
    >>> from dataclasses import replace
    >>> made = linkstep.schedule("K_{2,2}", "allgather").schedule
    >>> linkstep.check(replace(made, step=made.step[::-1]))
    Traceback (most recent call last):
    linkstep.core.errors.ScheduleError: row 8: rows must be sorted by (step, link, source, lo)
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class RecipeError(LinkstepError):
    """A recipe that does not parse, or names a member its family does not have.

    >>> import linkstep
    >>> linkstep.parse("Torus(4")
    Traceback (most recent call last):
    linkstep.core.errors.RecipeError: recipe 'Torus(4', character 8: expected ',' or ')', found 'the end'
    """


class FileError(LinkstepError):
    """A file that is missing, truncated, foreign or of a newer format.

    >>> import linkstep
    >>> linkstep.load("nosuch.csv")
    Traceback (most recent call last):
    linkstep.core.errors.FileError: nosuch.csv: no such file
    """


class UnitError(LinkstepError):
    """A quantity that is not a number with a unit we know.

    >>> import linkstep
    >>> linkstep.Fabric.of("10", "100Gbps", 4)
    Traceback (most recent call last):
    linkstep.core.errors.UnitError: time '10' has no known unit: write it like 10us or 10s
    """


class EngineError(LinkstepError):
    """A run that cannot go on: a peer that is gone or silent, or that runs something else.

    >>> import linkstep
    >>> linkstep.Communicator("K_4", engine=4)
    Traceback (most recent call last):
    linkstep.core.errors.EngineError: engine must be the name of one, or a transport, not 4
    """


class LinkstepWarning(UserWarning):
    """Something that was left out, such as a file that cannot be read, while the work went on."""


def warn(message: str) -> None:
    """Warn in one line; the command line prints it once."""
    import warnings

    warnings.warn(LinkstepWarning(cut(message.replace("\n", "\\n"), LONGEST)), stacklevel=2)

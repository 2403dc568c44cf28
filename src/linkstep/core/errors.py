"""The errors that a user can cause. Not here: what is a bug of ours, which stays an AssertionError or the like.

All are ``ValueError``s with a one-line message that names the thing, the rule and the value found. The command line
prints the line and exits with code 2. A line is at most 300 characters long, whatever was given.
"""

from linkstep.core.text import cut

LONGEST = 280
"""Characters of a message; the command line puts ``linkstep: `` before it."""


class LinkstepError(ValueError):
    """Anything wrong with what was given to linkstep."""

    def __init__(self, message: str = "") -> None:
        super().__init__(cut(str(message).replace("\n", "\\n"), LONGEST))


class TopologyError(LinkstepError):
    """A graph that is not what was asked for: bad node numbers, disconnected, wrong size."""


class ScheduleError(LinkstepError):
    """A schedule that breaks a rule; ``row`` is the witness's row, or None if no single row is to blame."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class RecipeError(LinkstepError):
    """A recipe that does not parse, or names a member its family does not have."""


class FileError(LinkstepError):
    """A file that is missing, truncated, foreign or of a newer format."""


class UnitError(LinkstepError):
    """A quantity that is not a number with a unit we know."""


class EngineError(LinkstepError):
    """A run that cannot go on: a peer that is gone or silent, or that runs something else."""


class LinkstepWarning(UserWarning):
    """Something that was left out, such as a file that cannot be read, while the work went on."""


def warn(message: str) -> None:
    """Warn in one line; the command line prints it once."""
    import warnings

    warnings.warn(LinkstepWarning(cut(message.replace("\n", "\\n"), LONGEST)), stacklevel=2)

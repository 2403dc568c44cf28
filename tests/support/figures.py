"""What every exhibit owes the reader: a reason for each figure that differs from the paper's."""

from linkstep.reproduction.figures import Verdict


def unexplained(cells):
    """Return the item and the quantity of what differs in either column from the paper's figure without saying why."""
    return [
        (one.item, one.quantity)
        for one in cells
        if Verdict.DIFFERS in (one.bases_verdict, one.ours_verdict) and not one.why
    ]

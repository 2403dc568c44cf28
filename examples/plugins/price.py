"""A price of one's own: any function of a cost to numbers, of which the least wins.

Try: `python examples/plugins/price.py`.
"""

from fractions import Fraction

import linkstep


def price(cost: linkstep.Cost) -> Fraction:
    """Return microseconds of 1 MB, where a step takes 5us and one step more than four a further 20us each."""
    late = max(0, cost.steps - 4)
    return 5 * cost.steps + 20 * late + 80 * cost.bandwidth


if __name__ == "__main__":
    print(linkstep.schedule("Pi_{4,17}", "allreduce", price=price))
    print(linkstep.schedule("Pi_{4,17}", "allreduce", price=lambda cost: cost.bandwidth))

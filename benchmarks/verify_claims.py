"""Check, exactly, what the paper says it verified by computation or proved, as far as it says.

    python -m benchmarks.verify_claims           a few minutes

- sec:generateivetopo: the twisted torus of TPU v4 is bandwidth-optimal for N <= 10^4 (every shape of dimensions k, 2k);
- thm:deg4construct: C(n, {m, m+1}) has diameter m and is bandwidth-optimal, every n <= 10^4; and every pair of jumps up
  to n = 100 (sec:circulant proves it for all);
- circulantconjecture: that every circulant graph is bandwidth-optimal is wrong; the first with three and with four
  jumps that are not, and how many there are up to n = 40 and n = 24, are printed (HiGHS agrees: tests/test_bfb.py).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import combinations
from math import gcd

from tqdm import tqdm

from linkstep.costs import Cost, bandwidth_bound
from linkstep.families.circulant import best_two_jumps
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import parse

LIMIT = 10_000


def twisted_tori() -> Iterator[tuple[str, int | None]]:
    for dims in range(2, 14):
        for longs in range(1, dims):
            k = 2
            while k**dims * 2**longs <= LIMIT:
                yield f"TwistedTorus({','.join([str(k)] * (dims - longs) + [str(2 * k)] * longs)})", None
                k += 1


def best_circulants() -> Iterator[tuple[str, int | None]]:
    for n in range(7, LIMIT + 1):
        m = best_two_jumps(n)
        yield f"C({n},{{{m},{m + 1}}})", m


def all_circulants(jumps: int, limit: int) -> Iterator[tuple[str, int | None]]:
    for n in range(2 * jumps + 1, limit + 1):
        for chosen in combinations(range(1, (n + 1) // 2), jumps):
            if gcd(n, *chosen) == 1:
                yield f"C({n},{{{','.join(map(str, chosen))}}})", None


CLAIMS = {
    f"twisted tori, N <= {LIMIT}": twisted_tori,
    f"C(n,{{m,m+1}}), n <= {LIMIT}": best_circulants,
    "all C(n,{a,b}), n <= 100": lambda: all_circulants(2, 100),
}


def is_optimal(recipe: str, steps: int | None) -> bool:
    """Whether the best BFB schedule is bandwidth-optimal, and takes ``steps`` where that is claimed too."""
    topology = parse(recipe).topology()
    cost = bfb_cost(topology)
    return cost == Cost(cost.steps if steps is None else steps, bandwidth_bound(topology.num_nodes))


def main() -> int:
    failed = 0
    for claim, members in CLAIMS.items():
        start = time.perf_counter()
        bar = tqdm(members(), desc=claim, leave=False, disable=not sys.stderr.isatty(), delay=2)
        verdicts = {recipe: is_optimal(recipe, steps) for recipe, steps in bar}
        wrong = [recipe for recipe, holds in verdicts.items() if not holds]
        failed += len(wrong)
        result = "all hold" if not wrong else f"{len(wrong)} do not hold, first {wrong[0]}"
        print(f"{claim}: {len(verdicts)} topologies, {result} ({time.perf_counter() - start:.0f} s)", flush=True)
    for jumps, limit in ((3, 40), (4, 24)):
        recipes = [recipe for recipe, _ in all_circulants(jumps, limit)]
        wrong = [recipe for recipe in recipes if not is_optimal(recipe, None)]
        print(
            f"circulants with {jumps} jumps, n <= {limit}: {len(wrong)} of {len(recipes)} not optimal, first {wrong[0]}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

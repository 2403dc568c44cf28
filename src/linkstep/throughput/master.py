"""The best mixture of a few load vectors, exactly: a linear program with a row for each class, solved in fractions.

Given columns L (loads of classes) and capacities C, find weights that add up to 1 and make the largest of
sum(weight * L_j) / C_j least, and prices p with sum(p_j C_j) = 1 that prove it: no column costs less than that. Columns
can be added later, and the solution goes on from where it was. Not here: where columns come from.
"""

from __future__ import annotations

from fractions import Fraction

Row = list[Fraction]
_ZERO, _ONE = Fraction(0), Fraction(1)


class Master:
    """A primal simplex method with an explicit inverse of the basis.

    Rows 0..k-1: sum(weight_c L_cj) - t C_j + slack_j = 0; row k: sum(weight_c) = 1. Variables are t (-1), the slacks
    0..k-1 and the columns from k on.

    >>> master = Master((1, 1))
    >>> for column in ((4, 0), (0, 2)):
    ...     master.add(column)
    >>> print(*master.value_and_prices())
    4/3 (Fraction(1, 3), Fraction(2, 3))
    >>> [str(weight) for weight in master.weights()]
    ['1/3', '2/3']
    """

    def __init__(self, capacities: tuple[int, ...]) -> None:
        self.capacities = capacities
        self.columns: list[tuple[int, ...]] = []
        self.basis: list[int] = []
        self.inverse: list[Row] = []

    @property
    def _rows(self) -> int:
        return len(self.capacities)

    def add(self, column: tuple[int, ...]) -> None:
        """Add a load vector and solve again."""
        self.columns.append(column)
        if not self.basis:
            self._start(column)
        self._solve()

    def _start(self, column: tuple[int, ...]) -> None:
        """Begin with the first column alone: t is its worst row's, the other rows have slack."""
        k = self._rows
        worst = max(range(k), key=lambda j: Fraction(column[j], self.capacities[j]))
        self.basis = [-1 if j == worst else j for j in range(k)] + [k]
        self.inverse = [[Fraction(int(i == j)) for j in range(k + 1)] for i in range(k + 1)]
        capacity, load = self.capacities[worst], column[worst]
        for i in range(k):  # t = load/capacity - r_worst/capacity; a slack is what its row leaves
            share = Fraction(self.capacities[i], capacity)
            if i == worst:
                self.inverse[i] = [_ZERO] * (k + 1)
                self.inverse[i][worst], self.inverse[i][k] = Fraction(-1, capacity), Fraction(load, capacity)
            else:
                self.inverse[i][worst] = -share
                self.inverse[i][k] = share * load - column[i]

    def _vector(self, variable: int) -> Row:
        """Return a variable's column of the program."""
        k = self._rows
        if variable < 0:
            return [Fraction(-c) for c in self.capacities] + [_ZERO]
        if variable < k:
            return [Fraction(int(j == variable)) for j in range(k)] + [_ZERO]
        return [Fraction(load) for load in self.columns[variable - k]] + [_ONE]

    def _t_row(self) -> Row:
        return self.inverse[self.basis.index(-1)]

    def _entering(self, *, first: bool) -> int | None:
        """Return a variable that lowers t: the one that does so fastest, or the first by number (Bland's rule)."""
        row, k = self._t_row(), self._rows
        best, found = _ZERO, None
        in_basis = set(self.basis)
        for variable in range(k + len(self.columns)):
            if variable in in_basis:
                continue
            if variable < k:
                gain = row[variable]
            else:
                column = self.columns[variable - k]
                gain = row[k] + sum((r * load for r, load in zip(row, column, strict=False) if load), _ZERO)
            if gain > best:
                best, found = gain, variable
                if first:
                    break
        return found

    def _solve(self) -> None:
        k, stalled = self._rows, False
        while (entering := self._entering(first=stalled)) is not None:
            vector = self._vector(entering)
            step = [sum((a * b for a, b in zip(row, vector, strict=True) if a and b), _ZERO) for row in self.inverse]
            ratios = [(self.inverse[i][k] / step[i], self.basis[i], i) for i in range(k + 1) if step[i] > 0]
            length, _, leaving = min(ratios)
            stalled = length == 0
            pivot = self.inverse[leaving] = [a / step[leaving] for a in self.inverse[leaving]]
            for i, row in enumerate(self.inverse):
                if i != leaving and step[i]:
                    self.inverse[i] = [a - step[i] * b if b else a for a, b in zip(row, pivot, strict=True)]
            self.basis[leaving] = entering

    def value_and_prices(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Return the least t and the prices that prove it."""
        row = self._t_row()
        return row[self._rows], tuple(-r for r in row[: self._rows])

    def weights(self) -> tuple[Fraction, ...]:
        """Return the weight of each column."""
        k = self._rows
        found = [_ZERO] * len(self.columns)
        for i, variable in enumerate(self.basis):
            if variable >= k:
                found[variable - k] = self.inverse[i][k]
        return tuple(found)

"""Automorphisms of incidence graphs of geometries: what matrices over a finite field do to points and lines.

Points are rows of homogeneous coordinates, the first that is not 0 being 1; lines are rows of points. A matrix that
takes lines to lines is an automorphism of the graph that has the points first and then the lines.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linkstep.core.topology import Ids, Ints
from linkstep.families._field import Field, check_prime_power


def basis(field: Field) -> list[int]:
    """Return elements whose sums are all elements: 1, p, p^2, ... as numbers."""
    p, exponent = check_prime_power("GF(q)", field.order)
    return [p**i for i in range(exponent)]


def elementary(length: int, *entries: tuple[int, int, int]) -> Ids:
    """Return the identity matrix with some entries (row, column, value) put in."""
    matrix = np.eye(length, dtype=np.int32)
    for row, column, value in entries:
        matrix[row, column] = value
    return matrix


def turned(field: Field, points: Ids, matrix: Ids) -> Ints:
    """Return the number of the point that x M is, for every point x."""
    found = np.zeros_like(points)
    for i in range(points.shape[1]):
        found = field.add[found, field.mul[points[:, i, None], matrix[i]]]
    return numbers(field, points, found)


def numbers(field: Field, points: Ids, vectors: Ids) -> Ints:
    """Return which point each vector, up to a factor, is."""
    lead = np.take_along_axis(vectors, (vectors != 0).argmax(axis=1)[:, None], axis=1)
    places = field.order ** np.arange(points.shape[1], dtype=np.int64)
    codes = points @ places
    order = np.argsort(codes)
    return np.asarray(
        order[np.searchsorted(codes, field.mul[field.inv[lead], vectors] @ places, sorter=order)], np.int64
    )


def line_numbers(lines: Ids, wanted: Ids | Ints) -> Ints:
    """Return which of the lines each row of points is, in any order."""
    known, asked = (np.sort(rows.astype(np.int64), axis=1) for rows in (lines, wanted))
    size = int(max(known.max(), asked.max())) + 1
    known_codes, asked_codes = (rows[:, 0] * size + rows[:, 1] for rows in (known, asked))  # two points make a line
    order = np.argsort(known_codes)
    return np.asarray(order[np.searchsorted(known_codes, asked_codes, sorter=order)], np.int64)


def collineations(lines: Ids, images: Iterable[Ints]) -> list[Ints]:
    """Return what permutations of the points do to points and lines."""
    return [np.append(image, image.size + line_numbers(lines, image[lines])) for image in images]

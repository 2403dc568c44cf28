"""Incidence graphs of finite geometries: projective and affine planes, generalized quadrangles and hexagons.

Points come first (0 to P - 1), lines after them; a link each way joins a point and a line through it. All are
distance-regular (sec:dist-reg).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.families._collineations import basis, collineations, elementary, numbers, turned
from linkstep.families._common import buildable, check_equal, duplex_links, knowing
from linkstep.families._family import Args, Family, always
from linkstep.families._field import MAX_ORDER, Field, check_prime_power, finite_field, prime_power


def _incidence(num_points: int, lines: Ids) -> Topology:
    """Return the incidence graph of lines, each a row of points."""
    num_lines, per_line = lines.shape
    return duplex_links(num_points + num_lines, lines.ravel(), num_points + np.repeat(np.arange(num_lines), per_line))


def projective_plane(dimension: int, order: int) -> Topology:
    """Return the incidence graph of the projective plane PG(2,q): N = 2 (q^2 + q + 1), d = q + 1, D = 3.

    An affine plane, y = m x + b, with a point at infinity for each slope and one line through those.

    >>> projective_plane(2, 3).num_nodes
    26
    """
    buildable(projective_plane_size(dimension, order))
    q, field = order, finite_field(order)
    slopes = np.arange(q)
    at_infinity = q * q + np.repeat(slopes, q)[:, None]
    sloped = np.concatenate([_sloped_lines(field), at_infinity], axis=1)
    vertical = np.concatenate([slopes[:, None] * q + slopes, np.full((q, 1), q * q + q)], axis=1)
    infinite = q * q + np.arange(q + 1)[None, :]
    lines = np.concatenate([sloped, vertical, infinite])
    return knowing(_incidence(q * q + q + 1, lines), lambda: _projectivities(field, lines))


def _projectivities(field: Field, lines: Ids) -> list[Ints]:
    """Return matrices that generate all of determinant 1, and the polarity: point v and the line where v x = 0.

    Point (x, y) is [1, x, y] in homogeneous coordinates, the one at infinity of slope m [0, 1, m], the last [0, 0, 1].
    """
    points = _projective_points(field, 3)
    matrices = [np.roll(np.eye(3, dtype=np.int32), 1, axis=0)]
    matrices += [elementary(3, (0, 1, value)) for value in basis(field)]
    on_line = points[lines[:, :2]]  # two points; their cross product vanishes on both
    a, b = on_line[:, 0], on_line[:, 1]
    pole = np.stack([_minor(field, a, b, 1, 2), _minor(field, a, b, 2, 0), _minor(field, a, b, 0, 1)], axis=1)
    poles = numbers(field, points, pole)
    polarity = np.append(len(points) + np.argsort(poles), poles)
    return [*collineations(lines, (turned(field, points, matrix) for matrix in matrices)), polarity]


def _minor(field: Field, a: Ids, b: Ids, i: int, j: int) -> Ids:
    """Return a_i b_j - a_j b_i."""
    found: Ids = field.add[field.mul[a[:, i], b[:, j]], field.neg[field.mul[a[:, j], b[:, i]]]]
    return found


def _sloped_lines(field: Field) -> Ids:
    """Return the points (x, y) = q x + y of the lines y = m x + b, a row for each line q m + b."""
    x = np.arange(field.order)
    y = field.add[field.mul[:, None, :], x[None, :, None]]
    lines: Ids = (field.order * x + y).reshape(-1, field.order)
    return lines


def projective_plane_size(dimension: int, order: int) -> tuple[int, int]:
    """Return (N, d) of the incidence graph of PG(2,q)."""
    _check_plane("PG", dimension, order)
    return 2 * (order**2 + order + 1), order + 1


def _check_plane(name: str, dimension: int, order: int) -> None:
    if dimension != 2:
        raise RecipeError(f"{name}(2,q): only planes, the first argument must be 2, not {dimension}")
    check_prime_power(f"{name}(2,q)", order)


def affine_plane(dimension: int, order: int) -> Topology:
    """Return the incidence graph of the affine plane AG(2,q) minus a parallel class: N = 2 q^2, d = q, D = 4.

    Points (x, y), and the lines y = m x + b: all but the vertical ones.

    >>> affine_plane(2, 4).num_nodes
    32
    """
    buildable(affine_plane_size(dimension, order))
    field = finite_field(order)
    return knowing(_incidence(order**2, _sloped_lines(field)), lambda: _affinities(field))


def _affinities(field: Field) -> Iterator[Ints]:
    """Yield translations and shears of the plane, and what exchanges points and lines.

    Point (x, y) and line (m, b) meet if y = m x + b; so do the line (-x, y) and the point (m, b).
    """
    q = field.order
    x, y = np.divmod(np.arange(q * q), q)  # of points, and m, b of lines

    def both(point: tuple[Ids, Ids], line: tuple[Ids, Ids]) -> Ints:
        return np.append(q * point[0].astype(np.int64) + point[1], q * (q + line[0].astype(np.int64)) + line[1])

    for s in basis(field):
        yield both((x, field.add[y, s]), (x, field.add[y, s]))
        yield both((field.add[x, s], y), (x, field.add[y, field.neg[field.mul[x, s]]]))
        yield both((x, field.add[y, field.mul[x, s]]), (field.add[x, s], y))
    yield np.append(q * (q + field.neg[x].astype(np.int64)) + y, q * x + y)


def affine_plane_size(dimension: int, order: int) -> tuple[int, int]:
    """Return (N, d) of the incidence graph of AG(2,q) minus a parallel class."""
    _check_plane("AG", dimension, order)
    return 2 * order**2, order


def generalized_quadrangle(order: int, other: int) -> Topology:
    """Return the incidence graph of the quadrangle W(q): N = 2 (q + 1) (q^2 + 1), d = q + 1, D = 4.

    Points are those of PG(3,q); lines those on which x0 y1 - x1 y0 + x2 y3 - x3 y2 = 0 for any two points. It
    is a generalized quadrangle of order (q,q), the symplectic one, isomorphic to its dual for even q only.

    >>> generalized_quadrangle(2, 2).num_nodes  # Tutte's 8-cage
    30
    """
    buildable(generalized_quadrangle_size(order, other))
    field = finite_field(order)
    points = _projective_points(field, 4)
    forms = np.stack([field.neg[points[:, 1]], points[:, 0], field.neg[points[:, 3]], points[:, 2]], axis=1)
    lines = _lines_in_planes(field, points, forms[:, None, :])
    return knowing(_incidence(len(points), lines), lambda: _transvections(field, points, lines))


def _transvections(field: Field, points: Ids, lines: Ids) -> list[Ints]:
    """Return x -> x + s (x, v) v for some v, where (x, v) is the symplectic form: they take lines to lines."""
    images = []
    for v in ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 1, 0)):
        minus = field.neg[np.array(v)]
        form = np.array([v[1], minus[0], v[3], minus[2]])  # x0 v1 - x1 v0 + x2 v3 - x3 v2
        for s in basis(field):
            matrix = field.add[np.eye(4, dtype=np.int32), field.mul[s, field.mul[form[:, None], np.array(v)[None, :]]]]
            images.append(turned(field, points, matrix))
    return collineations(lines, images)


def generalized_quadrangle_size(order: int, other: int) -> tuple[int, int]:
    """Return (N, d) of the incidence graph of W(q)."""
    check_equal("GQ(q,q)", "the two orders", order, other)
    check_prime_power("GQ(q,q)", order)
    return 2 * (order + 1) * (order**2 + 1), order + 1


HEXAGON_FORMS = (
    ((1, 2), (3, 4)),
    ((5, 4), (3, 2)),
    ((2, 0), (3, 5)),
    ((6, 5), (3, 0)),
    ((0, 1), (3, 6)),
    ((4, 6), (3, 1)),
)
"""Tits' equations of the lines of H(q): p_ij = p_kl for each pair, where p_ij = x_i y_j - x_j y_i."""


def generalized_hexagon(order: int, other: int) -> Topology:
    """Return the incidence graph of the hexagon H(q): N = 2 (q + 1) (q^4 + q^2 + 1), d = q + 1, D = 6.

    Points are those of the quadric x0 x4 + x1 x5 + x2 x6 = x3^2 in PG(6,q); lines are those of the quadric
    whose Grassmann coordinates satisfy ``HEXAGON_FORMS``. It is a generalized hexagon of order (q,q), the
    split Cayley hexagon, isomorphic to its dual only if q is a power of 3.

    >>> generalized_hexagon(2, 2).num_nodes  # Tutte's 12-cage
    126
    """
    buildable(generalized_hexagon_size(order, other))
    field = finite_field(order)
    points = _quadric_points(field)
    # Lines of the quadric through x lie where its polar form with x vanishes; row 6 is that form.
    forms = np.zeros((len(points), 7, 7), np.int32)
    forms[:, 6] = points[:, [4, 5, 6, 3, 0, 1, 2]]
    forms[:, 6, 3] = field.neg[field.add[points[:, 3], points[:, 3]]]
    for row, ((i, j), (k, m)) in enumerate(HEXAGON_FORMS):
        # p_ij - p_km as a linear form in y; an index may occur twice
        for column, value in ((j, i), (i, ~j), (m, ~k), (k, m)):
            entry = points[:, value] if value >= 0 else field.neg[points[:, ~value]]
            forms[:, row, column] = field.add[forms[:, row, column], entry]
    lines = _lines_in_planes(field, points, forms)
    return knowing(_incidence(len(points), lines), lambda: _hexagon_collineations(field, points, lines))


def _hexagon_collineations(field: Field, points: Ids, lines: Ids) -> list[Ints]:
    """Return matrices of the group of the hexagon, G2(q), that generate enough of it to make all points alike.

    A matrix of determinant 1 acts on (x0, x1, x2), and its inverse transpose on (x4, x5, x6). Adding s x0 to x3 goes
    with what keeps x0 x4 + x1 x5 + x2 x6 - x3^2 and the equations of lines.
    """
    turn = np.eye(7, dtype=np.int32)[[1, 2, 0, 3, 5, 6, 4]]
    matrices = [turn]
    for s in basis(field):
        minus, twice, square = int(field.neg[s]), int(field.add[s, s]), int(field.mul[s, s])
        matrices.append(elementary(7, (1, 0, s), (4, 5, minus)))
        matrices.append(elementary(7, (0, 3, s), (3, 4, twice), (0, 4, square), (6, 1, s), (5, 2, minus)))
    return collineations(lines, (turned(field, points, matrix) for matrix in matrices))


def generalized_hexagon_size(order: int, other: int) -> tuple[int, int]:
    """Return (N, d) of the incidence graph of H(q)."""
    check_equal("GH(q,q)", "the two orders", order, other)
    check_prime_power("GH(q,q)", order)
    return 2 * (order + 1) * (order**4 + order**2 + 1), order + 1


def _vectors(order: int, length: int) -> Ids:
    """Return all vectors of GF(q)^length, a row each."""
    places = order ** np.arange(length)[::-1]
    return (np.arange(order**length)[:, None] // places % order).astype(np.int32)


def _projective_points(field: Field, length: int) -> Ids:
    """Return the points of PG(length - 1, q): vectors whose first coordinate that is not 0 is 1."""
    blocks = []
    for lead in range(length):
        block = np.zeros((field.order ** (length - 1 - lead), length), np.int32)
        block[:, lead] = 1
        block[:, lead + 1 :] = _vectors(field.order, length - 1 - lead)
        blocks.append(block)
    return np.concatenate(blocks)


def _quadric_points(field: Field) -> Ids:
    """Return the points of x0 x4 + x1 x5 + x2 x6 = x3^2; if x_i = 1 leads, i < 3, it gives x_(i+4)."""
    blocks = []
    for lead in range(3):
        free = [i for i in range(lead + 1, 7) if i != lead + 4]
        x = np.zeros((field.order ** len(free), 7), np.int32)
        x[:, lead] = 1
        x[:, free] = _vectors(field.order, len(free))
        rest = field.mul[x[:, 3], x[:, 3]]
        for i in range(3):
            rest = field.add[rest, field.neg[field.mul[x[:, i], x[:, i + 4]]]]
        x[:, lead + 4] = rest
        blocks.append(x)
    at_end = _projective_points(field, 3)
    return np.concatenate([*blocks, np.pad(at_end, ((0, 0), (4, 0)))])


def _kernels(field: Field, forms: Ids) -> tuple[Ids, Ids]:
    """Return a basis of the vectors on which all forms vanish, for each stack of forms, all of the same rank.

    ``forms[b, i]`` is the i-th form of stack b. Also return the free columns: basis vector i has 1 in its
    own, 0 in the others'. Gauss-Jordan elimination, all stacks at once.
    """
    rows = forms.copy()
    num_stacks, num_forms, length = rows.shape
    rank = np.zeros(num_stacks, np.int64)
    is_free = np.ones((num_stacks, length), bool)
    for column in range(length):
        usable = (rows[:, :, column] != 0) & (np.arange(num_forms) >= rank[:, None])
        b = np.flatnonzero(usable.any(axis=1))
        found, at = usable[b].argmax(axis=1), rank[b]
        pivot = rows[b, found]
        pivot = field.mul[field.inv[pivot[:, column]][:, None], pivot]
        rows[b, found] = rows[b, at]
        factor = field.neg[rows[b, :, column]]
        rows[b] = field.add[rows[b], field.mul[factor[:, :, None], pivot[:, None, :]]]
        rows[b, at] = pivot
        is_free[b, column] = False
        rank[b] += 1
    assert (rank == rank[0]).all()
    order = np.argsort(is_free, axis=1, kind="stable")
    bound, free = order[:, : rank[0]], order[:, rank[0] :]
    stack = np.arange(num_stacks)[:, None]
    basis = np.zeros((num_stacks, free.shape[1], length), np.int32)
    for i in range(free.shape[1]):
        basis[stack[:, 0], i, free[:, i]] = 1
        basis[stack, i, bound] = field.neg[rows[stack, np.arange(rank[0]), free[:, i : i + 1]]]
    return basis, free.astype(np.int32)


def _lines_in_planes(field: Field, points: Ids, forms: Ids) -> Ids:
    """Return each line once, as q + 1 points: those through x fill the plane where the forms of x vanish."""
    q, length = field.order, points.shape[1]
    places = q ** np.arange(length, dtype=np.int64)
    codes = points @ places
    by_code = np.argsort(codes)
    lines = []
    for start in range(0, len(points), 4096):
        block = slice(start, start + 4096)
        x = points[block]
        basis, free = _kernels(field, forms[block])
        each = np.arange(len(x))
        # Two basis vectors u, v that span the plane with x: leave out one in which x has a part.
        out = (np.take_along_axis(x, free, axis=1) != 0).argmax(axis=1)
        u, v = basis[each, (out + 1) % 3], basis[each, (out + 2) % 3]
        sums = field.add[u[:, None, :], field.mul[np.arange(q)[:, None], v[:, None, :]]]
        directions = np.concatenate([v[:, None, :], sums], axis=1)
        others = field.add[directions[:, :, None, :], field.mul[np.arange(q)[:, None], x[:, None, None, :]]]
        lead = np.take_along_axis(others, (others != 0).argmax(axis=3)[..., None], axis=3)
        found = by_code[np.searchsorted(codes, field.mul[field.inv[lead], others] @ places, sorter=by_code)]
        ids = np.broadcast_to((start + each)[:, None, None], (*found.shape[:2], 1))
        rows = np.concatenate([ids, found], axis=2)
        lines.append(rows[(ids < found).all(axis=2)])  # seen from its least point
    return np.concatenate(lines).astype(np.int32)


def _members(size: Callable[[int], int], args: Callable[[int], Args]) -> Callable[[int, int], Iterator[Args]]:
    """Return the members of a family of degree q + 1 whose member of order q has size(q) nodes."""

    def members(num_nodes: int, degree: int) -> Iterator[Args]:
        q = degree - 1
        if 2 <= q <= MAX_ORDER and size(q) == num_nodes and prime_power(q):
            yield args(q)

    return members


def _affine_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if 2 <= degree <= MAX_ORDER and num_nodes == 2 * degree**2 and prime_power(degree):
        yield (2, degree)


def _is_power_of(base: int) -> Callable[[int, int], bool]:
    return lambda q, _: (prime_power(q) or (0, 0))[0] == base


FAMILIES = (
    Family(
        name="PG",
        title="incidence graph of a projective plane",
        params=("int", "int"),
        notation="PG(2,q)",
        coverage="N = 2 (q^2 + q + 1), d = q + 1, q a prime power",
        build=projective_plane,
        size=projective_plane_size,
        members=_members(lambda q: 2 * (q**2 + q + 1), lambda q: (2, q)),
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *order: 3,
    ),
    Family(
        name="AG",
        title="incidence graph of an affine plane minus a parallel class",
        params=("int", "int"),
        notation="AG(2,q)",
        coverage="N = 2 q^2, d = q, q a prime power",
        build=affine_plane,
        size=affine_plane_size,
        members=_affine_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *order: 4,
    ),
    Family(
        name="GQ",
        title="incidence graph of a generalized quadrangle",
        params=("int", "int"),
        notation="GQ(q,q)",
        coverage="N = 2 (q + 1) (q^2 + 1), d = q + 1, q a prime power",
        build=generalized_quadrangle,
        size=generalized_quadrangle_size,
        members=_members(lambda q: 2 * (q + 1) * (q**2 + 1), lambda q: (q, q)),
        vertex_transitive=_is_power_of(2),
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *order: 4,
    ),
    Family(
        name="GH",
        title="incidence graph of a generalized hexagon",
        params=("int", "int"),
        notation="GH(q,q)",
        coverage="N = 2 (q + 1) (q^4 + q^2 + 1), d = q + 1, q a prime power",
        build=generalized_hexagon,
        size=generalized_hexagon_size,
        members=_members(lambda q: 2 * (q + 1) * (q**4 + q**2 + 1), lambda q: (q, q)),
        vertex_transitive=_is_power_of(3),
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *order: 6,
    ),
)

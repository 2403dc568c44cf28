"""Annealing of lifts over Z_p : Z_q, directed and with duplex links, towards short distances.

Node (i, a, b) is element (a, b) of orbit i, of k orbits, and (a, b)(c, e) = (a + r^b c mod p, b + e mod q);
``powers[b]`` is r^b mod p, and element (a, b) has number a q + b. With q = 1 the group is cyclic, with p = q = 1 a lift
is any regular digraph. Link c of orbit i, *port* i d + c, leads from (i, g) to (to[port], g by[port]).

All distances follow from those to the first nodes of the orbits, and one search backwards from the k of them at once
gives these: a node has k bits, bit i saying that it reaches the first node of orbit i. Bits are stored in w = ceil(k/8)
bytes a node. The p nodes (i, 0..p-1, b) are a *row*: what a port leads to, from a whole row, is another row turned by
r^b c. A row is therefore stored twice in a row, so that every turn of it is a run of p w bytes, and a step of the
search is an OR of runs, eight bytes at a time. Runs need not end at a multiple of eight: what is written beyond the end
of one is overwritten by the next, and masked where bits are counted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels import Kernel, njit

Bytes = NDArray[np.uint8]

_FAR = 1 << 60
"""The energy of a digraph that is not connected."""


@njit(cache=True, nogil=True)
def _next(state):
    """Return 64 random bits: xorshift, so that a seed gives the same run everywhere."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x


@njit(cache=True, nogil=True)
def _draw(state, below):
    """Return a random number in [0, below), which is at most 2^32."""
    return np.int64(((_next(state) >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def _slack(state, heat):
    """Return by how much the energy may rise: exponentially distributed with mean ``heat`` (Metropolis' rule)."""
    return np.int64(-heat * np.log((np.float64(_next(state) >> np.uint64(11)) + 1.0) / 9007199254740992.0))


@njit(cache=True, nogil=True)
def _inverse(g, p, powers):
    """Return the number of the inverse of (a, b): (-r^(-b) a, -b)."""
    q = powers.size
    back = (q - g % q) % q
    return (p - powers[back] * (g // q) % p) % p * q + back


@njit(cache=True, nogil=True)
def _aim(aims, port, to, by, p, powers, degree):
    """Note where the runs start that a port leads to, and from which node it leads to the first node of an orbit.

    An odd last link counts twice.
    """
    source, near = aims
    q, width = powers.size, (to.size // degree + 7) // 8
    i, c = port // degree, port % degree
    a, e = by[port] // q, by[port] % q
    run = p * width
    for b in range(q):
        there = b + e
        if there >= q:
            there -= q
        source[i * q + b, c] = (to[port] * q + there) * 2 * run + powers[b] * a % p * width
        if c == degree - 1:
            source[i * q + b, source.shape[1] - 1] = source[i * q + b, c]
    back = _inverse(by[port], p, powers)
    near[port] = (i * q + back % q) * 2 * run + back // q * width


class _InVectors(Kernel):
    """A function of which a compiler, left to itself, would not make the vector instructions that it needs."""

    def make(self) -> Callable[..., Any]:
        """Tell numba what to make of calls of the function; it stays as it is where numba compiles nothing."""
        if self._compiled is None:
            from numba.extending import intrinsic, overload

            code = intrinsic(_vector_merge)

            def merge(before, after, source, row, at, run, keep, which, ones):
                def call(before, after, source, row, at, run, keep, which, ones):
                    code(before, after, source, row, at, run, keep, which, ones)

                return call

            overload(self.py_func, inline="always")(merge)
            self._compiled = self.py_func
        return self._compiled


@partial(_InVectors, options={})
def _merge(before, after, source, row, at, run, keep, which, ones):
    """Write 32 bytes of a run and of its copy: the OR of what a row and those it leads to have.

    ``at`` is the place in the run; row ``which`` of ``keep`` says which of the 32 bytes belong to it. How many bits are
    set is added to the numbers in ``ones``.
    """
    start = row * 2 * run + at
    found = before[start : start + 32] & keep[which]
    for place in source[row]:
        found |= before[place + at : place + at + 32] & keep[which]
    after[start : start + 32] = found
    after[start + run : start + run + 32] = found
    ones[0] += np.unpackbits(found).sum()


def _vector_merge(typing_context, before, after, source, row, at, run, keep, which, ones):
    """Return the signature of ``_merge`` and what makes its vector instructions."""
    from llvmlite import ir  # type: ignore[import-untyped,unused-ignore]
    from numba import types
    from numba.core import cgutils

    word = ir.IntType(64)
    vector = ir.VectorType(word, 4)
    names = ("before", "after", "source", "row", "at", "run", "keep", "which", "ones")

    def generate(context, builder, signature, args):
        given = dict(zip(names, zip(signature.args, args, strict=True), strict=True))

        def number(name):
            return given[name][1]

        def array(name):
            kind, value = given[name]
            return context.make_array(kind)(context, builder, value)

        def pointer(name, place):
            """Return where a vector lies in an array of bytes or words; nothing is said of its alignment."""
            return builder.bitcast(builder.gep(array(name).data, [place]), vector.as_pointer())

        def load(name, place):
            found = builder.load(pointer(name, place))
            found.align = 1
            return found

        def store(value, name, place):
            builder.store(value, pointer(name, place)).align = 1

        zero, one, two = (ir.Constant(word, i) for i in range(3))
        at, run, row = number("at"), number("run"), number("row")
        links = builder.extract_value(array("source").shape, 1)
        first = builder.gep(array("source").data, [builder.mul(row, links)])
        start = builder.add(builder.mul(row, builder.add(run, run)), at)
        total = cgutils.alloca_once_value(builder, load("before", start))
        with cgutils.for_range_slice(builder, zero, links, two, word) as (link, _):
            merged = builder.load(total)
            for turn in (zero, one):
                place = builder.load(builder.gep(first, [builder.add(link, turn)]))
                merged = builder.or_(merged, load("before", builder.add(place, at)))
            builder.store(merged, total)
        found = builder.and_(builder.load(total), load("keep", builder.mul(number("which"), ir.Constant(word, 32))))
        store(found, "after", start)
        store(found, "after", builder.add(start, run))
        kind = ir.FunctionType(vector, [vector])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.v4i64")
        store(builder.add(load("ones", zero), builder.call(count, [found])), "ones", zero)
        return context.get_dummy_value()

    place = types.int64
    return types.void(before, after, source, place, place, place, keep, place, ones), generate


@njit(cache=True, nogil=True)
def _step(before, after, source, run, keep, ones):
    """Let every node reach what it or a node that it has a link to reached before; return how many bits are set."""
    ones[:] = 0
    last = (run - 1) // 32 * 32
    for row in range(source.shape[0]):
        # Backwards: what the end of a run writes beyond it, into its copy, is written again by the copy's start.
        _merge(before, after, source, row, last, run, keep, 1, ones)
        for at in range(last - 32, -1, -32):
            _merge(before, after, source, row, at, run, keep, 0, ones)
    return ones[0] + ones[1] + ones[2] + ones[3]


def _bits(k: int, p: int, q: int) -> tuple[Bytes, Bytes, Bytes, NDArray[np.int64]]:
    """Return what a search needs: the bits of all nodes before and after a step, masks, and counts.

    The masks say which bytes of 32 belong to a run, in its middle and in its last part.
    """
    run = (k + 7) // 8 * p
    keep = np.full((2, 32), 255, np.uint8)
    keep[1, (run - 1) % 32 + 1 :] = 0
    size = 2 * k * q * run + 64
    return np.zeros(size, np.uint8), np.zeros(size, np.uint8), keep, np.zeros(4, np.int64)


@njit(cache=True, nogil=True)
def _aims(to, by, p, powers, degree):
    """Return (source, near), places in the bits, for all ports.

    ``source[row, c]`` is where the run starts that link c leads to, an even number of them for ``_merge``, and
    ``near[port]`` the node of its orbit from which a port leads to a first node.
    """
    rows = to.size // degree * powers.size
    found = np.empty((rows, degree + degree % 2), np.int64), np.empty(to.size, np.int64)
    for port in range(to.size):
        _aim(found, port, to, by, p, powers, degree)
    return found


@njit(cache=True, nogil=True)
def _start(bits, near, to, k, q, run):
    """Let the first node of each orbit reach itself, and nodes with a link to it reach it; return how many do."""
    bits[:] = 0
    for i in range(k):
        at = i * q * 2 * run + (i >> 3)
        bits[at] = bits[at + run] = np.uint8(1 << (i & 7))
    count = 0
    for port in range(to.size):
        at, bit = near[port] + (to[port] >> 3), np.uint8(1 << (to[port] & 7))
        if not bits[at] & bit:
            count += 1
            bits[at] |= bit
            bits[at + run] |= bit
    return count


@njit(cache=True, nogil=True)
def _levels(to, by, p, powers, degree, bits, missing):
    """Fill in ``missing[t]``, the pairs farther apart than t, until none is; return the diameter, -1 if there is none.

    Pairs are those of a node and the first node of an orbit, of at least two nodes in all; ``missing`` has N entries.
    """
    k, m = to.size // degree, p * powers.size
    run = (k + 7) // 8 * p
    source, near = _aims(to, by, p, powers, degree)
    before, after, keep, ones = bits
    missing[0], t = k * k * m - k, 1
    missing[1] = missing[0] - _start(before, near, to, k, powers.size, run)
    while missing[t]:
        if missing[t] == missing[t - 1]:
            return -1
        missing[t + 1] = k * k * m - _step(before, after, source, run, keep, ones)
        before, after, t = after, before, t + 1
    return t


@njit(cache=True, nogil=True)
def _energy(aims, to, k, p, growth, target, heavy, limit, bits):
    """Return the sum over t of the pairs farther apart than t, ``heavy`` times those from t = ``target`` on.

    Stops, and returns more than the limit, as soon as it is certain to be above it: nodes at distance t + 1 are at most
    ``growth`` times as many as those at distance t.
    """
    (source, near), (before, after, keep, ones) = aims, bits
    rows, run = source.shape[0], (k + 7) // 8 * p
    pairs = k * rows * p
    total = pairs - k
    missing, t = total - _start(before, near, to, k, rows // k, run), 1
    while missing:
        total += missing if t < target else heavy * missing
        t += 1
        left = pairs - _step(before, after, source, run, keep, ones)
        new = missing - left
        if new == 0:
            return _FAR
        before, after, missing = after, before, left
        ahead = max(0, left - growth * new)
        if total + (left if t < target else heavy * left) + (ahead if t + 1 < target else heavy * ahead) > limit:
            return limit + 1
    return total


@njit(cache=True, nogil=True)
def _copy(array, target):
    """Copy numbers; an assignment to a slice would take seconds to compile, for its error messages."""
    for i in range(array.size):
        target[i] = array[i]


@njit(cache=True, nogil=True)
def _anneal(to, by, p, powers, degree, target, heavy, tries, hot, cold, state, bits):
    """Anneal a digraph; leave the best one in ``to`` and ``by``, and return its energy.

    A move gives a link another shift, or lets two links exchange their orbits, both with new shifts.
    """
    ports, m, far = to.size, p * powers.size, np.int64(_FAR)
    k = ports // degree
    aims = _aims(to, by, p, powers, degree)
    energy = _energy(aims, to, k, p, degree, target, heavy, far, bits)
    best, best_to, best_by = energy, to.copy(), by.copy()
    heat, factor = hot, (cold / hot) ** (1 / tries)
    for _ in range(tries):
        heat *= factor
        x = _draw(state, ports)
        y = _draw(state, ports) if m == 1 or _next(state) & np.uint64(1 << 40) else x
        old = to[x], by[x], to[y], by[y]
        if m == 1 and (old[0] == old[2] or x // degree == old[2] or y // degree == old[0]):
            continue
        to[x], to[y] = old[2], old[0]
        by[x] = _draw(state, m)
        if x != y:
            by[y] = _draw(state, m)
        if (to[x] == x // degree and by[x] == 0) or (to[y] == y // degree and by[y] == 0):  # a self-loop
            to[x], by[x], to[y], by[y] = old
            continue
        _aim(aims, x, to, by, p, powers, degree)
        _aim(aims, y, to, by, p, powers, degree)
        limit = energy + _slack(state, heat)
        new = _energy(aims, to, k, p, degree, target, heavy, limit, bits)
        if new <= limit:
            energy = new
            if energy < best:
                best = energy
                _copy(to, best_to)
                _copy(by, best_by)
        else:
            to[x], by[x], to[y], by[y] = old
            _aim(aims, x, to, by, p, powers, degree)
            _aim(aims, y, to, by, p, powers, degree)
    _copy(best_to, to)
    _copy(best_by, by)
    return best


@njit(cache=True, nogil=True)
def _join(x, y, shift, to, by, mate, degree, p, powers):
    """Let two ports be the two ends of an edge."""
    mate[x], mate[y] = y, x
    to[x], to[y] = y // degree, x // degree
    by[x], by[y] = shift, _inverse(shift, p, powers)


@njit(cache=True, nogil=True)
def _halve(x, involutions, to, by, mate, degree, state):
    """Let a port be both ends of its edge: the shift is an involution."""
    mate[x], to[x], by[x] = x, x // degree, involutions[_draw(state, involutions.size)]


@njit(cache=True, nogil=True)
def _fits(x, y, shift, degree, p, powers):
    """Whether an edge with this shift may join two ports: within an orbit, self-inverse ones make parallel links."""
    return x // degree != y // degree or _inverse(shift, p, powers) != shift


@njit(cache=True, nogil=True)
def _note(ports, to, by, mate, changed, old):
    """Note what ports are before a move changes them."""
    for c, port in enumerate(ports):
        changed[c] = port
        old[c, 0], old[c, 1], old[c, 2] = to[port], by[port], mate[port]


@njit(cache=True, nogil=True)
def _move(to, by, mate, degree, p, powers, involutions, state, changed, old):
    """Change an edge or two at random; return how many ports may have changed, 0 if the move does not work out."""
    ports, m = mate.size, p * powers.size
    x, z = _draw(state, ports), _draw(state, ports)
    y, w = mate[x], mate[z]
    first, second = _draw(state, m), _draw(state, m)
    if m > 1 and x != y and _draw(state, ports * 20) < ports * 7:  # 35 in 100
        if not _fits(x, y, first, degree, p, powers):
            return 0
        _note((x, y, x, y), to, by, mate, changed, old)
        _join(x, y, first, to, by, mate, degree, p, powers)
        return 2
    if z in (x, y):
        if x == y or involutions.size == 0:
            return 0
        _note((x, y, x, y), to, by, mate, changed, old)
        _halve(x, involutions, to, by, mate, degree, state)
        _halve(y, involutions, to, by, mate, degree, state)
        return 2
    if z == w:  # a half edge, if there is one, comes first
        x, y, z, w = z, w, x, y
    if not _fits(x, z, first, degree, p, powers) or (x != y and not _fits(y, w, second, degree, p, powers)):
        return 0
    _note((x, z, y, w), to, by, mate, changed, old)
    _join(x, z, first, to, by, mate, degree, p, powers)
    if x != y:
        _join(y, w, second, to, by, mate, degree, p, powers)
    elif z != w:
        _halve(w, involutions, to, by, mate, degree, state)
    return 4


@njit(cache=True, nogil=True)
def _anneal_pairs(to, by, mate, p, powers, involutions, degree, target, heavy, tries, hot, cold, state, bits):
    """Anneal a graph of duplex links; leave the best one in ``to``, ``by`` and ``mate``, and return its energy.

    Port x and port ``mate[x]`` are the two ends of an edge; a port that is its own mate is a *half edge*, with an
    involution as its shift. A move gives an edge another shift, lets two edges exchange ends, or splits or joins half
    edges.
    """
    k, growth, far = to.size // degree, max(1, degree - 1), np.int64(_FAR)
    aims = _aims(to, by, p, powers, degree)
    changed, old = np.empty(4, np.int64), np.empty((4, 3), np.int64)
    energy = _energy(aims, to, k, p, growth, target, heavy, far, bits)
    best, best_to, best_by, best_mate = energy, to.copy(), by.copy(), mate.copy()
    heat, factor = hot, (cold / hot) ** (1 / tries)
    for _ in range(tries):
        heat *= factor
        count = _move(to, by, mate, degree, p, powers, involutions, state, changed, old)
        if count == 0:
            continue
        for c in range(count):
            _aim(aims, changed[c], to, by, p, powers, degree)
        limit = energy + _slack(state, heat)
        new = _energy(aims, to, k, p, growth, target, heavy, limit, bits)
        if new <= limit:
            energy = new
            if energy < best:
                best = energy
                _copy(to, best_to)
                _copy(by, best_by)
                _copy(mate, best_mate)
            continue
        for c in range(count):
            to[changed[c]], by[changed[c]], mate[changed[c]] = old[c, 0], old[c, 1], old[c, 2]
            _aim(aims, changed[c], to, by, p, powers, degree)
    _copy(best_to, to)
    _copy(best_by, by)
    _copy(best_mate, mate)
    return best

"""The columns of a topology, of links and of nodes: each checked against its rule and frozen, or refused in one line.

Not here: the topology that they make (``linkstep.core.topology``). The rules are in docs/concepts/data-model.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep.core.errors import TopologyError
from linkstep.core.text import shown

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]

MAX_NODES = 2**31 - 1
LAST_STEP = 2**15 - 1
"""The last step there can be (a schedule's steps are int16): a link that never closes is there until then."""
LINK_COLUMNS = ("bandwidth", "alpha", "opens", "closes")
"""What links may have besides their ends; links between the same two nodes sort by the last of these first."""
_RANGES = {
    "bandwidth": (1, 2**63 - 1),
    "alpha": (0, 2**63 - 1),
    "opens": (1, LAST_STEP),
    "closes": (1, LAST_STEP),
}
_SAYS_NOTHING = {"opens": 1, "closes": LAST_STEP}


def frozen(values: ArrayLike, dtype: type, what: str) -> NDArray[Any]:
    """Return values as a read-only one-dimensional column of dtype, refusing any that do not fit exactly."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TopologyError(f"{what} must hold integers, not masked values: compress it first")
    try:
        raw = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TopologyError(f"{what} must be a list of integers: {error}") from None
    if raw.ndim != 1:
        raise TopologyError(f"{what} must be one-dimensional, not of shape {raw.shape}")
    if raw.size and raw.dtype.kind not in "iu":
        raise TopologyError(f"{what} must hold integers, not {raw.dtype}")
    info = np.iinfo(dtype)
    if raw.size and (int(raw.min()) < info.min or int(raw.max()) > info.max):
        raise TopologyError(f"{what} must lie in [{info.min}, {info.max}], not {raw.min()}..{raw.max()}")
    column: NDArray[Any] = np.array(raw, dtype=dtype)
    column.flags.writeable = False
    return column


def checked_labels(labels: Sequence[str], num_nodes: int) -> tuple[str, ...]:
    """Return names of hosts as a tuple: one for each node, all different, none empty or with line breaks."""
    try:
        names = tuple(labels)
    except TypeError:
        raise TopologyError(f"labels must be a list of names, not {shown(labels)}") from None
    if len(names) != num_nodes:
        raise TopologyError(f"labels must name all {num_nodes} hosts, not {len(names)}")
    seen: set[str] = set()
    for node, label in enumerate(names):
        if not isinstance(label, str) or not label or not label.isprintable() or label != label.strip():
            raise TopologyError(f"the label of node {node} must be one line of printable text, not {shown(label)}")
        if label in seen:
            raise TopologyError(f"two hosts are called {label!r:.60}: labels must be different")
        seen.add(label)
    return names


def checked_places(places: Sequence[str] | None, num_nodes: int, what: str) -> tuple[str, ...] | None:
    """Return the host, or the rack, of each node as a tuple; nodes may share one. None stays None."""
    if places is None:
        return None
    try:
        names = tuple(places)
    except TypeError:
        raise TopologyError(f"{what} must be a list of names, not {shown(places)}") from None
    if isinstance(places, str) or not all(isinstance(name, str) for name in names):
        raise TopologyError(f"{what} must be a list of names, not {shown(places)}")
    if len(names) != num_nodes:
        raise TopologyError(f"{what} must have one name for each of the {num_nodes} nodes, not {len(names)}")
    for node, name in enumerate(names):
        if not name or not name.isprintable() or name != name.strip():
            one = what.removesuffix("s")
            raise TopologyError(f"the {one} of node {node} must be one line of printable text, not {shown(name)}")
    return names


def checked_columns(given: Mapping[str, ArrayLike | None], num_links: int) -> dict[str, Ints]:
    """Return the columns of links that say anything: one value a link, each in its range."""
    columns: dict[str, Ints] = {}
    for what, values in given.items():
        if values is None:
            continue
        column = frozen(values, np.int64, what)
        if column.size != num_links:
            raise TopologyError(f"{what} must have one value a link ({num_links}), not {column.size}")
        least, most = _RANGES[what]
        if column.size and column.min() < least:
            raise TopologyError(f"link {column.argmin()}: {what} must be at least {least}, not {column.min()}")
        if column.size and column.max() > most:
            raise TopologyError(f"link {column.argmax()}: {what} must be at most {most}, not {column.max()}")
        if what not in _SAYS_NOTHING or (column != _SAYS_NOTHING[what]).any():
            columns[what] = column
    if "opens" in columns and "closes" in columns and (columns["opens"] > columns["closes"]).any():
        e = int((columns["opens"] > columns["closes"]).argmax())
        opens, closes = columns["opens"][e], columns["closes"][e]
        raise TopologyError(f"link {e}: closes must be at least opens, not {closes} where it opens at step {opens}")
    return columns


def pointers(sorted_ids: Ids, num_nodes: int) -> Ints:
    """Return where the entries of each node begin in a column sorted by node, and where the last ends."""
    ptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(sorted_ids, minlength=num_nodes), out=ptr[1:])
    ptr.flags.writeable = False
    return ptr


def link_keys(tail: Ids, head: Ids, num_nodes: int) -> Ints:
    """Return a number for each link; they are in order of (tail, head)."""
    return tail.astype(np.int64) * num_nodes + head

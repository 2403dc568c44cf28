"""The tables and figures of the paper, made again: one ``Exhibit`` for each label, and what is done with it.

``EXHIBITS`` is the table; ``output.make`` computes exhibits and writes them, ``report.write_page`` makes a page of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.util import find_spec

from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.reproduction import (
    fits,
    frontiers,
    generation,
    illustrations,
    servers,
    sizes,
    today,
    topologies,
    tori,
    training,
)
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult

__all__ = ["EXHIBITS", "Exhibit", "ExhibitResult", "check_needs", "exhibit_labelled"]

EXHIBITS: tuple[Exhibit, ...] = (
    *topologies.EXHIBITS,
    *frontiers.EXHIBITS,
    *sizes.EXHIBITS,
    *today.EXHIBITS,
    *tori.EXHIBITS,
    *generation.EXHIBITS,
    *servers.EXHIBITS,
    *fits.EXHIBITS,
    *training.EXHIBITS,
    *illustrations.EXHIBITS,
)
"""In the order of the page of results."""

_BY_NAME = {name: exhibit for exhibit in EXHIBITS for name in (exhibit.label, exhibit.name)}


def exhibit_labelled(label: str) -> Exhibit:
    """Return the exhibit with a label, or with the name of its files (``fig-latencyfit``).

    >>> exhibit_labelled("tab:exampledistreg").title
    'Distance-regular graphs of degree 4'
    >>> exhibit_labelled("tab:exampledistregs")
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: no exhibit is labelled 'tab:exampledistregs'; did you mean 'tab:exampledistreg'?
    """
    if label in _BY_NAME:
        return _BY_NAME[label]
    labels = [exhibit.label for exhibit in EXHIBITS]
    close = get_close_matches(label, labels, 1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}?" if close else "`linkstep reproduce --list` shows all"
    raise LinkstepError(f"no exhibit is labelled {label!r}; {hint}")


_EXTRAS = {"highspy": "flow", "ortools": "synthesis", "matplotlib": "plot"}
"""The extra that brings a module."""


def check_needs(exhibits: Sequence[Exhibit]) -> None:
    """Raise if an exhibit cannot be computed because a package that it needs is not installed."""
    for exhibit in exhibits:
        for module in exhibit.needs:
            if find_spec(module) is None:
                raise LinkstepError(missing(exhibit.label, module, _EXTRAS.get(module, "all")))

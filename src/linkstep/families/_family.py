"""What a family of topologies is: a row of ``FAMILIES``. A new one needs a file and a row, no ``elif``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from linkstep.core.topology import Topology
from linkstep.costs import Cost

Args = tuple[Any, ...]

Kind = Literal["int", "ints", "set", "group"]
"""An argument is one integer; any number of integers (the only parameter then); a sorted tuple of integers
or of tuples of integers, written in braces; or a group such as ``Z16:Z2[9]``."""


def no_members(num_nodes: int, degree: int) -> Iterator[Args]:
    """List nothing: for families whose members are too many to list (Cayley digraphs of given generators)."""
    return iter(())


def always(*args: Any) -> bool:
    """Whether a property that every member has holds."""
    return True


def never(*args: Any) -> bool:
    """Whether a property that we claim of no member holds."""
    return False


def unknown(*args: Any) -> None:
    """Return nothing: for a figure that no formula or table gives."""
    return


@dataclass(frozen=True)
class Family:
    """A family: how its members are written, how large they are, how they are built, what is known of them.

    ``size``, ``build`` and the properties take the recipe's arguments; ``size`` gives (N, d) without building
    and refuses arguments that name no member, with the rule they break. ``members`` lists the arguments of
    every member with given N and d. A property that holds is a theorem tested in the family's tests; False
    claims nothing. The row is all that the finder knows of a family: where it gives the cost of a member (``diameter``
    of bandwidth-optimal ones, or ``costs``), nothing is built; other members are built and costed while that is quick.
    """

    name: str
    """The word that starts its recipes."""
    title: str
    params: tuple[Kind, ...]
    """What each argument is; see ``Kind``."""
    notation: str
    """How members are written, with letters for arguments."""
    coverage: str
    """Which N and d there are, in words."""
    build: Callable[..., Topology]
    size: Callable[..., tuple[int, int]]
    members: Callable[[int, int], Iterator[Args]] = no_members
    paper: Callable[..., str] | None = None
    """The paper's own notation (LaTeX), where it has one."""
    vertex_transitive: Callable[..., bool] = never
    reverse_symmetric: Callable[..., bool] = never
    bandwidth_optimal: Callable[..., bool] = never
    """Whether the BFB schedule reaches T_B*, by a theorem of the paper."""
    regular: Callable[..., bool] = always
    """Whether every node has d links in and d out; expansions are defined for such members only."""
    bidirectional: Callable[..., bool] = never
    """Whether every link has a partner the other way."""
    simple: Callable[..., bool] = never
    """Whether there are no parallel links and no self-loops."""
    loop_free: Callable[..., bool] = never
    """Whether there are no self-loops."""
    diameter: Callable[..., int | None] = unknown
    costs: Callable[..., tuple[Cost, Cost] | None] = unknown
    """The best BFB allgather and reduce-scatter, where a table has them."""
    is_searched: bool = True
    """Whether the finder tries its members; not where it has the same graphs otherwise, or they are there to compare
    with."""
    subscript: bool = False
    """Whether arguments are written as a subscript, ``K_{4,4}``, rather than in parentheses."""
    aliases: tuple[str, ...] = ()
    """Other words for it, always with parentheses."""

    @property
    def in_paper(self) -> bool:
        """Whether it is a row of table:toposummary, the bases that the paper's finder starts from."""
        return self.paper is not None

    def format(self, *args: Any) -> str:
        """Return the recipe of one member in canonical notation, ``C(16,{3,4})`` or ``K_{4,4}``."""
        if not args:
            return self.name
        body = ",".join(format_argument(arg, kind) for arg, kind in zip(args, self._kinds(len(args)), strict=True))
        if not self.subscript:
            return f"{self.name}({body})"
        return f"{self.name}_{body}" if len(args) == 1 else f"{self.name}_{{{body}}}"

    def _kinds(self, count: int) -> tuple[Kind, ...]:
        each: tuple[Kind, ...] = ("int",)
        return each * count if self.params == ("ints",) else self.params


def format_argument(arg: Any, kind: Kind) -> str:
    """Return one argument as a recipe writes it."""
    if kind == "set":
        return "{" + ",".join(map(_format_element, arg)) + "}"
    return str(arg)


def _format_element(element: int | tuple[int, ...]) -> str:
    return str(element) if isinstance(element, int) else "(" + ",".join(map(str, element)) + ")"

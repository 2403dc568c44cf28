"""Read the notation of recipes; errors point at the character.

    recipe  := product ("+" product)*                 union on the same nodes
    product := term ("x" term)*                       Cartesian product; "□" means "x"
    term    := atom ("^" count | "*" count)*          Cartesian power and degree expansion, left to right
    atom    := "(" recipe ")"
             | ("L" | "Bi" | "T") ["^" count] "(" recipe ")"
             | ("Insert" | "Remove" | "Swap") "(" recipe "," tuples ")"
             | ("Idle" | "Copies") "(" recipe "," integer ")"
             | WORD ["_" subscript] ["(" [argument ("," argument)*] ")"]
             | "Cat" "(" integer "," integer "," integer ")"     a recipe of the catalog: N, d and its number
    argument := integer | "{" [element ("," element)*] "}" | group
    element  := integer | "(" integer ("," integer)* ")"
    tuples   := "{" [element ("," element)*] "}"      in the order written
    group    := "Z" integer ("x" "Z" integer)* | "Z" integer ":" "Z" integer "[" integer "]"

Spaces are free between tokens. ``x`` is always the product sign, so no word starts with it.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NoReturn

from linkstep.core.arguments import check_kind
from linkstep.core.errors import RecipeError
from linkstep.families import FAMILIES, Family, families_called
from linkstep.groups import parse_group
from linkstep.recipe.expanded import Bidirectional, Degree, Line, Power, Product, Transpose
from linkstep.recipe.grafted import GRAFTS, Graft
from linkstep.recipe.member import Member, Recipe
from linkstep.recipe.names import named_recipe
from linkstep.recipe.ports import WORDS, Copies, Idle, Union

_TOKEN = re.compile(r"\s*(?:(Z\d+(?:xZ\d+)*(?::Z\d+\[\d+\])?)|(\d+)|(x|□|[A-WYZa-wyzΠ][A-Za-zΠ]*)|([\^*(){},_+]))")
_END = "end"
_MAX_LENGTH = 100_000
_MAX_DEPTH = 100
_WORDS = {"Π": "Pi"}
_CATALOG = "Cat"
_GRAFTS = {graft.word: graft for graft in GRAFTS}


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []  # (kind, text, position)
        self.depth = 0
        self.at = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                position = end - len(text[position:end].lstrip())
                self.fail(position, f"{text[position]!r} is not part of the notation")
            kind = ("group", "int", "word", "sign")[(match.lastindex or 1) - 1]
            self.tokens.append((kind, match[match.lastindex or 1], match.start(match.lastindex or 1)))
            position = match.end()
        self.tokens.append((_END, "", len(text)))

    def fail(self, position: int, message: str) -> NoReturn:
        shown = self.text
        if len(shown) > 200:
            start, end = max(0, position - 100), position + 20
            shown = ("..." if start else "") + shown[start:end] + ("..." if end < len(shown) else "")
        raise RecipeError(f"recipe {shown!r}, character {position + 1}: {message}")

    @property
    def here(self) -> tuple[str, str, int]:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        kind, text, _ = self.here
        if kind in ("sign", "word") and text in texts:
            self.at += 1
            return text
        return None

    def expect(self, text: str, after: str) -> None:
        if self.take(text) is None:
            self.fail(self.here[2], f"expected {text!r} {after}, found {self.here[1] or 'the end'!r}")

    def integer(self, what: str) -> int:
        kind, text, position = self.here
        if kind != "int" or len(text) > 12:
            self.fail(position, f"expected {what}, a whole number, found {text or 'the end'!r}")
        self.at += 1
        return int(text)

    def recipe(self) -> Recipe:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(self.here[2], f"nested more than {_MAX_DEPTH} deep")
        position = self.here[2]
        parts = [self.product()]
        while self.take("+"):
            parts.append(self.product())
        self.depth -= 1
        joined: Recipe = parts[0] if len(parts) == 1 else self.made(position, Union, tuple(parts))
        return joined

    def product(self) -> Recipe:
        factors = [self.term()]
        while self.take("x", "□"):
            factors.append(self.term())
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def term(self) -> Recipe:
        recipe = self.atom()
        while (sign := self.take("^", "*")) is not None:
            position = self.here[2]
            braces = sign == "^" and self.take("{") is not None
            if sign == "^":
                self.take("□")
            times = self.integer(f"n after {sign!r}")
            if braces:
                self.expect("}", "after the exponent")
            recipe = self.expanded(position, Power if sign == "^" else Degree, recipe, times)
        return recipe

    def made(self, position: int, kind: Any, *parts: Any) -> Any:
        try:
            return kind(*parts)
        except RecipeError as error:
            self.fail(position, str(error))

    def expanded(self, position: int, kind: Any, base: Recipe, *parts: Any) -> Recipe:
        if _height(base) >= _MAX_DEPTH:  # what walks a recipe is recursive
            self.fail(position, f"more than {_MAX_DEPTH} expansions of one another")
        recipe: Recipe = self.made(position, kind, base, *parts)
        return recipe

    def atom(self) -> Recipe:
        if self.take("("):
            inner = self.recipe()
            self.expect(")", "to close the group")
            return inner
        kind, word, position = self.here
        if kind != "word" or word in ("x", "□"):
            self.fail(position, f"expected a family or an expansion, found {word or 'the end'!r}")
        self.at += 1
        word = _WORDS.get(word, word)
        following = self.here[1]
        if word in ("L", "Bi", "T") and following in ("^", "("):
            times = 1
            if word == "L" and self.take("^"):
                times = self.integer("n after 'L^'")
            self.expect("(", f"after {word!r}")
            base = self.recipe()
            self.expect(")", f"to close {word}(...)")
            if word == "L":
                return self.expanded(position, Line, base, times)
            return self.expanded(position, Bidirectional if word == "Bi" else Transpose, base)
        if word in _GRAFTS:
            self.expect("(", f"after {word!r}")
            base = self.recipe()
            self.expect(",", f"after the base of {word}")
            start = self.here[2]
            changes = self.elements("after the base and a comma")
            if any(isinstance(change, int) for change in changes):
                self.fail(start, f"{word} takes tuples, not numbers")
            self.expect(")", f"to close {word}(...)")
            return self.expanded(position, _GRAFTS[word], base, changes)
        if word in WORDS:
            self.expect("(", f"after {word!r}")
            base = self.recipe()
            self.expect(",", f"after the base of {word}")
            count = self.integer(f"n of {word}(G,n)")
            self.expect(")", f"to close {word}(...)")
            return self.expanded(position, WORDS[word], base, count)
        return self.member(word, position)

    def member(self, word: str, position: int) -> Recipe:
        subscript = self.take("_") is not None
        args: list[Any] = []
        if subscript and not self.take("{"):
            args = [self.integer("a subscript")]
        elif subscript:
            args = self.arguments("}")
        elif self.take("("):
            args = self.arguments(")")
        if word == _CATALOG:
            return self.entry(args, position)
        named = families_called(word)
        if not named:
            words = {name for f in FAMILIES for name in (f.name, *f.aliases)}
            words |= {"L", "Bi", "T", _CATALOG, *_GRAFTS, *WORDS}
            close = get_close_matches(word, sorted(words), 1)
            hint = f"did you mean {close[0]!r}?" if close else "`linkstep families` lists them"
            self.fail(position, f"no family is called {word!r}; {hint}")
        fitting = [f for f in named if _fits(f, args)]
        if not fitting:
            known = " or ".join(dict.fromkeys(f.notation for f in named))
            self.fail(position, f"{word} is written {known}")
        # K_{4,4} and K(4,4) are different graphs: the way it is written decides where both fit.
        exact = [f for f in fitting if word in f.aliases or f.subscript == subscript]
        member: Member = self.made(position, Member, (exact or fitting)[0], tuple(args))
        return member

    def entry(self, args: list[Any], position: int) -> Recipe:
        if len(args) != 3 or not all(isinstance(arg, int) for arg in args):
            self.fail(position, f"{_CATALOG} is written {_CATALOG}(N,d,number)")
        return parse(self.made(position, named_recipe, *args))

    def arguments(self, closing: str) -> list[Any]:
        args: list[Any] = []
        while not self.take(closing):
            if args:
                self.expect(",", f"or {closing!r}")
            args.append(self.argument())
        return args

    def argument(self) -> Any:
        kind, text, position = self.here
        if kind == "group":
            self.at += 1
            return self.made(position, parse_group, text)
        if self.here[1] == "{":
            return tuple(sorted(self.elements("to begin a set")))
        return self.integer("an argument")

    def elements(self, where: str) -> tuple[Any, ...]:
        """Read numbers or tuples in braces, and keep their order."""
        position = self.here[2]
        self.expect("{", where)
        elements: list[Any] = []
        while not self.take("}"):
            if elements:
                self.expect(",", "or '}'")
            elements.append(self.element())
        if len({type(e) for e in elements}) > 1:
            self.fail(position, "a set holds numbers or tuples, not both")
        return tuple(elements)

    def element(self) -> int | tuple[int, ...]:
        if not self.take("("):
            return self.integer("a number or a tuple")
        numbers = [self.integer("a number")]
        while self.take(","):
            numbers.append(self.integer("a number"))
        self.expect(")", "to close the tuple")
        return tuple(numbers)


def _height(recipe: Recipe) -> int:
    """Return how many expansions are nested in one another."""
    match recipe:
        case Product(parts) | Union(parts):
            return 1 + max(map(_height, parts))
        case Line(base) | Power(base) | Degree(base) | Bidirectional(base) | Transpose(base) | Graft(base):
            return 1 + _height(base)
        case Idle(base) | Copies(base):
            return 1 + _height(base)
        case _:
            return 0


def _fits(family: Family, args: list[Any]) -> bool:
    kinds = [
        "int" if isinstance(arg, int) else "set" if isinstance(arg, tuple) else "group" for arg in args
    ]  # fmt: skip
    if family.params == ("ints",):
        return bool(kinds) and set(kinds) == {"int"}
    return kinds == list(family.params)


def parse(text: str) -> Recipe:
    """Read a recipe such as ``L^3(C(16,{3,4}))``.

    >>> recipe = parse("L^3(C(16,{3,4}))")
    >>> recipe.num_nodes, recipe.degree, str(recipe)
    (1024, 4, 'L^3(C(16,{3,4}))')
    >>> str(parse("( UniRing(1,4)xUniRing(1,8) )^2"))
    '(UniRing(1,4) x UniRing(1,8))^2'
    >>> parse("L^2(Diamnd)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linkstep.core.errors.RecipeError: recipe 'L^2(Diamnd)', character 5: no family is called 'Diamnd'; did ...
    """
    if len(check_kind("a recipe", text, str)) > _MAX_LENGTH:
        raise RecipeError(f"a recipe has at most {_MAX_LENGTH} characters, not {len(text)}")
    parser = _Parser(text)
    recipe = parser.recipe()
    if parser.here[0] != _END:
        parser.fail(parser.here[2], f"expected the end, found {parser.here[1]!r}")
    return recipe

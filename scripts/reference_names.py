"""Pages of the reference that have every public name of the library: signature, docstring, example, members."""

from __future__ import annotations

import builtins
import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from scripts.reference_text import escaped, markdown_of
from scripts.report_words import field_words

import linkstep

HEAD = """\
# Every public name

`import linkstep` has these; each is imported when it is first asked for. [The library](../../start/library.md) says
what stands for a wiring and a schedule wherever one is asked for. A `=` in a signature gives the default; what comes
after `*` is given by name. Examples are run by the tests, in the module of the name.
"""
KINDS: dict[str, tuple[str, str]] = {
    "verbs": ("Functions", "What can be done, each with what the others return."),
    "values": ("Values", "What is asked, made and answered. All are immutable unless they say otherwise."),
    "errors": ("Errors", "What is raised where input is wrong: one line that says what, and what would do."),
    "modules": ("Modules", "Names that belong together, as attributes of `linkstep`."),
}
"""Pages: title and first line."""
DATA = {"__version__": "The version of linkstep, as text."}
"""Names of values that have no docstring of their own."""


def kind_of(value: object) -> str:
    """Return the page that a public name is on."""
    if inspect.isclass(value):
        return "errors" if issubclass(value, Exception) else "values"
    return "verbs" if inspect.isroutine(value) else "modules"


def name_pages() -> dict[str, str]:
    """Return the pages by name, without endings: ``index`` and one for each kind of name."""
    public = {name: getattr(linkstep, name) for name in linkstep.__all__}
    pages = {}
    for kind, (title, text) in KINDS.items():
        entries = [_entry(name, value) for name, value in public.items() if kind_of(value) == kind]
        pages[kind] = "\n".join([f"# {title}\n\n{text}\n\n```{{py:currentmodule}} linkstep\n```\n", *entries])
    return {"index": _index(public)} | pages


def _index(public: dict[str, Any]) -> str:
    parts = [HEAD]
    for kind, (title, _) in KINDS.items():
        rows = [
            f"| {{py:obj}}`~linkstep.{name}` | {_summary(name, value)} |\n"
            for name, value in public.items()
            if kind_of(value) == kind
        ]
        parts.append(f"\n## {title}\n\n| name | what |\n|---|---|\n{''.join(rows)}")
    return "".join([*parts, "\n```{toctree}\n:hidden:\n\n", "\n".join(KINDS), "\n```\n"])


def _summary(name: str, value: object) -> str:
    doc = DATA.get(name) or inspect.cleandoc(value.__doc__ or "")
    return escaped(re.split(r"(?<=[.:;]) ", " ".join(doc.split("\n\n")[0].split()))[0].rstrip(":;"))


def _entry(name: str, value: Any) -> str:
    if name in DATA:
        return _directive("data", name, DATA[name])
    if inspect.ismodule(value):
        return _directive("data", name, markdown_of(value.__doc__) + _module_members(name, value))
    if inspect.isclass(value):
        form = "exception" if issubclass(value, Exception) else "class"
        return _directive(form, name + _class_signature(value), markdown_of(value.__doc__) + _members(value))
    return _directive("function", name + signature_of(value), markdown_of(value.__doc__))


def _directive(form: str, head: str, body: str, depth: int = 6) -> str:
    fence = "`" * depth
    return f"{fence}{{py:{form}}} {head}\n{body}\n{fence}\n"


def signature_of(function: Callable[..., Any], *, bound: bool = False) -> str:
    """Return a signature as the source writes it: annotations are text, and defaults readable.

    ``bound`` leaves out the first parameter.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[bound:]
    made, named = [], False
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            named = True
        if one.kind is one.KEYWORD_ONLY and not named:
            made.append("*")
            named = True
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        note = "" if one.annotation is one.empty else f": {_annotation(one.annotation)}"
        default = "" if one.default is one.empty else (" = " if note else "=") + _default(one.default)
        made.append(f"{star}{one.name}{note}{default}")
    result = signature.return_annotation
    arrow = "" if result is signature.empty else f" -> {_annotation(result)}"
    return f"({', '.join(made)}){arrow}"


def _annotation(note: object) -> str:
    if isinstance(note, str):
        return note.strip("'\"")
    return "None" if note is None else getattr(note, "__name__", str(note))


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    text = repr(value)
    return "..." if " at 0x" in text or "<" in text else text


def _class_signature(kind: type) -> str:
    if issubclass(kind, Enum | Exception) or getattr(kind, "_is_protocol", False) or inspect.isabstract(kind):
        return ""
    return signature_of(kind).removesuffix(" -> None")


def _members(kind: type) -> str:
    """Return the fields of a dataclass that say what they are, the members of an enum, and methods of its own."""
    parts = []
    if issubclass(kind, Enum):
        parts += [_directive("attribute", one.name, f"`{one.value}`", 5) for one in kind]
    if is_dataclass(kind):
        words = field_words(kind)
        for one in fields(kind):
            if one.name in words and not one.name.startswith("_"):
                note = f":type: {_annotation(one.type)}\n"
                parts.append(_directive("attribute", one.name, f"{note}\n{escaped(words[one.name])}", 5))
    parts += list(_own_methods(kind))
    return "\n\n" + "\n".join(parts) if parts else ""


def _own_methods(kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property | cached_property):
            function = value.fget if isinstance(value, property) else value.func
            result = _annotation(inspect.signature(function).return_annotation)
            yield _directive("property", name, f":type: {result}\n\n{markdown_of(function.__doc__)}", 5)
        elif isinstance(value, classmethod | staticmethod):
            plain, form = value.__func__, type(value).__name__
            signature = signature_of(plain, bound=isinstance(value, classmethod))
            yield _directive("method", f"{name}{signature}", f":{form}:\n\n{markdown_of(plain.__doc__)}", 5)
        elif inspect.isfunction(value):
            yield _directive("method", name + signature_of(value, bound=True), markdown_of(value.__doc__), 5)


def _module_members(name: str, module: types.ModuleType) -> str:
    """Return what a public module has, each with its signature."""
    listed = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]  # fmt: skip
    parts = []
    for key in listed:
        value = getattr(module, key)
        if inspect.isclass(value):
            parts.append(_directive("class", f"{name}.{key}" + _class_signature(value), markdown_of(value.__doc__), 5))
        elif inspect.isroutine(value):
            parts.append(_directive("function", f"{name}.{key}{signature_of(value)}", markdown_of(value.__doc__), 5))
        else:
            parts.append(_directive("data", f"{name}.{key}", _data_words(value), 5))
    return "\n\n" + "\n".join(parts)


def _data_words(value: object) -> str:
    kind = type(value)
    return escaped("" if kind.__module__ == builtins.__name__ else _summary("", kind))

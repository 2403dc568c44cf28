"""Write what was lowered: the runtime's file, and a selector and a registering module that count it in."""

from __future__ import annotations

from linkstep.files import AnyPath, write_atomically
from linkstep.lowering.pipeline import Lowered
from linkstep.lowering.registration import check_module_path, module_beside, plan_of, plans_of, registration
from linkstep.lowering.targets import Target
from linkstep.selector import Rule, Selector, check_selector_path, source_beside, update_selector


def check_selectable(target: Target, path: AnyPath, selector: AnyPath) -> None:
    """Raise if a selector, or what it would say of a file, could not be written."""
    check_selector_path(selector)
    source_beside(selector, path)
    if target.registers:
        check_module_path(module_beside(selector))


def save_lowered(lowered: Lowered, path: AnyPath, selector: AnyPath | None = None) -> None:
    """Write a runtime's file and, if a selector is named, add the file to it, which is made if new.

    A selector gets a rule for the file's sizes; where another rule serves some of them nothing is written. Where the
    runtime knows only plans that a program registers, a module that does so is written beside the selector.
    """
    if selector is None:
        _write(path, lowered.text)
    else:
        update_selector(selector, lambda before: _save_selected(lowered, path, selector, before))


def _save_selected(lowered: Lowered, path: AnyPath, selector: AnyPath, before: Selector) -> Selector:
    """Write the file once it is known that no other rule serves its sizes, and return the new selector."""
    window, target, source = lowered.window, lowered.target, source_beside(selector, path)
    inplace = lowered.placement.inplace if target.registers else None
    rule = Rule(
        lowered.placement.collective, window.smallest, window.largest, source, dialect=target.name, inplace=inplace
    )
    changed = before.with_rule(rule)
    module = registration(plans_of(changed, plan_of(lowered, source))) if target.registers else None
    _write(path, lowered.text)
    if module is not None:
        _write(module_beside(selector), module)
    return changed


def _write(path: AnyPath, text: str) -> None:
    write_atomically(path, lambda file: file.writelines([text.encode()]))

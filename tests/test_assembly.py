"""What is assembled from what was lowered is what a reader makes of its text: every column of every event."""

import dataclasses
import re
from functools import cache

import numpy as np
import pytest

import linkstep
from linkstep.assembly import assemble
from linkstep.core.collective import Collective
from linkstep.lowering import TARGETS, lower
from linkstep.programs import Program, read_program
from linkstep.verification import verify_program

CASES = [(to, collective) for to, target in TARGETS.items() for collective in target.collectives]
RECIPES = ("K_4", "K_{3,3}", "Torus(3,3)", "UniRing(1,5)", "BiRing(4,5)", "DBJ(2,3)")
OPTIONS = ({}, {"inplace": True}, {"channels": 2}, {"instances": 2}, {"chunks": 2}, {"max_bytes": 4096})


def differences(one, other, name="program"):
    """Yield where two values differ, going into dataclasses, arrays and what functions return."""
    if isinstance(one, np.ndarray):
        if not (isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)):
            yield name
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            yield from differences(getattr(one, field.name), getattr(other, field.name), f"{name}.{field.name}")
    elif isinstance(one, tuple) and len(one) == len(other):
        for k, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{name}[{k}]")
    elif callable(one):
        yield from differences(one(), other(), f"{name}()")
    elif one != other:
        yield name


def options_for(schedule, options):
    """Chunks as a multiple of those that a schedule needs."""
    if "chunks" not in options:
        return options
    return options | {"chunks": options["chunks"] * lower(schedule, "cpu").placement.shard_chunks}


@cache
def scheduled(recipe, collective):
    return linkstep.schedule(recipe, collective).schedule


def turns():
    """A recipe for each runtime and collective, in turn; the others are slow."""
    for k, case in enumerate(CASES):
        few = RECIPES[k % len(RECIPES) :][:1]
        yield pytest.param(*case, few, id="-".join(case))
        rest = tuple(recipe for recipe in RECIPES if recipe not in few)
        yield pytest.param(*case, rest, id="-".join((*case, "rest")), marks=pytest.mark.slow)


@pytest.mark.parametrize(("to", "collective", "recipes"), [*turns()])
def test_assembled_is_what_is_read(to, collective, recipes):
    for recipe in recipes:
        schedule = scheduled(recipe, collective)
        for options in OPTIONS:
            if options.get("inplace") and collective is Collective.ALL_TO_ALL:
                continue
            lowered = lower(schedule, to, **options_for(schedule, options))
            direct, read = assemble(lowered), read_program(lowered.text, to)
            assert list(differences(direct, read)) == [], (recipe, options)
            assert direct.fingerprint == read.fingerprint
            assert repr(direct) == repr(read)


@pytest.mark.parametrize("proto", ["LL", "LL128"])
@pytest.mark.parametrize("to", [name for name, target in TARGETS.items() if "LL" in target.protocols])
def test_protocols_are_kept(to, proto):
    lowered = lower(linkstep.parse("UniRing(1,5)").build("allreduce"), to, proto=proto)
    assert list(differences(assemble(lowered), read_program(lowered.text, to))) == []


def test_a_root_other_than_the_first():
    for to in TARGETS:
        lowered = lower(linkstep.schedule("Torus(3,3)", "broadcast", root=5).schedule, to)
        assert list(differences(assemble(lowered), read_program(lowered.text, to))) == []


@pytest.mark.parametrize("to", TARGETS)
def test_findings_are_the_same(to):
    """Also of a program that is wrong: what the verifier has against it is word for word the same."""
    lowered = lower(linkstep.parse("Torus(3,3)").build("allreduce"), to)
    reports = [verify_program(program) for program in (assemble(lowered), read_program(lowered.text, to))]
    assert reports[0] == reports[1] and reports[0].is_verified
    wrong = [_without_a_move(program) for program in (assemble(lowered), read_program(lowered.text, to))]
    reports = [verify_program(program) for program in wrong]
    assert reports[0].findings == reports[1].findings and reports[0].errors


def _without_a_move(program: Program) -> Program:
    moves = program.events.moves
    kept = np.arange(len(moves)) != len(moves) // 2
    return dataclasses.replace(program, events=dataclasses.replace(program.events, moves=moves.take(kept)))


def test_nothing_is_printed_for_a_program(monkeypatch):
    from linkstep.lowering import forms

    row = forms.FORMS["lists"]
    monkeypatch.setitem(forms.FORMS, "lists", dataclasses.replace(row, write=None))
    schedule = linkstep.parse("K_4").build("allreduce")
    assert assemble(lower(schedule, "cpu")).num_instructions == 68
    with pytest.raises(TypeError):
        _ = lower(schedule, "cpu").text


def test_differences_are_noticed():
    one, other = (assemble(lower(linkstep.parse("K_4").build("allreduce"), to)) for to in ("rccl", "msccl"))
    found = list(differences(one, other))
    assert "program.dialect" in found and any(re.search(r"events\.moves", name) for name in found)

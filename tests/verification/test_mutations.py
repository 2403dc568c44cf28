"""Programs with one thing changed: what a second opinion finds harmful is refused, and what is harmless is not."""

from collections import Counter
from pathlib import Path

import pytest

import support
from linkstep.core.errors import FileError
from linkstep.verification import verify_text
from support import judge as verify_tools
from support import random_programs as verify_random

PROGRAMS = Path(support.__file__).parent / "programs"


def verdict(text: str, dialect: str) -> set[str]:
    """The rules broken, {"unreadable"} for what cannot be read; nothing if it is verified."""
    try:
        report = verify_text(text, dialect)
        return {f.rule for f in report.errors + report.unknowns}
    except FileError as error:
        assert "\n" not in str(error)
        return {"unreadable"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("ring-allreduce.msccl.xml", "msccl"),
        ("ring-allgather.msccl.xml", "msccl"),
        ("allpairs-allreduce.rccl.xml", "msccl-azure"),
        ("ring-reduce-scatter.azure.xml", "msccl-azure"),
        ("direct-all-to-all.rccl.xml", "msccl-azure"),
    ],
)
def test_msccl_mutants(name, dialect):
    """The slow interpreter is exact, so the two must agree on every mutant."""
    text = (PROGRAMS / name).read_text()
    assert verify_tools.is_harmful(text) is None
    seen = Counter()
    for what, mutant in verify_tools.mutants(text, count=54, seed=2024):
        harm = verify_tools.is_harmful(mutant)
        broken = verdict(mutant, dialect)
        assert bool(broken) == (harm is not None), (what, harm, broken)
        seen[bool(broken)] += 1
    assert seen[True] >= 30 and seen[False] >= 5


@pytest.mark.slow
@pytest.mark.parametrize("count", [54, pytest.param(180, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "dialect", "run", "mutants"),
    [
        ("ring-allreduce.cpu.xml", "cpu", verify_random.run_cpu, verify_random.cpu_mutants),
        ("allpairs-allreduce.mscclpp.json", "mscclpp", verify_random.run_plus, verify_random.plus_mutants),
        ("ports-allgather.mscclpp.json", "mscclpp", verify_random.run_plus, verify_random.plus_mutants),
    ],
)
def test_mutants_in_random_runs(name, dialect, run, mutants, count):
    """Random runs may miss a race, so what the verifier refuses beyond them must be one, or a wrong size."""
    text = (PROGRAMS / name).read_text()
    assert verify_random.is_harmful(run, text, 100) is None
    seen = Counter()
    for what, mutant in mutants(text, count=count, seed=2024):
        harm = verify_random.is_harmful(run, mutant, 30)
        broken = verdict(mutant, dialect)
        if harm is None:
            assert not broken or broken <= {"race", "chunks"}, (what, broken)
        else:
            assert broken, (what, harm)
        seen[harm is not None, bool(broken)] += 1
    assert seen[True, True] >= 0.4 * count and seen[False, False] >= 0.05 * count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_more_msccl_mutants(seed):
    """Two changes at once."""
    for name, dialect in (("allpairs-allreduce.rccl.xml", "msccl-azure"), ("ring-allreduce.msccl.xml", "msccl")):
        text = (PROGRAMS / name).read_text()
        for _, once in verify_tools.mutants(text, count=90, seed=seed):
            for what, twice in verify_tools.mutants(once, count=2, seed=seed):
                harm = verify_tools.is_harmful(twice)
                assert bool(verdict(twice, dialect)) == (harm is not None), (what, harm)

"""Plans without processes: run by an interpreter with bad luck, and what is known of them from their schedules."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.schedule import COLLECTIVES
from linkstep.engines.plans.cells import PlannedMessage
from linkstep.engines.plans.compile import _joined, _split, compile_plan, compile_plans
from linkstep.engines.plans.plan import CompiledPlans, Work
from linkstep.lowering import TARGETS
from linkstep.programs import read_program
from linkstep.verification import verify_text
from support.plan_runs import Harm, PlanRun, run_plans
from support.random_programs import cpu_mutants
from support.strategies import right_cases, seeds

PROGRAMS = Path(__file__).parents[1] / "support" / "programs"
RUNTIMES = ("cpu", "msccl", "rccl", "mscclpp")
BOTH_WAYS = [(c, inplace) for c in COLLECTIVES for inplace in (False, True) if not (c.exchanges and inplace)]
TORUS = {collective: linkstep.parse("Torus(3,3)").build(collective) for collective in COLLECTIVES}


def program_of(schedule, to="cpu", inplace=False):
    return read_program(linkstep.lower(schedule, to, inplace=inplace).text, to)


@pytest.mark.parametrize("inplace", [False, True], ids=["out", "in"])
@pytest.mark.parametrize("to", RUNTIMES)
def test_every_collective_of_every_runtime(to, inplace):
    for seed, (collective, schedule) in enumerate(TORUS.items()):
        if collective in TARGETS[to].collectives and (collective, inplace) in BOTH_WAYS:
            run_plans(compile_plans(program_of(schedule, to, inplace), inplace), seed)


@pytest.mark.parametrize("path", sorted(PROGRAMS.iterdir()), ids=lambda path: path.name)
def test_foreign_programs(path):
    program = read_program(path.read_text())
    for inplace, seed in itertools.product(program.modes, range(3)):
        run_plans(compile_plans(program, inplace), seed, max(program.root, 0))


@settings(max_examples=10)
@given(right_cases(), st.sampled_from(RUNTIMES), st.booleans(), seeds)
def test_random_schedules_property(case, to, inplace, seed):
    """Parallel links, loops, things received twice: whatever is lowered, all of it arrives."""
    inplace = inplace and case.collective != "all-to-all"
    program = program_of(case.schedule(), to, inplace)
    run_plans(compile_plans(program, inplace), seed)


def test_programs_that_no_writer_of_ours_would_make():
    """Of a file with one instruction changed, what the verifier proves runs, whatever it looks like."""
    text, right = (PROGRAMS / "ring-allreduce.cpu.xml").read_text(), 0
    for _, mutant in cpu_mutants(text, 45, seed=3):
        try:
            proven = verify_text(mutant).is_verified
        except FileError:
            continue
        if proven:
            right += 1
            program = read_program(mutant)
            for inplace in program.modes:
                run_plans(compile_plans(program, inplace), seed=right)
    assert right > 3


def without(plan, level, **changes):
    """The plan with a level changed."""
    levels = list(plan.levels)
    levels[level] = levels[level].__class__(**(vars(levels[level]) | changes))
    return plan.__class__(**(vars(plan) | {"levels": tuple(levels)}))


def test_the_interpreter_notices_hazards():
    """Plans that do not wait, wait for too little or work too late fail in it."""
    ring = program_of(linkstep.parse("UniRing(1,5)").build("reduce-scatter"), inplace=True)
    plans = compile_plans(ring, True)
    late = {"urgent": (), "lazy": plans[0].levels[1].urgent}
    for changes in ({"awaited": ()}, {"urgent": ()}, {"sent": ()}, late):
        with pytest.raises(Harm):
            run_plans([without(plans[0], 1, **changes), *plans[1:]])
    foreign = read_program((PROGRAMS / "ring-allreduce.msccl.xml").read_text())
    plans = compile_plans(foreign, True)
    assert any(level.settled for plan in plans for level in plan.levels)  # it overwrites what it has sent
    for plan in plans:
        for k in range(len(plan.levels)):
            plan = without(plan, k, settled=0)
        plans[plan.rank] = plan
    with pytest.raises(Harm):
        for seed in range(5):
            run_plans(plans, seed)


@pytest.mark.parametrize("recipe", ["K_{4,4}", "UniRing(1,8)", "Torus(3,3)", "C(12,{2,3})", "Cayley(Z8,{1,3})"])
def test_out_of_place_nothing_waits_for_sends(recipe):
    """What is sent and overwritten later lies in spare workspace: a send may be complete a round trip later."""
    for collective in COLLECTIVES:
        plans = compile_plans(program_of(linkstep.schedule(recipe, collective).schedule), False)
        assert not any(level.settled for plan in plans for level in plan.levels)
        run_plans(plans, seed=3)


def test_spare_workspace_instead_of_copies():
    """Partial sums are made where they are sent from, and sends of a ring in place wait once and not at each step."""
    for recipe in ("K_{4,4}", "UniRing(1,8)", "Torus(3,3)"):
        for plan in compile_plans(program_of(linkstep.parse(recipe).build("allreduce")), False):
            assert all(work.addend >= 0 for level in plan.levels for work in (*level.urgent, *level.lazy))
    for plan in compile_plans(program_of(linkstep.parse("UniRing(1,8)").build("allreduce"), inplace=True), True):
        assert [k for k, level in enumerate(plan.levels) if level.settled] == [1]  # what the user gave is overwritten


@pytest.mark.parametrize("collective", list(COLLECTIVES))
def test_levels_are_steps_and_links_carry_what_the_schedule_says(collective):
    schedule = TORUS[collective]
    plans = compile_plans(program_of(schedule), False)
    assert {plan.num_steps for plan in plans} == {schedule.num_steps}
    said, unit = {}, schedule.unit
    tail, head = schedule.topology.tail[schedule.link], schedule.topology.head[schedule.link]
    shares = schedule.hi - schedule.lo
    for a, b, share in zip(tail.tolist(), head.tolist(), shares.tolist(), strict=True):
        said[a, b] = said.get((a, b), 0) + share
    each = plans[0].chunks // collective.num_shards(9)  # chunks of a shard
    found = {(plan.rank, peer): chunks for plan in plans for peer, chunks in plan.chunks_to.items()}
    assert {link: chunks * unit for link, chunks in found.items()} == {link: n * each for link, n in said.items()}


def test_a_message_has_the_same_number_and_length_on_both_sides():
    plans = compile_plans(program_of(TORUS[Collective.ALLREDUCE]), False)
    sent = {(p.rank, t.peer, t.number): t.chunks for p in plans for level in p.levels for t in level.sent}
    got = {(t.peer, p.rank, t.number): t.chunks for p in plans for level in p.levels for t in level.posted}
    assert sent == got
    assert max(number for _, _, number in sent) + 1 == plans[0].most_messages
    assert all(plan.fingerprint == plans[0].fingerprint for plan in plans)


def test_work_is_joined_within_an_array_only():
    rows = [Work(4, 0, -1, 2), Work(6, 2, -1, 1), Work(7, 3, -1, 1)]
    assert _joined(rows, (20, 40)) == [Work(4, 0, -1, 4)]
    assert _joined(rows, (6, 40)) == [rows[0], Work(6, 2, -1, 2)]  # the target begins another array at 6
    assert _joined(rows, (3, 40)) == [Work(4, 0, -1, 3), rows[2]]  # the source does
    sums = [Work(0, 0, 8, 1), Work(1, 1, 9, 1), Work(2, 2, -1, 1)]
    assert _joined(sums, (20, 40)) == [Work(0, 0, 8, 2), sums[2]]
    shift = [Work(1, 0, -1, 1), Work(2, 1, -1, 1)]  # the second copies what the first has written
    assert _joined(shift, (20, 40)) == shift


def test_no_work_of_a_plan_crosses_arrays():
    for collective, inplace in BOTH_WAYS:
        for plan in compile_plans(program_of(TORUS[collective], inplace=inplace), inplace):
            borders = {plan.input_cells, plan.input_cells + (0 if inplace else plan.output_cells)}
            for level in plan.levels:
                for row in (*level.urgent, *level.lazy):
                    for at in (row.dst, row.src, row.addend):
                        assert at < 0 or borders.isdisjoint(range(at + 1, at + row.chunks))


def test_work_that_no_message_needs_comes_after_the_sends():
    plans = compile_plans(program_of(linkstep.parse("K_4").build("allgather")), False)
    for plan in plans:  # its own shard to the output: nobody waits for that
        assert [len(level.urgent) for level in plan.levels] == [0, 0]
        assert [len(level.lazy) for level in plan.levels] == [1, 0]
    rows = [Work(0, 1, -1, 1), Work(2, 0, -1, 1), Work(5, 6, -1, 1)]
    assert _split(rows, [PlannedMessage(sender=0, cell=2, count=1, level=0)], []) == (rows[:2], rows[2:])
    assert _split(rows, [], []) == ([], rows)


def test_one_rank_is_the_same_as_all():
    program = program_of(TORUS[Collective.ALLREDUCE])
    everyone = compile_plans(program, False)
    assert compile_plan(program, False, 4).levels == everyone[4].levels
    assert repr(everyone[4]) == "<Plan allreduce out of place of rank 4 of 9: 5 levels>"


def test_a_program_runs_only_as_it_is_made():
    program = program_of(TORUS[Collective.ALLREDUCE])
    with pytest.raises(FileError, match="cannot be run in place: it is not made for that"):
        compile_plans(program, True)


def test_fingerprints_tell_programs_apart():
    prints = [program_of(schedule).fingerprint for schedule in TORUS.values()]
    prints.append(program_of(TORUS[Collective.ALLREDUCE], inplace=True).fingerprint)
    assert len(set(prints)) == len(prints)
    assert program_of(TORUS[Collective.ALLREDUCE]).fingerprint in prints


def test_compiled_plans_are_chosen_by_size():
    small, large = (
        compile_plans(program_of(linkstep.parse(recipe).build("allreduce")), False)[0]
        for recipe in ("K_4", "UniRing(1,4)")
    )
    made = CompiledPlans("print", 0, ((1024, small), (2**63, large)))
    assert [made.plan_for(Collective.ALLREDUCE, size, True, 0) for size in (1, 1024, 1025)] == [small, small, large]
    for collective, root in ((Collective.REDUCE, 0), (Collective.ALLREDUCE, 1)):
        with pytest.raises(LinkstepError, match=f"no plan was compiled for {collective} of 5 bytes"):
            made.plan_for(collective, 5, True, root)


def test_outputs_are_where_the_interpreter_looks():
    """In place, the shorter array is the rank's part of the longer."""
    run = PlanRun(compile_plans(program_of(TORUS[Collective.ALLGATHER], inplace=True), True))
    assert np.array_equal(run.output(run.plans[5])[5 * run.input_size :][: run.input_size], run.inputs[5])

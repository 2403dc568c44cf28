"""The Python that registers MSCCL++ plans: run against a stand-in for the runtime, it picks the plan that fits."""

import runpy
import sys

import pytest

import linkstep
from linkstep.core.errors import FileError
from linkstep.lowering import lower
from linkstep.lowering.registration import (
    MARK,
    algorithm_call,
    check_module_path,
    module_beside,
    plan_of,
    read_plan,
    registration,
)
from support import fake_mscclpp as fake

WORLD = 4
CASES = {
    "small.json": ("allreduce", {"max_bytes": 2**16}),
    "large.json": ("allreduce", {"min_bytes": 2**16 + 1, "max_bytes": 2**20}),
    "inplace.json": ("allreduce", {"inplace": True, "max_bytes": 2**20}),
    "gather.json": ("allgather", {"max_bytes": 2**20}),
    "gather-in.json": ("allgather", {"inplace": True, "max_bytes": 2**20}),
    "scatter.json": ("reduce-scatter", {"max_bytes": 2**20}),
    "scatter-in.json": ("reduce-scatter", {"inplace": True, "max_bytes": 2**20}),
    "broadcast.json": ("broadcast", {"max_bytes": 2**20}),
    "exchange.json": ("all-to-all", {"max_bytes": 2**20}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with plans of K_4 and the module that registers them."""
    folder = tmp_path_factory.mktemp("plans")
    rows = []
    for file, (collective, options) in CASES.items():
        lowered = lower(linkstep.parse("K_4").build(collective), "mscclpp", **options)
        (folder / file).write_text(lowered.text)
        rows.append(plan_of(lowered, file))
        assert read_plan(folder / file, file) == rows[-1]
    (folder / "plans.py").write_text(registration(rows))
    return folder


def load(folder, monkeypatch, in_ext=True):
    modules, builder = fake.fake(in_ext)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(folder / "plans.py")), builder


@pytest.fixture
def runtime(folder, monkeypatch):
    """Return (what the runtime runs for a call, by its file), all plans registered on rank 2."""
    module, builder = load(folder, monkeypatch)
    module["register"](2)
    files = {plan.name: plan.file for plan in module["PLANS"]}

    def run(*args, **options):
        found = fake.chosen(builder, fake.call(*args, WORLD, 2, **options))
        return None if found is None else files[found.plan.name]

    return run


@pytest.mark.parametrize("in_ext", [True, False])
def test_every_plan_is_registered_with_its_constraint(folder, monkeypatch, in_ext):
    module, builder = load(folder, monkeypatch, in_ext)
    module["register"](2, ranks_per_node=1)
    assert len(builder.algorithms) == len(CASES) == sum(map(len, fake.collection_of(builder).values()))
    assert all(a.id == a.plan.name for a in builder.algorithms)
    assert {(a.constraint.world_size, a.constraint.n_ranks_per_node) for a in builder.algorithms} == {(4, 1)}


@pytest.mark.parametrize(
    ("collective", "size", "options", "file"),
    [
        ("allreduce", 64, {}, "small.json"),
        ("allreduce", 2**16, {}, "small.json"),
        ("allreduce", 2**16 + 64, {}, "large.json"),
        ("allreduce", 2**20, {}, "large.json"),
        ("allreduce", 2**20 + 64, {}, None),
        ("allreduce", 2**16 + 16, {}, None),  # no whole chunks
        ("allreduce", 64, {"in_place": True}, "inplace.json"),
        ("allreduce", 2**20, {"in_place": True}, "inplace.json"),
        ("allreduce", 2**20 + 64, {"in_place": True}, None),
        ("allgather", 2**20, {}, "gather.json"),  # the request says 2^18, a rank's part
        ("allgather", 2**20 + 64, {}, None),
        ("allgather", 2**10, {"in_place": True}, "gather-in.json"),
        ("reducescatter", 2**20, {}, "scatter.json"),
        ("reducescatter", 2**20, {"in_place": True}, "scatter-in.json"),
        ("broadcast", 2**20, {"root": 0}, "broadcast.json"),
        ("broadcast", 2**20, {"root": 1}, None),
        ("broadcast", 2**20, {"root": 0, "in_place": True}, None),
        ("alltoall", 2**20, {}, "exchange.json"),
        ("sendrecv", 2**20, {}, None),
    ],
)
def test_the_plan_that_fits_is_picked(runtime, collective, size, options, file):
    assert runtime(collective, size, **options) == file


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reducescatter", "alltoall"])
def test_buffers_that_overlap_otherwise_are_left_to_others(runtime, collective):
    for shift in (-16, 16, 64):
        assert runtime(collective, 2**16, in_place=True, shift=shift) is None


def test_a_reduce_scatter_with_equal_pointers_is_not_in_place(runtime):
    """What the runtime calls in place: the output would lie on the parts of other ranks."""
    assert runtime("reducescatter", 2**16, in_place=True, shift=-2 * 2**14) is None


def test_another_world_is_left_to_others(folder, monkeypatch):
    module, builder = load(folder, monkeypatch)
    module["register"](0, ranks_per_node=2)
    for world, per_node, is_served in ((4, 2, True), (8, 2, False), (4, 4, False)):
        request = fake.call("allreduce", 2**16, world, ranks_per_node=per_node)
        assert (fake.chosen(builder, request) is not None) == is_served


def test_what_is_not_whole_chunks_goes_to_nccl_and_not_to_the_executor(folder, monkeypatch):
    """The runtime's own selector would take the plan and fail; without a number of ranks on a node it does not."""
    request = fake.call("allreduce", 2**16 + 16, WORLD)
    for ranks_per_node, is_taken in ((0, False), (1, True)):
        module, builder = load(folder, monkeypatch)
        module["register"](0, ranks_per_node)
        assert (fake.chosen(builder, request) is not None) == is_taken


def test_a_call_makes_the_algorithm(folder, monkeypatch):
    """What ``lower`` prints is Python that runs."""
    load(folder, monkeypatch)
    plan = read_plan(folder / "small.json", "small.json")
    scope = {"mscclpp": sys.modules["mscclpp"], "rank": 1, "ranks_per_node": 1}
    algorithm = eval(algorithm_call(plan, folder / "small.json"), scope)
    assert algorithm.plan.name == algorithm.id == plan.name and algorithm.constraint.world_size == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"gpus": []}', '{"gpus": [{"input_chunks": 1, "output_chunks": 1}]}', "[" * 10**5]
)
def test_what_is_no_plan_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileError, match=r"a\.json: no MSCCL\+\+ plan, but a rule of the selector names it: lower it"):
        read_plan(tmp_path / "a.json", "a.json")


def test_names_of_files_are_only_data(folder, tmp_path, monkeypatch):
    odd = """it's "odd" \\ @PLANS@ {x}.json"""
    (tmp_path / odd).write_text((folder / "small.json").read_text())
    (tmp_path / "plans.py").write_text(registration([read_plan(tmp_path / odd, odd)]))
    module, builder = load(tmp_path, monkeypatch)
    module["register"](0)
    assert [plan.file for plan in module["PLANS"]] == [odd] and len(builder.algorithms) == 1


def test_what_linkstep_did_not_write_stays(tmp_path):
    path = module_beside(tmp_path / "sel.json")
    assert path.name == "sel_mscclpp.py"
    check_module_path(path)
    path.write_text(registration([]))
    check_module_path(path)
    assert path.read_text().startswith(MARK)
    path.write_text("print('mine')\n")
    with pytest.raises(FileError, match="not written by linkstep, and --selector would replace it: move it away"):
        check_module_path(path)

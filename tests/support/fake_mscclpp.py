"""A stand-in for the Python package of MSCCL++: what its host code makes of registered plans, without a GPU.

Collections are keyed by [collective][name]; the selector is given these and a request, and its None goes to the
runtime's own selector, which looks at the constraint, the window and its own idea of in place.
"""

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace


class ExecutionPlan:
    def __init__(self, path, rank):
        data = json.loads(Path(path).read_text())
        assert 0 <= rank < len(data["gpus"]) and data["gpus"][rank]["id"] == rank
        self.name, self.collective, self.is_in_place = data["name"], data["collective"], data["inplace"]
        self.window = data.get("min_message_size", 0), data.get("max_message_size", 2**64 - 1)


class Constraint:
    def __init__(self, world_size=0, n_ranks_per_node=0):
        self.world_size, self.n_ranks_per_node = world_size, n_ranks_per_node


class Algorithm:
    Constraint = Constraint

    def __init__(self, id=None, execution_plan=None, native_handle=None, tags=None, constraint=None):
        self.id, self.plan, self.constraint = id, execution_plan, constraint or Constraint()

    def is_taken_by_default(self, request):
        """Whether the runtime's own selector takes it: it does not ask for whole chunks."""
        size = request.message_size * (request.world_size if request.collective == "allgather" else 1)
        return (
            (self.constraint.world_size, self.constraint.n_ranks_per_node)
            == (request.world_size, request.n_ranks_per_node)
            and self.plan.window[0] <= size <= self.plan.window[1]
            and self.plan.is_in_place == (request.input_buffer == request.output_buffer)
        )


def fake(in_ext=True):
    """Return the modules ``mscclpp`` and ``mscclpp.ext``; the builder, of which there is one, is in one of them."""
    builder = SimpleNamespace(algorithms=[], selector=None)
    builder.add_algorithm_builder = builder.algorithms.append
    builder.set_algorithm_selector = lambda selector: setattr(builder, "selector", selector)
    package, ext = ModuleType("mscclpp"), ModuleType("mscclpp.ext")
    package.Algorithm, package.ExecutionPlan, package.ext = Algorithm, ExecutionPlan, ext
    package.__path__ = []
    (ext if in_ext else package).AlgorithmCollectionBuilder = lambda: builder
    return {"mscclpp": package, "mscclpp.ext": ext}, builder


def collection_of(builder):
    """What a selector is given: later plans replace earlier ones of the same name."""
    found = {}
    for algorithm in builder.algorithms:
        found.setdefault(algorithm.plan.collective, {})[algorithm.plan.name] = algorithm
    return found


def call(collective, size, world, rank=0, *, in_place=False, ranks_per_node=1, root=None, shift=0):
    """Return the request of an NCCL call with data of ``size`` bytes in all; ``shift`` moves the output."""
    part, base = size // world, 1 << 40
    output = base if in_place else base + 2 * size + 4096
    if in_place and collective == "reducescatter":
        output = base + rank * part
    inputs = base + rank * part if in_place and collective == "allgather" else base
    return SimpleNamespace(
        collective=collective, message_size=part if collective == "allgather" else size, world_size=world, rank=rank,
        n_ranks_per_node=ranks_per_node, input_buffer=inputs, output_buffer=output + shift,
        hints={} if root is None else {"root": [root]},
    )  # fmt: skip


def chosen(builder, request):
    """Return the algorithm that the runtime runs for a request: the selector's, else its own; None means NCCL."""
    algorithms = collection_of(builder)
    if builder.selector is not None and (found := builder.selector(algorithms, request)) is not None:
        return found
    registered = algorithms.get(request.collective, {}).values()
    return next((a for a in registered if a.is_taken_by_default(request)), None)

"""Measure a PyTorch model here: seconds of each layer's forward and backward pass, and its parameters.

A layer is a module that holds parameters itself. Its forward pass lasts from its call to the next layer's call, so that
what runs between layers is counted too; its backward pass ends when the last of its gradients is ready, which is when
DistributedDataParallel could send it. So the layers' times add up to those of the passes. Figures are medians of some
repetitions. Not here: traces (``traces``), and parameters that are not trained, which are left out.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.simulation.training.job import Layer

Loss = Callable[[Any], Any]
"""Runs the forward pass of a model and returns the loss."""
_DIGITS = 9
"""Times are kept to a nanosecond."""


FAILURES = (Exception, SystemExit)
"""Whatever a user's own code does, but for Ctrl-C."""


def describe_failure(error: BaseException) -> str:
    """Return what a user's own code failed with, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def import_torch() -> Any:
    """Return torch; LinkstepError of one line where it is not installed."""
    try:
        import torch
    except ImportError:
        raise LinkstepError(missing("measuring a model", "PyTorch", package="torch")) from None
    return torch


def load_trained(text: str) -> tuple[Any, Loss]:
    """Return the model of ``file.py:callable`` or of an example, and its loss; LinkstepError if it makes none."""
    if text in EXAMPLES:
        import_torch()
        return EXAMPLES[text]()
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not name:
        known = ", ".join(EXAMPLES)
        raise LinkstepError(f"a model to measure must be FILE.py:CALLABLE or one of {known}, not {text!r:.80}")
    made = _call(path, name)
    torch = import_torch()
    if (
        not isinstance(made, tuple)
        or len(made) != 2
        or not isinstance(made[0], torch.nn.Module)
        or not callable(made[1])
    ):
        raise LinkstepError(
            f"{text}: must return (model, loss), loss(model) running the forward pass and returning the loss"
        )
    return made


def _call(path: str, name: str) -> Any:
    if not Path(path).is_file():
        raise LinkstepError(f"{path}: no such file")
    import_torch()
    spec = importlib.util.spec_from_file_location("linkstep_profiled", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return getattr(module, name)()
    except FAILURES as error:
        raise LinkstepError(f"{path}:{name} cannot be called: {describe_failure(error)}") from None


class _Watch:
    """Notes when each layer's forward pass begins and when its gradients are ready."""

    def __init__(self, model: Any) -> None:
        seen: set[int] = set()
        self.names: list[str] = []
        self.parameters: list[int] = []
        self.called: dict[int, float] = {}
        self.ready: dict[int, float] = {}
        self.handles: list[Any] = []
        for name, module in model.named_modules():
            own = [p for p in module.parameters(recurse=False) if p.requires_grad and id(p) not in seen]
            if own:
                self._add(name or type(module).__name__, module, own)
                seen.update(map(id, own))

    def _add(self, name: str, module: Any, own: Sequence[Any]) -> None:
        number = len(self.names)
        self.names.append(name)
        self.parameters.append(sum(parameter.numel() for parameter in own))
        self.handles.append(module.register_forward_pre_hook(lambda *_: self._call(number)))
        for parameter in own:
            self.handles.append(parameter.register_post_accumulate_grad_hook(lambda *_: self._note(number)))

    def _call(self, number: int) -> None:
        self.called.setdefault(number, time.perf_counter())

    def _note(self, number: int) -> None:
        self.ready[number] = time.perf_counter()

    def run(self, model: Any, loss_of: Loss) -> tuple[dict[int, float], dict[int, float], list[int]]:
        """Run one iteration; return seconds forward and backward of each layer, and the order of gradients."""
        self.called, self.ready = {}, {}
        model.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        loss = loss_of(model)
        turn = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        order = sorted(self.ready, key=lambda number: self.ready[number])
        if not order:
            raise LinkstepError("no gradient became ready: loss(model) must return a loss that depends on the model")
        back, last = {}, turn
        for number in order:
            back[number], last = self.ready[number] - last, self.ready[number]
        back[order[-1]] += end - last
        calls = sorted(self.called, key=lambda number: self.called[number])
        edges = [begin, *(self.called[number] for number in calls[1:]), turn]
        return dict(zip(calls, _steps(edges), strict=True)), back, order

    def close(self) -> None:
        for handle in self.handles:
            handle.remove()


def _steps(edges: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(edges)]


def measure(model: Any, loss_of: Loss, *, repetitions: int = 5, warm: int = 2) -> list[tuple[Layer, int]]:
    """Return the layers of a model, each with its number of parameters, those whose gradients come last first."""
    watch = _Watch(model)
    if not watch.names:
        raise LinkstepError("the model has no parameters to train")
    try:
        runs = [watch.run(model, loss_of) for _ in range(warm + repetitions)][warm:]
    finally:
        watch.close()
    layers = []
    for number in reversed(runs[-1][2]):
        forward = median(run[0].get(number, 0.0) for run in runs)
        backward = median(run[1].get(number, 0.0) for run in runs)
        layer = Layer(watch.names[number], _seconds(forward), _seconds(backward))
        layers.append((layer, watch.parameters[number]))
    return layers


def _seconds(value: float) -> Fraction:
    return Fraction(round(max(value, 0.0) * 10**_DIGITS), 10**_DIGITS)


# --- examples, small enough for any machine ---


def _perceptron() -> tuple[Any, Loss]:
    torch = import_torch()
    torch.manual_seed(1)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    images, labels = torch.randn(32, 256), torch.randint(10, (32,))
    return model, lambda net: nn.functional.cross_entropy(net(images), labels)


def _convolutional() -> tuple[Any, Loss]:
    torch = import_torch()
    torch.manual_seed(1)
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    images, labels = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
    return model, lambda net: nn.functional.cross_entropy(net(images), labels)


EXAMPLES: dict[str, Callable[[], tuple[Any, Loss]]] = {"perceptron": _perceptron, "cnn": _convolutional}
"""Models that ``linkstep profile`` knows by name."""

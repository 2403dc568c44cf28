"""A model: its parts with parameters and the compute of one sample, the numbers of the hardware, and what a batch is.

``Model.job`` turns it into what each of N servers does, or says in one line why N servers cannot train it. Not here:
reading model files (``model_files``) and the arithmetic of architectures (``transformer``, ``convolutional``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_size
from linkstep.simulation.training.job import Job, Layer

BACKWARD_FLOPS = 2
"""FLOPs of a backward pass for each of the forward pass: gradients of the inputs, and of the parameters."""


@dataclass(frozen=True)
class Part:
    """A part of a model, for all servers together and one sample: a layer, before it is known who does what."""

    name: str
    parameters: int = 0
    """Numbers that every server holds."""
    flops: Fraction = Fraction(0)
    """Of the forward pass of one sample; for experts, of those that its tokens are sent to."""
    seconds: tuple[Fraction, Fraction] | None = None
    """Of the forward and the backward pass of a server's whole batch, where they were measured."""
    experts: int = 0
    """How many there are, where the part is a layer of experts: they are divided over the servers."""
    expert_parameters: int = 0
    """Of each."""
    exchanged: Fraction = Fraction(0)
    """Bytes of a sample that are sent to experts, and of their answers; of a whole batch, where times are measured."""


@dataclass(frozen=True)
class Hardware:
    """A server's processor: peak FLOP/s, the part of it that training reaches, bytes of memory (None: unlimited)."""

    name: str = ""
    peak_flops: Fraction | None = None
    utilisation: Fraction = Fraction(1)
    memory: Fraction | None = None


@dataclass(frozen=True)
class Widths:
    """Bytes of a number: a parameter, its gradient, its optimizer state, and an activation that is sent to experts."""

    parameter: Fraction = Fraction(4)
    gradient: Fraction = Fraction(4)
    optimizer: Fraction = Fraction(8)
    activation: Fraction = Fraction(4)


@dataclass(frozen=True)
class Model:
    """A model as its file describes it. Exactly one of ``batch`` and ``batch_of_all`` is given, or none if measured."""

    name: str
    parts: tuple[Part, ...]
    widths: Widths = Widths()
    hardware: Hardware = Hardware()
    batch: Fraction | None = None
    """Samples a server trains on in an iteration."""
    batch_of_all: Fraction | None = None
    """Samples of all servers together."""

    @property
    def is_measured(self) -> bool:
        """Whether compute times were measured, for one batch, rather than counted in FLOPs."""
        return any(part.seconds is not None for part in self.parts)

    @property
    def num_parameters(self) -> int:
        """Of all experts, too."""
        return sum(part.parameters + part.experts * part.expert_parameters for part in self.parts)

    @property
    def flops(self) -> Fraction:
        """Of the forward pass of one sample."""
        return sum((part.flops for part in self.parts), Fraction(0))

    def with_batch(self, batch: int) -> Model:
        """Return the model with another batch on each server."""
        if self.is_measured:
            raise LinkstepError(f"{self.name}: its times were measured for one batch; measure it again for another")
        if batch < 1:
            raise LinkstepError(f"a server's batch must be at least 1, not {batch}")
        return replace(self, batch=Fraction(batch), batch_of_all=None)

    def with_hardware(self, *, utilisation: Fraction | None = None, memory: Fraction | None = None) -> Model:
        """Return the model on other hardware numbers, those that are given."""
        changed = self.hardware
        if utilisation is not None:
            if self.is_measured:
                raise LinkstepError(f"{self.name}: its times were measured, so that utilisation says nothing")
            if not 0 < utilisation <= 1:
                raise LinkstepError(f"utilisation must lie in (0, 1], not {float(utilisation):g}")
            changed = replace(changed, utilisation=utilisation)
        if memory is not None:
            changed = replace(changed, memory=memory)
        return replace(self, hardware=changed)

    def memory(self, num_nodes: int) -> Fraction:
        """Return bytes of parameters, gradients and optimizer state on each server; activations are not counted."""
        held = sum(
            (part.parameters + Fraction(part.experts, num_nodes) * part.expert_parameters for part in self.parts),
            Fraction(0),
        )
        return held * (self.widths.parameter + self.widths.gradient + self.widths.optimizer)

    def job(self, num_nodes: int) -> Job:
        """Return what each of N servers does in an iteration; LinkstepError if N cannot train the model.

        >>> half = Part("half", parameters=1000, flops=Fraction(10**6))
        >>> model = Model("tiny", (half, half), hardware=Hardware(peak_flops=Fraction(10**9)), batch=Fraction(1))
        >>> model.job(4).layers[0].forward, model.job(4).compute
        (Fraction(1, 1000), Fraction(3, 500))
        """
        self._check(num_nodes)
        batch = self.batch if self.batch_of_all is None else self.batch_of_all / num_nodes
        layers = tuple(self._layer(part, batch) for part in self.parts)
        job = Job(self.name, num_nodes, layers, batch, self.memory(num_nodes))
        if not (job.compute or job.gradient_bytes or job.num_all_to_alls):
            raise LinkstepError(f"{self.name}: there is nothing to compute and nothing to send")
        return job

    def _layer(self, part: Part, batch: Fraction | None) -> Layer:
        gradients = part.parameters * self.widths.gradient
        if part.seconds is not None:
            return Layer(part.name, *part.seconds, gradients, part.exchanged)
        assert batch is not None
        forward = Fraction(0)
        if part.flops:
            assert self.hardware.peak_flops is not None
            forward = batch * part.flops / (self.hardware.peak_flops * self.hardware.utilisation)
        return Layer(part.name, forward, BACKWARD_FLOPS * forward, gradients, batch * part.exchanged)

    def _check(self, num_nodes: int) -> None:
        if num_nodes < 2:
            raise LinkstepError(f"{self.name}: training on several servers takes at least 2, not {num_nodes}")
        for part in self.parts:
            if part.experts % num_nodes:
                raise LinkstepError(
                    f"{self.name}: the {part.experts} experts of a layer cannot be divided equally over {num_nodes} "
                    f"servers; take a number of servers that divides {part.experts}"
                )
        if self.batch_of_all is not None and self.batch_of_all % num_nodes:
            raise LinkstepError(
                f"{self.name}: a batch of {self.batch_of_all} samples cannot be divided equally over {num_nodes} "
                'servers; "batch" in the model file or --batch of train-sim sets what each trains on'
            )
        need, memory = self.memory(num_nodes), self.hardware.memory
        if memory is not None and need > memory:
            raise LinkstepError(
                f"{self.name}: parameters, gradients and optimizer state take {format_size(need)} on each of "
                f"{num_nodes} servers, more than the memory of {format_size(memory)} that is stated; "
                '"memory" in the model file or --memory of train-sim sets it'
            )

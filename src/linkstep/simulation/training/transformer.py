"""Transformers from their hyperparameters: decoders such as GPT-2, encoders with decoders such as T5, with experts.

Counted are the multiplications of matrices, two FLOPs for each product and sum: projections, attention scores (of all
pairs, also where half of them are masked), feed-forward layers, routers, and the scores of the vocabulary. A token goes
to one expert, and tokens are spread evenly over experts, as app-sec:simtrainingdetails assumes; experts have places for
``capacity`` times as many, which are sent and computed whether filled or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.errors import LinkstepError
from linkstep.simulation.training.model import Part, Widths

MOST_LAYERS = 10_000


@dataclass(frozen=True)
class Transformer:
    """The hyperparameters of a transformer; lengths are in tokens of a sample."""

    vocabulary: int
    width: int
    """d_model."""
    heads: int
    head_width: int
    """d_kv."""
    feed_forward: int
    """d_ff."""
    decoder_layers: int
    decoder_length: int
    encoder_layers: int = 0
    encoder_length: int = 0
    gated: bool = False
    """Whether feed-forward layers have a third matrix (GEGLU)."""
    biased: bool = False
    """Whether projections and norms have biases, as GPT-2's do and T5's do not."""
    position_parameters: int = 0
    """Learned positions, or biases of relative ones, all together."""
    experts: int = 0
    """In each layer that has experts."""
    expert_every: int = 1
    """The last of each group of this many layers has experts in place of its feed-forward layer."""
    capacity: Fraction = Fraction(1)
    """The capacity factor: places that experts have for each token. All are sent and computed, the empty ones too."""

    def parts(self, widths: Widths) -> Iterator[Part]:
        """List the parts in the order of the forward pass.

        The table of the vocabulary is used by the first part and by the last; its gradient is ready when both are done,
        so it is counted in the first.
        """
        self._check()
        yield Part("embedding", self.vocabulary * self.width + self.position_parameters)
        stacks = (
            ("encoder", self.encoder_layers, self.encoder_length),
            ("decoder", self.decoder_layers, self.decoder_length),
        )
        for stack, layers, length in stacks:
            for number in range(1, layers + 1):
                yield self._attention(f"{stack} {number} attention", length, length)
                if stack == "decoder" and self.encoder_layers:
                    yield self._attention(f"{stack} {number} cross-attention", length, self.encoder_length)
                if self.experts and number % self.expert_every == 0:
                    yield from self._routed(f"{stack} {number}", length, widths)
                else:
                    flops = Fraction(2 * length * self._feed_forward_weights)
                    yield Part(f"{stack} {number} feed-forward", self._feed_forward_parameters + self._norm, flops)
            if layers:
                yield Part(f"{stack} norm", self._norm)
        yield Part("scores", flops=Fraction(2 * self.decoder_length * self.width * self.vocabulary))

    def _check(self) -> None:
        sizes = ["vocabulary", "width", "heads", "head_width", "feed_forward", "decoder_length"]
        for name in [*sizes, "encoder_length"] if self.encoder_layers else sizes:
            if not getattr(self, name):
                raise LinkstepError(f"{name} must be at least 1, not 0")
        layers = max(self.encoder_layers, self.decoder_layers)
        if not 1 <= layers <= MOST_LAYERS:
            raise LinkstepError(f"encoder_layers and decoder_layers must be from 1 to {MOST_LAYERS}, not {layers}")
        if self.experts and not 1 <= self.expert_every <= layers:
            raise LinkstepError(f"expert_every must be at least 1 and at most the layers, not {self.expert_every}")
        if self.capacity < 1:
            raise LinkstepError(f"capacity must be at least 1, not {float(self.capacity):g}")

    @property
    def _norm(self) -> int:
        return (2 if self.biased else 1) * self.width

    @property
    def _feed_forward_weights(self) -> int:
        return (3 if self.gated else 2) * self.width * self.feed_forward

    @property
    def _feed_forward_parameters(self) -> int:
        biases = (2 if self.gated else 1) * self.feed_forward + self.width
        return self._feed_forward_weights + (biases if self.biased else 0)

    def _attention(self, name: str, length: int, other: int) -> Part:
        """Return attention of ``length`` tokens to ``other`` tokens: two projections of each, then all pairs."""
        inner = self.heads * self.head_width
        biases = 3 * inner + self.width if self.biased else 0
        projections = 2 * (2 * length + 2 * other) * self.width * inner
        pairs = 2 * 2 * length * other * inner
        return Part(name, 4 * self.width * inner + biases + self._norm, Fraction(projections + pairs))

    def _routed(self, name: str, length: int, widths: Widths) -> Iterator[Part]:
        """List a router and its experts; a token goes to one of these."""
        yield Part(
            f"{name} router", self.width * self.experts + self._norm, Fraction(2 * length * self.width * self.experts)
        )
        yield Part(
            f"{name} experts",
            flops=self.capacity * 2 * length * self._feed_forward_weights,
            experts=self.experts,
            expert_parameters=self._feed_forward_parameters,
            exchanged=self.capacity * length * self.width * widths.activation,
        )

"""Make docs/pictures/allreduce-64-4.svg, the moving picture of the README: two allreduces of 1MB against one clock.

Hosts fill up with what they have received of all they will receive, by the exact loads and times of both schedules.
Animated by CSS alone, so that it moves wherever an SVG is shown as an image; who asks for less motion sees the moment
at which the faster one is done. Run: ``python scripts/make_front_picture.py [FILE]``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

import linkstep
from linkstep.baselines import baseline
from linkstep.core.schedule import Schedule
from linkstep.core.units import format_time
from linkstep.costs import Fabric, loads_of
from linkstep.costs.seconds import seconds_by_step
from linkstep.pictures.layout import Layout, cables, lay_out

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "allreduce-64-4.svg"
SIZE, FABRIC = "1MB", Fabric.of("10us", "100Gbps", 4)
WIDTH, HEIGHT, SIDE = 880, 520, 360
MOVING, RESTING = 7, 2
"""Seconds of the film: until the slower one is done, and the rest before it starts again."""


@dataclass(frozen=True)
class Half:
    """One side of the picture."""

    title: str
    schedule: Schedule
    left: int
    colour: str

    @property
    def ends(self) -> list[Fraction]:
        """When each step ends, in seconds."""
        steps = seconds_by_step(self.schedule, FABRIC, SIZE)
        return [sum(steps[: k + 1], Fraction(0)) for k in range(len(steps))]

    def received(self) -> np.ndarray:
        """Return the part of all that a host will receive that it has after each step: a row a host."""
        loads = loads_of(self.schedule)
        amount = np.zeros((self.schedule.topology.num_nodes, loads.num_steps))
        np.add.at(amount, (loads.received.place, loads.received.step - 1), loads.received.amount)
        return np.cumsum(amount, axis=1) / amount.sum(axis=1, keepdims=True)


def make() -> str:
    """Return the picture's text."""
    today = baseline("torus-rings", "Torus(8,8)").schedule("allreduce")
    best = linkstep.find(64, 4).frontier[0]
    halves = (
        Half("wired and run as today: a torus, rings", today, 40, "soft"),
        Half(f"wired and run by linkstep: {best.recipe.short}", best.build("allreduce"), 480, "accent"),
    )
    longest = max(half.ends[-1] for half in halves)
    rules: list[str] = []
    body = [line for k, half in enumerate(halves) for line in _half(half, f"h{k}", longest, rules)]
    return _document(body, rules)


def _percent(at: Fraction, longest: Fraction) -> str:
    return f"{float(at / longest) * 100 * MOVING / (MOVING + RESTING):.2f}%"


def _half(half: Half, name: str, longest: Fraction, rules: list[str]) -> list[str]:
    place, topology = lay_out(half.schedule.topology), half.schedule.topology
    xy = place.place * (SIDE / 2 - 12) * (1, -1) + (half.left + SIDE / 2, 70 + SIDE / 2)
    pairs = cables(topology).tolist()
    ends = ((xy[u], xy[v]) for u, v in pairs if _is_drawn(place, u, v))
    lines = "".join(f"M{u[0]:.0f} {u[1]:.0f}L{v[0]:.0f} {v[1]:.0f}" for u, v in ends)
    parts = [f'<text class="title" x="{half.left}" y="46">{half.title}</text>', f'<path class="cable" d="{lines}"/>']
    profiles: dict[tuple[float, ...], str] = {}
    for node, row in enumerate(half.received()):
        key = tuple(np.round(row, 4))
        film = profiles.setdefault(key, f"{name}-{len(profiles)}")
        x, y = xy[node]
        parts.append(f'<circle class="host" cx="{x:.1f}" cy="{y:.1f}" r="8.5"/>')
        parts.append(f'<circle class="{half.colour} {film}" cx="{x:.1f}" cy="{y:.1f}" r="8.5"/>')
    starts = [Fraction(0), *half.ends]
    for row, film in profiles.items():
        frames = "".join(
            f"{_percent(end, longest)}{{transform:scale({part:.3f})}}"
            for end, part in zip(starts, (0.0, *row), strict=True)
        )
        still = next((part for end, part in zip(half.ends, row, strict=True) if end >= _fastest()), 1.0)
        rules.append(f"@keyframes {film}{{{frames}100%{{transform:scale(1)}}}}")
        rules.append(f".{film}{{animation-name:{film};--still:{still:.3f}}}")
    width = SIDE * float(half.ends[-1] / longest)
    end, after = _percent(half.ends[-1], longest), _percent(half.ends[-1] * Fraction(1001, 1000), longest)
    rules.append(f"@keyframes {name}-bar{{0%{{transform:scaleX(0)}}{end},100%{{transform:scaleX(1)}}}}")
    rules.append(f".{name}-bar{{animation-name:{name}-bar;--still:{min(1.0, float(_fastest() / half.ends[-1])):.3f}}}")
    rules.append(f"@keyframes {name}-done{{0%,{end}{{opacity:0}}{after},100%{{opacity:1}}}}")
    is_fastest = half.ends[-1] == _fastest()
    rules.append(f".{name}-done{{animation-name:{name}-done;--seen:{int(is_fastest)}}}")
    y = 70 + SIDE + 22
    parts += [
        f'<rect class="track" x="{half.left}" y="{y}" width="{SIDE}" height="9" rx="4"/>',
        f'<rect class="bar {half.colour} {name}-bar" x="{half.left}" y="{y}" width="{width:.1f}" height="9" rx="4"/>',
        f'<text class="done {name}-done" x="{half.left}" y="{y + 34}">'
        f"done: {format_time(half.ends[-1])} in {len(half.ends)} steps</text>",
    ]
    return parts


def _is_drawn(place: Layout, u: int, v: int) -> bool:
    """Whether a cable is drawn: those around a torus would run through all hosts in between."""
    if not place.dims:
        return True
    a, b = (np.array(np.unravel_index(node, place.dims)) for node in (u, v))
    return int(np.abs(a - b).max()) == 1


def _fastest() -> Fraction:
    return FABRIC.time(linkstep.find(64, 4).frontier[0].allreduce_cost, linkstep.Collective.ALLREDUCE, SIZE)


def _document(body: list[str], rules: list[str]) -> str:
    style = (
        "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#22262e}.title{font-size:16px;font-weight:600}"
        ".note{font-size:13px;fill:#545c6b}.done{font-size:17px;font-weight:600}"
        ".paper{fill:#fff}.host{fill:#fff;stroke:#8a94a6}.cable{stroke:#c3cad6;stroke-width:.8;fill:none}.track{fill:#e6e9ef}"
        ".soft{fill:#8a6d3b}.accent{fill:#0072b2}"
        "@media(prefers-color-scheme:dark){text{fill:#e8ebf0}.note{fill:#a9b3c2}.paper,.host{fill:#14171c}"
        ".cable{stroke:#3d4552}.track{fill:#2d333d}.soft{fill:#d8a24a}.accent{fill:#56b4e9}}"
        f"[class*=h0-],[class*=h1-]{{animation:{MOVING + RESTING}s linear infinite}}"
        "circle,.bar{transform-box:fill-box;transform-origin:center}.bar{transform-origin:left}"
    )
    still = (
        "@media(prefers-reduced-motion:reduce){[class*=h0-],[class*=h1-]{animation:none!important}"
        "circle[class*=h]:not(.host){transform:scale(var(--still))}.bar{transform:scaleX(var(--still))}"
        ".done{opacity:var(--seen)}}"
    )
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">\n'
        "<title>An allreduce of 1MB on 64 servers with 4 ports each, as today and by linkstep</title>\n"
        f"<style>{style}{''.join(rules)}{still}</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>\n'
        '<text class="note" x="40" y="20">64 servers, 4 ports each, 128 cables: an allreduce of 1MB. '
        "A host is full when it has received all it needs.</text>\n" + "\n".join(body) + "\n</svg>\n"
    )


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE).write_text(make(), "utf-8")

"""Exhibits of training: fig:smalltraining, fig:gpt2training, fig:simmoetraining and fig:simmoetimeline.

All are simulated (app-sec:simtrainingdetails): compute times come from a count of FLOPs with the hardware numbers of
each model file, where the paper took them from a GPU. Where our figures differ from the paper's, cells below them say
what the paper's figures imply: how large its allreduces can be, and how many times ours its compute times are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from math import isqrt

from linkstep.baselines import baseline
from linkstep.baselines.tori import torus_flow
from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, bandwidth_bound
from linkstep.families.circulant import circulant
from linkstep.make import schedule
from linkstep.pictures.training import draw_iteration
from linkstep.reproduction.charts import Bars, Chart, Panel
from linkstep.reproduction.exhibit import Exhibit, Result
from linkstep.reproduction.figures import Better, Cell, Kind, cell
from linkstep.reproduction.frontiers import flow_of, paper_rows, with_flow
from linkstep.reproduction.servers import TESTBED
from linkstep.search import Answer, find
from linkstep.search.spot import Spot
from linkstep.simulation.training import Iteration, Job, Network, best_iteration, bound_network, load_model
from linkstep.simulation.training.network import baseline_network, choice_network, costed_network
from linkstep.simulation.training.streams import ALL_TO_ALL, ALLREDUCE, COMPUTE
from linkstep.throughput import exact_all_to_all

SMALL = ("alexnet", "resnet18", "resnet50", "vgg16")
GPT2 = ("gpt2-small", "gpt2-medium", "gpt2-large")
ABOUT = Fraction(5)
_ONE = Fraction(1)
_MOST_COMPUTE = 40
"""Compute times are looked for up to so many times ours."""
LAYERS = "the paper's models, which its text does not name, have smaller layers than ours: see their sizes below"
SMALLER = "its allreduces are smaller than ours, or slower than its fit says: see the size below"
COMPUTE_TIMES = "its compute times are not known: see those that this figure implies, below"
RING, TREE = "ShiftedRing", "double binary tree"


def _small_networks(num_nodes: int, recipe: str) -> dict[str, Network]:
    """Return the networks of the testbed's topologies, links and latency as the paper fitted them."""
    ours = schedule(recipe, Collective.ALLREDUCE, method="bfb").cost
    ring = baseline("shifted rings", f"ShiftedRing(4,{num_nodes})")
    trees = baseline("double binary tree", f"DoubleBinaryTree({num_nodes})")
    return {
        "ours": costed_network(recipe, num_nodes, ours, None, TESTBED),
        RING: baseline_network(ring, TESTBED),
        TREE: baseline_network(trees, TESTBED),
    }


def _total_allreduce(job: Job, network: Network) -> Fraction:
    """Return the sum of the times of an allreduce for each layer by itself, as fig:smalltraining counts."""
    sizes = [layer.gradient_bytes for layer in job.layers if layer.gradient_bytes]
    return sum((network.allreduce(size) for size in sizes), Fraction(0))


def _less(ours: Fraction, theirs: Fraction) -> Fraction:
    return 100 * (1 - ours / theirs)


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _changed(job: Job, compute: Fraction = _ONE, gradients: Fraction = _ONE, exchanged: Fraction = _ONE) -> Job:
    """Return a job with compute times, gradients and what is sent to experts so many times as large."""
    layers = (
        replace(
            layer,
            forward=compute * layer.forward,
            backward=compute * layer.backward,
            gradient_bytes=gradients * layer.gradient_bytes,
            all_to_all_bytes=exchanged * layer.all_to_all_bytes,
        )
        for layer in job.layers
    )
    return replace(job, layers=tuple(layers))


def _implied_compute(value: Callable[[Fraction], Fraction], figure: int) -> Fraction:
    """Return how many times ours compute times are, to a hundredth, where a value that falls with them is a figure."""
    low, high = 0, 100 * _MOST_COMPUTE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(Fraction(middle, 100)) > figure else (low, middle)
    return Fraction(high, 100)


def _size_where(ours: Network, theirs: Network, percent: Fraction) -> Fraction:
    """Return the bytes of an allreduce that takes so many percent less on ours; both times are linear in bytes.

    No iteration with buckets of at least so many bytes gains more, whatever it computes: computing hides a difference
    or adds to both times.
    """
    (start, rate), (slow_start, slow_rate) = (
        (network.allreduce(Fraction(0)), network.allreduce(_ONE) - network.allreduce(Fraction(0)))
        for network in (ours, theirs)
    )
    left = 1 - percent / 100
    return (left * slow_start - start) / (rate - left * slow_rate)


def _testbed_cells(item: str, ours: str, jobs: dict[str, Job], networks: dict[str, Network], gain: int) -> list[Cell]:
    """Say what the paper's gains in iteration time imply: the size of allreduces, and compute times."""

    def below(whom: str, compute: Fraction) -> Fraction:
        found = [
            [best_iteration(_changed(job, compute), networks[name]).time for name in ("ours", whom)]
            for job in jobs.values()
        ]
        return _mean([_less(mine, theirs) for mine, theirs in found])

    tree = 25
    times = _implied_compute(lambda compute: below(TREE, compute), tree)
    size = _size_where(networks["ours"], networks[RING], Fraction(gain)) / 10**6
    return [
        cell(item, f"largest allreduce that takes {gain}% less on {ours} than on {RING}", unit="MB",
             bases=size),
        cell(item, f"compute times over ours where {ours} is {tree}% below {TREE}", unit="times", bases=times),
        cell(item, f"iteration time: {ours} below {RING}, with those compute times", unit="%",
             bases=below(RING, times)),
    ]  # fmt: skip


def compute_small() -> Result:
    """Simulate small models on 8 servers: K_{4,4} beside shifted rings and double binary trees."""
    networks = _small_networks(8, "K_{4,4}")
    jobs = {name: load_model(name).job(8) for name in SMALL}
    total = {(m, n): _total_allreduce(job, net) for m, job in jobs.items() for n, net in networks.items()}
    step = {(m, n): best_iteration(job, net).time for m, job in jobs.items() for n, net in networks.items()}
    cells: list[Cell] = []
    item = "mean over models, 8 servers"
    for what, found, papers in (
        ("total allreduce time", total, (("30", LAYERS), ("50", ""))),
        ("iteration time", step, (("10", SMALLER), ("25", COMPUTE_TIMES))),
    ):
        for whom, (paper, why) in zip((RING, TREE), papers, strict=True):
            gain = _mean([_less(found[m, "ours"], found[m, whom]) for m in SMALL])
            cells.append(
                cell(
                    item,
                    f"{what}: K_{{4,4}} below {whom}",
                    unit="%",
                    paper=paper,
                    bases=gain,
                    within=ABOUT,
                    why=why,
                )
            )
        cells += [
            cell(f"{m} on {n if n != 'ours' else 'K_{4,4}'}", what, unit="ms", bases=1000 * time, kind=Kind.POINT)
            for (m, n), time in found.items()
        ]
    cells += _testbed_cells(item, "K_{4,4}", jobs, networks, 10)
    cells += _layer_cells(jobs, networks, total)
    panels = tuple(
        Panel(title, "", "over K_{4,4}'s", names=SMALL, bars=_bars(found, SMALL, "K_{4,4}"))
        for title, found in (("total allreduce time", total), ("iteration time", step))
    )
    return Result(tuple(cells), Chart(panels), (_MODELS, _SMALL_NOTE))


def _layer_cells(
    jobs: dict[str, Job], networks: dict[str, Network], total: dict[tuple[str, str], Fraction]
) -> list[Cell]:
    """Say how large layers are, which alone decides the total allreduce time, and how large the paper's must be."""
    size = _size_where(networks["ours"], networks[RING], Fraction(30)) / 10**6
    cells = [
        cell(
            "any model, 8 servers",
            f"mean gradient of a layer with which K_{{4,4}} is 30% below {RING}",
            unit="MB",
            bases=size,
        )
    ]
    for name, job in jobs.items():
        layers = sum(layer.gradient_bytes > 0 for layer in job.layers)
        gain = _less(total[name, "ours"], total[name, RING])
        cells += [
            cell(name, "mean gradient of a layer", unit="MB", bases=job.gradient_bytes / layers / 10**6),
            cell(name, f"total allreduce time: K_{{4,4}} below {RING}", unit="%", bases=gain),
        ]
    return cells


_MODELS = (
    "Batch sizes are the paper's. Allreduces take what the paper's fit of its testbed says; compute times are FLOPs "
    "over what each model file states of an A100. Precision and buckets of the paper's runs are not known."
)
_SMALL_NOTE = (
    "The text of the paper does not say which small models it trains. The total allreduce time depends on the layers' "
    "sizes alone: ResNets, with layers of about 1 MB, save about what the paper prints; AlexNet and VGG-16, with "
    "layers of 30 MB and more, save next to nothing, for latency does not count there."
)


def _bars(found: dict[tuple[str, str], Fraction], models: tuple[str, ...], ours: str) -> tuple[Bars, ...]:
    return tuple(
        Bars(ours if n == "ours" else n, [found[m, n] / found[m, "ours"] for m in models]) for n in ("ours", RING, TREE)
    )


def compute_gpt2() -> Result:
    """Simulate GPT-2 on 12 servers: C(12,{2,3}) beside shifted rings and double binary trees."""
    networks = _small_networks(12, "C(12,{2,3})")
    jobs = {name: load_model(name).job(12) for name in GPT2}
    step = {(m, n): best_iteration(job, net).time for m, job in jobs.items() for n, net in networks.items()}
    cells = [
        cell(
            "mean over models, 12 servers", f"iteration time: C(12,{{2,3}}) below {whom}", unit="%", paper=paper,
            bases=_mean([_less(step[m, "ours"], step[m, whom]) for m in GPT2]), within=ABOUT, why=why,
        )
        for whom, paper, why in ((RING, "7", SMALLER), (TREE, "25", COMPUTE_TIMES))
    ]  # fmt: skip
    cells += _testbed_cells("mean over models, 12 servers", "C(12,{2,3})", jobs, networks, 7)
    cells += [
        cell(f"{m} on {n}", "iteration time", unit="ms", bases=1000 * time, kind=Kind.POINT)
        for (m, n), time in step.items()
    ]
    panel = Panel(
        "iteration time, 12 servers", "", "over C(12,{2,3})'s", names=GPT2, bars=_bars(step, GPT2, "C(12,{2,3})")
    )
    return Result(tuple(cells), Chart((panel,)), (_MODELS, _GPT2_NOTE))


_GPT2_NOTE = (
    "DDP's buckets hold 25 MiB unless told otherwise, and by the paper's own fit no allreduce of that size gains 7%. "
    "Our compute times assume 125 TFLOP/s (bfloat16); those that the 25% imply are near the 19.5 TFLOP/s that an A100 "
    "has for float32 without TF32."
)


FABRIC = Fabric.of("10us", "100Gbps", 4)


@dataclass(frozen=True)
class _Scale:
    """What the paper says of one size: how many times as long all-to-alls and iterations take, and their shares."""

    num_nodes: int
    model: str
    times: dict[tuple[str, str], str]
    shares: dict[str, str]


_RINGS, _TORUS, _PAPER, _OURS, _BOUND = "ShiftedRing", "2D torus", "paper's bases", "linkstep", "no topology beats"
_SCALES = (
    _Scale(
        256, "switch-base-256",
        {(_RINGS, "all-to-all"): "8", (_RINGS, "iteration"): "4", (_TORUS, "all-to-all"): "2",
         (_TORUS, "iteration"): "1.5"},
        {},
    ),
    _Scale(
        1024, "switch-c-2048",
        {(_RINGS, "all-to-all"): "27", (_RINGS, "iteration"): "9", (_TORUS, "all-to-all"): "3.3",
         (_TORUS, "iteration"): "1.7"},
        {_RINGS: "91", _TORUS: "58", _PAPER: "30"},
    ),
)  # fmt: skip


def _best_networks(job: Job, answer: Answer) -> list[Network]:
    """Return the rows of an answer that may be the best, flows proven: until the next could not win by its bound."""
    hoped = sorted((best_iteration(job, choice_network(row, FABRIC)).time, k) for k, row in enumerate(answer.frontier))
    found: list[Network] = []
    least: Fraction | None = None
    for time, k in hoped:
        if least is not None and time >= least:
            break
        found.append(choice_network(with_flow(answer.frontier[k]), FABRIC))
        reached = best_iteration(job, found[-1]).time
        least = reached if least is None else min(least, reached)
    return found


@cache
def _networks(num_nodes: int, model: str) -> dict[str, list[Network]]:
    """Return the topologies to choose from, by who proposes them."""
    job = load_model(model).job(num_nodes)
    side, ring = isqrt(num_nodes), Cost(num_nodes - 1, bandwidth_bound(num_nodes))
    grid = baseline("torus rings", f"Torus({side},{side})").cost
    assert grid is not None
    rings = exact_all_to_all(circulant(num_nodes, (1, 3)))
    answer = find(num_nodes, 4, spot=Spot(0))
    return {
        _RINGS: [costed_network(_RINGS, num_nodes, ring + ring, rings, FABRIC)],
        _TORUS: [costed_network(_TORUS, num_nodes, grid + grid, torus_flow((side, side)), FABRIC)],
        _PAPER: [
            costed_network(recipe, num_nodes, cost + cost, flow_of(recipe).least, FABRIC)
            for recipe, cost in paper_rows(num_nodes)
        ],
        _OURS: _best_networks(job, answer),
        _BOUND: [bound_network(answer, FABRIC)],
    }


def _best(job: Job, networks: list[Network]) -> Iteration:
    return min((best_iteration(job, network) for network in networks), key=lambda done: done.time)


@cache
def _iterations(num_nodes: int, model: str) -> dict[str, Iteration]:
    """Return the best iteration of a model on each topology."""
    job = load_model(model).job(num_nodes)
    return {name: _best(job, several) for name, several in _networks(num_nodes, model).items()}


def _measure(done: Iteration, what: str) -> Fraction:
    return done.all_to_all if what == "all-to-all" else done.time


def compute_experts() -> Result:
    """Simulate expert-parallel training of Switch Transformers on 256 and 1024 servers."""
    cells: list[Cell] = []
    panels = []
    for scale in _SCALES:
        found = _iterations(scale.num_nodes, scale.model)
        item = f"{scale.model}, N = {scale.num_nodes}"
        for (whom, what), paper in scale.times.items():
            theirs, base, ours = (_measure(found[name], what) for name in (whom, _PAPER, _OURS))
            slack = Fraction(paper) / 8 if what == "all-to-all" else Fraction(paper) / 5
            cells.append(
                cell(
                    item,
                    f"{what} time: {whom} over ours",
                    unit="times",
                    paper=paper,
                    bases=theirs / base,
                    ours=theirs / ours,
                    better=Better.MORE,
                    within=slack,
                    why=_why(what),
                )
            )
        for name, paper in scale.shares.items():
            done, best = found[name], found[_OURS] if name == _PAPER else None
            cells.append(
                cell(
                    item,
                    f"all-to-all in an iteration on {'ours' if name == _PAPER else name}",
                    unit="%",
                    paper=paper,
                    bases=100 * done.all_to_all / done.time,
                    ours=None if best is None else 100 * best.all_to_all / best.time,
                    within=Fraction(5),
                    why=_why("share"),
                )
            )
        over = [100 * (found[name].time / found[_BOUND].time - 1) for name in (_PAPER, _OURS)]
        cells.append(
            cell(
                item,
                "iteration within 5% of the bound",
                paper="yes",
                bases="yes" if over[0] <= 5 else "no",
                ours="yes" if over[1] <= 5 else "no",
                why=_why("share"),
            )
        )
        cells.append(cell(item, "iteration above the bound", unit="%", bases=over[0], ours=over[1]))
        cells += _implied_cells(scale, item)
        cells += _iteration_points(item, found)
        panels.append(_parts_panel(item, found))
    return Result(tuple(cells), Chart(tuple(panels)), _EXPERT_NOTES)


def _implied_cells(scale: _Scale, item: str) -> list[Cell]:
    """Say what the paper's figures of one size imply: compute times at 256, at 1024 what is sent."""
    job, networks = load_model(scale.model).job(scale.num_nodes), _networks(scale.num_nodes, scale.model)

    def over_ours(whom: str, compute: Fraction) -> Fraction:
        changed = _changed(job, compute)
        return _best(changed, networks[whom]).time / _best(changed, networks[_PAPER]).time

    if not scale.shares:
        figure = int(scale.times[_RINGS, "iteration"])
        times = _implied_compute(partial(over_ours, _RINGS), figure)
        return [
            cell(item, f"compute times over ours where {_RINGS} takes {figure} times ours", unit="times", bases=times),
            cell(item, f"iteration time: {_TORUS} over ours, with those compute times", unit="times",
                 paper=scale.times[_TORUS, "iteration"], bases=over_ours(_TORUS, times)),
        ]  # fmt: skip
    cells = []
    for what, gradients, exchanged in _SENT:
        done = _best(_changed(job, Fraction(0), gradients, exchanged), networks[_PAPER])
        share = 100 * done.all_to_all / done.time
        cells.append(cell(item, f"most all-to-all in an iteration on ours, whatever is computed: {what}", unit="%",
                          bases=share))  # fmt: skip
    return cells


_SENT = (
    ("gradients of 4 bytes, activations of 2", Fraction(2), Fraction(1)),
    ("both alike, no spare places", Fraction(1), Fraction(4, 5)),
    ("both alike, capacity 1.25", Fraction(1), Fraction(1)),
)
"""What may be sent, and how many times the model file's gradients and exchanged activations that is."""


def _why(what: str) -> str:
    return "" if what == "all-to-all" else "compute times from FLOPs, not from a GPU"


_EXPERT_NOTES = (
    "Ratios of all-to-all times depend on the topologies alone; iteration times and shares also on compute, which the "
    "paper took from an A100 and which here comes from FLOPs and the utilisation that the model file states.",
    "The paper does not say how wide its numbers are. With activations narrower than gradients, or as wide but no "
    "spare places at experts, less than its 30% at 1024 nodes is all-to-all, whatever is computed. The model files "
    "have both in bfloat16 and a capacity factor of 1.25, as Switch Transformers do.",
    "The paper's shifted rings are C(N,{1,3}). Its coarse figures count as reached within an eighth for all-to-all, a "
    "fifth for iterations.",
)


def _iteration_points(item: str, found: dict[str, Iteration]) -> list[Cell]:
    parts: dict[str, Callable[[Iteration], Fraction]] = {
        "compute": lambda done: done.compute,
        "exposed allreduce": lambda done: done.exposed_allreduce,
        "all-to-all": lambda done: done.all_to_all,
    }
    return [
        cell(f"{item}, {name}", part, unit="ms", bases=1000 * take(done), kind=Kind.POINT)
        for name, done in found.items()
        for part, take in parts.items()
    ]


def _parts_panel(item: str, found: dict[str, Iteration]) -> Panel:
    bars = (
        Bars("compute", [1000 * done.compute for done in found.values()]),
        Bars("exposed allreduce", [1000 * done.exposed_allreduce for done in found.values()]),
        Bars("all-to-all", [1000 * done.all_to_all for done in found.values()]),
    )
    return Panel(item, "", "iteration in ms", names=tuple(found), bars=bars, is_stacked=True)


def compute_timeline() -> Result:
    """Draw an iteration of expert-parallel training, and hold it against the rules of the paper's simulation."""
    done = _iterations(256, "switch-base-256")[_OURS]
    communication = [event for event in done.events if event.kind in (ALLREDUCE, ALL_TO_ALL)]
    compute = [event for event in done.events if event.stream == COMPUTE]
    apart = all(a.end <= b.start for a, b in pairwise(communication))
    waits = all(
        event.end <= exchange.start or event.start >= exchange.end
        for exchange in communication if exchange.kind == ALL_TO_ALL
        for event in compute
    )  # fmt: skip
    overlaps = any(
        event.start < reduce.end and reduce.start < event.end
        for reduce in communication if reduce.kind == ALLREDUCE
        for event in compute
    )  # fmt: skip
    rules = (
        ("one collective at a time: allreduce and all-to-all never overlap", apart),
        ("computing waits for every all-to-all", waits),
        ("allreduces overlap with computing", overlaps),
    )
    cells = [
        cell("switch-base-256, N = 256", rule, paper="yes", bases="yes" if holds else "no") for rule, holds in rules
    ]
    cells.append(
        cell(
            "switch-base-256, N = 256",
            "all-to-alls in an iteration",
            bases=sum(e.kind == ALL_TO_ALL for e in done.events),
        )
    )
    title = "fig:simmoetimeline: an iteration of switch-base-256 on 256 servers"
    return Result(tuple(cells), partial(_draw, done, title), ("One iteration on linkstep's topology, best bucket.",))


def _draw(done: Iteration, title: str, path: object) -> None:
    draw_iteration(done, path, title)  # type: ignore[arg-type]


_NO_GPUS = "training on A100 GPUs; iterations are simulated."

EXHIBITS = (
    Exhibit(
        "fig:smalltraining", "Training of small models on 8 servers", compute_small,
        "Iterations are simulated with the paper's fit of its testbed and the best of four bucket sizes.", _NO_GPUS,
    ),
    Exhibit(
        "fig:gpt2training", "Training of GPT-2 on 12 servers", compute_gpt2, "As fig:smalltraining.", _NO_GPUS,
    ),
    Exhibit(
        "fig:simmoetraining", "Expert-parallel training on 256 and 1024 servers", compute_experts,
        "The paper's own simulation again: exact costs, flows within half a percent, alpha = 10us, 100 Gbps a node.",
        "compute times measured on an A100 GPU; they come from a count of FLOPs.", is_quick=False, needs=("highspy",),
    ),
    Exhibit(
        "fig:simmoetimeline", "A timeline of expert-parallel training", compute_timeline,
        "The events of one simulated iteration.", "compute times measured on an A100 GPU.", is_quick=False,
        needs=("highspy",),
    ),
)  # fmt: skip

"""Exhibits of training on the testbed, fig:smalltraining and fig:gpt2training; those of experts are in ``experts``.

Both are simulated (app-sec:simtrainingdetails): compute times come from a count of FLOPs with the hardware numbers of
each model file, where the paper took them from a GPU. Where our figures differ from the paper's, cells below them say
what the paper's figures imply: how large its allreduces can be, and how many times ours its compute times are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from linkstep.baselines import Baseline, baseline
from linkstep.core.collective import Collective
from linkstep.reproduction.changes import implied_compute, with_changes
from linkstep.reproduction.charts import Bars, Chart, ChartPanel
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.experts import EXPERT_EXHIBITS
from linkstep.reproduction.figures import ABOUT, Cell, CellKind, cell, mean, percent_less
from linkstep.reproduction.servers import APART, TESTBED
from linkstep.scheduling import schedule
from linkstep.simulation.training import Job, Network, best_iteration, load_model
from linkstep.simulation.training.network import baseline_network, costed_network

SMALL = ("alexnet", "resnet18", "resnet50", "vgg16")
GPT2 = ("gpt2-small", "gpt2-medium", "gpt2-large")
LAYERS = "by its fit, the paper's models, which its text does not name, have smaller layers: see the sizes below"
SMALLER = "its allreduces are smaller than ours, or slower than its fit says: see the size below"
COMPUTE_TIMES = "its compute times are not known: see those that this figure implies, below"
RING, TREE = "ShiftedRing", "double binary tree"
OVERLAPPED = "with reduce and broadcast at once; one half after the other, trees take longer: see below"


def _small_networks(num_nodes: int, recipe: str) -> dict[str, Network]:
    """Return the networks of the testbed's topologies, links and latency as the paper fitted them."""
    ours = schedule(recipe, Collective.ALLREDUCE, method="bfb").cost
    ring = baseline("shifted rings", f"ShiftedRing(4,{num_nodes})")
    trees = baseline("double binary tree", f"DoubleBinaryTree({num_nodes})")
    return {
        "ours": costed_network(recipe, num_nodes, ours, None, TESTBED),
        RING: baseline_network(ring, TESTBED),
        TREE: baseline_network(trees, TESTBED),
        APART: _halves_network(trees),
    }


def _halves_network(trees: Baseline) -> Network:
    """Return the network of trees whose allreduce is a reduce-scatter and then an allgather."""

    def reduce_all(size: Fraction) -> Fraction:
        half = trees.cost_at(TESTBED, size)
        return TESTBED.time(half + half, Collective.ALLREDUCE, size)

    return replace(baseline_network(trees, TESTBED), name=APART, allreduce=reduce_all)


def _total_allreduce(job: Job, network: Network) -> Fraction:
    """Return the sum of the times of an allreduce for each layer by itself, as fig:smalltraining counts."""
    sizes = [layer.gradient_bytes for layer in job.layers if layer.gradient_bytes]
    return sum((network.allreduce(size) for size in sizes), Fraction(0))


def _size_where(ours: Network, theirs: Network, percent: Fraction) -> Fraction:
    """Return the bytes of an allreduce that takes this many percent less on ours; both times are linear in bytes.

    No iteration whose allreduces on ours are all of at least these bytes gains more, whatever it computes: what is
    computed hides a difference or adds to both times.
    """
    (start, rate), (slow_start, slow_rate) = (
        (network.allreduce(Fraction(0)), network.allreduce(Fraction(1)) - network.allreduce(Fraction(0)))
        for network in (ours, theirs)
    )
    left = 1 - percent / 100
    return (left * slow_start - start) / (rate - left * slow_rate)


def _testbed_cells(item: str, ours: str, jobs: dict[str, Job], networks: dict[str, Network], gain: int) -> list[Cell]:
    """Say what the paper's gains in iteration time imply: the size of allreduces, and compute times."""

    def below(whom: str, compute: Fraction) -> Fraction:
        found = [
            [best_iteration(with_changes(job, compute), networks[name]).time for name in ("ours", whom)]
            for job in jobs.values()
        ]
        return mean([percent_less(mine, theirs) for mine, theirs in found])

    tree = 25
    times = implied_compute(lambda compute: below(APART, compute), tree)
    size = _size_where(networks["ours"], networks[RING], Fraction(gain)) / 10**6
    return [
        cell(item, f"largest allreduce that takes {gain}% less on {ours} than on {RING}", unit="MB",
             bases=size),
        cell(item, f"iteration time: {ours} below {APART}", unit="%", bases=below(APART, Fraction(1))),
        cell(item, f"compute times over ours where {ours} is {tree}% below {APART}", unit="times", bases=times),
        cell(item, f"iteration time: {ours} below {RING}, with those compute times", unit="%",
             bases=below(RING, times)),
    ]  # fmt: skip


def compute_small() -> ExhibitResult:
    """Simulate small models on 8 servers: K_{4,4} beside shifted rings and double binary trees."""
    networks = _small_networks(8, "K_{4,4}")
    jobs = {name: load_model(name).job(8) for name in SMALL}
    total = {(m, n): _total_allreduce(job, net) for m, job in jobs.items() for n, net in networks.items()}
    step = {(m, n): best_iteration(job, net).time for m, job in jobs.items() for n, net in networks.items()}
    cells: list[Cell] = []
    item = "mean over models, 8 servers"
    for what, found, papers in (
        ("total allreduce time", total, (("30", LAYERS), ("50", OVERLAPPED))),
        ("iteration time", step, (("10", SMALLER), ("25", COMPUTE_TIMES))),
    ):
        for whom, (paper, why) in zip((RING, TREE), papers, strict=True):
            gain = mean([percent_less(found[m, "ours"], found[m, whom]) for m in SMALL])
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
            cell(f"{m} on {n if n != 'ours' else 'K_{4,4}'}", what, unit="ms", bases=1000 * time, kind=CellKind.POINT)
            for (m, n), time in found.items()
        ]
    apart = mean([percent_less(total[m, "ours"], total[m, APART]) for m in SMALL])
    cells.append(cell(item, f"total allreduce time: K_{{4,4}} below {APART}", unit="%", bases=apart))
    cells += _testbed_cells(item, "K_{4,4}", jobs, networks, 10)
    cells += _layer_cells(jobs, networks, total)
    panels = tuple(
        ChartPanel(title, "", "time over that on K_{4,4}", names=SMALL, bars=_bars(found, SMALL, "K_{4,4}"))
        for title, found in (("total allreduce time", total), ("iteration time", step))
    )
    return ExhibitResult(tuple(cells), Chart(panels), (_MODELS, _SMALL_NOTE))


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
        gain = percent_less(total[name, "ours"], total[name, RING])
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


def compute_gpt2() -> ExhibitResult:
    """Simulate GPT-2 on 12 servers: C(12,{2,3}) beside shifted rings and double binary trees."""
    networks = _small_networks(12, "C(12,{2,3})")
    jobs = {name: load_model(name).job(12) for name in GPT2}
    step = {(m, n): best_iteration(job, net).time for m, job in jobs.items() for n, net in networks.items()}
    cells = [
        cell(
            "mean over models, 12 servers", f"iteration time: C(12,{{2,3}}) below {whom}", unit="%", paper=paper,
            bases=mean([percent_less(step[m, "ours"], step[m, whom]) for m in GPT2]), within=ABOUT, why=why,
        )
        for whom, paper, why in ((RING, "7", SMALLER), (TREE, "25", COMPUTE_TIMES))
    ]  # fmt: skip
    cells += _testbed_cells("mean over models, 12 servers", "C(12,{2,3})", jobs, networks, 7)
    cells += [
        cell(f"{m} on {n}", "iteration time", unit="ms", bases=1000 * time, kind=CellKind.POINT)
        for (m, n), time in step.items()
    ]
    panel = ChartPanel(
        "iteration time, 12 servers",
        "",
        "time over that on C(12,{2,3})",
        names=GPT2,
        bars=_bars(step, GPT2, "C(12,{2,3})"),
    )
    return ExhibitResult(tuple(cells), Chart((panel,)), (_MODELS, _GPT2_NOTE))


_GPT2_NOTE = (
    "DDP's buckets hold 25 MiB unless told otherwise, and by the paper's own fit no allreduce of that size gains 7%. "
    "Our compute times assume 125 TFLOP/s (bfloat16); those that the 25% imply are near the 19.5 TFLOP/s that an A100 "
    "has for float32 without TF32."
)


_NO_GPUS = "training on A100 GPUs; iterations are simulated."

EXHIBITS = (
    Exhibit(
        "fig:smalltraining", "Training of small models on 8 servers", compute_small,
        "Iterations are simulated with the paper's fit of its testbed and the best of four bucket sizes.", _NO_GPUS,
    ),
    Exhibit(
        "fig:gpt2training", "Training of GPT-2 on 12 servers", compute_gpt2, "As fig:smalltraining.", _NO_GPUS,
    ),
    *EXPERT_EXHIBITS,
)  # fmt: skip

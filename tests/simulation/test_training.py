"""Training in time: small cases by hand, properties of any job, published sizes of models, and wrong files."""

import json
from fractions import Fraction as F
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkstep.core.errors import FileError, LinkstepError
from linkstep.costs import Fabric
from linkstep.search import find
from linkstep.simulation.training import (
    BUCKETS,
    Job,
    Layer,
    Network,
    best_iteration,
    compare,
    load_model,
    model_names,
    rank_choices,
    save_layers,
    simulate_iteration,
)
from linkstep.simulation.training.streams import ALL_TO_ALL, ALLREDUCE

PER_BYTE = Network("a second a byte", F, F)
"""An allreduce or an all-to-all of n bytes takes n seconds."""


def layer(name, forward, backward, gradients=0, exchanged=0):
    return Layer(name, F(forward), F(backward), F(gradients), F(exchanged))


def run(*layers, bucket=1):
    return simulate_iteration(Job("job", 4, layers), PER_BYTE, bucket)


def spans(iteration, kind):
    return [(event.name, event.start, event.end) for event in iteration.events if event.kind == kind]


def parts(iteration):
    return iteration.time, iteration.compute, iteration.exposed_allreduce, iteration.all_to_all


# --- by hand ---


def test_one_layer_hides_nothing():
    done = run(layer("a", 1, 2, 5))
    assert spans(done, ALLREDUCE) == [("a", 3, 8)]
    assert parts(done) == (8, 3, 5, 0)


def test_the_last_layers_gradients_go_while_the_first_computes():
    done = run(layer("a", 1, 4, 2), layer("b", 1, 2, 3))
    assert spans(done, ALLREDUCE) == [("b", 4, 7), ("a", 8, 10)]
    assert parts(done) == (10, 8, 2, 0)


def test_one_bucket_for_all_hides_nothing():
    done = run(layer("a", 1, 4, 2), layer("b", 1, 2, 3), bucket=100)
    assert spans(done, ALLREDUCE) == [("b ... a", 8, 13)]
    assert parts(done) == (13, 8, 5, 0)


def test_a_bucket_is_full_at_its_capacity():
    layers = [layer(name, 1, 1, 2) for name in "abcd"]
    assert [name for name, _, _ in spans(run(*layers, bucket=4), ALLREDUCE)] == ["d ... c", "b ... a"]
    assert [name for name, _, _ in spans(run(*layers, bucket=5), ALLREDUCE)] == ["d ... b", "a"]


def test_one_collective_at_a_time():
    done = run(layer("a", 0, 1, 2), layer("b", 0, 1, 10))
    assert spans(done, ALLREDUCE) == [("b", 1, 11), ("a", 11, 13)]
    assert parts(done) == (13, 2, 11, 0)


def test_experts_wait_for_both_all_to_alls_each_way():
    done = run(layer("e", 1, 2, exchanged=10))
    assert spans(done, ALL_TO_ALL) == [("e", 0, 10), ("e", 11, 21), ("e", 21, 31), ("e", 33, 43)]
    assert parts(done) == (43, 3, 0, 40)


def test_an_all_to_all_waits_for_the_allreduces_before_it():
    # backward: c (2..3), then its allreduce of 4 (3..7); the experts' all-to-all cannot start before 7
    done = run(layer("e", 0, 1, exchanged=1), layer("c", 0, 1, 4))
    assert spans(done, ALLREDUCE) == [("c", 3, 7)]
    assert spans(done, ALL_TO_ALL) == [("e", 0, 1), ("e", 1, 2), ("e", 7, 8), ("e", 9, 10)]
    assert parts(done) == (10, 2, 4, 4)


def test_the_best_bucket_is_taken():
    slow_start = Network("alpha", lambda size: F(10) + size / 10**8)
    layers = tuple(layer(str(k), 0, 1, 10**6) for k in range(20))
    best = best_iteration(Job("job", 4, layers), slow_start)
    assert best.bucket == 10**7
    assert best.time == min(simulate_iteration(Job("job", 4, layers), slow_start, size).time for size in BUCKETS)


def test_a_bucket_must_hold_something():
    with pytest.raises(LinkstepError, match="a bucket must hold more than 0 bytes, not 0"):
        run(layer("a", 1, 1), bucket=0)


# --- any job ---

BUSY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""So that no test fails because the machine has other things to do."""
WHOLE = st.integers(0, 20)
LAYERS = st.lists(st.tuples(WHOLE, WHOLE, WHOLE, st.sampled_from([0, 0, 3, 9])), min_size=1, max_size=8).map(
    lambda rows: tuple(layer(str(k), *row) for k, row in enumerate(rows))
)
RATES = st.fractions(min_value=F(1, 8), max_value=8, max_denominator=8)


def network(latency, per_byte, exchange_per_byte):
    return Network("any", lambda size: latency + size * per_byte, lambda size: size * exchange_per_byte)


@BUSY
@given(LAYERS, RATES, RATES, RATES, st.integers(1, 60))
def test_no_iteration_is_shorter_than_either_stream(layers, latency, per_byte, exchange, bucket):
    job = Job("job", 4, layers)
    done = simulate_iteration(job, network(latency, per_byte, exchange), bucket)
    assert done.compute == job.compute
    assert done.time >= max(job.compute + done.all_to_all, done.allreduce + done.all_to_all)
    assert 0 <= done.exposed_allreduce <= done.allreduce
    assert done.time == done.compute + done.exposed_allreduce + done.all_to_all
    for stream in ("compute", "communication"):
        events = [event for event in done.events if event.stream == stream]
        assert all(first.end <= second.start for first, second in pairwise(events))
    exchanges = [event for event in done.events if event.kind == ALL_TO_ALL]
    for event in done.events:
        if event.stream == "compute" and event.duration:
            assert all(event.end <= e.start or e.end <= event.start for e in exchanges)


@BUSY
@given(LAYERS, RATES, RATES, RATES, RATES, st.integers(1, 60))
def test_what_is_faster_is_never_slower(layers, latency, per_byte, exchange, factor, bucket):
    job, faster = Job("job", 4, layers), min(factor, 1 / factor)
    slow = network(latency, per_byte, exchange)
    for quick in (
        network(latency * faster, per_byte, exchange),
        network(latency, per_byte * faster, exchange),
        network(latency, per_byte, exchange * faster),
    ):
        assert simulate_iteration(job, quick, bucket).time <= simulate_iteration(job, slow, bucket).time


@BUSY
@given(LAYERS, RATES, RATES, RATES, RATES, st.integers(1, 60))
def test_no_iteration_gains_more_than_its_allreduces(layers, latency, more, per_byte, exchange, bucket):
    """So the paper's gains bound the sizes of its allreduces, whatever was computed (fig:smalltraining)."""
    job = Job("job", 4, layers)
    fast, slow = (
        simulate_iteration(job, network(first, per_byte, exchange), bucket) for first in (latency, latency + more)
    )
    reduced = [[event.duration for event in done.events if event.kind == ALLREDUCE] for done in (fast, slow)]
    gains = [1 - quick / long for quick, long in zip(*reduced, strict=True)]
    if slow.time:
        assert 1 - fast.time / slow.time <= max(gains, default=0)


@BUSY
@given(LAYERS, RATES, RATES, RATES, st.integers(1, 60))
def test_beside_a_slow_twin(layers, latency, per_byte, exchange, bucket):
    """The same rules, written as what each thing waits for."""
    wires = network(latency, per_byte, exchange)
    done = simulate_iteration(Job("job", 4, layers), wires, bucket)
    orders = []  # (what it is, seconds)
    gathered = 0
    for backward in (False, True):
        for one in reversed(layers) if backward else layers:
            around = [("blocking", wires.all_to_all(one.all_to_all_bytes))] if one.all_to_all_bytes else []
            orders += [*around, ("compute", one.backward if backward else one.forward), *around]
            gathered += one.gradient_bytes if backward else 0
            if gathered >= bucket:
                orders.append(("reduce", wires.allreduce(gathered)))
                gathered = 0
    if gathered:
        orders.append(("reduce", wires.allreduce(gathered)))
    ends = []
    for k, (kind, seconds) in enumerate(orders):
        before = range(k)
        if kind == "compute":
            waits = [ends[j] for j in before if orders[j][0] != "reduce"]
        else:
            waits = [ends[j] for j in before]
        ends.append(max(waits, default=0) + seconds)
    assert done.time == max(ends)


def tick_by_tick(layers, reduce_seconds, exchange_seconds, bucket):
    """Run both streams a second at a time, as workers with a queue each; share nothing with the simulation.

    The computing worker goes through its list; it hands collectives to the other one, and stands still until an
    all-to-all that it handed over is done. Return (time, seconds computed, seconds of all-to-all, of allreduce alone).
    """
    todo, gathered = [], 0
    for name, order in (("forward", layers), ("backward", layers[::-1])):
        for one in order:
            ends = [("wait", exchange_seconds(one.all_to_all_bytes))] if one.all_to_all_bytes else []
            todo += [*ends, ("compute", getattr(one, name)), *ends]
            gathered += one.gradient_bytes if name == "backward" else 0
            if gathered >= bucket:
                todo.append(("reduce", reduce_seconds(gathered)))
                gathered = 0
    if gathered:
        todo.append(("reduce", reduce_seconds(gathered)))
    queue, is_waiting, now, computed, exchanged, reduced_alone = [], False, 0, 0, 0, 0
    while todo or queue:
        if queue and queue[0][1] == 0:
            kind, _ = queue.pop(0)
            is_waiting = is_waiting and kind != "wait"
        elif todo and not is_waiting and (todo[0][0] != "compute" or todo[0][1] == 0):
            kind, seconds = todo.pop(0)
            if kind != "compute":
                queue.append([kind, seconds])
                is_waiting = kind == "wait"
        else:  # a second passes
            computes = bool(todo) and not is_waiting
            if computes:
                todo[0] = ("compute", todo[0][1] - 1)
            if queue:
                queue[0][1] -= 1
                exchanged += queue[0][0] == "wait"
                reduced_alone += queue[0][0] == "reduce" and not computes
            now, computed = now + 1, computed + computes
    return now, computed, exchanged, reduced_alone


@BUSY
@given(LAYERS, st.integers(0, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 60))
def test_beside_a_clock_that_ticks(layers, latency, per_byte, exchange, bucket):
    wires = network(latency, per_byte, exchange)
    done = simulate_iteration(Job("job", 4, layers), wires, bucket)
    found = tick_by_tick(layers, wires.allreduce, wires.all_to_all, bucket)
    assert found == (done.time, done.compute, done.all_to_all, done.exposed_allreduce)


# --- models ---


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt2-small", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("alexnet", 61_100_840),
        ("vgg16", 138_357_544),
        ("resnet18", 11_689_512),
        ("resnet50", 25_557_032),
    ],
)
def test_published_numbers_of_parameters(name, parameters):
    assert load_model(name).num_parameters == parameters


@pytest.mark.parametrize(
    ("name", "billions", "flops_of_a_sequence"),
    [
        ("switch-base-128", 7, 124e9),
        ("switch-base-256", 14.7, 124e9),
        ("switch-large-128", 26, 425e9),
        ("switch-c-2048", 1571, 890e9),
    ],
)
def test_published_sizes_of_switch_transformers(name, billions, flops_of_a_sequence):
    """Routers and empty places apart, we count 14 to 15% more FLOPs: attention scores, and cross-attention."""
    model = load_model(name)
    assert model.num_parameters == pytest.approx(billions * 1e9, rel=0.06)
    capacity = F(5, 4)
    unrouted = sum(part.flops / (capacity if part.experts else 1) for part in model.parts if "router" not in part.name)
    assert 1.12 < unrouted / flops_of_a_sequence < 1.16


def test_every_model_file_says_where_it_is_from_and_makes_a_job():
    for name in model_names():
        job = load_model(name).job(128 if name != "switch-c-2048" else 1024)
        assert job.model == name
        assert job.compute > 0
        assert job.gradient_bytes > 0


def test_experts_are_divided_and_their_tokens_sent():
    model = load_model("switch-base-256")
    job = model.job(256)
    assert job.batch == 8
    assert job.num_all_to_alls == 4 * 12
    sent = [one.all_to_all_bytes for one in job.layers if one.all_to_all_bytes]
    assert sent == [F(5, 4) * 8 * 512 * 768 * 2] * 6 + [F(5, 4) * 8 * 114 * 768 * 2] * 6
    assert all(one.gradient_bytes == 0 for one in job.layers if one.all_to_all_bytes)
    half, whole = model.memory(128), model.memory(256)
    experts = 12 * 256 * 3 * 768 * 2048
    assert half - whole == F(experts, 256) * 6


def test_a_norm_is_a_layer_of_its_own():
    """As in PyTorch: fig:smalltraining sums the allreduces of all layers."""
    assert [len(load_model(name).parts) for name in ("resnet18", "resnet50")] == [2 * 20 + 1, 2 * 53 + 1]


@pytest.mark.parametrize(
    ("name", "nodes", "message"),
    [
        ("switch-base-256", 96, "the 256 experts of a layer cannot be divided equally over 96 servers"),
        ("switch-base-256", 512, "the 256 experts of a layer cannot be divided equally over 512 servers"),
        ("switch-c-2048", 64, "take 153GB on each of 64 servers, more than the memory of 80GB that is stated"),
        ("gpt2-small", 1, "takes at least 2, not 1"),
    ],
)
def test_servers_that_cannot_train_a_model(name, nodes, message):
    with pytest.raises(LinkstepError, match=message) as caught:
        load_model(name).job(nodes)
    assert "\n" not in str(caught.value)


def test_a_model_with_nothing_to_do(tmp_path):
    path = tmp_path / "idle.json"
    path.write_text(json.dumps(with_layer(flops=0)))
    with pytest.raises(LinkstepError, match=r"^idle: there is nothing to compute and nothing to send$"):
        load_model(path).job(4)


def test_a_batch_that_cannot_be_divided(tmp_path):
    path = tmp_path / "m.json"
    document = json.loads(json.dumps(LAYERED)) | {"batch": {"all": 10}}
    path.write_text(json.dumps(document))
    with pytest.raises(LinkstepError, match="a batch of 10 samples cannot be divided equally over 4 servers"):
        load_model(path).job(4)
    assert load_model(path).with_batch(3).job(4).batch == 3


LAYERED = {
    "format": "linkstep-model",
    "version": 1,
    "kind": "layers",
    "batch": {"server": 2},
    "hardware": {"peak_flops": 1000, "utilisation": 0.5, "memory": "1MB"},
    "layers": [
        {"name": "a", "parameters": 10, "flops": 100},
        {"name": "b", "flops": 50, "experts": 4, "expert_parameters": 5, "all_to_all": 64},
    ],
}


def test_a_list_of_layers(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(LAYERED))
    job = load_model(path).job(4)
    assert job.model == "mine"
    assert job.layers == (layer("a", F(2, 5), F(4, 5), 40), layer("b", F(1, 5), F(2, 5), 0, 128))
    assert job.memory == (10 + 5) * 16


def changed(**members):
    return LAYERED | members


def with_layer(**members):
    return changed(layers=[{"name": "a", **members}])


def transformer(**members):
    sizes = ("vocabulary", "width", "heads", "head_width", "feed_forward", "decoder_layers", "decoder_length")
    return changed(kind="transformer", hyperparameters=dict.fromkeys(sizes, 8) | members)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"format": "linkstep-fabric", "version": 1}, "m.json is a fabric, not a model file: commands"),
        (changed(version=2), "written by a newer linkstep"),
        (changed(kind=["layers"]), "kind must be one of transformer, convolutional, layers, not "),
        (changed(kind="rnn"), "kind must be one of transformer, convolutional, layers, not 'rnn'"),
        (changed(layer=[]), "a model has no member 'layer'; it may have"),
        (changed(layers=[]), "layers must be a list of 1 to 100000 layers"),
        (changed(layers=[3]), "layer 1: a layer must be an object with members, not 3"),
        (with_layer(parameters=-1), "layer 1: parameters must be a whole number from 0"),
        (with_layer(parameters=True), "layer 1: parameters must be a whole number"),
        (with_layer(forward="1ms"), "layer 1: needs forward and backward, or flops, and not both"),
        (with_layer(forward="1ms", backward="2ms", flops=3), "layer 1: needs forward and backward, or flops"),
        (with_layer(forward="1 fortnight", backward="2ms"), "layer 1: time '1 fortnight' has no known unit"),
        (with_layer(experts=4, flops=1), "layer 1: experts and all_to_all \\(bytes\\) go together"),
        (with_layer(flop=1), "layer 1: a layer has no member 'flop'"),
        (
            changed(layers=[{"name": "a", "forward": "1s", "backward": "1s"}, {"name": "b", "flops": 2}]),
            "some layers have measured times and some have none",
        ),
        (changed(hardware={}), "hardware needs peak_flops"),
        (changed(hardware={"peak_flops": 0}), "peak_flops must be more than 0"),
        (changed(hardware={"peak_flops": 1, "utilisation": 1.5}), "utilisation must lie in \\(0, 1\\], not 1.5"),
        (changed(hardware={"peak_flops": 1, "memory": "80 bits"}), "size '80 bits' has no known unit"),
        (changed(hardware=[]), "hardware must be an object"),
        (changed(batch=4), "batch must be"),
        (changed(batch={"server": 0}), "batch must be a whole number from 1"),
        (changed(batch=None), "batch must be"),
        (changed(bytes={"gradient": "two"}), "gradient must be a number from 0 to 1e36, not 'two'"),
        (changed(bytes={"grad": 2}), "bytes has no member 'grad'"),
        (changed(kind="transformer", hyperparameters={"width": 8}), "hyperparameters has no 'vocabulary'"),
        (transformer(decoder_layers=10**17), "encoder_layers and decoder_layers must be from 1 to 10000, not 10{17}"),
        (transformer(decoder_layers=0), "encoder_layers and decoder_layers must be from 1 to 10000, not 0"),
        (transformer(width=0), "width must be at least 1, not 0"),
        (transformer(encoder_layers=2), "encoder_length must be at least 1, not 0"),
        (transformer(experts=4, capacity=0.5), "capacity must be at least 1, not 0.5"),
        (transformer(experts=4, capacity="2"), "capacity must be a number from 0 to 1e36, not '2'"),
        (transformer(experts=4, expert_every=0), "expert_every must be at least 1 and at most the layers, not 0"),
        (transformer(gated=2.5), "gated must be a whole number"),
        (changed(kind="convolutional", hyperparameters={"image": [3, 8]}), "image must be"),
        (
            changed(kind="convolutional", hyperparameters={"image": [3, 8, 8], "rows": [["conv", 3]]}),
            r"row 1 must be one of conv \(channels, kernel, stride, padding\)",
        ),
        *(
            (changed(kind="convolutional", hyperparameters={"image": [3, 8, 8], "rows": [row]}), "row 1 must be one of")
            for row in (["conv", 3, 3, 0, 1], ["conv", 0, 3, 1, 1], ["pool", 2, 0, 0], ["average", 0], ["linear", 0])
        ),
        (
            changed(kind="convolutional", hyperparameters={"image": [3, 8, 8], "rows": [["conv", 3, 9, 1, 0]]}),
            "a kernel of 9 is larger than what the layers before it leave",
        ),
    ],
)
def test_wrong_files(tmp_path, document, message):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith((f"{path}: ", f"{path} is "))
    assert "\n" not in str(caught.value)


def test_a_name_that_is_no_model():
    with pytest.raises(FileError, match=r"no model is called 'gpt9': name a \.json file, or one of alexnet"):
        load_model("gpt9")


@pytest.mark.parametrize("forward", [F(1, 3), F(10**50, 3**70)], ids=["short", "long"])
def test_measured_layers_are_written_and_read_back(tmp_path, forward):
    path = tmp_path / "m.json"
    save_layers(path, "mine", [(layer("a", forward, F(1, 7)), 12)], source="a test")
    model = load_model(path)
    assert model.job(2).layers == (layer("a", forward, F(1, 7), 48),)
    with pytest.raises(LinkstepError, match="its times were measured for one batch"):
        model.with_batch(3)


# --- topologies ---

FABRIC = Fabric.of("10us", "100Gbps", 4)


@pytest.mark.parametrize(
    ("nodes", "name", "ring_ratio", "torus_ratio"),
    [(256, "switch-base-256", 8, 2), (1024, "switch-c-2048", 27, 3.3)],
    ids=["fig:simmoetraining-256", "fig:simmoetraining-1024"],
)
@pytest.mark.slow
def test_fig_simmoetraining(nodes, name, ring_ratio, torus_ratio):
    found = compare(load_model(name).job(nodes), find(nodes, 4, directed=True), FABRIC)
    times = {outcome.name: outcome.iteration.all_to_all for outcome in found.outcomes}
    ours, side = times[found.ours.name], {256: 16, 1024: 32}[nodes]
    assert times[f"C({nodes},{{1,3}}), the paper's rings"] / ours == pytest.approx(ring_ratio, rel=0.1)
    assert times[f"Torus({side},{side})"] / ours == pytest.approx(torus_ratio, rel=0.1)
    assert 1 <= found.ours.time / found.bound.time < 1.05
    assert all(outcome.time >= found.ours.time for outcome in found.today)


def test_the_bound_is_never_beaten():
    answer = find(8, 4)
    for name in ("resnet50", "gpt2-small", "switch-base-128"):
        found = compare(load_model(name).job(8), answer, FABRIC)
        assert all(outcome.time >= found.bound.time for outcome in found.outcomes)


def test_the_choice_depends_on_the_job():
    """Rows that win somewhere: with much to send the one with the least T_B, with many small buckets fewer steps."""
    answer = find(64, 4, directed=True)
    large = rank_choices(Job("large", 64, (layer("a", 0, 0, 10**10),)), answer, FABRIC)
    small = rank_choices(Job("small", 64, (layer("a", 0, 0, 1),)), answer, FABRIC)
    assert large[0].choice.allreduce_cost.bandwidth == min(o.choice.allreduce_cost.bandwidth for o in large)
    assert small[0].choice.allreduce_cost.steps == min(o.choice.allreduce_cost.steps for o in small)
    assert large[0].choice is not small[0].choice
    assert [outcome.time for outcome in large] == sorted(outcome.time for outcome in large)

"""Testbeds. Trunks, routes, commands for ip and tc, and files without root; the real thing, marked slow, with root."""

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import Cut, apply
from linkstep.core.topology import Topology
from linkstep.costs import seconds_of
from linkstep.engines import testbed as beds
from linkstep.engines.bench.preparation import wiring_of
from linkstep.engines.testbed import lifecycle, namespaces, network, relay, relaying, state
from linkstep.engines.testbed.network import Delay, Tools
from linkstep.engines.testbed.testbed import Testbed as Bed

RATE = 20_000_000
K4, K44 = linkstep.parse("K_4").topology(), linkstep.parse("K_{4,4}").topology()
MIXED = Topology.from_links(4, [0, 1, 0, 1, 1, 2, 3, 3], [1, 0, 1, 0, 2, 3, 0, 3], bandwidth=[4, 3, 2, 1, 8, 7, 6, 5])
"""Two parallel cables 0-1 of different rates, links one way, and a self-loop."""


def bed_of(topology, **fields):
    return Bed("demo", topology, RATE, Fraction(0), "token", "boot", **fields)


# --- trunks ---


def test_trunks_join_duplex_links_and_parallel_cables():
    rows = [(t.ends, t.there, t.back) for t in beds.trunks_of(MIXED, RATE)]
    assert rows == [((0, 1), (2, 4), (1, 3)), ((0, 3), (), (6,)), ((1, 2), (8,), ()), ((2, 3), (7,), ())]


def test_against_a_lone_link_acknowledgements_flow_at_its_rate():
    trunk = beds.trunks_of(MIXED, RATE)[1]
    assert (trunk.rate_from(3), trunk.rate_from(0), trunk.after(1).rate_from(3)) == (6, 6, 0)


@pytest.mark.parametrize("topology", [K44, MIXED], ids=["K44", "mixed"])
def test_a_cut_takes_the_links_that_a_fault_takes(topology):
    for trunk in beds.trunks_of(topology, RATE):
        left = [t for t in beds.trunks_left(beds.trunks_of(topology, RATE), [trunk.ends]) if t.there or t.back]
        with contextlib.suppress(LinkstepError):  # a cut that disconnects has no degraded topology
            degraded = apply(topology, [Cut(*map(str, trunk.ends))], Fraction(RATE))
            expected = beds.trunks_of(degraded, RATE)
            assert [(t.ends, t.there, t.back) for t in left] == [(t.ends, t.there, t.back) for t in expected]


# --- routes ---


def way(tables, host, target):
    """Follow routes hop by hop, as packets do; None where they end."""
    hosts = [host]
    while hosts[-1] != target:
        route = next(r for r in tables[hosts[-1]] if r.target == target)
        if route.trunk is None:
            return None
        assert route.trunk.other(hosts[-1]) == route.hop
        assert len(hosts) <= len(tables), f"a loop: {hosts}"
        hosts.append(route.hop)
    return hosts


@pytest.mark.parametrize("recipe", ["K_{4,4}", "UniRing(1,5)", "Torus(3,4)", "Kautz(2,2)"])
@pytest.mark.parametrize("num_cut", [0, 1, 2, 3])
def test_routes_are_shortest_ways_and_neighbours_never_take_a_detour(recipe, num_cut):
    topology = linkstep.parse(recipe).topology()
    whole = beds.trunks_of(topology, RATE)
    cut = [trunk.ends for trunk in whole[:: max(len(whole) // 3, 1)]][:num_cut]
    left = beds.trunks_left(whole, cut)
    tables = beds.find_routes(topology.num_nodes, left)
    alive = {t.ends for t in left if t.there or t.back}
    neighbours = {h: {sum(e) - h for e in alive if h in e} for h in range(topology.num_nodes)}
    for host, target in itertools.permutations(range(topology.num_nodes), 2):
        hosts, ends = way(tables, host, target), (min(host, target), max(host, target))
        if ends in cut:
            assert hosts is None
        elif ends in alive:
            assert hosts == [host, target]
        else:
            barred = {sum(e) - target for e in cut if target in e}
            assert (hosts and len(hosts) - 1) == distance(neighbours, host, target, barred)


def distance(neighbours, host, target, barred):
    """Return the hops from host to target past no barred host, by trying all (a slow twin); None if there is no way."""
    reached, hops = {host} - barred, 0
    while target not in reached:
        more = reached | {n for h in reached for n in neighbours[h]} - barred
        if more == reached:
            return None
        reached, hops = more, hops + 1
    return hops


def test_reroute_lets_a_cut_pair_go_round():
    left = beds.trunks_left(beds.trunks_of(K44, RATE), [(0, 4)])
    assert way(beds.find_routes(8, left), 0, 4) is None
    assert len(way(beds.find_routes(8, left, [(0, 4)]), 0, 4)) == 4


def test_set_up_traffic_is_spread_over_neighbours():
    hops = [route.hop for route in beds.find_routes(8, beds.trunks_of(K44, RATE))[0] if route.target < 4]
    assert len(set(hops)) == 3


# --- commands for ip and tc ---


def test_lines_of_a_host():
    bed = bed_of(linkstep.parse("BiRing(2,4)").topology(), cut=((0, 1),))
    assert network.veth_lines(bed)[0] == "link add c0 netns ls-demo-0 type veth peer name c0 netns ls-demo-1"
    assert network.host_lines(bed, 0) == [
        "link set lo up",
        "link add host type bridge",
        "address add 198.18.0.1/32 dev host",
        "link set host mtu 9000 up",
        "link set c0 mtu 9000",
        "link set c1 mtu 9000",
    ]
    assert network.wiring_lines(bed, 0) == [
        "link set c0 down",
        "link set c1 up",
        "route replace unreachable 198.18.0.2/32",
        "route replace 198.18.0.3/32 via inet 198.18.0.4 dev c1 onlink src 198.18.0.1",
        "route replace 198.18.0.4/32 dev c1 scope link src 198.18.0.1",
    ]
    bucket = "tbf rate 20000000bit burst 32kb limit 512kb"
    assert network.rate_lines(bed, 0, Delay.RELAY) == [f"qdisc replace dev c1 root handle 1: {bucket}"]


def test_netem_comes_before_the_token_bucket():
    bed = Bed("demo", K44, RATE, Fraction(1, 100), "token", "boot")
    assert network.rate_lines(bed, 0, Delay.NETEM)[:2] == [
        "qdisc replace dev c0 root handle 1: netem delay 10000us limit 10000",
        "qdisc replace dev c0 parent 1:1 handle 10: tbf rate 20000000bit burst 32kb limit 512kb",
    ]


def test_a_cut_of_one_of_two_cables_lowers_the_rate():
    bed = bed_of(MIXED, cut=((0, 1),))
    assert "tbf rate 4bit" in network.rate_lines(bed, 0, Delay.NOTHING)[0]
    assert network.wiring_lines(bed, 0)[0] == "link set c0 up"


def test_a_failed_batch_names_its_command(tmp_path, monkeypatch):
    tool = tmp_path / "ip"
    tool.write_text("#!/bin/sh\necho 'RTNETLINK answers: File exists' >&2\necho 'Command failed -:2' >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(LinkstepError, match=r"^`ip link b` in ls-x-0 failed: RTNETLINK answers: File exists$"):
        Tools(2).ip(["link a", "link b"], "ls-x-0")


# --- values, files, refusals ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Keep the files of testbeds elsewhere."""
    monkeypatch.setattr(state, "FOLDER", tmp_path / "testbeds")
    return tmp_path / "testbeds"


def test_value():
    bed = Bed("k44", K44, 50_000_000, Fraction(1, 100), "token", "boot", cut=((0, 4),))
    assert (bed.fabric().alpha, bed.fabric().node_bandwidth, bed.fabric().degree) == (Fraction(1, 100), 200_000_000, 4)
    assert (bed.namespace(3), bed.address(255), bed.device(0)) == ("ls-k44-3", "198.18.1.0", "host")
    assert bed.prefix(3) == ["ip", "netns", "exec", "ls-k44-3"]
    assert bed.environment()["FI_TCP_IFACE"] == "host"
    assert bed.environment()["FI_TCP_MAX_INJECT"] == "65536"
    assert bed.pair(["4", "0"]) == (0, 4)
    with pytest.raises(LinkstepError, match="no cable between node 0 and node 1"):
        bed.pair(["0", "1"])
    with pytest.raises(LinkstepError, match="runs on no host of testbed k44"):
        bed.cable_bytes()


def test_prediction_knows_what_token_buckets_lend():
    ring = linkstep.parse("UniRing(1,4)").build("allgather")
    bed = Bed("ring", ring.topology, 8_000_000, Fraction(1, 100), "token", "boot")  # a byte a microsecond
    # three steps of 40,000 bytes: 32,768 are lent, then as many as a bucket takes in during 10 ms of delay
    assert beds.predict_time(bed, ring, 160_000) * 10**6 == (10_000 + 7_232) + 2 * (10_000 + 30_000)
    assert beds.predict_time(bed, ring, 4) == 3 * bed.delay  # no bucket is ever empty
    whole = linkstep.parse("K_{4,4}").build("allreduce")
    bed = Bed("k44", whole.topology, 50_000_000, Fraction(0), "token", "boot")
    lent = Fraction(8 * 2**15, 50_000_000)
    assert beds.predict_time(bed, whole, 4_000_000) == seconds_of(whole, bed.fabric(), 4_000_000) - lent
    assert beds.predict_time(bed, whole, 1000) == 0


def test_prediction_takes_parallel_cables_as_one():
    double = linkstep.parse("UniRing(2,3)").build("allgather")  # two links to the next: half of a shard each
    single = linkstep.parse("UniRing(1,3)").build("allgather")
    beside = Bed("two", double.topology, 4_000_000, Fraction(1, 100), "token", "boot")
    alone = Bed("one", single.topology, 8_000_000, Fraction(1, 100), "token", "boot")
    for size in (300, 30_000, 300_000):
        assert beds.predict_time(beside, double, size) == beds.predict_time(alone, single, size)


def test_state_round_trip(folder):
    bed = bed_of(MIXED.with_labels("abcd"), cut=((0, 1),), rerouted=((1, 2),), relayed=True, inodes=(1, 2, 3, 4))
    with state.lock():
        state.save(bed)
    read = beds.load("demo")
    assert (read.topology, read.topology.labels) == (bed.topology, tuple("abcd"))
    assert state.to_json(read) == state.to_json(bed)
    assert beds.names() == ["demo"]
    state.forget(read)
    assert beds.names() == []


def test_an_unknown_name_lists_those_there_are(folder):
    with pytest.raises(
        LinkstepError, match=r"no testbed is called 'k44': there is none; linkstep testbed up makes one"
    ):
        beds.load("k44")
    with state.lock():
        state.save(bed_of(K44))
    with pytest.raises(LinkstepError, match=r"no testbed is called 'k44': there are demo"):
        beds.load("k44")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "linkstep-testbed", "format_version": 2}',
                                  '{"format": "linkstep/testbed", "version": 3}'])  # fmt: skip
def test_a_file_that_is_no_testbed(folder, text):
    folder.mkdir()
    (folder / "demo.json").write_text(text)
    with pytest.raises(LinkstepError, match=r"demo\.json: "):
        beds.load("demo")


def test_the_form_of_version_1_is_read_too(folder):
    folder.mkdir()
    bed = bed_of(K44)
    state.save(bed)
    facts = json.loads(state.path_of(bed.name).read_text())
    assert list(facts)[:2] == ["format", "version"] and (facts["format"], facts["version"]) == ("linkstep/testbed", 2)
    facts |= {"format": "linkstep-testbed", "format_version": facts.pop("version"), "rate": facts.pop("link_bandwidth")}
    state.path_of(bed.name).write_text(json.dumps(facts | {"format_version": 1}))
    assert beds.load(bed.name) == bed


@pytest.mark.parametrize("name", ["", "K44", "4k", "a/b", "../x", "a" * 33, "a b", "a\n"])
def test_bad_names(name):
    for act in (beds.load, beds.down, lambda name: beds.up(K44, name, RATE)):
        with pytest.raises(LinkstepError, match="a testbed's name is"):
            act(name)


@pytest.mark.parametrize(
    ("topology", "rate", "delay", "message"),
    [
        (Topology.from_links(1, [], []), RATE, 0, "2 to 256 hosts, not 1"),
        (K44, 0, 0, "not 0bps"),
        (K44, Fraction(10**7, 3), 0, "must be whole bit/s"),
        (K44, RATE, 2, "at most 1 s, not 2 s"),
    ],
)
def test_bad_sizes(topology, rate, delay, message):
    with pytest.raises(LinkstepError, match=message):
        beds.check_sizes(topology, Fraction(rate), Fraction(delay))


def test_scale_keeps_proportions_and_drops_latencies():
    given = Topology.from_links(2, [0, 1], [1, 0], "pair", bandwidth=[10**11, 25 * 10**9], alpha=[5, 5])
    scaled = beds.scale(given, RATE)
    assert (scaled.bandwidth.tolist(), scaled.alpha, scaled.name) == ([RATE, RATE // 4], None, "pair")
    assert beds.scale(K44, RATE) is K44


def test_what_a_testbed_needs(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: f"/sbin/{tool}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LinkstepError, match="run this as root"):
        beds.check_possible()
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(LinkstepError, match="needs ip and tc of iproute2"):
        beds.check_possible()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(LinkstepError, match="this is darwin"):
        beds.check_possible()


def test_signals_wait_and_then_have_their_effect():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with lifecycle._held_signals() as check:
            check()
            signal.raise_signal(signal.SIGTERM)
            assert seen == []
            with pytest.raises(LinkstepError, match="SIGTERM"):
                check()
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_relay_delays_and_ends_with_its_testbed(tmp_path, monkeypatch):
    monkeypatch.setattr(relay, "_CHECK", 0.05)
    file = tmp_path / "demo.json"
    file.write_text("token")
    (near, left), (right, far) = (socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
    with near, left, right, far, select.epoll() as ready:
        for end in (left, right):
            end.setblocking(False)
        partner = {left.fileno(): right.fileno(), right.fileno(): left.fileno()}
        thread = threading.Thread(target=relay.relay, args=(ready, partner, 0.03, file, "token"))
        thread.start()
        begin = time.monotonic()
        for word in (b"a", b"b"):
            near.send(word)
        assert [far.recv(9), far.recv(9)] == [b"a", b"b"]
        assert time.monotonic() - begin >= 0.03
        file.unlink()
        thread.join(20)
        assert not thread.is_alive()


# --- the real thing ---


def _missing():
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "testbeds need Linux and root"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "testbeds need iproute2"
    probe = f"lst{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "delete", probe], check=True)
    return None if made else "network namespaces cannot be made here"


@pytest.fixture(scope="session")
def possible():
    reason = _missing()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def name(possible):
    """A name for a testbed that nobody else has; whatever has it in the end is taken down."""
    name = f"test{os.getpid()}-{next(COUNT)}"
    yield name
    if name in beds.names():
        beds.down(name)
    assert leftovers(name) == []


COUNT = itertools.count()


def leftovers(name):
    """Return what is left of a testbed: namespaces, its file, its relay."""
    relays = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = file.read_bytes().split(b"\0")
            relays += [file.parent.name] if os.fsencode(state.path_of(name)) in words else []
    found = [path.name for path in namespaces.FOLDER.glob(f"ls-{name}-*")] if namespaces.FOLDER.exists() else []
    return found + [n for n in beds.names() if n == name] + relays


def connect(bed, host, target, port=7000):
    """Return a connected pair of sockets, the first on one host, the second on the other."""
    address = (bed.address(target), port)
    server = namespaces.inside(bed.namespace(target), lambda: socket.create_server(address))
    with server:
        server.settimeout(20)
        client = namespaces.inside(
            bed.namespace(host), lambda: socket.create_connection(address, 20, (bed.address(host), 0))
        )
        accepted, _ = server.accept()
    accepted.settimeout(20)
    return client, accepted


def transfer(pairs, size):
    """Send size bytes through each pair of sockets at once; return the seconds until all has arrived."""

    def receive(end):
        left = size
        while left:
            left -= len(end.recv(1 << 16))

    threads = [threading.Thread(target=receive, args=(second,)) for _, second in pairs]
    threads += [threading.Thread(target=first.sendall, args=(bytes(size),)) for first, _ in pairs]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin


def close(pairs):
    for pair in pairs:
        for end in pair:
            end.close()


BURST = 2 * 32 * 1024


def best_of_three(measure, enough):
    """Return the first of up to three measurements that is short enough, or the last: the machine may be busy."""
    for _ in range(3):
        seconds = measure()
        if seconds < enough:
            break
    return seconds


@pytest.mark.slow
def test_links_have_their_rate_and_add_up(name):
    bed = beds.up(K44, name, RATE)
    assert beds.health(bed) is beds.Health.UP
    pairs = [connect(bed, 0, neighbour) for neighbour in range(4, 8)]
    size = 2_000_000
    ideal = size * 8 / RATE
    alone = transfer(pairs[:1], size)
    for row in beds.status(bed):
        sent = size if row.first == 0 and row.second == 4 else 0
        assert sent <= row.bytes_there <= 1.05 * sent + 1000
    together = best_of_three(lambda: transfer(pairs, size), 2.5 * ideal)
    close(pairs)
    assert min(alone, together) >= (size - BURST) * 8 / RATE  # never faster than the rate
    assert together < 2.5 * ideal  # the four share nothing: over one cable it would be 4
    beds.down(name)
    assert leftovers(name) == []


@pytest.mark.slow
def test_counters_inside(name):
    bed = beds.up(K44, name, RATE)
    pair = connect(bed, 0, 5)
    transfer([pair], 100_000)
    close([pair])
    code = f"from linkstep.engines import testbed; print(testbed.load({name!r}).cable_bytes())"
    done = subprocess.run(
        [*bed.prefix(5), sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    counts = eval(done.stdout)
    assert list(counts) == [0, 1, 2, 3]
    assert counts[0][1] > 100_000 > 5_000 > counts[0][0] > 0 == counts[1][0] + counts[1][1]


def environment():
    return os.environ | {"PYTHONPATH": str(Path(linkstep.__file__).parents[1])}


@pytest.mark.slow
def test_links_one_way_and_parallel_cables(name):
    topology = Topology.from_links(3, [0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 2, 0])
    bed = beds.up(topology, name, 8_000_000)
    pairs = [connect(bed, 0, 1), connect(bed, 1, 2), connect(bed, 2, 0)]
    double, single, _ = (transfer([pair], 500_000) for pair in pairs)
    assert double >= (500_000 - BURST) / 2e6
    assert single >= (500_000 - BURST) / 1e6
    beds.cut(name, ["1", "0"])
    assert transfer(pairs[:1], 500_000) >= (500_000 - BURST) / 1e6
    close(pairs)


@pytest.mark.slow
def test_delay_and_the_relay_ends_with_its_testbed(name):
    bed = beds.up(linkstep.parse("BiRing(2,4)").topology(), name, RATE, Fraction(1, 50))
    client, accepted = connect(bed, 0, 1)
    trips = []
    for _ in range(5):
        begin = time.monotonic()
        client.sendall(b"x")
        accepted.sendall(accepted.recv(1))
        client.recv(1)
        trips.append(time.monotonic() - begin)
    assert 0.04 <= min(trips) < 0.2
    elapsed = best_of_three(lambda: transfer([(client, accepted)], 1_000_000), 4 * 8e6 / RATE)
    assert (1_000_000 - BURST) * 8 / RATE <= elapsed < 4 * 8e6 / RATE
    close([(client, accepted)])
    if not bed.relayed:
        return
    assert len(relaying.find(bed)) == 1
    os.kill(relaying.find(bed)[0], signal.SIGKILL)
    wait_until(lambda: not relaying.find(bed))
    assert beds.health(bed) is beds.Health.INCOMPLETE
    with pytest.raises(LinkstepError, match=r"a part of testbed .* is missing"):
        beds.status(bed)


def wait_until(true, seconds=20):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [Fraction(0), Fraction(1, 200)], ids=["veth", "delayed"])
def test_cut_and_mend_during_traffic(name, delay):
    bed = beds.up(K44, name, RATE, delay)
    client, accepted = connect(bed, 0, 4)
    other = connect(bed, 0, 5)
    arrived = [0]

    def receive():
        with contextlib.suppress(OSError):
            while data := accepted.recv(1 << 16):
                arrived[0] += len(data)

    def send():
        with contextlib.suppress(OSError):
            while True:
                client.sendall(bytes(1 << 16))

    threads = [threading.Thread(target=receive), threading.Thread(target=send)]
    for thread in threads:
        thread.start()
    wait_until(lambda: arrived[0] > 200_000)
    bed = beds.cut(name, ["4", "0"])
    assert bed.cut == ((0, 4),)
    at_cut = -1
    while at_cut != arrived[0]:  # what had arrived before the cut is still being read
        at_cut = arrived[0]
        time.sleep(0.2)
    with pytest.raises(OSError, match=r"No route to host|unreachable"):  # at once, and over no other cable
        connect(bed, 0, 4, 7001)
    assert transfer([other], 10_000) < 10  # other cables are as they were
    close([connect(bed, 1, 4, 7002), connect(bed, 3, 2, 7002), connect(bed, 0, 1, 7003)])
    assert arrived[0] == at_cut
    with pytest.raises(LinkstepError, match="between node 0 and node 4 no cable is left to cut"):
        beds.cut(name, ["0", "4"])
    bed = beds.cut(name, ["0", "4"], reroute=True)
    close([connect(bed, 0, 4, 7004)])
    bed = beds.mend(name, ["0", "4"])
    assert (bed.cut, bed.rerouted) == ((), ())
    wait_until(lambda: arrived[0] > at_cut + 200_000)
    with pytest.raises(LinkstepError, match="no cable is cut"):
        beds.mend(name, ["0", "4"])
    beds.down(name)
    for end in (client, accepted):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    close([(client, accepted), other])
    for thread in threads:
        thread.join(20)


@pytest.mark.slow
def test_two_side_by_side_and_names_taken(name):
    second = f"{name}-b"
    bed = beds.up(K44, name, RATE)
    with pytest.raises(LinkstepError, match=r"there is a testbed .* already"):
        beds.up(K44, name, RATE)
    foreign = f"ls-{second}-3"
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        with pytest.raises(LinkstepError, match=f"there is a network namespace {foreign} already"):
            beds.up(K44, second, RATE)
        assert leftovers(second) == [foreign]
    finally:
        subprocess.run(["ip", "netns", "delete", foreign], check=True)
    try:
        twin = beds.up(K44, second, RATE)
        pairs = [connect(bed, 0, 4), connect(twin, 0, 4)]
        transfer(pairs, 10_000)
        sleeper = subprocess.Popen([*twin.prefix(2), "sleep", "600"])
        wait_until(lambda: namespaces.processes_in({twin.inodes[2]}) == [sleeper.pid])
    finally:
        assert beds.down(second) == 1
    assert sleeper.wait(20) != 0
    assert leftovers(second) == []
    transfer(pairs[:1], 10_000)
    close(pairs)


def start_up(name):
    """Start the making of a testbed large enough to be interrupted; return once its file is there."""
    command = [sys.executable, "-m", "linkstep", "testbed", "up", "Torus(8,8)", "--name", name, "--delay", "5ms"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: state.path_of(name).exists() or process.poll() is not None, 60)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 64])
def test_up_killed_half_way_is_cleaned_up_by_down(name, steps):
    process = start_up(name)
    wait_until(lambda: len(list(namespaces.FOLDER.glob(f"ls-{name}-*"))) >= steps)
    if steps == 64:
        time.sleep(0.3)
    process.kill()
    process.communicate()
    beds.down(name)
    assert leftovers(name) == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_up_interrupted_half_way_leaves_nothing(name, number, code):
    for _ in range(5):
        process = start_up(name)
        process.send_signal(number)
        said = process.communicate(timeout=60)
        if process.returncode != 0:
            break
        beds.down(name)  # it was faster than the signal
    assert (process.returncode, said[0]) == (code, "")
    assert leftovers(name) == []


@pytest.mark.slow
def test_up_that_fails_leaves_nothing(name, monkeypatch):
    monkeypatch.setattr(network, "rate_lines", lambda *_: ["qdisc add dev nowhere root pfifo"])
    with pytest.raises(LinkstepError, match=r"^`tc qdisc add dev nowhere root pfifo` in ls-.*-0 failed: "):
        beds.up(K44, name, RATE)
    assert leftovers(name) == []


@pytest.mark.slow
def test_down_leaves_a_namespace_it_did_not_make(name):
    bed = beds.up(K44, name, RATE)
    foreign = bed.namespace(3)
    subprocess.run(["ip", "netns", "delete", foreign], check=True)
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        beds.down(name)
        assert leftovers(name) == [foreign]
    finally:
        subprocess.run(["ip", "netns", "delete", foreign], check=True)


@pytest.mark.slow
def test_after_a_restart_of_the_machine_only_the_file_is_left(name):
    bed = beds.up(K44, name, RATE)
    facts = json.loads(state.path_of(name).read_text())
    state.path_of(name).write_text(json.dumps(facts | {"boot": "another"}))
    assert beds.health(beds.load(name)) is beds.Health.INCOMPLETE
    beds.down(name)
    assert len(leftovers(name)) == 8
    state.save(bed)


def test_cables_that_are_left_are_a_topology():
    """What ``linkstep run --testbed`` runs on after a cut, whether hosts have names or numbers."""
    named = Topology.from_links(4, K4.tail, K4.head, labels=["a", "b", "c", "d"])
    for topology in (K4, named):
        left = wiring_of(Bed("demo", topology, RATE, Fraction(0), "token", "boot", cut=((0, 2),)))
        links = set(zip(left.tail.tolist(), left.head.tolist(), strict=True))
        assert links == {(a, b) for a in range(4) for b in range(4) if a != b and {a, b} != {0, 2}}

"""Measure a testbed: every cable in both directions at once, and the round trip between two neighbours. Run as root.

python -m benchmarks.testbed 'K_{4,4}' --rate 50Mbps [--delay 10ms] [--seconds 4]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import linkstep
from linkstep.core.units import parse_bandwidth, parse_time
from linkstep.engines import testbed as beds
from linkstep.engines.testbed import relaying

PORT = 7000
TRIPS = 50


def exchange(bed: beds.Testbed, me: int, start: float, seconds: float) -> dict[int, float]:
    """Send to all neighbours at once from ``start`` on; return Mbit/s received from each."""
    neighbours = [trunk.other(me) for trunk in bed.trunks_at(me)]
    host_of = {bed.address(host): host for host in neighbours}
    received = dict.fromkeys(neighbours, 0.0)

    def count(connection: socket.socket, host: int) -> None:
        with connection:
            while data := connection.recv(1 << 20):
                received[host] += len(data) * 8e-6 / seconds if time.time() < start + seconds else 0.0

    def send(connection: socket.socket) -> None:
        data = bytes(1 << 16)
        time.sleep(max(start - time.time(), 0))
        with connection:
            while time.time() < start + seconds:
                connection.sendall(data)

    with socket.create_server((bed.address(me), PORT), backlog=len(neighbours)) as server:
        time.sleep(max(start - 1 - time.time(), 0))  # until all listen
        threads = [
            threading.Thread(target=send, args=(socket.create_connection((bed.address(host), PORT)),))
            for host in neighbours
        ]
        for _ in neighbours:
            connection, address = server.accept()
            threads.append(threading.Thread(target=count, args=(connection, host_of[address[0]])))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return received


def trip_times(bed: beds.Testbed, host: int, target: int) -> list[float]:
    """Return milliseconds of round trips of one byte, measured on a host whose neighbour answers."""
    answer = (
        "import socket, sys\n"
        f"connection, _ = socket.create_server(({bed.address(target)!r}, {PORT})).accept()\n"
        "connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
        "while data := connection.recv(1): connection.sendall(data)\n"
    )
    ask = (
        "import json, socket, time\n"
        f"connection = socket.create_connection(({bed.address(target)!r}, {PORT}))\n"
        "connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
        "times = []\n"
        f"for _ in range({TRIPS}):\n"
        "    begin = time.perf_counter(); connection.sendall(b'x'); connection.recv(1)\n"
        "    times.append(1000 * (time.perf_counter() - begin))\n"
        "print(json.dumps(times))\n"
    )
    with subprocess.Popen([*bed.prefix(target), sys.executable, "-c", answer]) as server:
        time.sleep(1)
        done = subprocess.run([*bed.prefix(host), sys.executable, "-c", ask], capture_output=True, check=True)
        server.wait(10)
    return list(json.loads(done.stdout))


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(recipe: str, rate: str, delay: str, seconds: float) -> None:
    name = f"bench{os.getpid()}"
    begin = time.monotonic()
    bed = beds.up(linkstep.parse(recipe).topology(), name, int(parse_bandwidth(rate)), parse_time(delay))
    print(f"{recipe}, {rate}, {delay}: up in {time.monotonic() - begin:.2f} s")
    try:
        first = bed.trunks[0]
        trips = trip_times(bed, first.first, first.second)
        print(f"round trip: median {statistics.median(trips):.2f} ms, at most {max(trips):.2f} ms")
        relays = relaying.find(bed)
        before = sum(map(processor_seconds, relays))
        start = time.time() + 2 + bed.num_hosts  # time for all to start
        command = [sys.executable, "-m", "benchmarks.testbed", recipe, "--on", name, "--start", str(start)]
        hosts = [
            subprocess.Popen(
                [*bed.prefix(host), *command, "--seconds", str(seconds)], stdout=subprocess.PIPE,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
            for host in range(bed.num_hosts)
        ]  # fmt: skip
        rates = [json.loads(host.communicate()[0]) for host in hosts]
        each = [rate for row in rates for rate in row.values()]
        sums = [sum(row.values()) for row in rates]
        print(f"Mbit/s received, {len(each)} directions at once: {min(each):.1f} to {max(each):.1f}")
        print(f"Mbit/s received by a host: {min(sums):.1f} to {max(sums):.1f}")
        for relay in relays:
            print(f"relay: {(processor_seconds(relay) - before) / seconds:.2f} of a core")
    finally:
        beds.down(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--rate", default="50Mbps")
    parser.add_argument("--delay", default="0s")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--on", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.on is None:
        measure(args.recipe, args.rate, args.delay, args.seconds)
    else:
        bed = beds.load(args.on)
        print(json.dumps(exchange(bed, bed.host_here(), args.start, args.seconds)))


if __name__ == "__main__":
    main()

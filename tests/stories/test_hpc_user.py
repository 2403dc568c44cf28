"""A user of a 6x4x3 torus, whose cables stay: what the best schedule gains, by rank, by size and with a node down."""

import re

import pytest

TORUS = "Torus(6,4,3)"


def test_what_the_torus_can_do(walk):
    walk(
        "show", TORUS,
        says=[
            "servers N 72",
            "ports d 6",
            "cables 216 duplex",
            "allreduce of 1MB 277.8us",
            "12 steps, 71/36 = 1.9722 M/B, bandwidth-optimal",
            "today: torus rings 453.3us, 20 steps",
        ],
    )  # fmt: skip
    walk("find", "72", "6", "--seconds", "0", says=["72 servers with 6 ports each, duplex", "next: linkstep wire"])


def test_by_size(walk):
    out = walk(
        "show", TORUS, "--sizes", "1KiB:1GiB:x8",
        says=[
            "size ours ring torus bound speed-up", "1KiB 120.2us 1.42ms 200.3us",
            "torus: today's schedules on these cables; ring: today's, on as many servers and ports wired as they need",
        ],
    )  # fmt: skip
    lines = re.findall(r"^ *\d+[KMG]iB +([\d.]+)(\ws) +\S+ +([\d.]+)(\ws) .* (\S+)x$", out, re.MULTILINE)
    unit = {"us": 1, "ms": 1000}
    on_these_cables = [float(torus) * unit[b] / (float(ours) * unit[a]) for ours, a, torus, b, _ in lines]
    assert len(lines) == 8 and min(on_these_cables) > 1.6
    gains = [float(gain) for *_, gain in lines]
    assert gains[0] > 1.6 and min(gains) >= 1.01  # of large data a ring of as many ports, wired for it, is as good


def test_which_rank_is_where(walk):
    out = walk("show", TORUS, "--ranks", says=["rank x y z linked to ranks", "#SBATCH --nodes=72", "srun linkstep run"])
    rows = [[int(word) for word in line.split()] for line in out.splitlines() if re.fullmatch(r"[ \d]+", line)]
    place = {rank: (x, y, z) for rank, x, y, z, *_ in rows}
    assert place == {rank: (rank // 12, rank // 3 % 4, rank % 3) for rank in range(72)}
    for rank, *_, a, b, c, d, e, f in rows:
        for other in (a, b, c, d, e, f):
            apart = [
                min((here - there) % size, (there - here) % size)
                for here, there, size in zip(place[rank], place[other], (6, 4, 3), strict=True)
            ]
            assert sum(apart) == 1, f"{rank} and {other} are not next to each other"


def test_one_baseline_however_it_is_written(walk):
    tables = [
        walk(
            "baselines", "72", "6", "--on", torus, says=["torus-rings 453.3us 20 3.1667", "our schedule (bfb) 277.8us"]
        )
        for torus in (TORUS, "Torus(3,4,6)")
    ]
    assert tables[0] == tables[1].replace("Torus(3,4,6)", TORUS)


def test_schedule_and_its_frontier(walk):
    walk(
        "schedule",
        TORUS,
        "-o",
        "torus.npz",
        says=[f"{TORUS}: allreduce by", "277.8us", "71/36 = 1.9722, bandwidth-opt"],
    )
    walk("check", "torus.npz", says=[f"valid allreduce on {TORUS}, N=72", "277.8us for 1MB"])
    walk(
        "schedule",
        TORUS,
        "--frontier",
        says=["no graph of this N goes below 71/36", re.compile(r"^ 12 +71/36 .*277\.8us")],
    )


def test_throughput(walk):
    walk("throughput", TORUS, says=["0.0185185 exactly (1/54)", "360us"])


@pytest.mark.parametrize("node", ["5", "71"])
def test_a_node_is_down(walk, node):
    out = walk(
        "schedule", TORUS, "--down", node, "-o", "around.npz",
        says=[f"{TORUS}, down {node}: allreduce by", f"faults down {node}", "without the faults 12 steps, 71/36 M/B"],
    )  # fmt: skip
    took = re.search(r"time for 1MB +(\S+)us", out)
    assert took is not None and float(took[1]) > 277.8
    walk("check", "around.npz", says=["N=71", f"{took[1]}us for 1MB"])

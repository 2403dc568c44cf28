"""An ML engineer has 8 servers with 4 and with 8 NICs: which wiring, which runtime file, what training gains."""

import json
import re

import pytest

BEST = re.compile(r"^best for an allreduce of 1MB: (.+), ([\d.]+)us$", re.MULTILINE)


def best(walk, ports: int, *options: str) -> tuple[str, float]:
    found = BEST.search(walk("find", "8", str(ports), *options, says=[f"8 servers with {ports} ports each, duplex"]))
    assert found is not None
    return found[1], float(found[2])


def test_four_nics(walk):
    assert best(walk, 4) == ("K_{4,4}", 180)
    walk(
        "find", "8", "4", "--sizes", "1KiB:1GiB",
        says=[re.compile(r"^K_\{4,4\} +180us +1\.00x +4\* +1\.7500\*"), "speed-up", "BiRing(4,8) takes 280us today"],
    )  # fmt: skip


def test_eight_and_fourteen_nics(walk):
    """K_8 and a perfect matching use 8 ports, two copies of K_8 use 14: one step each way."""
    walk("find", "8", "8", says=[re.compile(r"^\S+ .* 2\* +2\.0000 "), re.compile(r"^\S+ .* 4 +1\.7500\*")])
    walk("find", "8", "14", says=[re.compile(r"^Bundle\(14,8\) +160us +1\.00x +2\* +1\.7500\*")])


def test_more_ports_are_never_worse(walk):
    """At 25 Gbps a port, so that a port more is a port more."""
    times = [best(walk, ports, "--bandwidth", f"{25 * ports}Gbps")[1] for ports in (2, 4, 5, 7, 8, 11, 14)]
    assert times == sorted(times, reverse=True) and times[0] > times[-1]


def test_from_schedule_to_runtime(walk):
    walk(
        "schedule", "K_{4,4}", "-o", "ar.npz",
        says=[
            "K_{4,4}: allreduce by breadth-first broadcast, checked",
            "time for 1MB 180us",
            "steps (T_L) 4, Moore-optimal",
            "7/4 = 1.7500, bandwidth-optimal",
            "saved to ar.npz",
        ],
    )  # fmt: skip
    walk("check", "ar.npz", says=["valid allreduce on K_{4,4}, N=8", "4 alpha + 7/4 M/B, bandwidth-optimal, 180us"])
    for runtime, file in (("mscclpp", "ar.json"), ("msccl", "ar.xml")):
        walk("lower", "ar.npz", "--to", runtime, "-o", file, says=[f"lowered to {runtime} and verified", "ranks 8"])
        walk("verify", file, says=[f"{file}: verified allreduce of 8 ranks, 32 chunks", f"for {runtime}"])
        walk("simulate", file, says=[f"allreduce of 1MB for {runtime}, simulated", "simulated"])
    walk("simulate", "ar.xml", says=[re.compile(r"^ +simulated +180us$")])
    walk("simulate", "ar.npz", says=["4 alpha + 7/4 M/B = 180us", "simulated 180us, the same"])
    walk("check", "ar.xml", code=2, notes=["is an MSCCL program (XML), not a schedule: `linkstep verify ar.xml`"])


def test_training(walk):
    out = walk(
        "train-sim", "resnet50", "--nodes", "8",
        says=["resnet50: 25,557,032 parameters on 8 servers", re.compile(r"^K_\{4,4\} +\S+ms +1\.00x")],
    )  # fmt: skip
    times = re.findall(r"^\S+(?: wiring beats)? +([\d.]+)ms ", out, re.MULTILINE)
    assert len(times) >= 3 and float(times[0]) == min(map(float, times))


@pytest.mark.slow
def test_measured_here(walk):
    pytest.importorskip("mpi4py", reason="runs by MPI need mpi4py")
    code, out, err = walk.run(["run", "K_{4,4}", "-b", "8", "-e", "1K", "-f", "2", "-o", "run.json"])
    assert code == 0, err
    assert "K_{4,4}: allreduce by mpi, 8 ranks" in out and "read as --sizes 8B:1KiB:x2" in err
    sizes = [8 << i for i in range(8)]
    rows = re.findall(r"^ *(\d+(?:B|KiB)) +\d", out, re.MULTILINE)
    assert rows == [f"{size}B" if size < 1024 else "1KiB" for size in sizes]
    assert max(map(len, out.splitlines())) <= 80
    saved = json.loads((walk.folder / "run.json").read_text())["rows"]
    assert [(row["size"], row["count"], row["wrong"]) for row in saved] == [(size, size // 4, 0) for size in sizes]

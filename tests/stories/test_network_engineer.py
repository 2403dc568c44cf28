"""A network engineer has 64 servers in 8 racks, 4 ports on each: what to wire, and what if a cable is cut."""

import csv
import re

WIRING = "Cat(64,4,26778)"
HOSTS = [f"rack{i // 8}-srv{i % 8}" for i in range(64)]
TODAY = "Torus(8,8) takes 437.5us today; with our schedule 317.5us, no cable moved."


def names(walk) -> str:
    (walk.folder / "hosts.txt").write_text("\n".join(HOSTS) + "\n")
    return "hosts.txt"


def planned(walk) -> list[dict[str, str]]:
    walk("wire", WIRING, "--names", names(walk), "-o", "cables.csv")
    with (walk.folder / "cables.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_to_wire(walk):
    out = walk(
        "find", "64", "4",
        says=[
            "64 servers with 4 ports each, duplex cables",
            re.compile(r"^Cat\(64,4,26778\) +237\.5us +1\.00x +8\* +1\.9688\* "),
            "best for an allreduce of 1MB: Cat(64,4,26778), 237.5us",
            TODAY,
            "One-way fibres (--directed) would take 230us, 3.2% less, as Cat(64,4,54669): the two fibres of each port",
            re.compile(r"^next: linkstep wire '.*' -o cables\.csv\n +linkstep schedule .*\n +linkstep run"),
        ],
    )  # fmt: skip
    today = out[out.index("\ntoday") :].split("\n\n")[0]
    assert len(today.strip().splitlines()) == 1 + 6, "the head and at most six rows of today"


def test_one_way_fibres_when_asked_for(walk):
    walk(
        "find", "64", "4", "--directed",
        says=[
            "one-way fibres; alpha 10us",
            re.compile(r"^Cat\(64,4,54669\) +bfb +230us"),
            TODAY,
            "each port sends to one server and receives from another",
            "duplex cables take 237.5us, Cat(64,4,26778)",
        ],
    )  # fmt: skip


def test_no_more_steps_than(walk):
    walk("find", "64", "4", "--max-steps", "8", says=["best for an allreduce of 1MB: Cat(64,4,26778), 237.5us"])
    out = walk(
        "find", "64", "4", "--max-steps", "5",
        says=["nothing found with --max-steps 5", "take fewer than 8 steps together (the Moore bound)"],
    )  # fmt: skip
    assert "best for" not in out and "next:" not in out


def test_speed_up_by_size(walk):
    out = walk(
        "find", "64", "4", "--sizes", "1KiB:1GiB:x8",
        says=[re.compile(r"^ +size +ours +ring +tree +torus +bound +speed-up$"), "1KiB 80.16us", "1GiB 169.2ms"],
    )  # fmt: skip
    rows = re.findall(r"^ *(\d+[KMG]iB) .* (\d+\.\d\d)x$", out, re.MULTILINE)
    assert [size for size, _ in rows] == ["1KiB", "8KiB", "64KiB", "512KiB", "4MiB", "32MiB", "256MiB", "1GiB"]
    assert all(float(gain) >= 1 for _, gain in rows)


def test_the_plan_is_wired_and_read_back(walk):
    walk(
        "wire", WIRING, "--names", names(walk), "-o", "cables.csv",
        says=["wrote cables.csv: 128 duplex cables, 0 simplex fibres; 64 servers, 4 ports each"],
    )  # fmt: skip
    rows = planned(walk)
    ends = [row[end] for row in rows for end in ("from", "to")]
    assert len(rows) == 128 and all(ends.count(host) == 4 for host in HOSTS)
    same = ["servers N 64", "ports d 4", "cables 128 duplex", "237.5us by arrival times", "8 steps, 63/32 = 1.9688 M/B"]
    walk("show", "cables.csv", says=["cables.csv", *same])
    walk("show", WIRING, says=[WIRING, *same])


def test_a_cut_cable(walk):
    cable = planned(walk)[0]
    cut = f"{cable['from']},{cable['to']}"
    walk(
        "show", "cables.csv", "--cut", cut,
        says=["cables 127 duplex", "not regular", f"faults cut {cut}", "allreduce 237.5us, 8 steps, 63/32 M/B"],
    )  # fmt: skip
    out = walk(
        "schedule", "cables.csv", "--cut", cut, "-o", "around.npz",
        says=["checked", "without the faults 8 steps, 63/32 M/B, 237.5us", "saved to around.npz"],
    )  # fmt: skip
    took = re.search(r"time for 1MB +(\S+)us", out)
    assert took is not None and float(took[1]) > 237.5
    walk("check", "around.npz", says=["valid allreduce", f"{took[1]}us for 1MB"])


def test_a_list_of_their_own(walk):
    """One line a cable, ``;`` and headers of a spreadsheet, columns that mean nothing to linkstep."""
    lines = [f"c{row['cable']};{row['from']};{row['to']};2m" for row in planned(walk)]
    (walk.folder / "own.csv").write_text("\n".join(["Label;A side;B side;Length", *lines]) + "\n")
    says = ["own.csv", "cables 128 duplex", "237.5us by arrival times"]
    walk("show", "own.csv", says=says, notes=["128 lines have no return: they are 128 duplex cables"])
    walk("show", "own.csv", "--both-ways", says=says)
    walk("verify", "own.csv", code=2, notes=["is a wiring of 64 hosts, not a runtime's file: `linkstep show own.csv`"])


def test_an_export_of_netbox(walk):
    lines = [
        f"{row['cable']},,eth{row['from_port']},eth{row['to_port']},{row['from']},{row['to']},Connected"
        for row in planned(walk)
    ]
    head = "ID,Label,Termination A,Termination B,Device A,Device B,Status"
    (walk.folder / "netbox.csv").write_text("\n".join([head, *lines]) + "\n")
    walk("show", "netbox.csv", says=["cables 128 duplex", "237.5us by arrival times"], notes=["128 duplex cables"])

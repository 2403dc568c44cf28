"""``show --ranks``: which rank is which host and coordinate, and the job that runs them."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkstep.cli import main
from linkstep.recipe import parse
from linkstep.reports.ranks import RanksReport, dimensions, host_list

WIRINGS = Path(__file__).parents[1] / "files" / "wirings"


def run(capsys, *argv):
    assert main(["show", *argv, "--ranks"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("recipe", ["Torus(6,4,3)", "Torus(2,2,4)", "H(2,3)", "Q(4)", "K_4 x Torus(2,3)", "K_3^3"])
def test_links_of_a_product_move_along_one_dimension(recipe):
    report = RanksReport.of(parse(recipe).topology(), parse(recipe), recipe)
    assert np.prod(report.dimensions) == report.nodes
    at = {row.rank: np.array(row.coordinates) for row in report.rank_rows}
    assert len({tuple(place) for place in at.values()}) == report.nodes
    assert all((at[row.rank] != at[other]).sum() == 1 for row in report.rank_rows for other in row.neighbours)


def test_wrapped_neighbours_of_a_torus(capsys):
    found = json.loads(run(capsys, "Torus(6,4,3)", "--json"))
    row = found["rank_rows"][71]
    assert (found["format"], found["dimensions"], row["coordinates"]) == ("linkstep/ranks", [6, 4, 3], [5, 3, 2])
    assert row["neighbours"] == [11, 59, 62, 68, 69, 70]


def test_table_fits_and_the_job_is_whole(capsys):
    out = run(capsys, "Torus(6,4,3)")
    assert max(map(len, out.splitlines())) <= 80
    assert "rank  x  y  z  linked to ranks\n   0  0  0  0  1 2 3 9 12 60\n" in out
    assert out.endswith(
        """
#!/bin/bash
#SBATCH --job-name=linkstep
#SBATCH --nodes=72
#SBATCH --ntasks-per-node=1
# rank r runs on the r-th line of hosts.txt: put the hosts in the order above
scontrol show hostnames "$SLURM_JOB_NODELIST" > hosts.txt
srun linkstep run 'Torus(6,4,3)' --hosts hosts.txt --sizes 1KiB:64MiB
"""
    )


def test_named_hosts_are_asked_for_by_name(capsys):
    out = run(capsys, str(WIRINGS / "mlx.dot"))
    assert "   3  gpu04  0 1 2\n" in out and "#SBATCH --nodelist=gpu[01-04]\n" in out
    assert "scontrol show hostnames 'gpu[01-04]' > hosts.txt\n" in out


def test_coordinates_are_those_of_the_whole(capsys):
    found = json.loads(run(capsys, "Torus(3,4)", "--down", "5", "--json"))
    assert found["nodes"] == 11 and found["rank_rows"][5] | {"neighbours": []} == {
        "rank": 5, "host": "6", "coordinates": [1, 2], "neighbours": []
    }  # fmt: skip
    assert found["sbatch"][-1].startswith("srun linkstep run 'Torus(3,4)' --down 5 ")


def test_wide_tables_leave_out_neighbours(capsys):
    out = run(capsys, "K_40")
    assert out.splitlines()[1] == "rank" and max(map(len, out.splitlines())) <= 80


def test_long_lists_of_hosts_go_to_a_file(capsys, tmp_path):
    names = [f"{letter * 5}{i}" for i, letter in enumerate("abcdefghijklmnop")]
    file = tmp_path / "w.csv"
    file.write_text("".join(f"{a},{b}\n" for a, b in zip(names, names[1:] + names[:1], strict=True)))
    out = run(capsys, str(file), "--both-ways")
    assert "#SBATCH --nodelist=./hosts.txt\n" in out and "--both-ways" in out


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (["h9", "h10", "h11"], "h[9-11]"),
        (["h09", "h10"], "h[09-10]"),
        (["h9", "h09"], "h9,h09"),
        (["a1-ib", "a2-ib", "b"], "a[1-2]-ib,b"),
        (["h2", "h1"], "h2,h1"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
    ],
)
def test_host_lists(hosts, text):
    assert host_list(hosts) == text


def test_no_coordinates_where_there_is_one_dimension():
    assert [list(dimensions(parse(text))) for text in ("BiRing(2,8)", "Pi_{4,16}", "L(K_{2,2})")] == [[], [], []]


def test_ranks_draw_nothing(capsys, tmp_path):
    assert main(["show", "K_4", "--ranks", "--draw", str(tmp_path / "x.svg")]) == 2
    assert "--ranks prints a table and draws nothing" in capsys.readouterr().err

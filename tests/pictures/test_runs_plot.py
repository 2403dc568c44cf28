"""Plots of runs: every run listed, ours, the engine's own and the prediction if known, no text on another."""

import pytest

from linkstep.core.errors import LinkstepError
from linkstep.costs import Cost, Fabric
from linkstep.pictures.runs import plot_runs
from support.pictures import overlapping, texts
from support.runs import ALLREDUCES, document

FABRIC = Fabric.of("350us", "197Mbps", 4, overhead="120us")


def run(what="K_{4,4}", cost=ALLREDUCES["K_{4,4}"], sizes=(1024, 65536, 2**22), own=True, predicted=True, **members):
    made = document(FABRIC, what, cost, sizes, **members)
    for row in made["rows"]:
        seconds = row["median_seconds"]
        row |= {"min_seconds": 0.9 * seconds, "p99_seconds": 1.5 * seconds}
        row |= {"own_median_seconds": 2 * seconds if own else None}
        row |= {"predicted_seconds": 0.9 * seconds if predicted else None}
    return made


def test_says_what_ran_and_how_long(tmp_path):
    plot_runs([run(), run("UniRing(1,8)", testbed="rack")], tmp_path / "r.svg")
    said = set(texts(tmp_path / "r.svg"))
    assert {"measured", "mpi's own", "predicted", "1KiB", "64KiB", "1MiB", "10ms", "100ms"} < said
    assert {"K_{4,4}: allreduce by mpi, 8 ranks", "UniRing(1,8): allreduce by mpi, 8 ranks on rack"} < said


def test_leaves_out_what_is_not_known(tmp_path):
    plot_runs([run(own=False, predicted=False)], tmp_path / "r.svg")
    said = texts(tmp_path / "r.svg")
    assert "measured" in said
    assert not {"mpi's own", "predicted", "the engine's own"} & set(said)


@pytest.mark.slow
def test_runs_of_several_engines(tmp_path):
    plot_runs([run(), run(engine="torch", own=False)], tmp_path / "r.svg")
    assert {"the engine's own", "K_{4,4}: allreduce by torch, 8 ranks"} < set(texts(tmp_path / "r.svg"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1024, 1400003, 2**33])
def test_one_size_has_ticks(tmp_path, size):
    plot_runs([run(sizes=(size,))], tmp_path / "r.svg")
    said = texts(tmp_path / "r.svg")
    assert any(text.endswith("B") for text in said)
    assert sum(text.endswith("s") and text[0].isdigit() for text in said) >= 2  # times, beside "8 ranks"


def test_nothing_to_plot(tmp_path):
    with pytest.raises(LinkstepError, match="there is nothing to plot: no run has a row"):
        plot_runs([run(sizes=())], tmp_path / "r.svg")
    assert not (tmp_path / "r.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 24])
def test_no_text_lies_on_another(tmp_path, count):
    sizes = [2**k for k in range(34)]
    made = [run(f"Cayley(Z{n},{{{'1,' * (n % 40)}1}})", Cost(n, ALLREDUCES["K_{4,4}"].bandwidth), sizes)
            for n in range(4, 4 + count)]  # fmt: skip
    assert overlapping(lambda path: plot_runs(made, path), tmp_path) == []

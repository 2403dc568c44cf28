"""Files that commands of these tests read, and ranks that nobody starts."""

import json
from fractions import Fraction

import pytest

from linkstep.cli import main
from linkstep.engines.bench.measure import Measurement


def measured(job, bed=None, on_row=None):
    """Return rows as ranks would that take a millisecond and one for each MB, without any."""
    times = {size: (1 + size / 1e6) / 1e3 for size in job.sizes}
    return 0, [
        Measurement(
            size, size // 4, 5, time, time, 2 * time, Fraction(3, 2), 0, own_median=3 * time, cables=(1.0, 1.25)
        )
        for size, time in times.items()
    ]


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for words in (["schedule", "K_4", "-o", "made.npz"], ["lower", "K_4", "--to", "msccl", "-o", "made.xml"]):
        assert main([*words[:-1], str(folder / words[-1])]) == 0
    text = (folder / "made.xml").read_text()
    (folder / "wrong.xml").write_text(text.replace('srcoff="1"', 'srcoff="2"', 1))
    rows = [{"size": size, "median_seconds": time, "wrong": 0}
            for size, time in ((1024, 1e-4), (2**20, 2e-3), (2**24, 3e-2))]  # fmt: skip
    run = {"format": "linkstep/run", "version": 2, "what": "K_4", "collective": "allreduce", "engine": "mpi"}
    run |= {"degree": 3, "steps": 2, "t_b": "3/2", "testbed": None, "rows": rows}
    (folder / "runs.json").write_text(json.dumps([run]))
    return folder


@pytest.fixture
def folder(written, monkeypatch):
    """A folder with a schedule, runtimes' files and runs, to work in; runs are measured by nobody."""
    monkeypatch.chdir(written)
    monkeypatch.setattr("linkstep.cli._run.launch_job", measured)
    return written

"""Whether an exhibit is made again: when any file of the package or of the user's catalog has changed, else not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import linkstep
from linkstep.core.errors import FileError
from linkstep.reproduction import inputs
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import cell
from linkstep.reproduction.output import make, prepare

PACKAGE = Path(linkstep.__file__).parent
RUNS = []


def compute():
    RUNS.append(1)
    return ExhibitResult((cell("N = 8", "T_B", paper="1", bases=1),))


EXHIBIT = Exhibit("fig:made", "Made up", compute, "By hand.")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three files in place of the installed one, and nothing computed yet."""
    RUNS.clear()
    root = tmp_path / "package"
    (root / "data" / "catalog").mkdir(parents=True)
    (root / "__pycache__").mkdir()
    (root / "fabric.py").write_text("ALPHA = 1\n")
    (root / "data" / "catalog" / "d4.csv").write_text("8,4\n")
    (root / "data" / "model.json").write_text("{}")
    own = tmp_path / "own"
    monkeypatch.setattr(inputs, "PACKAGE", root)
    monkeypatch.setattr(inputs, "user_folder", lambda: own)
    inputs.digest.cache_clear()
    yield root
    inputs.digest.cache_clear()


def is_made_again(folder):
    """Return whether the exhibit is computed by a process that starts now."""
    inputs.digest.cache_clear()
    before = len(RUNS)
    list(make([EXHIBIT], folder))
    return len(RUNS) > before


def test_unchanged_it_is_kept(package, tmp_path):
    folder = prepare(tmp_path / "results")
    assert is_made_again(folder)
    assert not is_made_again(folder)
    (package / "__pycache__" / "fabric.cpython-312.pyc").write_bytes(b"compiled")  # no input: what Python leaves behind
    os.utime(package / "fabric.py", (0, 0))
    assert not is_made_again(folder)


@pytest.mark.parametrize("name", ["fabric.py", "data/catalog/d4.csv", "data/model.json", "new.py"])
def test_a_changed_file_makes_it_again(package, tmp_path, name):
    folder = prepare(tmp_path / "results")
    assert is_made_again(folder)
    with (package / name).open("a") as file:
        file.write("\n")
    assert is_made_again(folder)
    assert not is_made_again(folder)


def test_a_removed_or_renamed_file_makes_it_again(package, tmp_path):
    folder = prepare(tmp_path / "results")
    assert is_made_again(folder)
    (package / "fabric.py").rename(package / "fabrics.py")
    assert is_made_again(folder)
    (package / "data" / "model.json").unlink()
    assert is_made_again(folder)


def test_the_users_catalog_counts(package, tmp_path):
    """``find`` answers from it too, so that figures depend on it."""
    folder = prepare(tmp_path / "results")
    assert is_made_again(folder)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "d4.csv").write_text("8,4\n")
    assert is_made_again(folder)
    assert not is_made_again(folder)


def test_a_file_that_cannot_be_read_is_named(package, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(FileError, match=r"d4\.csv: cannot be read: Permission denied"):
        list(make([EXHIBIT], prepare(tmp_path / "results")))
    assert RUNS == [] and list((tmp_path / "results").iterdir()) == []


def test_all_of_the_installed_package_counts():
    names = {path.relative_to(PACKAGE).as_posix() for path in inputs.files_below(PACKAGE)}
    assert {"costs/fabric.py", "reproduction/measured.csv", "data/models/alexnet.json", "data/genkautz.csv"} <= names
    assert {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} <= names
    assert not any("__pycache__" in name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["costs/fabric.py", "simulation/training/streams.py", "data/models/alexnet.json"])
def test_in_a_copy_of_the_package(tmp_path, name):
    """A file that no module of exhibits imports itself: a version that stays the same does not hide its change."""
    copy = tmp_path / "linkstep"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from linkstep.reproduction import exhibit_labelled as e; from linkstep.reproduction.output import fingerprint;"
        " import linkstep; print(linkstep.__file__, fingerprint(e('fig:smalltraining')))"
    )

    def found():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        where, value = done.stdout.split()
        assert Path(where).parent == copy
        return value

    before = found()
    assert found() == before
    with (copy / name).open("a") as file:
        file.write("\n")
    assert found() != before

"""Runtimes' files are told apart from recipes and our own files, by name where that is enough and else by content."""

from pathlib import Path

import pytest

import linkstep
import support
from linkstep.files import is_runtime_file

PROGRAMS = Path(support.__file__).parent / "programs"


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.*")), ids=lambda path: path.name)
def test_files_of_runtimes(path, tmp_path):
    assert is_runtime_file(str(path))
    renamed = tmp_path / "renamed.txt"
    renamed.write_text(path.read_text())
    assert is_runtime_file(str(renamed))


@pytest.mark.parametrize("suffix", [".npz", ".json", ".csv", ".graphml"])
def test_files_of_ours(tmp_path, suffix):
    linkstep.save(linkstep.parse("K_4").topology(), tmp_path / f"k{suffix}")
    assert not is_runtime_file(str(tmp_path / f"k{suffix}"))


def test_neither(tmp_path):
    (tmp_path / "notes.txt").write_text("Torus(4,4)")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    for name in ("notes.txt", "bytes.json", "missing.json", "missing.txt", "K_5" + "*1" * 150):
        assert not is_runtime_file(str(tmp_path / name)), name
    assert is_runtime_file(str(tmp_path / "missing.xml"))

"""One sentence for what is not installed, with a command that works from a clone, a repository and an index."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import linkstep
from linkstep.core import extras
from linkstep.core.extras import install_command, missing
from linkstep.core.networkx_graphs import graph_of

ROOT = Path(__file__).parents[2]
SOURCES = Path(linkstep.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.fixture
def no_clone(monkeypatch):
    monkeypatch.setattr(extras, "_clone", lambda module: None)

    def origin(**noted):
        monkeypatch.setattr(extras, "_direct_url", lambda: noted)

    return origin


def test_from_a_clone(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert install_command("plot") == "python -m pip install -e '.[plot]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("plot") == f"python -m pip install -e '{ROOT}[plot]'"


def test_from_an_index(no_clone):
    no_clone()
    said = missing("drawing", "matplotlib", "plot")
    assert said == "drawing needs matplotlib, which is not installed: python -m pip install 'linkstep[plot]'"


def test_from_a_folder_that_was_installed(no_clone, monkeypatch, tmp_path):
    folder = tmp_path / "my clone"
    no_clone(url=f"file://{tmp_path}/my%20clone", dir_info={})
    assert install_command("plot") == "python -m pip install 'linkstep[plot]'"  # the folder is gone
    folder.mkdir()
    assert install_command("plot") == f"python -m pip install '{folder}[plot]'"
    monkeypatch.chdir(folder)
    assert install_command("plot") == "python -m pip install '.[plot]'"


def test_from_an_archive(no_clone):
    no_clone(url="https://host/linkstep.tar.gz", archive_info={})
    assert install_command("mpi") == "python -m pip install 'linkstep[mpi] @ https://host/linkstep.tar.gz'"


def test_the_note_of_an_installed_package_is_read(tmp_path):
    """A real dist-info beside a copy of the module that is in no clone."""
    package = tmp_path / "site-packages" / "linkstep"
    (package / "core").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "core" / "__init__.py").touch()
    (package / "core" / "extras.py").write_text((SOURCES / "core" / "extras.py").read_text())
    info = tmp_path / "site-packages" / "linkstep-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: linkstep\nVersion: 9\n")
    code = "from linkstep.core.extras import install_command; print(install_command('flow'))"

    def said():
        path = os.environ | {"PYTHONPATH": str(tmp_path / "site-packages")}
        return subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True).stdout

    assert said() == "python -m pip install 'linkstep[flow]'\n"
    (info / "direct_url.json").write_text(
        '{"url": "https://h/l.git", "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "main"}}'
    )
    assert said() == "python -m pip install 'linkstep[flow] @ git+https://h/l.git@abc'\n"
    (info / "direct_url.json").write_text("not json")
    assert said() == "python -m pip install 'linkstep[flow]'\n"


def test_what_cannot_be_loaded_says_why():
    said = missing("engine mpi", "mpi4py", "mpi", reason="libmpi.so:\nno such file")
    assert said.startswith("engine mpi needs mpi4py, which cannot be loaded (libmpi.so: no such file): python -m pip ")


def test_a_graph_of_networkx_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(linkstep.LinkstepError, match=r"^a graph of networkx needs networkx, which is not installed: "):
        graph_of(linkstep.parse("K_4").topology())


def test_no_other_wording():
    """Commands to install something are written in one place, and name extras that there are."""
    places = [SOURCES, ROOT / "benchmarks", ROOT / "examples", ROOT / "scripts"]
    files = [path for place in places for path in place.rglob("*.py")]
    assert len(files) > 300
    found = {path.relative_to(ROOT) for path in files if re.search(r"pip3? install", path.read_text())}
    documented = {Path("benchmarks/sccl.py")}  # says in its docstring what it needs
    assert found - documented == {Path("src/linkstep/core/extras.py")}
    for path in files:
        for words in re.findall(r"missing\(\s*(.*?)\)", path.read_text()):
            for extra in re.findall(r'^[^=]*, "([a-z-]+)"(?:,|$)', words):
                assert extra in PROJECT, (path, words)


def test_all_is_everything_but_torch():
    (every,) = PROJECT["all"]
    named = set(re.fullmatch(r"linkstep\[(.*)\]", every)[1].split(","))
    assert named == PROJECT.keys() - {"all", "torch", "test", "lint", "browser", "docs"}
    assert PROJECT["torch"] == []
    assert "'.[all]'" in (ROOT / "README.md").read_text()
    assert "`all`" in (ROOT / "docs" / "develop" / "dependencies.md").read_text()


def test_the_page_of_extras_has_them_all():
    text = (ROOT / "docs" / "start" / "install.md").read_text()
    listed = dict(re.findall(r"^\| `([a-z-]+)`( \(not in `all`\))? \|", text, re.M))
    assert listed.keys() == PROJECT.keys()
    assert {extra for extra, mark in listed.items() if mark} == {"test", "lint", "browser", "docs"}

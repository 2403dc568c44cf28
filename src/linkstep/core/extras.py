"""What to do where something optional is not installed: one sentence everywhere, with the command that is right here.

Which command that is depends on where linkstep came from: a clone (its folder is named, "." if it is the current one),
a repository, an archive, or an index. Not here: whether something is installed, which those see who need it.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "linkstep"


def missing(what: str, needs: str, extra: str = "", *, package: str = "", reason: str = "") -> str:
    """Return that something needs what is not installed, or cannot be loaded for a reason, and what to run.

    What is no extra of linkstep is a package of its own:

    >>> missing("measuring a model", "PyTorch", package="torch")
    'measuring a model needs PyTorch, which is not installed: python -m pip install torch'
    """
    state = f"cannot be loaded ({' '.join(reason.split())})" if reason else "is not installed"
    return f"{what} needs {needs}, which {state}: {install_command(extra) if extra else f'{_PIP} {package}'}"


_PIP = "python -m pip install"


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from where linkstep itself came from."""
    clone = _clone(Path(__file__))
    if clone is not None:
        return f"{_PIP} -e {_in_folder(clone, extra)}"
    return f"{_PIP} {_requirement(_direct_url(), extra)}"


def _clone(module: Path) -> Path | None:
    """Return the clone that a module of this package is in, or None."""
    root = module.resolve().parents[3]
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return root if f'name = "{_NAME}"' in text else None


def _in_folder(folder: Path, extra: str) -> str:
    is_here = Path.cwd() == folder
    return f"'.[{extra}]'" if is_here else shlex.quote(f"{folder}[{extra}]")


def _requirement(origin: dict[str, Any], extra: str) -> str:
    """Return what pip is to install, by what it noted of where the package came from (PEP 610).

    >>> _requirement({}, "plot")
    "'linkstep[plot]'"
    >>> git = {"url": "https://host/linkstep", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}}
    >>> _requirement(git, "plot")
    "'linkstep[plot] @ git+https://host/linkstep@1f2e'"
    """
    url = origin.get("url")
    if not isinstance(url, str) or not url:
        return f"'{_NAME}[{extra}]'"
    if "dir_info" in origin:
        folder = Path(unquote(urlsplit(url).path))
        return _in_folder(folder, extra) if folder.is_dir() else f"'{_NAME}[{extra}]'"
    vcs = origin.get("vcs_info")
    if isinstance(vcs, dict):
        url = f"{vcs.get('vcs', 'git')}+{url}@{vcs.get('commit_id', 'HEAD')}"
    return shlex.quote(f"{_NAME}[{extra}] @ {url}")


@cache
def _direct_url() -> dict[str, Any]:
    """Return what pip noted when it installed linkstep; nothing where it came from an index, or is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(_NAME).read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

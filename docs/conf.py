"""How Sphinx builds the site: ``make -C docs html``. Pages stay plain Markdown that pytest runs and GitHub shows."""

import subprocess
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.highlighting import lexers

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # for scripts/, which are no package that is installed

from scripts.make_reference import write_reference  # noqa: E402

from linkstep import __version__  # noqa: E402
from linkstep.cli._commands import NAMES  # noqa: E402

EXPLORERS = {"cat-64-4.html": "Cat(64,4,26778)", "torus-8-8.html": "Torus(8,8)"}
"""Explorers that start/live.md shows: the file under _static/explorer/ and its recipe."""
HAS_EXPLORERS = "report" in NAMES
"""Whether this version has the command that writes them; the page is left out where it has not."""

project, author, release = "linkstep", "The linkstep maintainers", __version__
extensions = ["myst_parser"]
exclude_patterns = ["_build", *([] if HAS_EXPLORERS else ["start/live.*"])]
suppress_warnings = [] if HAS_EXPLORERS else ["toc.excluded"]
myst_heading_anchors = 4  # links to headings are those that GitHub knows
toc_object_entries_show_parents = "hide"
smartquotes = False  # quotes and dashes are those of commands and code
html_theme = "furo"
html_title = "linkstep"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
lexers["csv"] = TextLexer()  # Pygments has none of this name


def write_explorers() -> None:
    """Write the explorers that are not there yet, each a page of its own without anything from outside."""
    folder = HERE / "_static" / "explorer"
    folder.mkdir(exist_ok=True)
    for name, recipe in EXPLORERS.items():
        if not (folder / name).exists():
            subprocess.run([sys.executable, "-m", "linkstep", "report", recipe, "-o", str(folder / name)], check=True)


def write_pages(app: Sphinx) -> None:
    """Write what is made at build time, before Sphinx looks for pages."""
    write_reference()
    if HAS_EXPLORERS:
        write_explorers()


def setup(app: Sphinx) -> None:
    """Have the pages written first; Sphinx calls this."""
    app.connect("builder-inited", write_pages)

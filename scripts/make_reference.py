"""Write the generated pages of the reference: docs/reference/cli/, every command, and docs/reference/api/, every name.

    python scripts/make_reference.py

``docs/conf.py`` does this before each build. The pages are not committed; what is unchanged is not written again, so
that a build goes on from the last one.
"""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # run as a script, which has only its own folder to import from
    sys.path.insert(0, str(Path(__file__).parents[1]))
    __package__ = "scripts"
from scripts.reference_commands import command_pages
from scripts.reference_names import name_pages

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def write_reference(folder: Path = REFERENCE) -> None:
    """Write all pages, and remove those of what is no longer there."""
    for name, pages in (("cli", command_pages()), ("api", name_pages())):
        there = folder / name
        there.mkdir(parents=True, exist_ok=True)
        for old in set(there.glob("*.md")) - {there / f"{page}.md" for page in pages}:
            old.unlink()
        for page, text in pages.items():
            file = there / f"{page}.md"
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_reference()

"""The generated reference: every command with all its options, every public name with an example; nothing is markup."""

import argparse
import re

import pytest
from scripts.make_reference import write_reference
from scripts.reference_commands import command_pages
from scripts.reference_names import name_pages
from scripts.reference_text import escaped, markdown_of

import linkstep
from linkstep.cli._commands import COMMANDS
from linkstep.cli._parser import build_parser, load_commands

COMMAND_PAGES = command_pages()
NAME_PAGES = name_pages()


def test_there_is_a_page_for_every_command():
    assert set(COMMAND_PAGES) == {"index", *COMMANDS}
    listed = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)\n```", COMMAND_PAGES["index"], re.S)[1]
    assert listed.split() == list(COMMANDS)


@pytest.mark.parametrize("command", load_commands(), ids=lambda command: command.name)
def test_a_page_has_every_option_and_the_example(command):
    page = COMMAND_PAGES[command.name]
    [subparsers] = [action for action in build_parser()._actions if action.dest == "command"]
    parser = subparsers.choices[command.name]
    entries = re.findall(r"^```\{option\} (.+)$", page, re.M)
    for action in parser._actions:
        for option in action.option_strings if action.help != argparse.SUPPRESS else ():
            assert option in ("-h", "--help") or any(option in entry.replace(",", " ").split() for entry in entries)
    assert command.example in page and not re.search(r"^\.$|[^.]\.\.$|%\(", page, re.M)


def test_every_public_name_has_one_entry_with_an_example():
    text = "".join(NAME_PAGES[page] for page in NAME_PAGES if page != "index")
    entries = dict(re.findall(r"^``````\{py:\w+\} (\w+)(.*?)^``````$", text, re.M | re.S))
    assert sorted(entries) == sorted(linkstep.__all__)
    assert [name for name, entry in entries.items() if ">>> " not in entry] == ["__version__"]
    for name in linkstep.__all__:
        assert f"{{py:obj}}`~linkstep.{name}`" in NAME_PAGES["index"]


def test_signatures_are_readable():
    text = "".join(NAME_PAGES.values())
    assert " at 0x" not in text and "typing." not in text and "<class" not in text
    head = re.search(r"^``````\{py:function\} (find\(.*)$", NAME_PAGES["verbs"], re.M)[1]
    assert head.startswith("find(num_nodes: int | Problem, degree: int | None = None, *, families: str = 'all', ")
    assert head.endswith(") -> Answer")


def test_text_is_no_markup():
    assert escaped("a_b * c | ``x_y`` and `z`") == r"a\_b \* c \| `x_y` and `z`"
    assert escaped("as docs/reference/glossary.md says") == "as [Glossary](../../reference/glossary.md) says"
    doc = "One ``line``.\n\n    a table\n    of text\n\n>>> 1 + 1\n2\n"
    assert markdown_of(doc) == "One `line`.\n\n```text\na table\nof text\n```\n\n```pycon\n>>> 1 + 1\n2\n```"


@pytest.mark.slow
def test_what_is_unchanged_is_not_written_again(tmp_path):
    write_reference(tmp_path)
    files = sorted(tmp_path.rglob("*.md"))
    assert len(files) == len(COMMAND_PAGES) + len(NAME_PAGES)
    before = [file.stat().st_mtime_ns for file in files]
    (tmp_path / "cli" / "gone.md").write_text("# gone\n")
    write_reference(tmp_path)
    assert sorted(tmp_path.rglob("*.md")) == files
    assert [file.stat().st_mtime_ns for file in files] == before

"""One word for one thing: the glossary has the words, and helps and pages keep to them."""

import ast
import re
from pathlib import Path

import pytest

from linkstep.cli import main
from linkstep.cli._commands import COMMANDS, GROUPS
from linkstep.core.collective import Collective
from linkstep.engines.transports.engine import ENGINES
from linkstep.lowering import TARGETS

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text()
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs").glob("*/*.md")),
]
TERMS = """server, host, rank, forwarder, node, port, cable, link, duplex, directed, topology, wiring, recipe, family,
catalog, line graph, lift, graft, baseline, collective, M, shard, piece, chunk, step, schedule, method, BFB, alpha, B,
arrival time, T_L, T_B, bandwidth-optimal, Moore bound, frontier, fabric, throughput, target, runtime, program, plan,
engine, selector, testbed, diameter"""
SERVERS = ("find", "wire", "baselines", "families", "train-sim", "testbed", "show", "convert")
"""Commands in whose help a server is no node."""
LEAVING = {"answer.py": ["bidirectional"], "_directed_option.py": ["bidirectional"]}
"""Modules whose messages name an option or argument that the next release no longer takes."""


def rows() -> list[tuple[str, str]]:
    return re.findall(r"^\| (\*\*.+?) \| (.+) \|$", GLOSSARY, re.M)


def ruled_out() -> list[str]:
    """The words of the last table; of its last row, which is about some helps, none."""
    table = re.search(r"\| instead of \| say \|\n\|---\|---\|\n((?:\|.*\n)+)", GLOSSARY)[1]
    left = re.findall(r"^\| (.+?) \| .+ \|$", table, re.M)
    return [word.strip() for cell in left if "in the help" not in cell for word in cell.split(",")]


def found(text: str, words: list[str]) -> list[str]:
    """Return those of some words that a text has, but for what others named with them."""
    text = re.sub(r"vertex-transitive", "", text)
    return [word for word in words if re.search(rf"\b{word}s?\b", text, re.I)]


def prose(page: Path) -> str:
    """Return a page without its code and where its links lead."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`\n]*`", "", text))


def help_of(capsys, *words: str) -> str:
    """Return a help without the names of options and what stands for values."""
    assert main([*words, "--help"]) == 0
    return re.sub(r"--[\w-]+|\b[A-Z]{2,}\b", "", capsys.readouterr().out)


def test_every_word_is_explained_once_and_briefly():
    listed = [term for cell, _ in rows() for term in re.findall(r"\*\*(.+?)\*\*", cell)]
    assert sorted(listed) == sorted(set(listed)) and set(re.split(r",\s", TERMS)) <= set(listed)
    assert all(9 <= len(text) <= 240 for _, text in rows()), "one or two lines each"


def test_values_are_those_of_the_program():
    text = dict(rows())
    assert re.findall(r"`([a-z-]+)`", text["**collective**"]) and set(
        re.findall(r"`([a-z-]+)`", text["**collective**"])
    ) == set(Collective)
    assert set(re.findall(r"`([a-z]+)`", text["**engine**"])) == set(ENGINES)
    assert {"mscclpp", "msccl", "cpu"} <= set(TARGETS)


def test_words_that_are_ruled_out():
    assert ruled_out() == ["bidirectional", "full-duplex", "unidirectional", "half-duplex", "vertex", "vertices", "box",
                           "computer"]  # fmt: skip
    assert found("a Bidirectional link, a vertex-transitive box", ruled_out()) == ["bidirectional", "box"]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "glossary.md"], ids=lambda page: page.name)
def test_pages_keep_to_the_words(page):
    assert found(prose(page), ruled_out()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_helps_keep_to_the_words(capsys, command):
    text = help_of(capsys, command)
    assert found(text, ruled_out()) == []
    assert command not in SERVERS or found(text, ["node"]) == []


@pytest.mark.parametrize(
    "words", [("testbed", "up"), ("testbed", "cut"), ("catalog", "build"), ("catalog", "add"), ("catalog", "narrow")]
)
def test_helps_of_actions_keep_to_the_words(capsys, words):
    assert found(help_of(capsys, *words), ruled_out()) == []


def said(file: Path) -> str:
    """Return the text of a module's error messages and of what it prints."""
    tree = ast.parse(file.read_text())
    every = list(ast.walk(tree))
    nodes = [node for node in every if isinstance(node, ast.Raise)]
    nodes += [node for node in every if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"]
    texts = [part.value for node in nodes for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return "\n".join(text for text in texts if isinstance(text, str))


@pytest.mark.slow
def test_messages_keep_to_the_words():
    spoken = {file: said(file) for file in (ROOT / "src" / "linkstep").rglob("*.py")}
    assert sum(map(len, spoken.values())) > 30_000
    assert {file.name: found(text, ruled_out()) for file, text in spoken.items() if found(text, ruled_out())} == LEAVING


def test_every_page_that_a_help_names_exists():
    pages = {page for _, page in GROUPS} | {page for _, page in COMMANDS.values()}
    assert all((ROOT / page).is_file() for page in pages)


def test_the_page_of_commands_lists_them_all():
    page = ROOT / "docs" / "reference" / "commands.md"
    listed = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| \[(.+?)\]\((.+?)\) \|$", page.read_text(), re.M)
    wanted = [(name, line, page_of, (ROOT / page_of).resolve()) for name, (line, page_of) in COMMANDS.items()]
    assert [(*row, f"docs/{text}", (page.parent / link).resolve()) for *row, text, link in listed] == wanted


SHOWN = (
    "find 16 4 --sizes 1KiB,1MiB", "find 8 2 --job gpt2-medium", "show Torus(3,4)", "show L(K_{2,2})",
    "show Torus(3,3) --cut 0,1", "baselines 8 3", "schedule L(K_{2,2}) -o s.npz", "wire K_{2,2}",
    "lower s.npz --to msccl -o s.xml", "lower s.npz --to mscclpp -o s.json", "lower s.npz --to cpu -o c.xml",
    "simulate s.npz --to msccl", "simulate s.xml --on L(K_{2,2})", "throughput Torus(3,3)",
)  # fmt: skip
"""Commands whose tables are held against the glossary."""
ENGLISH = {
    "from", "to", "takes", "size", "cost", "port", "cable", "what f is", "from bytes", "to bytes", "fastest allreduce",
    "by distances at most", "by cuts at most", "any topology at most", "time for 1MB a host", "today: torus rings",
    "today: Bruck", "an iteration of gpt2-medium",
}  # fmt: skip
"""What needs no explanation, or ends in a name."""


def heads(text: str) -> set[str]:
    """Return the heads of columns and the beginnings of lines of what a command prints."""
    lines = text.splitlines()
    found = {
        match[1] for line in lines if (match := re.match(r" {2,4}([a-z][^:]*?(?:: [a-zA-Z ]+)?)  +\S", line, re.I))
    }
    for line in lines:
        cells = re.split(r"  +", line.strip())
        if cells[0] in ("wiring", "today", "size", "cable", "from bytes") or cells[0].startswith("an iteration"):
            found |= set(cells)
    return {head.strip() for head in found if not re.match(r"\d+ to \d", head)}


def test_every_word_that_a_table_prints(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    terms = {term for cell, _ in rows() for term in re.findall(r"\*\*(.+?)\*\*", cell)}
    missing, seen = {}, set()
    for command in SHOWN:
        assert main(command.split()) == 0, command
        printed = heads(capsys.readouterr().out)
        seen |= printed
        missing |= {head: command for head in printed if not is_explained(head, terms)}
    assert len(seen) > 50 and missing == {}


def is_explained(head: str, terms: set[str]) -> bool:
    """Whether a head is a term, its plural, one with a unit, or plain English."""
    plain = re.sub(r" \((?:T_L|T_B|M/B)\)$", "", head)
    return bool({plain, plain.removesuffix("s"), f"{plain}s"} & terms) or plain in ENGLISH

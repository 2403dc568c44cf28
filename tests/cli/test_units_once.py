"""What is written with a unit is read once, where it enters; inside there are numbers."""

from collections import Counter

import pytest

from linkstep.cli import _fabric_options, main
from linkstep.core import units


@pytest.fixture
def read(monkeypatch):
    """How often each text was read as a quantity, by what it is."""
    assert _fabric_options.SIZE == "1MB"  # imported, so that its own constants are read already
    counts, plain = Counter(), units._read

    def counting(text, known, what, *rest):
        counts[what, text] += isinstance(text, str)
        return plain(text, known, what, *rest)

    monkeypatch.setattr(units, "_read", counting)
    return counts


@pytest.mark.parametrize(
    "words",
    [
        ["train-sim", "gpt2-small", "--nodes", "64"],
        ["train-sim", "switch-base-128", "--nodes", "64"],
        ["find", "64", "4", "--size", "3MB"],
        ["find", "64", "4", "--size", "3000000"],
        ["find", "64", "4", "--sizes", "1KB:1GB"],
        ["baselines", "64", "4", "--size", "3MB"],
        ["show", "Torus(4,4)", "--size", "3MB"],
        ["schedule", "Torus(3,3)", "--size", "3MB", "--json"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_texts_are_read_once(words, read, capsys):
    assert main(words) == 0
    capsys.readouterr()
    sizes = {text: count for (what, text), count in read.items() if what == "size" and isinstance(text, str)}
    assert sizes and set(sizes.values()) == {1}
    others = [count for (what, text), count in read.items() if what != "size" and isinstance(text, str)]
    assert max(others) <= 3


def test_a_size_is_printed_as_it_was_written(capsys):
    assert main(["find", "16", "4", "--size", "0.5MiB"]) == 0
    assert "0.5MiB" in capsys.readouterr().out
    assert main(["find", "16", "4", "--size", "banana"]) == 2
    assert capsys.readouterr().err == (
        "linkstep: argument --size: size must be a number with a unit, such as 1MB or 1MiB, not 'banana'; "
        "`linkstep find --help` shows how\n"
    )

"""The page's numbers are linkstep's: how it writes and reads quantities, held to ``core/units.py`` in node."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from linkstep.core.errors import UnitError
from linkstep.core.spellings import AMBIGUOUS, RATES, SIZES, TIMES
from linkstep.core.units import (
    format_bandwidth,
    format_size,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_time,
)

SOURCES = Path(__file__).parents[2] / "explorer"
RUN = """
import * as words from "./src/model/words";
import * as quantities from "./src/model/quantities";
import { Exact } from "./src/model/exact";

const asked = JSON.parse(await new Response(process.stdin as any).text());
const exact = ({ value }: quantities.Reading) => (value ? [`${value.over}`, `${value.under}`, value.number] : null);
console.log(JSON.stringify({
  times: asked.numbers.map(words.timeText),
  sizes: asked.numbers.map((one: number) => words.sizeText(one)),
  binary: asked.numbers.map((one: number) => words.sizeText(one, true)),
  rates: asked.numbers.map(words.rateText),
  size: asked.size.map((text: string) => exact(quantities.exactSize(text))),
  time: asked.time.map((text: string) => exact(quantities.exactTime(text))),
  bandwidth: asked.bandwidth.map((text: string) => exact(quantities.exactRate(text))),
  floats: asked.fractions.map((text: string) => Exact.read(text).number),
}));
"""


@pytest.fixture(scope="module")
def in_node(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that asks the page's own modules, compiled and run by node."""
    node, esbuild = shutil.which("node"), SOURCES / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("needs node, and `npm ci` in explorer/")
    script = tmp_path_factory.mktemp("words") / "run.mjs"
    subprocess.run(
        [str(esbuild), "--bundle", "--format=esm", "--loader=ts", "--platform=node", f"--outfile={script}"],
        input=RUN, text=True, check=True, cwd=SOURCES, capture_output=True,
    )  # fmt: skip

    def ask(**asked: Any) -> Any:
        lists = {"numbers": [], "size": [], "time": [], "bandwidth": [], "fractions": []} | asked
        done = subprocess.run([node, str(script)], input=json.dumps(lists), text=True, check=True, capture_output=True)
        return json.loads(done.stdout)

    return ask


def _numbers() -> list[float]:
    drawn = random.Random(1)
    ties = [1234.5, 1233.5, 123.25, 123.75, 0.5, 2.5, 1e-3 * 1.0625, 1.0005, 99995, 999.95, 99.995, 1023.5, 1048575]
    powers = [10.0**k for k in range(-12, 18)] + [2.0**k for k in range(55)] + [2.0**k - 1 for k in range(1, 52)]
    return [0.0, *ties, *powers, *(10 ** drawn.uniform(-12, 17) for _ in range(500))]


def test_numbers_are_written_alike(in_node: Any) -> None:
    numbers = _numbers()
    found = in_node(numbers=numbers)
    assert found["times"] == [format_time(one) for one in numbers]
    assert found["sizes"] == [format_size(one) for one in numbers]
    assert found["binary"] == [format_size(one, binary=True) for one in numbers]
    assert found["rates"] == [format_bandwidth(one) for one in numbers]


READERS = {"size": (parse_size, SIZES), "time": (parse_time, TIMES), "bandwidth": (parse_bandwidth, RATES)}


@pytest.mark.parametrize("what", READERS)
def test_quantities_are_read_alike(in_node: Any, what: str) -> None:
    parse, units = READERS[what]
    numbers = ("0", "1", "2.5", ".5", "3.", "1e3", "1.5e-3", "007")
    known = [f"{number}{space}{unit}" for number in numbers for unit in units for space in ("", " ")]
    ambiguous = [f"1{unit}" for unit in AMBIGUOUS.get(what, {})]
    wrong = ["", "x", "1x", "-1s", "1 2MB", "MB", "1MBs", "1,5MB", "nan", "inf", "1e99MB", "0x10B", "1__0B", "\u0661MB"]
    texts = [*known, *ambiguous, *wrong]
    for text, found in zip(texts, in_node(**{what: texts})[what], strict=True):
        try:
            value: Fraction | None = parse(text)
        except UnitError:
            value = None
        if value == 0 and what != "time":
            value = None  # which the page refuses, for nothing takes no data, and no time at all at no rate
        read = None if found is None else Fraction(int(found[0]), int(found[1]))
        assert read == value, text
        assert value is None or float(found[2]) == float(value), text


def test_fractions_become_the_nearest_floats(in_node: Any) -> None:
    drawn = random.Random(2)
    fractions = [
        Fraction(drawn.getrandbits(a) + 1, drawn.getrandbits(b) + 1)
        for a in range(1, 120, 7)
        for b in (1, 20, 53, 54, 90, 150)
    ]
    halves = [Fraction(2**53 + 1), Fraction(2**53 + 3), Fraction(2**54 + 2), Fraction(2**60 + 1, 2**70), Fraction(1, 3)]
    asked = [*fractions, *halves]
    found = in_node(fractions=[str(one) for one in asked])["floats"]
    assert [float(one) for one in found] == [float(one) for one in asked]

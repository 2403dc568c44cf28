"""What comes built and committed: small, of these sources, asking nothing of any network; and the bytes it reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linkstep.core.errors import LinkstepError
from linkstep.explorer.document import Document, Panel
from linkstep.explorer.packing import pack, unpack

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "explorer"
BUNDLE = ROOT / "src/linkstep/explorer/bundle"
MOST = 300_000
"""Bytes that the whole bundle may have."""
NAMES = {
    "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML",
    "http://www.w3.org/1999/xlink",
}  # fmt: skip
"""Names of XML's vocabularies, which nobody fetches."""


# --- what is committed ---


def test_the_bundle_is_small() -> None:
    assert sum(path.stat().st_size for path in BUNDLE.iterdir()) <= MOST


def test_the_bundle_asks_no_other_server() -> None:
    for name in ("explorer.js", "explorer.css"):
        text = (BUNDLE / name).read_text("utf-8")
        assert set(re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z0-9./-]+", text, re.IGNORECASE)) <= NAMES
        assert not re.search(r"@import|\burl\(\s*['\"]?(?!data:)[^)]", text)


def test_the_script_can_stand_in_a_page() -> None:
    text = (BUNDLE / "explorer.js").read_text("ascii")
    assert "</script" not in text.lower() and "<!--" not in text


def test_licences_name_all_that_is_inside() -> None:
    inside = json.loads((SOURCES / "package.json").read_text("utf-8"))["dependencies"]
    text = (BUNDLE / "licences.txt").read_text("utf-8")
    for name in inside:
        assert name in text.lower()
    assert text.count("Copyright") >= len(inside) and "Permission is hereby granted" in text


# --- building again ---


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sources with what they are built by, or skip."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("needs npm and node")
    folder = tmp_path_factory.mktemp("built") / "explorer"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("node_modules"))
    made = npm(folder, "ci", "--no-audit", "--no-fund")
    if made.returncode and re.search(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED", made.stderr):
        pytest.skip("needs a registry of npm")
    assert made.returncode == 0, made.stderr
    return folder


def npm(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *words], cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_types_hold(sources: Path) -> None:
    checked = npm(sources, "run", "check")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow
def test_building_again_gives_the_same_bytes(sources: Path, tmp_path: Path) -> None:
    built = npm(sources, "run", "build", "--", "--to", str(tmp_path))
    assert built.returncode == 0, built.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in BUNDLE.iterdir())
    for path in tmp_path.iterdir():
        same = path.read_bytes() == (BUNDLE / path.name).read_bytes()
        assert same, f"{path.name} is not of these sources: npm run build"


# --- documents as bytes ---

LARGEST = 2**53 - 1
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def columns(*, finite: bool = False) -> st.SearchStrategy[Any]:
    def of(dtype: type) -> st.SearchStrategy[Any]:
        shape = hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=40)
        if issubclass(dtype, np.integer):
            info = np.iinfo(dtype)
            values = st.integers(max(int(info.min), -LARGEST), min(int(info.max), LARGEST))
            return hnp.arrays(dtype, shape, elements=values)
        if finite and issubclass(dtype, np.floating):
            return hnp.arrays(dtype, shape, elements={"allow_nan": False, "allow_infinity": False})
        return hnp.arrays(dtype, shape)

    near = st.tuples(st.integers(-LARGEST // 2, LARGEST // 2), hnp.arrays(np.int8, st.integers(0, 200)))
    sorted_ = near.map(lambda found: found[0] + np.cumsum(found[1].astype(np.int64)))
    return st.one_of(sorted_, *map(of, [*INTEGERS, np.float32, np.float64, np.bool_]))


def document(data: dict[str, Any]) -> Document:
    return Document("a title: \u00e9\U0001f600", (Panel("wiring", "one", data),))


@settings(deadline=None)  # a loaded machine takes its time
@given(st.dictionaries(st.text(max_size=5), columns(), max_size=4))
def test_property_columns_survive(data: dict[str, Any]) -> None:
    data = {f"c{name}": column for name, column in data.items()}
    found = unpack(pack(document(data)))
    assert found["title"] == document(data).title
    for name, column in data.items():
        back = found["panels"][0]["data"][name]
        assert np.array_equal(back, column.ravel(), equal_nan=column.dtype.kind == "f")


@pytest.mark.parametrize("number", [2**53, -(2**53), -(2**63), 2**63 - 1, 2**64 - 1])
def test_numbers_that_a_browser_does_not_hold_are_refused(number: int) -> None:
    column = np.array([0, number], np.uint64 if number >= 2**63 else np.int64)
    with pytest.raises(LinkstepError, match=rf"below 2\^53, not {abs(number)}:"):
        pack(document({"large": column}))


def test_columns_are_of_numbers() -> None:
    with pytest.raises(LinkstepError, match="a column is of numbers, not of <U1"):
        pack(document({"text": np.array(["a"])}))


def test_what_counts_up_takes_few_bytes() -> None:
    assert len(pack(document({"at": np.arange(10**6) * 1000}))) < 5000


READER = """
import { createInterface } from "node:readline";
import { fromBase64, plainJson, unpack } from "./document.mjs";
for await (const line of createInterface({ input: process.stdin })) {
  const read = await unpack(fromBase64(line));
  process.stdout.write(JSON.stringify(plainJson(read)) + "\\n");
}
"""


@pytest.fixture(scope="module")
def read_by_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bytes], Any]]:
    """Return what the page's own reader makes of bytes."""
    node, esbuild = shutil.which("node"), SOURCES / "node_modules/.bin/esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("needs node, and `npm ci` in explorer/")
    folder = tmp_path_factory.mktemp("reader")
    source = SOURCES / "src/model/document.ts"
    subprocess.run(
        [esbuild, source, "--format=esm", f"--outfile={folder / 'document.mjs'}"], check=True, capture_output=True
    )
    (folder / "reader.mjs").write_text(READER)
    command = [node, str(folder / "reader.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        to, back = process.stdin, process.stdout

        def read(packed: bytes) -> Any:
            to.write(b64encode(packed).decode() + "\n")
            to.flush()
            return json.loads(json.loads(back.readline()))

        yield read


@settings(deadline=None)
@given(st.lists(columns(finite=True), max_size=4))
def test_property_the_page_reads_what_is_packed(read_by_page: Callable[[bytes], Any], found: list[Any]) -> None:
    data = {"columns": found, "fact": "63/32", "none": None, "deep": [{"yes": True}]}
    read = read_by_page(pack(document(data)))
    assert read["title"] == document(data).title
    (panel,) = read["panels"]
    assert (panel["kind"], panel["data"]["fact"], panel["data"]["deep"]) == ("wiring", "63/32", [{"yes": True}])
    assert len(panel["data"]["columns"]) == len(found)
    for back, column in zip(panel["data"]["columns"], found, strict=True):
        assert np.array_equal(np.array(back, column.dtype), column.ravel())

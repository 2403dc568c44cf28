"""A skeptic types what is wrong: each command ends in one line that says so, and leaves no file behind.

Where a check fails on purpose the exit code is 1, else 2. What the line must name is beside each command.
"""

import json
from pathlib import Path

import pytest

import linkstep
from support.walk import LONGEST_ERROR, Walk

NUMBERS = [
    ("find 0 4", "not 0"),
    ("find -8 4", "-8"),
    ("find 1 4", "not 1"),
    ("find 8 0", "0"),
    ("find 8 -4", "-4"),
    ("find 8.5 4", "8.5"),
    ("find eight 4", "eight"),
    ("find 8 four", "four"),
    ("find 99999999999 4", "99999999999"),
    ("find 8", "DEGREE"),
    ("find", "NODES"),
    ("find 8 4 2", "2"),
    ("find 8 4 --size banana", "banana"),
    ("find 8 4 --size -1MB", "-1MB"),
    ("find 8 4 --size 0", "0"),
    ("find 8 4 --size 1XB", "1XB"),
    ("find 8 4 --alpha fast", "fast"),
    ("find 8 4 --alpha -5us", "-5us"),
    ("find 8 4 --alpha 5MB", "5MB"),
    ("find 8 4 --bandwidth 0", "0"),
    ("find 8 4 --bandwidth wide", "wide"),
    ("find 8 4 --bandwidth -1Gbps", "-1Gbps"),
    ("find 8 4 --host-bandwidth none", "none"),
    ("find 8 4 --max-steps 0", "0"),
    ("find 8 4 --max-steps few", "few"),
    ("find 8 4 --seconds soon", "soon"),
    ("find 8 4 --seconds -1", "-1"),
    ("find 8 4 --seed dice", "dice"),
    ("find 8 4 --sizes 1GiB:1KiB", "1GiB"),
    ("find 8 4 --sizes 1KiB:1GiB:x1", "x1"),
    ("find 8 4 --sizes 1KiB:", "--sizes"),
    ("find 8 4 --sizes a:b", "a"),
    ("find 8 4 --plot picture.doc", ".doc"),
    ("find 8 4 --job resnet51", "resnet51"),
    ("find 8 4 --fabric missing.json", "missing.json"),
    ("find 8 4 --fabric good.xml", "good.xml"),
    ("find 8 4 --fabric empty.json", "empty.json"),
    ("baselines 0 4", "0"),
    ("baselines 8 -4", "-4"),
    ("baselines 8 4 --schedule wings", "wings"),
    ("baselines 8 4 --on Torus(3,3)", "Torus(3,3)"),
    ("families --nodes 0", "--degree"),
    ("families --nodes 0 --degree 4", "0"),
    ("families --degree x", "x"),
    ("train-sim resnet50 --nodes 0", "0"),
    ("train-sim resnet50 --nodes 8 --batch 0", "0"),
    ("train-sim resnet50 --nodes 8 --utilisation 2", "2"),
    ("train-sim resnet50 --nodes 8 --memory 1KB", "1KB"),
    ("train-sim resnet50", "--nodes"),
    ("schedule K_{4,4} --chunks 0", "0"),
    ("schedule K_{4,4} --steps 0", "0"),
    ("schedule K_{4,4} --steps 1,2,3", "1,2,3"),
    ("schedule K_{4,4} --rounds -1", "-1"),
    ("lower K_{4,4} --to msccl -o out.xml --channels 0", "0"),
    ("lower K_{4,4} --to msccl -o out.xml --instances -1", "-1"),
    ("simulate K_{4,4} --size 3.5.1MB", "3.5.1MB"),
]
TYPING = [
    ("fnid 8 4", "find"),
    ("scedule K_8", "schedule"),
    ("shwo K_8", "show"),
    ("frobnicate", "frobnicate"),
    ("help fnid", "find"),
    ("--verbose", "--verbose"),
    ("find 8 4 --size=", "--size"),
    ("find 8 4 --bandwith 100G", "--bandwidth"),
    ("find 8 4 --directd", "--directed"),
    ("find 8 4 --familes all", "--families"),
    ("find 8 4 --families papers", "paper"),
    ("show", "RECIPE"),
    ("show K_8 K_9", "K_9"),
    ("show K_8 --rank 3", "3"),
    ("schedule K_8 --collective alreduce", "allreduce"),
    ("schedule K_8 --method bsf", "bfb"),
    ("schedule K_8 --method", "--method"),
    ("lower K_8 --to mscll -o out.xml", "msccl"),
    ("lower K_8 --to msccl", "-o"),
    ("lower K_8 -o out.xml", "--to"),
    ("lower K_8 --to msccl -o out.xml --proto LL129", "LL129"),
    ("lower K_8 --to msccl -o out.xml --inplace --out-of-place", "--inplace"),
    ("train-sim resnet5 --nodes 8", "resnet50"),
    ("completion csh", "csh"),
    ("reproduce table99", "table99"),
    ("testbed levitate", "levitate"),
    ("run K_8 --engine smoke", "smoke"),
    ("--plugin missing.py find 8 4", "missing.py"),
    ("--plugin broken.py find 8 4", "broken.py"),
]
RECIPES = [
    ("show Tours(4,4)", "Torus"),
    ("show torus(4,4)", "Torus"),
    ("show Torus(4,4", "Torus(4,4"),
    ("show Torus()", "Torus"),
    ("show Torus(0,4)", "0"),
    ("show Torus(-3,4)", "-3"),
    ("show K_0", "K_0"),
    ("show K_1", "K_1"),
    ("show K_{4", "K_{4"),
    ("show L^0(K_4)", "0"),
    ("show L^99(K_8)", "L^99"),
    ("show Cat(64,4,999999999)", "999999999"),
    ("show Cat(64,4,x)", "x"),
    ("show C(12,{2,2,99})", "C(12"),
    ("show K_4-K_4", "K_4-K_4"),
    ("show ", "not the name of a file"),
    ("schedule Hypercub(3)", "Hypercube"),
    ("wire UniRing(4", "UniRing(4"),
    ("throughput Torus(4,4)x", "Torus(4,4)x"),
]
FILES = [
    ("show missing.csv", "missing.csv"),
    ("show missing/deep/cables.csv", "missing"),
    ("show folder.csv", "folder.csv"),
    ("show empty.csv", "empty.csv"),
    ("show empty.json", "empty.json"),
    ("show empty.npz", "empty.npz"),
    ("show text.npz", "text.npz"),
    ("show notes.txt", "notes.txt"),
    ("show bytes.csv", "bytes.csv"),
    ("show ragged.csv", "ragged.csv:3"),
    ("show split.csv", "no path from node 0 to node 2"),
    ("schedule split.csv -o out.npz", "disconnected"),
    ("throughput split.csv", "disconnected"),
    ("schedule good.npz --names a,b", "2"),
    ("wire K_8 --names a,b,c", "3"),
    ("wire K_8 --names a,a,b,c,d,e,f,g", "a"),
    ("wire K_8 --names missing.txt", "missing.txt"),
    ("check missing.npz", "missing.npz"),
    ("check good.xml", "linkstep verify good.xml"),
    ("check folder.csv", "folder.csv"),
    ("check empty.npz", "empty.npz"),
    ("check K_8", "K_8"),
    ("check list.json", "list.json"),
    ("verify truncated.xml", "truncated.xml"),
    ("verify empty.xml", "empty.xml"),
    ("verify missing.xml", "missing.xml"),
    ("verify good.npz", "good.npz"),
    ("verify notes.txt", "notes.txt"),
    ("simulate truncated.xml", "truncated.xml"),
    ("simulate good.xml --on Torus(3,3)", "8 ranks, the topology 9"),
    ("lower truncated.xml --to msccl -o out.xml", "truncated.xml"),
    ("convert good.npz", "OUT"),
    ("convert good.npz out.doc", ".doc"),
    ("convert missing.npz out.json", "missing.npz"),
    ("fit missing.json -o out.json", "missing.json"),
    ("fit good.json -o out.json", "good.json"),
]
OUTPUTS = [
    ("schedule K_8 -o out.doc", ".doc"),
    ("schedule K_8 -o out", "out"),
    ("schedule K_8 -o missing/out.npz", "missing"),
    ("schedule K_8 -o folder.npz", "folder.npz"),
    ("schedule K_8 -o /proc/out.npz", "/proc/out.npz"),
    ("wire K_8 -o out.npz", ".npz"),
    ("wire K_8 -o missing/out.csv", "missing"),
    ("wire K_8 -o folder.csv", "folder.csv"),
    ("lower K_8 --to msccl -o missing/out.xml", "missing"),
    ("lower K_8 --to mscclpp -o out.xml", ".xml"),
    ("lower K_8 --to msccl -o out.json", ".json"),
    ("find 8 4 --plot missing/out.svg", "missing"),
    ("show K_8 --draw out.txt", ".txt"),
    ("show K_8 --draw missing/out.svg", "missing"),
    ("simulate K_8 --timeline out.doc", ".doc"),
]
FAULTS = [
    ("show Torus(4,4) --cut 0,5", "0"),
    ("show Torus(4,4) --cut 0", "0"),
    ("show Torus(4,4) --cut 0,99", "99"),
    ("show Torus(4,4) --cut 0,1,twoway", "twoway"),
    ("show Torus(4,4) --cut srv0,srv1", "srv0"),
    ("show Torus(4,4) --down 16", "16"),
    ("show Torus(4,4) --down -1", "-1"),
    ("show Torus(4,4) --slow 0,1", "0,1"),
    ("show Torus(4,4) --slow 0,1=snail", "snail"),
    ("schedule BiRing(2,4) --cut 0,1 --cut 2,3 -o out.npz", "0"),
    ("schedule K_8 --collective broadcast --root 8", "8"),
    ("show K_8 --broadcast 0", "--draw"),
    ("show K_8 --plot out.svg", "--sizes"),
]  # fmt: skip
WRONG = [*NUMBERS, *TYPING, *RECIPES, *FILES, *OUTPUTS, *FAULTS]
REFUTED = [("check stolen.json", "not a valid allreduce"), ("verify swapped.xml", "refuted")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are right, and files that are wrong in one way each."""
    folder = tmp_path_factory.mktemp("skeptic")
    made = linkstep.schedule("K_{4,4}")
    for name in ("good.npz", "good.json"):
        linkstep.save(made.schedule, folder / name)
    stolen = json.loads((folder / "good.json").read_text())
    stolen["rows"].pop()
    program = linkstep.lower(made, "msccl").text
    texts = {
        "stolen.json": json.dumps(stolen),
        "good.xml": program,
        "truncated.xml": program[: len(program) // 2],
        "swapped.xml": program.replace('type="rrc"', 'type="r"', 1),
        "text.npz": "not a zip archive",
        "notes.txt": "call the vendor\n",
        "list.json": "[1, 2, 3]",
        "ragged.csv": "0,1\n1,2\n2\n",
        "split.csv": "0,1\n1,0\n2,3\n3,2\n",
        "broken.py": "import linkstep\nlinkstep.regster()\n",
        **dict.fromkeys(["empty.csv", "empty.json", "empty.npz", "empty.xml"], ""),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "bytes.csv").write_bytes(bytes(range(256)))
    for name in ("folder.csv", "folder.npz"):
        (folder / name).mkdir()
    return folder


@pytest.fixture
def skeptic(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    return Walk(folder, capsys)


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def words_of(command: str) -> list[str]:
    """Return the words of a command; recipes have no spaces, and a space at the end stands for an empty word."""
    return command.split(" ")


def refused(walk: Walk, command: str, code: int, named: str) -> None:
    before = contents(walk.folder)
    found, out, err = walk.run(words_of(command))
    assert (found, out) == (code, ""), f"{found} {out}{err}"
    first, *rest = err.splitlines()
    assert first.startswith("linkstep: ") and named in first, err
    assert not rest or code == 1, err
    assert len(first) <= LONGEST_ERROR
    assert contents(walk.folder) == before, "a file is left behind"


def test_there_are_enough_of_them():
    assert len({command for command, _ in WRONG}) == len(WRONG) >= 120


@pytest.mark.parametrize(("command", "named"), WRONG, ids=[command for command, _ in WRONG])
def test_one_line_says_what_is_wrong(skeptic, command, named):
    refused(skeptic, command, 2, named)


@pytest.mark.parametrize(("command", "named"), REFUTED, ids=[command for command, _ in REFUTED])
def test_a_failed_check_is_no_bad_input(skeptic, command, named):
    refused(skeptic, command, 1, named)


def test_a_right_command_after_all_of_them(skeptic):
    skeptic("check", "good.npz", says=["good.npz: valid allreduce on K_{4,4}, N=8"])
    skeptic("verify", "good.xml", says=["good.xml: verified allreduce of 8 ranks"])

"""The catalog: reading, Pareto, merging, verifying, the shipped files, and ``linkstep catalog`` on exact text."""

import json
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from threading import Barrier

import pytest

from linkstep.cli import main
from linkstep.core.distances import distances_to
from linkstep.core.errors import FileError, LinkstepError
from linkstep.costs import Cost, moore_levels
from linkstep.recipe import parse
from linkstep.recipe.names import DATA, HEADER
from linkstep.search import Entry, load_catalog
from linkstep.search.catalog import best_entries, merge, read_entries
from linkstep.search.coverage import over_bound, stats
from linkstep.search.entry import Option
from linkstep.search.scoring import check_entry, entry_of, rescored, score_best


def half(*options):
    """Read ``5b:4/3``."""
    letters = {"a": "arrival", "b": "bfb"}
    found = []
    for text in options:
        steps, _, bandwidth = text.partition(":")
        found.append(Option(Cost(int(steps[:-1]), Fraction(bandwidth)), letters[steps[-1]]))
    return tuple(found)


BOTH = half("2b:4/5")
RIGHT = Entry(5, 2, False, "Cayley(Z5,{1,2})", Fraction(6), BOTH, BOTH, Fraction(3, 10), Fraction(3, 10))
SLOWER = replace(
    RIGHT, bidirectional=True, recipe="Cayley(Z5,{1,4})", flow=Fraction(1, 3), flow_bound=Fraction(1, 3)
)  # fmt: skip


def with_figures(steps, bandwidth, total, other=None, recipe=None, bidirectional=False) -> Entry:
    recipe = recipe or f"r{steps}.{bandwidth}.{total}.{other}"
    gather, reduce = (half(f"{steps}b:{value}") for value in (bandwidth, other or bandwidth))
    return Entry(16, 4, bidirectional, recipe, Fraction(total), gather, reduce)


def write(path, *entries: Entry, end: str = "\n"):
    path.write_text("\n".join([HEADER, *(e.line() for e in entries)]) + end)
    return path


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_lines_read_back():
    for entry in (RIGHT, SLOWER, with_figures(3, "1537/1536", 71, "31/32")):
        assert Entry.from_line(entry.line()) == entry
    assert RIGHT.line() == "5,2,uni,6,3/10,2b:4/5,,Cayley(Z5,{1,2})"
    several = replace(RIGHT, reduce_scatter=half("2b:1", "3a:4/5"), flow=None, flow_bound=None)
    assert several.line() == "5,2,uni,6,,2b:4/5,2b:1 3a:4/5,Cayley(Z5,{1,2})"
    assert several.costs == [Cost(4, Fraction(9, 5)), Cost(5, Fraction(8, 5))]
    between = replace(RIGHT, flow_bound=Fraction(1, 2))
    assert between.line() == "5,2,uni,6,3/10..1/2,2b:4/5,,Cayley(Z5,{1,2})"
    for entry in (several, between):
        assert Entry.from_line(entry.line()) == entry


@pytest.mark.parametrize(
    "line",
    [
        "", "5,2,uni", "5,2,un,6,,2b:4/5,,C", "5,2,uni,6,,2b:4/0,,C", "5,x,uni,6,,2b:4/5,,C", "5,2,uni,6,,,,C",
        "5,2,uni,6,,2c:4/5,,C", "5,2,uni,6,1/0,2b:4/5,,C", "5,2,uni,6,,2b:4/5,2b:4//5,C",
    ],
)  # fmt: skip
def test_lines_refused(line):
    with pytest.raises(FileError, match=r"not an entry|not the cost of a schedule"):
        Entry.from_line(line)


def test_pareto_keeps_trade_offs():
    fast, lean, near = with_figures(2, 1, 26), with_figures(3, "15/16", 28), with_figures(3, 1, 25)
    worse, equal = with_figures(3, 1, 28), with_figures(2, 1, 26, recipe="much longer than the other")
    one_way = with_figures(3, "15/16", 28, other=2)  # counts both halves
    assert best_entries([worse, equal, near, one_way, lean, fast]) == [fast, lean, near]
    duplex = with_figures(2, 1, 26, bidirectional=True, recipe="longer than all of them, but with duplex links")
    assert best_entries([fast, duplex]) == [duplex]


def test_of_two_entries_of_a_recipe_the_one_that_tells_more_stays():
    more = replace(RIGHT, allgather=half("2b:4/5", "3a:3/5"))
    unknown = replace(RIGHT, flow=None, flow_bound=None)
    assert best_entries([RIGHT, unknown]) == best_entries([unknown, RIGHT]) == [RIGHT]
    assert best_entries([more, RIGHT]) == [more]


def test_whatever_nothing_beats_is_kept():
    ladder = [with_figures(s, Fraction(20 - s, 10), 40 - s) for s in range(2, 12)]
    assert best_entries(ladder) == ladder
    assert best_entries([]) == []


def test_merge_is_a_union(tmp_path):
    logs = [write(tmp_path / "a.csv", RIGHT), write(tmp_path / "b.csv", SLOWER, end="\n#done,5,2,bi,0,9\n6,2,uni,2,5")]
    folder = tmp_path / "catalog"
    assert merge(logs, folder) == 2
    assert merge(logs[:1], folder) == 2
    assert (folder / "d2.csv").read_text() == "\n".join([HEADER, RIGHT.line(), SLOWER.line(), ""])
    worse = replace(RIGHT, allgather=half("3b:4/5"), reduce_scatter=half("3b:4/5"), recipe="x")
    assert merge([write(tmp_path / "c.csv", worse)], folder) == 2
    catalog = load_catalog(folder)
    assert catalog.entries(5, 2) == catalog.entries(5, 2, False) == [SLOWER]
    assert catalog.entries(5, 2, True) == [SLOWER]
    assert catalog.entries(6, 2) == catalog.entries(5, 3) == []
    assert sorted(catalog, key=lambda e: e.recipe) == [RIGHT, SLOWER]


def test_verify_catches_what_is_wrong():
    for entry in (RIGHT, SLOWER):
        check_entry(entry)
    for wrong in (
        replace(RIGHT, allgather=half("1b:4/5")),
        replace(RIGHT, allgather=half("2b:3/5")),
        replace(RIGHT, allgather=half("2b:4/5", "3a:3/5")),
        replace(RIGHT, reduce_scatter=half("2b:1")),
        replace(RIGHT, flow=Fraction(1, 2), flow_bound=Fraction(1, 2)),
        replace(RIGHT, flow=None, flow_bound=None),
        replace(RIGHT, distance_sum=Fraction(5)),
        replace(RIGHT, bidirectional=True),
        replace(RIGHT, num_nodes=6),
        replace(RIGHT, degree=3),
    ):
        with pytest.raises(LinkstepError, match="the catalog says"):
            check_entry(wrong)


@pytest.mark.slow
def test_rescoring_tells_what_an_entry_did_not():
    """Schedules by arrival times and the throughput; of two ranges the narrower one, unless one of them is wrong."""
    whole = rescored(replace(entry_of(parse("Pi_{2,9}")), allgather=half("3b:14/9")))
    assert whole.allgather == half("3b:14/9", "4a:10/9", "5a:1") and whole.flow is not None
    for known, kept in ((whole.flow, True), (whole.flow / 2, False), (whole.flow * 2, False)):
        entry = replace(whole, flow=known, flow_bound=known if known != whole.flow / 2 else whole.flow_bound)
        assert (rescored(entry).flow == known) is kept
        assert rescored(entry).flow in (known, whole.flow)


def test_rescore_goes_on_where_its_log_ends(capsys, tmp_path):
    folder, log = tmp_path / "catalog", tmp_path / "log.csv"
    folder.mkdir()
    untold = replace(RIGHT, flow=None, flow_bound=None)
    write(folder / "d2.csv", untold, SLOWER)
    rescore = ("catalog", "rescore", str(log), "--catalog", str(folder), "--workers", "1")
    code, out, _ = run(capsys, *rescore)
    assert code == 0 and out.startswith(f"2 entries worked out, 0 were before; in {log}\n")
    assert list(read_entries(log)) == [RIGHT, SLOWER]
    log.write_text(log.read_text()[:-5])  # killed while it wrote
    code, out, _ = run(capsys, *rescore)
    assert code == 0 and out.startswith("1 entries worked out, 1 were before")
    assert list(read_entries(log)) == [RIGHT, SLOWER]


def test_narrow_takes_longer_over_what_is_not_known_well(capsys, tmp_path):
    folder, log = tmp_path / "catalog", tmp_path / "log.csv"
    folder.mkdir()
    loose = replace(RIGHT, flow=RIGHT.flow / 2, flow_bound=RIGHT.flow * 2)
    write(folder / "d2.csv", loose, SLOWER)
    narrow = ("catalog", "narrow", str(log), "--catalog", str(folder), "--workers", "1")
    code, out, _ = run(capsys, *narrow)
    assert code == 0 and out.startswith("1 entries worked out; the other 1 are within 0.01 or were before")
    assert list(read_entries(log)) == [RIGHT]
    assert run(capsys, "catalog", "merge", str(log), "--into", str(folder))[0] == 0
    assert RIGHT in load_catalog(folder) and loose not in load_catalog(folder)
    assert run(capsys, *narrow)[1].startswith("0 entries worked out")
    write(folder / "d2.csv", replace(RIGHT, flow=RIGHT.flow / 4, flow_bound=RIGHT.flow / 2))
    code, _, err = run(capsys, "catalog", "narrow", str(tmp_path / "b.csv"), *narrow[3:], "--gap", "0")
    assert code == 2 and "all-to-all on" in err
    assert run(capsys, *narrow, "--gap", "x")[0] == run(capsys, *narrow, "--seconds", "x")[0] == 2


@pytest.mark.slow
def test_what_is_nearest_is_scored_first():
    """Also where a worse graph comes first that no schedule on it improves."""
    assert [entry.recipe for entry in score_best([parse("BiRing(4,8)"), parse("K_{4,4}")])] == ["K_{4,4}"]
    assert [entry.recipe for entry in score_best([parse("Pi_{2,9}"), parse("BiRing(2,9)")], 1)] == ["Pi_{2,9}"]


def test_verify_takes_graphs_that_are_not_vertex_transitive():
    entry = entry_of(parse("Pi_{2,9}"))
    assert (entry.num_nodes, entry.degree) == (9, 2)
    assert 9 * entry.distance_sum == sum(int(distances_to(parse("Pi_{2,9}").topology(), u).sum()) for u in range(9))


@pytest.mark.slow
def test_shipped_files():
    catalog = load_catalog()
    assert {2, 3, 4, 8} <= set(catalog.degrees)
    for degree in catalog.degrees:
        path = DATA / f"d{degree}.csv"
        entries = list(read_entries(path))
        keys = [(e.num_nodes, e.bidirectional) for e in entries]
        assert keys == sorted(keys) and {e.degree for e in entries} == {degree}
        for key in set(keys):
            here = [e for e in entries if (e.num_nodes, e.bidirectional) == key]
            assert here == best_entries(here)


@pytest.mark.slow
def test_no_shipped_size_is_far_from_the_bound():
    """What the catalog has is not searched for on the spot, so that it must not be worse than that.

    With more ports than servers some stay without use in one step, and two steps are not found at every size.
    """
    catalog = load_catalog(DATA)
    for degree in catalog.degrees:
        for n in catalog.sizes(degree):
            for both in (False, True):
                if degree > 2 and catalog.covers(n, degree, both):
                    costs = [cost for entry in catalog.entries(n, degree, both) for cost in entry.costs]
                    most = Fraction(6, 5) if degree < n else Fraction(4, 3)
                    assert over_bound(costs, n, degree, both, "1MB") <= most, (n, degree, both)


def is_optimal_by_bfb(entry):
    return entry.is_bandwidth_optimal and len(entry.allgather) == len(entry.reduce_scatter) == 1


@pytest.mark.parametrize(
    ("keep", "count"),
    [(is_optimal_by_bfb, 8), pytest.param(lambda _: True, 40, id="all", marks=pytest.mark.slow)],
)
def test_shipped_sample_is_right(keep, count):
    """Where BFB is optimal no arrival times are looked for, whose kernels take seconds to compile."""
    for entry in random.Random(0).sample([e for e in load_catalog() if e.num_nodes <= 64 and keep(e)], count):
        check_entry(entry)


@pytest.mark.slow
def test_a_sample_of_shipped_entries_is_right():
    """Another sample for each commit, so that all are seen in the long run; `linkstep catalog verify` looks at all."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    for entry in random.Random(git.stdout).sample(list(load_catalog()), 100):
        check_entry(entry)


@pytest.mark.parametrize(
    ("nodes", "steps"), [(16, 3), (32, 3), (64, 4), (128, 4), (256, 5), (512, 6), (1024, 6)], ids=str
)
def test_shipped_powers_of_two(nodes, steps):
    """Exactly bandwidth-optimal, reduce-scatter too, in as few steps as DESIGN 4.2 asks for."""
    entries = load_catalog().entries(nodes, 4)
    assert min(e.allgather[-1].cost.steps for e in entries if e.is_bandwidth_optimal) <= steps
    moore = sum(t * width for t, width in enumerate(moore_levels(nodes, 4)))
    assert all(moore <= e.distance_sum for e in entries)


def test_loading_one_degree_is_fast():
    start = time.process_time()
    assert load_catalog().entries(64, 4)
    assert time.process_time() - start < 0.5  # about 50 ms


def test_damaged_catalog(tmp_path):
    (tmp_path / "d2.csv").write_text(HEADER + "\nx,2,uni\n" + RIGHT.line() + "\n")
    assert load_catalog(tmp_path).entries(5, 2) == [RIGHT]
    with pytest.raises(FileError, match="not an entry"):
        list(load_catalog(tmp_path))


def in_text(entry: str) -> bytes:
    return f"{HEADER}\n{entry}\n".encode("utf-8", "surrogatepass")


HOSTILE = {
    "binary": bytes(range(256)),
    "half an entry": in_text("5,2,uni,2"),
    "a surrogate": in_text("5,2,uni,6,,2b:4/5,,Cayley(Z5,{1,2})\udcff"),
    "escape codes": in_text("5,2,uni,6,,2b:4/5,,\x1b]0;gone\x07\x1b[31mCayley(Z5,{1,2})"),
    "a huge number": in_text("5,2,uni,1e999999999,,2b:4/5,,Cayley(Z5,{1,2})"),
    "no nodes": in_text("0,2,uni,6,,2b:4/5,,Cayley(Z5,{1,2})"),
    "a picture": b"\x89PNG\r\n\x1a\n" + b"\xff\n" * 9,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("action", ["merge", "merge into", "stats", "verify"])
def test_damaged_files_are_one_line(capsys, tmp_path, action, content):
    """Nothing of a file is printed as it is, and no catalog changes."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    log = write(good / "d2.csv", RIGHT)
    (bad / "d2.csv").write_bytes(content)
    argv = {
        "merge": ("merge", str(log), str(bad / "d2.csv"), "--into", str(good)),
        "merge into": ("merge", str(log), "--into", str(bad)),
        "stats": ("stats", "--catalog", str(bad)),
        "verify": ("verify", "--catalog", str(bad)),
    }[action]
    before = log.read_bytes()
    code, out, error = run(capsys, "catalog", *argv)
    assert (code, out) == (2, "")
    assert error.startswith("linkstep: ") and error.count("\n") == 1 and error.strip().isprintable()
    assert log.read_bytes() == before and (bad / "d2.csv").read_bytes() == content
    assert {path.name for path in [*good.iterdir(), *bad.iterdir()]} <= {"d2.csv", ".lock"}


def test_wrong_folders_are_one_line(capsys, tmp_path):
    (tmp_path / "dx.csv").write_text("not ours\n")
    file = write(tmp_path / "log.csv", RIGHT)
    for folder in (tmp_path, file, tmp_path / "none"):
        for action in ("stats", "verify"):
            code, out, error = run(capsys, "catalog", action, "--catalog", str(folder))
            assert (code, out) == (2, "") and error.startswith(f"linkstep: {folder}: not a folder with a catalog")
            assert error.count("\n") == 1
    (tmp_path / "d2.csv").mkdir()
    for argv in (("stats", "--catalog", str(tmp_path)), ("merge", str(file), "--into", str(tmp_path))):
        code, out, error = run(capsys, "catalog", *argv)
        assert (code, out) == (2, "") and error.count("\n") == 1 and "d2.csv" in error
    assert run(capsys, "catalog", "merge", str(file), "--into", str(file))[0] == 2


def test_merging_at_once_keeps_every_entry(tmp_path):
    """Six at a time, each with entries of its own for one degree; the lock is of an open file, so threads will do."""
    workers, each = 6, 60
    start = Barrier(workers)

    def work(number):
        sizes = range(10 + number * each, 10 + (number + 1) * each)
        log = write(tmp_path / f"{number}.csv", *(replace(RIGHT, num_nodes=n, recipe=f"r{n}") for n in sizes))
        start.wait()
        merge([log], tmp_path / "into")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    assert len(list(load_catalog(tmp_path / "into"))) == workers * each
    assert {path.name for path in (tmp_path / "into").iterdir()} == {"d2.csv", ".lock"}


def test_no_folder(tmp_path):
    with pytest.raises(FileError, match="not a folder with a catalog"):
        load_catalog(tmp_path / "none")


@pytest.mark.slow
def test_stats_count():
    rows = [row for row in stats(load_catalog()) if (row.degree, row.bidirectional) == (4, False)]
    assert len(rows) == 4 and rows[0].smallest == 2
    for row in rows:
        assert row.sizes >= row.bandwidth_optimal >= row.both and row.moore_optimal >= row.both
        assert all(1 <= mean <= worst for mean, worst in zip(row.mean_over_bound, row.worst_over_bound, strict=True))


STATS = """\
degree  links       N  sizes  Moore bound  both  1MB: mean  1MB: worst
     2  directed  5-5      1            1     1      1.000       1.000
     2  duplex    5-5      1            1     1      1.000       1.000

mean and worst: the best allreduce over the least that any graph could take,
10us and 100Gbps a server
"""


@pytest.mark.slow
def test_commands(capsys, tmp_path):
    log, folder = str(tmp_path / "log.csv"), str(tmp_path / "catalog")
    build = ("catalog", "build", log, "--nodes", "5", "--degree", "2", "--workers", "1")
    assert run(capsys, *build) == (0, f"2 searches run, 0 were done before; entries in {log}\n", "")
    assert run(capsys, *build, "--kind", "bi") == (0, f"0 searches run, 1 were done before; entries in {log}\n", "")
    assert run(capsys, "catalog", "merge", log, "--into", folder) == (0, f"{folder}: 2 entries\n", "")
    assert run(capsys, "catalog", "stats", "--catalog", folder) == (0, STATS, "")
    code, out, _ = run(capsys, "catalog", "stats", "--catalog", folder, "--json")
    assert code == 0 and json.loads(out)["ranges"][0] == {
        "degree": 2, "duplex": False, "min_nodes": 5, "max_nodes": 5, "num_sizes": 1, "num_bandwidth_optimal": 1,
        "num_moore_optimal": 1, "num_both": 1, "mean_over_bound": [1.0, 1.0], "worst_over_bound": [1.0, 1.0],
    }  # fmt: skip
    right = (0, "2 entries rebuilt from their recipes: every figure is right\n", "")
    assert run(capsys, "catalog", "verify", "--catalog", folder) == right
    write(tmp_path / "catalog" / "d2.csv", replace(RIGHT, allgather=half("1b:4/5")))
    code, _, error = run(capsys, "catalog", "verify", "--catalog", folder, "--sample", "9")
    assert (
        code == 2 and error.startswith("linkstep: the catalog says '5,2,uni,6,3/10,1b:4/5,") and error.count("\n") == 1
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["build", "x.csv", "--nodes", "5-x", "--degree", "4"], "--nodes takes numbers and ranges such as 5-64,128"),
        (["build", "x.csv", "--nodes", "40", "--degree", "17"], "the search takes a degree in [1, 16], not 17"),
        (["build", "x.csv", "--nodes", "5", "--degree", "2", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["build", "x.csv", "--nodes", "5-", "--degree", "4"], "--nodes takes numbers and ranges such as 5-64,128"),
        (["build", "x.csv", "--nodes", "5", "--degree", "9" * 9], "--degree takes numbers and ranges such as"),
        (["merge", "/dev/null", "--into", "/dev/null/x"], "/dev/null/x: cannot be written"),
        (["merge", "/no/such.csv", "--into", "."], "/no/such.csv: cannot be read"),
        (["stats", "--catalog", "/no/such"], "/no/such: not a folder with a catalog"),
    ],
)
def test_bad_input_is_one_line(capsys, monkeypatch, tmp_path, argv, message):
    monkeypatch.chdir(tmp_path)
    code, out, error = run(capsys, "catalog", *argv)
    assert (code, out) == (2, "") and error.startswith("linkstep: ") and error.count("\n") == 1
    assert message in error

"""``linkstep verify``, in process and on exact text: several files, exit codes, JSON, files that are not for it."""

import json

import pytest

import linkstep
from linkstep.cli import main
from support.plans import OTHER_FEATURES, mixed_allreduce
from support.verdicts import PROGRAMS

RING = PROGRAMS / "ring-allreduce.msccl.xml"
VERIFIED = f"{RING}: verified allreduce of 4 ranks, 8 chunks, 56 instructions, for msccl\n"

pytestmark = pytest.mark.usefixtures("wide")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run ``linkstep verify`` in a folder with a refuted, an unknown and an unreadable file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.xml").write_text(RING.read_text().replace('type="rrcs"', 'type="rcs"', 1))
    plan = mixed_allreduce()
    plan["gpus"][0]["threadblocks"][0]["ops"][1] = {"name": "pipeline", "iter_context": {}, "ops": []}
    (tmp_path / "unknown.json").write_text(json.dumps(plan))
    (tmp_path / "words.xml").write_text("words")

    def call(*argv):
        code = main(["verify", *(str(a) for a in argv)])
        return code, *capsys.readouterr()

    return call


def test_one_file(run):
    assert run(RING) == (0, VERIFIED, "")
    code, out, err = run("wrong.xml", "--dialect", "msccl")
    assert code == 1 and not out
    assert err.startswith("linkstep: wrong.xml is refuted as msccl: allreduce of 4 ranks")
    code, out, err = run("none.xml")
    assert (code, out, err) == (2, "", "linkstep: none.xml: no such file or directory\n")


def test_what_cannot_be_verified_is_not_refuted(run):
    code, out, err = run("unknown.json")
    head, first = err.splitlines()
    assert code == 3 and not out
    what = "allreduce of 2 ranks, 4 chunks, 27 instructions"
    assert head == f"linkstep: unknown.json cannot be verified as mscclpp: {what}"
    assert first == "  unknown: unsupported: rank 0 tb 0 step 1: cannot be verified: operation 'pipeline'"


@pytest.mark.parametrize("feature", OTHER_FEATURES)
def test_every_feature_that_is_not_followed(run, tmp_path, feature):
    plan = mixed_allreduce()
    OTHER_FEATURES[feature](plan)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, _, err = run("plan.json")
    assert code == 3 and "plan.json cannot be verified as mscclpp" in err and "refuted" not in err


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ((RING, RING), 0),
        ((RING, "unknown.json"), 3),
        (("unknown.json", "wrong.xml", RING), 1),
        (("words.xml", "wrong.xml", "unknown.json", RING), 2),
        ((RING, "none.xml"), 2),
    ],
)
def test_several_files_are_all_judged_and_the_worst_decides(run, files, code):
    got, out, err = run(*files)
    assert got == code
    assert out.count("verified allreduce") == files.count(RING)
    for name, says in (
        ("unknown.json", "unknown.json cannot be verified"),
        ("wrong.xml", "wrong.xml is refuted"),
        ("words.xml", "linkstep: words.xml: line 1: "),
        ("none.xml", "linkstep: none.xml: no such file"),
    ):
        assert (says in err) == (name in files)


def test_json_is_one_document_for_one_file_and_for_several(run):
    code, out, _ = run("wrong.xml", "--json")
    (facts,) = json.loads(out)["files"]
    assert (code, facts["verified"], facts["status"], facts["dialect"]) == (1, False, "refuted", "msccl")
    assert facts["findings"][0]["severity"] == "error" and facts["findings"][0]["rule"] == "result"
    code, out, _ = run(RING, "unknown.json", "words.xml", "--json")
    facts = json.loads(out)["files"]
    assert code == 2 and [f["status"] for f in facts] == ["verified", "unknown", "unreadable"]
    assert facts[0]["file"] == str(RING) and facts[0]["verified"] and "line 1" in facts[2]["error"]
    code, out, _ = run("words.xml", "--json")
    (facts,) = json.loads(out)["files"]
    assert (code, facts["status"]) == (2, "unreadable")


@pytest.mark.parametrize("name", ["ring.npz", "ring.json"])
@pytest.mark.parametrize("thing", ["topology", "schedule"])
def test_schedules_and_topologies_are_for_another_command(run, name, thing):
    recipe = linkstep.parse("UniRing(1,4)")
    linkstep.save(recipe.topology() if thing == "topology" else recipe.build(), name)
    code, out, err = run(name)
    assert code == 2 and not out and err.count("\n") == 1
    what, use = ("a wiring of 4 hosts", "show") if thing == "topology" else ("a schedule (allgather)", "check")
    assert err.startswith(f"linkstep: {name} is {what}, not a runtime's file: `linkstep {use} {name}` ")


def plan(collective="allreduce", **options):
    return linkstep.lower(linkstep.parse("K_3").build(collective), "mscclpp", **options).text


def renamed(text, name):
    return json.dumps(json.loads(text) | {"name": name})


def test_plans_of_one_name_are_refused(run, tmp_path):
    """MSCCL++ would take one for the other, whether their programs differ or not."""
    (tmp_path / "a.json").write_text(renamed(plan(), "K_3"))
    (tmp_path / "b.json").write_text(renamed(plan("allgather"), "K_3"))
    (tmp_path / "copy.json").write_text(renamed(plan(), "K_3"))
    for other in ("b.json", "copy.json"):
        code, out, err = run("a.json", other)
        assert code == 1 and out.startswith("a.json: verified ") and other not in out
        head, finding = err.splitlines()
        assert head.startswith(f"linkstep: {other} is refuted as mscclpp: ")
        assert finding == (
            "  error: name: 'K_3' is the name of a.json too, and MSCCL++ knows plans by their names only: it would run "
            "one in place of the other; lower them again, or give each a name of its own"
        )
    code, out, _ = run("a.json", "b.json", "--json")
    facts = json.loads(out)["files"]
    assert code == 1 and [f["status"] for f in facts] == ["verified", "refuted"]
    assert [f["name"] for f in facts] == ["K_3", "K_3"] and facts[1]["dialects"] == []


def test_plans_of_different_names_and_one_file_named_twice_pass(run, tmp_path):
    for k, text in enumerate([plan(), plan(inplace=True), plan("allgather"), plan(max_bytes=2**20), plan(chunks=2)]):
        (tmp_path / f"{k}.json").write_text(text)
    assert run(*(f"{k}.json" for k in range(5)))[0] == 0
    assert run("0.json", "./0.json", tmp_path / "0.json")[0] == 0
    (tmp_path / "again.json").write_text(plan())
    code, _, err = run("0.json", "again.json")
    assert code == 1 and "is the name of 0.json too" in err


def test_names_of_other_formats_are_no_matter(run, tmp_path):
    (tmp_path / "again.xml").write_text(RING.read_text())
    assert run(RING, "again.xml")[0] == 0


def test_a_long_name_stays_one_short_line(run, tmp_path):
    for file in ("a.json", "b.json"):
        (tmp_path / file).write_text(renamed(plan(), "x\n" * 5000))
    _, _, err = run("a.json", "b.json")
    assert len(err.splitlines()) == 2 and max(map(len, err.splitlines())) < 300


def test_help_says_which_releases_rccl_is_for(run):
    code, out, _ = run("--help")
    assert code == 0 and "{mscclpp,msccl,msccl-azure,rccl,cpu}" in out
    assert "rccl is for releases of RCCL before 2026" in " ".join(out.split())


def test_progress_is_shown_where_verification_takes_long(run, monkeypatch):
    """The bar advances with every stage, from reading to each rank's memory, and ends full."""
    from contextlib import contextmanager

    from linkstep.cli import _verify

    told = []

    @contextmanager
    def bar(label, unit):
        yield lambda done, total: told.append((done, total))

    monkeypatch.setattr(_verify, "progress_bar", bar)
    assert run(RING, "--dialect", "msccl")[0] == 0
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert all(done <= total for done, total in told) and told[-1][0] == told[-1][1] and len(told) > 4


def test_lower_writes_nothing_that_cannot_be_verified(capsys, tmp_path, monkeypatch):
    from linkstep.verification import results

    monkeypatch.setattr(results, "MAX_WORDS", 8)
    assert main(["lower", "K_4", "--to", "msccl", "-o", str(tmp_path / "a.xml")]) == 2
    assert capsys.readouterr().err.startswith("linkstep: not written: it cannot be verified: ")
    assert not list(tmp_path.iterdir())

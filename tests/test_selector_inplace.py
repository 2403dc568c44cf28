"""Rules for calls in place and out of place may serve the same sizes; others stay as they were."""

import json

import pytest

from linkstep.core.errors import FileError, LinkstepError
from linkstep.selector import Rule, Selector

OUT = Rule("allreduce", None, 100, "out.json", dialect="mscclpp", inplace=False)
IN = Rule("allreduce", None, 200, "in.json", dialect="mscclpp", inplace=True)


def test_in_place_and_out_of_place_lie_side_by_side(tmp_path):
    selector = Selector((IN, OUT))
    assert selector.rules == (OUT, IN)
    assert selector.rule_for("allreduce", 50) == OUT and selector.rule_for("allreduce", 150) == IN
    selector.save(tmp_path / "s.json")
    assert Selector.load(tmp_path / "s.json") == selector


@pytest.mark.parametrize("other", [None, False])
def test_what_serves_both_overlaps_with_either(other):
    late = Rule("allreduce", 90, None, "K_4", inplace=other)
    between = Rule("allreduce", 80, None, "more.json", inplace=True)
    for rules in ((OUT, late), (OUT, between, late)):
        with pytest.raises(LinkstepError, match=r"two rules serve allreduce of (90|80) bytes"):
            Selector(rules)


def test_a_rule_for_any_call_is_written_as_before(tmp_path):
    Selector((Rule("allreduce", None, 100, "K_4"),)).save(tmp_path / "s.json")
    assert "inplace" not in json.loads((tmp_path / "s.json").read_text())["rules"][0]


def test_inplace_is_true_or_false(tmp_path):
    rule = {"collective": "reduce", "source": "K_5", "inplace": 1}
    (tmp_path / "s.json").write_text(json.dumps({"format": "linkstep-selector", "version": 1, "rules": [rule]}))
    with pytest.raises(FileError, match="rule 1: inplace must be true, false or null, not 1"):
        Selector.load(tmp_path / "s.json")

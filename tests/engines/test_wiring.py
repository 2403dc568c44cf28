"""Which parts of the ranks can run what: only what has all its links among the cables."""

import linkstep
from linkstep.engines.backend.wiring import misfit, wiring_of_all

ALL = ["K_{4,4}", "K_4", "K_{2,2}"]


def test_parts_of_a_wiring():
    wiring = wiring_of_all(ALL, 8)
    topology = linkstep.parse("K_{4,4}").topology()
    assert wiring == set(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    assert misfit("K_4", [0, 2, 4, 6], wiring) == "K_4 needs a cable from rank 0 to rank 2, and there is none"
    assert misfit("K_{2,2}", [0, 2, 4, 6], wiring) == misfit("K_{2,2}", [0, 1, 4, 5], wiring) == ""
    assert misfit("K_{2,2}", [0, 1, 2, 3], wiring)
    assert misfit(linkstep.schedule("K_{2,2}", "allreduce").schedule, [2, 3, 6, 7], wiring) == ""


def test_nothing_is_known_of_other_numbers_of_ranks():
    assert wiring_of_all(ALL, 16) is None


def test_a_program_says_which_ranks_talk_to_each_other():
    text = linkstep.lower(linkstep.schedule("UniRing(1,4)", "allreduce").schedule, "cpu").text
    ring = {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert wiring_of_all([text], 4) == ring
    assert wiring_of_all([text, "K_4"], 4) == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert misfit(text, [3, 0, 1, 2], ring) == ""
    assert misfit(text, [0, 2, 1, 3], ring) == "the program needs a cable from rank 0 to rank 2, and there is none"

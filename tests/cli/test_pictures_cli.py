"""Commands that draw: each picture says what it should."""

import pytest

from linkstep.cli import main
from support.pictures import texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "Torus(3,4)", "--draw"], {"Torus(3,4)", "N = 12, d = 4", "goes round the grid"}),
        (
            ["show", "K_{2,2}", "--broadcast", "0", "--draw"],
            {"2 (1/2)", "step 2", "N = 4, d = 2: how the shard of 0 spreads"},
        ),
        (
            ["find", "16", "4", "--size", "2MB", "--plot"],
            {"found", "from the paper's bases", "no graph beats", "allreduce of 2MB, us"},
        ),
        (["simulate", "K_{2,2}", "--timeline"], {"K_{2,2}: allreduce for msccl, 4 rounds", "0 to 2"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_draws(tmp_path, arguments, said):
    assert main([*arguments, str(tmp_path / "picture.svg")]) == 0
    assert said < set(texts(tmp_path / "picture.svg"))


def test_broadcast_of_no_node(tmp_path, capsys):
    assert main(["show", "K_{2,2}", "--broadcast", "4", "--draw", str(tmp_path / "a.svg")]) == 2
    assert "no host is called '4': hosts are the numbers 0 to 3" in capsys.readouterr().err

"""Each walk has a folder and an 80-column terminal of its own."""

import pytest

from support.walk import COLUMNS, Walk


@pytest.fixture
def walk(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    return Walk(tmp_path, capsys)

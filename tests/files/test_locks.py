"""One lock for files and folders that several processes change."""

import threading

import pytest

from linkstep.core.errors import FileError
from linkstep.files import locked


@pytest.mark.parametrize("name", ["", "lock"])
def test_one_goes_after_the_other(tmp_path, name):
    """A folder as it is, or a file in it that is made."""
    order = []

    def second():
        with locked(tmp_path / name):
            order.append("second")

    other = threading.Thread(target=second)
    with locked(tmp_path / name):
        other.start()
        other.join(0.1)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    assert [path.name for path in tmp_path.iterdir()] == ([name] if name else [])


def test_an_error_lets_go(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


def test_what_cannot_be_locked(tmp_path):
    refusal = pytest.raises(FileError, match="none/lock: cannot be locked: no such file or directory")
    with refusal, locked(tmp_path / "none" / "lock"):
        pass

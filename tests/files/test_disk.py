"""What is there already and is no regular file: written through or refused, never replaced by a file."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.errors import FileError
from linkstep.core.topology import Topology
from linkstep.costs import Fabric, save_fabric
from linkstep.files import check_savable, check_writable, load, save, write_atomically
from linkstep.pictures.style import check_drawable, save_figure
from linkstep.search.sweep.log import open_log
from linkstep.selector import Rule, Selector, check_selector_path, update_selector

RING = Topology.from_links(3, [0, 1, 2], [1, 2, 0], "UniRing(1,3)")
NULL, FULL, LOOP = (stat.S_IFCHR, 1, 3), (stat.S_IFCHR, 1, 7), (stat.S_IFBLK, 7, 4095)


def node(path: Path, kind: tuple[int, int, int]) -> Path:
    """Make a device of our own in a temporary folder."""
    try:
        os.mknod(path, kind[0] | 0o600, os.makedev(kind[1], kind[2]))
        if kind[0] == stat.S_IFCHR:  # a file system may be mounted without devices
            path.open("wb").close()
    except PermissionError:
        pytest.skip("making a device needs root, and a file system that has devices")
    return path


def kind_of(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return stat.S_IFMT(found.st_mode), found.st_rdev


class Reader:
    """Reads a FIFO to its end, as a pipe's other side does."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self.data = path, b""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        self.data = self.path.read_bytes()

    def all(self) -> bytes:
        self.thread.join(20)
        assert not self.thread.is_alive()
        assert stat.S_ISFIFO(self.path.lstat().st_mode)
        return self.data


WRITERS = {
    "t.json": lambda path: save(RING, path),
    "t.npz": lambda path: save(RING, path),
    "t.csv": lambda path: save(RING, path),
    "f.json": lambda path: save_fabric(Fabric.of("10us", "100Gbps", 4), path),
    "s.json": lambda path: Selector((Rule("allreduce", None, None, "K_5"),)).save(path),
    "p.svg": lambda path: save_figure(lambda axes: axes.plot([1, 2]), path),
    "p.png": lambda path: save_figure(lambda axes: axes.plot([1, 2]), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_gets_what_a_file_would(tmp_path, name):
    reader = Reader(tmp_path / name)
    WRITERS[name](reader.path)
    plain = tmp_path / "plain" / name
    plain.parent.mkdir()
    WRITERS[name](plain)
    assert reader.all() == plain.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "plain"])


@pytest.mark.parametrize("name", WRITERS)
def test_a_device_stays_a_device(tmp_path, name):
    """The null device takes all; the full one says so."""
    null, full = node(tmp_path / name, NULL), node(tmp_path / f"full{name}", FULL)
    before = kind_of(null), kind_of(full)
    WRITERS[name](null)
    with pytest.raises(FileError, match=f"full{name}: cannot be written: no space left on device"):
        WRITERS[name](full)
    assert (kind_of(null), kind_of(full)) == before
    assert len(list(tmp_path.iterdir())) == 2


COMMANDS = {
    "lower": ["lower", "K_3", "--to", "cpu", "-o", "{}/o.xml"],
    "schedule": ["schedule", "K_3", "-o", "{}/o.npz"],
    "wire": ["wire", "K_3", "-o", "{}/o.csv"],
    "convert": ["convert", "K_3", "{}/o.graphml"],
    "baselines": ["baselines", "4", "2", "--on", "BiRing(2,4)", "--schedule", "bidirectional-ring", "-o", "{}/o.json"],
    "show": ["show", "K_3", "--draw", "{}/o.svg"],
    "find": ["find", "8", "4", "--plot", "{}/o.png"],
    "selector": ["find", "8", "4", "--sizes", "1KB:1MB", "--selector", "{}/o.json"],
    "simulate": ["simulate", "K_3", "--timeline", "{}/o.svg"],
}


@pytest.mark.parametrize("command", ["lower", "wire", "selector"])
def test_commands_leave_devices_in_place(capsys, tmp_path, command):
    argv = [word.format(tmp_path) for word in COMMANDS[command]]
    output = node(Path(argv[-1]), NULL)
    before = kind_of(output)
    assert main(argv) == 0, capsys.readouterr().err
    assert kind_of(output) == before
    output.unlink()
    before = kind_of(node(output, FULL))
    capsys.readouterr()
    assert main(argv) == 2
    assert capsys.readouterr().err == f"linkstep: {output}: cannot be written: no space left on device\n"
    assert kind_of(output) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_leaves_a_device_in_place(capsys, tmp_path, command):
    argv = [word.format(tmp_path) for word in COMMANDS[command]]
    output = node(Path(argv[-1]), NULL)
    before = kind_of(output)
    assert main(argv) == 0, capsys.readouterr().err
    assert kind_of(output) == before


def test_sockets_are_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.json"))
        for attempt in (
            lambda path: save(RING, path),
            lambda path: write_atomically(path, lambda file: None),
            check_writable,
            check_selector_path,
        ):
            with pytest.raises(FileError, match=r"s\.json: is a socket, not a file$"):
                attempt(tmp_path / "s.json")
    assert stat.S_ISSOCK((tmp_path / "s.json").lstat().st_mode)


def test_disks_are_refused(tmp_path):
    disk = node(tmp_path / "d.svg", LOOP)
    before = kind_of(disk)
    for attempt in (check_drawable, check_writable, lambda path: write_atomically(path, lambda file: None)):
        with pytest.raises(FileError, match=r"d\.svg: is a disk \(a block device\), not a file$"):
            attempt(disk)
    assert kind_of(disk) == before


def test_nothing_goes_out_before_it_is_whole(tmp_path):
    """What fails while it is written has written nothing through a pipe."""
    reader = Reader(tmp_path / "pipe")

    def fail(file):
        file.write(b"a part")
        raise OSError(5, "Input/output error")

    with pytest.raises(FileError, match="pipe: cannot be written: input/output error"):
        write_atomically(reader.path, fail)
    write_atomically(reader.path, lambda file: file.writelines([b"whole"]))
    assert reader.all() == b"whole"


def test_links_are_followed(tmp_path):
    """A link to nothing makes what it names, a chain of links leads to its end, and all links stay."""
    (tmp_path / "store").mkdir()
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("store/real.json")
    save(RING, tmp_path / "a.json")
    assert (tmp_path / "a.json").is_symlink() and (tmp_path / "b.json").is_symlink()
    assert load(tmp_path / "store" / "real.json") == RING
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["real.json"]
    (tmp_path / "lost.json").symlink_to("nowhere/real.json")
    with pytest.raises(FileError, match=r"lost\.json: there is no folder .*nowhere"):
        save(RING, tmp_path / "lost.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    with pytest.raises(FileError, match=r"loop\.json: cannot be written: too many levels of symbolic links"):
        save(RING, tmp_path / "loop.json")
    assert (tmp_path / "lost.json").is_symlink() and (tmp_path / "loop.json").is_symlink()


def test_a_link_to_a_pipe(tmp_path):
    reader = Reader(tmp_path / "pipe")
    (tmp_path / "link.csv").symlink_to("pipe")
    save(RING, tmp_path / "link.csv")
    assert reader.all().startswith(b"# nodes=3\n")
    assert (tmp_path / "link.csv").is_symlink()


SAYS_BOTH = """
import sys
from linkstep.files import write_atomically
print("before")
write_atomically(sys.argv[1], lambda file: file.writelines([b"data\\n"]))
print("after")
"""


@pytest.mark.parametrize("kind", ["file", "pipe", "socket"])
def test_standard_output_by_name(tmp_path, kind):
    """Whatever standard output is, what is written to it by name comes in its place, and nothing is lost."""
    command = [sys.executable, "-c", SAYS_BOTH, "/dev/stdout"]
    if not Path("/dev/stdout").exists():
        pytest.skip("there is no /dev/stdout here")
    if kind == "file":
        with (tmp_path / "out").open("wb") as file:
            subprocess.run(command, stdout=file, check=True)
        found = (tmp_path / "out").read_bytes()
    elif kind == "pipe":
        found = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    else:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            subprocess.run(command, stdout=theirs, check=True)
            found = ours.recv(100)
    assert found == b"before\ndata\nafter\n"


@pytest.mark.slow
def test_lower_to_standard_output_prints_the_file_alone():
    """The summary goes to standard error, or a reader of the file would read that too."""
    done = subprocess.run(
        [sys.executable, "-m", "linkstep", "lower", "K_3", "--to", "cpu", "-o", "/dev/stdout"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == linkstep.lower(linkstep.schedule("K_3", "allreduce").schedule, "cpu").text
    assert "saved to /dev/stdout" in done.stderr


def test_what_is_read_again_must_be_a_file(tmp_path):
    """Selectors that are changed and logs of searches: a pipe would never end."""
    os.mkfifo(tmp_path / "s.json")
    with pytest.raises(FileError, match=r"s\.json: is a pipe, and a selector that is changed is read first"):
        update_selector(tmp_path / "s.json", lambda selector: selector)
    with pytest.raises(FileError, match=r"s\.json: is not a regular file, and a search reads its log again"):
        open_log(tmp_path / "s.json")
    assert stat.S_ISFIFO((tmp_path / "s.json").lstat().st_mode)


def test_known_before_long_work(tmp_path):
    (tmp_path / "d.json").mkdir()
    with pytest.raises(FileError, match="is a directory, not a file"):
        check_savable(Topology, tmp_path / "d.json")
    with pytest.raises(FileError, match="there is no folder"):
        check_writable(tmp_path / "nowhere" / "d.json")
    check_writable(tmp_path / "new.json")
    assert [path.name for path in tmp_path.iterdir()] == ["d.json"]


def test_completion_writes_no_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for shell in ("bash", "zsh", "tcsh"):
        assert main(["completion", shell]) == 0
        assert "linkstep" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_json_of_a_command_is_unchanged_by_a_pipe(capsys, tmp_path):
    reader = Reader(tmp_path / "cables.json")
    assert main(["wire", "K_3", "-o", str(reader.path)]) == 0
    assert json.loads(reader.all())["nodes"] == 3

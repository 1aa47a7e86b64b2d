"""Opening and writing files: encodings, compression, and never half a file."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import socket
import stat
from pathlib import Path

import pytest

import pgm.io
from pgm import networks
from pgm.errors import FormatError, UnknownNameError
from pgm.io import files


def test_text_survives_in_any_encoding_of_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "größe 温度.bif"
    files.write_text(path, "größe 温度\r\n")
    assert path.read_bytes() == "größe 温度\r\n".encode()
    assert files.read_text(path) == "größe 温度\r\n"


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_bytes(b"\xef\xbb\xbfnetwork")
    assert files.read_text(path) == "network"


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_bytes("network x {\n}\nvariable größe {".encode("latin-1"))
    with pytest.raises(FormatError, match=r"x\.bif: line 3: byte 0xf6 is not UTF-8") as caught:
        pgm.io.read(path)
    assert caught.value.line == 3


def test_compression_is_seen_from_the_content(tmp_path: Path) -> None:
    path = tmp_path / "plain.bif"
    path.write_bytes(gzip.compress(b"text"))
    assert files.read_text(path) == "text"
    path = tmp_path / "not-compressed.bif.gz"
    path.write_bytes(b"text")
    assert files.read_text(path) == "text"


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:12] + b"\xff" * 9 + data[21:]])
def test_damaged_gzip_files_are_format_errors(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "x.bif.gz"
    path.write_bytes(damage(gzip.compress(b"network " * 99)))  # type: ignore[operator]
    with pytest.raises(FormatError, match="gzip file is damaged"):
        files.read_text(path)


def test_compressed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.bif.gz", "b.bif.gz"):
        pgm.io.write(networks.load("asia"), tmp_path / name)
    first, second = (tmp_path / "a.bif.gz").read_bytes(), (tmp_path / "b.bif.gz").read_bytes()
    assert first == second
    assert first[4:8] == b"\0\0\0\0"  # the time stamp of the gzip header
    assert gzip.decompress(first).startswith(b"network")


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "big.bif"
    path.write_text("old")

    def fail(*arguments: object) -> None:
        temporary = next(found for found in tmp_path.iterdir() if found.name != "big.bif")
        raise OSError(errno.ENOSPC, "No space left on device", str(temporary), None, str(path))

    if step == "write":
        monkeypatch.setattr(os, "fdopen", FullDisk)
    else:
        monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(OSError, match="No space") as caught:
        files.write_text(path, "new")
    assert str(caught.value) == f"[Errno {errno.ENOSPC}] No space left on device: {str(path)!r}"
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["big.bif"]


class FullDisk(io.FileIO):
    """A file that no byte fits on; like the real ones, it does not say its name."""

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_text(path, "new")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("x.bif", "old")]


def test_what_takes_the_place_of_a_file_is_on_the_disk_and_named_as_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_fsync, real_replace = os.fsync, Path.replace
    events: list[str] = []

    def fsync(number: int) -> None:
        (temporary,) = tmp_path.iterdir()
        assert re.fullmatch(r"\.pgm-[0-9a-f]{12}\.tmp", temporary.name)
        assert temporary.read_text() == "new"  # flushed
        assert temporary.stat().st_ino == os.fstat(number).st_ino
        events.append("fsync")
        real_fsync(number)

    def replace(temporary: Path, target: Path) -> Path:
        events.append("replace")
        return real_replace(temporary, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    files.write_text(tmp_path / "x.bif", "new")
    assert events == ["fsync", "replace"]
    assert "``.pgm-<12 hexadecimal digits>.tmp``" in (files.write_text.__doc__ or "")


def test_text_that_utf8_cannot_hold_fails_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="UTF-8 cannot hold"):
        files.write_text(tmp_path / "x.bif", "half a pair: \ud800")
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    files.write_text(tmp_path / "ours.bif", "x")
    (tmp_path / "normal").write_text("x")
    ours, normal = ((tmp_path / name).stat().st_mode for name in ("ours.bif", "normal"))
    assert stat.S_IMODE(ours) == stat.S_IMODE(normal)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o640, 0o444, 0o400])
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    for name in ("x.bif", "x.bif.gz"):
        path = tmp_path / name
        path.write_text("old")
        path.chmod(mode)
        before = path.stat()
        files.write_text(path, "new")
        after = path.stat()
        assert files.read_text(path) == "new"
        assert stat.S_IMODE(after.st_mode) == mode
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_nobody_else_can_open_a_private_file_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")
    path.chmod(0o640)
    modes = []
    real = os.chown

    def chown(new: Path, owner: int, group: int) -> None:
        modes.append(stat.S_IMODE(new.stat().st_mode))
        real(new, owner, group)

    monkeypatch.setattr(os, "chown", chown)
    files.write_text(path, "new")
    assert set(modes) == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(("mode", "cut"), [(0o660, 0o600), (0o664, 0o644), (0o640, 0o600), (0o777, 0o777)])
def test_a_group_that_cannot_be_kept_hands_its_permissions_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, cut: int
) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")
    path.chmod(mode)

    def chown(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", chown)
    files.write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == cut


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    files.write_text(path, "new")
    after = path.stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (12345, 54321, 0o640)


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")
    try:
        os.setxattr(path, "user.origin", b"a study")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    files.write_text(path, "new")
    assert os.getxattr(path, "user.origin") == b"a study"


def test_links_are_followed(tmp_path: Path) -> None:
    target = tmp_path / "target.bif"
    target.write_text("old")
    target.chmod(0o600)
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.bif"
    link.symlink_to("../target.bif")
    files.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.unlink()
    files.write_text(link, "newer")
    assert target.read_text() == "newer"
    squeezed = tmp_path / "link.bif.gz"
    squeezed.symlink_to(target)
    files.write_text(squeezed, "small")
    assert gzip.decompress(target.read_bytes()) == b"small"


def test_pipes_are_written_into(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(fifo, "through the pipe")
    assert os.read(reader, 99) == b"through the pipe"
    os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


OPEN = ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/{pid}/fd/{}", "{folder}/link"]


@pytest.mark.parametrize("name", OPEN)
def test_open_files_are_written_into(tmp_path: Path, name: str) -> None:
    def path(number: int) -> str:
        link = tmp_path / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(f"/dev/fd/{number}")
        return name.format(number, pid=os.getpid(), folder=tmp_path)

    reader, writer = os.pipe()
    files.write_text(path(writer), "through the pipe")
    assert os.read(reader, 99) == b"through the pipe"
    os.close(reader)
    with pytest.raises(BrokenPipeError) as caught:
        files.write_text(path(writer), "to nobody")
    assert caught.value.filename == path(writer)
    os.close(writer)
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.write_text(path(writer), "to nothing")
    one, other = socket.socketpair()
    with one, other:
        files.write_text(path(one.fileno()), "through the socket")
        assert other.recv(99) == b"through the socket"


def test_an_open_file_goes_on_where_it_is(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b", buffering=0) as log:
        log.write(b"first\n")
        files.write_text(f"/dev/fd/{log.fileno()}", "second\n")
        log.write(b"third\n")
    assert (tmp_path / "log").read_text() == "first\nsecond\nthird\n"
    assert [found.name for found in tmp_path.iterdir()] == ["log"]


def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        files.write_text("/dev/full", "text")


def test_circles_of_links_are_the_usual_error(tmp_path: Path) -> None:
    (tmp_path / "a.bif").symlink_to(tmp_path / "b.bif")
    (tmp_path / "b.bif").symlink_to(tmp_path / "a.bif")
    for path in (tmp_path / "a.bif", tmp_path / "a.bif" / "1", tmp_path / "a.bif" / "x.bif"):
        for use in (files.read_text, files.check_writable, lambda path: files.write_text(path, "")):
            with pytest.raises(OSError, match=re.escape(repr(str(path)))) as caught:
                use(path)
            assert caught.value.errno == errno.ELOOP


def test_names_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    for name in ("😀" * 60 + ".bif", "x" * 251 + ".bif", "x" * 248 + ".bif.gz"):
        files.write_text(tmp_path / name, "old")
        files.write_text(tmp_path / name, "new")
        assert files.read_text(tmp_path / name) == "new"
    with pytest.raises(OSError, match="File name too long: .*xxx.bif'$"):
        files.write_text(tmp_path / ("x" * 252 + ".bif"), "new")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a\0b.bif", r"the name of a file cannot hold a NUL character: 'a\\x00b.bif'"),
        ("a\ud800.bif", r"the name of a file cannot hold the character '\\ud800': "),
        ("", "No such file or directory: ''"),
    ],
)
def test_what_is_no_path_is_said_so(path: str, message: str) -> None:
    for use in (files.read_text, files.check_writable, lambda path: files.write_text(path, "")):
        with pytest.raises(OSError, match=message):
            use(path)
    with pytest.raises(OSError, match=message):
        pgm.io.write(networks.load("asia"), path, "bif")
    with pytest.raises(OSError, match=message):
        pgm.io.read(path, "bif")


def test_what_could_not_be_written_is_known_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "x")
    for name, number in {
        "": errno.EISDIR,
        "missing/x.bif": errno.ENOENT,
        "file/x.bif": errno.ENOTDIR,
        "link": errno.ENOENT,
    }.items():
        for use in (files.check_writable, lambda path: files.write_text(path, "new")):
            with pytest.raises(OSError, match=re.escape(repr(str(tmp_path / name)))) as caught:
                use(tmp_path / name)
            assert caught.value.errno == number
    for name in ("file", "new", "/dev/null", "/dev/stdout"):
        files.check_writable(tmp_path / name)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "link"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    for use in (files.check_writable, lambda path: files.write_text(path, "new")):
        with pytest.raises(PermissionError, match=r"Permission denied: '.*x\.bif'"):
            use(tmp_path / "x.bif")
    tmp_path.chmod(0o700)


def test_the_suffix_chooses_the_format(tmp_path: Path) -> None:
    net = networks.load("asia")
    for name in ("a.bif", "a.BIF", "a.bif.gz", "a.b.bif.GZ"):
        pgm.io.write(net, tmp_path / name)
        assert pgm.io.read(tmp_path / name) == net
    pgm.io.write(net, tmp_path / "a.txt", format="bif")
    assert pgm.io.read(tmp_path / "a.txt", format="bif") == net
    pgm.io.write(net, tmp_path / "a.gv")
    assert (tmp_path / "a.gv").read_text() == net.to_dot()


def test_unknown_formats_list_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"suffix '\.xyz' names no format; known are '\.bif', '\.json', '\.dot'"):
        pgm.io.read(tmp_path / "net.xyz")
    with pytest.raises(FormatError, match=r"suffix '' names no format"):
        pgm.io.write(networks.load("asia"), tmp_path / "net")
    with pytest.raises(FormatError, match="unknown format 'word'; the formats are 'bif', 'json'$"):
        pgm.io.read_string("", "word")
    with pytest.raises(FormatError, match="'dot' has no probabilities"):
        pgm.io.read(tmp_path / "x.dot")


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pgm.io.read(tmp_path / "missing.bif")
    with pytest.raises(FileNotFoundError):
        pgm.io.write(networks.load("asia"), tmp_path / "no directory" / "x.bif")


@pytest.mark.parametrize("format", [["bif"], None, 3, "xml"])
def test_formats_that_are_none(format: object) -> None:
    net = networks.load("asia")
    with pytest.raises(FormatError, match="unknown format"):
        net.to_string(format)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"\['tub'\] in the evidence is not a node"):
        net.to_dot(evidence=[["tub"]])

"""Opening and writing files: encodings, compression, and never half a file."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest

import pgm.io
from pgm import networks
from pgm.errors import FormatError
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


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bif"
    path.write_text("old")

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space") as caught:
        files.write_text(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["x.bif"]


def test_text_that_utf8_cannot_hold_fails_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="UTF-8 cannot hold"):
        files.write_text(tmp_path / "x.bif", "half a pair: \ud800")
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    files.write_text(tmp_path / "ours.bif", "x")
    (tmp_path / "normal").write_text("x")
    ours, normal = ((tmp_path / name).stat().st_mode for name in ("ours.bif", "normal"))
    assert stat.S_IMODE(ours) == stat.S_IMODE(normal)


def test_links_and_devices_are_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target.bif"
    target.write_text("old")
    link = tmp_path / "link.bif"
    link.symlink_to(target)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(fifo, "through the pipe")
    assert os.read(reader, 99) == b"through the pipe"
    os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


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
    with pytest.raises(FormatError, match=r"suffix '\.xyz' names no format; known are '\.bif', '\.dot'"):
        pgm.io.read(tmp_path / "net.xyz")
    with pytest.raises(FormatError, match=r"suffix '' names no format"):
        pgm.io.write(networks.load("asia"), tmp_path / "net")
    with pytest.raises(FormatError, match="unknown format 'word'; the formats are 'bif'"):
        pgm.io.read_string("", "word")
    with pytest.raises(FormatError, match="'dot' has no probabilities"):
        pgm.io.read(tmp_path / "x.dot")


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pgm.io.read(tmp_path / "missing.bif")
    with pytest.raises(FileNotFoundError):
        pgm.io.write(networks.load("asia"), tmp_path / "no directory" / "x.bif")

"""Text files on disk: UTF-8 whatever the locale, gzip recognised by content, and written whole or not at all.

Every file format of :mod:`pgm.io` is a function from text to a network and back; only this module opens files. Its
errors name the file that was asked for, as it was asked for.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from pgm.errors import FormatError

__all__ = ["check_writable", "read_text", "suffix", "write_text"]

GZIP_MAGIC = b"\x1f\x8b"
OPEN_FILES = re.compile(r"/dev/fd|/proc/([0-9]+)(?:/task/[0-9]+)?/fd")
"""Directories whose entries are the open files of a process, by number."""
MAX_LINKS = 40


def suffix(path: str | PathLike[str]) -> str:
    """Return the suffix that tells the format, in lower case, looking through ``.gz``.

    >>> suffix("nets/Alarm.BIF.gz"), suffix("alarm.dot"), suffix("alarm")
    ('.bif', '.dot', '')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix


def decode(data: bytes) -> str:
    """Return bytes as text: gunzipped if they are gzip, UTF-8, a byte order mark dropped.

    Raises
    ------
    FormatError
        If the bytes are a damaged gzip stream or not UTF-8; the message says where.
    """
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"the gzip file is damaged: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"byte 0x{data[error.start]:02x} is not UTF-8 text", line) from None


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file, gunzipped if it is gzip.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If it is not UTF-8 text or a damaged gzip file.

    Notes
    -----
    Line ends are left as they are. Whether a file is compressed is seen from its first bytes, not from its name.
    """
    with _naming(path):
        data = _checked(path).read_bytes()
    return decode(data)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write text as UTF-8, compressed if the name ends in ``.gz``; the file is replaced whole or left alone.

    Raises
    ------
    OSError
        If the file cannot be written.
    FormatError
        If the text has a character that UTF-8 cannot hold (half of a surrogate pair).

    Notes
    -----
    The text goes to a new file beside the old one, is forced to the disk (a fraction of a millisecond on a solid-state
    one), and then takes the place of the old one: after a failure or a power cut, and for any other reader, there is
    never half a file. A process that is killed meanwhile may leave ``.pgm-<12 hexadecimal digits>.tmp`` behind, which
    can be deleted.

    The new file has the permissions of the old one, its extended attributes, and its owner and group where the process
    may give them away; permissions of a group that cannot be kept are cut to those of everyone. As always when a file
    is replaced and not changed, the directory decides: a read-only file in a directory that can be written is
    replaced and stays read-only, and hard links keep the old text. A file that is not there gets the permissions of
    any new file.

    Symbolic links are followed. Pipes, devices and open files (``/dev/stdout``, ``/dev/fd/3``) are written into.
    Compressed files carry no time stamp: the same text gives the same bytes.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"UTF-8 cannot hold the character {text[error.start]!r}") from None
    if os.fspath(path).lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with _naming(path):
        target = _checked(path)
        number = _open_file(target)
        if number is not None:
            with os.fdopen(os.dup(number), "wb") as stream:  # not opened anew, which would start at its beginning
                stream.write(data)
        elif _is_replaceable(target):
            _replace(_followed(target), data)
        else:
            target.write_bytes(data)


def check_writable(path: str | PathLike[str]) -> None:
    """Raise what :func:`write_text` would raise about the path: known before long work, not after it.

    Raises
    ------
    OSError
        If there is no such directory, it cannot be written, or the path is a directory or no path at all.
    """
    with _naming(path):
        target = _checked(path)
        if target.is_dir():
            raise _os_error(errno.EISDIR)
        if _open_file(target) is None and _is_replaceable(target):
            folder = _followed(target).parent
            if not folder.is_dir():
                raise _os_error(errno.ENOENT)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise _os_error(errno.EACCES)


# ---------------------------------------------------------------------- paths


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let each OSError name the path asked for: a failed write names none, or that of the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _checked(path: str | PathLike[str]) -> Path:
    """Return a path that the operating system can be asked about."""
    name = os.fspath(path)
    if not name:
        raise _os_error(errno.ENOENT)
    if "\0" in name:
        raise OSError(errno.EINVAL, "the name of a file cannot hold a NUL character")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise OSError(errno.EILSEQ, f"the name of a file cannot hold the character {name[error.start]!r}") from None
    return Path(name)


def _open_file(path: Path) -> int | None:
    """Return the number of the open file of this process that a path such as ``/dev/stdout`` means, None for others."""
    for _ in range(MAX_LINKS):
        folder = OPEN_FILES.fullmatch(os.path.realpath(path.parent)) if re.fullmatch("[0-9]+", path.name) else None
        if folder and folder[1] in (None, str(os.getpid())):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def _is_replaceable(target: Path) -> bool:
    """Return whether a path leads to a regular file, or to nothing yet; OSError for a circle of links."""
    status = _status(target)
    return status is None or stat.S_ISREG(status.st_mode)


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _followed(target: Path) -> Path:
    return target.resolve() if target.is_symlink() else target


# ---------------------------------------------------------------------- replacing


def _replace(target: Path, data: bytes) -> None:
    """Let a new file with these bytes take the place of the target."""
    old = _status(target)
    temporary = target.with_name(f".pgm-{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    private = 0o600  # until the rights of the old file are copied
    descriptor = os.open(temporary, flags, 0o666 if old is None else private)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if old is not None:
                _copy_rights(target, old, temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _copy_rights(old: Path, status: os.stat_result, new: Path) -> None:
    """Give a file the group, owner, extended attributes (with them the ACL) and permissions of another."""
    mode = stat.S_IMODE(status.st_mode)
    if sys.platform != "win32":
        try:
            os.chown(new, -1, status.st_gid)
        except OSError:
            mode = (mode & ~0o070) | (mode & 0o007) << 3  # another group must not gain what was meant for that one
        with suppress(OSError):
            os.chown(new, status.st_uid, -1)
    if sys.platform == "linux":
        for name in _attributes(old):
            with suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))
    new.chmod(mode)


def _attributes(path: Path) -> list[str]:
    """Return the names of the extended attributes of a file; none where the file system has none."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.listxattr(path)
    return []

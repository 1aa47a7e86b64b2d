"""Text files on disk: UTF-8 whatever the locale, gzip recognised by content, and written whole or not at all.

Every file format of :mod:`pgm.io` is a function from text to a network and back; only this module opens files.
"""

from __future__ import annotations

import gzip
import secrets
import zlib
from os import PathLike
from pathlib import Path

from pgm.errors import FormatError

__all__ = ["read_text", "suffix", "write_text"]

GZIP_MAGIC = b"\x1f\x8b"


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
    return decode(Path(path).read_bytes())


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
    The text goes to a new file beside the old one, which then takes its place, so neither a failure nor another
    reader ever sees half a file. Symbolic links are followed. Compressed files carry no time stamp: the same text
    gives the same bytes.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"UTF-8 cannot hold the character {text[error.start]!r}") from None
    target = Path(path).resolve()
    if target.name.lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    if target.exists() and not target.is_file():  # a pipe or /dev/stdout must not be replaced
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:  # "x" makes a file with the permissions of any new file
            file.write(data)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the caller knows nothing of the temporary file
            error.filename2 = None
        raise

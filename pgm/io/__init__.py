"""Networks in files: one module per format, and four functions that choose among them.

The format follows from the suffix (``alarm.bif``, compressed as ``alarm.bif.gz``) or from ``format=``. A format is a
module with ``from_string(text) -> BayesianNetwork`` and ``to_string(net) -> str``; :mod:`pgm.io.files` opens the
files. JSON is the format of this package itself, which keeps the types of labels; in the others they are text. DOT
holds graphs without numbers, so networks are only written to it; graphs are read by :func:`pgm.io.dot.read_dag`.
Sufficient statistics have files of their own, for :func:`read_counts` and :func:`write_counts` of :mod:`pgm.io.counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pgm.errors import FormatError, TooLargeError, listing
from pgm.io.files import read_text, suffix, write_text

if TYPE_CHECKING:
    from pgm.io.counts import read_counts, write_counts
    from pgm.network import BayesianNetwork

__all__ = [
    "FORMATS",
    "Format",
    "format_of",
    "read",
    "read_counts",
    "read_string",
    "to_string",
    "write",
    "write_counts",
]


def __getattr__(name: str) -> Any:
    """Return what is loaded when first used: a network is read without the code for counts."""
    if name not in ("read_counts", "write_counts"):
        raise AttributeError(f"module 'pgm.io' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module("pgm.io.counts"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class Format(NamedTuple):
    """A file format: where its code is, and which suffixes mean it."""

    module: str
    suffixes: tuple[str, ...]
    readable: bool = True


FORMATS = {
    "bif": Format("pgm.io.bif", (".bif",)),
    "json": Format("pgm.io.json", (".json",)),
    "dot": Format("pgm.io.dot", (".dot", ".gv"), readable=False),
}
"""The formats by name. Their modules are imported when first used."""


def read(path: str | PathLike[str], format: str | None = None) -> BayesianNetwork:
    """Return the network in a file.

    Parameters
    ----------
    path
        The file; gzip is recognised by its content.
    format
        A name in :data:`FORMATS`; by default the suffix tells.

    Raises
    ------
    FormatError
        For an unknown format, or a file that breaks the rules of its format; the message has file and line.
    TooLargeError
        If its tables would exceed the memory budget.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import pgm, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "asia.bif.gz"
    >>> pgm.io.write(pgm.networks.load("asia"), path)
    >>> pgm.io.read(path).names[:3]
    ('asia', 'tub', 'smoke')
    """
    chosen = _chosen(format or format_of(path), reading=True)
    try:
        return _reader(chosen)(read_text(path))
    except (FormatError, TooLargeError) as error:
        error.args = (f"{fspath(path)}: {error}",)
        raise


def read_string(text: str, format: str) -> BayesianNetwork:
    """Return the network that a text describes.

    Raises
    ------
    FormatError
        For an unknown format, or a text that breaks its rules; the message has the line.
    """
    return _reader(_chosen(format, reading=True))(text)


def write(net: BayesianNetwork, path: str | PathLike[str], format: str | None = None) -> None:
    """Write a network to a file, whole or not at all; a name ending in ``.gz`` is compressed.

    Parameters
    ----------
    net
        The network.
    path
        The file, replaced if it exists, with its permissions kept; see :func:`pgm.io.files.write_text`.
    format
        A name in :data:`FORMATS`; by default the suffix tells.

    Raises
    ------
    FormatError
        For an unknown format, or a network that the format cannot hold.
    OSError
        If the file cannot be written.
    """
    write_text(path, to_string(net, format or format_of(path)))


def to_string(net: BayesianNetwork, format: str) -> str:
    """Return a network as text.

    Raises
    ------
    FormatError
        For an unknown format, or a network that the format cannot hold.
    """
    function = import_module(_chosen(format, reading=False).module).to_string
    return cast("Callable[[BayesianNetwork], str]", function)(net)


def _reader(chosen: Format) -> Callable[[str], BayesianNetwork]:
    return cast("Callable[[str], BayesianNetwork]", import_module(chosen.module).from_string)


def _chosen(name: str, *, reading: bool) -> Format:
    known = [key for key, found in FORMATS.items() if found.readable or not reading]
    if not isinstance(name, str) or name not in FORMATS:
        raise FormatError(f"unknown format {name!r}; the formats are {listing(known)}")
    if name not in known:
        raise FormatError(f"{name!r} has no probabilities to read; networks are read from {listing(known)}")
    return FORMATS[name]


def format_of(path: str | PathLike[str]) -> str:
    """Return the name of the format that the suffix of a path means.

    Raises
    ------
    FormatError
        If it means none; lists those known.

    Examples
    --------
    >>> format_of("alarm.bif.gz")
    'bif'
    """
    ending = suffix(path)
    for name, format in FORMATS.items():
        if ending in format.suffixes:
            return name
    known = listing(ending for format in FORMATS.values() for ending in format.suffixes)
    raise FormatError(f"{fspath(path)}: the suffix {ending!r} names no format; known are {known}, or give format=")

"""Counts in files: sufficient statistics as JSON, to be added to those of other rows later or elsewhere.

A file is one object. Each node has its states in declared order, its parents by name, and the cells of its table that
are not empty, numbered with the node's own state running fastest::

    {
      "format": "pgm-counts",
      "version": 1,
      "rows": 4,
      "weight": 4.0,
      "missing": "error",
      "variables": [
        {"name": "dose", "states": [0, 1], "parents": [], "cells": [0, 1], "counts": [3, 1]},
        {"name": "cured", "states": [false, true], "parents": ["dose"], "cells": [0, 1, 3], "counts": [1, 2, 1]}
      ]
    }

Labels are text, numbers and booleans, and come back as what they were; so does every count, bit by bit. Nothing is
skipped or guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np

from pgm.data.counts import CountTable
from pgm.data.statistics import SufficientStatistics
from pgm.errors import DataError, FormatError, GraphError, TooLargeError, UnknownNameError, listing
from pgm.factors.size import check_size
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.io.assembly import declared
from pgm.io.files import read_text, write_text

__all__ = ["counts_from_string", "counts_to_string", "read_counts", "write_counts"]

FORMAT = "pgm-counts"
VERSION = 1
FILE_KEYS = ("format", "version", "rows", "weight", "missing", "variables")
VARIABLE_KEYS = ("name", "states", "parents", "cells", "counts")


def write_counts(statistics: SufficientStatistics, path: str | PathLike[str]) -> None:
    """Write sufficient statistics to a file, whole or not at all; a name ending in ``.gz`` is compressed.

    Raises
    ------
    FormatError
        For a label that JSON cannot hold; names the variable.
    OSError
        If the file cannot be written.
    """
    write_text(path, counts_to_string(statistics))


def read_counts(path: str | PathLike[str]) -> SufficientStatistics:
    """Return the sufficient statistics in a file.

    Raises
    ------
    FormatError
        For a file that breaks the rules of the format; the message names it.
    TooLargeError
        If the tables would exceed the memory budget.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> counts = SufficientStatistics(DAG(nodes=["x"]), [Variable("x", [0, 1])], [np.array([3, 1])], 4)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "monday.json.gz"
    >>> write_counts(counts, path)
    >>> read_counts(path) == counts
    True
    """
    try:
        return counts_from_string(read_text(path))
    except (FormatError, TooLargeError) as error:
        error.args = (f"{fspath(path)}: {error}",)
        raise


def counts_to_string(statistics: SufficientStatistics) -> str:
    """Return sufficient statistics as JSON text.

    Raises
    ------
    FormatError
        For a label that JSON cannot hold; names the variable.
    """
    pairs = zip(statistics.variables, statistics.tables, strict=True)
    entries = ",\n".join(f"    {_entry(variable, table, statistics.dag)}" for variable, table in pairs)
    head = [
        f'"format": "{FORMAT}"',
        f'"version": {VERSION}',
        f'"rows": {statistics.n_rows}',
        f'"weight": {statistics.total_weight!r}',
        f'"missing": "{statistics.missing}"',
        f'"variables": [\n{entries}\n  ]',
    ]
    return "{\n  " + ",\n  ".join(head) + "\n}\n"


def _entry(variable: Variable, table: CountTable, dag: DAG) -> str:
    for label in variable.states:
        if type(label) not in (str, int, float, bool) or label in (math.inf, -math.inf):
            raise FormatError(f"the label {label!r} of {variable.name!r} cannot be kept; JSON has text and numbers")
    cells = np.flatnonzero(table)
    content = {
        "name": variable.name,
        "states": list(variable.states),
        "parents": list(dag.parents(variable.name)),
        "cells": cells.tolist(),
        "counts": table.ravel()[cells].tolist(),
    }
    return json.dumps(content)


def counts_from_string(text: str) -> SufficientStatistics:
    """Return the sufficient statistics that a JSON text describes.

    Raises
    ------
    FormatError
        If the text breaks the rules of the format.
    TooLargeError
        If the tables would exceed the memory budget.
    """
    content = _parsed(text)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f'these are no counts: the file must be an object with "format": "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise FormatError(f"version {content.get('version')!r} of {FORMAT}; only version {VERSION} can be read")
    _check_keys(content, FILE_KEYS, "the file")
    if not isinstance(content["variables"], list) or type(content["rows"]) is not int or content["rows"] < 0:
        raise FormatError("the variables must be a list, and the rows a whole number from 0")
    if type(content["weight"]) not in (int, float) or content["weight"] < 0:
        raise FormatError(f"the weight must be a number from 0, not {content['weight']!r}")
    entries = [_checked(entry, number) for number, entry in enumerate(content["variables"], start=1)]
    variables = {entry["name"]: declared(entry["name"], entry["states"], None) for entry in entries}
    if len(variables) < len(entries):
        raise FormatError(f"a variable is declared twice: {listing(entry['name'] for entry in entries)}")
    tables = _tables(entries, variables)
    try:
        dag = DAG(((parent, entry["name"]) for entry in entries for parent in entry["parents"]), nodes=list(variables))
        return SufficientStatistics(
            dag, list(variables.values()), tables, content["rows"], content["weight"], content["missing"]
        )
    except (GraphError, DataError, UnknownNameError) as error:
        raise FormatError(str(error)) from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except FormatError:
        raise
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise FormatError("not JSON: brackets nested too deeply, or a number with too many digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise FormatError(f"an object has a key twice: {listing(key for key, _ in pairs)}")
    return found


def _constant(name: str) -> NoReturn:
    raise FormatError(f"{name} is not a number")


def _check_keys(found: dict[str, Any], expected: Sequence[str], what: str) -> None:
    if set(found) != set(expected):
        raise FormatError(f"{what} must have the keys {listing(expected)}, not {listing(found)}")


def _checked(entry: Any, number: int) -> dict[str, Any]:
    """Return the object of a variable, its keys and their types being right."""
    what = f"variable {number}"
    if not isinstance(entry, dict):
        raise FormatError(f"{what} must be an object, not {entry!r}")
    _check_keys(entry, VARIABLE_KEYS, what)
    name = entry["name"]
    if not isinstance(name, str):
        raise FormatError(f"the name of {what} must be text, not {name!r}")
    allowed: dict[str, tuple[type, ...]] = {
        "states": (str, int, float, bool),
        "parents": (str,),
        "cells": (int,),
        "counts": (int, float),
    }
    for key, kinds in allowed.items():
        if not isinstance(entry[key], list) or any(type(item) not in kinds for item in entry[key]):
            raise FormatError(f"the {key} of {name!r} must be a list of {' or '.join(kind.__name__ for kind in kinds)}")
    return entry


def _tables(entries: Sequence[dict[str, Any]], variables: dict[str, Variable]) -> list[Any]:
    """Return the table of each variable, all variables being known."""
    shapes = []
    for entry in entries:
        unknown = [name for name in entry["parents"] if name not in variables]
        if unknown:
            raise FormatError(f"{listing(unknown)}, a parent of {entry['name']!r}, is none of the variables")
        shapes.append([variables[name].cardinality for name in (*entry["parents"], entry["name"])])
    check_size([sum(map(math.prod, shapes))], "the tables of the file")
    return [_table(entry, shape) for entry, shape in zip(entries, shapes, strict=True)]


def _table(entry: dict[str, Any], shape: Sequence[int]) -> Any:
    cells, counts, size = entry["cells"], entry["counts"], math.prod(shape)
    what = f"the cells of {entry['name']!r}"
    check_size(shape, what)
    if len(cells) != len(counts):
        raise FormatError(f"{what} are {len(cells)}, but there are {len(counts)} counts")
    if any(cell < 0 or cell >= size for cell in cells) or len(set(cells)) < len(cells):
        raise FormatError(f"{what} must be different numbers from 0 to {size - 1}")
    try:
        kind = np.int64 if all(type(count) is int for count in counts) else np.float64
        table = np.zeros(size, kind)
        table[cells] = np.array(counts, kind)
    except OverflowError:
        raise FormatError(f"the counts of {entry['name']!r} have a number that is too large") from None
    return table.reshape(shape)

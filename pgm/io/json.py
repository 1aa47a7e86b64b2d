r"""JSON, the format of this package itself: labels keep their types, and every number comes back bit by bit.

A file is one object. Each variable has its states in declared order, its parents by name and its table as nested
lists, one level for each parent and the probabilities of its own states innermost::

    {
      "format": "pgm-network",
      "version": 1,
      "variables": [
        {
          "name": "dose",
          "states": [0, 1, 2],
          "parents": [],
          "table": [0.5, 0.3, 0.2]
        },
        {
          "name": "cured",
          "states": [false, true],
          "parents": ["dose"],
          "table": [[0.9, 0.1],
            [0.4, 0.6],
            [0.2, 0.8]]
        }
      ]
    }

- A continuous variable has no states. In place of a table stand its ``"means"`` and its ``"variances"``, nested lists
  with a level for each parent and one number for each joint state; the parents are discrete.
- Labels are text, whole numbers, decimal numbers and booleans: ``1``, ``1.0``, ``true`` and ``"1"`` come back as what
  they were. Labels of other types, and infinite ones, cannot be written.
- Variables stand in declared order, which may put a parent after its child.
- Numbers are written in the fewest digits that read back as the same number. Rows off from one by up to 0.001 are
  rounded figures and divided by their sum; anything worse is an error.
- Nothing is skipped or guessed: a key that is missing, unknown or given twice, ``NaN``, a table of another shape, and
  a version of the format other than 1 are errors.

References
----------
Bray (2017), *The JavaScript Object Notation (JSON) Data Interchange Format*, RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from operator import mul
from reprlib import repr as shortened
from typing import Any, NoReturn

import numpy as np

from pgm.errors import FormatError, TableError, listing
from pgm.factors.cpt import CPT
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MAX_AXES
from pgm.factors.variable import Variable
from pgm.io.assembly import Table, assemble, checked_rows, declared, row_name
from pgm.network import BayesianNetwork

__all__ = ["from_string", "to_string"]

FORMAT = "pgm-network"
VERSION = 1
SURROGATE = re.compile("[\ud800-\udfff]")
FILE_KEYS = ("format", "version", "variables")
VARIABLE_KEYS = ("name", "states", "parents", "table")
LEAF_KEYS = ("name", "parents", "means", "variances")


# ---------------------------------------------------------------------- writing


def to_string(net: BayesianNetwork) -> str:
    """Return a network as JSON text.

    Raises
    ------
    FormatError
        For a label that is neither text nor a number nor a boolean, or that JSON cannot hold; names the variable.

    Examples
    --------
    >>> import pgm
    >>> cured = pgm.Variable("cured", [False, True])
    >>> print(to_string(pgm.BayesianNetwork([pgm.CPT(cured, [0.25, 0.75])])))
    {
      "format": "pgm-network",
      "version": 1,
      "variables": [
        {
          "name": "cured",
          "states": [false, true],
          "parents": [],
          "table": [0.25, 0.75]
        }
      ]
    }
    <BLANKLINE>
    """
    variables = ",\n".join(_entry(cpd) if isinstance(cpd, CPT) else _leaf_entry(cpd) for cpd in net.cpds)
    head = f'{{\n  "format": "{FORMAT}",\n  "version": {VERSION},\n  "variables": [\n'
    return f"{head}{variables}\n  ]\n}}\n"


def _entry(cpt: CPT) -> str:
    """Return the object of one variable."""
    child = cpt.child
    name = _literal(child.name, "the name of a variable")
    states = ", ".join(_literal(label, f"a label of {child.name!r}") for label in child.states)
    parents = ", ".join(_literal(parent.name, f"a parent of {child.name!r}") for parent in cpt.parents)
    table = ",\n        ".join(_rows(cpt))
    return _object_of([f'"name": {name}', f'"states": [{states}]', f'"parents": [{parents}]', f'"table": {table}'])


def _leaf_entry(leaf: ConditionalGaussian) -> str:
    """Return the object of one continuous variable."""
    name = _literal(leaf.name, "the name of a variable")
    parents = ", ".join(_literal(parent.name, f"a parent of {leaf.name!r}") for parent in leaf.parents)
    means, variances = json.dumps(leaf.means.tolist()), json.dumps(leaf.variances.tolist())
    return _object_of([f'"name": {name}', f'"parents": [{parents}]', f'"means": {means}', f'"variances": {variances}'])


def _object_of(lines: Sequence[str]) -> str:
    return "    {\n      " + ",\n      ".join(lines) + "\n    }"


def _rows(cpt: CPT) -> Iterator[str]:
    """Yield the rows of a table, with the brackets that open before and close after each."""
    blocks = list(accumulate((parent.cardinality for parent in reversed(cpt.parents)), mul))
    for place, row in enumerate(cpt.values.reshape(-1, cpt.child.cardinality).tolist()):
        opened = sum(place % rows == 0 for rows in blocks)
        closed = sum((place + 1) % rows == 0 for rows in blocks)
        yield f"{'[' * opened}[{', '.join(map(repr, row))}]{']' * closed}"


def _literal(value: object, what: str) -> str:
    """Return a name or a label as JSON."""
    _check_label(value, what)
    try:
        return json.dumps(value, ensure_ascii=False)
    except ValueError:  # beyond what Python turns into text
        raise FormatError(f"{what} has too many digits") from None


def _check_label(value: object, what: str) -> None:
    """Raise unless JSON can give back a value as it is."""
    if type(value) not in (str, int, float, bool):
        kind = type(value).__name__
        raise FormatError(f"{what}, {shortened(value)}, is of type {kind}; JSON keeps text, numbers and booleans")
    if value in (float("inf"), -float("inf")):
        raise FormatError(f"{what} is infinite, which JSON cannot hold")
    if isinstance(value, str) and SURROGATE.search(value):
        raise FormatError(f"{what}, {value!r}, has half of a surrogate pair, which is no text")


# ---------------------------------------------------------------------- reading


def from_string(text: str) -> BayesianNetwork:
    """Return the network that a JSON text describes.

    Raises
    ------
    FormatError
        For anything that is not JSON or does not make a network; names the line or the variable.

    Examples
    --------
    >>> from_string('{"format": "pgm-network", "version": 2, "variables": []}')
    Traceback (most recent call last):
    ...
    pgm.errors.FormatError: this is version 2 of pgm-network; only version 1 can be read
    """
    variables: dict[str, Variable] = {}
    found: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(_entries(_parsed(text)), start=1):
        variable = None if _is_leaf(entry) else _variable(entry, number)
        name = _leaf_name(entry, number) if variable is None else variable.name
        if name in found:
            raise FormatError(f"{name!r} is declared twice")
        found[name] = entry
        if variable is not None:
            variables[name] = variable
    tables = {variable: _table(found[name], variables) for name, variable in variables.items()}
    leaves = {name: _leaf(entry, variables) for name, entry in found.items() if name not in variables}
    return assemble(dict.fromkeys(variables.values()), tables, leaves, [*found])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except FormatError:
        raise
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise FormatError("brackets are nested too deeply") from None
    except ValueError:  # beyond what Python turns into a number
        raise FormatError("a whole number has too many digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(f"an object has the key {repeated!r} twice")
    return found


def _constant(name: str) -> NoReturn:
    raise FormatError(f"{name} is not a number")


def _entries(content: Any) -> list[dict[str, Any]]:
    """Return the objects of the variables, the rest of the file being checked."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f'this is not a network: the file must be an object with "format": "{FORMAT}"')
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        given = "no version" if version is None else f"version {shortened(version)}"
        raise FormatError(f"this is {given} of {FORMAT}; only version {VERSION} can be read")
    _check_keys(content, FILE_KEYS, "the file")
    return _list(content["variables"], "the variables")


def _check_keys(found: dict[str, Any], expected: Sequence[str], what: str) -> None:
    for key in expected:
        if key not in found:
            raise FormatError(f"{what} has no {key!r}; its keys are {listing(found)}")
    for key in found:
        if key not in expected:
            raise FormatError(f"{what} has the unknown key {key!r}; allowed are {listing(expected)}")


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{what} must be a list, not {shortened(value)}")
    return value


def _variable(entry: Any, number: int) -> Variable:
    """Return the variable that the object at that place describes."""
    what = f"variable {number}"
    if not isinstance(entry, dict):
        raise FormatError(f"{what} must be an object, not {shortened(entry)}")
    name = entry.get("name")
    if isinstance(name, str):
        what = f"{what}, {name!r},"
    _check_keys(entry, VARIABLE_KEYS, what)
    if not isinstance(name, str):
        raise FormatError(f"the name of {what} must be text, not {shortened(name)}")
    _check_label(name, f"the name of variable {number}")
    states = _list(entry["states"], f"the states of {name!r}")
    for label in states:
        _check_label(label, f"a label of {name!r}")
    return declared(name, states, None)


def _is_leaf(entry: Any) -> bool:
    return isinstance(entry, dict) and "states" not in entry and ("means" in entry or "variances" in entry)


def _leaf_name(entry: dict[str, Any], number: int) -> str:
    """Return the name of the continuous variable that the object at that place describes."""
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise FormatError(f"the name of variable {number} must be non-empty text, not {shortened(name)}")
    _check_label(name, f"the name of variable {number}")
    _check_keys(entry, LEAF_KEYS, f"variable {number}, {name!r}, which is continuous,")
    return name


def _leaf(entry: dict[str, Any], variables: Mapping[str, Variable]) -> ConditionalGaussian:
    """Return one continuous variable, the discrete ones being known."""
    name = entry["name"]
    parents = _parents(name, entry["parents"], variables)
    numbers = {}
    for key in ("means", "variances"):
        level = [entry[key]]
        for parent in parents:
            for items in level:
                if not isinstance(items, list) or len(items) != parent.cardinality:
                    states = f"a number for each state of {parent.name!r}"
                    raise FormatError(f"the {key} of {name!r} must have {states}, not {shortened(items)}")
            level = list(chain.from_iterable(level))
        if not {int, float}.issuperset(map(type, level)):
            raise FormatError(f"the {key} of {name!r} have {shortened(level)} where numbers are expected")
        try:
            numbers[key] = np.array(level, np.float64).reshape([parent.cardinality for parent in parents])
        except OverflowError:
            raise FormatError(f"the {key} of {name!r} have a number that is too large") from None
    try:
        return ConditionalGaussian(name, numbers["means"], numbers["variances"], parents)
    except TableError as error:
        raise FormatError(str(error)) from None


def _parents(child: str, given: Any, variables: Mapping[str, Variable]) -> tuple[Variable, ...]:
    """Return the parents of a variable, which are discrete."""
    names = _list(given, f"the parents of {child!r}")
    for name in names:
        if not isinstance(name, str) or name not in variables:
            known = listing(variables)
            raise FormatError(f"{shortened(name)}, a parent of {child!r}, is none of the variables {known} with states")
    if len({child, *names}) <= len(names):
        raise FormatError(f"{child!r} and its parents name a variable twice: {listing([child, *names])}")
    if len(names) >= MAX_AXES:
        raise FormatError(f"{child!r} has {len(names)} parents; a table can have {MAX_AXES - 1}")
    return tuple(variables[name] for name in names)


def _table(entry: dict[str, Any], variables: Mapping[str, Variable]) -> Table:
    """Return the table of one variable, all variables being known."""
    child = variables[entry["name"]]
    parents = _parents(child.name, entry["parents"], variables)
    flat = _numbers(entry["table"], child, parents)
    try:
        rows = np.array(flat, dtype=np.float64).reshape(-1, child.cardinality)
    except OverflowError:
        raise FormatError(f"the table of {child.name!r} has a number that is too large") from None
    shape = [variable.cardinality for variable in (*parents, child)]
    return Table(parents, checked_rows(child, parents, rows, lambda row: None).reshape(shape), None)


def _numbers(nested: Any, child: Variable, parents: Sequence[Variable]) -> list[float]:
    """Return the numbers of nested lists, each as long as its variable has states; the child varies fastest."""
    level = [nested]
    for depth, variable in enumerate((*parents, child)):
        for place, items in enumerate(level):
            if not isinstance(items, list) or len(items) != variable.cardinality:
                where = row_name(child, parents[:depth], place)
                wanted = f"a list of {variable.cardinality}, one for each state of {variable.name!r}"
                found = f"a list of {len(items)}" if isinstance(items, list) else shortened(items)
                raise FormatError(f"{where} must be {wanted}, not {found}")
        level = list(chain.from_iterable(level))
    if not {int, float}.issuperset(map(type, level)):
        place = next(place for place, number in enumerate(level) if type(number) not in (int, float))
        where = row_name(child, parents, place // child.cardinality)
        raise FormatError(f"{where} has {shortened(level[place])} where a number is expected")
    return level

"""`Variable`: a name and its states, the one place where labels and codes meet.

A state is known to the user by its label and to an array by its code, the label's position in declared
order. Labels keep their type: ``1``, ``True`` and ``"1"`` are three different labels. Numbers that are equal are
one label, so the integer ``1``, ``numpy.int64(1)`` and ``1.0`` all name the state declared as ``1``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TypeAlias

import numpy as np

from pgm.errors import TableError, UnknownStateError, listing

__all__ = ["Variable", "is_missing"]

Label: TypeAlias = Hashable
"""What names a state: text, a number, a boolean, or any other hashable value."""


def is_missing(label: object) -> bool:
    """Return whether a value stands for "not observed" (None, NaN, pandas.NA, NaT) and so can never be a state.

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, True, False, False)
    """
    if label is None:
        return True
    if isinstance(label, str):
        return False
    if isinstance(label, (float, np.floating)):
        return math.isnan(label)
    if isinstance(label, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(label))
    return type(label).__name__ in {"NAType", "NaTType"}


def _key(label: Label) -> tuple[bool, Label]:
    """Return what tells labels apart: ``True == 1`` in Python, but they are different states."""
    return isinstance(label, (bool, np.bool_)), label


def _plain(label: Label) -> Label:
    """Return a NumPy scalar as the Python value it stands for, anything else unchanged.

    Dates stay what they are: as Python values, those in nanoseconds would be bare integers.
    """
    if isinstance(label, np.generic) and not isinstance(label, (np.datetime64, np.timedelta64)):
        return label.item()  # type: ignore[no-any-return]
    return label


class Variable:
    """A discrete variable: a name and its states in declared order.

    Parameters
    ----------
    name
        Non-empty text.
    states
        The labels, at least one, all different and none missing (None, NaN). Declared order is kept.

    Raises
    ------
    TableError
        For an empty name, no states, a repeated or a missing label.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> rain.cardinality, rain.code("yes"), rain.states[1]
    (2, 1, 'yes')
    >>> Variable("dose", [1, 2, 3]).code("1")
    Traceback (most recent call last):
    ...
    pgm.errors.UnknownStateError: 'dose' has no state '1'; its states are 1, 2, 3
    """

    __slots__ = ("_codes", "_hash", "name", "states")

    name: str
    states: tuple[Label, ...]
    _codes: dict[tuple[bool, Label], int]
    _hash: int

    def __init__(self, name: str, states: Iterable[Label]) -> None:
        if not isinstance(name, str) or not name:
            raise TableError(f"a variable's name must be non-empty text, not {name!r}")
        if isinstance(states, (set, frozenset)):
            raise TableError(f"the states of {name!r} must be in order; a set has none")
        if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
            raise TableError(f"the states of {name!r} must be a list of labels, not {states!r}")
        labels = tuple(_plain(label) for label in states)
        if not labels:
            raise TableError(f"{name!r} needs at least one state")
        codes: dict[tuple[bool, Label], int] = {}
        for code, label in enumerate(labels):
            if is_missing(label):
                raise TableError(f"{label!r} stands for a missing value and cannot be a state of {name!r}")
            try:
                earlier = codes.setdefault(_key(label), code)
            except TypeError:
                raise TableError(f"{label!r} cannot be a state of {name!r}: labels must be hashable") from None
            if earlier != code:
                raise TableError(f"{name!r} has the state {label!r} twice")
        set_once = object.__setattr__
        set_once(self, "name", str(name))
        set_once(self, "states", labels)
        set_once(self, "_codes", codes)
        set_once(self, "_hash", hash((name, labels)))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a Variable is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a Variable is immutable")

    @property
    def cardinality(self) -> int:
        """Number of states."""
        return len(self.states)

    def code(self, label: Label) -> int:
        """Return the position of ``label`` in declared order.

        Raises
        ------
        UnknownStateError
            If the variable has no such state; the message lists those it has.
        """
        try:
            return self._codes[isinstance(label, (bool, np.bool_)), label]
        except (KeyError, TypeError):
            allowed = listing(self.states)
            raise UnknownStateError(f"{self.name!r} has no state {_plain(label)!r}; its states are {allowed}") from None

    def __contains__(self, label: object) -> bool:
        try:
            return _key(label) in self._codes
        except TypeError:
            return False

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Variable):
            return NotImplemented
        return self.name == other.name and list(self._codes) == list(other._codes)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Variable], tuple[str, tuple[Label, ...]]]:
        return Variable, (self.name, self.states)

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: object) -> Variable:
        return self

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {list(self.states)!r})"

"""Ties: all the most probable joint states at once, and the first of them.

Going back through an elimination, each step decides the variables it removed, given its *separator*: what the steps
after it have decided already. Where two states are equally good, both are followed. So a step has, instead of one
joint state, a short list of them: for every state of the separator that is part of a best joint state, all its best
continuations. The lists form a tree, each agrees with the next at the separator between them, and nothing in them is a
dead end: every entry is part of a best joint state of all. On a tree this makes it possible to decide the variables in
any order without ever going back (Freuder 1982, "A sufficient condition for backtrack-free search"): take a state,
delete the entries that have another, and those of the neighbours that are left without a partner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray

if TYPE_CHECKING:
    from pgm.inference.traceback import Decision

__all__ = ["TIE", "TINY", "Ties", "TooManyTiesError", "equally_good", "first_of_best", "lowest_tied"]

TIE = 1e-11
"""Two probabilities are taken as equal if their ratio is this close to one: rounding makes no larger differences."""

LOG_ROUNDING = 2.0**-46
"""Where only logarithms can be told, they may differ by this much more, times themselves."""

TINY = 1e-250
"""Products below this are compared by their logarithms."""

MOST_NUMBERS = 1 << 22
"""The most numbers that the lists may hold."""

BLOCK_CELLS = 1 << 18
"""Products formed at once when a list is made."""

IntArray: TypeAlias = NDArray[np.intp]


class TooManyTiesError(ArithmeticError):
    """There are more ties than can be listed."""


class _List:
    """The best joint states of the undecided variables of one step."""

    __slots__ = ("columns", "neighbours", "rows")

    def __init__(self, columns: dict[int, IntArray], length: int) -> None:
        self.columns = columns
        self.rows: IntArray = np.arange(length)
        """The entries that have not been deleted."""
        self.neighbours: list[tuple[IntArray, _List, IntArray, int]] = []
        """The number of the separator's state by entry, here and in the neighbour, and how many states it has."""

    def project(self, variables: Sequence[int], shape: Sequence[int]) -> tuple[tuple[IntArray, ...], IntArray]:
        """Return the distinct joint states of some variables, and which of them each entry has."""
        columns = [self.columns[variable] for variable in variables]
        flat = np.ravel_multi_index(columns, shape) if len(columns) > 1 else columns[0]
        numbers = np.zeros(math.prod(shape), dtype=np.intp)
        numbers[flat[self.rows]] = 1
        distinct = numbers.nonzero()[0]
        numbers[distinct] = np.arange(len(distinct))
        return np.unravel_index(distinct, shape), numbers[flat]


class Ties:
    """The best joint states of the variables that are not the same in all of them.

    Parameters
    ----------
    cardinalities
        Number of states by variable.

    Attributes
    ----------
    open
        These variables.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.open: set[int] = set()
        self._cardinalities = cardinalities
        self._lists: dict[int, _List] = {}
        self._homes: dict[int, _List] = {}
        self._numbers = 0

    def add(self, number: int, decision: Decision, good: NDArray[np.bool_], codes: list[Any]) -> None:
        """Add a step whose separator is decided: which joint states of the variables it removed are good."""
        self._store(number, {}, decision.variables, good.nonzero(), codes)

    def extend(self, number: int, decision: Decision, nodes: Sequence[Any], logarithms: bool, codes: list[Any]) -> None:
        """Add a step whose separator is not decided.

        Parameters
        ----------
        number, decision
            The step.
        nodes, logarithms
            The table of every node, and whether they are logarithms.
        codes
            The states decided, by variable. Those that the step decides are added.

        Raises
        ------
        TooManyTiesError
            If the lists get too long.
        """
        upper, variables = self._lists[decision.above], decision.variables
        undecided = sorted(self.open & decision.separator)
        states, here = upper.project(undecided, [self._cardinalities[variable] for variable in undecided])
        many = len(states[0])
        for variable, mesh in zip(variables, decision.meshes, strict=True):
            codes[variable] = mesh
        block = max(1, BLOCK_CELLS // math.prod(mesh.size for mesh in decision.meshes))
        found = []
        for start in range(0, many, block):
            for variable, column in zip(undecided, states, strict=True):
                codes[variable] = column[start : start + block].reshape(-1, *[1] * len(variables))
            good = equally_good(decision.tables(nodes, codes), logarithms, len(variables))
            row, *places = good.nonzero()
            found.append((row + start, *places))
        row, *places = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        columns = {variable: column[row] for variable, column in zip(undecided, states, strict=True)}
        made = self._store(number, columns, variables, places, codes)
        upper.neighbours.append((here, made, row, many))
        made.neighbours.append((row, upper, here, many))

    def _store(
        self,
        number: int,
        columns: dict[int, IntArray],
        variables: Sequence[int],
        places: Sequence[IntArray],
        codes: list[Any],
    ) -> _List:
        made = _List(columns, len(places[0]))
        for variable, column in zip(variables, places, strict=True):
            if (column == column[0]).all():
                codes[variable] = int(column[0])
                continue
            columns[variable] = column
            self.open.add(variable)
            self._homes[variable] = made
        self._lists[number] = made
        self._numbers += len(places[0]) * (len(columns) + 2)
        if self._numbers > MOST_NUMBERS:
            raise TooManyTiesError
        return made

    def decide(self, variable: int, codes: list[Any]) -> None:
        """Decide an open variable, and what that leaves no choice, for the first state it can take."""
        home = self._homes[variable]
        column = home.columns[variable][home.rows]
        home.rows = home.rows[column == column.min()]
        self._spread(home, codes)

    def _spread(self, changed: _List, codes: list[Any]) -> None:
        """Delete the entries that are left without a partner, from the neighbours of a list outwards."""
        stack: list[tuple[_List, _List | None]] = [(changed, None)]
        while stack:
            here, origin = stack.pop()
            for variable in self.open.intersection(here.columns):
                column = here.columns[variable][here.rows]
                if (column == column[0]).all():
                    codes[variable] = int(column[0])
                    self.open.remove(variable)
            for numbers, other, their_numbers, many in here.neighbours:
                if other is origin:
                    continue
                possible = np.zeros(many, dtype=bool)
                possible[numbers[here.rows]] = True
                keep = possible[their_numbers[other.rows]]
                if not keep.all():
                    other.rows = other.rows[keep]
                    stack.append((other, here))


def equally_good(
    tables: Sequence[FloatArray], logarithms: bool, number: int, tolerance: float = TIE
) -> NDArray[np.bool_]:
    """Return where a product of tables is as large as anywhere along its last axes.

    Parameters
    ----------
    tables
        They must broadcast.
    logarithms
        Whether they hold logarithms.
    number
        How many axes are the last ones.
    tolerance
        Relative difference that does not matter.

    Examples
    --------
    >>> equally_good([np.array([0.2, 0.4, 0.4])], False, 1).tolist()
    [False, True, True]
    """
    product = tables[0]
    for table in tables[1:]:
        product = product + table if logarithms else product * table
    best = product.max(axis=tuple(range(-number, 0)), keepdims=True)
    if not logarithms and best.min() < TINY:
        with np.errstate(divide="ignore"):
            return equally_good([np.log(table) for table in tables], True, number, tolerance)
    return np.asarray(product >= lowest_tied(best, logarithms, tolerance))


def lowest_tied(best: Any, logarithms: bool, tolerance: float = TIE) -> Any:
    """Return the smallest product, or its logarithm, that counts as equal to the best.

    >>> lowest_tied(0.5, False) < 0.5, lowest_tied(0.5, False, tolerance=0.0)
    (True, 0.5)
    """
    if not logarithms:
        return best * (1 - tolerance)
    return best - (tolerance + LOG_ROUNDING * abs(best) if tolerance else 0.0)


def first_of_best(rows: FloatArray) -> IntArray:
    """Return for every row the place of its largest number; of equally good ones the first.

    >>> first_of_best(np.array([[0.2, 0.4, 0.4], [0.1, 0.9, 0.0]])).tolist()
    [1, 1]
    """
    return np.asarray((rows >= lowest_tied(rows.max(axis=1, keepdims=True), False)).argmax(axis=1))

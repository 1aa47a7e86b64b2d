"""The counts of a data set: checked and refused here, counted by `pgm.data.counts` and `pgm.data.subsets`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.data import checks
from pgm.data.columns import CodeArray
from pgm.data.counts import CountTable, Family, FamilyCounter, OccupiedCells
from pgm.errors import DataError, TooLargeError, listing
from pgm.factors.factor import Names, as_names
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Variable

__all__ = ["Counting"]

_COPIES_OF_PAIRS = 4
"""Arrays of the size of the tables of all pairs that exist at once while they are counted and completed."""


class Counting:
    """What a `Dataset` answers to whoever learns from it; see `pgm.data.source.CountSource`."""

    __slots__ = ()

    variables: tuple[Variable, ...]
    n_rows: int
    weights: NDArray[np.float64] | None
    level_offsets: tuple[int, ...]
    _codes: tuple[CodeArray, ...]
    _numbers: dict[str, NDArray[np.float64]]
    _index: dict[str, int]
    _counter: FamilyCounter | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the discrete columns."""
        raise NotImplementedError

    def require_complete(self, names: Names | None = None) -> None:
        """Raise if cells are missing."""
        raise NotImplementedError

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return the contingency table N(parents, child) of each family.

        Parameters
        ----------
        families
            Pairs (child, parents) of names.

        Returns
        -------
        list of ndarray
            Shape ``(*parent cardinalities, child cardinality)``; int64, or float64 for fractional weights.

        Raises
        ------
        MissingDataError
            If a variable of a family has missing cells.
        TooLargeError
            If a table, or all of them together, would exceed the memory budget, before anything is counted.

        Notes
        -----
        O(rows * variables) once to collapse equal rows, then O(distinct rows * family size + cells) for each family.

        Examples
        --------
        >>> from pgm.data import Dataset
        >>> Dataset({"x": [0, 0, 1], "y": ["a", "b", "b"]}).count([("y", ["x"]), ("x", [])])
        [array([[1, 1],
               [0, 1]]), array([2, 1])]
        """
        scopes = [self._scope(child, parents) for child, parents in checks.checked_families(families)]
        names = self.names
        self.require_complete(dict.fromkeys(names[position] for scope in scopes for position in scope))
        tables = [[self.variables[position] for position in scope] for scope in scopes]
        cells = sum(checks.family_cells(family, self.n_rows) for family in tables)
        check_size([cells], f"{checks.counted(len(scopes), 'table')} of counts together")
        return [self._counts().count(scope) for scope in scopes]

    def count_occupied(self, names: Names) -> OccupiedCells:
        """Return the joint table of some columns without its empty cells: the distinct rows and their weights.

        The table may be larger than any memory, for no more than one cell a row is ever looked at.

        Raises
        ------
        MissingDataError
            If cells of these columns are missing.
        DataError
            If there are no names.

        Notes
        -----
        O(distinct rows * log(distinct rows)).

        Examples
        --------
        >>> from pgm.data import Dataset
        >>> data = Dataset({"x": [0, 0, 1, 1], "y": ["a", "b", "b", "b"]})
        >>> data.count_occupied(["x", "y"])
        OccupiedCells(states=array([[0, 0],
               [0, 1],
               [1, 1]], dtype=uint8), counts=array([1, 1, 2]))
        """
        checks.check_discrete(as_names(names), self._numbers)
        chosen = checks.chosen_columns(names, self._index)
        if not chosen:
            raise DataError("the joint table of no columns has no cells to list")
        self.require_complete(chosen)
        return self._counts().occupied([self._index[name] for name in chosen])

    def count_extensions(self, child: str, parents: Names = ()) -> CountTable:
        """Return N(parents, child, v) for every variable v of the data, counted in one pass.

        Returns
        -------
        ndarray
            Read-only, shape ``(*parent cardinalities, child cardinality, levels)``, where levels are the states of all
            variables side by side in column order. Variable v has the levels from ``level_offsets[v]`` to
            ``level_offsets[v + 1]``; the levels of a variable of the family itself are 0 off its own state.

        Raises
        ------
        MissingDataError
            If any cell of the data is missing.
        TooLargeError
            If the table would exceed the memory budget.

        Examples
        --------
        >>> from pgm.data import Dataset
        >>> data = Dataset({"x": [0, 0, 1], "y": ["a", "b", "b"]})
        >>> data.count_extensions("x"), data.level_offsets
        (array([[2, 0, 1, 1],
               [0, 1, 0, 1]]), (0, 2, 4))
        """
        checks.check_discrete(self._numbers, self._numbers)
        scope = self._scope(child, parents)
        self.require_complete()
        family = [self.variables[position] for position in scope]
        checks.family_cells(family, self.n_rows, extended_by=self.variables)
        return self._counts().extend(scope)

    def count_pairs(self, scope: Names = (), first: int = 0) -> NDArray[np.floating[Any]]:
        """Return N(scope, u, v) for all pairs of variables u, v from column ``first`` on.

        Returns
        -------
        ndarray
            Floats of shape ``(joint states of scope, levels, levels)``, the last name of ``scope`` running fastest, and
            levels as in `count_extensions` without those of the columns before ``first``.

        Raises
        ------
        MissingDataError
            If any cell of the data is missing.
        TooLargeError
            If the table would exceed the memory budget.

        Notes
        -----
        Matrix products of O(rows * levels**2) multiplications; see `pgm.data.subsets`.

        Examples
        --------
        >>> from pgm.data import Dataset
        >>> Dataset({"x": [0, 0, 1], "y": ["a", "b", "b"]}).count_pairs(["x"], first=1)
        array([[[1., 0.],
                [0., 1.]],
        <BLANKLINE>
               [[0., 0.],
                [0., 1.]]], dtype=float32)
        """
        checks.check_discrete(self._numbers, self._numbers)
        names = as_names(scope)
        checks.check_known(names, self._index)
        self.require_complete()
        positions = [self._index[name] for name in names]
        levels = self.level_offsets[-1] - self.level_offsets[first]
        states = [self.variables[position].cardinality for position in positions]
        what = f"the tables of {listing(names)} with all pairs of variables" if names else "the tables of all pairs"
        try:
            check_size([*states, levels, levels], what, MEMORY_BUDGET // _COPIES_OF_PAIRS)
        except TooLargeError as error:
            raise TooLargeError(f"{error}{checks.identifiers_among(self.variables, self.n_rows)}") from None
        return self._counts().pairs().extend_by_pairs(positions, first)

    def _counts(self) -> FamilyCounter:
        """Return the counter of this data set, made when first needed."""
        counter = self._counter
        if counter is None:
            cardinalities = [variable.cardinality for variable in self.variables]
            counter = FamilyCounter(self._codes, cardinalities, self.weights)
            super().__setattr__("_counter", counter)
        return counter

    def _scope(self, child: str, parents: Names) -> list[int]:
        """Return a family as column numbers, the child last."""
        if self._numbers:
            checks.check_discrete((*as_names(parents), child), self._numbers)
        return [self._index[name] for name in checks.family_names(child, parents, self._index)]

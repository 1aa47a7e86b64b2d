"""`FamilyScores`: the scores of the families of one data set, each computed once, many at a time.

Every search works on these: a score of a graph is a sum over families, so a search is a walk over families. What a
family scores is a function of its counts; here the counts are asked for, checked to fit into memory, scored and
remembered. Variables are numbers here, in column order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource
from pgm.data.checks import family_cells
from pgm.factors.size import MEMORY_BUDGET
from pgm.learning.scores.available_cases import AvailableCases
from pgm.learning.scores.scoring import SCORING_COPIES, AnyScore, bound_score, family_values, prior_of, scored_source

__all__ = ["FamilyScores"]

_BLOCK = 1 << 20
"""Cells that are scored at a time."""


class FamilyScores:
    """Local scores of families of one data set.

    Parameters
    ----------
    source
        Where counts come from.
    score
        A name, or a score object.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> scores = FamilyScores(Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}), "aic")
    >>> scores.family(1, [0]).__round__(4)
    -3.3863
    """

    def __init__(self, source: CountSource, score: AnyScore) -> None:
        self.n_scores = 0
        """Number of local scores computed so far."""
        self.source = source = scored_source(score, source)
        self.measure = bound_score(score, source)
        self.variables = source.variables
        self.names = tuple(variable.name for variable in source.variables)
        cardinalities = np.array([variable.cardinality for variable in source.variables])
        offsets = np.cumsum(cardinalities) - cardinalities
        self._same: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        for cardinality in np.unique(cardinalities):
            members = np.flatnonzero(cardinalities == cardinality)
            self._same.append((members, offsets[members][:, None] + np.arange(cardinality)))
        self._families: dict[tuple[int, tuple[int, ...]], float] = {}
        self._neighbours: dict[tuple[int, tuple[int, ...], bool], tuple[float, NDArray[np.float64]]] = {}

    def family(self, child: int, parents: Sequence[int]) -> float:
        """Return the local score of one family; the order of the parents does not matter."""
        (found,) = self.families([(child, parents)])
        return float(found)

    def families(self, families: Sequence[tuple[int, Sequence[int]]]) -> NDArray[np.float64]:
        """Return the local scores of families (child, parents), shape (families,).

        Raises
        ------
        TooLargeError
            If the table of a family and the work on it would exceed the memory budget; names the child.
        """
        keys = [(child, tuple(sorted(parents))) for child, parents in families]
        for key in dict.fromkeys(keys):
            if key not in self._families:
                self._families[key] = self._score(*key)
        return np.array([self._families[key] for key in keys])

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        family = [self.variables[position] for position in (*parents, child)]
        family_cells(family, self.source.n_rows, budget=MEMORY_BUDGET // SCORING_COPIES)
        (table,) = self.source.count([(self.names[child], [self.names[parent] for parent in parents])])
        self.n_scores += 1
        value = family_values(self.measure, table.reshape(-1, table.shape[-1]))
        return float(value) + self.log_prior(len(parents))

    def log_prior(self, n_parents: int) -> float:
        """Return what is added to the local score of each family of so many parents, apart from its counts."""
        return prior_of(self.measure, n_parents, len(self.names))

    def neighbours(self, child: int, parents: tuple[int, ...], grow: bool) -> tuple[float, NDArray[np.float64]]:
        """Return the local score of a family, and the gain of adding or deleting each variable as a parent.

        Without ``grow`` only the deletions are computed, and additions gain nothing.
        """
        key = child, parents, grow
        if key not in self._neighbours:
            compute = self._compute_each if isinstance(self.source, AvailableCases) else self._compute
            self._neighbours[key] = compute(child, parents, grow)
        return self._neighbours[key]

    def _compute(self, child: int, parents: tuple[int, ...], grow: bool) -> tuple[float, NDArray[np.float64]]:
        name, above = self.names[child], [self.names[parent] for parent in parents]
        scores = np.empty(len(self.names))
        family = [self.variables[position] for position in (*parents, child)]
        if grow:
            family_cells(family, self.source.n_rows, extended_by=self.variables, copies=SCORING_COPIES)
            extended = self.source.count_extensions(name, above)
            first = self._same[0][1][0]  # the levels of any one variable add up to the family itself
            table = extended[..., first].sum(axis=-1)
            self._score_additions(extended.reshape(-1, *extended.shape[-2:]), scores)
        else:
            family_cells(family, self.source.n_rows, budget=MEMORY_BUDGET // SCORING_COPIES)
            (table,) = self.source.count([(name, above)])
        states = table.shape[-1]
        current = float(family_values(self.measure, table.reshape(-1, states))) + self.log_prior(len(parents))
        if not grow:
            scores[:] = current
        elif len(parents) + 1 < len(self.names):  # else there is nothing to add
            scores += self.log_prior(len(parents) + 1)
        for axis, parent in enumerate(parents):
            smaller = table.sum(axis=axis).reshape(-1, states)
            scores[parent] = family_values(self.measure, smaller) + self.log_prior(len(parents) - 1)
        scores[child] = current
        self.n_scores += len(self.names) if grow else len(parents) + 1
        return current, scores - current

    def _compute_each(self, child: int, parents: tuple[int, ...], grow: bool) -> tuple[float, NDArray[np.float64]]:
        """Do the same for data with missing cells: a table is no sum of a larger one, since more rows are complete."""
        current = self.family(child, parents)
        scores = np.full(len(self.names), current)
        if grow and len(parents) + 1 < len(self.names):
            above = [self.names[parent] for parent in parents]
            family = [self.variables[position] for position in (*parents, child)]
            family_cells(family, self.source.n_rows, extended_by=self.variables, copies=SCORING_COPIES)
            extended = self.source.count_extensions(self.names[child], above)
            self._score_additions(extended.reshape(-1, *extended.shape[-2:]), scores)
            scores += self.log_prior(len(parents) + 1)
            self.n_scores += len(self.names) - len(parents) - 1
        for parent in parents:
            scores[parent] = self.family(child, [other for other in parents if other != parent])
        scores[child] = current
        return current, scores - current

    def _score_additions(self, extended: NDArray[np.float64] | NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Score the family with each variable added, many variables of equal cardinality at once.

        ``extended`` has shape (parent configurations, child states, levels). How many are many is limited, since a
        score works on several copies of what it is given.
        """
        states = extended.shape[1]
        for members, levels in self._same:
            step = max(1, _BLOCK // (extended[..., 0].size * levels.shape[1]))
            for first in range(0, len(members), step):
                some = slice(first, first + step)
                tables = extended[:, :, levels[some]].transpose(2, 0, 3, 1)  # variable, configuration, its state, child
                scores[members[some]] = family_values(self.measure, tables.reshape(len(tables), -1, states))

"""Available cases: scoring families of incomplete data, each on the rows in which it is complete.

A family is scored from the rows in which the child and all its parents are known. Different families then have
different numbers of rows, and a sum of log-likelihoods would favour those with few. Balov's remedy is to compare
*averages*: with n rows in which the family is complete, of N in all,

    local = N/n LL - penalty(N),

where LL is the maximised log-likelihood of the n rows and the penalty that of an information criterion for all N. Where
no cell is missing this is the criterion itself.

What it assumes: that cells are missing completely at random, whatever the values; and that enough rows are complete for
every family that is looked at, since a handful of rows fits any child. It is not score-equivalent. Bodewes and Scutari
show that it finds the true graph from ever more rows if the penalty of a parameter grows faster than the square root
of N; those of AIC and BIC do not, so with many holes they leave edges too many. A criterion with another penalty is a
class derived from `PenalizedLikelihood`.

References
----------
Balov (2013), *Electronic Journal of Statistics* 7, 1047-1077. Bodewes and Scutari (2021), *International Journal of
Approximate Reasoning* 138, 145-160.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, CountTable, Dataset
from pgm.data.counts import Family, OccupiedCells
from pgm.errors import DataError, TableError, UnknownNameError, listing
from pgm.factors.variable import Variable
from pgm.learning.scores.decomposable import check_number
from pgm.learning.scores.information import AIC, BIC, EBIC, LogLikelihood, PenalizedLikelihood

__all__ = ["AvailableCases", "NodeAverage"]

_CRITERIA: dict[str, PenalizedLikelihood] = {
    "aic": AIC(),
    "bic": BIC(),
    "ebic": EBIC(),
    "loglik": LogLikelihood(),
    "log_likelihood": LogLikelihood(),
}


@dataclass(frozen=True)
class NodeAverage:
    """The node-average log-likelihood less a penalty, for data with missing cells.

    Given to a search or to `score`, it makes them count each family on the rows in which it is complete; every other
    score refuses incomplete data.

    Parameters
    ----------
    criterion
        ``"bic"``, ``"aic"``, ``"ebic"``, ``"loglik"`` or such an object, whose penalty is used, and whose structure
        prior if it has one.
    total_weight
        Number of rows N, or their total weight; None until the score is bound to data, which searches do.

    Raises
    ------
    UnknownNameError
        If there is no such criterion.
    TableError
        If ``total_weight`` is no finite number from 0.

    Notes
    -----
    A family without a single complete row scores like a uniform distribution of the child, the lowest average there is,
    so that it is never preferred to one with fewer parents.

    References
    ----------
    Balov (2013), *Electronic Journal of Statistics* 7, 1047-1077. Bodewes and Scutari (2021), *International Journal of
    Approximate Reasoning* 138, 145-160.

    Examples
    --------
    >>> from pgm.graph.dag import DAG
    >>> from pgm.learning.scores.scoring import score
    >>> data = {"a": [0, 0, 1, None, 1, None], "b": [0, 0, 1, 1, None, 1]}
    >>> round(score(DAG([("a", "b")]), data, NodeAverage("loglik")), 4)  # a: 4 rows of 6, a and b: 3 rows
    -4.1589
    """

    criterion: str | PenalizedLikelihood = "bic"
    total_weight: float | None = None
    is_score_equivalent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        found = _CRITERIA.get(self.criterion.lower()) if isinstance(self.criterion, str) else self.criterion
        if not isinstance(found, PenalizedLikelihood):
            known = f"{listing(_CRITERIA)} and such objects"
            raise UnknownNameError(f"no criterion {self.criterion!r} for the node average; there are {known}")
        if self.total_weight is not None:
            check_number("total_weight", self.total_weight, zero=True)
        super().__setattr__("criterion", found)

    @property
    def name(self) -> str:
        """What the score is called in results."""
        return f"node-average {self._criterion.name}"

    @property
    def _criterion(self) -> PenalizedLikelihood:
        assert isinstance(self.criterion, PenalizedLikelihood)
        return self.criterion

    def bind(self, n_variables: int, total_weight: float) -> NodeAverage:
        """Return the score for data with so many rows."""
        return replace(self, total_weight=total_weight)

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return what the criterion adds to the local score of a family apart from its counts."""
        return self._criterion.log_prior(n_parents, n_variables)

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return N times the average log-likelihood, less the penalty."""
        if self.total_weight is None:
            raise TableError("the node average needs the number of rows: total_weight=, or bind() to data")
        q, r = counts.shape[-2:]
        known = counts.sum(axis=(-2, -1))
        likelihood = LogLikelihood().local(counts)
        average = np.where(known > 0, likelihood / np.where(known > 0, known, 1), -math.log(r))
        constant = self._criterion.constant
        values: NDArray[np.float64] = self.total_weight * average
        values += constant(q * r, self.total_weight) - constant(q, self.total_weight)
        return values


class AvailableCases:
    """A source of counts whose tables hold the rows in which the variables of that table are known.

    A hole is counted as one more state, and cut off the finished table; so all tables are as exact and as fast as those
    of complete data.

    Parameters
    ----------
    data
        The data set, with or without missing cells.

    Raises
    ------
    DataError
        For a source of counts that is no `Dataset`: it cannot say where cells are missing.

    Examples
    --------
    >>> cases = AvailableCases(Dataset({"a": [0, 1, None, 1], "b": [0, None, 0, 1]}))
    >>> cases.count([("a", []), ("b", ["a"])])
    [array([1, 2]), array([[1, 0],
           [0, 1]])]
    """

    def __init__(self, data: CountSource) -> None:
        if not isinstance(data, Dataset):
            raise DataError(f"available cases need a Dataset, not {type(data).__name__}")
        self._data = data
        self.variables = data.variables
        self.n_rows = data.n_rows
        self.total_weight = data.total_weight
        names = [variable.name for variable in data.variables]
        holes = [int(data.missing(name) is not None) for name in names]
        marked = [
            Variable(name, range(variable.cardinality + hole))
            for name, variable, hole in zip(names, data.variables, holes, strict=True)
        ]
        self._marked = Dataset.from_codes(marked, [data.codes(name) for name in names], data.weights)
        self._cardinalities = {variable.name: variable.cardinality for variable in data.variables}
        known = [np.arange(variable.cardinality) for variable in data.variables]
        offsets = self._marked.level_offsets
        self._known = np.concatenate([states + offset for states, offset in zip(known, offsets, strict=False)])

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return N(parents, child) of each family over the rows in which all of it is known."""
        pairs = list(families)
        tables = self._marked.count(pairs)
        return [table[self._inside(*family)] for table, family in zip(tables, pairs, strict=True)]

    def count_occupied(self, names: Sequence[str]) -> OccupiedCells:
        """Return the joint table of some variables without empty cells, over the rows in which all are known."""
        states, counts = self._marked.count_occupied(names)
        known = np.all(states < [self._cardinalities[name] for name in names], axis=1)
        return OccupiedCells(states[known], counts[known])

    def count_extensions(self, child: str, parents: Sequence[str] = ()) -> CountTable:
        """Return N(parents, child, v) for every variable v, each over the rows in which all these are known."""
        table = self._marked.count_extensions(child, parents)
        return table[self._inside(child, parents)][..., self._known]

    def count_pairs(self, scope: Sequence[str] = (), first: int = 0) -> NDArray[np.floating[Any]]:
        """Return N(scope, u, v) for all pairs from column ``first`` on, each over the rows in which all are known."""
        table = self._marked.count_pairs(scope, first)
        offset = self._marked.level_offsets[first]
        known = self._known[self._known >= offset] - offset
        levels = table.shape[-1]
        table = table.reshape(*(self._marked.variable(name).cardinality for name in scope), levels, levels)
        inside = tuple(slice(self._cardinalities[name]) for name in scope)
        return table[inside][..., known[:, None], known].reshape(-1, len(known), len(known))

    def chunks(self, size: int) -> Iterator[Self]:
        """Iterate over consecutive rows, at most ``size`` of them at a time."""
        for part in self._data.chunks(size):
            yield type(self)(part)

    def _inside(self, child: str, parents: Sequence[str]) -> tuple[slice, ...]:
        """Return what cuts the holes off the table of a family."""
        return tuple(slice(self._cardinalities[name]) for name in (*parents, child))

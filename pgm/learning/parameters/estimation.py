"""Estimation: from the counts of a family to its table, with or without a Dirichlet prior.

Every row of a table is a distribution of the child, and rows are estimated one by one. With counts n(s) and Dirichlet
counts a(s), of sums N and A, over the r states of the child,

    mean    P(s) = (n(s) + a(s)) / (N + A)
    mode    P(s) = (n(s) + a(s) - 1) / (N + A - r)

The mean of the posterior is the default, since it is also the probability that the next row shows s; with a = 0 it is
the maximum-likelihood estimate, and so is the mode with a = 1, the uniform prior. A mode with less than 1 in some cell
lies on the boundary, where the density is infinite, and is refused.

Counts may be fractional: weights of rows, or the expected counts of EM, whose M step is `TableEstimator`. What it
then maximises, besides the expected log-likelihood, is `TableEstimator.log_prior`.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, sections 17.2 to 17.4 and 19.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TableError, UnknownNameError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.variable import Variable

__all__ = [
    "EstimatedTable",
    "EstimatedTables",
    "PointEstimate",
    "Pseudocounts",
    "TableEstimator",
    "check_estimate",
    "estimate_table",
    "estimate_tables",
    "is_small",
    "log_prior",
]

PointEstimate: TypeAlias = Literal["mean", "mode"]
"""Which point of the posterior."""

Pseudocounts: TypeAlias = float | FloatArray
"""Dirichlet counts of a family: one number for all cells, or an array of the shape of the table."""


_SMALL = 1 << 14
"""Tables of at most so many cells are estimated together."""

_BLOCK = 1 << 18
"""About so many cells at a time, so that nobody who keeps one table keeps much more."""


class EstimatedTable(NamedTuple):
    """The table of one family."""

    values: FloatArray
    """P(child | parents), shape ``(*parent cardinalities, child cardinality)``; the caller's own array."""
    n_unseen: int
    """Rows that neither the counts nor the prior say anything about: they are uniform."""


class EstimatedTables(NamedTuple):
    """The tables of several families."""

    values: list[FloatArray]
    """As that of `EstimatedTable`, for each family; small ones may be views of one array."""
    n_unseen: list[int]
    """As that of `EstimatedTable`, for each family."""


def check_estimate(estimate: object) -> None:
    """Raise unless it is the name of a point of the posterior.

    Raises
    ------
    UnknownNameError
        Lists the names.

    Examples
    --------
    >>> check_estimate("median")
    Traceback (most recent call last):
    ...
    pgm.errors.UnknownNameError: no estimate 'median'; there are 'mean', 'mode'
    """
    if not isinstance(estimate, str) or estimate not in get_args(PointEstimate):
        raise UnknownNameError(f"no estimate {estimate!r}; there are {listing(get_args(PointEstimate))}")


def estimate_table(
    family: Sequence[Variable],
    counts: NDArray[Any],
    pseudocounts: Pseudocounts = 0.0,
    estimate: PointEstimate = "mean",
) -> EstimatedTable:
    """Return the table of a family from its counts.

    Parameters
    ----------
    family
        The parents, then the child; for messages.
    counts
        N(parents, child), whole or fractional. They are left alone.
    pseudocounts
        Dirichlet counts.
    estimate
        The mean or the mode of the posterior.

    Raises
    ------
    TableError
        If a mode is asked for where a cell has counts and Dirichlet counts of less than 1; names the configuration.

    Notes
    -----
    O(cells), with one array of the size of the table besides the result's.

    Examples
    --------
    >>> dose, cured = Variable("dose", ["low", "high"]), Variable("cured", ["no", "yes"])
    >>> estimate_table([dose, cured], np.array([[3, 1], [0, 0]]), 1.0)
    EstimatedTable(values=array([[0.66666667, 0.33333333],
           [0.5       , 0.5       ]]), n_unseen=0)
    >>> estimate_table([dose, cured], np.array([[3, 1], [0, 0]]), 1.0, "mode")
    EstimatedTable(values=array([[0.75, 0.25],
           [0.5 , 0.5 ]]), n_unseen=1)
    """
    values = np.array(counts, np.float64)
    del counts  # there need not be room for both
    values += pseudocounts if estimate == "mean" else np.subtract(pseudocounts, 1.0)
    if estimate == "mode" and values.min(initial=0.0) < 0:
        raise TableError(_no_mode(family, values))
    totals = values.sum(axis=-1, keepdims=True)
    unseen = totals == 0
    n_unseen = int(np.count_nonzero(unseen))
    if n_unseen:
        np.copyto(values, 1.0 / values.shape[-1], where=unseen)
        totals[unseen] = 1.0
    values /= totals
    return EstimatedTable(values, n_unseen)


def is_small(counts: NDArray[Any]) -> bool:
    """Return whether a table is small enough for the work on it to matter more than its cells."""
    return counts.size <= _SMALL


def estimate_tables(
    families: Sequence[Sequence[Variable]],
    counts: Sequence[NDArray[Any]],
    pseudocounts: Sequence[Pseudocounts],
    estimate: PointEstimate = "mean",
) -> EstimatedTables:
    """Return the tables of families from their counts, small ones side by side in one array.

    Parameters
    ----------
    families, counts, pseudocounts
        As in `estimate_table`, for each family.
    estimate
        The mean or the mode of the posterior.

    Raises
    ------
    TableError
        As `estimate_table`.

    Notes
    -----
    O(cells), and about two microseconds for each table.

    Examples
    --------
    >>> x, y = Variable("x", ["no", "yes"]), Variable("y", [1, 2, 3])
    >>> estimate_tables([[x], [y]], [np.array([3, 1]), np.array([1, 1, 2])], [0.0, 1.0]).values
    [array([0.75, 0.25]), array([0.28571429, 0.28571429, 0.42857143])]
    """
    found = EstimatedTables([], [])
    start = cells = 0
    for place, table in enumerate(counts):
        cells += table.size
        if is_small(table) and cells < _BLOCK:
            continue
        end = place + is_small(table)
        _add_block(found, families[start:end], counts[start:end], pseudocounts[start:end], estimate)
        if end == place:
            values, n_unseen = estimate_table(families[place], table, pseudocounts[place], estimate)
            found.values.append(values)
            found.n_unseen.append(n_unseen)
        start, cells = place + 1, 0
    _add_block(found, families[start:], counts[start:], pseudocounts[start:], estimate)
    return found


def _add_block(
    found: EstimatedTables,
    families: Sequence[Sequence[Variable]],
    counts: Sequence[NDArray[Any]],
    pseudocounts: Sequence[Pseudocounts],
    estimate: PointEstimate,
) -> None:
    """Add the tables of some families, all rows of all tables normalised at once."""
    if not families:
        return
    shapes = [table.shape for table in counts]
    sizes = np.array([table.size for table in counts])
    ends = np.cumsum(sizes)
    values = np.concatenate([table.ravel() for table in counts], dtype=np.float64)
    values += _side_by_side(pseudocounts, sizes, 0.0 if estimate == "mean" else 1.0)
    if estimate == "mode" and values.min() < 0:
        place = int(np.searchsorted(ends, np.argmax(values < 0), side="right"))
        table = values[ends[place] - sizes[place] : ends[place]].reshape(shapes[place])
        raise TableError(_no_mode(families[place], table))
    states = np.array([shape[-1] for shape in shapes])
    n_rows = sizes // states
    lengths = np.repeat(states, n_rows)
    totals = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    unseen = totals == 0
    if unseen.any():
        np.copyto(values, np.repeat(1.0 / lengths, lengths), where=np.repeat(unseen, lengths))
        totals[unseen] = 1.0
    values /= np.repeat(totals, lengths)
    found.n_unseen.extend(np.add.reduceat(unseen, np.cumsum(n_rows) - n_rows, dtype=np.intp).tolist())
    places = zip((ends - sizes).tolist(), ends.tolist(), shapes, strict=True)
    found.values.extend([values[start:end].reshape(shape) for start, end, shape in places])


def _side_by_side(pseudocounts: Sequence[Pseudocounts], sizes: NDArray[np.intp], less: float) -> FloatArray | float:
    """Return Dirichlet counts for all cells of tables side by side, less a number; or one that is that of all."""
    numbers = [float(given) for given in pseudocounts if isinstance(given, (int, float))]
    if len(numbers) < len(sizes):
        tables = [np.broadcast_to(np.ravel(given), size) for given, size in zip(pseudocounts, sizes, strict=True)]
        return np.concatenate(tables) - less
    if len(set(numbers)) == 1:
        return numbers[0] - less
    return np.repeat(np.array(numbers) - less, sizes)


def _no_mode(family: Sequence[Variable], values: FloatArray) -> str:
    position = np.unravel_index(int(values.argmin()), values.shape)
    *above, state = [
        f"{variable.name}={variable.states[code]!r}" for variable, code in zip(family, position, strict=True)
    ]
    where = f"P({state} | {', '.join(above)})" if above else f"P({state})"
    return (
        f"the posterior has no mode at {where}: counts and Dirichlet counts together are {values[position] + 1:g}, and "
        f"a mode needs 1 in every cell; use estimate='mean', or pseudocounts from 1"
    )


def log_prior(values: FloatArray, pseudocounts: Pseudocounts, estimate: PointEstimate = "mean") -> float:
    """Return the log density of a table under the prior whose posterior mode the estimate is, up to a constant.

    That is the sum over cells of (a - 1) ln P for the mode. The mean with Dirichlet counts a is the mode with a + 1, so
    it belongs to the sum of a ln P. Left out is what does not depend on the table, so that it is 0 without a prior.

    Parameters
    ----------
    values
        The table.
    pseudocounts
        Dirichlet counts.
    estimate
        Which estimate is made of them.

    Returns
    -------
    float
        Minus infinity if a cell is 0 that the prior expects.

    Examples
    --------
    >>> round(log_prior(np.array([0.5, 0.5]), 2.0), 4), log_prior(np.array([1.0, 0.0]), 1.0, "mode")
    (-2.7726, 0.0)
    """
    exponents = np.asarray(pseudocounts if estimate == "mean" else np.subtract(pseudocounts, 1.0))
    if not exponents.any():
        return 0.0
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    expected = np.broadcast_to(exponents != 0, logs.shape)  # 0 ln 0 = 0
    return float(np.multiply(exponents, logs, out=np.zeros_like(logs), where=expected).sum())


@dataclass(frozen=True, eq=False)
class TableEstimator:
    """Estimates all tables of a network from the counts of its families: the M step of EM.

    Parameters
    ----------
    families
        For each table the parents, then the child.
    pseudocounts
        Dirichlet counts of each table, as `DirichletPrior.pseudocounts` returns them.
    estimate
        The mean or the mode of the posterior.

    Examples
    --------
    >>> x = Variable("x", ["no", "yes"])
    >>> estimator = TableEstimator([[x]], [1.0])
    >>> estimator.tables([np.array([2.5, 0.5])])
    [array([0.7, 0.3])]
    >>> round(estimator.log_prior([np.array([0.7, 0.3])]), 4)
    -1.5606
    """

    families: Sequence[Sequence[Variable]]
    pseudocounts: Sequence[Pseudocounts]
    estimate: PointEstimate = "mean"

    def __post_init__(self) -> None:
        check_estimate(self.estimate)

    def tables(self, counts: Sequence[NDArray[Any]]) -> list[FloatArray]:
        """Return the table of each family from its counts.

        Raises
        ------
        TableError
            If a posterior has no mode; see `estimate_table`.
        """
        return estimate_tables(self.families, counts, self.pseudocounts, self.estimate).values

    def cpts(self, counts: Sequence[NDArray[Any]]) -> list[CPT]:
        """Return `tables` as CPTs."""
        tables = self.tables(counts)
        return [CPT(child, table, above) for (*above, child), table in zip(self.families, tables, strict=True)]

    def log_prior(self, tables: Sequence[FloatArray]) -> float:
        """Return the log density of the tables under the prior, up to a constant; see `log_prior`.

        EM with these estimates never lets the log-likelihood plus this fall.
        """
        return sum(
            (log_prior(table, prior, self.estimate) for table, prior in zip(tables, self.pseudocounts, strict=True)),
            start=0.0,
        )

"""Gaussian leaves from data: means and variances by parent configuration, and how well they fit.

For the rows that show configuration j of the parents, with weights w,

    mean(j) = sum w x / sum w,    variance(j) = sum w (x - mean(j))^2 / sum w,

which is the maximum of the likelihood. Where a configuration has one row, or equal numbers, the variance would be zero
and the density infinite: no variance is taken to be less than ``min_variance``. A configuration without rows gets the
mean and the variance of all rows, which is a convention and not an estimate.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 17.2.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, Dataset
from pgm.data.frames import read_columns
from pgm.data.statistics import MissingRows, SufficientStatistics
from pgm.errors import DataError, GraphError, MissingDataError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning.parameters.moments import Moments, check_range
from pgm.network import BayesianNetwork

__all__ = [
    "RELATIVE_FLOOR",
    "EstimatedGaussian",
    "all_together",
    "continuous_nodes",
    "estimate_gaussian",
    "fit_gaussian",
    "gaussian_of",
    "smallest_variance",
    "with_continuous_columns",
]

RELATIVE_FLOOR = 1e-6
"""Where no smallest variance is given it is this share of the variance of all rows."""


class EstimatedGaussian(NamedTuple):
    """A leaf estimated from data."""

    leaf: ConditionalGaussian
    n_unseen: int
    """Parent configurations that no row shows."""
    log_likelihood: float
    """Sum over rows of weight times the log density."""


def with_continuous_columns(
    graph: object, dag: DAG, data: object, variables: Mapping[str, Variable] | None = None
) -> object:
    """Return the data with the columns declared as continuous that are leaves of a network, if ``graph`` is one.

    Parameters
    ----------
    graph
        Perhaps a network.
    dag
        Its nodes are the columns that are kept then.
    data
        A `Dataset`, or anything one can be made of.
    variables
        Variables that are declared, by name.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> from pgm.factors.cpt import CPT
    >>> net = BayesianNetwork([CPT.uniform(sex), ConditionalGaussian("height", 170.0, 100.0, [sex])])
    >>> with_continuous_columns(net, net.dag, {"sex": ["f", "m"], "height": [160, 180]}).continuous
    ('height',)
    """
    if not isinstance(graph, BayesianNetwork) or not graph.gaussians:
        return data
    if isinstance(data, SufficientStatistics) or (isinstance(data, CountSource) and not isinstance(data, Dataset)):
        raise DataError(f"{listing(graph.gaussians)} need rows, a Dataset or a frame, not a {type(data).__name__}")
    columns = (*data.names, *data.continuous) if isinstance(data, Dataset) else tuple(read_columns(data))
    shown = [name for name in dag.nodes if name in columns]
    declared = [variable for name, variable in (variables or {}).items() if name in shown]
    continuous = [name for name in shown if name in graph.gaussians]
    return Dataset(data, columns=shown, continuous=continuous, variables=declared)


def continuous_nodes(dag: DAG, data: object) -> list[str]:
    """Return which nodes of a graph are continuous columns of the data.

    Raises
    ------
    GraphError
        If one of them has a child; names both.

    Examples
    --------
    >>> data = Dataset({"sex": ["f", "m"], "height": [1.6, 1.8]}, continuous=["height"])
    >>> continuous_nodes(DAG([("sex", "height")]), data)
    ['height']
    """
    found = [name for name in data.continuous if name in dag] if isinstance(data, Dataset) else []
    for name in found:
        if dag.children(name):
            child = dag.children(name)[0]
            raise GraphError(f"{name!r} is continuous, so it must be a leaf, but it is a parent of {child!r}")
    return [name for name in dag.nodes if name in found]


def smallest_variance(name: str, values: FloatArray, weights: FloatArray, min_variance: object = None) -> float:
    """Return the least variance that a leaf may have: what is given, or a share of the variance of all rows.

    Parameters
    ----------
    name
        The leaf.
    values, weights
        Its numbers, and what each row counts, more than zero.
    min_variance
        What is given; None for a millionth of the variance of all rows.

    Raises
    ------
    DataError
        For what is no finite number above 0; for numbers too large for a variance; and if nothing is given, and all
        numbers are equal or too close together for a variance.

    Examples
    --------
    >>> smallest_variance("x", np.array([1.0, 3.0]), np.ones(2))
    1e-06
    """
    check_range(name, values, weights)
    if min_variance is not None:
        number = isinstance(min_variance, Real) and not isinstance(min_variance, bool)
        floor = float(min_variance) if number else math.nan  # type: ignore[arg-type]
        if not 0 < floor < math.inf:
            raise DataError(f"min_variance must be a finite number above 0, not {min_variance!r}")
        return floor
    floor = RELATIVE_FLOOR * float(all_together(values, weights).squares[0] / weights.sum())
    if floor > 0:
        return floor
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise DataError(f"all known numbers of {name!r} are equal: say min_variance=, how small its variance may be")
    ways = "use a smaller unit, or say min_variance="
    raise DataError(f"the numbers of {name!r} are too close together for a variance, {low:g} to {high:g}: {ways}")


def all_together(values: FloatArray, weights: FloatArray) -> Moments:
    """Return the moments of all numbers as one group."""
    return Moments.grouped(values, weights, np.zeros(len(values), np.intp), 1)


def estimate_gaussian(
    name: str,
    parents: Sequence[Variable],
    codes: Sequence[NDArray[Any]],
    values: FloatArray,
    weights: FloatArray,
    min_variance: float | None = None,
) -> EstimatedGaussian:
    """Return a leaf estimated from rows in which it and its parents are known.

    Parameters
    ----------
    name, parents
        The leaf.
    codes
        A column for each parent.
    values, weights
        The numbers, and what each row counts.
    min_variance
        The least variance; None for a millionth of the variance of all rows.

    Raises
    ------
    MissingDataError
        If no row has a weight.
    DataError
        As `smallest_variance`.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> found = estimate_gaussian("x", [sex], [np.array([0, 0, 1])], np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> found.leaf.means.tolist(), found.leaf.variances.round(6).tolist()
    ([2.0, 5.0], [1.0, 3e-06])
    """
    if not weights.sum() > 0:
        raise MissingDataError(f"no row knows {name!r} and its parents, or none with a weight")
    if not weights.all():
        seen = weights > 0
        values, weights, codes = values[seen], weights[seen], [column[seen] for column in codes]
    floor = smallest_variance(name, values, weights, min_variance)
    shape = tuple(parent.cardinality for parent in parents)
    place = np.zeros(len(values), np.intp)
    for column, cardinality in zip(codes, shape, strict=True):
        place = place * cardinality + column
    found = Moments.grouped(values, weights, place, math.prod(shape))
    everyone = all_together(values, weights)
    means, variances = gaussian_of(found, everyone.means[0], everyone.squares[0] / everyone.weights[0], floor)
    leaf = ConditionalGaussian(name, means.reshape(shape), variances.reshape(shape), parents)
    return EstimatedGaussian(leaf, int((found.weights == 0).sum()), found.log_likelihood(means, variances))


def gaussian_of(moments: Moments, middle: float, variance: float, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each group, no variance below a floor.

    Parameters
    ----------
    moments
        Of the groups.
    middle, variance
        Those of all rows, which stand in where a group has no weight.
    floor
        The least variance.
    """
    seen = moments.weights > 0
    means = np.where(seen, moments.means, middle)
    variances = np.where(seen, moments.squares / np.where(seen, moments.weights, 1.0), variance)
    return means, np.maximum(variances, floor)


def fit_gaussian(
    dag: DAG, name: str, data: Dataset, missing: MissingRows = "error", min_variance: float | None = None
) -> EstimatedGaussian:
    """Return a leaf of a graph estimated from the rows in which it and its parents are known.

    Parameters
    ----------
    dag, name
        The graph and its leaf.
    data
        The rows.
    missing
        ``"error"`` refuses missing cells of the family; with anything else rows that have some do not count.
    min_variance
        As in `estimate_gaussian`.

    Raises
    ------
    MissingDataError
        For missing cells that are refused, and if no row is left.
    """
    family = dag.family(name)
    if missing == "error":
        data.require_complete(family)
    rows = data.select(family).complete_rows()
    parents = [rows.variable(parent) for parent in dag.parents(name)]
    codes = [rows.codes(parent.name) for parent in parents]
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    return estimate_gaussian(name, parents, codes, rows.numbers(name), weights, min_variance)

"""EM with Gaussian leaves: a latent class with Gaussian leaves is a Gaussian mixture, and its hard limit is K-means.

A leaf is to EM one more array of parameters, its means and variances side by side on a last axis. In the E step the
numbers of the leaves enter as reports (:mod:`pgm.inference.densities`), one table for each set of parents with a state
for each row; the expected count of such a table is how likely each parent configuration is in each row, the
*responsibilities*. The M step weights the rows with them:

    mean(j) = sum over rows of r(j) x / sum of r(j),    variance(j) = sum of r(j) (x - mean(j))^2 / sum of r(j).

Rows that do not know x say nothing about it. No variance is taken to be less than a floor, which keeps the likelihood
finite. With one so large that all variances are equal to it, equally probable classes, and the most probable
completion of each row instead of all (hard EM), the two steps are those of K-means.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 19.2.2. Bishop (2006), *Pattern Recognition and
Machine Learning*, section 9.3.2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data import Dataset
from pgm.data.checks import counted
from pgm.errors import DataError, EvidenceError, TooLargeError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MEMORY_BUDGET, check_size, format_bytes
from pgm.factors.variable import Variable
from pgm.inference.densities import Density, densities
from pgm.inference.expected_counts import Expectation, ExpectedCounts
from pgm.inference.row_groups import Table
from pgm.learning.em.acceleration import SHRINK
from pgm.learning.em.incomplete import COPIES
from pgm.learning.em.maximization import Maximization, Tables
from pgm.learning.parameters.gaussians import estimate_gaussian, smallest_variance
from pgm.network import BayesianNetwork

__all__ = ["ExpectedWithLeaves", "Leaf", "MaximizationWithLeaves", "leaves_of", "starting_leaves"]

CUT = 700.0
"""Ratios of densities below e to the minus this are cut off."""

HARMLESS = 1e-9
"""A parent configuration whose ratio was cut off must not be more likely than this in its row."""


class Leaf(NamedTuple):
    """A leaf and its numbers."""

    name: str
    parents: tuple[Variable, ...]
    floor: float
    """The least variance."""
    scale: float
    """Standard deviation of all its numbers, the unit of its means; 1 if they are all equal."""

    def gaussian(self, parameters: FloatArray) -> ConditionalGaussian:
        """Return the distribution that an array of parameters stands for."""
        return ConditionalGaussian(self.name, parameters[..., 0], parameters[..., 1], self.parents)


def leaves_of(
    data: Dataset, families: Sequence[Sequence[Variable]], names: Sequence[str], min_variance: float | None
) -> list[Leaf]:
    """Return the leaves, with the least variance of each.

    Parameters
    ----------
    data
        The rows.
    families
        The parents of each leaf.
    names
        The leaves.
    min_variance
        As in `fit_parameters`.
    """
    found = []
    for name, parents in zip(names, families, strict=True):
        known = ~np.isnan(data.numbers(name))
        numbers, weights = data.numbers(name)[known], _weights(data)[known]
        if not weights.sum() > 0:
            raise DataError(f"no row knows the continuous leaf {name!r}, or none with a weight")
        floor = smallest_variance(name, numbers, weights, min_variance)
        variance = np.average((numbers - np.average(numbers, weights=weights)) ** 2, weights=weights)
        found.append(Leaf(name, tuple(parents), floor, math.sqrt(variance) or 1.0))
    return found


def _weights(data: Dataset) -> FloatArray:
    return np.ones(data.n_rows) if data.weights is None else data.weights


def _check_room(
    groups: Collection[Sequence[Variable]], leaves: Sequence[Leaf], n_rows: int, memory_budget: int
) -> None:
    """Raise unless there is room for the densities of all rows in all parent configurations, and the work on them."""
    configurations = sum(math.prod(parent.cardinality for parent in parents) for parents in groups)
    names = listing(leaf.name for leaf in leaves if leaf.parents)
    what = f"the densities of {names} in {counted(n_rows, 'row')} by {counted(configurations, 'parent configuration')}"
    try:
        check_size([configurations, n_rows], what, memory_budget // COPIES)
    except TooLargeError as error:
        whole = f"EM works on {COPIES} arrays of that size, and memory_budget is {format_bytes(memory_budget)}"
        raise TooLargeError(f"{error}; {whole}") from None


class ExpectedWithLeaves:
    """The E step for tables and leaves.

    Parameters
    ----------
    variables, scopes
        The discrete variables, and the scope of each table by their numbers.
    data
        The rows.
    leaves
        The leaves.
    memory_budget
        Bytes that the tables of a contraction may take, and what the leaves show.

    Raises
    ------
    TooLargeError
        If there are too many rows times parent configurations; names the leaves and says how many.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        scopes: Sequence[tuple[int, ...]],
        data: Dataset,
        leaves: Sequence[Leaf],
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self._leaves = tuple(leaves)
        self._n_tables = len(scopes)
        self._weights = _weights(data)
        self._numbers = {leaf.name: data.numbers(leaf.name) for leaf in leaves}
        self._codes = {name: data.codes(name) for name in data.names}
        self._n_rows = data.n_rows
        number = {variable.name: place for place, variable in enumerate(variables)}
        groups: dict[frozenset[str], tuple[Variable, ...]] = {}
        for leaf in leaves:
            if leaf.parents:
                groups.setdefault(frozenset(parent.name for parent in leaf.parents), leaf.parents)
        _check_room(groups.values(), leaves, self._n_rows, memory_budget)
        columns = {number[name]: codes for name, codes in self._codes.items()}
        columns |= {len(variables) + place: np.arange(self._n_rows, dtype=np.uint32) for place in range(len(groups))}
        reports = [Variable(f"the numbers below {', '.join(sorted(names))}", range(self._n_rows)) for names in groups]
        extended = [
            (*(number[parent.name] for parent in parents), len(variables) + place)
            for place, parents in enumerate(groups.values())
        ]
        self._groups = list(groups.values())
        self._inner = ExpectedCounts(
            [*variables, *reports],
            [*scopes, *extended],
            Table(columns, self._n_rows),
            data.weights,
            memory_budget=memory_budget,
        )

    def of(self, values: Sequence[FloatArray]) -> Expectation:
        """Return expected counts, responsibilities and the log-likelihood under tables and leaves.

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability zero.
        EvidenceError
            If a row is explained only by ratios of densities that floating-point numbers do not hold.
        """
        return self._expectation(values, best=False)

    def of_best(self, values: Sequence[FloatArray]) -> Expectation:
        """Return the same for the most probable completion of each row."""
        return self._expectation(values, best=True)

    def _expectation(self, values: Sequence[FloatArray], *, best: bool) -> Expectation:
        tables, parameters = values[: self._n_tables], values[self._n_tables :]
        gaussians = [leaf.gaussian(array) for leaf, array in zip(self._leaves, parameters, strict=True)]
        found = densities(gaussians, self._numbers, self._codes, self._n_rows)
        shown = [density for density in found if density.parents]
        reports = [np.exp(np.maximum(density.logs, -CUT)) for density in shown]
        step = self._inner.of_best if best else self._inner.of
        expectation = step([*tables, *reports])
        shares = expectation.tables[self._n_tables :]
        for density, share in zip(shown, shares, strict=True):
            self._check(density, share)
        likelihood = expectation.log_likelihood
        likelihood += sum(float(self._weights @ density.log_scale) for density in found)
        responsibilities = [self._share_of(leaf, shares) for leaf in self._leaves]
        return Expectation([*expectation.tables[: self._n_tables], *responsibilities], likelihood)

    def _share_of(self, leaf: Leaf, shares: Sequence[FloatArray]) -> FloatArray:
        """Return the responsibilities of a leaf's parent configurations, in the order of its parents, by rows."""
        if not leaf.parents:
            return self._weights
        names = [parent.name for parent in leaf.parents]
        for parents, share in zip(self._groups, shares, strict=True):
            own = [parent.name for parent in parents]
            if sorted(own) == sorted(names):
                return share.transpose([*(own.index(name) for name in names), len(names)])
        raise AssertionError(names)

    def _check(self, density: Density, share: FloatArray) -> None:
        harmful = (density.logs < -CUT) & (share > HARMLESS * self._weights)
        if harmful.any():
            row = int(np.argwhere(harmful)[0][-1])
            shown = {name: float(self._numbers[name][row]) for name in density.names}
            raise EvidenceError(
                f"row {row}: given what else is known, {shown} is explained only by a parent configuration whose "
                f"density is less than e^-{CUT:.0f} of another's; start with larger variances"
            )


class MaximizationWithLeaves:
    """The M step for tables and leaves.

    Parameters
    ----------
    inner
        The M step for the tables.
    n_tables
        Their number.
    leaves
        The leaves.
    data
        The rows.
    """

    def __init__(self, inner: Maximization, n_tables: int, leaves: Sequence[Leaf], data: Dataset) -> None:
        self._inner = inner
        self._n_tables = n_tables
        self._leaves = tuple(leaves)
        self._numbers = [data.numbers(leaf.name) for leaf in leaves]

    def tables(self, counts: Sequence[FloatArray]) -> Tables:
        """Return the tables, and the parameters of each leaf."""
        made = self._inner.tables(counts[: self._n_tables])
        for leaf, numbers, shares in zip(self._leaves, self._numbers, counts[self._n_tables :], strict=True):
            made.append(_weighted(leaf, numbers, shares))
        return made

    def log_prior(self, tables: Sequence[FloatArray]) -> float:
        """Return the log density of the tables under their prior; leaves have none."""
        return self._inner.log_prior(tables[: self._n_tables])

    def chosen(self, tables: Sequence[FloatArray]) -> Tables:
        """Return what is learned."""
        return [*self._inner.chosen(tables[: self._n_tables]), *tables[self._n_tables :]]

    def coordinates(self, tables: Sequence[FloatArray]) -> Tables:
        """Return what is learned in the coordinates of extrapolations.

        These are tables as they are, means in standard deviations of their column, and logarithms of variances.
        """
        made = self._inner.coordinates(tables[: self._n_tables])
        for leaf, parameters in zip(self._leaves, tables[self._n_tables :], strict=True):
            means, variances = parameters[..., 0], parameters[..., 1]
            made.append(np.stack([means / leaf.scale, np.log(variances)], axis=-1))
        return made

    def from_coordinates(self, points: Sequence[FloatArray], near: Sequence[FloatArray]) -> Tables:
        """Return all tables and leaves for an extrapolated point, not too far from those nearby.

        Means stay within the numbers of their column, and variances within some factor, and above their floor.
        """
        n_learned = len(points) - len(self._leaves)
        made = self._inner.from_coordinates(points[:n_learned], near[: self._n_tables])
        leaves = zip(self._leaves, self._numbers, points[n_learned:], near[self._n_tables :], strict=True)
        for leaf, numbers, point, parameters in leaves:
            means = np.clip(point[..., 0] * leaf.scale, np.nanmin(numbers), np.nanmax(numbers))
            logs, furthest = np.log(parameters[..., 1]), -np.log(SHRINK)
            variances = np.exp(np.clip(point[..., 1], logs - furthest, logs + furthest))
            made.append(np.stack([means, np.maximum(variances, leaf.floor)], axis=-1))
        return made

    def expected_log_likelihood(self, tables: Sequence[FloatArray], counts: Sequence[FloatArray]) -> float:
        """Return the expected log-likelihood of completed rows."""
        total = self._inner.expected_log_likelihood(tables[: self._n_tables], counts[: self._n_tables])
        for place, (leaf, numbers) in enumerate(zip(self._leaves, self._numbers, strict=True), start=self._n_tables):
            known = ~np.isnan(numbers)
            total += float((counts[place][..., known] * leaf.gaussian(tables[place]).log_density(numbers[known])).sum())
        return total


def _weighted(leaf: Leaf, numbers: FloatArray, shares: FloatArray) -> FloatArray:
    """Return means and variances by responsibilities; those of all rows where there are none."""
    known = ~np.isnan(numbers)
    values, weights = numbers[known], shares[..., known]
    totals = weights.sum(axis=-1)
    everyone = weights.reshape(-1, len(values)).sum(axis=0)
    middle = float(everyone @ values / everyone.sum())
    seen = totals > 0
    safe = np.where(seen, totals, 1.0)
    means = np.where(seen, (weights @ values) / safe, middle)
    spread = (weights * (values - means[..., None]) ** 2).sum(axis=-1) / safe
    variances = np.where(seen, spread, float(everyone @ (values - middle) ** 2 / everyone.sum()))
    return np.stack([means, np.maximum(variances, leaf.floor)], axis=-1)


def starting_leaves(
    data: Dataset,
    leaves: Sequence[Leaf],
    hidden: frozenset[str],
    start: object,
    rng: np.random.Generator,
    number: int,
) -> Tables:
    """Return the parameters of the leaves where a run starts.

    Those of a given network for the first run, unless a latent parent's states all mean the same to a leaf. Else, for a
    leaf all of whose parents have known cells, what the rows that know its family suggest; otherwise the numbers of
    random rows as means, the same rows for leaves with the same parents, and the variance of all rows.

    Parameters
    ----------
    data, leaves, hidden
        The rows, the leaves, and the variables that are never observed.
    start
        What was asked for.
    rng
        Draws the rows.
    number
        Of the run, from 0.
    """
    drawn: dict[frozenset[str], NDArray[np.intp]] = {}
    made = []
    for leaf in leaves:
        names = frozenset(parent.name for parent in leaf.parents)
        given = _given(start, leaf, hidden) if number == 0 else None
        if given is not None:
            made.append(given)
            continue
        if start == "available cases" and hidden.isdisjoint(names) and names.issubset(data.names):
            found = _from_available_cases(data, leaf)
            if found is not None:
                made.append(found)
                continue
        shape = tuple(parent.cardinality for parent in leaf.parents)
        if names not in drawn:
            drawn[names] = rng.permutation(data.n_rows)
        made.append(_from_rows(data, leaf, shape, drawn[names]))
    return made


def _given(start: object, leaf: Leaf, hidden: frozenset[str]) -> FloatArray | None:
    """Return the parameters that a network gives a leaf, or None if it does not tell the states of a latent apart."""
    if not isinstance(start, BayesianNetwork):
        return None
    gaussian = start.gaussians[leaf.name].reorder([parent.name for parent in leaf.parents])
    parameters = np.stack([gaussian.means, np.maximum(gaussian.variances, leaf.floor)], axis=-1)
    for axis, parent in enumerate(leaf.parents):
        is_constant = parent.cardinality > 1 and np.ptp(parameters, axis=axis).max() == 0
        if parent.name in hidden and is_constant:
            return None
    return parameters


def _from_available_cases(data: Dataset, leaf: Leaf) -> FloatArray | None:
    """Return what the rows suggest that know a leaf and its parents, or None if there are none."""
    names = [parent.name for parent in leaf.parents]
    rows = data.select([*names, leaf.name]).complete_rows()
    if not rows.total_weight > 0:
        return None
    codes = [rows.codes(name) for name in names]
    found = estimate_gaussian(leaf.name, leaf.parents, codes, rows.numbers(leaf.name), _weights(rows), leaf.floor)
    return np.stack([found.leaf.means, found.leaf.variances], axis=-1)


def _from_rows(data: Dataset, leaf: Leaf, shape: tuple[int, ...], order: NDArray[np.intp]) -> FloatArray:
    """Return the numbers of random rows as means, that of all rows where a row has none, and the variance of all."""
    numbers, weights = data.numbers(leaf.name), _weights(data)
    known = ~np.isnan(numbers)
    middle = float(np.average(numbers[known], weights=weights[known]))
    variance = float(np.average((numbers[known] - middle) ** 2, weights=weights[known]))
    chosen = numbers[np.resize(order, math.prod(shape))].reshape(shape)
    means = np.where(np.isnan(chosen), middle, chosen)
    return np.stack([means, np.full(shape, max(variance, leaf.floor))], axis=-1)

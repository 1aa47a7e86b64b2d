"""Continuous evidence: what the numbers observed at Gaussian leaves say about the states of their discrete parents.

A leaf of a network that shows a number is nothing but a likelihood of its parents, p(number | parents). The leaves with
the same parents make one factor, the product of their densities. It enters the tables of the network as one more, that
of a *report* whose parents they are and which is always observed; so whatever exact inference can answer, it answers
with continuous evidence as well. A leaf that shows nothing is barren and left out.

Densities are made on logarithms and divided by the largest, and the logarithm of that joins the scale of the evidence.
Joint states that are ruled out because a parent is observed do not take part. What is less than e^-600 of the largest
becomes a product of several tables, each of which floating-point numbers can hold; the engine then turns to logarithms
where it must. Below e^-60000 the tables would be too many: they are cut off there, and the engine is given their
logarithms besides. If what was cut off matters, it computes on these from the start, and methods that know tables only
have the question refused. If all that the other evidence leaves is less than e^-100,000,000 of the largest, even
logarithms have too few digits left for what else is added to them, and every question is refused.

References
----------
Lauritzen (1992), "Propagation of probabilities, means and variances in mixed graphical association models", *Journal of
the American Statistical Association* 87, 1098-1108.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label, Variable
from pgm.inference.evidence import Evidence
from pgm.inference.exact import ExactInference, Likelihoods

__all__ = ["Density", "ObservedLeaves", "densities", "measured", "observed_leaves", "observed_numbers", "out_of_range"]

PART = 600.0
"""A table holds ratios of densities down to e to the minus this."""

MOST_PARTS = 100
"""Tables that one factor is taken apart into, at most."""

SURE = PART * MOST_PARTS - 10_000.0
"""If the evidence is more probable than e to the minus this, ratios that were cut off do not matter."""

DEEPEST = 1e8
"""If it is less probable than e to the minus this, logarithms lose the digits after the seventh."""


class Density(NamedTuple):
    """What the leaves with the same parents say, row by row."""

    names: tuple[str, ...]
    """The leaves."""
    parents: tuple[Variable, ...]
    logs: FloatArray
    """ln of the density over its largest value, shape ``(*parent cardinalities, rows)``; 0 where a parent's observed
    state rules it out."""
    log_scale: FloatArray
    """ln of the largest value in each row."""

    def without(self, rows: NDArray[np.bool_]) -> Density:
        """Return the same with some rows in which nothing is said."""
        return self._replace(logs=np.where(rows, 0.0, self.logs), log_scale=np.where(rows, 0.0, self.log_scale))


def observed_numbers(leaves: Mapping[str, ConditionalGaussian], evidence: Mapping[str, Label]) -> dict[str, FloatArray]:
    """Return the continuous part of the evidence as columns of one row.

    Raises
    ------
    EvidenceError
        For what is no finite number that floats can hold.

    Examples
    --------
    >>> observed_numbers({"height": ConditionalGaussian("height", 170, 100)}, {"height": "tall"})
    Traceback (most recent call last):
    ...
    pgm.errors.EvidenceError: 'height' is continuous: its evidence is a finite number, not 'tall'
    """
    found = {}
    for name, number in evidence.items():
        if name not in leaves:
            continue
        is_number = isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool)
        if not is_number or (isinstance(number, (float, np.floating)) and not np.isfinite(number)):
            raise EvidenceError(f"{name!r} is continuous: its evidence is a finite number, not {number!r}")
        try:
            as_float = float(cast("float", number))
        except OverflowError:
            as_float = math.inf
        if math.isinf(as_float):
            raise EvidenceError(f"{name!r} is continuous, and its evidence is a number beyond the range of floats")
        found[name] = np.array([as_float])
    return found


def densities(
    leaves: Iterable[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[np.integer]],
    n_rows: int,
) -> list[Density]:
    """Return what the numbers say, one factor for each set of parents.

    Parameters
    ----------
    leaves
        The leaves; those without a column say nothing.
    numbers
        Columns of the leaves, NaN where nothing is observed.
    codes
        Columns of the discrete variables that are observed, the cardinality where a cell is missing.
    n_rows
        Number of rows.

    Raises
    ------
    EvidenceError
        For numbers so far from every mean that their density is beyond the range of floats; names the first such row.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> height = ConditionalGaussian("height", [160.0, 180.0], 100.0, [sex])
    >>> densities([height], {"height": np.array([160.0, np.nan])}, {}, 2)[0].logs.round(9).tolist()
    [[0.0, 0.0], [-2.0, 0.0]]
    """
    leaves = tuple(leaves)
    found, beyond = measured(leaves, numbers, codes, n_rows)
    if beyond.any():
        row = int(beyond.argmax())
        raise EvidenceError(f"row {row}: {out_of_range(leaves, numbers, codes, row)}")
    return found


def measured(
    leaves: Iterable[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[np.integer]],
    n_rows: int,
) -> tuple[list[Density], NDArray[np.bool_]]:
    """Return what :func:`densities` does, and the rows beyond the range of floats, about which nothing is said."""
    found = [_density(group, numbers, codes, n_rows) for group in _by_parents(leaves, numbers)]
    with np.errstate(over="ignore"):
        scale = np.sum([density.log_scale for density in found], axis=0) if found else np.zeros(n_rows)
    beyond = ~np.isfinite(scale)
    return ([density.without(beyond) for density in found] if beyond.any() else found), beyond


def out_of_range(
    leaves: Iterable[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[np.integer]],
    row: int,
) -> EvidenceError:
    """Return the error for a row whose density is beyond the range of floats; names the numbers that make it so."""
    here = slice(row, row + 1)
    cells = {name: column[here] for name, column in numbers.items()}
    known = {name: column[here] for name, column in codes.items()}
    found = [_density(group, cells, known, 1) for group in _by_parents(leaves, cells)]
    guilty = [density for density in found if not np.isfinite(density.log_scale).all()]
    guilty = guilty or found
    shown = {name: float(cells[name][0]) for density in guilty for name in density.names}
    at = {name: number for name, number in shown.items() if not math.isnan(number)}
    return EvidenceError(f"the density at {at} is beyond the range of floats: these are far from every possible mean")


def _by_parents(
    leaves: Iterable[ConditionalGaussian], numbers: Mapping[str, FloatArray]
) -> list[list[ConditionalGaussian]]:
    """Return the leaves that have a column, those with the same parents together."""
    groups: dict[frozenset[str], list[ConditionalGaussian]] = {}
    for leaf in leaves:
        if leaf.name in numbers:
            groups.setdefault(frozenset(parent.name for parent in leaf.parents), []).append(leaf)
    return list(groups.values())


def _density(
    leaves: Sequence[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[np.integer]],
    n_rows: int,
) -> Density:
    """Return what leaves with the same parents say; the scale is minus infinity where floats cannot hold it."""
    parents = leaves[0].parents
    logs = np.zeros((*leaves[0].means.shape, n_rows))
    for leaf in leaves:
        column = numbers[leaf.name]
        seen = ~np.isnan(column)
        with np.errstate(over="ignore"):
            logs[..., seen] += leaf.reorder([parent.name for parent in parents]).log_density(column[seen])
    possible = np.ones(logs.shape, bool)
    for axis, parent in enumerate(parents):
        if parent.name in codes:
            observed = codes[parent.name]
            states = np.arange(parent.cardinality)[:, None]
            allowed = (states == observed) | (observed == parent.cardinality)
            possible &= allowed.reshape([-1 if place == axis else 1 for place in range(len(parents))] + [n_rows])
    axes = tuple(range(len(parents)))
    peak = np.where(possible, logs, -np.inf).max(axis=axes)
    ratios = logs - np.where(np.isfinite(peak), peak, 0.0)
    return Density(tuple(leaf.name for leaf in leaves), parents, np.where(possible, ratios, 0.0), peak)


class ObservedLeaves(ExactInference):
    """A network's tables, and those of reports of what its leaves show.

    Reports have no names that a question could use: they are always observed, and :meth:`code` says so.

    Parameters
    ----------
    cpts
        The tables of the discrete variables.
    reports
        Tables P(report | parents), up to a factor each; the parents are among the discrete variables.
    log_scale
        Logarithm of these factors, where all reports are observed in their first state.
    logs
        Logarithms of the tables of reports that had to be cut off, by the report's place in the list.
    """

    def __init__(
        self,
        cpts: Sequence[CPT],
        reports: Sequence[CPT],
        log_scale: float = 0.0,
        logs: Mapping[int, FloatArray] = MappingProxyType({}),
    ) -> None:
        super().__init__([*cpts, *reports])
        self.reports = tuple(range(len(cpts), len(cpts) + len(reports)))
        self.index = {cpt.child.name: number for number, cpt in enumerate(cpts)}
        self.log_scale = log_scale
        self.logs = MappingProxyType({self.reports[place]: table for place, table in logs.items()})

    @classmethod
    def of_rows(cls, cpts: Sequence[CPT], found: Iterable[Density]) -> ObservedLeaves:
        """Return the engine whose reports have a state for each row, and one more that says nothing.

        Ratios beyond the range of floats are zero. Where that could matter, the result is too small to be trusted, and
        the row is to be asked about by itself.
        """
        taken = {cpt.child.name for cpt in cpts}
        reports = []
        for density in found:
            if density.parents:
                values = np.exp(density.logs)
                reports.append(_report(density, _free_name(density, taken), values))
        return cls(cpts, reports)

    @classmethod
    def of_one(cls, cpts: Sequence[CPT], found: Iterable[Density]) -> ObservedLeaves:
        """Return the engine for one row, its reports taken apart so that no ratio of densities is lost."""
        taken = {cpt.child.name for cpt in cpts}
        reports: list[CPT] = []
        logs: dict[int, FloatArray] = {}
        log_scale = 0.0
        for density in found:
            log_scale += float(density.log_scale[0])
            if not density.parents:
                continue
            depth = -float(density.logs.min())
            is_cut = depth > PART * MOST_PARTS
            parts = MOST_PARTS if is_cut else max(1, math.ceil(depth / PART))
            share = density.logs / parts
            for _ in range(parts):
                if is_cut:
                    logs[len(reports)] = np.concatenate([share, np.zeros(share.shape)], axis=-1)
                reports.append(_report(density, _free_name(density, taken), np.exp(np.maximum(share, -PART))))
        return cls(cpts, reports, log_scale, logs)

    def check_tables(self) -> None:
        """Raise EvidenceError if what was cut off matters, on behalf of a method that knows tables only."""
        if self.on_logarithms:
            raise EvidenceError(
                f"what is observed is too improbable for this method: densities differ by more than a factor of "
                f"e^{PART * MOST_PARTS:.0f}, and the answer depends on that; query, marginals, mpe and sample can "
                f"compute with it"
            )

    def coded(self, evidence: Mapping[str, Label] | None) -> dict[int, int]:
        """Return the discrete evidence by number, the reports of a single row added, last."""
        return {**super().coded(evidence), **dict.fromkeys(self.reports, 0)}

    def code(
        self,
        evidence: Mapping[str, Label] | None,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Evidence:
        """Return evidence of all kinds by number, its scale with that of the densities."""
        known = super().code(evidence, likelihoods, distributions, memory_budget)
        return known._replace(log_scale=known.log_scale + self.log_scale)


def observed_leaves(
    cpts: Sequence[CPT],
    leaves: Iterable[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    known: Mapping[str, Label],
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
) -> ObservedLeaves:
    """Return the engine for one row.

    Parameters
    ----------
    cpts
        The tables of the discrete variables.
    leaves
        The leaves; those without a column say nothing.
    numbers
        Columns of the leaves, of one row.
    known, likelihoods
        The discrete evidence, which says which densities matter.
    memory_budget
        Bytes that finding out whether they do may take.

    Raises
    ------
    EvidenceError
        If the density is beyond the range of floats, or what is left of it given the other evidence is too small.
    """
    leaves = tuple(leaves)
    variables = {cpt.child.name: cpt.child for cpt in cpts}
    codes = {name: np.array([variables[name].code(label)]) for name, label in known.items()}
    found, beyond = measured(leaves, numbers, codes, 1)
    if beyond.any():
        raise out_of_range(leaves, numbers, codes, 0)
    engine = ObservedLeaves.of_one(cpts, found)
    if engine.logs:
        asked = partial(engine.log_probability, known, likelihoods=likelihoods, memory_budget=memory_budget)
        engine.on_logarithms = -math.inf < asked() < engine.log_scale - SURE
        if engine.on_logarithms and asked() < engine.log_scale - DEEPEST:
            names = [name for density in found if (density.logs < -DEEPEST).any() for name in density.names]
            shown = {name: float(numbers[name][0]) for name in names if not np.isnan(numbers[name][0])}
            raise EvidenceError(
                f"{shown} is too improbable to be computed with, given the other evidence: it is explained only by "
                f"states of the parents at which the density is less than e^-{DEEPEST:.0f} of that at others"
            )
    return engine


def _free_name(density: Density, taken: set[str]) -> str:
    """Return a name for a report that no other table has."""
    name = f"the numbers of {', '.join(density.names)}"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _report(density: Density, name: str, values: FloatArray) -> CPT:
    """Return the table of a report: a state for each row, and a last one that says nothing."""
    silent = np.ones((*values.shape[:-1], 1))
    child = Variable(name, range(values.shape[-1] + 1))
    return cast("CPT", CPT._of((*density.parents, child), np.concatenate([values, silent], axis=-1)))

"""Continuous evidence: what the numbers observed at Gaussian leaves say about the states of their discrete parents.

A leaf of a network that shows a number is nothing but a likelihood of its parents, p(number | parents). The leaves with
the same parents make one factor, the product of their densities. It enters the tables of the network as one more, that
of a *report* whose parents they are and which is always observed; so whatever exact inference can answer, it answers
with continuous evidence as well. A leaf that shows nothing is barren and left out.

Densities are made on logarithms and divided by the largest, and the logarithm of that joins the scale of the evidence.
Joint states that are ruled out because a parent is observed do not take part. What is less than e^-600 of the largest
becomes a product of several tables, each of which floating-point numbers can hold; the engine then turns to logarithms
where it must. Below e^-60000 that ends, and if such small numbers matter the question is refused.

References
----------
Lauritzen (1992), "Propagation of probabilities, means and variances in mixed graphical association models", *Journal of
the American Statistical Association* 87, 1098-1108.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label, Variable
from pgm.inference.evidence import Evidence
from pgm.inference.exact import ExactInference, Likelihoods

__all__ = ["Density", "ObservedLeaves", "densities", "observed_numbers"]

PART = 600.0
"""A table holds ratios of densities down to e to the minus this."""

MOST_PARTS = 100
"""Tables that one factor is taken apart into, at most."""

SURE = PART * MOST_PARTS - 10_000.0
"""If the evidence is more probable than e to the minus this, ratios that were cut off do not matter."""


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


def observed_numbers(leaves: Mapping[str, ConditionalGaussian], evidence: Mapping[str, Label]) -> dict[str, FloatArray]:
    """Return the continuous part of the evidence as columns of one row.

    Raises
    ------
    EvidenceError
        For what is no finite number.

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
        if not is_number or not math.isfinite(cast("float", number)):
            raise EvidenceError(f"{name!r} is continuous: its evidence is a finite number, not {number!r}")
        found[name] = np.array([number], np.float64)
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
        For a number so far from every mean that its density is beyond the range of floats.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> height = ConditionalGaussian("height", [160.0, 180.0], 100.0, [sex])
    >>> densities([height], {"height": np.array([160.0, np.nan])}, {}, 2)[0].logs.round(9).tolist()
    [[0.0, 0.0], [-2.0, 0.0]]
    """
    groups: dict[frozenset[str], list[ConditionalGaussian]] = {}
    for leaf in leaves:
        if leaf.name in numbers:
            groups.setdefault(frozenset(parent.name for parent in leaf.parents), []).append(leaf)
    return [_density(group, numbers, codes, n_rows) for group in groups.values()]


def _density(
    leaves: Sequence[ConditionalGaussian],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[np.integer]],
    n_rows: int,
) -> Density:
    parents = leaves[0].parents
    logs = np.zeros((*leaves[0].means.shape, n_rows))
    for leaf in leaves:
        column = numbers[leaf.name]
        seen = ~np.isnan(column)
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
    if not np.isfinite(peak).all():
        row = int(np.argmin(np.isfinite(peak)))
        shown = {leaf.name: float(numbers[leaf.name][row]) for leaf in leaves}
        raise EvidenceError(f"the density at {shown} is beyond the range of floats: these are far from every mean")
    return Density(tuple(leaf.name for leaf in leaves), parents, np.where(possible, logs - peak, 0.0), peak)


class ObservedLeaves(ExactInference):
    """A network's tables, and those of reports of what its leaves show.

    Parameters
    ----------
    cpts
        The tables of the discrete variables.
    reports
        Tables P(report | parents), up to a factor each; the parents are among the discrete variables.
    log_scale
        Logarithm of these factors, where all reports are observed in their first state.
    """

    def __init__(self, cpts: Sequence[CPT], reports: Sequence[CPT], log_scale: float = 0.0) -> None:
        super().__init__([*cpts, *reports])
        self.reports = tuple(range(len(cpts), len(cpts) + len(reports)))
        self.log_scale = log_scale

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
    def of_one(
        cls,
        cpts: Sequence[CPT],
        found: Iterable[Density],
        known: Mapping[str, Label],
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> ObservedLeaves:
        """Return the engine for one row, its reports taken apart so that no ratio of densities is lost.

        Parameters
        ----------
        cpts
            The tables of the discrete variables.
        found
            What the leaves say, in one row.
        known, likelihoods
            The discrete evidence, in whose light ratios that had to be cut off must not matter.
        memory_budget
            Bytes that finding this out may take.

        Raises
        ------
        EvidenceError
            If they do.
        """
        taken = {cpt.child.name for cpt in cpts}
        reports, log_scale, is_cut = [], 0.0, False
        names: list[str] = []
        for density in found:
            log_scale += float(density.log_scale[0])
            if not density.parents:
                continue
            names += density.names
            parts = max(1, math.ceil(-density.logs.min() / PART))
            is_cut |= parts > MOST_PARTS
            parts = min(parts, MOST_PARTS)
            values = np.exp(np.maximum(density.logs / parts, -PART))
            reports += [_report(density, _free_name(density, taken), values) for _ in range(parts)]
        engine = cls(cpts, reports, log_scale)
        if is_cut:
            likely = engine.log_probability(
                engine.evidence(known), likelihoods=likelihoods, memory_budget=memory_budget
            )
            if -math.inf < likely < log_scale - SURE:
                raise EvidenceError(
                    f"what {listing(names)} show is too improbable to be computed with, given the other evidence: "
                    f"densities differ by more than a factor of e^{PART * MOST_PARTS:.0f}"
                )
        return engine

    def evidence(self, known: Mapping[str, Label]) -> dict[str, Label]:
        """Return the discrete evidence with the reports of a single row added, last."""
        reported = {self.variables[number].name: self.variables[number].states[0] for number in self.reports}
        return {**known, **reported}

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

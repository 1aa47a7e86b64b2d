"""Random numbers of Gaussian leaves: the continuous columns of sampled rows, and holes in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgm.errors import EvidenceError, UnknownNameError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Variable
from pgm.inference.holes import Missing, code_missing, plant

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["with_holes", "with_leaves"]


def with_leaves(
    rows: Dataset,
    variables: Sequence[Variable],
    leaves: Mapping[str, ConditionalGaussian],
    evidence: Mapping[str, Any] | None,
    generator: np.random.Generator,
) -> Dataset:
    """Return sampled rows with a column for each leaf: its evidence, or numbers drawn given the parents in each row.

    Parameters
    ----------
    rows
        Rows of the discrete variables; other columns are left out.
    variables
        The discrete variables.
    leaves
        The leaves by name.
    evidence
        Numbers of observed leaves, among others.
    generator
        Draws the numbers.
    """
    from pgm.data.dataset import Dataset

    numbers: dict[str, FloatArray] = {}
    for name, leaf in leaves.items():
        if evidence is not None and name in evidence:
            numbers[name] = np.full(rows.n_rows, float(evidence[name]))
            continue
        place = tuple(rows.codes(parent.name) for parent in leaf.parents)
        noise = generator.standard_normal(rows.n_rows)
        numbers[name] = leaf.means[place] + np.sqrt(leaf.variances[place]) * noise
    codes = [rows.codes(variable.name) for variable in variables]
    return Dataset.from_codes(variables, codes, rows.weights, numbers)


def with_holes(rows: Dataset, names: Sequence[str], missing: Missing, generator: np.random.Generator) -> Dataset:
    """Return rows with cells made missing, discrete and continuous ones; see ``BayesianNetwork.sample``.

    Raises
    ------
    UnknownNameError, EvidenceError
        As `pgm.inference.holes.code_missing`.
    """
    from pgm.data.dataset import Dataset

    wanted = missing if isinstance(missing, Mapping) else dict.fromkeys(names, missing)
    for name in wanted:
        if name not in names:
            raise UnknownNameError(f"no variable {name!r} to make missing; the variables are {listing(names)}")
    for name, rule in wanted.items():
        deciders = [decider for decider in rule if decider in rows.continuous] if isinstance(rule, Mapping) else []
        if deciders:
            raise EvidenceError(f"{deciders[0]!r} is continuous and cannot decide where {name!r} is missing")
    # to the planting a continuous column is one of "seen" or "missing"
    stand_ins = [Variable(name, ["seen"]) for name in rows.continuous]
    variables = [*rows.variables, *stand_ins]
    index = {variable.name: number for number, variable in enumerate(variables)}
    columns = {index[variable.name]: np.array(rows.codes(variable.name)) for variable in rows.variables}
    columns |= {index[name]: np.zeros(rows.n_rows, np.uint8) for name in rows.continuous}
    plant(code_missing(variables, index, wanted), columns, rows.n_rows, generator)
    codes = [columns[index[variable.name]] for variable in rows.variables]
    numbers = {name: np.where(columns[index[name]] == 1, np.nan, rows.numbers(name)) for name in rows.continuous}
    return Dataset.from_codes(rows.variables, codes, rows.weights, numbers)

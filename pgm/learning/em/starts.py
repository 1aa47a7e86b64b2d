"""Where EM starts: tables from the cells that are known, random ones, or given ones.

A start must not be symmetric in the states of a latent variable: if all its states mean the same to its children, every
row is equally likely to be in each, and EM stays where it is. So tables of latent variables and of their children begin
with random factors.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from pgm.errors import DataError
from pgm.factors.factor import FloatArray
from pgm.learning.em.incomplete import IncompleteData
from pgm.learning.em.maximization import Maximization, Tables
from pgm.learning.scores.available_cases import AvailableCases
from pgm.network import BayesianNetwork

__all__ = ["Start", "check_start", "starting_tables"]

Start: TypeAlias = Literal["available cases", "random"] | BayesianNetwork
"""Which tables to start from."""

_SMOOTHING = 1.0
"""Rows added to each parent configuration, spread evenly: a probability of zero would never rise again."""


def check_start(start: object) -> None:
    """Raise `DataError` unless ``start`` is a kind of start or a network."""
    if not isinstance(start, BayesianNetwork) and start not in ("available cases", "random"):
        raise DataError(f"start must be 'available cases', 'random' or a BayesianNetwork, not {start!r}")


def starting_tables(
    problem: IncompleteData, start: Start, step: Maximization, rng: np.random.Generator, number: int
) -> Tables:
    """Return the tables of one start.

    Parameters
    ----------
    problem
        The rows and the graph.
    start
        What was asked for; a further start (``number`` above 0) is drawn anew: with random factors for latent variables
        if there are any and the start is from available cases, else at random throughout.
    step
        Knows which tables are fixed and which shared.
    rng
        Draws the random factors.
    number
        Of the start, from 0.
    """
    hidden = frozenset(problem.hidden)
    if isinstance(start, BayesianNetwork) and number == 0:
        given = problem.tables_of(start, problem.dag.nodes)
        tables = [given[node] for node in problem.dag.nodes]
        return _without_symmetry(problem, tables, hidden, step, rng)
    if start == "available cases" and (hidden or number == 0):
        return step.with_learned(step.chosen(_from_available_cases(problem, hidden, rng)))
    shapes = [[variable.cardinality for variable in family] for family in problem.families]
    return step.with_learned(step.chosen([_normalised(rng.exponential(size=shape)) for shape in shapes]))


def _from_available_cases(problem: IncompleteData, hidden: frozenset[str], rng: np.random.Generator) -> Tables:
    shown = [[variable.name for variable in family if variable.name not in hidden] for family in problem.families]
    counted = [names if family[-1].name in names else [] for names, family in zip(shown, problem.families, strict=True)]
    asked = [(names[-1], names[:-1]) for names in counted if names]
    known = iter(AvailableCases(problem.data).count(asked) if asked else ())
    tables = []
    for family, names in zip(problem.families, counted, strict=True):
        shape = [variable.cardinality for variable in family]
        counts = np.zeros(shape)
        if names:
            counts += next(known).reshape([1 if v.name in hidden else v.cardinality for v in family])
        table = _normalised(counts + _SMOOTHING / shape[-1])
        if not hidden.isdisjoint(variable.name for variable in family):
            table = _normalised(table * rng.exponential(size=shape))
        tables.append(table)
    return tables


def _without_symmetry(
    problem: IncompleteData, tables: Tables, hidden: frozenset[str], step: Maximization, rng: np.random.Generator
) -> Tables:
    """Return given tables, those of the children of a latent variable whose states they do not tell apart disturbed."""
    made = list(tables)
    for name in sorted(hidden, key=problem.dag.nodes.index):
        places = {
            number: [variable.name for variable in family].index(name)
            for number, family in enumerate(problem.families)
            if name in [variable.name for variable in family[:-1]] and number not in step.fixed
        }
        if all(_is_constant(tables[number], axis) for number, axis in places.items()):
            for number in places:
                noise = rng.exponential(size=tables[number].shape)
                made[number] = _normalised(tables[number] * noise)
    return step.with_learned(step.chosen(made))


def _is_constant(table: FloatArray, axis: int) -> bool:
    return bool(np.allclose(table, np.take(table, [0], axis=axis), rtol=1e-9, atol=0))


def _normalised(table: FloatArray) -> FloatArray:
    result: FloatArray = table / table.sum(axis=-1, keepdims=True)
    return result

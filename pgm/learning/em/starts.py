"""Where EM starts: tables from the cells that are known, random ones, or given ones.

A start must not be symmetric in the states of a latent variable: if two of them mean the same to its children, no row
tells them apart, and in EM they stay as alike as they are. So tables of latent variables and of their children begin
with random factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data.counts import FamilyCounter
from pgm.errors import DataError
from pgm.factors.factor import FloatArray
from pgm.inference.hidden_parts import complete_cases
from pgm.learning.em.incomplete import IncompleteData
from pgm.learning.em.maximization import Maximization, Tables
from pgm.network import BayesianNetwork

__all__ = ["Start", "check_start", "starting_tables", "states_alike"]

Start: TypeAlias = Literal["available cases", "random"] | BayesianNetwork
"""Which tables to start from."""

_SMOOTHING = 1.0
"""Rows added to each parent configuration, spread evenly: a probability of zero would never rise again."""


def check_start(start: object) -> None:
    """Raise `DataError` unless ``start`` is a kind of start or a network."""
    if not isinstance(start, BayesianNetwork) and start not in ("available cases", "random"):
        raise DataError(f"start must be 'available cases', 'random' or a BayesianNetwork, not {start!r}")


def starting_tables(
    problem: IncompleteData,
    start: Start,
    step: Maximization,
    rng: np.random.Generator,
    number: int,
    alike: Mapping[str, NDArray[np.bool_]] = MappingProxyType({}),
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
    alike
        As `states_alike` returned it.
    """
    hidden = frozenset(problem.hidden)
    if isinstance(start, BayesianNetwork) and number == 0:
        given = problem.tables_of(start, problem.dag.nodes)
        tables = [given[node] for node in problem.dag.nodes]
        return _without_symmetry(problem, tables, alike, step, rng)
    if start == "available cases" and (hidden or number == 0):
        return step.with_learned(step.chosen(_from_available_cases(problem, hidden, rng)))
    shapes = [[variable.cardinality for variable in family] for family in problem.families]
    return step.with_learned(step.chosen([_normalised(rng.exponential(size=shape)) for shape in shapes]))


def _from_available_cases(problem: IncompleteData, hidden: frozenset[str], rng: np.random.Generator) -> Tables:
    shown = [[variable.name for variable in family if variable.name not in hidden] for family in problem.families]
    counted = [names if family[-1].name in names else [] for names, family in zip(shown, problem.families, strict=True)]
    data = problem.data
    cardinalities = [variable.cardinality + 1 for variable in data.variables]
    columns = [data.codes(name) for name in data.names]
    counter = FamilyCounter(columns, cardinalities, data.weights) if columns else None  # all may be continuous
    tables = []
    for family, names in zip(problem.families, counted, strict=True):
        shape = [variable.cardinality for variable in family]
        counts = np.zeros(shape)
        if names and counter is not None:
            known = complete_cases(counter, [data.names.index(name) for name in names])
            counts += known.reshape([1 if v.name in hidden else v.cardinality for v in family])
        table = _normalised(counts + _SMOOTHING / shape[-1])
        if not hidden.isdisjoint(variable.name for variable in family):
            table = _normalised(table * rng.exponential(size=shape))
        tables.append(table)
    return tables


def states_alike(
    problem: IncompleteData, start: Start, leaves: Iterable[tuple[Sequence[str], FloatArray]] = ()
) -> dict[str, NDArray[np.bool_]]:
    """Return for each latent variable which of its states a given network does not tell apart; nothing without one.

    Parameters
    ----------
    problem
        The rows and the graph.
    start
        What was asked for.
    leaves
        The parents of each continuous leaf, and its parameters, an axis for each parent and a last one.
    """
    if not isinstance(start, BayesianNetwork):
        return {}
    given, nodes = problem.tables_of(start, problem.dag.nodes), problem.dag.nodes
    shown, found = list(leaves), {}
    for name in sorted(problem.hidden, key=nodes.index):
        below = [np.moveaxis(given[child], axis, 0) for child, axis in _children(problem, name).items()]
        below += [np.moveaxis(array, parents.index(name), 0) for parents, array in shown if name in parents]
        found[name] = _alike(below, given[name])
    return found


def _children(problem: IncompleteData, name: str) -> dict[str, int]:
    """Return the children of a variable, and which axis of their tables it is."""
    return {child: problem.dag.family(child).index(name) for child in problem.dag.children(name)}


def _without_symmetry(
    problem: IncompleteData,
    tables: Tables,
    alike: Mapping[str, NDArray[np.bool_]],
    step: Maximization,
    rng: np.random.Generator,
) -> Tables:
    """Return given tables, with random factors in those of the children where latent states are not told apart."""
    made = list(tables)
    for name, flags in alike.items():
        for child, axis in _children(problem, name).items():
            number = problem.dag.nodes.index(child)
            if flags.any() and number not in step.fixed:
                noise = np.moveaxis(rng.exponential(size=tables[number].shape), axis, -1)
                factors = np.moveaxis(np.where(flags, noise, 1.0), -1, axis)
                made[number] = _normalised(made[number] * factors)
    return step.with_learned(step.chosen(made))


def _alike(below: Sequence[FloatArray], own: FloatArray) -> NDArray[np.bool_]:
    """Return which states of a variable have another that no row can ever tell from them.

    Parameters
    ----------
    below
        The tables of its children and the parameters of its continuous leaves, its own axis first.
    own
        Its own table: two states differ also if parents make now the one and now the other more probable.
    """
    columns = own.reshape(-1, own.shape[-1]).T
    totals = columns.sum(axis=1, keepdims=True)
    shares = np.divide(columns, totals, out=np.zeros_like(columns), where=totals > 0)
    signs = np.concatenate([*(table.reshape(len(table), -1) for table in below), shares], axis=1)
    return np.array([np.isclose(signs, sign, rtol=1e-9, atol=0).all(axis=1).sum() > 1 for sign in signs])


def _normalised(table: FloatArray) -> FloatArray:
    result: FloatArray = table / table.sum(axis=-1, keepdims=True)
    return result

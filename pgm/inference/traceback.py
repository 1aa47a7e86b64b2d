"""Traceback: from the tables of a forward pass with maxima to the joint state that attains them.

The steps are gone through backwards. Each removed some variables; what else its tables contain, its *separator*, has
been decided by then. So the tables are cut at the separator's states, multiplied, and the variables removed take the
states of the largest entry (Koller and Friedman 2009, section 13.2). Where several are as large,
:mod:`pgm.inference.ties` keeps them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pgm.inference.planning import Plan
from pgm.inference.ties import TINY, Ties, equally_good, lowest_tied

__all__ = ["Decision", "decisions", "trace_any", "trace_first"]

FEW_STATES = 64
"""Up to so many numbers Python finds the largest faster than NumPy."""

Codes: TypeAlias = list[Any]
"""A state by variable; where there is none yet, a slice for all of them."""

Pick: TypeAlias = Callable[[Codes], Any]


class Decision(NamedTuple):
    """How one step is traced back."""

    variables: tuple[int, ...]
    """What the step removed."""
    separator: frozenset[int]
    """What else its tables contain."""
    above: int
    """The number of the decision that has all of the separator, or -1."""
    operands: tuple[tuple[int, Pick], ...]
    """The tables that contain any of the variables: the node, and what picks the codes of its axes."""
    alignments: tuple[tuple[tuple[int, ...], tuple[slice | None, ...]], ...]
    """For each of them how the axes that are left get in the order of the variables."""
    meshes: tuple[Any, ...]
    """All joint states of the variables, an array for each of them."""
    few: bool
    """Whether only few numbers have to be compared."""
    ready: tuple[int, ...] = ()
    """The variables, in declared order, whose ties can be decided after this."""

    def tables(self, nodes: Sequence[Any], codes: Codes) -> list[Any]:
        """Return the tables at the states given."""
        return [nodes[node][pick(codes)] for node, pick in self.operands]

    def aligned(self, tables: Sequence[Any]) -> list[Any]:
        """Return tables cut at the separator such that they broadcast."""
        return [table.transpose(order)[place] for table, (order, place) in zip(tables, self.alignments, strict=True)]


def decisions(plan: Plan) -> tuple[Decision, ...]:
    """Return how to trace back a plan that keeps no variable, in the best order for deciding ties.

    Each variable in turn is traced, with what has to be before it. So ties are decided as soon as possible, and the
    lists of them stay short.
    """
    steps: dict[int, int | None] = {}
    homes: dict[int, int] = {}
    above: dict[int, int | None] = {}
    for node, step in reversed(list(enumerate(plan.steps, start=plan.n_tables))):
        nearest = above.get(node)
        if step.summed:
            steps[node] = nearest
            homes.update(dict.fromkeys(step.summed, node))
            nearest = node
        above.update(dict.fromkeys(step.operands, nearest))
    found: list[Decision] = []
    numbers: dict[int | None, int] = {None: -1}
    for variable in sorted(homes):
        path: list[int] = []
        current: int | None = homes[variable]
        while current is not None and current not in numbers:
            path.append(current)
            current = steps[current]
        for node in reversed(path):
            numbers[node] = len(found)
            step = plan.steps[node - plan.n_tables]
            found.append(_decision(plan, step.operands, step.summed, numbers[steps[node]]))
        found[-1] = found[-1]._replace(ready=(*found[-1].ready, variable))
    return tuple(found)


def _decision(plan: Plan, nodes: Sequence[int], variables: tuple[int, ...], above: int) -> Decision:
    separator = frozenset(axis for node in nodes for axis in plan.axes[node]) - {*variables}
    operands: list[tuple[int, Pick]] = []
    alignments: list[tuple[tuple[int, ...], tuple[slice | None, ...]]] = []
    for node in nodes:
        left = [axis for axis in plan.axes[node] if axis in variables]
        if left:
            operands.append((node, itemgetter(*plan.axes[node])))
            order = tuple(left.index(variable) for variable in variables if variable in left)
            alignments.append((order, tuple(slice(None) if v in left else None for v in variables)))
    few = len(variables) == 1 and plan.cells(variables) <= FEW_STATES
    meshes = np.ix_(*(np.arange(plan.cardinalities[variable]) for variable in variables))
    return Decision(variables, separator, above, tuple(operands), tuple(alignments), meshes, few)


def trace_first(
    steps: Sequence[Decision], nodes: Sequence[Any], logarithms: bool, cardinalities: Sequence[int]
) -> Codes:
    """Return the best joint state, by variable; of several, the first: that whose first variable's state is first, etc.

    Parameters
    ----------
    steps
        From :func:`decisions`.
    nodes, logarithms
        The table of every node after a forward pass with maxima, and whether they are logarithms. The largest
        probability of all must not be zero.
    cardinalities
        Number of states by variable.

    Raises
    ------
    TooManyTiesError
        If there are too many to be listed.
    """
    codes: Codes = [slice(None)] * len(cardinalities)
    ties = Ties(cardinalities)
    for number, decision in enumerate(steps):
        if ties.open.isdisjoint(decision.separator):
            _trace_step(number, decision, nodes, logarithms, ties, codes)
        else:
            ties.extend(number, decision, nodes, logarithms, codes)
        if ties.open:
            for variable in decision.ready:
                if variable in ties.open:
                    ties.decide(variable, codes)
    return codes


def _trace_step(
    number: int, decision: Decision, nodes: Sequence[Any], logarithms: bool, ties: Ties, codes: Codes
) -> None:
    """Trace back a step whose separator is decided."""
    tables = decision.tables(nodes, codes)
    best = _only_best(tables, logarithms) if decision.few else None
    if best is None:
        good = equally_good(decision.aligned(tables), logarithms, len(decision.variables))
        ties.add(number, decision, good, codes)
    else:
        codes[decision.variables[0]] = best


def trace_any(steps: Sequence[Decision], nodes: Sequence[Any], logarithms: bool, cardinalities: Sequence[int]) -> Codes:
    """Return a best joint state, by variable. Parameters as for :func:`trace_first`."""
    codes: Codes = [slice(None)] * len(cardinalities)
    for decision in steps:
        tables = decision.aligned(decision.tables(nodes, codes))
        good = equally_good(tables, logarithms, len(decision.variables), tolerance=0.0)
        for variable, place in zip(decision.variables, np.argwhere(good)[0].tolist(), strict=True):
            codes[variable] = place
    return codes


def _only_best(tables: Sequence[Any], logarithms: bool) -> int | None:
    """Return where the product of vectors is largest, or None if that is not clear."""
    product = tables[0]
    for table in tables[1:]:
        product = product + table if logarithms else product * table
    values = product.tolist()
    best = max(values)
    if not logarithms and best < TINY:
        return None
    place: int = values.index(best)
    values[place] = -np.inf
    return place if max(values) < lowest_tied(best, logarithms) else None

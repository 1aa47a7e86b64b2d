"""The enumerated joint: every answer by adding up the probabilities of whole assignments.

Plain Python loops over labels. Shares nothing with the library but the tables it is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pgm.network import BayesianNetwork

Assignment = dict[str, Any]


def assignments(net: BayesianNetwork) -> Iterator[tuple[Assignment, float]]:
    """Yield every joint assignment with its probability."""
    tables = [(cpt.names, dict(rows(cpt))) for cpt in net.cpts]
    for labels in product(*(variable.states for variable in net.variables)):
        world = dict(zip(net.names, labels, strict=True))
        yield world, math.prod(table[tuple(map(_typed, (world[name] for name in names)))] for names, table in tables)


def rows(cpt: Any) -> Iterator[tuple[tuple[Any, ...], float]]:
    """Yield the entries of a table, keyed by labels that keep True and 1 apart."""
    flat = iter(cpt.values.ravel().tolist())
    for labels in product(*(variable.states for variable in cpt.variables)):
        yield tuple(map(_typed, labels)), next(flat)


def _typed(label: Any) -> tuple[bool, Any]:
    return isinstance(label, bool), label


def agrees(world: Assignment, evidence: Mapping[str, Any]) -> bool:
    return all(_typed(world[name]) == _typed(label) for name, label in evidence.items())


def probability(net: BayesianNetwork, evidence: Mapping[str, Any]) -> float:
    return math.fsum(p for world, p in assignments(net) if agrees(world, evidence))


def posterior(net: BayesianNetwork, targets: Sequence[str], evidence: Mapping[str, Any]) -> list[float]:
    """Return P(targets | evidence) flattened, last target fastest; raises ZeroDivisionError if impossible."""
    sums: dict[tuple[Any, ...], float] = {}
    for world, p in assignments(net):
        if agrees(world, evidence):
            key = tuple(_typed(world[name]) for name in targets)
            sums[key] = sums.get(key, 0.0) + p
    total = math.fsum(sums.values())
    if total == 0:
        raise ZeroDivisionError
    keys = product(*([_typed(label) for label in net.variable(name).states] for name in targets))
    return [sums.get(key, 0.0) / total for key in keys]

"""Families: a node with its parents, the unit in which networks are scored and fitted.

Whatever is learned about a given graph starts from the same thing, the contingency table of each family. It is asked
for here, all tables at once, since data that live elsewhere answer one question with many families faster than many
questions; and here it is checked first that there is room for them.
"""

from __future__ import annotations

from typing import NamedTuple

from pgm.data import CountSource, CountTable, count_source
from pgm.data.checks import counted, family_cells
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG, as_dag
from pgm.network import BayesianNetwork

__all__ = ["FamilyCounts", "count_families", "families_of"]


class FamilyCounts(NamedTuple):
    """The counts of every family of a graph."""

    dag: DAG
    families: list[list[Variable]]
    """The parents and then the node itself, for each node in declared order."""
    tables: list[CountTable]
    """N(parents, node) for each node in declared order; the list is the caller's, the arrays may be shared."""


def count_families(graph: DAG | BayesianNetwork, data: object, *, copies: float) -> FamilyCounts:
    """Return the counts of every family of a graph.

    Parameters
    ----------
    graph
        A DAG, or a network, which stands for its DAG.
    data
        A `Dataset`, or anything one can be made of. Columns that are no nodes are ignored.
    copies
        How many arrays of the size of a family's table the caller holds at once while working on that family, the
        counts included.

    Raises
    ------
    GraphError
        If ``graph`` is neither.
    UnknownNameError
        If a node is no column.
    MissingDataError
        If cells of the nodes are missing.
    TooLargeError
        If the tables, or the work on one, would exceed the memory budget; before anything is counted.

    Examples
    --------
    >>> counts = count_families(DAG([("a", "b")]), {"a": [0, 0, 1], "b": ["x", "y", "y"]}, copies=1)
    >>> counts.families[1][-1], counts.tables[1]
    (Variable('b', ['x', 'y']), array([[1, 1],
           [0, 1]]))
    """
    dag = as_dag(graph)
    source = count_source(data, dag.nodes)
    families = families_of(dag, source, copies=copies)
    tables = source.count([(node, dag.parents(node)) for node in dag.nodes])
    return FamilyCounts(dag, families, list(tables))


def families_of(dag: DAG, source: CountSource, *, copies: float) -> list[list[Variable]]:
    """Return the parents and then the node itself, for each node of a graph; nothing is counted.

    Raises
    ------
    TooLargeError
        If the tables, or the work on one, would exceed the memory budget.
    """
    variables = {variable.name: variable for variable in source.variables}
    families = [[variables[name] for name in dag.family(node)] for node in dag.nodes]
    cells = [family_cells(family, source.n_rows, budget=int(MEMORY_BUDGET / copies)) for family in families]
    work = int((copies - 1) * max(cells, default=0))
    check_size([sum(cells) + work], f"the tables of {counted(len(families), 'node')} and the work on them")
    return families

"""Counting for parameters: which rows count when cells are missing, and statistics that grow with the rows."""

from __future__ import annotations

from pgm.data import CountSource, Dataset, count_source
from pgm.data.statistics import MissingRows, SufficientStatistics, check_missing
from pgm.errors import DataError, MissingDataError
from pgm.graph.dag import DAG, as_dag
from pgm.learning.families import count_families
from pgm.learning.scores.available_cases import AvailableCases
from pgm.network import BayesianNetwork

__all__ = ["rows_to_count", "sufficient_statistics", "update_statistics"]

_COPIES = 2
"""Arrays of the size of a table that exist at once while it is checked."""


def rows_to_count(dag: DAG, data: object, missing: MissingRows = "error") -> CountSource:
    """Return the source of the counts of a graph's families, in which missing cells are treated as asked.

    Parameters
    ----------
    dag
        The graph; columns that are no nodes do not matter.
    data
        A `Dataset`, or anything one can be made of.
    missing
        ``"error"`` refuses missing cells; ``"available"`` counts each family on the rows in
        which it is known; ``"complete_rows"`` only rows in which all nodes are known.

    Raises
    ------
    UnknownNameError
        If a node is no column, or there is no such way.
    DataError
        If missing cells are to be treated in a source of counts that is no `Dataset`.
    MissingDataError
        If they are refused; says what can be done.

    Examples
    --------
    >>> data = {"a": [0, 1, None], "b": [0, None, 1]}
    >>> rows_to_count(DAG([("a", "b")]), data, "complete_rows").n_rows
    1
    """
    check_missing(missing)
    source = count_source(data, dag.nodes)
    if missing == "error":
        if isinstance(source, Dataset):
            _check_complete(source, dag)
        return source
    if not isinstance(source, Dataset):
        raise DataError(f"missing={missing!r} needs a Dataset, not {type(data).__name__}")
    nodes = source.select(dag.nodes)
    return AvailableCases(nodes) if missing == "available" else nodes.complete_rows()


def _check_complete(data: Dataset, dag: DAG) -> None:
    try:
        data.require_complete(dag.nodes)
    except MissingDataError as error:
        found, _, _ = str(error).partition(";")
        ways = (
            "missing='available' counts each family where it is known, missing='complete_rows' only rows without holes"
        )
        raise MissingDataError(f"{found}; {ways}, and fit_em learns from all rows") from None


def sufficient_statistics(
    dag: DAG | BayesianNetwork, data: object, *, missing: MissingRows = "error"
) -> SufficientStatistics:
    """Return the counts of every family of a graph, a value that can be added to others and kept.

    Parameters
    ----------
    dag
        The graph, or a network, which stands for its graph.
    data
        A `Dataset`, or anything one can be made of. Partitions whose counts are to be added need the same states:
        declare them.
    missing
        What is done with rows that have missing cells: ``"error"``, ``"available"`` or ``"complete_rows"``.

    Raises
    ------
    GraphError
        If ``dag`` is neither.
    UnknownNameError
        If a node is no column, or there is no such way to treat missing cells.
    MissingDataError
        If cells are missing and ``missing`` is ``"error"``.
    TooLargeError
        If the tables would exceed the memory budget, before anything is counted.

    Notes
    -----
    One pass over the distinct rows for each family.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, section 17.2.1.

    Examples
    --------
    >>> dag = DAG([("a", "b")])
    >>> first = sufficient_statistics(dag, {"a": [0, 1], "b": [0, 1]})
    >>> second = sufficient_statistics(dag, {"a": [0, 1, 1], "b": [1, 0, 1]})
    >>> print((first + second).counts("b"))
    a  b | value
    -----+------
    0  0 |     1
    0  1 |     1
    1  0 |     1
    1  1 |     2
    """
    graph = as_dag(dag)
    everything = count_source(data, graph.nodes)
    source = rows_to_count(graph, everything, missing)
    counts = count_families(graph, source, copies=_COPIES)
    variables = [family[-1] for family in counts.families]
    return SufficientStatistics(graph, variables, counts.tables, everything.n_rows, everything.total_weight, missing)


def update_statistics(statistics: SufficientStatistics, rows: object) -> SufficientStatistics:
    """Return the statistics with new rows added; the same as counting all rows at once.

    Parameters
    ----------
    statistics
        What was counted so far.
    rows
        The new rows, read with the states that are known.

    Raises
    ------
    DataError
        If the rows show a new state.
    UnknownNameError
        If a node is no column.
    MissingDataError
        If cells are missing, and so far such rows were refused.

    Examples
    --------
    >>> dag = DAG([("a", "b")])
    >>> morning = {"a": ["x", "y"], "b": [0, 1]}
    >>> update_statistics(sufficient_statistics(dag, morning), {"a": ["y"], "b": [0]}).counts("b")["y", 0]
    1.0
    """
    if not isinstance(statistics, SufficientStatistics):
        raise DataError(f"only SufficientStatistics can be updated, not {type(statistics).__name__}: count rows first")
    is_countable = isinstance(rows, Dataset) or not isinstance(rows, CountSource)
    data = Dataset(rows, variables=statistics.variables, columns=statistics.dag.nodes) if is_countable else rows
    return statistics + sufficient_statistics(statistics.dag, data, missing=statistics.missing)

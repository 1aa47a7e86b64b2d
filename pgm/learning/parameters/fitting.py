"""Fitting: `fit_parameters`, from a graph and rows to a network.

Three steps: which rows count (`pgm.learning.parameters.counting`), which counts the prior adds
(`pgm.learning.parameters.dirichlet_priors`), and the division (`pgm.learning.parameters.estimation`). A family with so
many parents that most of its table stays empty is counted by its occupied cells, and only these rows of its table are
worked out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from pgm.data import CountTable, Dataset
from pgm.data.checks import counted
from pgm.data.counts import OccupiedCells
from pgm.data.statistics import MissingRows, SufficientStatistics
from pgm.errors import DataError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG, as_dag
from pgm.learning.families import families_of
from pgm.learning.parameters.counting import rows_to_count
from pgm.learning.parameters.dirichlet_priors import DirichletPrior, dirichlet_prior
from pgm.learning.parameters.estimation import (
    EstimatedTable,
    PointEstimate,
    check_estimate,
    estimate_table,
    estimate_tables,
    is_small,
)
from pgm.learning.parameters.gaussians import continuous_nodes, fit_gaussian, with_continuous_columns
from pgm.learning.parameters.sparse_families import Counts, count_families_sparsely, estimate_occupied
from pgm.network import BayesianNetwork
from pgm.network.core import CPD

__all__ = ["UnseenConfigurationWarning", "fit_parameters", "unseen_configurations"]

_COPIES = 4
"""Arrays of the size of a table that exist at once while a CPT is made of counts and checked."""


class UnseenConfigurationWarning(UserWarning):
    """Rows of a table that no data speak about, set to uniform."""


def fit_parameters(
    dag: DAG | BayesianNetwork,
    data: object,
    *,
    pseudocount: float | Mapping[str, Any] = 0.0,
    equivalent_sample_size: float | None = None,
    prior: DirichletPrior | BayesianNetwork | str | None = None,
    prior_weight: float | None = None,
    estimate: PointEstimate = "mean",
    missing: MissingRows = "error",
    min_variance: float | None = None,
) -> BayesianNetwork:
    """Return the network on ``dag`` with the tables that the data suggest.

    P(child = s | parents = j) = (n(j, s) + a(j, s)) / (n(j) + a(j)), where n counts rows by their weight and a are the
    counts of a Dirichlet prior. Without options a = 0, which is the maximum-likelihood estimate.

    Continuous columns, which must be leaves, get the mean and the variance of the rows of each parent configuration.

    Parameters
    ----------
    dag
        The graph, or a network, of which only the graph is used, and which variables are continuous. Its nodes must be
        columns of the data; further columns are ignored.
    data
        A `Dataset`, or anything one can be made of; declared states are kept, also where they never occur. Or
        `SufficientStatistics`, counted before.
    pseudocount
        a, added to every cell; 1 is Laplace's rule. Or ``{child: counts}`` for some tables, by label:
        ``{"wet": {("yes", "off"): {"no": 2, "yes": 8}}}``; see `pgm.learning.parameters.PseudocountTables`.
    equivalent_sample_size
        Total weight of the prior of each family, spread evenly: a = equivalent_sample_size / (q r) with q the number of
        parent configurations and r of states of the child, the prior of the BDeu score.
    prior
        A network, of whose joint distribution a sample of ``prior_weight`` rows is added, on average. Or
        ``"hierarchical"``: every parent configuration is drawn towards the child's marginal, as strongly as makes the
        counts most probable. Or a `DirichletPrior`. Only one of the three kinds of prior can be given.
    prior_weight
        Weight of a prior network, in rows.
    estimate
        ``"mean"`` of the posterior, the formula above, or its ``"mode"``, (n + a - 1) / (n(j) + a(j) - r).
    missing
        What is done with rows that have missing cells: ``"error"`` refuses them; ``"available"`` counts each family on
        the rows in which the child and its parents are known; ``"complete_rows"`` counts only rows in which all nodes
        are known. How many rows these are, `table_support` tells.
    min_variance
        The least variance of a continuous leaf, for parent configurations with one row or equal numbers. Default: a
        millionth of the variance of its column. The priors do not concern leaves.

    Raises
    ------
    UnknownNameError
        If a node is no column of the data, or an option has no such value.
    MissingDataError
        If cells of the nodes are missing and ``missing`` is ``"error"``.
    TableError
        For a prior that is no finite number from 0 or does not fit the families, for several priors, or if a posterior
        has no mode: some cell has less than 1 in counts and Dirichlet counts.
    GraphError
        If ``dag`` is neither a graph nor a network, or a continuous column has a child.
    DataError
        For statistics of other families; for a continuous column whose numbers are too large for a variance, beyond
        some 1e150; and for one whose numbers are equal, or closer together than some 1e-150, without ``min_variance``.
    TooLargeError
        If a table and the work on it would exceed the memory budget, before anything is counted; names the child.

    Warns
    -----
    UnseenConfigurationWarning
        Once, if parent configurations occur in no row and there is no prior: their rows are uniform, which is a
        convention and not an estimate; so it is that a leaf has the mean and variance of all rows there. The message
        names the children.

    Notes
    -----
    One pass over the distinct rows for each node, and four times the memory of its table. The axes of a table are
    ``dag.parents(child)``, then the child.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, sections 17.2 and 17.4.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]}
    >>> print(fit_parameters(DAG([("rain", "wet")]), data, pseudocount=1).cpt("wet"))
    P(wet | rain)
    rain |       no       yes
    -----+-------------------
    no   |      0.6       0.4
    yes  | 0.333333  0.666667
    """
    chosen = dirichlet_prior(pseudocount, equivalent_sample_size, prior, prior_weight)
    check_estimate(estimate)
    graph = as_dag(dag)
    data = with_continuous_columns(dag, graph, data)
    leaves = continuous_nodes(graph, data)
    if leaves and missing == "complete_rows":
        data = cast("Dataset", data).select(graph.nodes).complete_rows()
    if leaves and missing == "error":
        cast("Dataset", data).require_complete(graph.nodes)
    tables = graph.subgraph([node for node in graph.nodes if node not in leaves]) if leaves else graph
    families, counts = _counted(tables, data, chosen, estimate, missing)
    cpds: dict[str, CPD] = {}
    unseen = {}
    for family, (values, n_unseen) in zip(families, _estimated(families, counts, chosen, estimate), strict=True):
        child = family[-1].name
        cpds[child] = cast("CPT", CPT._of(tuple(family), values))  # known to be right: no need to check and copy it
        unseen[child] = n_unseen
    for name in leaves:
        found = fit_gaussian(graph, name, cast("Dataset", data), missing, min_variance)
        cpds[name] = found.leaf
        unseen[name] = found.n_unseen
    warning = unseen_configurations(unseen, with_leaves=bool(leaves))
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    return BayesianNetwork(cpds[node] for node in graph.nodes)


def unseen_configurations(unseen: Mapping[str, int], *, with_leaves: bool) -> UnseenConfigurationWarning | None:
    """Return the warning of parent configurations that no row shows, if there are any.

    Parameters
    ----------
    unseen
        How many there are of each child.
    with_leaves
        Whether there are continuous leaves.

    Examples
    --------
    >>> unseen_configurations({"wet": 2, "rain": 0}, with_leaves=False)
    UnseenConfigurationWarning("no rows for 2 parent configurations, set to uniform; of 'wet (2)'")
    """
    number = sum(unseen.values())
    if not number:
        return None
    children = listing(f"{child} ({count})" for child, count in unseen.items() if count)
    given = "set to uniform, or to all rows for continuous leaves" if with_leaves else "set to uniform"
    return UnseenConfigurationWarning(f"no rows for {counted(number, 'parent configuration')}, {given}; of {children}")


def _counted(
    dag: DAG, data: object, prior: DirichletPrior, estimate: PointEstimate, missing: MissingRows
) -> tuple[list[list[Variable]], list[Counts]]:
    """Return the families and their counts, in declared order, once it is checked that the prior fits them."""
    if not isinstance(data, SufficientStatistics):
        source = rows_to_count(dag, data, missing)
        families = families_of(dag, source, copies=_COPIES + prior.copies)
        prior.check(families)
        if prior.needs_counts or estimate == "mode":
            return families, list(source.count([(node, dag.parents(node)) for node in dag.nodes]))
        return families, count_families_sparsely(source, families)
    if missing not in ("error", data.missing):
        raise DataError(f"these rows were counted with missing={data.missing!r}, not {missing!r}")
    families = [[data.variable(name) for name in dag.family(node)] for node in dag.nodes]
    tables: list[Counts] = [data.table(node, dag.parents(node)) for node in dag.nodes]
    prior.check(families)
    return families, tables


def _estimated(
    families: Sequence[Sequence[Variable]], counts: list[Counts], prior: DirichletPrior, estimate: PointEstimate
) -> Iterator[tuple[FloatArray, int]]:
    """Yield the table of each family, in order, and how many rows of it are unseen.

    Small tables are made together. The counts of a large one are let go when its table is made.
    """
    place = 0
    while place < len(families):
        end = place
        while end < len(families) and _is_small(counts[end]):
            end += 1
        some, few = families[place:end], cast("list[CountTable]", counts[place:end])
        pseudocounts = [prior.pseudocounts(family, table) for family, table in zip(some, few, strict=True)]
        yield from zip(*estimate_tables(some, few, pseudocounts, estimate), strict=True)
        if end < len(families):
            yield _estimate(families[end], counts, end, prior, estimate)
        place = end + 1


def _is_small(counts: Counts) -> bool:
    return not isinstance(counts, OccupiedCells) and is_small(counts)


def _estimate(
    family: Sequence[Variable], counts: list[Counts], place: int, prior: DirichletPrior, estimate: PointEstimate
) -> EstimatedTable:
    """Return the table of one family, whose counts are taken out of the list: there need not be room for both."""
    table, counts[place] = counts[place], np.empty(0)
    if isinstance(table, OccupiedCells):
        return estimate_occupied(family, table, prior.pseudocounts(family))
    pseudocounts = prior.pseudocounts(family, table)
    return estimate_table(family, table, pseudocounts, estimate)

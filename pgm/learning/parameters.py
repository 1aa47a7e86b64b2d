"""Parameters: the tables of a network whose graph is given, estimated from complete data."""

from __future__ import annotations

import math
import warnings

import numpy as np

from pgm.data import CountTable, count_source
from pgm.errors import TableError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.graph.dag import DAG
from pgm.network import BayesianNetwork

__all__ = ["UnseenConfigurationWarning", "fit_parameters"]


class UnseenConfigurationWarning(UserWarning):
    """Rows of a table that no data speak about, set to uniform."""


def fit_parameters(
    dag: DAG,
    data: object,
    *,
    pseudocount: float = 0.0,
    equivalent_sample_size: float | None = None,
) -> BayesianNetwork:
    """Return the network on ``dag`` with the tables that the data suggest.

    P(child = s | parents = j) = (n(j, s) + a) / (n(j) + r a), where n counts rows by their weight and r is the number
    of states of the child. Without options a = 0, which is the maximum-likelihood estimate.

    Parameters
    ----------
    dag
        The graph. Its nodes must be columns of the data; further columns are ignored.
    data
        A `Dataset`, or anything one can be made of; declared states are kept, also where they never occur.
    pseudocount
        a, added to every cell; 1 is Laplace's rule.
    equivalent_sample_size
        Total weight of the prior of each family, spread evenly: a = equivalent_sample_size / (q r) with q the number of
        parent configurations, the prior of the BDeu score. Not together with ``pseudocount``.

    Raises
    ------
    UnknownNameError
        If a node is no column of the data.
    MissingDataError
        If cells of the nodes are missing.
    TableError
        For a negative or infinite prior, or for two priors.
    TooLargeError
        If a table would exceed the memory budget, before anything is counted; names the child.

    Warns
    -----
    UnseenConfigurationWarning
        Once, if parent configurations occur in no row and there is no prior: their rows are uniform, which is a
        convention and not an estimate. The message names the children.

    Notes
    -----
    One pass over the distinct rows for each node. The axes of a table are ``dag.parents(child)``, then the child.

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
    _check_prior("pseudocount", pseudocount)
    if equivalent_sample_size is not None:
        _check_prior("equivalent_sample_size", equivalent_sample_size)
        if pseudocount:
            raise TableError("give pseudocount or equivalent_sample_size, not both")
    source = count_source(data, dag.nodes)
    variables = {variable.name: variable for variable in source.variables}
    tables = source.count([(node, dag.parents(node)) for node in dag.nodes])
    cpts, unseen = [], {}
    for node, counts in zip(dag.nodes, tables, strict=True):
        prior = pseudocount if equivalent_sample_size is None else equivalent_sample_size / counts.size
        values, empty = _estimate(counts, prior)
        cpts.append(CPT(variables[node], values, [variables[parent] for parent in dag.parents(node)]))
        if empty:
            unseen[node] = empty
    if unseen:
        children = listing(f"{node} ({count})" for node, count in unseen.items())
        message = f"no rows for {sum(unseen.values())} parent configurations, set to uniform; of {children}"
        warnings.warn(message, UnseenConfigurationWarning, stacklevel=2)
    return BayesianNetwork(cpts)


def _check_prior(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise TableError(f"{name} must be a finite number from 0, not {value!r}")


def _estimate(counts: CountTable, prior: float) -> tuple[FloatArray, int]:
    """Return the table of one family, and how many of its rows are uniform for want of data."""
    weights = counts + float(prior)
    totals = weights.sum(axis=-1, keepdims=True)
    empty = totals == 0
    values = np.where(empty, 1.0 / counts.shape[-1], weights / np.where(empty, 1.0, totals))
    return values, int(np.count_nonzero(empty))

"""Structural EM: the graph and the tables of a network from data with missing cells and latent variables.

EM around a structure search: fit the tables of the present graph by EM; complete the rows as the fitted network expects
them; search for a graph that scores better on the completed rows; and so on, until none is found. A better score on
expected counts means a better penalised likelihood of what the rows know (Friedman 1997): it ends at a local optimum.

The searches are for discrete variables. Continuous columns are leaves, and the parents of each are sought on the same
completed rows by `pgm.learning.em.leaf_families`.

References
----------
Friedman (1997), *Proc. 14th Int. Conf. on Machine Learning*, 125-133. Friedman (1998), *Proc. 14th Conf. on Uncertainty
in Artificial Intelligence*, 129-138. Koller and Friedman (2009), section 19.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pgm.data import Dataset
from pgm.data.frames import read_columns
from pgm.errors import DataError, GraphError, listing
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_generator
from pgm.learning.em.completed import Completion, completed
from pgm.learning.em.fitting import fit_em
from pgm.learning.em.graph_search import GAIN, GraphSearch, Search, counted_network, named_search, without
from pgm.learning.em.incomplete import (
    IncompleteData,
    Latent,
    check_latent_sizes,
    checked_budget,
    incomplete_data,
    latent_variables,
    whole_number,
)
from pgm.learning.em.leaves import leaves_of
from pgm.learning.em.result import EMResult, StructuralEMResult, StructuralStep
from pgm.learning.parameters.fitting import UnseenConfigurationWarning
from pgm.learning.parameters.gaussians import continuous_nodes, with_continuous_columns
from pgm.learning.scores.decomposable import Score
from pgm.learning.scores.information import PenalizedLikelihood
from pgm.learning.scores.scoring import AnyScore, get_score
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["structural_em"]


def structural_em(
    data: object,
    score: AnyScore = "bic",
    *,
    search: Search = "hill_climb",
    latent: Latent | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    completion: Completion = "expected",
    max_iter: int = 50,
    search_options: Mapping[str, Any] | None = None,
    em_options: Mapping[str, Any] | None = None,
    rng: np.random.Generator | int = 0,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool = True,
) -> StructuralEMResult:
    """Return a graph, and the network on it, learned from data in which cells or whole variables are missing.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node. Continuous columns are leaves, which have
        discrete parents and no children.
    score
        A name such as ``"bic"``, or a score object. With continuous columns loglik, aic, bic or ebic.
    search
        ``"hill_climb"``, ``"tabu_search"``, ``"order_search"``, ``"ges"``, ``"exact_search"`` or ``"learn_structure"``;
        or a function that is called as these are. It is for the discrete variables; the parents of continuous leaves
        are found by adding and leaving out one at a time.
    latent
        States of variables that have no column, ``{"H": ["a", "b"]}``; they are nodes as well.
    required, forbidden, tiers, max_parents
        Constraints of the graph, as in `hill_climb`.
    start
        The graph to start from; of a network also the tables. Default: the required edges, and for a latent variable
        that has none among these edges to all observed variables, as far as the constraints allow. A latent variable
        that nothing depends on at the start is never found to matter.
    completion
        ``"expected"``: rows stand for all their completions, by probability. ``"most probable"``: for the best.
    max_iter
        Most searches. The graph that the last one found is fitted and returned in any case.
    search_options, em_options
        Further options of the search, and of `fit_em`; by default EM starts from the available cases once, and then
        from the tables that the completed rows suggest. Tables cannot be ``fixed`` or ``shared`` while their families
        are sought.
    rng
        Seed or generator of what is random.
    memory_budget
        Bytes that the tables of the network and those of inference may take.
    progress
        Whether to show progress bars if the search lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError
        For an unknown score or search, and names that are no columns.
    GraphError
        For constraints that cannot hold together, and for a continuous column that is to have a child; names the edges.
    DataError
        For options out of range, a search that returns no graph, and a score that does not know continuous columns.
    MissingDataError, TooLargeError
        As the search and `fit_em`; and if rows with continuous cells have too many completions.

    Notes
    -----
    Rows are completed in full where that makes no more than 64 MiB of codes; beyond, each family that the search asks
    for costs an E step, and with continuous columns the rows are refused.

    The discrete part of the graph and the parents of each leaf are sought apart, which loses nothing: leaves have no
    children, and a score is a sum over families. Only what a score or prior says of the number of variables is said of
    the discrete ones where their families are concerned.

    References
    ----------
    Friedman (1998), *Proc. 14th Conf. on Uncertainty in Artificial Intelligence*, 129-138.

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1, None] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0, 1] * 6
    >>> structural_em({"a": a, "b": b}).dag.edges
    (('a', 'b'),)
    """
    run_search = named_search(search)
    whole_number(max_iter, "max_iter")
    _check_em_options(em_options)
    check_latent_sizes(latent, data)
    latent = latent_variables(latent, checked_budget(memory_budget))
    measure = get_score(score)
    data = _with_leaves_of(start, data, latent)
    names, leaves = _nodes(data, latent)
    constraints = Constraints(names, required, forbidden, tiers, max_parents)
    _check_leaves(leaves, constraints, measure)
    dag = _first_graph(constraints, start, list(latent))
    continuous_nodes(dag, data)  # raises if one has a child
    nets = [start] if isinstance(start, BayesianNetwork) else []
    problem = incomplete_data(without(leaves, dag), data, latent, nets, memory_budget, leaves)
    options = {"progress": progress, **(search_options or {})}
    fitting = {"latent": {v.name: v for v in problem.variables}, "memory_budget": memory_budget, "progress": progress}
    fitting |= {"rng": checked_generator(rng), **(em_options or {})}
    floors = _floors(problem, dag, fitting)
    seek = GraphSearch(run_search, measure, constraints, floors, options, memory_budget)

    trace: list[StructuralStep] = []
    first = {"start": start} if isinstance(start, BayesianNetwork) and start.dag == dag else {}
    fitted, unseen = _fitted(dag, problem.data, {**fitting, **first})
    rows = seek.rows(completed(problem, fitted.network, completion, memory_budget=memory_budget))
    with Progress("structural EM", total=max_iter, show=progress) as bar:
        while True:
            found = seek.better(dag, rows)
            final = seek.score(dag, rows)
            gain = seek.score(found, rows) - final
            trace.append(StructuralStep(found if gain > GAIN else dag, max(gain, 0.0), fitted.log_likelihood))
            bar.step(gain=f"{gain:.4f}")
            if gain <= GAIN:
                break
            dag, problem = found, problem._replace(dag=without(leaves, found))
            smoothing = 0.0 if completion == "expected" else 1.0
            problem.check_tables(memory_budget)
            again = {"starts": 1, "start": counted_network(dag, problem, rows, smoothing)}
            fitted, unseen = _fitted(dag, problem.data, {**fitting, **again})
            rows = seek.rows(completed(problem, fitted.network, completion, memory_budget=memory_budget))
            if len(trace) == max_iter:
                final = seek.score(dag, rows)
                break
    for warning in unseen:
        warnings.warn(warning, stacklevel=2)
    return StructuralEMResult(dag, fitted.network, final, measure.name, tuple(trace), gain <= GAIN, fitted)


def _fitted(dag: DAG, data: Dataset, options: Mapping[str, Any]) -> tuple[EMResult, list[Warning]]:
    """Return a fit of the tables, and what it warned of: only the last fit's warnings matter."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnseenConfigurationWarning)
        fitted = fit_em(dag, data, **options)
    return fitted, [warning.message for warning in caught if isinstance(warning.message, Warning)]


def _floors(problem: IncompleteData, dag: DAG, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the least variance of each leaf."""
    min_variance = options.get("min_variance")
    by_name = {variable.name: variable for variable in problem.variables}
    families = [[by_name[parent] for parent in dag.parents(leaf)] for leaf in problem.leaves]
    return {leaf.name: leaf.floor for leaf in leaves_of(problem.data, families, problem.leaves, min_variance)}


def _check_em_options(options: Mapping[str, Any] | None) -> None:
    for name in options or ():
        if name in ("fixed", "shared"):
            raise DataError(f"em_options cannot have {name!r}: the families of the tables change with the graph")
        if name == "latent":
            raise DataError("em_options cannot have 'latent': give latent= to structural_em itself")


def _with_leaves_of(start: object, data: object, latent: Mapping[str, Variable]) -> object:
    """Return the data with the columns declared as continuous that are leaves of a starting network."""
    if not isinstance(start, BayesianNetwork) or not start.gaussians:
        return data
    columns = (*data.names, *data.continuous) if isinstance(data, Dataset) else tuple(read_columns(data))
    declared = {variable.name: variable for variable in start.variables}
    return with_continuous_columns(start, DAG([], columns), data, {**declared, **latent})


def _nodes(data: object, latent: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the columns, then the latent variables without a column; and which columns are continuous."""
    leaves = list(data.continuous) if isinstance(data, Dataset) else []
    columns = [*data.names, *leaves] if isinstance(data, Dataset) else list(read_columns(data))
    return [*columns, *(name for name in latent if name not in columns)], leaves


def _check_leaves(leaves: Sequence[str], constraints: Constraints, measure: Score) -> None:
    """Raise if continuous columns are to have children, if there is nothing else, or if a score does not know them."""
    if not leaves:
        return
    if len(leaves) == len(constraints.names):
        raise DataError(f"{listing(leaves)} are continuous, and their parents discrete: there are none")
    if not isinstance(measure, PenalizedLikelihood):
        what = f"score {measure.name!r} only for counts: use loglik, aic, bic or ebic"
        raise DataError(f"{listing(leaves)} {'are' if len(leaves) > 1 else 'is'} continuous, and {what}")
    for parent, child in constraints.required:
        if parent in leaves:
            raise GraphError(f"{parent!r} is continuous, so it must be a leaf: {parent} -> {child} cannot be required")


def _first_graph(constraints: Constraints, start: DAG | BayesianNetwork | None, latent: Sequence[str]) -> DAG:
    dag = constraints.starting_graph(start)
    if start is not None:
        return dag
    for name in latent:
        if any(name in edge for edge in dag.edges):
            continue
        children = [
            other
            for other in constraints.names
            if other not in latent
            and constraints.allows(name, other)
            and (constraints.max_parents is None or len(dag.parents(other)) < constraints.max_parents)
        ]
        dag = dag.add_edges((name, child) for child in children)
    return dag

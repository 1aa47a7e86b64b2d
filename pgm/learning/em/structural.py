"""Structural EM: the graph and the tables of a network from data with missing cells and latent variables.

EM around a structure search: fit the tables of the present graph by EM; complete the rows as the fitted network expects
them; search for a graph that scores better on the completed rows; and so on, until none is found. A better score on
expected counts means a better penalised likelihood of what the rows know (Friedman 1997): it ends at a local optimum.

References
----------
Friedman (1997), *Proc. 14th Int. Conf. on Machine Learning*, 125-133. Friedman (1998), *Proc. 14th Conf. on Uncertainty
in Artificial Intelligence*, 129-138. Koller and Friedman (2009), section 19.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeAlias

import numpy as np

from pgm.data import CountSource, Dataset
from pgm.data.checks import check_discrete
from pgm.data.frames import read_columns
from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.cpt import CPT
from pgm.factors.size import MEMORY_BUDGET
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_generator
from pgm.learning.em.completed import Completion, completed
from pgm.learning.em.fitting import fit_em
from pgm.learning.em.incomplete import (
    IncompleteData,
    Latent,
    checked_budget,
    incomplete_data,
    latent_variables,
    whole_number,
)
from pgm.learning.em.result import EMResult, StructuralEMResult, StructuralStep
from pgm.learning.parameters.estimation import estimate_table
from pgm.learning.parameters.fitting import UnseenConfigurationWarning
from pgm.learning.scores.scoring import AnyScore, get_score
from pgm.learning.scores.scoring import score as score_of
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["Search", "structural_em"]

SEARCHES = {
    "exact_search": "pgm.learning.exact.exact_search",
    "ges": "pgm.learning.search.ges",
    "hill_climb": "pgm.learning.search.hill_climbing",
    "learn_structure": "pgm.learning.search.learn_structure",
    "order_search": "pgm.learning.search.order_search",
    "tabu_search": "pgm.learning.search.tabu",
}
"""Where the searches live that can be called by name."""

GAIN = 1e-6
"""A graph that scores better by no more than this is no better."""


class Found(Protocol):
    """What a search must return."""

    @property
    def dag(self) -> DAG:
        """The graph found."""


Search: TypeAlias = str | Callable[..., Found]
"""A search by name, or a function called as ``search(data, score, required=..., forbidden=..., ...)``."""


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
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name such as ``"bic"``, or a score object.
    search
        ``"hill_climb"``, ``"tabu_search"``, ``"order_search"``, ``"ges"``, ``"exact_search"`` or ``"learn_structure"``;
        or a function that is called as these are.
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
        Whether to show progress bars if it lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError
        For an unknown score or search, and names that are no columns.
    GraphError
        For constraints that cannot hold together; names the edges.
    DataError
        For options out of range, and a search that returns no graph.
    MissingDataError, TooLargeError
        As the search and `fit_em`.

    Notes
    -----
    Rows are completed in full where that makes no more than 64 MiB of codes; beyond, each family that the search asks
    for costs an E step.

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
    run_search = _named_search(search)
    whole_number(max_iter, "max_iter")
    _check_em_options(em_options)
    latent = latent_variables(latent, checked_budget(memory_budget))
    measure = get_score(score)
    names = _nodes(data, latent)
    constraints = Constraints(names, required, forbidden, tiers, max_parents)
    dag = _first_graph(constraints, start, list(latent))
    nets = [start] if isinstance(start, BayesianNetwork) else []
    problem = incomplete_data(dag, data, latent, nets, memory_budget)
    options = {"required": required, "forbidden": forbidden, "tiers": tiers, "max_parents": max_parents}
    options |= {"progress": progress, **(search_options or {})}
    fitting = {"latent": {v.name: v for v in problem.variables}, "memory_budget": memory_budget, "progress": progress}
    fitting |= {"rng": checked_generator(rng), **(em_options or {})}

    trace: list[StructuralStep] = []
    first = {"start": start} if isinstance(start, BayesianNetwork) and start.dag == dag else {}
    fitted, unseen = _fitted(dag, problem.data, {**fitting, **first})
    source = completed(problem, fitted.network, completion, memory_budget=memory_budget)
    with Progress("structural EM", total=max_iter, show=progress) as bar:
        while True:
            found = _graph_of(run_search(source, measure, start=dag, **options), names)
            final = score_of(dag, source, measure)
            gain = score_of(found, source, measure) - final
            trace.append(StructuralStep(found if gain > GAIN else dag, max(gain, 0.0), fitted.log_likelihood))
            bar.step(gain=f"{gain:.4f}")
            if gain <= GAIN:
                break
            dag, problem = found, problem._replace(dag=found)
            smoothing = 0.0 if completion == "expected" else 1.0
            problem.check_tables(memory_budget)
            again = {"starts": 1, "start": _counted_network(problem, source, smoothing)}
            fitted, unseen = _fitted(dag, problem.data, {**fitting, **again})
            source = completed(problem, fitted.network, completion, memory_budget=memory_budget)
            if len(trace) == max_iter:
                final = score_of(dag, source, measure)
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


def _counted_network(problem: IncompleteData, source: CountSource, smoothing: float) -> BayesianNetwork:
    """Return the network on the problem's graph with the tables that the completed rows suggest."""
    nodes = problem.dag.nodes
    tables = source.count([(node, problem.dag.parents(node)) for node in nodes])
    return BayesianNetwork(
        [
            CPT(child, estimate_table([*above, child], counts, smoothing / child.cardinality).values, above)
            for (*above, child), counts in zip(problem.families, tables, strict=True)
        ],
        problem.dag,
    )


def _named_search(search: Search) -> Callable[..., Found]:
    if not isinstance(search, str):
        if not callable(search):
            raise UnknownNameError(f"search is a name or a function, not {search!r}; names are {listing(SEARCHES)}")
        return search
    if search not in SEARCHES:
        raise UnknownNameError(f"no search {search!r}; there are {listing(SEARCHES)}, and functions")
    found: Callable[..., Found] = getattr(import_module(SEARCHES[search]), search)
    return found


def _check_em_options(options: Mapping[str, Any] | None) -> None:
    for name in options or ():
        if name in ("fixed", "shared"):
            raise DataError(f"em_options cannot have {name!r}: the families of the tables change with the graph")
        if name == "latent":
            raise DataError("em_options cannot have 'latent': give latent= to structural_em itself")


def _graph_of(result: object, names: Sequence[str]) -> DAG:
    """Return the graph that a search found, its nodes in the order of the data."""
    found = getattr(result, "dag", None)
    if not isinstance(found, DAG) or set(found.nodes) != set(names):
        raise DataError(f"a search must return a result whose .dag is a DAG on {listing(names)}, not {result!r}")
    return DAG(found.edges, names)


def _nodes(data: object, latent: Iterable[str]) -> list[str]:
    """Return the columns, then the latent variables without a column."""
    if isinstance(data, Dataset):
        check_discrete(data.continuous, data.continuous)
    columns = list(data.names) if isinstance(data, Dataset) else list(read_columns(data))
    return [*columns, *(name for name in latent if name not in columns)]


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

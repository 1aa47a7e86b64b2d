"""`fit_em`: the tables of a network from data with missing cells and latent variables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

from pgm.errors import DataError, EvidenceError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG, as_dag
from pgm.learning.constraints import checked_generator
from pgm.learning.em.expected_leaves import ExpectedWithLeaves
from pgm.learning.em.incomplete import (
    IncompleteData,
    Latent,
    check_latent_sizes,
    checked_budget,
    incomplete_data,
    latent_variables,
    whole_number,
)
from pgm.learning.em.iteration import Criteria, EStep, MStep, Run, climb
from pgm.learning.em.leaf_starts import LeafStarts
from pgm.learning.em.leaves import Leaf, MaximizationWithLeaves, leaves_of
from pgm.learning.em.maximization import Maximization, check_fixed, owners_of, prior_exponents
from pgm.learning.em.result import EMResult
from pgm.learning.em.starts import Start, check_start, starting_tables, states_alike
from pgm.learning.parameters.dirichlet_priors import DirichletPrior, dirichlet_prior
from pgm.learning.parameters.estimation import PointEstimate
from pgm.learning.parameters.fitting import unseen_configurations
from pgm.learning.parameters.gaussians import continuous_nodes, with_continuous_columns
from pgm.learning.parameters.moments import Moments
from pgm.network import BayesianNetwork
from pgm.network.core import CPD
from pgm.progress import Progress

__all__ = ["fit_em"]

STARTS_WITH_LATENTS = 10
"""How many starts there are by default if a variable is never observed: the likelihood has many summits then."""


def fit_em(
    dag: DAG | BayesianNetwork,
    data: object,
    *,
    latent: Latent | None = None,
    pseudocount: float | Mapping[str, Any] = 0.0,
    equivalent_sample_size: float | None = None,
    prior: DirichletPrior | BayesianNetwork | None = None,
    prior_weight: float | None = None,
    estimate: PointEstimate = "mean",
    start: Start = "available cases",
    starts: int | None = None,
    rng: np.random.Generator | int = 0,
    max_iter: int = 1000,
    tol: float | None = 1e-10,
    parameter_tol: float | None = None,
    q_tol: float | None = None,
    fixed: Iterable[str] = (),
    shared: Iterable[Iterable[str]] = (),
    hard: bool = False,
    acceleration: Literal["squarem"] | None = None,
    min_variance: float | None = None,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool = True,
) -> EMResult:
    """Return the network on ``dag`` whose tables make what the rows know most probable.

    Cells may be missing anywhere, and variables altogether. In turn, the E step finds the expected counts of every
    family given what each row knows, and the M step the tables that these suggest, until nothing moves any more.

    Continuous columns, which must be leaves, get means and variances by parent configuration. A latent class with such
    leaves is a Gaussian mixture (:mod:`pgm.learning.em.leaves`).

    Parameters
    ----------
    dag
        The graph. Of a network the graph and the states are used, and its tables for ``fixed`` ones.
    data
        A `Dataset`, or anything one can be made of; columns that are no nodes are ignored. Rows may have weights.
    latent
        States of nodes without a column, by label or how many: ``{"H": ["a", "b"]}``, ``{"H": 2}``. A column may also
        show a latent variable in some rows; and a node with a column that shows nothing is latent.
    pseudocount, equivalent_sample_size, prior, prior_weight, estimate
        The prior of the tables, as in `fit_parameters`; EM then maximises the posterior density whose mode the tables
        are (MAP-EM).
    start
        ``"available cases"``: the tables that the known cells of each family suggest, with one row spread over each
        parent configuration; tables of latent variables and their children get random factors, and continuous leaves
        of latent variables the numbers of rows that are far from each other as means. ``"random"``. Or a network on the
        same graph, used as it is, but for states of a latent variable that it does not tell apart: these would be alike
        for ever, and get random factors in the tables of the children, and other means.
    starts
        How many runs to make; the best is returned. The first begins as ``start`` says, the others at random. A run
        whose densities are beyond the range of floats has failed, unless all have. Default: 10 if a variable is never
        observed, else 1.
    rng
        Seed or generator of what is random.
    max_iter
        Most M steps of a run.
    tol
        Stop when a step raises the objective (log-likelihood plus log prior) by no more: in natural log units for all
        rows together, so that 0.01 is nothing whatever their number. Where much is missing EM is slow, and a run far
        from its end gains little at each step.
    parameter_tol
        Stop when the Euclidean norm of the change in the tables is no more; None: not looked at.
    q_tol
        Stop when Q(theta', theta) - Q(theta, theta) is no more; None: not looked at.
    fixed
        Children whose tables are not learned: they are as in ``dag``, or in ``start``, which must be a network.
    shared
        Groups of children that have one table together, such as tosses of the same coin. They need the same states in
        the same order, and so do their parents, first with first and so on. Like ``fixed``, for tables only: means and
        variances of continuous leaves are always learned, each by itself.
    hard
        Count the most probable completion of each row instead of all by their probability: faster to converge, biased.
    acceleration
        ``"squarem"`` extrapolates after every two steps, where the objective does not suffer: the same summit in fewer
        iterations where EM is slow.
    min_variance
        The least variance of a continuous leaf. Default: a millionth of the variance of its column.
    memory_budget
        Bytes that the tables of the network and the work on them may take, those of the E step at once, and the
        densities of rows that leave parents of continuous leaves open: as many rows at a time as there is room for.
    progress
        Whether to show a progress bar if it lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError
        If a node has neither a column nor states, or an option names no node.
    DataError
        If there are no rows or none knows anything, an option is out of range, or two networks do not fit together; for
        continuous columns, as `fit_parameters`.
    ImpossibleEvidenceError
        If a row has probability zero under given tables; names the row and the conflict.
    EvidenceError
        If the density of a row is beyond the range of floats from every start; names the row.
    TableError
        As `fit_parameters`.
    TooLargeError
        If the tables of the network, those for a single row, or the densities of one would exceed the memory budget;
        and if a latent variable has more states than there are rows, beyond a thousand. Before anything is
        counted, but for single rows.

    Warns
    -----
    UnseenConfigurationWarning
        As `fit_parameters`.

    Notes
    -----
    The states of a latent variable have no meaning of their own: any renaming of them fits as well. Which comes out
    depends on the start, so it is the same for the same ``rng``.

    An E step takes about 0.3 microseconds a row for ALARM with a tenth of all cells missing, and 11 with half of them.

    References
    ----------
    Dempster, Laird and Rubin (1977), *Journal of the Royal Statistical Society* B 39, 1-38. Koller and Friedman (2009),
    *Probabilistic Graphical Models*, section 19.2.2. Varadhan and Roland (2008), *Scandinavian Journal of Statistics*
    35, 335-353 (SQUAREM).

    Examples
    --------
    >>> data = {"x": [0, 0, 0, 1, 1, 1], "y": ["no", "no", None, "yes", "yes", None]}
    >>> result = fit_em(DAG([("x", "y")]), data, pseudocount=1)
    >>> print(result.network.cpt("y"))
    P(y | x)
    x |   no   yes
    --+-----------
    0 | 0.75  0.25
    1 | 0.25  0.75
    """
    criteria = Criteria(tol, parameter_tol, q_tol, max_iter)
    check_start(start)
    if acceleration not in (None, "squarem"):
        raise DataError(f"acceleration must be 'squarem' or None, not {acceleration!r}")
    chosen_prior = dirichlet_prior(pseudocount, equivalent_sample_size, prior, prior_weight)
    nets = [net for net in (dag, start) if isinstance(net, BayesianNetwork)]
    graph, budget = as_dag(dag), checked_budget(memory_budget)
    check_latent_sizes(latent, data)
    for net in nets:
        data = with_continuous_columns(net, graph, data, latent_variables(latent) | _declared(net))
    names = continuous_nodes(graph, data)
    discrete = graph.subgraph([node for node in graph.nodes if node not in names]) if names else graph
    problem = incomplete_data(discrete, data, latent, nets, budget, names)
    problem.check_tables(memory_budget, chosen_prior.copies)
    if len(problem.hidden) == len(problem.dag.nodes) and not names:
        raise DataError(f"there is nothing to learn from: all cells of {listing(problem.data.names)} are missing")
    step = _m_step(problem, chosen_prior, estimate, _fixed_tables(problem, fixed, nets), shared)
    number = _number_of_starts(starts, problem)
    generator = checked_generator(rng)
    leaves = _leaves(graph, problem, nets, min_variance)
    e_step, m_step = _steps(problem, step, leaves, memory_budget)
    leaf_starts = LeafStarts(problem.data, leaves, frozenset(problem.hidden), start)
    alike = states_alike(problem, start, leaf_starts.signs())

    def run(place: int) -> Run:
        tables = starting_tables(problem, start, step, generator, place, alike)
        tables += leaf_starts.draw(generator, place, alike)
        return climb(e_step, m_step, tables, criteria, bar, hard=hard, accelerate=acceleration is not None)

    with Progress("EM", show=progress) as bar:
        best, objectives = _best_run(run, number)
    _warn_of_unseen(problem, step, leaves, best)
    method = f"{'hard ' * hard}EM{' with SQUAREM' if acceleration else ''}"
    return _result(graph, problem, step, leaves, best, objectives, method)


def _best_run(run: Callable[[int], Run], number: int) -> tuple[Run, list[float]]:
    """Return the best of some runs, and where each ended.

    A run whose densities are beyond the range of floats has minus infinity.

    Raises
    ------
    EvidenceError
        If all of them are.
    """
    best: Run | None = None
    objectives, failure = [], None
    for place in range(number):
        try:
            found = run(place)
        except EvidenceError as error:
            failure = failure or error
            objectives.append(-math.inf)
            continue
        objectives.append(found.objective)
        if best is None or found.objective > best.objective:  # only one is kept: tables may be large
            best = found
    if best is None:
        raise failure or AssertionError(number)
    return best, objectives


def _declared(net: BayesianNetwork) -> dict[str, Variable]:
    return {variable.name: variable for variable in net.variables}


def _leaves(graph: DAG, problem: IncompleteData, nets: list[BayesianNetwork], min_variance: float | None) -> list[Leaf]:
    """Return the continuous leaves of the graph.

    Raises
    ------
    DataError
        If a given network has another distribution for one: none, or with other parents.
    """
    by_name = {variable.name: variable for variable in problem.variables}
    for net in nets:
        for name in problem.leaves:
            own = [parent.name for parent in net.gaussians[name].parents] if name in net.gaussians else None
            if own is None or sorted(own) != sorted(graph.parents(name)):
                parents = listing(graph.parents(name))
                raise DataError(f"the given network needs a continuous leaf {name!r} with the parents {parents}")
    families = [[by_name[parent] for parent in graph.parents(name)] for name in problem.leaves]
    return leaves_of(problem.data, families, problem.leaves, min_variance)


def _steps(problem: IncompleteData, step: Maximization, leaves: list[Leaf], memory_budget: int) -> tuple[EStep, MStep]:
    """Return the E step and the M step."""
    if not leaves:
        return problem.expected_counts(memory_budget), step
    expected = ExpectedWithLeaves(problem.variables, problem.scopes, problem.data, leaves, memory_budget)
    return expected, MaximizationWithLeaves(step, len(problem.scopes), leaves)


def _number_of_starts(starts: int | None, problem: IncompleteData) -> int:
    if starts is None:
        return STARTS_WITH_LATENTS if problem.hidden else 1
    return whole_number(starts, "starts")


def _fixed_tables(problem: IncompleteData, fixed: Iterable[str], nets: list[BayesianNetwork]) -> dict[int, FloatArray]:
    """Return the tables that are not learned, by number."""
    names = check_fixed(fixed, problem.dag.nodes, problem.leaves)
    if names and not nets:
        raise DataError(f"fixed={names!r}: where are the tables? Give a network as the graph or as start=")
    tables = problem.tables_of(nets[0], names) if names else {}
    return {problem.dag.nodes.index(name): table for name, table in tables.items()}


def _m_step(
    problem: IncompleteData,
    prior: DirichletPrior,
    estimate: PointEstimate,
    fixed: dict[int, FloatArray],
    shared: Iterable[Iterable[str]],
) -> Maximization:
    families = problem.families
    owners = owners_of(families, shared, problem.leaves)
    torn = [number for number, owner in enumerate(owners) if (number in fixed) != (owner in fixed)]
    if torn:
        raise DataError(f"{families[torn[0]][-1].name!r} shares a table, so it is fixed only if all of its group are")
    learned = tuple(number for number, owner in enumerate(owners) if owner == number and number not in fixed)
    if not learned and not problem.leaves:
        raise DataError("all tables are fixed: there is nothing to learn")
    prior.check(families)
    estimator = prior.estimator([families[number] for number in learned], estimate)
    return Maximization(estimator, learned, prior_exponents(estimator), tuple(owners), fixed)


def _warn_of_unseen(problem: IncompleteData, step: Maximization, leaves: list[Leaf], run: Run) -> None:
    unseen = {}
    n_tables = len(problem.families)
    joined = step.joined(run.counts[:n_tables])
    for number, counts, prior in zip(step.learned, joined, step.estimator.pseudocounts, strict=True):
        unseen[problem.dag.nodes[number]] = int(np.count_nonzero((counts + prior).sum(axis=-1) == 0))
    for leaf, array in zip(leaves, run.counts[n_tables:], strict=True):
        unseen[leaf.name] = int(np.count_nonzero(Moments.of_array(array).weights == 0))
    warning = unseen_configurations(unseen, with_leaves=bool(leaves))
    if warning is not None:
        warnings.warn(warning, stacklevel=3)


def _result(
    graph: DAG,
    problem: IncompleteData,
    step: Maximization,
    leaves: list[Leaf],
    run: Run,
    objectives: list[float],
    method: str,
) -> EMResult:
    families = problem.families
    cpds: dict[str, CPD] = {
        child.name: CPT(child, table, above) for (*above, child), table in zip(families, run.tables, strict=False)
    }
    for leaf, parameters in zip(leaves, run.tables[len(families) :], strict=True):
        cpds[leaf.name] = leaf.gaussian(parameters)
    free = [math.prod(run.tables[number].shape[:-1]) * (run.tables[number].shape[-1] - 1) for number in step.learned]
    return EMResult(
        BayesianNetwork(cpds[node] for node in graph.nodes),
        tuple(run.log_likelihoods),
        tuple(run.objectives),
        tuple(run.q_values),
        iterations=len(run.q_values),
        converged=run.stopped_by != "max_iter",
        stopped_by=run.stopped_by,
        start_objectives=tuple(objectives),
        total_weight=problem.data.total_weight,
        n_parameters=sum(free) + sum(run.tables[place].size for place in range(len(families), len(run.tables))),
        method=method,
    )

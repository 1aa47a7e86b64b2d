"""Sampling: independent rows from the joint distribution, or exactly from the posterior given evidence.

*Ancestral sampling* (Koller and Friedman 2009, section 12.1) takes the variables in topological order and draws each
from the row of its table that its parents' states select.

*Given evidence* nothing is rejected and nothing is approximate. Variable elimination over the evidence and its
ancestors sums the variables out one step after another; going back through the steps, what a step has summed out is
drawn from the product of the tables that it joined, cut at what is drawn already (Dawid 1992, "Applications of a
general propagation algorithm for probabilistic expert systems"). What is neither observed nor an ancestor of an
observation follows ancestrally. A row costs the same however improbable the evidence is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TooLargeError
from pgm.factors.size import MEMORY_BUDGET, format_bytes
from pgm.factors.variable import Label
from pgm.graph.base import topological
from pgm.inference.compiling import sum_program
from pgm.inference.drawing import Draw, as_generator, draw_rows
from pgm.inference.evidence import Evidence, ancestral
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.holes import Missing, code_missing, plant
from pgm.inference.options import check_budget, checked_count
from pgm.inference.preparing import Question

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = [
    "ancestral_draws",
    "data_set",
    "empty_columns",
    "posterior_draws",
    "relevant",
    "sample",
    "topological_order",
]


def sample(
    engine: ExactInference,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Label] | None = None,
    likelihoods: Likelihoods | None = None,
    missing: Missing | None = None,
    memory_budget: int = MEMORY_BUDGET,
) -> Dataset:
    """Return n independent rows from P(all variables | evidence), exactly. See ``BayesianNetwork.sample``."""
    n_rows = checked_count(n)
    generator = as_generator(rng)
    check_budget(memory_budget)
    known = engine.code(evidence, likelihoods)
    holes = () if missing is None else code_missing(engine.variables, engine.index, missing)
    columns = empty_columns(engine, range(len(engine.variables)), known, n_rows, memory_budget)
    draws = posterior_draws(engine, known, n_rows, memory_budget)
    ancestors = relevant(engine, known)
    rest = [number for number in range(len(engine.variables)) if number not in ancestors]
    draws += ancestral_draws(engine, rest, n_rows)
    draw_rows(draws, columns, n_rows, generator)
    plant(holes, columns, n_rows, generator)
    return data_set(engine, columns)


# ---------------------------------------------------------------------- what is drawn, and in which order


def relevant(engine: ExactInference, known: Evidence, targets: Iterable[int] = ()) -> set[int]:
    """Return what is observed, weighted by a likelihood or a target, and the ancestors of all that."""
    return set(ancestral(engine.parents, [*known.codes, *known.likelihoods, *targets]))


def topological_order(engine: ExactInference) -> tuple[int, ...]:
    """Return the variables by number, parents before children."""
    edges = [(parent, child) for child, parents in enumerate(engine.parents) for parent in parents]
    return topological(len(engine.variables), edges, [variable.name for variable in engine.variables])


def ancestral_draws(engine: ExactInference, variables: Iterable[int], n_rows: int) -> list[Draw]:
    """Return the draws of some variables, each given its parents, parents first."""
    wanted = set(variables).difference(engine.constant)
    return [
        Draw([v], engine.parents[v], [(engine.scopes[v], engine.values[v])], engine.cardinalities, n_rows)
        for v in topological_order(engine)
        if v in wanted
    ]


def posterior_draws(engine: ExactInference, known: Evidence, n_rows: int, memory_budget: int) -> list[Draw]:
    """Return the draws of the unobserved ancestors of the evidence, given the evidence.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero; names the conflict.
    TooLargeError
        If the tables on the way would exceed the memory budget.

    Notes
    -----
    One forward pass over the plan that computes P(evidence). Every variable in it has an observed descendant, so no
    table of it is known to be all ones, and every step depends on the axes of its operands and nothing else.
    """
    if not known.codes and not known.likelihoods:
        return []
    question = Question("sum", (), frozenset(known.codes), frozenset(known.likelihoods))
    try:
        prepared = engine.prepare(question, memory_budget)
        plan = prepared.program.plan
        program = sum_program(plan, keep_nodes=True)
        plan.check_memory(memory_budget, "sampling given the evidence", program.peak_bytes)
    except TooLargeError as error:
        raise TooLargeError(f"{error}; likelihood weighting needs no such tables") from None
    tables, constant = engine.tables(prepared, known)
    nodes, logarithms = (program.log_nodes(tables), True) if engine.on_logarithms else program.nodes(tables)
    zero = -np.inf if logarithms else 0.0
    if constant == -np.inf or any(np.max(nodes[root]) == zero for root in plan.roots):
        raise engine.impossible(known)
    return [
        Draw(
            step.summed,
            step.scope,
            [(plan.axes[operand], np.asarray(nodes[operand])) for operand in step.operands],
            engine.cardinalities,
            n_rows,
            logarithms=logarithms,
        )
        for step in reversed(plan.steps)
        if step.summed
    ]


# ---------------------------------------------------------------------- what all samplers share


def empty_columns(
    engine: ExactInference, variables: Iterable[int], known: Evidence, n_rows: int, memory_budget: int
) -> dict[int, NDArray[Any]]:
    """Return a column of codes for each of the variables: what is observed filled in, all else zero.

    Raises
    ------
    TooLargeError
        If they would exceed the memory budget.
    """
    from pgm.data.columns import smallest_codes

    kinds = {variable: smallest_codes(engine.cardinalities[variable]) for variable in variables}
    size = n_rows * sum(kind.itemsize for kind in kinds.values())
    if size > memory_budget:
        limit = format_bytes(memory_budget)
        raise TooLargeError(
            f"{n_rows:,} rows of {len(kinds)} variables take {format_bytes(size)}; the memory budget is {limit}"
        )
    columns = {variable: np.zeros(n_rows, kind) for variable, kind in kinds.items()}
    for variable in known.codes.keys() & columns.keys():
        columns[variable][:] = known.codes[variable]
    return columns


def data_set(
    engine: ExactInference, columns: Mapping[int, NDArray[Any]], weights: NDArray[np.float64] | None = None
) -> Dataset:
    """Return columns of codes, one for each variable of the network, as a data set; they are read-only from now on."""
    from pgm.data.dataset import Dataset

    in_order: Sequence[NDArray[Any]] = [columns[number] for number in range(len(engine.variables))]
    for column in in_order:
        column.flags.writeable = False
    return Dataset.from_codes(engine.variables, in_order, weights)

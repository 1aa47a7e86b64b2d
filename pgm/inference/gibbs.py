"""Gibbs sampling: many Markov chains side by side whose states settle down to draws from the posterior.

Each unobserved variable in turn is drawn given all others, of which only its Markov blanket matters: the product of its
own table and its children's, cut at their present states (Geman and Geman 1984; Koller and Friedman 2009, section
12.3.3). All chains take the same step at once. Only the ancestors of the evidence need that; whatever else there is
follows ancestrally from each state that is kept.

Zeros. A chain moves by changing one variable at a time. If probabilities of zero forbid what lies between two possible
states, it may never get from one to the other (it is not ergodic), and its answer is wrong however long it runs. To
decide whether that happens is as hard as the inference itself, so zeros in any table that takes part are refused unless
they are explicitly allowed. Chains start at states drawn by likelihood weighting, which softens the mistake if there
are many chains, but does not mend it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, listing
from pgm.factors.factor import MEMORY_BUDGET, FloatArray, Names, check_size
from pgm.factors.variable import Label
from pgm.inference.drawing import Draw, as_generator, draw_rows, joint_codes
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.sampled_posterior import SampledPosterior, estimate_by_chains
from pgm.inference.sampling import (
    ancestral_draws,
    checked_count,
    data_set,
    empty_columns,
    impossible,
    relevant,
    topological_order,
)
from pgm.inference.weighting import raise_for_no_row, split_targets, weighted_columns

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["DEFAULT", "GibbsSample", "Schedule", "gibbs", "gibbs_posterior"]

STARTS = 20
"""Rows drawn by likelihood weighting for each chain, from which the starting states are taken."""


class _Table(NamedTuple):
    """A table that takes part, cut at what is observed."""

    owner: int
    """The variable whose conditional probabilities, or whose likelihood, it holds."""
    scope: tuple[int, ...]
    values: FloatArray


@dataclass(frozen=True, slots=True)
class GibbsSample:
    """Rows visited by Markov chains; those of one chain depend on each other."""

    data: Dataset
    """The rows: the first kept state of every chain, then the second, and so on."""
    chain: NDArray[np.intp]
    """The number of the chain that each row is from."""


class Schedule(NamedTuple):
    """How the chains are run."""

    chains: int = 100
    """Chains side by side."""
    burn_in: int = 100
    """Sweeps over all variables before the first state is kept."""
    thinning: int = 1
    """Sweeps from one state that is kept to the next."""
    zeros: Literal["raise", "allow"] = "raise"
    """Whether tables with probabilities of zero are refused."""

    def checked(self) -> Schedule:
        """Return the same, or raise if it makes no sense."""
        if self.zeros not in ("raise", "allow"):
            raise EvidenceError(f"zeros is 'raise' or 'allow', not {self.zeros!r}")
        return Schedule(
            checked_count(self.chains, "the number of chains", least=1),
            checked_count(self.burn_in, "the number of sweeps before the first row"),
            checked_count(self.thinning, "the number of sweeps between rows", least=1),
            self.zeros,
        )


DEFAULT = Schedule()
"""How chains are run if nothing else is said."""


def gibbs(
    engine: ExactInference,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Label] | None = None,
    likelihoods: Likelihoods | None = None,
    schedule: Schedule = DEFAULT,
    memory_budget: int = MEMORY_BUDGET,
) -> GibbsSample:
    """Return n rows of Markov chains whose limit is the posterior. See ``BayesianNetwork.gibbs_sample``."""
    n_rows = checked_count(n)
    generator = as_generator(rng)
    known = engine.code(evidence, likelihoods)
    everything = set(range(len(engine.variables)))
    columns, chain = _rows(engine, known, everything, n_rows, generator, schedule.checked(), memory_budget)
    return GibbsSample(data_set(engine, columns), chain)


def gibbs_posterior(
    engine: ExactInference,
    targets: Names,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Label] | None = None,
    likelihoods: Likelihoods | None = None,
    schedule: Schedule = DEFAULT,
    memory_budget: int = MEMORY_BUDGET,
) -> SampledPosterior:
    """Return P(targets | evidence) as n rows of Markov chains estimate it. See ``BayesianNetwork.estimate``."""
    checked = schedule.checked()
    n_rows = checked_count(n, least=2)
    checked_count(checked.chains, "the number of chains, which show the error by how they differ,", least=2)
    generator = as_generator(rng)
    asked = code_targets(engine.index, targets)
    known = engine.code(evidence, likelihoods)
    shape = [engine.cardinalities[target] for target in asked]
    check_size([checked.chains, *shape], f"the joint of {len(asked)} variables, for each chain,", memory_budget)
    needed = relevant(engine, known, asked)
    columns, chain = _rows(engine, known, needed, n_rows, generator, checked, memory_budget)
    free, position = split_targets(engine, known, asked)
    cardinalities = [engine.cardinalities[target] for target in free]
    states = joint_codes(columns, free, cardinalities, n_rows)
    estimate = estimate_by_chains(states, math.prod(cardinalities), chain)
    scope = [engine.variables[target] for target in asked]
    return SampledPosterior.of(scope, position, estimate, n_rows, "Gibbs sampling")


def _rows(
    engine: ExactInference,
    known: Evidence,
    needed: Set[int],
    n_rows: int,
    generator: np.random.Generator,
    schedule: Schedule,
    memory_budget: int,
) -> tuple[dict[int, NDArray[Any]], NDArray[np.intp]]:
    """Return columns of the needed variables, which include all their ancestors, and the chain of each row."""
    columns = empty_columns(engine, needed, known, n_rows, memory_budget)
    n_chains = min(schedule.chains, n_rows)
    chain = np.arange(n_rows) % max(1, n_chains)
    ancestors = relevant(engine, known)
    tables = _cut_tables(engine, known, ancestors)
    _check_zeros(engine, known, tables, schedule)
    hidden = [v for v in topological_order(engine) if v in ancestors and any(v in table.scope for table in tables)]
    if hidden and n_rows:
        n_kept = -(-n_rows // n_chains)
        n_sweeps = schedule.burn_in + n_kept * schedule.thinning
        draws = _blanket_draws(hidden, tables, engine.cardinalities, n_chains * n_sweeps)
        state = _start(engine, known, hidden, n_chains, generator, memory_budget)
        for sweep in range(1, n_sweeps + 1):
            draw_rows(draws, state, n_chains, generator)
            kept, between = divmod(sweep - schedule.burn_in, schedule.thinning)
            if kept > 0 and not between:
                for variable in hidden:
                    part = columns[variable][(kept - 1) * n_chains : kept * n_chains]
                    part[:] = state[variable][: len(part)]
    draw_rows(ancestral_draws(engine, needed - ancestors, n_rows), columns, n_rows, generator)
    return columns, chain


def _cut_tables(engine: ExactInference, known: Evidence, variables: Set[int]) -> list[_Table]:
    """Return the tables of some variables, cut at what is observed, and the likelihoods."""
    codes = {**engine.constant, **known.codes}
    tables = []
    for variable in sorted(variables):
        scope = engine.scopes[variable]
        cut = engine.values[variable][tuple([codes.get(v, slice(None)) for v in scope])]
        tables.append(_Table(variable, tuple(v for v in scope if v not in codes), np.asarray(cut)))
    tables += [_Table(variable, (variable,), vector) for variable, vector in sorted(known.likelihoods.items())]
    return tables


def _check_zeros(engine: ExactInference, known: Evidence, tables: list[_Table], schedule: Schedule) -> None:
    """Raise if the evidence is plainly impossible, or for zeros that are not allowed."""
    if any(not table.values.any() for table in tables):
        raise impossible(engine, known)
    owners = dict.fromkeys(table.owner for table in tables if not table.values.all())
    if owners and schedule.zeros == "raise":
        names = listing(engine.variables[owner].name for owner in owners)
        raise EvidenceError(
            f"probabilities of zero in the tables of {names}: Gibbs sampling may never reach some of the possible "
            f"states; sample from the exact posterior, use likelihood weighting, or allow it with zeros='allow'"
        )


def _blanket_draws(hidden: list[int], tables: list[_Table], cardinalities: tuple[int, ...], n_rows: int) -> list[Draw]:
    """Return for each variable its draw given its Markov blanket."""
    near: dict[int, list[tuple[tuple[int, ...], FloatArray]]] = {variable: [] for variable in hidden}
    for table in tables:
        with np.errstate(divide="ignore"):
            logs = np.log(table.values)
        for variable in table.scope:
            near[variable].append((table.scope, logs))
    draws = []
    for variable, factors in near.items():
        blanket = dict.fromkeys(v for scope, _ in factors for v in scope if v != variable)
        draws.append(Draw([variable], tuple(blanket), factors, cardinalities, n_rows, logarithms=True))
    return draws


def _start(
    engine: ExactInference,
    known: Evidence,
    hidden: list[int],
    n_chains: int,
    generator: np.random.Generator,
    memory_budget: int,
) -> dict[int, NDArray[Any]]:
    """Return a possible state for each chain: rows of likelihood weighting, taken in proportion to their weights."""
    n_rows = STARTS * n_chains
    columns, logs = weighted_columns(engine, known, relevant(engine, known), n_rows, generator, memory_budget)
    peak = float(logs.max())
    if peak == -math.inf:
        raise_for_no_row(engine, known, n_rows)
    sums = np.cumsum(np.exp(logs - peak))
    chosen = np.searchsorted(sums, generator.random(n_chains) * sums[-1], side="right")
    return {variable: columns[variable][chosen] for variable in hidden}

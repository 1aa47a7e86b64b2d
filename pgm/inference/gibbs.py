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

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, ImpossibleEvidenceError, listing
from pgm.factors.factor import FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Label
from pgm.inference.drawing import Draw, draw_rows
from pgm.inference.estimation import Request
from pgm.inference.evidence import Evidence, code_evidence
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.options import checked_count
from pgm.inference.sampled_posterior import SampledPosterior, estimate_by_chains
from pgm.inference.sampling import (
    ancestral_draws,
    data_set,
    empty_columns,
    relevant,
    topological_order,
)
from pgm.inference.weighting import raise_for_no_row, weighted_columns

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["GibbsSample", "Schedule", "gibbs", "gibbs_posterior"]

STARTS = 20
"""Rows drawn by likelihood weighting for each chain, from which the starting states are taken."""

CHAIN_BYTES = 24
"""Bytes that a row takes beside its cells: the number of its chain, its joint state, and both as one number."""


class _Table(NamedTuple):
    """A table that takes part, cut at what is observed."""

    owner: int
    """The variable whose conditional probabilities, or whose likelihood, it holds."""
    scope: tuple[int, ...]
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class GibbsSample:
    """Rows visited by Markov chains; those of one chain depend on each other."""

    data: Dataset
    """The rows: the first kept state of every chain, then the second, and so on."""
    chain: NDArray[np.intp]
    """The number of the chain that each row is from."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GibbsSample):
            return NotImplemented
        return self.data == other.data and np.array_equal(self.chain, other.chain)

    def __hash__(self) -> int:
        return hash(self.data)


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
    initial: Mapping[str, Label] | None = None
    """States in which the chains start, ``{name: label}``, of all variables that change or of some."""

    def changed(self) -> list[str]:
        """Return the names of what differs from the schedule that is taken unless something else is said."""
        return [name for name, own, usual in zip(self._fields, self, Schedule(), strict=True) if own != usual]

    def checked(self) -> Schedule:
        """Return the same, or raise if it makes no sense."""
        if self.zeros not in ("raise", "allow"):
            raise EvidenceError(f"zeros is 'raise' or 'allow', not {self.zeros!r}")
        return Schedule(
            checked_count(self.chains, "the number of chains", least=1),
            checked_count(self.burn_in, "the number of sweeps before the first row"),
            checked_count(self.thinning, "the number of sweeps between rows", least=1),
            self.zeros,
            self.initial,
        )


DEFAULT = Schedule()


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
    request = Request.of(engine, None, n, rng, evidence, likelihoods, memory_budget, least=0)
    columns, chain = _rows(request, schedule.checked())
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
    checked_count(checked.chains, "the number of chains, which show the error by how they differ,", least=2)
    request = Request.of(engine, targets, n, rng, evidence, likelihoods, memory_budget, least=2)
    shape = [engine.cardinalities[target] for target in request.asked or ()]
    check_size([checked.chains, *shape], f"the joint of {len(shape)} variables, for each chain,", memory_budget)
    columns, chain = _rows(request, checked)
    return request.posterior(
        columns, lambda states, n_states: estimate_by_chains(states, n_states, chain), "Gibbs sampling"
    )


def _rows(request: Request, schedule: Schedule) -> tuple[dict[int, NDArray[Any]], NDArray[np.intp]]:
    """Return columns of the variables that the request needs, and the chain of each row."""
    engine, known, n_rows, generator = request.engine, request.known, request.n_rows, request.generator
    needed = request.needed
    request.check_memory(needed, CHAIN_BYTES)
    columns = empty_columns(engine, needed, known, n_rows, request.memory_budget)
    n_chains = min(schedule.chains, n_rows)
    chain = np.arange(n_rows) % max(1, n_chains)
    ancestors = relevant(engine, known)
    tables = _cut_tables(engine, known, ancestors)
    _check_zeros(request, tables, schedule)
    hidden = [v for v in topological_order(engine) if v in ancestors and any(v in table.scope for table in tables)]
    initial = _initial(engine, schedule, hidden)
    if hidden and n_rows:
        n_kept = -(-n_rows // n_chains)
        n_sweeps = schedule.burn_in + n_kept * schedule.thinning
        draws = _blanket_draws(hidden, tables, engine.cardinalities, n_chains * n_sweeps)
        state = _start(request, hidden, initial, n_chains)
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
    codes = engine.with_constants(known).codes
    tables = [_Table(*table) for table in engine.reduced(sorted(variables), codes)]
    return tables + [_Table(variable, (variable,), vector) for variable, vector in sorted(known.likelihoods.items())]


def _initial(engine: ExactInference, schedule: Schedule, hidden: list[int]) -> dict[int, int]:
    """Return the states in which all chains start, by number."""
    codes = code_evidence(engine.variables, engine.index, schedule.initial, "initial")
    others = [engine.variables[number].name for number in codes if number not in hidden]
    if others:
        changing = listing(engine.variables[number].name for number in sorted(hidden))
        raise EvidenceError(f"{listing(others)} in initial: the variables that the chains change are {changing}")
    return codes


def _check_zeros(request: Request, tables: list[_Table], schedule: Schedule) -> None:
    """Raise if the evidence is plainly impossible, or for zeros that are not allowed."""
    if any(not table.values.any() for table in tables):
        raise request.engine.impossible(request.known, request.memory_budget)
    owners = dict.fromkeys(table.owner for table in tables if not table.values.all())
    if owners and schedule.zeros == "raise":
        names = listing(request.engine.variables[owner].name for owner in owners)
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


def _start(request: Request, hidden: list[int], initial: Mapping[int, int], n_chains: int) -> dict[int, NDArray[Any]]:
    """Return a possible state for each chain: rows of likelihood weighting, taken in proportion to their weights."""
    known = request.known._replace(codes={**request.known.codes, **initial})
    rows = request._replace(asked=(), known=known, n_rows=STARTS * n_chains)
    columns, logs = weighted_columns(rows)
    peak = float(logs.max())
    if peak == -np.inf:
        try:
            raise_for_no_row(rows)
        except ImpossibleEvidenceError as error:
            if not initial:
                raise
            raise EvidenceError(f"the chains cannot start in the initial state: together with it, {error}") from None
    sums = np.cumsum(np.exp(logs - peak))
    chosen = np.searchsorted(sums, request.generator.random(n_chains) * sums[-1], side="right")
    return {variable: columns[variable][chosen] for variable in hidden}

"""`EMResult` and `StructuralEMResult`: what EM returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pgm.graph.dag import DAG
from pgm.learning.em.iteration import Criterion
from pgm.network import BayesianNetwork

__all__ = ["EMResult", "StructuralEMResult", "StructuralStep"]

_REASONS = {
    "objective": "the objective hardly rose any more",
    "parameters": "the parameters hardly changed any more",
    "Q": "Q hardly rose any more",
    "max_iter": "max_iter was reached",
}


@dataclass(frozen=True, repr=False)
class EMResult:
    """The network that EM found, and how it got there."""

    network: BayesianNetwork
    """The graph with the tables after the last iteration."""
    log_likelihoods: tuple[float, ...]
    """ln P(what the rows know), of the starting tables and after each iteration; without a prior it never falls, but
    for rounding, some 1e-15 of its size. For hard EM that of the completed rows."""
    objectives: tuple[float, ...]
    """The log-likelihood plus the log prior of the tables up to a constant: what is maximised, and never falls, but
    for rounding."""
    q_values: tuple[float, ...]
    """Q(theta(i+1), theta(i)) of each M step: the expected complete-data log-likelihood plus the log prior."""
    iterations: int
    """Number of M steps."""
    converged: bool
    """Whether a criterion stopped it before ``max_iter``."""
    stopped_by: Criterion
    """``"objective"``, ``"parameters"``, ``"Q"`` or ``"max_iter"``."""
    start_objectives: tuple[float, ...]
    """The final objective of every start, in order, minus infinity for one that could not be computed; the network is
    that of the best."""
    total_weight: float
    """Number of rows, or the sum of their weights."""
    n_parameters: int
    """Free parameters that were learned: fixed tables have none, shared ones count once."""
    method: str
    """Which kind of EM."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the network."""
        return self.log_likelihoods[-1]

    @property
    def bic(self) -> float:
        """LL - k/2 ln N of what the rows know: compares numbers of latent states, higher is better."""
        return self.log_likelihood - 0.5 * self.n_parameters * math.log(self.total_weight)

    @property
    def aic(self) -> float:
        """LL - k; higher is better."""
        return self.log_likelihood - self.n_parameters

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        starts = f", best of {len(self.start_objectives)} starts" if len(self.start_objectives) > 1 else ""
        return f"<EMResult: log-likelihood {self.log_likelihood:.4f}, {how} in {self.iterations} iterations{starts}>"

    def __str__(self) -> str:
        reached, begun = self.objectives[-1], self.objectives[0]
        with_prior = f"; with the log prior {reached:.4f}" if self.objectives != self.log_likelihoods else ""
        lines = [
            f"{self.method}: {self.network!r}",
            f"log-likelihood {self.log_likelihood:.4f}{with_prior}, {reached - begun:.4f} above the start",
            f"{self.iterations} iterations; {_REASONS[self.stopped_by]}",
        ]
        if len(self.start_objectives) > 1:
            lines.append("starts: " + ", ".join(f"{value:.4f}" for value in self.start_objectives))
        return "\n".join(lines)


class StructuralStep(NamedTuple):
    """One iteration of structural EM."""

    dag: DAG
    """The graph that the search found."""
    gain: float
    """By how much it scores better than the graph before, both on the counts expected under the network before."""
    log_likelihood: float
    """ln P(what the rows know) of the network fitted to the graph before."""

    def __str__(self) -> str:
        return f"log-likelihood {self.log_likelihood:.4f}, gain {self.gain:+.4f}, {len(self.dag.edges)} edges"


@dataclass(frozen=True, repr=False)
class StructuralEMResult:
    """The graph and the network that structural EM found."""

    dag: DAG
    """The best graph found."""
    network: BayesianNetwork
    """The network on it, its tables fitted by EM."""
    score: float
    """Score of the graph on the counts expected under the network; higher is better."""
    score_name: str
    """Which score that is."""
    trace: tuple[StructuralStep, ...]
    """The iterations."""
    converged: bool
    """Whether it ended because no graph found was better."""
    em: EMResult
    """The last fit of the tables."""

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        graph = f"{len(self.dag.nodes)} nodes, {len(self.dag.edges)} edges"
        found = f"{self.score_name} {self.score:.4f}, log-likelihood {self.em.log_likelihood:.4f}"
        return f"<StructuralEMResult: {graph}, {found}, {how} in {len(self.trace)} iterations>"

    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], *(f"  {step}" for step in self.trace)])

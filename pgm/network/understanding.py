"""Understanding an answer: which parameters and which evidence it depends on, and what to observe next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pgm.factors.factor import Factor, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.evidence import Evidence
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.network.core import Core

if TYPE_CHECKING:
    from pgm.inference.analysis import Impact, Sensitivity

__all__ = ["Understanding"]


class Understanding(Core):
    """What :class:`~pgm.network.BayesianNetwork` tells about its answers."""

    __slots__ = ()

    def families(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, Factor]:
        """Return P(parents, child | evidence) for every variable, from one forward and one backward pass.

        Observed variables have all their mass on the state observed. Raises as :meth:`query` does.
        """
        from pgm.inference import analysis

        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        found = analysis.families(engine, engine.code(known, likelihoods), memory_budget)
        return {name: found[name] for name in self._index}

    def sensitivity(
        self,
        target: Names,
        state: Label,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Sensitivity:
        """Return how P(target = state | evidence) depends on every parameter of the network.

        Two backward passes give all derivatives; the others of a row move in proportion. The result's ``tornado()``
        ranks parameters by how far the posterior moves.
        Evidence must be discrete.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> first = asia.sensitivity("lung", "yes", {"xray": "yes"}).tornado(top=1)[0]
        >>> first.variable, dict(first.parents)
        ('xray', {'either': 'no'})
        """
        from pgm.inference import analysis

        target = self._discrete(target)
        engine, known = self._only_discrete(evidence, likelihoods)
        return analysis.sensitivity(engine, target, state, known, memory_budget)

    def mutual_information(
        self,
        target: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, float]:
        """Return I(target; X | evidence) in nats for every other unobserved X, largest first: what to observe next."""
        from pgm.inference import analysis

        target = self._discrete(target)
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return analysis.mutual_information(engine, target, engine.code(known, likelihoods), memory_budget)

    def evidence_impact(
        self,
        target: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, Impact]:
        """Return for each piece of evidence the target's posterior without it, and how far it is, largest effect first.

        Each observation and each likelihood is one piece, by the name of its variable. A likelihood of a variable that
        is observed as well is named "the likelihood of" it; without the observation it counts, beside it it does not.
        Evidence must be discrete.
        """
        from pgm.inference import analysis

        target = self._discrete(target)
        engine, known = self._only_discrete(evidence, likelihoods)
        return analysis.evidence_impact(engine, target, known, memory_budget)

    def conflict(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> float:
        """Return Jensen's conflict measure of the evidence: positive where its parts speak against each other.

        It is ln of the product of P(e_i) over P(e); zero for one observation or independent ones. Each likelihood is
        a piece e_i, also of a variable that is observed: there it says whether report and observation agree.
        Evidence must be discrete.
        """
        from pgm.inference import analysis

        return analysis.conflict(*self._only_discrete(evidence, likelihoods), memory_budget)

    def _only_discrete(
        self, evidence: Mapping[str, Label] | None, likelihoods: Likelihoods | None
    ) -> tuple[ExactInference, Evidence]:
        """Return the engine and the evidence, which must not be continuous."""
        return self._engine, self._engine.code(self._discrete(evidence), self._discrete(likelihoods))

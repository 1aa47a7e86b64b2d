"""Questions to a network: posteriors, probabilities, most probable states, interventions, and what they will cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pgm.errors import EvidenceError
from pgm.factors.factor import Factor, Names, as_names
from pgm.factors.mixture import GaussianMixture
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.contraction import TINY
from pgm.inference.exact import Likelihoods
from pgm.inference.options import checked_count
from pgm.network.core import Core, listed

if TYPE_CHECKING:
    from pgm.inference.explanation import Explanation
    from pgm.inference.query_plan import QueryPlan

__all__ = ["Asking"]


class Asking(Core):
    """The questions of :class:`~pgm.network.BayesianNetwork` to which exact inference has the answers."""

    __slots__ = ()

    def query(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        do: Mapping[str, Label] | None = None,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Any:
        """Return the posterior P(targets | evidence).

        Parameters
        ----------
        targets
            One name, or several for their joint distribution. A continuous one is asked about by itself.
        evidence
            Observed states, ``{name: label}``; of continuous variables numbers, ``{name: number}``. A target that is
            observed has all its mass on the state observed.
        likelihoods
            Likelihood (virtual) evidence, ``{name: P(what was seen | state) for each state}``, in declared order or by
            label. Only ratios matter. It is what an unreliable report of the variable says, and weighs its states; it
            does not fix the variable's posterior.
        distributions
            Soft evidence by Jeffrey's rule, ``{name: distribution}``: the posterior that a variable shall have,
            whatever the network says; several are met together, by the distribution closest to the network's that does.
            All else follows from them as it would from observations.
        do
            Interventions, ``{name: state}``: these variables are set from outside, whatever their parents say, and the
            evidence is seen afterwards. See :meth:`do`.
        order
            Elimination order to use instead of the best one found; must hold every variable to sum out.
        memory_budget
            Bytes that the tables on the way may take at once.

        Returns
        -------
        Factor or GaussianMixture
            Shape: the targets' cardinalities, in the order asked. Sums to one. Of a continuous target its density, a
            :class:`~pgm.factors.mixture.GaussianMixture`.

        Raises
        ------
        UnknownNameError, UnknownStateError
            For names and labels that do not exist; lists those that do.
        EvidenceError
            For no target or a repeated one, and for distributions that no distribution over the possible states has
            together.
        ImpossibleEvidenceError
            If P(evidence) = 0, even where the targets do not depend on the contradiction; names the conflict.
        TooLargeError
            If the tables would exceed the memory budget; nothing is allocated.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> round(asia.query("lung", {"xray": "yes", "smoke": "yes"})["yes"], 6)
        0.645991
        """
        if do is not None:
            return self.do(do).query(
                targets,
                evidence,
                likelihoods=likelihoods,
                distributions=distributions,
                order=order,
                memory_budget=memory_budget,
            )
        targets, distributions = listed(targets), self._discrete(distributions)
        if self._continuous_among(targets):
            options = {"likelihoods": likelihoods, "distributions": distributions, "order": order}
            return self._mixture(as_names(targets), evidence, options, memory_budget)
        targets = self._discrete(targets)
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.posterior(
            targets,
            known,
            likelihoods=likelihoods,
            distributions=distributions,
            order=order,
            memory_budget=memory_budget,
        )

    def _mixture(
        self,
        targets: tuple[str, ...],
        evidence: Mapping[str, Label] | None,
        options: Mapping[str, Any],
        memory_budget: int,
    ) -> GaussianMixture:
        """Return the density of a continuous leaf: its Gaussians, weighted by the posterior of its parents."""
        if len(targets) > 1:
            self._discrete(targets)
        leaf = self._leaves[targets[0]]
        if isinstance(evidence, Mapping) and leaf.name in evidence:
            raise EvidenceError(f"{leaf.name!r} is continuous and observed, so it has no density")
        parents = [parent.name for parent in leaf.parents]
        asked = parents or [self._cpts[0].child.name]  # raises for impossible evidence
        engine, known = self._asked(evidence, likelihoods=options["likelihoods"], memory_budget=memory_budget)
        weights = engine.posterior(asked, known, memory_budget=memory_budget, **options).values
        if not parents:
            return GaussianMixture._of(leaf, np.ones(()), np.zeros(()))
        if weights.min() >= TINY:
            return GaussianMixture._of(leaf, weights, np.log(weights))
        return GaussianMixture._of(
            leaf, weights, engine.log_posterior(asked, known, memory_budget=memory_budget, **options)
        )

    def marginals(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, Factor]:
        """Return the posterior of every unobserved variable, ``{name: P(name | evidence)}``, in declared order.

        One forward and one backward pass over the network give them all. Raises as :meth:`query` does. Continuous
        variables are left out: :meth:`query` gives their densities.
        """
        distributions = self._discrete(distributions)
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.marginals(
            known,
            likelihoods=likelihoods,
            distributions=distributions,
            order=order,
            memory_budget=memory_budget,
        )

    def probability(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> float:
        """Return P(evidence): 0.0 if it is impossible, 1.0 if there is none.

        With ``likelihoods``, the probability of the evidence and of what the likelihoods report. With continuous
        evidence it is a density, which may be above 1.

        Raises
        ------
        EvidenceError
            If densities, or likelihoods that are no probabilities, make it larger than any float;
            :meth:`log_probability` still tells.
        """
        logarithm = self.log_probability(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        try:
            return math.exp(logarithm)
        except OverflowError:
            raise EvidenceError(
                f"the likelihoods or densities are so large that the product is beyond the range of floats: "
                f"exp({logarithm:.10g}); ask for log_probability"
            ) from None

    def log_probability(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> float:
        """Return the natural logarithm of P(evidence): minus infinity if it is impossible.

        Does not underflow where :meth:`probability` would. With continuous evidence it is the logarithm of a density.
        """
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.log_probability(known, likelihoods=likelihoods, memory_budget=memory_budget)

    def mpe(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Explanation:
        """Return the most probable explanation: the joint state of all unobserved variables of largest probability.

        Continuous variables that are not observed are integrated out.

        It is in general not made of the most probable state of each variable. Of several equally probable explanations
        it is the first: the first variable has its first state possible, and so on in declared order. Equally probable
        are those whose ratio is within 1e-11 of one, as rounding may leave it. Raises as :meth:`query` does.

        References
        ----------
        Koller and Friedman (2009), section 13.2.

        Examples
        --------
        >>> import pgm
        >>> explanation = pgm.networks.load("earthquake").mpe({"JohnCalls": "True", "MaryCalls": "True"})
        >>> dict(explanation.assignment)
        {'Burglary': 'True', 'Earthquake': 'False', 'Alarm': 'True'}
        """
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.explanations(1, None, known, likelihoods=likelihoods, memory_budget=memory_budget)[0]

    def map(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Explanation:
        """Return the most probable joint state of the targets, all other variables summed out (marginal MAP).

        Exact, by eliminating the others before the targets; that can cost far more than :meth:`mpe`. Ties are decided
        as there, and it raises as :meth:`query` does.

        References
        ----------
        Park and Darwiche (2004), "Complexity results and approximation strategies for MAP explanations".
        """
        targets = self._discrete(targets)
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.explanations(1, targets, known, likelihoods=likelihoods, memory_budget=memory_budget)[0]

    def best_explanations(
        self,
        k: int,
        evidence: Mapping[str, Label] | None = None,
        *,
        targets: Names | None = None,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> tuple[Explanation, ...]:
        """Return the k most probable explanations, best first; fewer if fewer are possible.

        Equally probable ones, as for :meth:`mpe`, come in declared order, and if not all of them are among the k, the
        first are.

        Parameters
        ----------
        k
            How many, at least 1.
        evidence, likelihoods
            As in :meth:`query`.
        targets
            Variables to explain, as in :meth:`map`; by default all that are unobserved, as in :meth:`mpe`.
        memory_budget
            As in :meth:`query`.

        References
        ----------
        Nilsson (1998), "An efficient algorithm for finding the M most probable configurations in probabilistic expert
        systems".
        """
        k = checked_count(k, "k", least=1)
        targets = self._discrete(targets)
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return engine.explanations(k, targets, known, likelihoods=likelihoods, memory_budget=memory_budget)

    def plan(
        self, targets: Names | None = None, observed: Names = (), *, order: Sequence[str] | None = None
    ) -> QueryPlan:
        """Return how a question would be answered: order, steps, largest table, operations; print it to read it.

        Parameters
        ----------
        targets
            As in :meth:`query`; None for all marginals.
        observed
            Names that will be observed; their values do not matter.
        order
            Elimination order to use instead of the best one found.
        """
        if not self._leaves:
            return self._engine.query_plan(targets, observed, order=order)
        targets, seen = self._discrete(targets), as_names(observed)
        self._check_known(seen)
        leaves = self._continuous_among(seen)
        engine, _ = self._asked({name: float(self._leaves[name].means.flat[0]) for name in leaves})
        plan = engine.query_plan(targets, [name for name in seen if name not in leaves], order=order)
        return replace(plan, observed=tuple(name for name in self.names if name in seen))

    def do(self, assignments: Mapping[str, Label]) -> Self:
        """Return the mutilated network: the variables named are set to these states and cut off from their parents.

        References
        ----------
        Koller and Friedman (2009), section 21.3. Pearl (2009), *Causality*, chapter 3.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> seen, done = asia.query("smoke", {"lung": "yes"}), asia.do({"lung": "yes"}).query("smoke")
        >>> round(seen["yes"], 3), done["yes"]
        (0.909, 0.5)
        """
        from pgm.inference import intervention

        assignments = self._discrete(assignments)
        changed = {cpt.child.name: cpt for cpt in intervention.do(self._cpts, assignments)}
        return type(self)([changed[name] if name in changed else self._leaves[name] for name in self.names])

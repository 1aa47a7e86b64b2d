"""Soft evidence by Jeffrey's rule: the posteriors that some variables shall have, whatever the network says.

For one variable X with the new distribution q, P'(y) = sum over x of q(x) P(y | x): the network is asked as before
given each state of X, and only the weights of the states are new. As a likelihood of X that is q(x) / P(x). For several
variables each in turn gets its distribution, which upsets the others a little less each time (iterative proportional
fitting); what it converges to is, of all distributions with these marginals, the one closest to the network's.

References
----------
Jeffrey (1965), *The Logic of Decision*. Csiszar (1975), "I-divergence geometry of probability distributions and
minimization problems". Chan and Darwiche (2005), "On the revision of probabilistic beliefs using uncertain evidence".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pgm.errors import EvidenceError, ImpossibleEvidenceError, listing
from pgm.factors.cpt import ROUNDING
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.inference.evidence import Evidence, by_label, numbered

if TYPE_CHECKING:
    from pgm.inference.exact import ExactInference

__all__ = ["with_distributions"]

FITTING_ROUNDS, FITTED = 1000, 1e-12
"""Rounds of iterative proportional fitting, and the largest deviation with which it is done."""


def with_distributions(
    engine: ExactInference, known: Evidence, distributions: Mapping[str, Any], memory_budget: int = MEMORY_BUDGET
) -> Evidence:
    """Return evidence extended by the likelihoods that give some variables the distributions wanted.

    Parameters
    ----------
    engine
        The network.
    known
        What else is known.
    distributions
        ``{name: distribution}``, each in declared order or by label.
    memory_budget
        As in ``BayesianNetwork.query``.

    Raises
    ------
    EvidenceError
        For what is no distribution, a variable that is observed, or distributions that cannot be had together.
    ImpossibleEvidenceError
        If a state shall get probability that has none.
    """
    if not isinstance(distributions, Mapping):
        raise EvidenceError(f"distributions is a mapping from variable names to vectors, not {distributions!r}")
    wanted: dict[int, FloatArray] = {}
    for name, given in distributions.items():
        number = numbered(engine.index, name)
        wanted[number] = _distribution(engine.variables[number], given)
        if number in known.codes:
            raise EvidenceError(f"{name!r} is observed and cannot get another distribution")
    wanted = {number: vector for number, vector in wanted.items() if number not in engine.constant}
    vectors = {n: known.likelihoods.get(n, np.ones(engine.cardinalities[n])) for n in wanted}
    for _ in range(FITTING_ROUNDS):
        worst = 0.0
        for number, vector in wanted.items():
            fitted = known._replace(likelihoods={**known.likelihoods, **vectors})
            current = engine.coded_marginals(fitted, None, memory_budget)[engine.variables[number].name]
            if ((current == 0) & (vector > 0)).any():
                name = engine.variables[number].name
                raise ImpossibleEvidenceError(f"{name!r} cannot get probability where it has none: {vector.tolist()}")
            worst = max(worst, float(np.abs(current - vector).max()))
            ratio = np.divide(vector, current, out=np.zeros_like(vector), where=current > 0)
            vectors[number] = vectors[number] * ratio / (vectors[number] * ratio).max()
        if worst < FITTED or (len(wanted) == 1 and worst < 1):
            return known._replace(likelihoods={**known.likelihoods, **vectors})
    names = listing(engine.variables[number].name for number in wanted)
    raise EvidenceError(f"no distribution close to the network's gives all of {names} what they should have")


def _distribution(variable: Variable, given: Any) -> FloatArray:
    vector = by_label(variable, given, "the distribution")
    if abs(vector.sum() - 1.0) > ROUNDING:
        raise EvidenceError(f"the distribution of {variable.name!r} sums to {vector.sum():.10g}, not 1")
    return np.asarray(vector / vector.sum())

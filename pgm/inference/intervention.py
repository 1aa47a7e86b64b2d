"""Interventions: what follows if some variables are set from outside, rather than seen in their states.

do(X = x) cuts X off from its causes and gives it the state x; every other table stays as it is. The joint distribution
that results is the truncated factorisation, P(all others | do(x)) = product of their tables at X = x (Pearl 2009,
*Causality*, section 3.2.3). With all variables in the model nothing need be identified: every question about the
intervention is a question to the mutilated network. Evidence then is what is seen *after* the intervention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pgm.errors import EvidenceError
from pgm.factors.cpt import CPT
from pgm.factors.variable import Label
from pgm.inference.evidence import code_evidence

__all__ = ["do"]


def do(cpts: Iterable[CPT], assignments: Mapping[str, Label]) -> list[CPT]:
    """Return the tables of the mutilated network, in the same order. See ``BayesianNetwork.do``.

    Parameters
    ----------
    cpts
        One table for each variable.
    assignments
        ``{name: label}``: the variables set and their states.

    Raises
    ------
    UnknownNameError, UnknownStateError
        For a name or a label that does not exist; the message lists those that do.

    References
    ----------
    Koller and Friedman (2009), section 21.3, definition 21.1.

    Examples
    --------
    >>> from pgm.factors.variable import Variable
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> cpts = [CPT(rain, [0.8, 0.2]), CPT(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain])]
    >>> print(do(cpts, {"wet": "yes"})[1])
    P(wet)
    no  yes
    -------
    0    1
    """
    tables = list(cpts)
    if not isinstance(assignments, Mapping):
        raise EvidenceError(f"an intervention is a mapping from variable names to states, not {assignments!r}")
    variables = [cpt.child for cpt in tables]
    index = {variable.name: number for number, variable in enumerate(variables)}
    for number, code in code_evidence(variables, index, assignments).items():
        child = variables[number]
        tables[number] = CPT(child, np.eye(child.cardinality)[code])
    return tables

"""Evidence: from labels to codes, and which tables a question needs at all.

A variable is *barren* for a question if neither it nor a descendant is asked for or observed: its table sums to one
and can be left out (Shachter 1986). What is d-separated from the targets by the evidence cannot change their posterior
either; but it can reveal that the evidence is impossible, so it may only be left out if its tables hold no zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import EvidenceError, TableError, UnknownNameError, listing
from pgm.factors.factor import FloatArray, Names, as_names, as_table
from pgm.factors.variable import Label, Variable

__all__ = [
    "Evidence",
    "ancestral",
    "by_label",
    "code_evidence",
    "code_likelihoods",
    "code_targets",
    "connected",
    "numbered",
    "relative",
]


SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
"""The smallest number with all its digits."""


class Evidence(NamedTuple):
    """What is known, by variable number."""

    codes: dict[int, int]
    """States observed."""
    likelihoods: dict[int, FloatArray]
    """Likelihood vectors of unobserved variables: P(what was seen | state), divided by the largest entry."""
    log_scale: float
    """ln of the product of what they were divided by, and of what the overruled ones say of the states observed."""
    overruled: tuple[tuple[int, FloatArray], ...] = ()
    """Likelihoods of observed variables, and of those of one state, as given: they change no posterior."""


def code_evidence(
    variables: Sequence[Variable],
    index: Mapping[str, int],
    evidence: Mapping[str, Label] | None,
    what: str = "evidence",
) -> dict[int, int]:
    """Return the evidence, or other states that go by what they are called, as ``{variable number: state code}``.

    Raises
    ------
    UnknownNameError, UnknownStateError
        For a name or a label that does not exist; the message lists those that do.
    """
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise EvidenceError(f"{what} is a mapping from variable names to states, not {evidence!r}")
    codes = {}
    for name, label in evidence.items():
        number = numbered(index, name)
        codes[number] = variables[number].code(label)
    return codes


def numbered(index: Mapping[str, int], name: str) -> int:
    """Return the number of a variable, or raise UnknownNameError with the names there are."""
    try:
        return index[name]
    except (KeyError, TypeError):
        raise UnknownNameError(f"no variable {name!r}; the variables are {listing(index)}") from None


def code_likelihoods(
    variables: Sequence[Variable],
    index: Mapping[str, int],
    likelihoods: Mapping[str, ArrayLike | Mapping[Label, float]] | None,
) -> dict[int, FloatArray]:
    """Return likelihood vectors by variable number.

    Raises
    ------
    UnknownNameError, UnknownStateError
        For a name or a label that does not exist.
    EvidenceError
        For a vector of the wrong length, with a negative, infinite or missing number, or all zeros.
    """
    if likelihoods is None:
        return {}
    if not isinstance(likelihoods, Mapping):
        raise EvidenceError(f"likelihoods is a mapping from variable names to vectors, not {likelihoods!r}")
    return {numbered(index, name): _likelihood(variables[index[name]], given) for name, given in likelihoods.items()}


def _likelihood(variable: Variable, given: Any) -> FloatArray:
    vector = by_label(variable, given, "the likelihood")
    if not vector.max() > 0:
        raise EvidenceError(f"the likelihood of {variable.name!r} is zero for every state")
    return vector


def relative(variable: Variable, vector: FloatArray) -> FloatArray:
    """Return a likelihood divided by its largest entry.

    Raises
    ------
    EvidenceError
        If that loses an entry, or digits of it: numbers so unequal cannot be told from zeros any more.

    Examples
    --------
    >>> relative(Variable("rain", ["no", "yes"]), np.array([1e-320, 1e308]))
    Traceback (most recent call last):
    ...
    pgm.errors.EvidenceError: the likelihood of 'rain' has entries more than 1e307 times as large as others, ...
    """
    scaled = vector / vector.max()
    if ((scaled < SMALLEST_NORMAL) & (vector > 0)).any():
        raise EvidenceError(
            f"the likelihood of {variable.name!r} has entries more than 1e307 times as large as others, which are as "
            f"good as impossible; if that is meant, make them 0: {vector.tolist()}"
        )
    return np.asarray(scaled)


def by_label(variable: Variable, given: Any, what: str) -> FloatArray:
    """Return non-negative numbers for the states of a variable, given in declared order or by label.

    Raises
    ------
    EvidenceError
        If they are not one finite, non-negative number for each state.
    """
    states = listing(variable.states)
    if isinstance(given, Mapping):
        numbers = {variable.code(label): number for label, number in given.items()}
        if len(numbers) < variable.cardinality:
            raise EvidenceError(f"{what} of {variable.name!r} needs a number for each of {states}")
        given = [numbers[code] for code in range(variable.cardinality)]
    try:
        vector = as_table(given, f"{what} of {variable.name!r}")
    except TableError as error:
        raise EvidenceError(str(error)) from None
    if vector.shape != (variable.cardinality,):
        raise EvidenceError(f"{what} of {variable.name!r} needs one number for each of {states}, not {given!r}")
    if not (np.isfinite(vector).all() and (vector >= 0).all()):
        raise EvidenceError(f"{what} of {variable.name!r} has a number that is negative or not finite: {given!r}")
    return vector


def code_targets(index: Mapping[str, int], targets: Names) -> tuple[int, ...]:
    """Return the targets as variable numbers, in the order asked.

    Raises
    ------
    UnknownNameError
        For a name that does not exist.
    EvidenceError
        If no variable is asked for, or one twice.
    """
    if isinstance(targets, str):
        return (numbered(index, targets),)
    if isinstance(targets, (set, frozenset)) or not isinstance(targets, Iterable):
        raise EvidenceError(f"targets are one name or a list of names, in the order wanted, not {targets!r}")
    names = as_names(targets)
    if not names:
        raise EvidenceError("no target: name at least one variable to ask for")
    numbers = tuple(numbered(index, name) for name in names)
    if len(set(numbers)) != len(numbers):
        raise EvidenceError(f"a target is named twice: {listing(names)}")
    return numbers


def ancestral(parents: Sequence[Sequence[int]], nodes: Iterable[int]) -> list[int]:
    """Return the nodes and all their ancestors, in increasing order: everything else is barren."""
    found = set(nodes)
    stack = list(found)
    while stack:
        for parent in parents[stack.pop()]:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return sorted(found)


def connected(scopes: Mapping[int, Sequence[int]], targets: Iterable[int]) -> set[int]:
    """Return the tables joined to the targets by a chain of shared variables.

    Parameters
    ----------
    scopes
        Unobserved variables by table.
    targets
        Variables asked for.
    """
    holders: dict[int, list[int]] = {}
    for table, scope in scopes.items():
        for variable in scope:
            holders.setdefault(variable, []).append(table)
    found: set[int] = set()
    seen = set(targets)
    stack = list(seen)
    while stack:
        for table in holders.get(stack.pop(), ()):
            if table in found:
                continue
            found.add(table)
            for variable in scopes[table]:
                if variable not in seen:
                    seen.add(variable)
                    stack.append(variable)
    return found

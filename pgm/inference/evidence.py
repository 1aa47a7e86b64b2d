"""Evidence: from labels to codes, and which tables a question needs at all.

A variable is *barren* for a question if neither it nor a descendant is asked for or observed: its table sums to one
and can be left out (Shachter 1986). What is d-separated from the targets by the evidence cannot change their posterior
either; but it can reveal that the evidence is impossible, so it may only be left out if its tables hold no zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pgm.errors import EvidenceError, UnknownNameError, listing
from pgm.factors.factor import Names, as_names
from pgm.factors.variable import Label, Variable

__all__ = ["ancestral", "code_evidence", "code_targets", "connected"]


def code_evidence(
    variables: Sequence[Variable], index: Mapping[str, int], evidence: Mapping[str, Label] | None
) -> dict[int, int]:
    """Return the evidence as ``{variable number: state code}``.

    Raises
    ------
    UnknownNameError, UnknownStateError
        For a name or a label that does not exist; the message lists those that do.
    """
    if not evidence:
        return {}
    if not isinstance(evidence, Mapping):
        raise EvidenceError(f"evidence is a mapping from variable names to states, not {evidence!r}")
    codes = {}
    for name, label in evidence.items():
        try:
            number = index[name]
        except (KeyError, TypeError):
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(index)}") from None
        codes[number] = variables[number].code(label)
    return codes


def code_targets(index: Mapping[str, int], targets: Names) -> tuple[int, ...]:
    """Return the targets as variable numbers, in the order asked.

    Raises
    ------
    UnknownNameError
        For a name that does not exist.
    EvidenceError
        If no variable is asked for, or one twice.
    """
    names = as_names(targets)
    if not names:
        raise EvidenceError("no target: name at least one variable to ask for")
    for name in names:
        if name not in index:
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(index)}")
    if len(set(names)) != len(names):
        raise EvidenceError(f"a target is named twice: {listing(names)}")
    return tuple(index[name] for name in names)


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

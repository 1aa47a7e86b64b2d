"""The factor graph of a question, and one round of messages along its edges.

One node for each unobserved variable, one for each table, and an edge where a table contains a variable; what is
observed has been sliced out of the tables. :mod:`pgm.inference.loopy` says what the messages are and what for.

All tables of one shape make their messages at once, in a few array operations. Messages are kept as logarithms: a
message may be extremely small without becoming zero, and what is zero is impossible.

References
----------
Kschischang, Frey and Loeliger (2001), "Factor graphs and the sum-product algorithm".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import ImpossibleEvidenceError, listing
from pgm.factors.factor import FloatArray
from pgm.inference.evidence import Evidence
from pgm.inference.exact import ExactInference

__all__ = ["FactorGraph", "strip_leaves"]

LEAST = -1e9
"""Logarithms of positive numbers stop here: messages that never settle would grow out of all bounds. No forest of less
than a million tables comes near."""


class _Segments(NamedTuple):
    """Consecutive stretches of a flat array: one for each message, or for each variable."""

    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    """The stretch of every entry."""
    variables: tuple[int, ...]
    """The variable of every stretch."""

    @classmethod
    def of(cls, variables: Sequence[int], cardinalities: Sequence[int]) -> _Segments:
        lengths = np.array([cardinalities[variable] for variable in variables], dtype=np.intp)
        starts = np.cumsum(lengths) - lengths
        return cls(starts, np.repeat(np.arange(len(lengths)), lengths), tuple(variables))


class _Group(NamedTuple):
    """All tables of one shape: their logarithms, stacked along the last axis, where array operations are fastest."""

    tables: FloatArray
    places: tuple[slice, ...]
    """For every axis where its messages stand, table after table."""

    def along(self, axis: int, messages: FloatArray) -> FloatArray:
        """Return a view of the messages along one axis, shape (states, tables)."""
        return messages[self.places[axis]].reshape(self.tables.shape[-1], -1).T

    def toward(self, axis: int, messages: FloatArray) -> FloatArray:
        """Return the messages along one axis, given those from the variables, as logarithms; shape (states, tables)."""
        joint = self.tables
        for other in range(len(self.places)):
            if other != axis:
                after = (1,) * (len(self.places) - 1 - other)
                joint = joint + self.along(other, messages).reshape(joint.shape[other], *after, -1)
        return _log_sum(joint, tuple(other for other in range(len(self.places)) if other != axis))


def _log_sum(logs: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    peak = logs.max(axis=axes, keepdims=True)
    peak[np.isneginf(peak)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - peak).sum(axis=axes)) + peak.squeeze(axes))


class FactorGraph(NamedTuple):
    """The tables that agree with the evidence, and where messages and beliefs stand in flat arrays of logarithms.

    Messages stand group after group, within a group axis after axis, within an axis table after table, so that each
    axis of a group is one stretch. Beliefs stand variable after variable.
    """

    engine: ExactInference
    known: Evidence
    groups: tuple[_Group, ...]
    messages: _Segments
    variables: _Segments
    single: FloatArray
    """ln of the product of all tables over a single variable, laid out as the beliefs."""
    state: NDArray[np.intp]
    """For every entry of a message the belief it belongs to."""
    places: dict[int, tuple[int, int]]
    """Where the belief of a variable stands."""
    constant: float
    """ln of the product of all tables over no variable."""
    scopes: tuple[tuple[int, ...], ...]
    """The variables of every table over more than one."""
    depth: int | None
    """Rounds after which all messages are final, if the graph is a forest; None if it has loops."""

    @classmethod
    def of(cls, engine: ExactInference, known: Evidence) -> FactorGraph:
        """Return the graph of all tables of a network, given evidence.

        Raises
        ------
        ImpossibleEvidenceError
            If a table is zero at what is observed.
        """
        codes = engine.with_constants(known).codes
        hidden = [number for number in range(len(engine.variables)) if number not in codes]
        ends = np.cumsum([0, *(engine.cardinalities[number] for number in hidden)]).tolist()
        places = {number: (ends[i], ends[i + 1]) for i, number in enumerate(hidden)}
        single, constant = np.zeros(ends[-1]), 0.0
        alike: dict[tuple[int, ...], list[tuple[tuple[int, ...], FloatArray]]] = {}
        for table, scope, values in engine.reduced(range(len(engine.variables)), codes):
            if not scope and values == 0:
                raise _impossible(engine, known, f"the table of {engine.variables[table].name!r} is zero there")
            with np.errstate(divide="ignore"):
                logs = np.log(values)
            if not scope:
                constant += float(logs)
            elif len(scope) == 1:
                single[slice(*places[scope[0]])] += logs
            else:
                alike.setdefault(values.shape, []).append((scope, logs))
        for number, vector in known.likelihoods.items():
            with np.errstate(divide="ignore"):
                single[slice(*places[number])] += np.log(vector)
        groups, owners = _grouped(alike.values())
        segments = _Segments.of(owners, engine.cardinalities)
        beliefs = _Segments.of(hidden, engine.cardinalities)
        offset = np.array([places[variable][0] for variable in owners], dtype=np.intp) - segments.starts
        state = np.arange(segments.owner.size) + offset[segments.owner]
        scopes = tuple([scope for members in alike.values() for scope, _ in members])
        depth = _depth(hidden, scopes)
        return cls(engine, known, groups, segments, beliefs, single, state, places, constant, scopes, depth)

    def given(self, variable: int, code: int) -> FactorGraph:
        """Return the same graph with one variable in one of its states; nothing stands elsewhere."""
        start, stop = self.places[variable]
        single = self.single.copy()
        single[start:stop][np.arange(stop - start) != code] = -math.inf
        return self._replace(single=single)

    def uniform(self) -> FloatArray:
        """Return the messages of the start."""
        return self.normalize(np.zeros(self.state.size))[0]

    def round(self, messages: FloatArray) -> FloatArray:
        """Return the messages to the variables after one more round."""
        _, outgoing = self._from_variables(messages)
        fresh = np.empty_like(messages)
        for group in self.groups:
            for axis in range(len(group.places)):
                group.along(axis, fresh)[...] = group.toward(axis, outgoing)
        return self.normalize(fresh)[0]

    def beliefs(self, messages: FloatArray) -> tuple[FloatArray, float]:
        """Return the beliefs of all variables, and the Bethe estimate of the log of the sum over all joint states.

        That is the sum of ln Z_a over tables and ln Z_i over variables minus ln Z_ia over edges, with
        Z_a = sum of f_a times its messages, Z_i = sum of the messages to i, and Z_ia = sum of m_ia m_ai.
        """
        together, outgoing = self._from_variables(messages)
        outgoing, _ = self.normalize(outgoing)
        beliefs, by_variable = self.normalize(together, self.variables)
        _, by_edge = self.normalize(outgoing + messages)
        estimate = self.constant + float(by_variable.sum() - by_edge.sum())
        for group in self.groups:
            estimate += float(_log_sum(group.toward(0, outgoing) + group.along(0, outgoing), (0,)).sum())
        return np.exp(beliefs), estimate

    def _from_variables(self, messages: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the product of all messages to each variable, and the messages from the variables, not normalised.

        Each leaves out the message it answers. Zeros are counted, for their logarithm cannot be subtracted again.
        """
        zero = np.isneginf(messages)
        finite = np.where(zero, 0.0, messages)
        size = self.single.size
        total = self.single + np.bincount(self.state, finite, size)
        zeros = np.bincount(self.state, zero, size)
        outgoing = total[self.state] - finite
        outgoing[zeros[self.state] > zero] = -math.inf
        total[zeros > 0] = -math.inf
        self._peaks(total, self.variables)  # messages that contradict each other are noticed here
        return total, outgoing

    def normalize(self, logs: FloatArray, segments: _Segments | None = None) -> tuple[FloatArray, FloatArray]:
        """Return distributions, as logarithms, and the logs of what they were divided by; messages unless said."""
        segments = segments or self.messages
        peaks = self._peaks(logs, segments)
        shifted = logs - peaks[segments.owner]
        shifted[(shifted < LEAST) & (shifted > -math.inf)] = LEAST
        sums = np.log(np.add.reduceat(np.exp(shifted), segments.starts))
        return shifted - sums[segments.owner], peaks + sums

    def _peaks(self, logs: FloatArray, segments: _Segments) -> FloatArray:
        """Return the largest number of each segment.

        Raises
        ------
        ImpossibleEvidenceError
            If one is zero throughout.
        """
        peaks: FloatArray = np.maximum.reduceat(logs, segments.starts)
        if peaks.min(initial=0.0) == -math.inf:
            name = self.engine.variables[segments.variables[int(peaks.argmin())]].name
            raise _impossible(self.engine, self.known, f"it leaves no state of {name!r}")
        return peaks


def _impossible(engine: ExactInference, known: Evidence, why: str) -> ImpossibleEvidenceError:
    names = [engine.variables[number].name for number in sorted({*known.codes, *known.likelihoods})]
    return ImpossibleEvidenceError(f"the evidence on {listing(names)} has probability zero: {why}")


def _grouped(
    alike: Iterable[list[tuple[tuple[int, ...], FloatArray]]],
) -> tuple[tuple[_Group, ...], list[int]]:
    """Return the groups of tables of one shape, and the variable of every message in its order."""
    groups: list[_Group] = []
    owners: list[int] = []
    start = 0
    for members in alike:
        tables = np.stack([logs for _, logs in members], axis=-1)
        places: list[slice] = []
        for axis, states in enumerate(tables.shape[:-1]):
            places.append(slice(start, start + len(members) * states))
            owners += [scope[axis] for scope, _ in members]
            start = places[-1].stop
        groups.append(_Group(tables, tuple(places)))
    return tuple(groups), owners


def _depth(variables: Sequence[int], scopes: Sequence[Sequence[int]]) -> int | None:
    """Return in how many rounds all messages are final, or None if the factor graph has a loop.

    Only a forest vanishes altogether when its leaves are stripped off, and half the nodes of its longest path, the
    tables, cannot be more than the layers.

    >>> _depth([0, 1, 2], [(0, 1), (1, 2)]), _depth([0, 1, 2], [(0, 1), (1, 2), (0, 2)])
    (3, None)
    """
    layers, core = strip_leaves(variables, scopes)
    return None if core else layers


def strip_leaves(variables: Iterable[int], scopes: Sequence[Sequence[int]]) -> tuple[int, dict[int, int]]:
    """Return how many layers of leaves a factor graph has, and the variables left on its loops or between them.

    Each of these comes with the number of tables around it that are left as well.

    >>> strip_leaves([0, 1, 2, 3], [(0, 1), (1, 2), (0, 2), (2, 3)])
    (2, {0: 2, 1: 2, 2: 2})
    """
    around: dict[int, list[int]] = {variable: [] for variable in variables}
    for table, scope in enumerate(scopes):
        around[-1 - table] = [variable for variable in scope if variable in around]
        for variable in around[-1 - table]:
            around[variable].append(-1 - table)
    degree = {node: len(neighbours) for node, neighbours in around.items()}
    layer = [node for node, count in degree.items() if count <= 1]
    gone = set(layer)
    layers = 0
    while layer:
        layers += 1
        fresh = []
        for node in layer:
            for other in around[node]:
                degree[other] -= 1
                if degree[other] == 1:
                    fresh.append(other)
        gone.update(fresh)
        layer = fresh
    return layers, {node: count for node, count in degree.items() if node >= 0 and node not in gone}

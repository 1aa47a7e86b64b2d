"""The k most probable joint states, one after another.

Max-marginals tell where the second best differs from the best. The space is split there: one half keeps the best, the
other has the second, and the third is the better of the second bests of both (Nilsson 1998, "An efficient algorithm for
finding the M most probable configurations in probabilistic expert systems"). Equally probable ones come in declared
order; where there are more of them than are wanted, max-marginals tell which states of the first variable lead to one,
then of the second, and so on.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.ties import LOG_ROUNDING, TIE

if TYPE_CHECKING:
    from pgm.inference.maximum import Maximizer

__all__ = ["Ranking"]

TIED = 2 * TIE
"""Logarithms of two ratios this close count as equal: each may be off by a tie."""

Codes: TypeAlias = dict[int, int]


class Ranking:
    """The joint states in the order of their probabilities.

    Parameters
    ----------
    maximizer
        Finds the best of any part of them.
    tables
        The tables whose product is the probability.
    logarithms
        Whether they are given as logarithms.
    """

    def __init__(self, maximizer: Maximizer, tables: Sequence[FloatArray], logarithms: bool) -> None:
        self._maximizer = maximizer
        self._tables = tables
        self._logarithms = logarithms
        self._log_value = float(maximizer.program.log_value(tables)) if logarithms else 0.0

    def first(self, k: int) -> tuple[list[Codes], float]:
        """Return the k best of positive probability, fewer if there are fewer, and ln of the last ratio to the best.

        Equal ones are in order: first what has the earlier state of the first variable in which they differ.
        """
        groups: list[list[Codes]] = []
        highest = log_next = -math.inf
        for log_ratio, following, codes in islice(self.best_first(), min(k, sys.maxsize)):
            if not groups or log_ratio < self._lowest_tied(highest):
                groups.append([])
                highest = log_ratio
            groups[-1].append(codes)
            log_next = following
        if groups and log_next >= self._lowest_tied(highest) and log_next > -math.inf:  # more of the last than fit
            better = {self._in_order(codes) for group in groups[:-1] for codes in group}
            all_tied = self.in_order(self._lowest_tied(highest))
            tied = (codes for codes in all_tied if self._in_order(codes) not in better)
            groups[-1] = list(islice(tied, k - len(better)))
        return [codes for group in groups for codes in sorted(group, key=self._in_order)], highest

    def _lowest_tied(self, log_ratio: float) -> float:
        """Return the smallest log ratio that counts as equal to this one."""
        rounding = LOG_ROUNDING * abs(self._log_value + log_ratio) if self._logarithms else 0.0
        return log_ratio - TIED - rounding

    def _in_order(self, codes: Codes) -> tuple[int, ...]:
        return tuple([codes[variable] for variable in self._maximizer.variables])

    def _log_max_marginals(self, allowed: dict[int, FloatArray]) -> dict[int, FloatArray]:
        """Return the logarithms of the max-marginals of a part of the space; none if nothing in it is possible."""
        found = self._maximizer.log_max_marginals(self._tables, allowed, logarithms=self._logarithms)
        return {} if found is None else found

    def in_order(self, least: float) -> Iterator[Codes]:
        """Yield in order all joint states that are probable enough.

        Parameters
        ----------
        least
            Logarithm of their smallest ratio to the best.

        Notes
        -----
        A pass of max-marginals for each variable of which more than one state is possible, given those before it.
        """
        parts: list[tuple[Codes, float]] = [({}, 0.0)]
        while parts:
            fixed, log_best = parts.pop()
            marginals = self._log_max_marginals({v: self._maximizer.only(v, code) for v, code in fixed.items()})
            if not marginals:
                continue
            ratios = {variable: log_best + logs for variable, logs in marginals.items()}
            choices = {v: np.flatnonzero(logs >= min(least, logs.max())).tolist() for v, logs in ratios.items()}
            open_ = next((variable for variable, codes in choices.items() if len(codes) > 1), None)
            if open_ is None:
                yield {variable: codes[0] for variable, codes in choices.items()}
                continue
            parts += [({**fixed, open_: code}, float(ratios[open_][code])) for code in reversed(choices[open_])]

    def best_first(self) -> Iterator[tuple[float, float, Codes]]:
        """Yield all joint states of positive probability, the most probable first.

        Before each stand the logarithms of its ratio to the best, and of that of the next one.

        Notes
        -----
        Two passes of max-marginals and one for the state itself for each after the first.
        """
        maximizer, logarithms = self._maximizer, self._logarithms
        order = count()
        queue: list[tuple[float, int, float, Codes, dict[int, FloatArray], int]] = []

        def enqueue(best: Codes, allowed: dict[int, FloatArray], log_best: float) -> None:
            """Queue a part of the space by its second best, which differs from its best in the variable found here."""
            log_ratio, differing = -math.inf, -1
            for variable, logs in self._log_max_marginals(allowed).items():
                others = np.delete(logs, best[variable]) - logs[best[variable]]
                if others.max(initial=-math.inf) > log_ratio:
                    log_ratio, differing = float(others.max()), variable
            if log_ratio > -math.inf:
                heapq.heappush(queue, (-log_best - log_ratio, next(order), log_best, best, allowed, differing))

        first = maximizer.best(self._tables, logarithms=logarithms)
        if first is None:
            return
        enqueue(first, {}, 0.0)
        yield 0.0, -queue[0][0] if queue else -math.inf, first
        while queue:
            negative, _, log_best, best, allowed, variable = heapq.heappop(queue)
            only = maximizer.only(variable, best[variable])
            same = {**allowed, variable: only}
            other = {**allowed, variable: allowed.get(variable, 1.0) - only}
            found = maximizer.best(maximizer.weighted(self._tables, other, logarithms), logarithms=logarithms)
            if found is None:
                continue
            enqueue(found, other, -negative)
            enqueue(best, same, log_best)
            yield -negative, -queue[0][0] if queue else -math.inf, found

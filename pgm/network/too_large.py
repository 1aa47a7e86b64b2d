"""When an exact answer is too large: exact within a memory budget for more time, or approximate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pgm.factors.factor import Factor, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.exact import Likelihoods
from pgm.inference.preparing import MAX_OPERATIONS
from pgm.network.core import Core

if TYPE_CHECKING:
    from pgm.inference.loopy import LoopyResult

__all__ = ["WhenTooLarge"]


class WhenTooLarge(Core):
    """What :class:`~pgm.network.BayesianNetwork` offers where tables would exceed the memory budget."""

    __slots__ = ()

    def query_by_conditioning(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
        max_operations: float = MAX_OPERATIONS,
        progress: bool = True,
    ) -> Factor:
        """Return P(targets | evidence), exactly, within a memory budget that the plan of :meth:`query` would exceed.

        Some variables, the cutset, are observed at each of their joint states in turn and the answers added up: less
        memory for more time.

        Parameters
        ----------
        targets, evidence, likelihoods
            As in :meth:`query`.
        memory_budget
            Bytes that the tables for one state of the cutset may take at once; the answer itself comes on top. A
            joint of several targets may not be larger than that either.
        max_operations
            Most multiplications to take on: states of the cutset times operations for each.
        progress
            Whether to show a progress bar if it lasts over two seconds on a terminal.

        Raises
        ------
        TooLargeError
            If it would take more operations than allowed, with both numbers. Otherwise raises as :meth:`query` does.

        References
        ----------
        Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.4.2.

        Examples
        --------
        >>> import pgm
        >>> alarm = pgm.networks.load("alarm")
        >>> evidence = {"HRBP": "HIGH", "BP": "LOW"}
        >>> found = alarm.query_by_conditioning("LVFAILURE", evidence, memory_budget=2_000)
        >>> found.allclose(alarm.query("LVFAILURE", evidence))
        True
        """
        from pgm.inference import conditioning

        targets = self._discrete(targets)
        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return conditioning.posterior(
            engine,
            targets,
            known,
            likelihoods=likelihoods,
            memory_budget=memory_budget,
            max_operations=max_operations,
            progress=progress,
        )

    def marginals_by_conditioning(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
        max_operations: float = MAX_OPERATIONS,
        progress: bool = True,
    ) -> dict[str, Factor]:
        """Return the posterior of every unobserved variable, as :meth:`marginals` does, within a memory budget.

        One forward and one backward pass for each state of the cutset give them all. Options and errors as for
        :meth:`query_by_conditioning`.
        """
        from pgm.inference import conditioning

        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return conditioning.marginals(
            engine,
            known,
            likelihoods=likelihoods,
            memory_budget=memory_budget,
            max_operations=max_operations,
            progress=progress,
        )

    def log_probability_by_conditioning(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
        max_operations: float = MAX_OPERATIONS,
        progress: bool = True,
    ) -> float:
        """Return ln P(evidence), as :meth:`log_probability` does, within a memory budget.

        Options and errors as for :meth:`query_by_conditioning`.
        """
        from pgm.inference import conditioning

        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        return conditioning.log_probability(
            engine,
            known,
            likelihoods=likelihoods,
            memory_budget=memory_budget,
            max_operations=max_operations,
            progress=progress,
        )

    def approximate_marginals(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        damping: float = 0.3,
        tol: float = 1e-9,
        max_iter: int = 1000,
        error_variables: int = 6,
        progress: bool = True,
    ) -> LoopyResult:
        """Return approximate posterior marginals by loopy belief propagation; the result says how it went.

        Exact where the factor graph is a forest; elsewhere the errors are estimated, but not bounded. See
        :mod:`pgm.inference.loopy`.

        Parameters
        ----------
        evidence, likelihoods
            As in :meth:`query`.
        damping
            From 0 to below 1: the weight of the old message in each new one. More of it settles what oscillates, in
            more rounds.
        tol
            Largest change of any message at which the messages count as converged.
        max_iter
            Most rounds.
        error_variables
            How many variables to fix, each by itself, to estimate how far the marginals are off; 0 for no estimate.
            More of them see more loops and take more time: a run for each state.
        progress
            Whether to show a progress bar if it lasts over two seconds on a terminal.

        Returns
        -------
        LoopyResult
            The marginals, an estimate of ln P(evidence), whether and how far the messages have converged, and about how
            far each marginal may be off.

        Raises
        ------
        ImpossibleEvidenceError
            If it is noticed: with loops, impossible evidence can pass unnoticed.
        """
        from pgm.inference import loopy

        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods)
        return loopy.belief_propagation(
            engine,
            known,
            likelihoods=likelihoods,
            damping=damping,
            tol=tol,
            max_iter=max_iter,
            error_variables=error_variables,
            progress=progress,
        )

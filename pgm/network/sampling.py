"""Random rows of a network, and answers estimated from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pgm.errors import EvidenceError
from pgm.factors.factor import Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.exact import Likelihoods
from pgm.network.core import Core

if TYPE_CHECKING:
    import numpy as np

    from pgm.data.dataset import Dataset
    from pgm.inference.gibbs import GibbsSample
    from pgm.inference.holes import Missing
    from pgm.inference.sampled_posterior import SampledPosterior
    from pgm.inference.weighting import WeightedSample

__all__ = ["Sampling"]


class Sampling(Core):
    """The random rows that :class:`~pgm.network.BayesianNetwork` draws."""

    __slots__ = ()

    def sample(
        self,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
        missing: Missing | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Dataset:
        """Return n independent rows from P(all variables | evidence).

        Exact with evidence, too: what the evidence depends on is drawn backwards through the plan, the rest from its
        parents.

        Parameters
        ----------
        n
            Number of rows; 0 gives all columns and no row.
        rng
            A NumPy generator, which is advanced, or a seed; without one two calls differ.
        evidence, likelihoods
            As in :meth:`query`; every row agrees with the evidence.
        missing
            Cells to leave out afterwards: a fraction of all cells, ``{name: fraction}``, or
            ``{name: {other name: {label: fraction}}}`` for holes that depend on what another, discrete cell held.
        memory_budget
            As in :meth:`query`.

        Raises
        ------
        ImpossibleEvidenceError
            If P(evidence) = 0: at once, for nothing is tried and rejected.

        Examples
        --------
        >>> import pgm
        >>> pgm.networks.load("asia").sample(1000, rng=0, evidence={"xray": "yes"}).select(["xray"])
        Dataset(1000 rows, 1 variable)
          xray: 2 states 'yes', 'no'
        """
        from pgm.inference import continuous_columns, sampling
        from pgm.inference.drawing import as_generator

        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        if not self._leaves:
            return sampling.sample(
                engine,
                n,
                rng,
                evidence=known,
                likelihoods=likelihoods,
                missing=missing,
                memory_budget=memory_budget,
            )
        generator = as_generator(rng)
        rows = sampling.sample(
            engine, n, generator, evidence=known, likelihoods=likelihoods, memory_budget=memory_budget
        )
        full = continuous_columns.with_leaves(rows, self.variables, self._leaves, evidence, generator)
        return full if missing is None else continuous_columns.with_holes(full, self.names, missing, generator)

    def weighted_sample(
        self,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> WeightedSample:
        """Return n rows by likelihood weighting: drawn from their parents, weighted by the evidence they meet.

        For networks too large for :meth:`sample` with evidence: no table is larger than those of the network, and
        ``memory_budget`` limits the rows alone. The result has the weighted data set, an estimate of ln P(evidence) and
        the effective sample size.
        """
        from pgm.inference import continuous_columns, weighting
        from pgm.inference.drawing import as_generator

        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        generator = as_generator(rng)
        found = weighting.likelihood_weighting(
            engine, n, generator, evidence=known, likelihoods=likelihoods, memory_budget=memory_budget
        )
        if not self._leaves:
            return found
        data = continuous_columns.with_leaves(found.data, self.variables, self._leaves, evidence, generator)
        return replace(found, data=data)

    def gibbs_sample(
        self,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
        chains: int = 100,
        burn_in: int = 100,
        thinning: int = 1,
        zeros: Literal["raise", "allow"] = "raise",
        initial: Mapping[str, Label] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> GibbsSample:
        """Return n rows of Gibbs chains whose limit is the posterior; see :mod:`pgm.inference.gibbs` for its limits.

        Parameters
        ----------
        n, rng, evidence, likelihoods, memory_budget
            As in :meth:`weighted_sample`.
        chains
            Chains that run side by side; each gives its share of the rows.
        burn_in
            Sweeps over all variables before the first row is kept.
        thinning
            Sweeps from one row that is kept to the next of the same chain.
        zeros
            ``"raise"`` refuses tables with probabilities of zero, among which a chain may be trapped; ``"allow"`` runs
            all the same.
        initial
            States in which all chains start, ``{name: label}``, of some or all of the variables that change: the
            unobserved ancestors of the evidence. The others start as likelihood weighting draws them.

        Raises
        ------
        EvidenceError
            For zeros that are not allowed, an option out of range, or an initial state that is impossible or of a
            variable that does not change.
        """
        from pgm.inference import continuous_columns, gibbs
        from pgm.inference.drawing import as_generator

        schedule = gibbs.Schedule(chains, burn_in, thinning, zeros, initial)
        self._discrete(initial)
        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        generator = as_generator(rng)
        found = gibbs.gibbs(
            engine,
            n,
            generator,
            evidence=known,
            likelihoods=likelihoods,
            schedule=schedule,
            memory_budget=memory_budget,
        )
        if not self._leaves:
            return found
        data = continuous_columns.with_leaves(found.data, self.variables, self._leaves, evidence, generator)
        return replace(found, data=data)

    def estimate(
        self,
        targets: Names,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
        method: Literal["weighting", "gibbs"] = "weighting",
        chains: int = 100,
        burn_in: int = 100,
        thinning: int = 1,
        zeros: Literal["raise", "allow"] = "raise",
        initial: Mapping[str, Label] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> SampledPosterior:
        """Return P(targets | evidence) as n random rows estimate it, with standard errors.

        Parameters
        ----------
        targets, evidence, likelihoods
            As in :meth:`query`.
        n, rng
            As in :meth:`sample`.
        method
            ``"weighting"``: independent rows, drawn as by :meth:`weighted_sample`. ``"gibbs"``: the rows of chains, as
            :meth:`gibbs_sample` draws them, which do not mind how improbable the evidence is.
        chains, burn_in, thinning, zeros, initial
            For ``"gibbs"`` alone: as in :meth:`gibbs_sample`. At least two chains: how they differ shows the error.
        memory_budget
            Bytes that the rows may take.

        Notes
        -----
        Where rows heavier than any that was drawn are possible, the standard errors of weighting cover what these could
        change; ``unseen`` says how much of the posterior they may hold.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> found = asia.estimate("smoke", 20_000, rng=0, evidence={"dysp": "yes"})
        >>> abs(found.posterior["yes"] - asia.query("smoke", {"dysp": "yes"})["yes"]) < 3 * found.standard_error["yes"]
        True
        """
        from pgm.inference import gibbs, weighting

        if targets is None:
            raise EvidenceError("no target: name at least one variable to ask for")
        targets, _ = self._discrete(targets), self._discrete(initial)
        engine, known = self._asked_of_tables(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        schedule = gibbs.Schedule(chains, burn_in, thinning, zeros, initial)
        if method == "gibbs":
            return gibbs.gibbs_posterior(
                engine,
                targets,
                n,
                rng,
                evidence=known,
                likelihoods=likelihoods,
                schedule=schedule,
                memory_budget=memory_budget,
            )
        if method != "weighting":
            raise EvidenceError(f"method is 'weighting' or 'gibbs', not {method!r}")
        if schedule != gibbs.Schedule():
            given = ", ".join(f"{name}=" for name in schedule.changed())
            raise EvidenceError(f"for method='gibbs' only, since weighting has no chains: {given}")
        return weighting.weighted_posterior(
            engine,
            targets,
            n,
            rng,
            evidence=known,
            likelihoods=likelihoods,
            memory_budget=memory_budget,
        )

"""`BayesianNetwork`: a DAG and one conditional probability table for each of its nodes.

P(X1, ..., Xn) = product over i of P(Xi | parents(Xi)). The class joins the two; what can be asked of it is computed in
:mod:`pgm.inference`, one call a method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pgm.errors import (
    DataError,
    EvidenceError,
    GraphError,
    ImpossibleEvidenceError,
    TableError,
    UnknownNameError,
    listing,
)
from pgm.factors.cpt import CPT
from pgm.factors.factor import MEMORY_BUDGET, Factor, FloatArray, Names
from pgm.factors.variable import Label, Variable
from pgm.graph.dag import DAG
from pgm.inference import batch
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np

    from pgm.data.dataset import Dataset
    from pgm.inference.analysis import Impact, Sensitivity
    from pgm.inference.explanation import Explanation
    from pgm.inference.gibbs import GibbsSample, Schedule
    from pgm.inference.holes import Missing
    from pgm.inference.loopy import LoopyResult
    from pgm.inference.query_plan import QueryPlan
    from pgm.inference.sampled_posterior import SampledPosterior
    from pgm.inference.weighting import WeightedSample

__all__ = ["BayesianNetwork"]


class BayesianNetwork:
    """A Bayesian network: one CPT for each variable, and the DAG that their parents draw.

    Parameters
    ----------
    cpts
        One :class:`~pgm.factors.cpt.CPT` for each variable, in any order, which becomes the declared order.
    dag
        Optional: a DAG that the tables must agree with. It then gives the declared order.

    Raises
    ------
    TableError
        If a variable has two tables or none, or two tables disagree about its states.
    GraphError
        If the parents form a cycle, or the tables do not agree with ``dag``.

    Notes
    -----
    A network is a value: it never changes, and learning returns a new one. It may be used by many threads at once.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, chapter 3.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> wet = Variable("wet", ["no", "yes"])
    >>> net = BayesianNetwork([CPT(rain, [0.8, 0.2]), CPT(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain])])
    >>> print(net.query("rain", {"wet": "yes"}))
    rain |    value
    -----+---------
    no   | 0.333333
    yes  | 0.666667
    """

    __slots__ = ("_cpts", "_engine", "_index", "dag")

    dag: DAG
    _cpts: tuple[CPT, ...]
    _index: dict[str, int]
    _engine: ExactInference

    def __init__(self, cpts: Iterable[CPT], dag: DAG | None = None) -> None:
        tables = _by_child(cpts)
        _check_variables(tables)
        drawn = _drawn(tables, list(tables))
        if dag is not None:
            if not isinstance(dag, DAG):
                raise GraphError(f"dag must be a DAG, not {dag!r}")
            if drawn != dag:
                raise GraphError(_difference(drawn, dag))
            drawn = _drawn(tables, dag.nodes)
        set_once = object.__setattr__
        set_once(self, "dag", drawn)
        set_once(self, "_cpts", tuple(tables[name] for name in drawn.nodes))
        set_once(self, "_index", {name: number for number, name in enumerate(drawn.nodes)})
        set_once(self, "_engine", ExactInference(self._cpts))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return BayesianNetwork, (self._cpts,)

    def __copy__(self) -> BayesianNetwork:
        return self

    def __deepcopy__(self, memo: object) -> BayesianNetwork:
        return self

    # ------------------------------------------------------------------ looking

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in declared order."""
        return self._engine.variables

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in declared order."""
        return self.dag.nodes

    @property
    def cpts(self) -> tuple[CPT, ...]:
        """The tables, in declared order of their children."""
        return self._cpts

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all tables."""
        return sum(cpt.n_parameters for cpt in self._cpts)

    def variable(self, name: str) -> Variable:
        """Return the variable of that name."""
        return self.cpt(name).child

    def cpt(self, name: str) -> CPT:
        """Return the table P(name | its parents)."""
        try:
            return self._cpts[self._index[name]]
        except (KeyError, TypeError):
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(self.names)}") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __len__(self) -> int:
        return len(self._cpts)

    def __eq__(self, other: object) -> bool:
        """Return whether the other network has the same variables and tables; order does not matter."""
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self.dag == other.dag and all(_same(cpt, other.cpt(cpt.child.name)) for cpt in self._cpts)

    def __hash__(self) -> int:
        return hash(frozenset(self.variables))

    def __repr__(self) -> str:
        arcs = len(self.dag.edges)
        return f"<BayesianNetwork: {len(self)} variables, {arcs} edges, {self.n_parameters} free parameters>"

    # ------------------------------------------------------------------ asking

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
    ) -> Factor:
        """Return the posterior P(targets | evidence).

        Parameters
        ----------
        targets
            One name, or several for their joint distribution.
        evidence
            Observed states, ``{name: label}``. A target that is observed has all its mass on the state observed.
        likelihoods
            Likelihood (virtual) evidence, ``{name: P(what was seen | state) for each state}``, in declared order or by
            label. Only ratios matter. It is what an unreliable report of the variable says, and weighs its states; it
            does not fix the variable's posterior.
        distributions
            Soft evidence by Jeffrey's rule, ``{name: distribution}``: the posterior that a variable shall have,
            whatever the network says; several are met together by iterative proportional fitting. All else follows from
            them as it would from observations.
        do
            Interventions, ``{name: state}``: these variables are set from outside, whatever their parents say, and the
            evidence is seen afterwards. See :meth:`do`.
        order
            Elimination order to use instead of the best one found; must hold every variable to sum out.
        memory_budget
            Bytes that the tables on the way may take at once.

        Returns
        -------
        Factor
            Shape: the targets' cardinalities, in the order asked. Sums to one.

        Raises
        ------
        UnknownNameError, UnknownStateError
            For names and labels that do not exist; lists those that do.
        EvidenceError
            For no target or a repeated one.
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
        return self._engine.posterior(
            targets,
            evidence,
            likelihoods=likelihoods,
            distributions=distributions,
            order=order,
            memory_budget=memory_budget,
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

        One forward and one backward pass over the network give them all. Raises as :meth:`query` does.
        """
        return self._engine.marginals(
            evidence,
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

        With ``likelihoods``, the probability of the evidence and of what the likelihoods report.
        """
        return math.exp(self.log_probability(evidence, likelihoods=likelihoods, memory_budget=memory_budget))

    def log_probability(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> float:
        """Return the natural logarithm of P(evidence): minus infinity if it is impossible.

        Does not underflow where :meth:`probability` would.
        """
        return self._engine.log_probability(evidence, likelihoods=likelihoods, memory_budget=memory_budget)

    def mpe(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Explanation:
        """Return the most probable explanation: the joint state of all unobserved variables of largest probability.

        It is in general not made of the most probable state of each variable. Of several equally probable explanations
        it is the first: the first variable has its first state possible, and so on in declared order. Raises as
        :meth:`query` does.

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
        return self._engine.explanations(1, None, evidence, likelihoods=likelihoods, memory_budget=memory_budget)[0]

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
        return self._engine.explanations(1, targets, evidence, likelihoods=likelihoods, memory_budget=memory_budget)[0]

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
        if k < 1:
            raise EvidenceError(f"k must be at least 1, not {k!r}")
        return self._engine.explanations(k, targets, evidence, likelihoods=likelihoods, memory_budget=memory_budget)

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
        return self._engine.query_plan(targets, observed, order=order)

    # ------------------------------------------------------------------ when exact is too large

    def query_by_conditioning(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Factor:
        """Return P(targets | evidence), exactly, within a memory budget that the plan of :meth:`query` would exceed.

        Some variables, the cutset, are observed at each of their joint states in turn and the answers added up: less
        memory for more time. Raises as :meth:`query` does, and TooLargeError if it would take too much work.

        References
        ----------
        Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.4.2.
        """
        from pgm.inference import cutset

        return cutset.posterior(self._engine, targets, evidence, likelihoods=likelihoods, memory_budget=memory_budget)

    def approximate_marginals(
        self, evidence: Mapping[str, Label] | None = None, *, likelihoods: Likelihoods | None = None
    ) -> LoopyResult:
        """Return approximate posterior marginals by loopy belief propagation; the result says how it went.

        Exact where the factor graph is a forest; elsewhere of unknown error.
        """
        from pgm.inference import loopy

        return loopy.belief_propagation(self._engine, evidence, likelihoods=likelihoods)

    # ------------------------------------------------------------------ understanding

    def families(
        self, evidence: Mapping[str, Label] | None = None, *, likelihoods: Likelihoods | None = None
    ) -> dict[str, Factor]:
        """Return P(parents, child | evidence) for every variable, from one forward and one backward pass.

        Observed variables have all their mass on the state observed. Raises as :meth:`query` does.
        """
        from pgm.inference import analysis

        return analysis.families(self._engine, self._engine.code(evidence, likelihoods))

    def sensitivity(
        self,
        target: str,
        state: Label,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
    ) -> Sensitivity:
        """Return how P(target = state | evidence) depends on every parameter of the network.

        Two backward passes give all derivatives; the others of a row move in proportion. The result's ``tornado()``
        ranks parameters by how far the posterior moves.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> first = asia.sensitivity("lung", "yes", {"xray": "yes"}).tornado(top=1)[0]
        >>> first.variable, dict(first.parents)
        ('xray', {'either': 'no'})
        """
        from pgm.inference import analysis

        return analysis.sensitivity(self._engine, target, state, self._engine.code(evidence, likelihoods))

    def mutual_information(
        self, target: str, evidence: Mapping[str, Label] | None = None, *, likelihoods: Likelihoods | None = None
    ) -> dict[str, float]:
        """Return I(target; X | evidence) in nats for every other unobserved X, largest first: what to observe next."""
        from pgm.inference import analysis

        return analysis.mutual_information(self._engine, target, self._engine.code(evidence, likelihoods))

    def evidence_impact(
        self, target: str, evidence: Mapping[str, Label], *, likelihoods: Likelihoods | None = None
    ) -> dict[str, Impact]:
        """Return for each observation the target's posterior without it, and how far it is, largest effect first."""
        from pgm.inference import analysis

        return analysis.evidence_impact(self._engine, target, self._engine.code(evidence, likelihoods))

    def conflict(self, evidence: Mapping[str, Label], *, likelihoods: Likelihoods | None = None) -> float:
        """Return Jensen's conflict measure of the evidence: positive where its parts speak against each other.

        It is ln of the product of P(e_i) over P(e); zero for one observation or independent ones.
        """
        from pgm.inference import analysis

        return analysis.conflict(self._engine, self._engine.code(evidence, likelihoods))

    # ------------------------------------------------------------------ many rows

    def posterior(
        self,
        data: object,
        targets: Names | None = None,
        *,
        impossible: Literal["raise", "nan"] = "raise",
        progress: bool = True,
    ) -> Any:
        """Return the posterior of one or several variables for every row of a table.

        Parameters
        ----------
        data
            A frame, a dict of columns, or a :class:`~pgm.data.dataset.Dataset`. Columns are matched by name; those that
            are no variables of the network are not looked at. Missing cells, and variables without a column, are
            summed out.
        targets
            One name, or several; by default all variables with a missing cell or without a column.
        impossible
            What to do with a row of probability zero: raise, or give NaN for that row.
        progress
            Whether to show a progress bar if it lasts over two seconds on a terminal.

        Returns
        -------
        ndarray or dict of ndarray
            Shape (rows, states in declared order) for one name; ``{name: array}`` for several. Where the target itself
            is observed its posterior is one on the state observed.

        Raises
        ------
        ImpossibleEvidenceError
            For a row of probability zero; names the first such row and the conflict in it.
        UnknownNameError, DataError
            For unknown targets, and for cells that are no state of their variable.

        Notes
        -----
        Exact. Rows run through one plan a few hundred at a time, so a row costs microseconds; memory is that of the
        answer and of one chunk.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> asia.posterior({"smoke": ["yes", "no"], "xray": ["yes", None]}, "lung").round(4).tolist()
        [[0.646, 0.354], [0.01, 0.99]]
        """
        if impossible not in ("raise", "nan"):
            raise EvidenceError(f"impossible is 'raise' or 'nan', not {impossible!r}")
        table = self._table(data)
        asked = self._hidden(table) if targets is None else code_targets(self._index, targets)
        answer, zero = batch.posteriors(self._engine, table, asked, self._engine.row_posteriors, progress=progress)
        if zero and impossible == "raise":
            raise self._impossible_row(table, zero[0], len(zero))
        for array in answer.values():
            array[zero] = math.nan
        return answer[asked[0]] if isinstance(targets, str) else {self.names[t]: answer[t] for t in asked}

    def log_likelihood(self, data: object) -> FloatArray:
        """Return ln P(row) for every row of a table, missing cells summed out; shape (rows,).

        A row of probability zero has minus infinity; a row without any known cell has 0. Data and columns as in
        :meth:`posterior`.
        """
        return batch.likelihoods(self._engine, self._table(data), self._engine.row_log_probability)

    def posterior_chunks(
        self, chunks: Iterable[object], targets: Names | None = None, *, impossible: Literal["raise", "nan"] = "raise"
    ) -> Iterator[Any]:
        """Yield :meth:`posterior` for one table after another: for data that do not fit into memory at once."""
        for chunk in chunks:
            yield self.posterior(chunk, targets, impossible=impossible, progress=False)

    def impute(self, data: object, *, method: Literal["joint", "marginal"] = "joint", progress: bool = True) -> Dataset:
        """Return the rows with every missing cell filled in, a column for each variable of the network.

        Parameters
        ----------
        data
            As in :meth:`posterior`. Variables without a column are filled in as well.
        method
            ``"joint"``: the most probable joint state of all that a row leaves open, as :meth:`mpe` gives it.
            ``"marginal"``: for each cell on its own its most probable state; together they may be improbable.
        progress
            As in :meth:`posterior`.

        Raises
        ------
        ImpossibleEvidenceError
            For a row of probability zero.
        """
        from pgm.data.dataset import Dataset

        if method not in ("joint", "marginal"):
            raise EvidenceError(f"method is 'joint' or 'marginal', not {method!r}")
        table, weights = self._table(data), data.weights if isinstance(data, Dataset) else None
        if method == "joint":
            columns, zero = batch.completions(self._engine, table, self._engine.row_completion, progress=progress)
        else:
            everything = range(len(self))
            found, zero = batch.posteriors(
                self._engine, table, everything, self._engine.row_posteriors, progress=progress
            )
            columns = {number: found[number].argmax(axis=1) for number in everything}
        if zero:
            raise self._impossible_row(table, zero[0], len(zero))
        return Dataset.from_codes(self.variables, [columns[number] for number in range(len(self))], weights)

    def predict(self, data: object, target: str) -> list[Label]:
        """Return the most probable state of a variable for every row, as labels; of equal ones the first.

        Data as in :meth:`posterior`; raises as it does.
        """
        codes = self.posterior(data, target).argmax(axis=1)
        states = self.variable(target).states
        return [states[code] for code in codes]

    def _table(self, data: object) -> batch.Table:
        from pgm.data.dataset import Dataset
        from pgm.data.frames import read_columns

        names = data.names if isinstance(data, Dataset) else tuple(read_columns(data))
        shared = [name for name in names if name in self._index]
        if not shared:
            raise DataError(f"no column of the data is a variable of the network; those are {listing(self.names)}")
        own = [self.variable(name) for name in shared]
        if isinstance(data, Dataset) and [data.variable(name) for name in shared] == own:
            coded = data  # the codes are those of the network already
        else:
            coded = Dataset(data, columns=shared, variables=own)
        return batch.Table({self._index[name]: coded.codes(name) for name in shared}, coded.n_rows)

    def _hidden(self, table: batch.Table) -> tuple[int, ...]:
        """Return the variables that some row does not know."""
        full = {v for v, column in table.columns.items() if (column < self._engine.cardinalities[v]).all()}
        return tuple(number for number in range(len(self)) if number not in full)

    def _impossible_row(self, table: batch.Table, row: int, count: int) -> ImpossibleEvidenceError:
        known = {v: int(c[row]) for v, c in table.columns.items() if c[row] < self._engine.cardinalities[v]}
        reason = self._engine.impossible(Evidence(known, {}, 0.0))
        return ImpossibleEvidenceError(f"row {row}: {reason} ({count} such rows)")

    # ------------------------------------------------------------------ intervening and sampling

    def do(self, assignments: Mapping[str, Label]) -> BayesianNetwork:
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

        return BayesianNetwork(intervention.do(self._cpts, assignments))

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
            ``{name: {other name: {label: fraction}}}`` for holes that depend on what another cell held.
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
        from pgm.inference import sampling

        return sampling.sample(
            self._engine,
            n,
            rng,
            evidence=evidence,
            likelihoods=likelihoods,
            missing=missing,
            memory_budget=memory_budget,
        )

    def weighted_sample(
        self,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
    ) -> WeightedSample:
        """Return n rows by likelihood weighting: drawn from their parents, weighted by the evidence they meet.

        For networks too large for :meth:`sample` with evidence. The result has the weighted data set, an estimate of
        ln P(evidence) and the effective sample size.
        """
        from pgm.inference import weighting

        return weighting.likelihood_weighting(self._engine, n, rng, evidence=evidence, likelihoods=likelihoods)

    def estimate(
        self,
        targets: Names,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
    ) -> SampledPosterior:
        """Return P(targets | evidence) as n rows of likelihood weighting estimate it, with standard errors."""
        from pgm.inference import weighting

        return weighting.weighted_posterior(self._engine, targets, n, rng, evidence=evidence, likelihoods=likelihoods)

    def gibbs_sample(
        self,
        n: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Mapping[str, Label] | None = None,
        likelihoods: Likelihoods | None = None,
        schedule: Schedule | None = None,
    ) -> GibbsSample:
        """Return n rows of Gibbs chains whose limit is the posterior; see :mod:`pgm.inference.gibbs` for its limits."""
        from pgm.inference import gibbs

        return gibbs.gibbs(
            self._engine, n, rng, evidence=evidence, likelihoods=likelihoods, schedule=schedule or gibbs.DEFAULT
        )

    # ------------------------------------------------------------------ exporting

    def to_string(self, format: str = "bif") -> str:
        """Return the network as text in one of the file formats, see :func:`pgm.read`."""
        from pgm import io

        return io.to_string(self, format)

    def write(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the network to a file, whole or not at all; the suffix tells the format (``.gz`` compresses)."""
        from pgm import io

        io.write(self, path, format)

    def to_dot(self, **options: Any) -> str:
        """Return the network's graph as DOT text, see :func:`pgm.io.dot.to_dot`."""
        from pgm.io import dot

        return dot.to_dot(self, **options)


def _by_child(cpts: Iterable[CPT]) -> dict[str, CPT]:
    tables: dict[str, CPT] = {}
    if isinstance(cpts, (CPT, set, frozenset)) or not isinstance(cpts, Iterable):
        raise TableError(f"a network is built of a list of CPT objects, in declared order, not a {type(cpts).__name__}")
    for cpt in cpts:
        if not isinstance(cpt, CPT):
            raise TableError(f"a network is built of CPT objects, not {cpt!r}")
        if cpt.child.name in tables:
            raise TableError(f"{cpt.child.name!r} has two tables")
        tables[cpt.child.name] = cpt
    if not tables:
        raise TableError("a network needs at least one table")
    return tables


def _same(cpt: CPT, other: CPT) -> bool:
    return cpt == other or (cpt.names != other.names and Factor.__eq__(cpt, other.reorder(cpt.names)))


def _drawn(tables: Mapping[str, CPT], order: Sequence[str]) -> DAG:
    return DAG([(parent.name, name) for name in order for parent in tables[name].parents], nodes=order)


def _check_variables(tables: Mapping[str, CPT]) -> None:
    for name, cpt in tables.items():
        for parent in cpt.parents:
            own = tables.get(parent.name)
            if own is None:
                raise TableError(f"{parent.name!r}, a parent of {name!r}, has no table")
            if own.child != parent:
                states, other = listing(own.child.states), listing(parent.states)
                raise TableError(f"{parent.name!r} has the states {states}, but as a parent of {name!r} {other}")


def _difference(drawn: DAG, dag: DAG) -> str:
    if set(drawn.nodes) != set(dag.nodes):
        without, extra = sorted(set(dag.nodes) - set(drawn.nodes)), sorted(set(drawn.nodes) - set(dag.nodes))
        if without:
            return f"no table for {listing(without)}"
        return f"tables for {listing(extra)}, which the graph does not have"
    absent = [edge for edge in dag.edges if not drawn.has_edge(*edge)]
    if absent:
        return f"the table of {absent[0][1]!r} lacks its parent {absent[0][0]!r}"
    extra_edges = [edge for edge in drawn.edges if not dag.has_edge(*edge)]
    return f"the table of {extra_edges[0][1]!r} has a parent {extra_edges[0][0]!r} that the graph does not give it"

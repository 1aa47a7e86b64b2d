"""Exact inference on one network: posteriors, all marginals, the probability of evidence.

Each answer is a contraction of the conditional probability tables (Koller and Friedman 2009, chapter 9): slice what
is observed out of the tables, leave out what cannot matter, and run the plan. :mod:`pgm.inference.preparing` does the
first two, :mod:`pgm.inference.contraction` the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError
from pgm.factors.factor import Factor, FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Label
from pgm.inference import conflicts
from pgm.inference.contraction import Result
from pgm.inference.evidence import Evidence, code_evidence, code_likelihoods, code_targets, relative
from pgm.inference.explanation import Explanation
from pgm.inference.maximum import Maximizer
from pgm.inference.options import check_budget
from pgm.inference.preparing import Model, Prepared, Question
from pgm.inference.query_plan import QueryPlan
from pgm.inference.underflow import exponential

__all__ = ["ExactInference"]

Likelihoods: TypeAlias = Mapping[str, ArrayLike | Mapping[Label, float]]


def _tuple(order: Sequence[str] | None) -> tuple[str, ...] | None:
    if order is None:
        return None
    if not isinstance(order, Sequence) or isinstance(order, str) or not all(isinstance(name, str) for name in order):
        raise EvidenceError(f"an order is a list of names, not {order!r}")
    return tuple(order)


def _ways_out(question: Question) -> str:
    """Return what can be done about a question that is too large, in the words of ``BayesianNetwork``."""
    asked = "marginals" if question.kind == "marginals" else "query" if question.targets else "log_probability"
    return (
        f"what can be done: a larger memory_budget=; net.{asked}_by_conditioning(...), exact in bounded memory for "
        "more time; net.approximate_marginals(...), loopy belief propagation; net.weighted_sample(...), "
        "net.estimate(...) or net.gibbs_sample(...), random rows"
    )


class ExactInference(Model):
    """Exact answers about one network; :class:`~pgm.network.BayesianNetwork` documents them."""

    logs: Mapping[int, FloatArray] = MappingProxyType({})
    """Logarithms of tables whose numbers are beyond the range of floats, where they are cut off."""
    on_logarithms = False
    """Whether that matters, so that all is computed on logarithms."""
    reports: tuple[int, ...] = ()
    """Variables that the user does not know of, and that are always observed; see :mod:`pgm.inference.densities`."""

    # ------------------------------------------------------------------ questions

    def posterior(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Factor:
        """Return P(targets | evidence), its axes in the order asked. See ``BayesianNetwork.query``."""
        asked = code_targets(self.index, targets)
        known = self.code(evidence, likelihoods, distributions, memory_budget)
        free, prepared = self._asked(asked, known, order, memory_budget)
        table = self._value(prepared, known).table
        total = table.sum() if free else table
        if not total > 0:
            raise self.impossible(known, memory_budget)
        scope = tuple([self.variables[target] for target in asked])
        if len(free) == len(asked):
            return Factor._of(scope, table / total)
        return Factor._of(scope, self._spread(asked, known.codes, table / total))

    def log_posterior(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> FloatArray:
        """Return ln P(targets | evidence), minus infinity for what is impossible; its axes in the order asked.

        On logarithms, which takes longer, it tells states apart that :meth:`posterior` rounds to zero.
        """
        asked = code_targets(self.index, targets)
        known = self.code(evidence, likelihoods, distributions, memory_budget)
        free, prepared = self._asked(asked, known, order, memory_budget)
        logs = self._log_value(prepared, known)
        if logs.max() == -math.inf:
            raise self.impossible(known, memory_budget)
        logs = logs - np.logaddexp.reduce(logs, axis=None)
        return logs if len(free) == len(asked) else self._spread(asked, known.codes, logs, -math.inf)

    def _asked(
        self, asked: tuple[int, ...], known: Evidence, order: Sequence[str] | None, memory_budget: int
    ) -> tuple[tuple[int, ...], Prepared]:
        """Return which of the targets are not known, and the program for their joint."""
        if len(asked) > 1:
            self.check_joint(asked, memory_budget)
        free = tuple([target for target in asked if target not in known.codes and target not in self.constant])
        question = Question("sum", free, frozenset(known.codes), frozenset(known.likelihoods), _tuple(order))
        return free, self._ready(question, memory_budget)

    def check_joint(self, asked: Sequence[int], memory_budget: int) -> None:
        """Raise TooLargeError if the joint of some variables, which is the answer, would exceed the memory budget."""
        check_budget(memory_budget)
        shape = [self.cardinalities[target] for target in asked]
        check_size(shape, f"the joint of {len(asked)} variables", memory_budget)

    def _spread(
        self, asked: tuple[int, ...], codes: Mapping[int, int], table: FloatArray, zero: float = 0.0
    ) -> FloatArray:
        """Return the joint in which observed targets have all their mass on the state observed."""
        joint = np.full([self.cardinalities[target] for target in asked], zero)
        position = tuple(codes.get(target, self.constant.get(target, slice(None))) for target in asked)
        joint[position] = table
        return joint

    def marginals(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, Factor]:
        """Return the posterior marginal of every unobserved variable. See ``BayesianNetwork.marginals``."""
        known = self.code(evidence, likelihoods, distributions, memory_budget)
        found = self.coded_marginals(known, _tuple(order), memory_budget)
        return {name: Factor._of((self.variables[self.index[name]],), values) for name, values in found.items()}

    def explanations(
        self,
        k: int,
        targets: Names | None,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> tuple[Explanation, ...]:
        """Return the k best joint states of the targets (None: of all that is unobserved), fewer if there are not k.

        See ``BayesianNetwork.mpe``, ``map`` and ``best_explanations``.
        """
        known = self.code(evidence, likelihoods)
        asked = None if targets is None else code_targets(self.index, targets)
        prepared = self.prepare(self._maximum(asked, known), memory_budget)
        logarithms = self.on_logarithms or (k > 1 and bool(self.logs))
        tables, constant = (self.log_tables if logarithms else self.tables)(prepared, known)
        assert prepared.maximizer is not None
        found = prepared.maximizer.k_best(tables, k, logarithms=logarithms) if constant > -math.inf else []
        if not found:
            raise self.impossible(known, memory_budget)
        log_evidence = self.coded_log_probability(known, memory_budget)
        return tuple(self._explanation(asked, codes, known, log_evidence, memory_budget) for codes in found)

    def _maximum(self, asked: tuple[int, ...] | None, known: Evidence) -> Question:
        seen, soft = frozenset(known.codes), frozenset(known.likelihoods)
        if asked is None:
            return Question("max", (), seen, soft)
        free = tuple(target for target in asked if target not in seen and target not in self.constant)
        return Question("map", free, seen, soft)

    def _explanation(
        self,
        asked: tuple[int, ...] | None,
        codes: dict[int, int],
        known: Evidence,
        log_evidence: float,
        memory_budget: int,
    ) -> Explanation:
        everything = {**self.constant, **codes, **known.codes}
        if asked is None:
            shown = [number for number in range(len(self.variables)) if number not in known.codes]
            log_joint = self._log_joint(everything, known)
        else:
            shown = list(asked)
            likelihoods = {n: vector for n, vector in known.likelihoods.items() if n not in codes}
            log_joint = self.coded_log_probability(
                known._replace(codes={**known.codes, **codes}, likelihoods=likelihoods), memory_budget, exact=True
            )
            log_joint += sum(math.log(v[codes[n]]) for n, v in known.likelihoods.items() if n in codes)
        assignment = {
            self.variables[number].name: self.variables[number].states[everything[number]] for number in shown
        }
        return Explanation(assignment, log_joint - log_evidence, log_joint)

    def _log_joint(self, codes: Mapping[int, int], known: Evidence) -> float:
        """Return ln P of a complete joint state, likelihoods included, straight from the tables."""
        tables = enumerate(self.entries)
        entries = [entry(pick(codes)) for number, (entry, pick) in tables if number not in self.logs]
        entries += [vector.item(codes[number]) for number, vector in known.likelihoods.items()]
        exact = [logs.item(tuple(codes[v] for v in self.scopes[number])) for number, logs in self.logs.items()]
        return sum(map(math.log, entries)) + sum(exact) + known.log_scale

    def log_probability(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> float:
        """Return ln P(evidence), minus infinity if it is impossible. See ``BayesianNetwork.log_probability``."""
        try:
            known = self.code(evidence, likelihoods)
        except ImpossibleEvidenceError:  # a likelihood that rules out what is observed
            return -math.inf
        return self.coded_log_probability(known, memory_budget)

    def query_plan(
        self, targets: Names | None, observed: Names = (), *, order: Sequence[str] | None = None
    ) -> QueryPlan:
        """Return the plan of a question without touching any number. See ``BayesianNetwork.plan``."""
        shown = frozenset(code_targets(self.index, observed)) if observed else frozenset()
        seen = shown.union(self.reports)
        asked = code_targets(self.index, targets) if targets is not None else ()
        free = tuple(target for target in asked if target not in seen and target not in self.constant)
        question = Question("marginals" if targets is None else "sum", free, seen, order=_tuple(order))
        try:
            memory = self.prepare(question).program.peak_bytes
        except TooLargeError:
            memory = None
        return QueryPlan.of(self.plan(question), memory, self.variables, asked, tuple(sorted(shown)))

    # ------------------------------------------------------------------ coded questions

    def coded_marginals(
        self, known: Evidence, order: tuple[str, ...] | None = None, memory_budget: int = MEMORY_BUDGET
    ) -> dict[str, FloatArray]:
        """Return the posterior of every unobserved variable as an array. Raises as :meth:`marginals` does."""
        question = Question("marginals", (), frozenset(known.codes), frozenset(known.likelihoods), order)
        prepared = self._ready(question, memory_budget)
        tables, constant = self.tables(prepared, known)
        program = prepared.program
        found = program.exponentials(program.log_marginals(tables)) if self.on_logarithms else program.marginals(tables)
        output, log_scale = found
        if constant + log_scale == -math.inf:
            raise self.impossible(known, memory_budget)
        output.flags.writeable = False
        places, answer = program.places, {}
        for number, variable in enumerate(self.variables):
            if number in places:
                start, stop = places[number]
                answer[variable.name] = output[start:stop]
            elif number not in known.codes:
                answer[variable.name] = np.ones(1)
        return answer

    def coded_log_probability(
        self, known: Evidence, memory_budget: int = MEMORY_BUDGET, *, exact: bool = False
    ) -> float:
        """Return ln P of coded evidence, minus infinity if it is impossible; if ``exact``, also of cut-off tables."""
        question = Question("sum", (), frozenset(known.codes), frozenset(known.likelihoods))
        prepared = self._ready(question, memory_budget)
        if exact and self.logs:
            return float(self._log_value(prepared, known)) + known.log_scale
        table, log_scale = self._value(prepared, known)
        return math.log(table) + log_scale + known.log_scale if table > 0 else -math.inf

    def row_posteriors(
        self, targets: tuple[int, ...], codes: dict[int, int], memory_budget: int = MEMORY_BUDGET
    ) -> dict[int, FloatArray] | None:
        """Return the posteriors of some variables given coded evidence, or None if it is impossible.

        A target may be observed itself; then it has all its mass on that state.
        """
        known = Evidence(codes, {}, 0.0)
        if self.coded_log_probability(known, memory_budget) == -math.inf:
            return None
        found = self.coded_marginals(known, None, memory_budget)
        seen = {t: (np.arange(self.cardinalities[t]) == codes[t]).astype(np.float64) for t in targets if t in codes}
        return {t: seen[t] if t in seen else found[self.variables[t].name] for t in targets}

    def row_completion(self, codes: dict[int, int], memory_budget: int = MEMORY_BUDGET) -> dict[int, int] | None:
        """Return the most probable joint state of what coded evidence leaves open, or None if it is impossible."""
        known = Evidence(codes, {}, 0.0)
        prepared = self.prepare(self._maximum(None, known), memory_budget)
        tables, constant = self.tables(prepared, known)
        assert isinstance(prepared.maximizer, Maximizer)
        return None if constant == -math.inf else prepared.maximizer.best(tables, logarithms=self.on_logarithms)

    # ------------------------------------------------------------------ evidence

    def code(
        self,
        evidence: Mapping[str, Label] | None,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Evidence:
        """Return evidence of all kinds by number; a likelihood of an observed variable has said its say."""
        codes = self.coded(evidence)
        known = Evidence(codes, {}, 0.0) if likelihoods is None else self._weighed(codes, likelihoods)
        if distributions is None:
            return known
        from pgm.inference.jeffrey import with_distributions

        return with_distributions(self, known, distributions, memory_budget)

    def coded(self, evidence: Mapping[str, Label] | None) -> dict[int, int]:
        """Return the states observed by number."""
        return code_evidence(self.variables, self.index, evidence)

    def _weighed(self, codes: dict[int, int], likelihoods: Likelihoods) -> Evidence:
        vectors = code_likelihoods(self.variables, self.index, likelihoods)
        log_scale = 0.0
        overruled = tuple([(n, vectors.pop(n)) for n in sorted(vectors) if n in codes or n in self.constant])
        for number, given in overruled:
            weight = float(given[codes.get(number, 0)])
            if weight == 0:
                name, label = self.variables[number].name, self.variables[number].states[codes.get(number, 0)]
                raise ImpossibleEvidenceError(f"{name}={label!r} is observed, but its likelihood is zero")
            log_scale += math.log(weight)
        log_scale += math.fsum(math.log(vector.max()) for vector in vectors.values())  # exact in any order
        scaled = {n: relative(self.variables[n], vector) for n, vector in vectors.items()}
        return Evidence(codes, scaled, log_scale, overruled)

    def _ready(self, question: Question, memory_budget: int) -> Prepared:
        """Return the program for a question; if it is too large, the error says what else can be done."""
        try:
            return self.prepare(question, memory_budget)
        except TooLargeError as error:
            raise TooLargeError(f"{error}; {_ways_out(question)}") from None

    def with_constants(self, known: Evidence) -> Evidence:
        """Return the evidence with the variables of one state as if they were observed."""
        return known._replace(codes={**self.constant, **known.codes}) if self.constant else known

    def tables(self, prepared: Prepared, known: Evidence) -> tuple[list[FloatArray], float]:
        """Return the tables of a question, or their logarithms, and the log of the product of all that are numbers."""
        return self.log_tables(prepared, known) if self.on_logarithms else prepared.sliced(self.with_constants(known))

    def log_tables(self, prepared: Prepared, known: Evidence) -> tuple[list[FloatArray], float]:
        """Return the logarithms of the tables of a question, and that of the product of those that are numbers."""
        return prepared.log_sliced(self.with_constants(known), self.logs)

    def _log_value(self, prepared: Prepared, known: Evidence) -> FloatArray:
        """Return the logarithm of the value of a question; nothing underflows."""
        logs, constant = self.log_tables(prepared, known)
        return prepared.program.log_value(logs) + constant

    def _value(self, prepared: Prepared, known: Evidence) -> Result:
        if self.on_logarithms:
            return Result(*exponential(self._log_value(prepared, known)))
        tables, constant = prepared.sliced(self.with_constants(known))
        if constant == -math.inf:
            return Result(np.asarray(0.0), 0.0)
        table, log_scale = prepared.program.value(tables)
        return Result(table, log_scale + constant)

    # ------------------------------------------------------------------ impossible evidence

    def impossible(self, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> ImpossibleEvidenceError:
        """Return the error that names a smallest part of the evidence that cannot happen."""
        return conflicts.impossible(self, known, memory_budget)

    def is_impossible(self, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> bool:
        """Return whether coded evidence has probability zero; nothing of this question is kept."""
        question = Question("sum", (), frozenset(known.codes), frozenset(known.likelihoods))
        return not self._value(self.build(question, memory_budget), known).table > 0

"""Exact inference on one network: posteriors, all marginals, the probability of evidence.

Each answer is a contraction of the conditional probability tables (Koller and Friedman 2009, chapter 9): slice what
is observed out of the tables, leave out what cannot matter, and run the plan. :mod:`pgm.inference.preparing` does the
first two, :mod:`pgm.inference.contraction` the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError
from pgm.factors.factor import Factor, FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Label
from pgm.inference.contraction import Result
from pgm.inference.evidence import Evidence, code_evidence, code_likelihoods, code_targets, relative
from pgm.inference.explanation import Explanation
from pgm.inference.maximum import MarginalMaximizer, Maximizer
from pgm.inference.options import check_budget
from pgm.inference.preparing import Model, Prepared, Question
from pgm.inference.query_plan import QueryPlan

__all__ = ["ExactInference"]

TRIALS = 100
"""How many parts of impossible evidence are tried in search of a small conflict."""

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
        if len(asked) > 1:
            self.check_joint(asked, memory_budget)
        codes = known.codes
        free = tuple([target for target in asked if target not in codes and target not in self.constant])
        question = Question("sum", free, frozenset(codes), frozenset(known.likelihoods), _tuple(order))
        prepared = self._ready(question, memory_budget)
        table = self._value(prepared, known).table
        total = table.sum() if free else table
        if not total > 0:
            raise self.impossible(known, memory_budget)
        scope = tuple([self.variables[target] for target in asked])
        if len(free) == len(asked):
            return Factor._of(scope, table / total)
        return Factor._of(scope, self._spread(asked, codes, table / total))

    def check_joint(self, asked: Sequence[int], memory_budget: int) -> None:
        """Raise TooLargeError if the joint of some variables, which is the answer, would exceed the memory budget."""
        check_budget(memory_budget)
        shape = [self.cardinalities[target] for target in asked]
        check_size(shape, f"the joint of {len(asked)} variables", memory_budget)

    def _spread(self, asked: tuple[int, ...], codes: Mapping[int, int], table: FloatArray) -> FloatArray:
        """Return the joint in which observed targets have all their mass on the state observed."""
        joint = np.zeros([self.cardinalities[target] for target in asked])
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
        maximizer, tables = self._maximizer(asked, known, memory_budget)
        found = maximizer.k_best(tables, k)
        if not found:
            raise self.impossible(known, memory_budget)
        log_evidence = self.coded_log_probability(known, memory_budget)
        return tuple(self._explanation(asked, codes, known, log_evidence, memory_budget) for codes in found)

    def _maximizer(
        self, asked: tuple[int, ...] | None, known: Evidence, memory_budget: int
    ) -> tuple[Maximizer, list[FloatArray]]:
        """Return the search for the best joint state and its tables; whatever is not asked for is summed out."""
        prepared = self.prepare(self._maximum(asked, known), memory_budget)
        tables, constant = prepared.sliced(self.with_constants(known))
        if constant == -math.inf:
            raise self.impossible(known, memory_budget)
        if isinstance(prepared.maximizer, MarginalMaximizer):
            summed = prepared.maximizer.tables(tables)
            if summed is None:
                raise self.impossible(known, memory_budget)
            return prepared.maximizer.maximizer, summed
        assert prepared.maximizer is not None
        return prepared.maximizer, tables

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
                known._replace(codes={**known.codes, **codes}, likelihoods=likelihoods), memory_budget
            )
            log_joint += sum(math.log(v[codes[n]]) for n, v in known.likelihoods.items() if n in codes)
        assignment = {
            self.variables[number].name: self.variables[number].states[everything[number]] for number in shown
        }
        return Explanation(assignment, log_joint - log_evidence, log_joint)

    def _log_joint(self, codes: Mapping[int, int], known: Evidence) -> float:
        """Return ln P of a complete joint state, likelihoods included, straight from the tables."""
        entries = [entry(pick(codes)) for entry, pick in self.entries]
        entries += [vector.item(codes[number]) for number, vector in known.likelihoods.items()]
        return sum(map(math.log, entries)) + known.log_scale

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
        seen = frozenset(code_targets(self.index, observed)) if observed else frozenset()
        asked = code_targets(self.index, targets) if targets is not None else ()
        free = tuple(target for target in asked if target not in seen and target not in self.constant)
        question = Question("marginals" if targets is None else "sum", free, seen, order=_tuple(order))
        try:
            memory = self.prepare(question).program.peak_bytes
        except TooLargeError:
            memory = None
        return QueryPlan.of(self.plan(question), memory, self.variables, asked, tuple(sorted(seen)))

    # ------------------------------------------------------------------ coded questions

    def coded_marginals(
        self, known: Evidence, order: tuple[str, ...] | None = None, memory_budget: int = MEMORY_BUDGET
    ) -> dict[str, FloatArray]:
        """Return the posterior of every unobserved variable as an array. Raises as :meth:`marginals` does."""
        question = Question("marginals", (), frozenset(known.codes), frozenset(known.likelihoods), order)
        prepared = self._ready(question, memory_budget)
        tables, constant = prepared.sliced(self.with_constants(known))
        output, log_scale = prepared.program.marginals(tables)
        if constant + log_scale == -math.inf:
            raise self.impossible(known, memory_budget)
        output.flags.writeable = False
        places, answer = prepared.program.places, {}
        for number, variable in enumerate(self.variables):
            if number in places:
                start, stop = places[number]
                answer[variable.name] = output[start:stop]
            elif number not in known.codes:
                answer[variable.name] = np.ones(1)
        return answer

    def coded_log_probability(self, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> float:
        """Return ln P of coded evidence, minus infinity if it is impossible."""
        question = Question("sum", (), frozenset(known.codes), frozenset(known.likelihoods))
        table, log_scale = self._value(self._ready(question, memory_budget), known)
        return math.log(table) + log_scale + known.log_scale if table > 0 else -math.inf

    def row_posteriors(
        self, targets: tuple[int, ...], codes: dict[int, int], memory_budget: int = MEMORY_BUDGET
    ) -> dict[int, FloatArray] | None:
        """Return the posteriors of some variables given coded evidence, or None if it is impossible."""
        known = Evidence(codes, {}, 0.0)
        if self.coded_log_probability(known, memory_budget) == -math.inf:
            return None
        found = self.coded_marginals(known, None, memory_budget)
        return {target: found[self.variables[target].name] for target in targets}

    def row_completion(self, codes: dict[int, int], memory_budget: int = MEMORY_BUDGET) -> dict[int, int] | None:
        """Return the most probable joint state of what coded evidence leaves open, or None if it is impossible."""
        known = Evidence(codes, {}, 0.0)
        prepared = self.prepare(self._maximum(None, known), memory_budget)
        tables, constant = prepared.sliced(self.with_constants(known))
        assert isinstance(prepared.maximizer, Maximizer)
        return None if constant == -math.inf else prepared.maximizer.best(tables)

    # ------------------------------------------------------------------ evidence

    def code(
        self,
        evidence: Mapping[str, Label] | None,
        likelihoods: Likelihoods | None = None,
        distributions: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Evidence:
        """Return evidence of all kinds by number; a likelihood of an observed variable has said its say."""
        codes = code_evidence(self.variables, self.index, evidence)
        known = Evidence(codes, {}, 0.0) if likelihoods is None else self._weighed(codes, likelihoods)
        if distributions is None:
            return known
        from pgm.inference.jeffrey import with_distributions

        return with_distributions(self, known, distributions, memory_budget)

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

    def _value(self, prepared: Prepared, known: Evidence) -> Result:
        tables, constant = prepared.sliced(self.with_constants(known))
        if constant == -math.inf:
            return Result(np.asarray(0.0), 0.0)
        table, log_scale = prepared.program.value(tables)
        return Result(table, log_scale + constant)

    # ------------------------------------------------------------------ impossible evidence

    def impossible(self, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> ImpossibleEvidenceError:
        """Return the error that names a smallest part of the evidence that cannot happen.

        Where that cannot be found out within the memory budget, or not soon, a larger part is named.
        """
        items: list[tuple[int, int | FloatArray]] = [*known.codes.items(), *known.likelihoods.items()]
        try:
            conflict, smallest = self._conflict(items, memory_budget)
        except TooLargeError:
            conflict, smallest = items, False
        named = ", ".join(
            f"{self.variables[number].name}={self.variables[number].states[what]!r}"
            if isinstance(what, int)
            else f"the likelihood of {self.variables[number].name}"
            for number, what in sorted(conflict, key=lambda item: item[0])
        )
        among = "in conflict" if smallest else "in conflict, among others that may not matter"
        return ImpossibleEvidenceError(f"the evidence has probability zero; {among}: {named}")

    def _conflict(
        self, items: list[tuple[int, int | FloatArray]], memory_budget: int
    ) -> tuple[list[tuple[int, int | FloatArray]], bool]:
        """Return a subset of the evidence that is impossible, and whether each proper subset of it is possible.

        The last item of the shortest impossible prefix belongs to the conflict; move it to the front and repeat. Large
        conflicts cost many trials; after ``TRIALS`` what is left is returned as it is.
        """
        core: list[tuple[int, int | FloatArray]] = []
        trials = 0
        while not self._is_impossible(core, memory_budget):
            low, high = 0, len(items)  # core + items[:low] is possible, core + items[:high] is not
            while high - low > 1:
                trials += 1
                if trials > TRIALS:
                    return [*core, *items[:high]], False
                middle = (low + high) // 2
                if self._is_impossible([*core, *items[:middle]], memory_budget):
                    high = middle
                else:
                    low = middle
            core.append(items[high - 1])
            items = items[: high - 1]
        return core, True

    def _is_impossible(self, items: list[tuple[int, int | FloatArray]], memory_budget: int) -> bool:
        codes = {number: what for number, what in items if isinstance(what, int)}
        vectors = {number: what for number, what in items if not isinstance(what, int)}
        prepared = self.build(Question("sum", (), frozenset(codes), frozenset(vectors)), memory_budget)
        return not self._value(prepared, Evidence(codes, vectors, 0.0)).table > 0

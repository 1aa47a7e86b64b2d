"""KDB: beside the class, a feature depends on up to k other features, from naive Bayes (k = 0) towards no limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.common.base import CategoricalClassifier
from pgm.classifiers.common.continuous import Categorical
from pgm.classifiers.common.reading import Codes, States
from pgm.classifiers.common.tags import categorical_tags
from pgm.classifiers.counting.class_counts import FloatArray, rows_with_class
from pgm.classifiers.counting.estimates import Family
from pgm.classifiers.counting.information import information_of_pairs, information_with_class, ranks
from pgm.errors import DataError

__all__ = ["KDBClassifier"]


class KDBClassifier(CategoricalClassifier):
    """The k-dependence Bayes classifier: a feature depends on the class and on up to k more informative features.

    Features are taken in order of I(xi; c), the largest first. The parents of each are the class and, of the features
    before it, the k with the largest I(xi; xj | c), or all if there are fewer. Equal ones are taken in column order. So
    every feature but the first k has k parents, also if they tell nothing about it.

    Parameters
    ----------
    k
        Largest number of parents beside the class. 0 is naive Bayes.
    pseudocount, class_pseudocount, states, unseen
        As in `NaiveBayesClassifier`.
    categorical, discretizer, em
        As in `NaiveBayesClassifier`; but without a discretizer all features must be categories, and the structure is
        chosen by the rows whose class is known.

    Attributes
    ----------
    parents_
        The names of the parents of each feature beside the class, the most informative first; features in order of
        I(xi; c).
    classes_, network_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    Structure comes from the counts of pairs of values, of a single pass; the tables of families with two parents or
    more from another pass. Missing cells in fitting: in such rows features tell nothing about the class and each other,
    and tables come from the rows in which the whole family is known. A table has K times the product of k + 1
    cardinalities cells, and is refused if it exceeds the memory budget. In `leave_one_out` order and parents stay those
    of all rows. There is no ``partial_fit``, since it is known only when all rows have been seen what is to be counted.

    References
    ----------
    Sahami (1996), "Learning limited dependence Bayesian classifiers", *KDD-96*, 335-338.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = KDBClassifier(k=1).fit(X, [0, 1, 1, 0] * 3)
    >>> model.parents_, model.predict({"a": [0, 1], "b": [1, 1], "c": [1, 1]})
    ({'c': (), 'a': ('c',), 'b': ('a',)}, array([1, 0]))
    """

    def __init__(
        self,
        *,
        k: int = 2,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        categorical: Categorical = None,
        discretizer: Any = None,
        em: bool | Mapping[str, Any] = False,
        unseen: str = "error",
    ) -> None:
        self.k = k
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.categorical = categorical
        self.discretizer = discretizer
        self.em = em
        self.unseen = unseen

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 0:
            raise DataError(f"k must be a whole number of at least 0, not {self.k!r}")

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        names = [variable.name for variable in self.feature_variables_]
        order = np.argsort(ranks(information_with_class(self.counts_))).tolist()
        parents = _most_informative(order, information_of_pairs(self.counts_), self.k)
        self.parents_ = {names[child]: tuple(names[parent] for parent in parents[child]) for child in order}
        self._large = self._counted(parents, codes, labels, weights)
        return parents

    def _counted(
        self, parents: list[tuple[int, ...]], codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None
    ) -> dict[int, FloatArray]:
        """Return the counts of families with two parents or more."""
        data = rows_with_class(self.feature_variables_, len(self.classes_), codes, labels, weights)
        target, *names = data.names
        large = [child for child, above in enumerate(parents) if len(above) > 1]
        families = [(names[child], [target, *(names[parent] for parent in parents[child])]) for child in large]
        known = {
            child: (slice(None), *(slice(0, self.counts_.cardinalities[v]) for v in (*parents[child], child)))
            for child in large
        }
        tables = data.count(families)
        return {child: table[known[child]].astype(np.float64) for child, table in zip(large, tables, strict=True)}

    def _family(self, child: int, parents: tuple[int, ...]) -> Family:
        if len(parents) > 1:
            return Family(child, parents, self._large[child])
        return super()._family(child, parents)

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())


def _most_informative(order: list[int], told: FloatArray, k: int) -> list[tuple[int, ...]]:
    """Return the parents of each feature: of those before it in ``order`` the k that tell most.

    >>> _most_informative([2, 0, 1], np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]), 1)
    [(2,), (0,), ()]
    """
    parents: list[tuple[int, ...]] = [()] * len(order)
    for place, child in enumerate(order):
        before = np.sort(np.array(order[:place], np.intp))
        best = np.argsort(ranks(told[child, before]))[:k]
        parents[child] = tuple(before[best].tolist())
    return parents

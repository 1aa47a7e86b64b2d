"""One-dependence classifiers: beside the class, a feature depends on at most one other feature.

In SPODE all depend on the same one, the *super-parent*; in TAN the dependences form a tree, the one that explains the
training rows best.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.averaging.log_mean import PackedRows, SuperParent, of_own_class
from pgm.classifiers.averaging.super_parents import equal_weights, first_of_largest, log_product, under_features
from pgm.classifiers.common.base import CategoricalClassifier
from pgm.classifiers.common.batches import LearnsInBatches
from pgm.classifiers.common.continuous import Categorical
from pgm.classifiers.common.reading import Codes, States
from pgm.classifiers.common.tags import categorical_tags
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.leaving_out import INCOMPLETE, held_out, own_weights
from pgm.classifiers.tree_augmentation import Pairs, best_forest, directed_away, forests_without_each_row
from pgm.errors import DataError, MissingDataError, UnknownNameError, listing

__all__ = ["SPODEClassifier", "TANClassifier"]


class SPODEClassifier(CategoricalClassifier):
    """The super-parent one-dependence estimator: every feature depends on the class and on one and the same feature.

    Parameters
    ----------
    super_parent
        Name of that feature. Default: the one with the largest leave-one-out accuracy on the training rows, the first
        of equal ones.
    pseudocount, class_pseudocount, states, unseen
        As in `NaiveBayesClassifier`.
    categorical, discretizer, em
        As in `NaiveBayesClassifier`; but without a discretizer all features must be categories, and only rows of known
        class choose the structure.

    Attributes
    ----------
    super_parent_
        The super-parent.
    classes_, network_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    Leave-one-out is the cross-validation that needs no random numbers, and here costs O(rows * features) for each
    candidate, since rows are subtracted from the counts. Only rows without missing cells have a say in the choice. In
    `leave_one_out` the super-parent stays the one that all rows choose, which flatters it a little.

    References
    ----------
    Keogh and Pazzani (1999), "Learning augmented Bayesian classifiers". Zhou (2016), *Machine Learning*, section 7.4.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = SPODEClassifier(super_parent="a").fit(X, [0, 1, 1, 0] * 3)
    >>> model.network_.dag.to_string(), model.score(X, [0, 1, 1, 0] * 3)
    ('[class][a|class][b|class:a][c|class:a]', 1.0)
    """

    def __init__(
        self,
        *,
        super_parent: str | None = None,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        categorical: Categorical = None,
        discretizer: Any = None,
        em: bool | Mapping[str, Any] = False,
        unseen: str = "error",
    ) -> None:
        self.super_parent = super_parent
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.categorical = categorical
        self.discretizer = discretizer
        self.em = em
        self.unseen = unseen

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        names = [variable.name for variable in self.feature_variables_]
        chosen = _position(self.super_parent, names, "super_parent")
        if chosen is None:
            chosen = self._most_accurate(codes, labels, weights)
        self.super_parent_ = names[chosen]
        return [() if feature == chosen else (chosen,) for feature in range(len(names))]

    def _most_accurate(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> int:
        features, sizes = range(len(codes)), self.counts_.cardinalities
        complete = np.all([codes[feature] < sizes[feature] for feature in features], axis=0)
        if not complete.any():
            raise DataError("choosing a super-parent needs rows without missing cells: name one")
        codes, labels = [column[complete] for column in codes], labels[complete]
        weights = None if weights is None else weights[complete]
        right = np.zeros(len(codes))
        for rows, out in equal_weights(labels, weights):
            some = [column[rows] for column in codes]
            parents = under_features(self.counts_, some, features, self._log_own, self.pseudocount, out)
            unweighted = (SuperParent(values, np.ones(len(own)), own, logs) for _, values, own, logs in parents)
            for first, block, both, _ in PackedRows(some, sizes).blocks(unweighted):
                decided = of_own_class(both, out.labels[block]).argmax(axis=2)
                right[first : first + len(decided)] += out.weight * (decided == out.labels[block]).sum(axis=1)
        return first_of_largest(right)

    def _log_own(self, parent: int, without: float | None) -> FloatArray:
        counts = self.counts_.family(parent)
        return log_product(counts, self.counts_.classes, self.pseudocount, self._class_pseudocount, without)

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())


class TANClassifier(LearnsInBatches, CategoricalClassifier):
    """The tree-augmented naive Bayes classifier: given the class, features form the most likely tree.

    Parameters
    ----------
    root
        Name of the feature from which the tree leads away. Default: the first.
    penalty
        None: a tree, which joins all features. "aic" or "bic": a forest, in which two features are joined only if the
        likelihood gains more than that score takes for the parameters.
    pseudocount, class_pseudocount, states, unseen
        As in `NaiveBayesClassifier`.
    categorical, discretizer, em
        As in `NaiveBayesClassifier`; but without a discretizer all features must be categories, and only rows of known
        class choose the structure.

    Attributes
    ----------
    tree_
        The edges between features, as pairs of names.
    classes_, network_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    The weight of two features is I(xi; xj | c), from the counts of a single pass; then O(features**2 log features).
    Missing cells in fitting: a pair is weighed by the rows in which both are known. `partial_fit` makes the tree anew
    from all counts so far, and `leave_one_out` for each row from all others.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), *Machine Learning* 29, 131-163.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = TANClassifier().fit(X, [0, 1, 1, 0] * 3)
    >>> model.tree_, model.predict({"a": [0, 1], "b": [1, 1], "c": [1, 1]})
    ((('a', 'b'), ('a', 'c')), array([1, 0]))
    """

    def __init__(
        self,
        *,
        root: str | None = None,
        penalty: str | None = None,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        categorical: Categorical = None,
        discretizer: Any = None,
        em: bool | Mapping[str, Any] = False,
        unseen: str = "error",
    ) -> None:
        self.root = root
        self.penalty = penalty
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.categorical = categorical
        self.discretizer = discretizer
        self.em = em
        self.unseen = unseen

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        parents = self._parents(best_forest(self.counts_, self.penalty))
        names = [variable.name for variable in self.feature_variables_]
        edges = zip(names, parents, strict=True)
        self.tree_ = tuple((names[parent], name) for name, above in edges for parent in above)
        return parents

    def _parents(self, pairs: Pairs) -> list[tuple[int, ...]]:
        """Return the parents of each feature among the features in a forest."""
        names = [variable.name for variable in self.feature_variables_]
        above = directed_away(_position(self.root, names, "root") or 0, len(names), pairs)
        return [(above[feature],) if feature in above else () for feature in range(len(names))]

    def _held_out(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
        own = own_weights(labels, len(self.classes_), weights)
        joint = self._held_out_class(own)
        for rows, pairs in forests_without_each_row(self.counts_, codes, own, self.penalty):
            cells, sizes = [column[rows] for column in codes], self.counts_.cardinalities
            for child, parents in enumerate(self._parents(pairs)):
                if any((cells[parent] == sizes[parent]).any() for parent in parents):
                    raise MissingDataError(INCOMPLETE)
                joint[rows] += held_out(self._family(child, parents), cells, sizes, own[rows], self.pseudocount)
        return joint

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())


def _position(name: str | None, names: list[str], what: str) -> int | None:
    if name is None:
        return None
    if name not in names:
        raise UnknownNameError(f"{what} is {name!r}; the features are {listing(names)}")
    return names.index(name)

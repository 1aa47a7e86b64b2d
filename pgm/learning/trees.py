"""Trees: the best graphs in which no node has more than one parent, found exactly and fast.

The log-likelihood of a tree is that of the empty graph plus N times the mutual information of every edge's ends. So the
most likely tree is the spanning tree with the largest sum of mutual information (Chow and Liu), whichever node is made
the root. With mutual information given a class, the same idea makes the *tree-augmented* naive Bayes graph (TAN).

A score that punishes parameters leaves edges with a negative gain, and without them the best graph is a forest. Any
score will do that is equal for equivalent graphs, since then the gain of an edge does not depend on its direction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data import CountSource, count_source
from pgm.data.checks import check_known
from pgm.errors import DataError, GraphError, UnknownNameError, listing
from pgm.graph.base import Edge, read_edges
from pgm.graph.dag import DAG
from pgm.learning.independence.mutual_information import mutual_information_matrix
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import AnyScore

__all__ = ["chow_liu", "maximum_spanning_tree", "tree_augmented"]

_GRID = 1e-12
"""Weights that differ by less than this share of the largest count as equal."""

_Pair = tuple[int, int]


def chow_liu(
    data: object,
    *,
    root: str | None = None,
    score: AnyScore | None = None,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
) -> DAG:
    """Return the tree over all variables with the largest likelihood, or the forest with the best score.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    root
        The node from which edges lead away; default: the first column. It does not change which nodes are joined.
    score
        None: a tree, which joins all variables, by mutual information. A score, such as ``"bic"`` or ``"aic"``: the
        forest with the best score, in which edges that gain nothing are left out. It must be equal for equivalent
        graphs.
    required, forbidden
        Pairs of nodes, in either order, that must be joined and must not be. If what is not forbidden does not connect
        all nodes, the result is a forest.

    Raises
    ------
    UnknownNameError
        For unknown nodes and scores.
    GraphError
        If required pairs form a cycle or are also forbidden.
    DataError
        For a score that is not equal for equivalent graphs.
    MissingDataError
        If cells are missing.
    TooLargeError
        If the tables of one variable with all others would exceed the memory budget.

    Notes
    -----
    One pass over the distinct rows for each variable, then O(n**2 log n). Among equal weights, pairs that come first in
    column order are joined first; so a variable without any information is joined to the first column.

    References
    ----------
    Chow and Liu (1968), *IEEE Transactions on Information Theory* 14(3), 462-467. Koller and Friedman (2009), section
    18.4.1.

    Examples
    --------
    >>> data = {"a": [0, 0, 0, 1, 1, 1] * 9, "b": [0, 0, 1, 1, 1, 0] * 9, "c": [0, 1, 1, 1, 1, 0] * 9}
    >>> chow_liu(data).to_string(), chow_liu(data, root="c").to_string()
    ('[a][b|a][c|b]', '[a|b][b|c][c]')
    """
    source = count_source(data)
    names = [variable.name for variable in source.variables]
    first = names[0] if root is None else root
    check_known([first], names)
    weights = mutual_information_matrix(source) if score is None else _gains(source, score)
    pairs = maximum_spanning_tree(
        weights,
        required=_positions(required, names),
        forbidden=_positions(forbidden, names),
        only_positive=score is not None,
        names=names,
    )
    return DAG([(names[u], names[v]) for u, v in _away_from(names.index(first), len(names), pairs)], names)


def tree_augmented(data: object, target: str, *, root: str | None = None, score: AnyScore | None = None) -> DAG:
    """Return the tree-augmented naive Bayes graph (TAN): a tree over the features, and the target above all of them.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column but the target is a feature.
    target
        The class.
    root
        The feature from which the tree leads away; default: the first. It does not change which features are joined.
    score
        None: a tree by the mutual information of two features given the target. A score, such as ``"bic"``: features
        are joined only where that gains, so the result lies between naive Bayes and TAN.

    Raises
    ------
    UnknownNameError
        For unknown nodes and scores.
    GraphError
        If the target is named as the root.
    DataError
        For a score that is not equal for equivalent graphs.
    MissingDataError
        If cells are missing.
    TooLargeError
        If the tables of one variable with all others would exceed the memory budget.

    Notes
    -----
    One pass over the distinct rows for each feature. Ties as in `chow_liu`. The network has the largest likelihood of
    all those in which the target is a parent of every feature and a feature has at most one other.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), *Machine Learning* 29, 131-163, section 4.1.

    Examples
    --------
    >>> data = {"f": [0, 0, 1, 1, 1, 0], "g": [0, 1, 1, 1, 0, 0], "class": ["m", "m", "m", "n", "n", "n"]}
    >>> tree_augmented(data, "class").to_string()
    '[f|class][g|class:f][class]'
    """
    source = count_source(data)
    names = [variable.name for variable in source.variables]
    check_known([target] if root is None else [target, root], names)
    if root == target:
        raise GraphError(f"the target {target!r} is above all features; the root must be one of them")
    features = [position for position, name in enumerate(names) if name != target]
    if not features:
        return DAG([], names)
    weights = mutual_information_matrix(source, target) if score is None else _gains(source, score, target)
    pairs = maximum_spanning_tree(weights[np.ix_(features, features)], only_positive=score is not None)
    start = 0 if root is None else features.index(names.index(root))
    tree = _away_from(start, len(features), pairs)
    edges = [(target, names[feature]) for feature in features]
    edges += [(names[features[u]], names[features[v]]) for u, v in tree]
    return DAG(edges, names)


def maximum_spanning_tree(
    weights: ArrayLike,
    *,
    required: Iterable[_Pair] = (),
    forbidden: Iterable[_Pair] = (),
    only_positive: bool = False,
    names: Sequence[str] | None = None,
) -> tuple[_Pair, ...]:
    """Return the pairs of the spanning tree with the largest sum of weights, sorted, or of the spanning forest.

    Parameters
    ----------
    weights
        Symmetric matrix; the diagonal is not looked at.
    required, forbidden
        Pairs of positions, in either order, that must be joined and must not be.
    only_positive
        Whether to leave out pairs whose weight is not positive, which makes a forest.
    names
        What errors call the nodes; default: their positions.

    Raises
    ------
    GraphError
        If the weights are no symmetric matrix of finite numbers; if required pairs form a cycle or are also forbidden.

    Notes
    -----
    Kruskal's algorithm, O(n**2 log n). Weights that differ by less than 1e-12 of the largest are ties, since rounding
    must not decide; of them the pair that comes first in row order is taken first.

    References
    ----------
    Kruskal (1956), *Proceedings of the American Mathematical Society* 7(1), 48-50.

    Examples
    --------
    >>> maximum_spanning_tree([[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    ((0, 1), (0, 2))
    >>> maximum_spanning_tree([[0, 3, -2], [3, 0, -1], [-2, -1, 0]], only_positive=True)
    ((0, 1),)
    """
    matrix = np.asarray(weights, np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
        raise GraphError("the weights of a tree must be a symmetric matrix of finite numbers")
    excluded = {_sorted(pair) for pair in forbidden}
    called = range(len(matrix)) if names is None else names
    trees = _Trees(len(matrix))
    chosen = []
    for u, v in dict.fromkeys(_sorted(pair) for pair in required):
        if (u, v) in excluded:
            raise GraphError(f"the nodes {called[u]} and {called[v]} must be joined and must not be")
        if not trees.join(u, v):
            raise GraphError(f"the required pairs form a cycle through the nodes {called[u]} and {called[v]}")
        chosen.append((u, v))
    rows, columns = np.triu_indices(len(matrix), 1)
    unit = _GRID * float(np.abs(matrix[rows, columns]).max(initial=0.0))
    ranks = np.rint(matrix[rows, columns] / unit) if unit > 0 else np.zeros(len(rows))
    for place in np.argsort(-ranks, kind="stable"):
        u, v = int(rows[place]), int(columns[place])
        if only_positive and ranks[place] <= 0:
            break
        if (u, v) not in excluded and trees.join(u, v):
            chosen.append((u, v))
    return tuple(sorted(chosen))


class _Trees:
    """Disjoint sets of nodes, each of which a tree connects."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def join(self, u: int, v: int) -> bool:
        """Make one tree of two; return whether they were two."""
        top_u, top_v = self._top(u), self._top(v)
        self._above[max(top_u, top_v)] = min(top_u, top_v)
        return top_u != top_v

    def _top(self, node: int) -> int:
        while self._above[node] != node:
            self._above[node] = node = self._above[self._above[node]]
        return node


def _away_from(root: int, size: int, pairs: Iterable[_Pair]) -> list[_Pair]:
    """Return the edges of a forest directed away from ``root``, and in the other trees from the smallest node."""
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for u, v in pairs:
        neighbours[u].append(v)
        neighbours[v].append(u)
    edges: list[_Pair] = []
    seen: set[int] = set()
    for start in (root, *range(size)):
        waiting = deque([start] if start not in seen else [])
        seen.add(start)
        while waiting:
            node = waiting.popleft()
            below = [other for other in neighbours[node] if other not in seen]
            edges += [(node, other) for other in below]
            seen.update(below)
            waiting.extend(below)
    return edges


def _gains(source: CountSource, score: AnyScore, target: str | None = None) -> NDArray[np.float64]:
    """Return what each edge adds to the score of the empty graph, or of naive Bayes, as a symmetric matrix."""
    scores = FamilyScores(source, score)
    if not scores.measure.is_score_equivalent:
        raise DataError(f"a tree needs a score that is equal for equivalent graphs, and {scores.measure.name} is not")
    above = () if target is None else (scores.names.index(target),)
    gains = np.zeros((len(scores.names), len(scores.names)))
    for child in range(len(scores.names)):
        if child not in above:
            gains[child] = scores.neighbours(child, above, True)[1]
    return np.asarray(np.triu(gains, 1) + np.triu(gains, 1).T)


def _positions(pairs: Iterable[Edge], names: Sequence[str]) -> list[_Pair]:
    edges = read_edges(pairs)
    for name in (end for edge in edges for end in edge):
        if name not in names:
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(names)}")
    return [(names.index(u), names.index(v)) for u, v in edges]


def _sorted(pair: _Pair) -> _Pair:
    return min(pair), max(pair)

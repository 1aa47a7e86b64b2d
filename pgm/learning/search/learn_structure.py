"""`learn_structure`: the search to begin with. It looks at the size of the problem and says what it did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from pgm.data import CountSource, count_source
from pgm.errors import GraphError
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.result import SearchResult
from pgm.learning.scores.scoring import AnyScore
from pgm.learning.search.hill_climbing import hill_climb
from pgm.learning.search.order_search import order_search
from pgm.network import BayesianNetwork

__all__ = ["learn_structure"]

Effort: TypeAlias = Literal["low", "normal", "high"]

EXACT_WORK = {"low": 0, "normal": 1 << 27, "high": 1 << 34}
"""Rows times sets of variables up to which the proven optimum is found by dynamic programming."""

EXACT_VARIABLES = 20
"""Beyond so many variables the program behind `exact_search` would be another one, which may take long."""

ORDER_VARIABLES = {"low": 0, "normal": 500, "high": 1000}
"""Up to so many variables orders are searched; beyond, greedily."""

GREEDY_FIRST = 64
"""With more variables than this an order search starts from the graph that hill climbing finds."""

LISTED_VARIABLES = 80
"""Up to so many variables all sets of three parents are listed, with high effort."""


def learn_structure(
    data: object,
    score: AnyScore = "bic",
    *,
    effort: Effort = "normal",
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    progress: bool = True,
) -> SearchResult:
    """Return a graph of high score, by the search that suits the size of the problem.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name such as ``"bic"``, or a score object.
    effort
        ``"normal"``: dynamic programming, which proves the optimum, where that takes seconds (up to a dozen variables);
        `order_search` up to 500 variables; `hill_climb` beyond. ``"low"``: `hill_climb`. ``"high"``: dynamic
        programming up to 20 variables; an order search with several starts and all sets of three parents listed.
    required, forbidden, tiers, max_parents, start
        As in `hill_climb`.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Returns
    -------
    SearchResult
        Its field ``method`` says what was done. For a proof beyond 20 variables see `exact_search`.

    Raises
    ------
    GraphError, UnknownNameError, MissingDataError, TooLargeError
        As `hill_climb`; GraphError also for an unknown effort.

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0] * 6
    >>> result = learn_structure({"a": a, "b": b, "c": [0] * 24 + [1] * 24})
    >>> result.dag.edges, round(result.score, 3)
    ((('a', 'b'),), -101.277)
    """
    if effort not in EXACT_WORK:
        raise GraphError(f"effort must be 'low', 'normal' or 'high', not {effort!r}")
    source = count_source(data)
    options: dict[str, Any] = {
        "required": required,
        "forbidden": forbidden,
        "tiers": tiers,
        "max_parents": max_parents,
        "start": start,
        "progress": progress,
    }
    n = len(source.variables)
    if n <= EXACT_VARIABLES and _work(source) <= EXACT_WORK[effort]:
        from pgm.learning.exact.exact_search import exact_search

        return exact_search(source, score, **options)
    if n <= ORDER_VARIABLES[effort]:
        if start is None and effort == "normal" and n > GREEDY_FIRST:
            options["start"] = hill_climb(source, score, **options).dag
        if effort == "high":
            options |= {"starts": 5, "patience": 200, "list_all": 3 if n <= LISTED_VARIABLES else 2}
        return order_search(source, score, **options)
    return hill_climb(source, score, **options)


def _work(source: CountSource) -> int:
    return max(source.n_rows, 1) << len(source.variables)

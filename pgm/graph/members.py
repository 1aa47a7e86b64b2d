"""The members of an equivalence class: all DAGs that a graph with undirected edges stands for.

They can be listed, counted without listing, and drawn at random. A class may be astronomically large: a complete graph
of 20 nodes has 20! members. Its undirected edges fall into connected parts that can be directed each by itself.

In a CPDAG no directed edge joins two nodes of one part, and Clique-Picking counts its directions in polynomial time.
Where background knowledge has directed some edges of a part, counting is #P-hard, and the ways are gone through.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from pgm.errors import TooLargeError, listing
from pgm.graph.base import reachable
from pgm.graph.clique_picking import CliquePicking
from pgm.graph.orientation import Ends, Pair, consistent_extension, named

if TYPE_CHECKING:
    import numpy as np

    from pgm.graph.dag import DAG
    from pgm.graph.pdag import PDAG

__all__ = ["count_members", "directed_parts", "iter_members", "members", "sample_member"]


def members(pdag: PDAG, *, limit: int = 1000) -> tuple[DAG, ...]:
    """Return all consistent extensions of a graph; of a CPDAG, the members of its equivalence class.

    Parameters
    ----------
    pdag
        The graph.
    limit
        How many to return at most; a class can be exponentially large.

    Raises
    ------
    TooLargeError
        If there are more than ``limit``.
    GraphError
        If there is none.

    See Also
    --------
    iter_members : The same one by one, without a limit.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> [dag.to_string() for dag in members(DAG([("a", "b"), ("b", "c")]).cpdag())]
    ['[a][b|a][c|b]', '[a|b][b][c|b]', '[a|b][b|c][c]']
    """
    number = count_members(pdag, limit=limit)
    if number > limit:
        raise TooLargeError(f"the graph stands for {number} DAGs, more than the limit of {limit}")
    return tuple(iter_members(pdag))


def iter_members(pdag: PDAG) -> Iterator[DAG]:
    """Iterate over all consistent extensions of a graph, each made when asked for, in a fixed order.

    Raises
    ------
    GraphError
        If there is none.

    Notes
    -----
    Directs the first undirected edge in declared order, first the way its nodes are declared, and fills in what Meek's
    rules then force, until none is left. The rules are complete, so no way is a dead end.

    Examples
    --------
    >>> from itertools import combinations, islice
    >>> from pgm.graph import PDAG
    >>> complete = PDAG([], list(combinations("abcdefghijklmnopqrst", 2)))  # 20! members
    >>> [dag.topological_order[-3:] for dag in islice(iter_members(complete), 2)]
    [('r', 's', 't'), ('r', 't', 's')]
    """
    consistent_extension(pdag)  # raises if there is none
    ends = Ends.closed(pdag)
    return _named_members(pdag, ends.directed(), ends)


def _named_members(pdag: PDAG, fixed: list[Pair], ends: Ends) -> Iterator[DAG]:
    from pgm.graph.dag import DAG

    for way in ends.all_directions():
        yield DAG(named(pdag, [*fixed, *way]), pdag.nodes)


def count_members(pdag: PDAG, *, limit: int = 1000) -> int:
    """Return the number of consistent extensions of a graph; of a CPDAG, the size of its equivalence class.

    Parameters
    ----------
    pdag
        The graph. If it is no CPDAG but has background knowledge in it, the members that agree with that are counted.
    limit
        How many ways to direct one connected undirected part are gone through at most, where background knowledge makes
        that necessary. For a CPDAG there is no limit.

    Raises
    ------
    TooLargeError
        If one part with background knowledge can be directed in more than ``limit`` ways.
    GraphError
        If there is no consistent extension.

    Notes
    -----
    Polynomial for a CPDAG, by `pgm.graph.clique_picking`: milliseconds for parts of 30 nodes.

    References
    ----------
    Wienöbst, Bannach and Liskiewicz, Polynomial-time algorithms for counting and sampling Markov equivalent DAGs,
    AAAI 2021; with background knowledge: the same, Polynomial-time algorithms for counting and sampling Markov
    equivalent DAGs with applications, JMLR 24, 2023, section 6.

    Examples
    --------
    >>> from itertools import combinations
    >>> from pgm.graph import PDAG
    >>> count_members(PDAG([], list(combinations("abcdefghijklmnopqrst", 2))))
    2432902008176640000
    """
    ends, parts = directed_parts(pdag)
    counter = CliquePicking(_masks(ends))
    return prod(
        counter.count(_mask(part)) if _is_free(ends, part) else len(_ways(pdag, ends, part, limit)) for part in parts
    )


def sample_member(pdag: PDAG, rng: np.random.Generator | int, *, limit: int = 1000) -> DAG:
    """Return one of the consistent extensions of a graph, each with the same probability.

    Parameters
    ----------
    pdag
        The graph.
    rng
        Seed or generator.
    limit
        As in `count_members`.

    Raises
    ------
    TooLargeError, GraphError
        As `count_members`.

    Notes
    -----
    The same seed gives the same member. Polynomial for a CPDAG; drawing many members of one class counts each time.

    References
    ----------
    Wienöbst, Bannach and Liskiewicz, AAAI 2021, section 5.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> sample_member(DAG([("a", "b"), ("b", "c")]).cpdag(), rng=0) in DAG([("a", "b"), ("b", "c")]).cpdag().members()
    True
    """
    import numpy as np

    from pgm.graph.dag import DAG

    generator = np.random.default_rng(rng)
    ends, parts = directed_parts(pdag)
    counter = CliquePicking(_masks(ends))
    directed = ends.directed()
    for part in parts:
        if _is_free(ends, part):
            rank = {node: place for place, node in enumerate(counter.draw(_mask(part), generator))}
            directed += [(u, v) if rank[u] < rank[v] else (v, u) for u in part for v in ends.neighbors[u] if u < v]
        else:
            ways = _ways(pdag, ends, part, limit)
            directed += ways[int(generator.integers(len(ways)))]
    return DAG(named(pdag, directed), pdag.nodes)


def directed_parts(pdag: PDAG) -> tuple[Ends, list[list[int]]]:
    """Return a graph with forced directions filled in, and the connected parts of its undirected edges.

    Each part is a sorted list of positions. Parts can be directed independently of each other.

    Raises
    ------
    GraphError
        If the graph has no consistent extension.

    Examples
    --------
    >>> from pgm.graph import PDAG
    >>> directed_parts(PDAG([("a", "b")], [("c", "d"), ("b", "e")]))[1]
    [[2, 3]]
    """
    consistent_extension(pdag)
    ends = Ends.closed(pdag)
    parts: list[list[int]] = []
    seen: set[int] = set()
    for node in range(len(pdag.nodes)):
        if node not in seen and ends.neighbors[node]:
            part = reachable([node], ends.neighbors)
            seen |= part
            parts.append(sorted(part))
    return ends, parts


def _is_free(ends: Ends, part: list[int]) -> bool:
    """Return whether no directed edge joins two nodes of a part.

    Then Meek's first two rules give all its nodes the same parents, and a cycle or a V-structure can only arise within.
    """
    inside = set(part)
    return all(inside.isdisjoint(ends.children[node]) for node in part)


def _ways(pdag: PDAG, ends: Ends, part: list[int], limit: int) -> list[list[Pair]]:
    """Return all ways to direct a part."""
    ways = list(islice(ends.restricted(part).all_directions(), limit + 1))
    if len(ways) > limit:
        where = listing(pdag.nodes[node] for node in part)
        raise TooLargeError(f"the edges among {where} can be directed in more than {limit} ways")
    return ways


def _mask(nodes: list[int] | set[int]) -> int:
    return sum(1 << node for node in nodes)


def _masks(ends: Ends) -> list[int]:
    return [_mask(ends.neighbors[node]) for node in sorted(ends.neighbors)]

"""`Graph`: named nodes in declared order, the part that every graph of this package shares.

Names are for people and positions are for algorithms: a node's position is its place in `Graph.nodes`. Names are
checked and turned into positions here, once; the algorithms in the other modules then work on small integers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Self, TypeAlias

from pgm.errors import GraphError, UnknownNameError, listing

__all__ = ["Edge", "Graph", "Names", "declared", "names_of", "reachable", "read_edges", "topological"]

Edge: TypeAlias = tuple[str, str]
"""A pair of node names; in a directed edge the parent comes first."""

Names: TypeAlias = str | Iterable[str]
"""One node name, or several."""

_Steps: TypeAlias = Sequence[Iterable[int]] | Mapping[int, Iterable[int]]


class Graph:
    """A graph's nodes: different, non-empty names in declared order. Base of `DAG`, `PDAG` and `UndirectedGraph`.

    Graphs are values: they never change, so a copy is the graph itself and a graph may be a dictionary key.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> graph = DAG([("a", "b")], nodes=["b", "a", "c"])
    >>> graph.nodes, graph.index("a"), graph.indices(["c", "b"])
    (('b', 'a', 'c'), 1, (2, 0))
    """

    __slots__ = ("_positions", "nodes")

    nodes: tuple[str, ...]
    _positions: dict[str, int]

    def index(self, node: str) -> int:
        """Return the position of ``node`` in declared order.

        Raises
        ------
        UnknownNameError
            If there is no such node; the message lists those there are.
        """
        try:
            return self._positions[node]
        except (KeyError, TypeError):
            raise UnknownNameError(f"{node!r} is not a node; the nodes are {listing(self.nodes)}") from None

    def indices(self, nodes: Names) -> tuple[int, ...]:
        """Return the positions of one node or of several, in the order given, each once."""
        return tuple(dict.fromkeys(self.index(node) for node in names_of(nodes)))

    def _names(self, positions: Iterable[int]) -> tuple[str, ...]:
        """Return the names at ``positions`` in declared order."""
        return tuple(self.nodes[position] for position in sorted(positions))

    def _set(self, **fields: object) -> None:
        """Set attributes while the graph is being built; afterwards nothing can."""
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def names_of(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple; a set, which has no order of its own, is sorted.

    >>> names_of("rain"), names_of({"b", "a"})
    (('rain',), ('a', 'b'))
    """
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise GraphError(f"expected a node name or a list of node names, not {names!r}")
    return tuple(sorted(names, key=str) if isinstance(names, (set, frozenset)) else names)


def read_edges(edges: Iterable[object]) -> list[Edge]:
    """Return the edges as pairs of names, each once, in the order given (a set is sorted).

    >>> read_edges([("a", "b"), ["b", "c"], ("a", "b")])
    [('a', 'b'), ('b', 'c')]

    Raises
    ------
    GraphError
        For what is not a pair of non-empty names, and for an edge from a node to itself.
    """
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise GraphError(f"expected a list of edges, not {edges!r}")
    pairs: dict[Edge, None] = {}
    for edge in sorted(edges, key=str) if isinstance(edges, (set, frozenset)) else edges:
        match edge:
            case [start, end]:  # a sequence, so no set, and no text: "ab" is one name
                pair = _checked_name(start), _checked_name(end)
            case _:
                raise GraphError(f"an edge is a pair of node names, not {edge!r}")
        if start == end:
            raise GraphError(f"the edge {start} -> {end} joins a node to itself")
        pairs[pair] = None
    return list(pairs)


def declared(nodes: Names | None, edges: Iterable[Edge]) -> dict[str, int]:
    """Return every node's position: the declared nodes or, where none are declared, the ends of the edges as met.

    >>> declared(None, [("b", "a"), ("a", "c")])
    {'b': 0, 'a': 1, 'c': 2}

    Raises
    ------
    GraphError
        For a repeated node, and for an edge that names a node that is not declared.
    """
    if nodes is None:
        ends = dict.fromkeys(end for edge in edges for end in edge)
        return {name: position for position, name in enumerate(ends)}
    positions: dict[str, int] = {}
    for name in map(_checked_name, names_of(nodes)):
        if name in positions:
            raise GraphError(f"the node {name!r} is declared twice")
        positions[name] = len(positions)
    for start, end in edges:
        if start not in positions or end not in positions:
            missing, known = (start if start not in positions else end), listing(positions)
            raise GraphError(f"the edge {start} -> {end} names {missing!r}, but the declared nodes are {known}")
    return positions


def topological(size: int, edges: Sequence[tuple[int, int]], names: Sequence[str]) -> tuple[int, ...]:
    """Return an order of positions in which parents come first; of the nodes that are ready, the smallest is next.

    >>> topological(3, [(2, 0), (0, 1)], "abc")
    (2, 0, 1)

    Raises
    ------
    GraphError
        If the edges form a cycle. The message spells the cycle out; its last step is the edge that closes it.

    Notes
    -----
    O(E + V log V), by Kahn's algorithm with a heap.
    """
    order = _kahn(size, edges)
    if len(order) < size:
        cycle = " -> ".join(names[position] for position in _first_cycle(size, edges))
        raise GraphError(f"the edges form a cycle: {cycle}")
    return tuple(order)


def reachable(start: Iterable[int], steps: _Steps) -> set[int]:
    """Return the positions that can be reached from ``start``, itself included, where ``steps[v]`` follow ``v``.

    >>> sorted(reachable([0], [[1], [2], [], [2]]))
    [0, 1, 2]
    """
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for position in steps[waiting.pop()]:
            if position not in reached:
                reached.add(position)
                waiting.append(position)
    return reached


def _kahn(size: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the nodes in topological order, without those that lie on or below a cycle."""
    children: list[list[int]] = [[] for _ in range(size)]
    waiting_for = [0] * size
    for parent, child in edges:
        children[parent].append(child)
        waiting_for[child] += 1
    ready = [node for node, count in enumerate(waiting_for) if not count]  # ascending, so already a heap
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting_for[child] -= 1
            if not waiting_for[child]:
                heappush(ready, child)
    return order


def _first_cycle(size: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the shortest cycle through the first edge, in the order given, that closes one."""
    shortest_bad_start = bisect_left(range(len(edges)), True, key=lambda count: len(_kahn(size, edges[:count])) < size)
    *before, (last, first) = edges[:shortest_bad_start]
    children: dict[int, list[int]] = {}
    for parent, child in before:
        children.setdefault(parent, []).append(child)
    came_from = {first: first}
    queue = deque([first])
    while last not in came_from:
        node = queue.popleft()
        for child in children.get(node, ()):
            if child not in came_from:
                came_from[child] = node
                queue.append(child)
    path = [last]
    while path[-1] != first:
        path.append(came_from[path[-1]])
    return [*reversed(path), first]


def _checked_name(name: object) -> str:
    """Return a node's name as plain text."""
    if not isinstance(name, str) or not name:
        raise GraphError(f"a node's name must be non-empty text, not {name!r}")
    return name if type(name) is str else str(name)

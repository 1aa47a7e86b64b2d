"""Clique-Picking: the number of ways to direct a chordal graph without a cycle and without a V-structure.

The reversible edges of an equivalence class form chordal graphs, each of which can be directed by itself. A direction
without V-structures has a topological order that begins with a maximal clique. So count, for each maximal clique, the
orders of its nodes, times the ways to direct what is still undirected when everything beside the clique comes after
it: smaller chordal graphs again. A direction may begin with several cliques; it is counted at the first of them along
a tree of cliques only, by leaving out the orders of a clique that begin with what it shares with cliques before it.

Sets of nodes are integers: bit v is set if node v is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import factorial, prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CliquePicking", "bits", "components"]


class _Choice(NamedTuple):
    """The directions that are counted at one maximal clique."""

    clique: int
    not_first: list[int]
    """Subsets of the clique, each containing the one before: no order of the clique begins with one of them."""
    parts: list[int]
    """What remains undirected after the clique, in topological order."""


class CliquePicking:
    """The ways to direct a chordal graph, counted and drawn.

    Parameters
    ----------
    adjacency
        For each node, the set of its neighbours.

    Notes
    -----
    Polynomial: a graph has fewer maximal cliques than nodes, all smaller graphs met are fewer than twice as many, and
    each costs a search of the graph per clique.

    References
    ----------
    Wienöbst, Bannach and Liskiewicz, Polynomial-time algorithms for counting and sampling Markov equivalent DAGs,
    AAAI 2021.

    Examples
    --------
    >>> CliquePicking([0b110, 0b101, 0b011]).count(0b111)  # three nodes, all joined: one way for each order
    6
    """

    def __init__(self, adjacency: Sequence[int]) -> None:
        self._adjacency = adjacency
        self._choices: dict[int, list[_Choice]] = {}
        self._counts: dict[int, int] = {}

    def count(self, part: int) -> int:
        """Return in how many ways the edges within ``part``, a connected set of nodes, can be directed."""
        waiting = [part]
        while waiting:
            top = waiting[-1]
            if top not in self._counts and self._is_tree(top):
                self._counts[top] = top.bit_count()  # one way for each root
            if top in self._counts:
                waiting.pop()
                continue
            missing = [smaller for choice in self._choices_of(top) for smaller in choice.parts]
            missing = [smaller for smaller in missing if smaller not in self._counts]
            waiting.extend(missing)
            if not missing:
                self._counts[top] = sum(map(self._weight, self._choices_of(top)))
        return self._counts[part]

    def draw(self, part: int, rng: np.random.Generator) -> list[int]:
        """Return an order of the nodes of ``part`` along which to direct its edges; each way is equally likely."""
        self.count(part)
        order: list[int] = []
        waiting = [part]
        while waiting:
            top = waiting.pop()
            if self._is_tree(top):
                nodes = list(bits(top))
                root = 1 << nodes[int(rng.integers(len(nodes)))]
                choice = _Choice(root, [], self._after(root, top))
            else:
                choices = self._choices_of(top)
                weights = list(map(self._weight, choices))
                choice = choices[_weighted(weights, rng)]
            order += _permutation(choice, rng)
            waiting += reversed(choice.parts)
        return order

    def _is_tree(self, part: int) -> bool:
        n_ends = sum((self._adjacency[node] & part).bit_count() for node in bits(part))
        return n_ends == 2 * (part.bit_count() - 1)

    def _choices_of(self, part: int) -> list[_Choice]:
        if part not in self._choices:
            self._choices[part] = [
                _Choice(clique, shared, self._after(clique, part)) for clique, shared in self._cliques(part)
            ]
        return self._choices[part]

    def _weight(self, choice: _Choice) -> int:
        sizes = [subset.bit_count() for subset in choice.not_first]
        return _n_orders(choice.clique.bit_count(), sizes) * prod(self._counts[part] for part in choice.parts)

    def _cliques(self, part: int) -> Iterator[tuple[int, list[int]]]:
        """Yield each maximal clique, and what it shares with those above it in a clique tree.

        Maximum cardinality search: the next node is one with most neighbours among those visited. Where their number
        does not grow a new clique begins, below the one of the neighbour visited last (Blair and Peyton 1993).
        """
        visited, before, latest = 0, 0, -1
        weights = dict.fromkeys(bits(part), 0)
        clique_of: dict[int, int] = {}
        cliques: list[int] = []
        above: list[tuple[int, int]] = []  # of each clique, the one above it in the tree, and what they share
        rank: dict[int, int] = {}
        while weights:
            node = max(weights, key=weights.__getitem__)
            shared, number = self._adjacency[node] & visited, weights.pop(node)
            if not cliques or number <= before:
                latest = clique_of[max(bits(shared), key=rank.__getitem__)] if cliques else -1
                above.append((latest, shared))
                cliques.append(shared)
            cliques[-1] |= 1 << node
            clique_of[node] = len(cliques) - 1
            rank[node] = len(rank)
            visited |= 1 << node
            before = number
            for neighbor in bits(self._adjacency[node] & part & ~visited):
                weights[neighbor] += 1
        for number, clique in enumerate(cliques):
            found = set()
            while number:
                number, shared = above[number]  # noqa: PLW2901
                if not shared & ~clique:
                    found.add(shared)
            yield clique, sorted(found, key=int.bit_count)

    def _after(self, clique: int, part: int) -> list[int]:
        """Return what stays undirected in ``part`` if a clique comes first: connected sets, in topological order.

        Lexicographic breadth-first search that starts with the clique: the nodes that are in one set when the first of
        them is visited have the same parents.
        """
        sequence = [clique, part & ~clique]
        done = clique
        found: list[int] = []
        while sequence:
            first = sequence[0]
            node = first & -first
            if not node & done:
                found += components(first, self._adjacency)
                done |= first
            sequence[0] ^= node
            near = self._adjacency[node.bit_length() - 1]
            sequence = [piece for some in sequence for piece in (some & near, some & ~near) if piece]
        return found


def bits(nodes: int) -> Iterator[int]:
    """Iterate over the members of a set of nodes, ascending.

    >>> list(bits(0b1011))
    [0, 1, 3]
    """
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def components(nodes: int, adjacency: Sequence[int]) -> list[int]:
    """Return the connected parts of a set of nodes, by their smallest members.

    >>> components(0b1011, [0b0010, 0b0001, 0, 0])
    [3, 8]
    """
    found = []
    while nodes:
        part = border = nodes & -nodes
        while border:
            near = 0
            for node in bits(border):
                near |= adjacency[node]
            border = near & nodes & ~part
            part |= border
        found.append(part)
        nodes &= ~part
    return found


def _n_orders(size: int, not_first: Sequence[int]) -> int:
    """Return how many orders of ``size`` nodes begin with none of some nested subsets of the given sizes.

    An order that begins with some of them is counted at the smallest.
    """
    starts = [0, *not_first]
    numbers: list[int] = [0] * len(starts)
    for i in reversed(range(len(starts))):
        later = range(i + 1, len(starts))
        numbers[i] = factorial(size - starts[i]) - sum(factorial(starts[j] - starts[i]) * numbers[j] for j in later)
    return numbers[0]


def _permutation(choice: _Choice, rng: np.random.Generator) -> list[int]:
    """Return a random order of the clique that begins with none of the subsets; at least every second one does not."""
    nodes = list(bits(choice.clique))
    while True:
        order = [nodes[place] for place in rng.permutation(len(nodes))]
        starts = {sum(1 << node for node in order[: subset.bit_count()]) for subset in choice.not_first}
        if starts.isdisjoint(choice.not_first):
            return order


def _weighted(weights: Sequence[int], rng: np.random.Generator) -> int:
    """Return a position with probability proportional to its weight; weights may be too large for floats."""
    total = sum(weights)
    n_bytes = total.bit_length() // 8 + 1
    while True:
        number = int.from_bytes(rng.bytes(n_bytes), "little") & ((1 << total.bit_length()) - 1)
        if number < total:
            break
    for position, weight in enumerate(weights):
        if number < weight:
            return position
        number -= weight
    raise AssertionError("the weights add up to their total")

"""The trails between two nodes, and for each the reason why it is active or blocked: d-separation, shown.

`pgm.graph.separation` answers yes or no; `explain_separation` here shows the way there, trail by trail and triple by
triple. Printing its result gives text to learn from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from pgm.errors import GraphError
from pgm.graph.base import Names
from pgm.graph.separation import START, active_search, disjoint

if TYPE_CHECKING:
    from pgm.graph.dag import DAG

__all__ = ["Separation", "Trail", "Triple", "explain_separation"]

Path: TypeAlias = tuple[int, ...]
_Waiting: TypeAlias = tuple[int, int, Path, int, int, Path | None]

LONGEST_SHOWN = 12
"""How many nodes or triples of one trail are printed before it is cut."""


@dataclass(frozen=True, slots=True)
class Triple:
    """Three neighbouring nodes of a trail, and whether information passes through the middle one.

    Attributes
    ----------
    left, middle, right
        Names of the nodes.
    arrows
        The two edges between them, each ``"->"`` or ``"<-"``.
    kind
        ``"chain"``, ``"common cause"`` or ``"V-structure"``: the shape of the two edges alone. (In
        `equivalence.v_structures` the ends must also not be adjacent.)
    is_open
        Whether information passes.
    reason
        Why it does or does not, such as ``"wet is observed"``.
    """

    left: str
    middle: str
    right: str
    arrows: tuple[str, str]
    kind: str
    is_open: bool
    reason: str

    def __str__(self) -> str:
        drawing = _drawing((self.left, self.middle, self.right), self.arrows)
        explaining_away = " (explaining away)" if self.kind == "V-structure" and self.is_open else ""
        return f"{drawing}: {self.kind}, {'open' if self.is_open else 'blocked'}: {self.reason}{explaining_away}"


@dataclass(frozen=True, slots=True)
class Trail:
    """A path of edges of any direction that visits no node twice; active if all its triples are open.

    Attributes
    ----------
    nodes
        Names of the nodes, from x to y.
    arrows
        The edges between them, each ``"->"`` or ``"<-"``.
    triples
        One `Triple` for every inner node. A single edge has none, and is always active.
    is_active
        Whether information passes all along.
    """

    nodes: tuple[str, ...]
    arrows: tuple[str, ...]
    triples: tuple[Triple, ...]
    is_active: bool

    def __str__(self) -> str:
        return _drawing(self.nodes, self.arrows)


@dataclass(frozen=True, slots=True, repr=False)
class Separation:
    """Whether x and y are d-separated given the observed nodes, and the trails that show it.

    The record has no truth value, since "not separated" would count as true as well: ask for `is_separated`.

    Attributes
    ----------
    x, y, given
        Names of the nodes, in declared order.
    is_separated
        The verdict; it rests on all trails, also on those not listed.
    trails
        The trails found, shortest first. If x and y are not separated, at least one of them is active.
    complete
        Whether all trails are listed; False if there were more than the bound.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    given: tuple[str, ...]
    is_separated: bool
    trails: tuple[Trail, ...]
    complete: bool

    def __bool__(self) -> NoReturn:
        raise TypeError("a Separation is neither true nor false; ask for its is_separated")

    def __repr__(self) -> str:
        verdict = "d-separated" if self.is_separated else "d-connected"
        listed = f"{len(self.trails)} trail{'' if len(self.trails) == 1 else 's'}"
        return f"<Separation: {self._question(verdict)}; {listed}{'' if self.complete else ' and more'}>"

    def __str__(self) -> str:
        blocks = [f"Are {self._question('d-separated')}?"]
        blocks += [f"{number}. {_trail_text(trail)}" for number, trail in enumerate(self.trails, 1)]
        if not self.trails:
            blocks.append("No trail joins them.")
        if not self.complete:
            blocks.append(f"There are more trails; the list stops at {len(self.trails)}.")
        return "\n\n".join([*blocks, self._verdict()])

    def _question(self, verdict: str) -> str:
        return f"{_set(self.x)} and {_set(self.y)} {verdict} given {_set(self.given)}"

    def _verdict(self) -> str:
        if not self.is_separated:
            numbers = [str(number) for number, trail in enumerate(self.trails, 1) if trail.is_active]
            which = f"trail {numbers[0]} is" if len(numbers) == 1 else f"trails {', '.join(numbers)} are"
            return f"No, they are d-connected: {which} active."
        if not self.trails:
            return "Yes, they are d-separated: there is no trail."
        return f"Yes, they are d-separated: every trail is blocked{'' if self.complete else ', also those not listed'}."


def explain_separation(dag: DAG, x: Names, y: Names, given: Names = (), *, max_trails: int = 50) -> Separation:
    """Return the trails between ``x`` and ``y``, each with the reasons why it is active or blocked.

    Parameters
    ----------
    dag
        The graph.
    x, y
        One node or several, at least one each. Trails run between a node of each and touch neither set in between.
    given
        The observed nodes.
    max_trails
        How many trails to list at most, shortest first. If x and y are d-connected, a shortest active trail is always
        among them.

    Raises
    ------
    UnknownNameError
        For a name the graph does not have.
    GraphError
        If ``x`` or ``y`` is empty, two of the three sets share a node, or ``max_trails`` is less than 1.

    Notes
    -----
    A graph can have exponentially many trails. They are found one at a time, each in about O(V + E), so that the
    bound holds the work down.

    References
    ----------
    Koller and Friedman, 2009, section 3.3.1.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> dag = DAG([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> print(explain_separation(dag, "rain", "sprinkler", given="slippery"))
    Are rain and sprinkler d-separated given slippery?
    <BLANKLINE>
    1. rain -> wet <- sprinkler   (active)
         rain -> wet <- sprinkler: V-structure, open: its descendant slippery is observed (explaining away)
    <BLANKLINE>
    No, they are d-connected: trail 1 is active.
    """
    if max_trails < 1:
        raise GraphError(f"max_trails must be at least 1, not {max_trails}")
    start, end, observed = disjoint(dag, x=x, y=y, given=given)
    paths = list(islice(simple_trails(dag, start, end), max_trails + 1))
    complete = len(paths) <= max_trails
    active = _shortest_active(dag, start, end, observed)
    paths = paths[:max_trails]
    if active is not None and active not in paths:
        paths[-1] = active  # only when the bound has cut the list, so it is no shorter than the others
    witnesses = _witnesses(dag, observed)
    return Separation(
        x=tuple(dag.nodes[node] for node in start),
        y=tuple(dag.nodes[node] for node in end),
        given=tuple(dag.nodes[node] for node in observed),
        is_separated=active is None,
        trails=tuple(_trail(dag, path, observed, witnesses) for path in paths),
        complete=complete,
    )


# ---------------------------------------------------------------------- finding trails, on positions


def simple_trails(dag: DAG, start: Collection[int], end: Collection[int]) -> Iterator[Path]:
    """Yield the paths of the skeleton from ``start`` to ``end`` that touch neither in between, shortest first.

    A best-first search over sets of trails, after Yen (Management Science 17, 1971) and Lawler. A set holds all trails
    that begin with ``base[:cut]`` and then step to ``node``. It waits under a lower bound of its shortest member's
    length, the distance to ``end`` in the whole graph; when its turn comes, the shortest member itself is found, and
    the set is put back if that is longer than the bound. Yielding a member splits the rest of its set by the place
    where they leave it.
    """
    adjacent = [sorted(above + below) for above, below in zip(dag.parent_indices, dag.child_indices, strict=True)]
    sources, targets = frozenset(start), frozenset(end)
    distance = _distances(adjacent, sources, targets)
    ticks = count()  # among equal lengths, first come, first served
    waiting: list[_Waiting] = [(distance[v], next(ticks), (), 0, v, None) for v in sorted(sources) if v in distance]
    heapify(waiting)
    while waiting:
        length, _, base, cut, node, rest = heappop(waiting)
        if rest is None:
            rest = _shortest_rest(adjacent, node, sources.union(base[:cut]), targets)
            if rest and cut + len(rest) > length:
                heappush(waiting, (cut + len(rest), next(ticks), base, cut, node, rest))
                continue
        if not rest:
            continue
        trail = base[:cut] + rest
        yield trail
        taken = set(sources.union(trail[: cut + 1]))
        for place in range(cut + 1, len(trail)):
            taken.add(trail[place])
            for other in adjacent[trail[place - 1]]:
                if other not in taken and other in distance:
                    heappush(waiting, (place + distance[other], next(ticks), trail, place, other, None))


def _distances(adjacent: Sequence[Sequence[int]], sources: Collection[int], targets: Collection[int]) -> dict[int, int]:
    """Return the number of nodes on a shortest path from each node to ``targets``, both ends counted."""
    distance = dict.fromkeys(sorted(targets), 1)
    waiting = deque(distance)
    while waiting:
        node = waiting.popleft()
        for other in adjacent[node] if node not in sources else ():
            if other not in distance:
                distance[other] = distance[node] + 1
                waiting.append(other)
    return distance


def _shortest_rest(
    adjacent: Sequence[Sequence[int]], node: int, closed: Collection[int], targets: Collection[int]
) -> Path:
    """Return a shortest path from ``node`` to ``targets`` that avoids ``closed``, empty if there is none."""
    came_from = {node: START}
    waiting = deque([node])
    while waiting:
        here = waiting.popleft()
        if here in targets:
            return _traced(came_from, here)
        for other in adjacent[here]:
            if other not in came_from and other not in closed:
                came_from[other] = here
                waiting.append(other)
    return ()


def _shortest_active(dag: DAG, start: Iterable[int], end: Collection[int], observed: Collection[int]) -> Path | None:
    """Return a shortest active trail, or None if there is none."""
    came_from = active_search(dag, start, observed)
    for state in came_from:  # nearest first
        if state % len(dag) in end:
            return tuple(state % len(dag) for state in _traced(came_from, state))
    return None


def _traced(came_from: dict[int, int], last: int) -> Path:
    """Return the way from the start of a search to ``last``."""
    way = []
    while last != START:
        way.append(last)
        last = came_from[last]
    return tuple(reversed(way))


def _witnesses(dag: DAG, observed: Iterable[int]) -> dict[int, int]:
    """Return, for every observed node and every ancestor of one, the nearest observed node at or below it."""
    witness = {node: node for node in observed}
    waiting = deque(witness)
    while waiting:
        node = waiting.popleft()
        for parent in dag.parent_indices[node]:
            if parent not in witness:
                witness[parent] = witness[node]
                waiting.append(parent)
    return witness


# ---------------------------------------------------------------------- judging and drawing them


def _trail(dag: DAG, path: Path, observed: Collection[int], witnesses: dict[int, int]) -> Trail:
    names = tuple(dag.nodes[node] for node in path)
    arrows = tuple("->" if u in dag.parent_indices[v] else "<-" for u, v in pairwise(path))
    triples = []
    for place, middle in enumerate(path[1:-1], 1):
        left_arrow, right_arrow = arrows[place - 1], arrows[place]
        is_open, reason = not (seen := middle in observed), f"{names[place]} is {'' if seen else 'not '}observed"
        if left_arrow == right_arrow:
            kind = "chain"
        elif left_arrow == "<-":
            kind = "common cause"
        else:
            kind, is_open = "V-structure", middle in witnesses
            if not is_open:
                reason = f"neither {names[place]} nor a descendant of it is observed"
            elif not seen:
                reason = f"its descendant {dag.nodes[witnesses[middle]]} is observed"
        ends = names[place - 1], names[place], names[place + 1]
        triples.append(Triple(*ends, (left_arrow, right_arrow), kind, is_open, reason))
    return Trail(names, arrows, tuple(triples), all(triple.is_open for triple in triples))


def _drawing(nodes: Sequence[str], arrows: Sequence[str]) -> str:
    """Return ``a -> b <- c``; the middle of a long trail is left out."""
    steps = [f" {arrow} {node}" for arrow, node in zip(arrows, nodes[1:], strict=True)]
    if len(steps) > LONGEST_SHOWN:
        left_out = len(steps) - LONGEST_SHOWN
        half = LONGEST_SHOWN // 2
        steps[half:-half] = [f" ... {left_out} more nodes ..."]
    return nodes[0] + "".join(steps)


def _trail_text(trail: Trail) -> str:
    """Return a trail with its triples; of a long trail, those triples that decide whether it is active."""
    lines = [f"{trail}   ({'active' if trail.is_active else 'blocked'})"]
    if not trail.triples:
        lines.append("an edge, with no node in between that could block it")
    shown = list(trail.triples)
    if len(shown) > LONGEST_SHOWN:
        shown = [triple for triple in shown if triple.kind == "V-structure" or not triple.is_open][:LONGEST_SHOWN]
    lines += map(str, shown)
    if len(shown) < len(trail.triples):
        lines.append(f"... and {len(trail.triples) - len(shown)} more triples")
    return "\n     ".join(lines)


def _set(names: Sequence[str]) -> str:
    """Return one name as it is, several in braces, and none as "nothing"."""
    *others, last = names or ["nothing"]
    return f"{{{', '.join(names)}}}" if others else last

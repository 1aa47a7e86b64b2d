"""d-separation: which independences a DAG promises, whatever the numbers in its tables.

Two nodes can tell something about each other only along a *trail*, a path of edges of any direction. Along a trail,
every inner node Z and its two neighbours form one of three triples, and that decides whether information passes:

====================  ==========================================  ============================================
triple                shape                                       open
====================  ==========================================  ============================================
chain                 ``X -> Z -> Y`` or ``X <- Z <- Y``          unless Z is observed
common cause          ``X <- Z -> Y``                             unless Z is observed
V-structure           ``X -> Z <- Y``                             only if Z or a descendant of Z is observed
====================  ==========================================  ============================================

A trail whose triples are all open is *active*. Sets X and Y are *d-separated given* Z if no active trail joins them;
then X and Y are independent given Z in every distribution that factorises over the graph. The V-structure is the
surprising one: two causes that have nothing to do with each other become dependent once their effect is seen, because
one cause *explains away* the other.

The functions here answer in time linear in the graph. `pgm.graph.trails` shows the trails and the reasons.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING

from pgm.errors import GraphError, listing
from pgm.graph.base import Names, reachable

if TYPE_CHECKING:
    from pgm.graph.dag import DAG

__all__ = ["d_connected", "is_d_separated", "markov_blanket", "minimal_d_separator"]

START = -1
"""Marks the states at which the search along active trails begins."""


def is_d_separated(dag: DAG, x: Names, y: Names, given: Names = ()) -> bool:
    """Return whether ``x`` and ``y`` are d-separated given ``given``.

    Parameters
    ----------
    dag
        The graph.
    x, y
        One node or several, at least one each.
    given
        The observed nodes; none by default.

    Raises
    ------
    UnknownNameError
        For a name the graph does not have.
    GraphError
        If ``x`` or ``y`` is empty, or two of the three sets share a node.

    Notes
    -----
    O(V + E), by the reachability algorithm also known as Bayes ball.

    References
    ----------
    Koller and Friedman, Probabilistic Graphical Models, 2009, section 3.3 and algorithm 3.1.
    Shachter, Bayes-ball: the rational pastime, UAI 1998.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> dag = DAG([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> is_d_separated(dag, "rain", "sprinkler"), is_d_separated(dag, "rain", "sprinkler", given="slippery")
    (True, False)
    """
    start, end, observed = disjoint(dag, x=x, y=y, given=given)
    reached = active_search(dag, start, observed)
    return not any(node in reached or node + len(dag) in reached for node in end)


def d_connected(dag: DAG, x: Names, given: Names = ()) -> tuple[str, ...]:
    """Return the nodes that an active trail joins to ``x`` when ``given`` is observed, in declared order.

    All other nodes outside ``x`` and ``given`` are d-separated from ``x``.

    Raises
    ------
    UnknownNameError
        For a name the graph does not have.
    GraphError
        If ``x`` is empty or shares a node with ``given``.

    Notes
    -----
    O(V + E).

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> dag = DAG([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> d_connected(dag, "rain"), d_connected(dag, "rain", given="wet")
    (('wet', 'slippery'), ('sprinkler',))
    """
    start, observed = disjoint(dag, x=x, given=given)
    reached = {state % len(dag) for state in active_search(dag, start, observed)}
    return tuple(dag.nodes[node] for node in sorted(reached.difference(start, observed)))


def markov_blanket(dag: DAG, nodes: Names) -> tuple[str, ...]:
    """Return the smallest set that separates ``nodes`` from all others: parents, children, and the children's parents.

    Raises
    ------
    UnknownNameError
        For a name the graph does not have.

    References
    ----------
    Pearl, Probabilistic Reasoning in Intelligent Systems, 1988, section 3.3; Koller and Friedman, 2009, section 4.5.1.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> markov_blanket(DAG([("a", "b"), ("b", "c"), ("d", "c"), ("c", "e")]), "b")
    ('a', 'c', 'd')
    """
    inside = dag.indices(nodes)
    blanket = {parent for node in inside for parent in dag.parent_indices[node]}
    for child in {child for node in inside for child in dag.child_indices[node]}:
        blanket.add(child)
        blanket.update(dag.parent_indices[child])
    return tuple(dag.nodes[node] for node in sorted(blanket.difference(inside)))


def minimal_d_separator(
    dag: DAG, x: Names, y: Names, *, included: Names = (), restricted: Names | None = None
) -> tuple[str, ...] | None:
    """Return a set that d-separates ``x`` from ``y`` and from which no node can be left out, or None if none exists.

    Parameters
    ----------
    dag
        The graph.
    x, y
        One node or several, at least one each.
    included
        Nodes that the set must contain; the set is then minimal among those that contain them.
    restricted
        Nodes that the set may contain; all by default. Nodes of ``x`` and ``y`` are never used.

    Returns
    -------
    tuple of str or None
        The separator in declared order. The empty tuple says that ``x`` and ``y`` are separated given nothing; None
        says that no set separates them.

    Raises
    ------
    UnknownNameError
        For a name the graph does not have.
    GraphError
        If ``x`` or ``y`` is empty, sets overlap, or ``restricted`` leaves out a node of ``included``.

    Notes
    -----
    O(V + E). A minimal separator lies among the ancestors of x, y and ``included``, and there d-separation is plain
    separation in the moral graph. All allowed ancestors together separate if anything does; of them only those are
    needed that can be reached from x without passing another, and of these only those that can be reached from y.

    References
    ----------
    van der Zander and Liskiewicz, Finding minimal d-separators in linear time and applications, UAI 2019.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> dag = DAG([("a", "b"), ("b", "c"), ("c", "d")])
    >>> minimal_d_separator(dag, "a", "d"), minimal_d_separator(dag, "a", "d", restricted="c")
    (('b',), ('c',))
    >>> print(minimal_d_separator(dag, "a", "b"))
    None
    """
    start, end, always = disjoint(dag, x=x, y=y, included=included)
    allowed = set(range(len(dag)) if restricted is None else dag.indices(restricted))
    if not allowed.issuperset(always):
        left_out = listing(dag.nodes[node] for node in always if node not in allowed)
        raise GraphError(f"included nodes must also be in restricted, which leaves out {left_out}")
    ancestral = reachable((*start, *end, *always), dag.parent_indices)
    candidates = (allowed & ancestral).difference(start, end)
    near_x = _moral_reach(dag, start, ancestral, candidates)
    if not near_x.isdisjoint(end):
        return None
    needed_by_x = (candidates & near_x).union(always)
    near_y = _moral_reach(dag, end, ancestral, needed_by_x)
    separator = (needed_by_x & near_y).union(always)
    return tuple(dag.nodes[node] for node in sorted(separator))


# ---------------------------------------------------------------------- on positions


def disjoint(dag: DAG, **sets: Names) -> tuple[tuple[int, ...], ...]:
    """Return each set of names as positions in declared order, checked: disjoint, and not empty where called x or y.

    >>> from pgm.graph import DAG
    >>> disjoint(DAG([("a", "b"), ("b", "c")]), x="c", given=["b", "a"])
    ((2,), (0, 1))
    """
    coded = {role: tuple(sorted(dag.indices(names))) for role, names in sets.items()}
    role_of: dict[int, str] = {}
    for role, nodes in coded.items():
        if role in {"x", "y"} and not nodes:
            raise GraphError(f"{role} is empty: name at least one node")
        for node in nodes:
            if node in role_of:
                raise GraphError(f"{dag.nodes[node]!r} is in {role_of[node]} and in {role}; these must not overlap")
            role_of[node] = role
    return tuple(coded.values())


def active_search(dag: DAG, start: Iterable[int], observed: Collection[int]) -> dict[int, int]:
    """Return every state that active trails from ``start`` reach, with the state before it, nearest first.

    A state is a node and the direction of travel on arrival: ``v`` for going up (``v`` was reached from a child, or is
    where the trail starts), ``v + len(dag)`` for going down (from a parent). Going up through an unobserved node, the
    trail may turn any way. Going down it may go on down if the node is unobserved, and turn up, through a V-structure,
    if the node or a descendant is observed. Breadth first, so following the states back gives a shortest active
    trail; it visits no node twice.
    """
    size, parents, children = len(dag), dag.parent_indices, dag.child_indices
    blocked = set(observed)
    opened = reachable(observed, dag.parent_indices)
    came_from = dict.fromkeys(start, START)
    waiting = deque(came_from)
    while waiting:
        state = waiting.popleft()
        going_down, node = divmod(state, size)
        following = [] if node in blocked else [child + size for child in children[node]]
        if node in opened if going_down else node not in blocked:
            following.extend(parents[node])
        for step in following:
            if step not in came_from:
                came_from[step] = state
                waiting.append(step)
    return came_from


def _moral_reach(dag: DAG, start: Iterable[int], inside: Container[int], barrier: Container[int]) -> set[int]:
    """Return what can be reached from ``start`` in the moral graph on ``inside``; nodes of ``barrier`` end the way.

    The moral graph is walked without being built: a child leads to all its parents, and does so only once.
    """
    reached = set(start)
    waiting = list(reached)
    asked = set()
    while waiting:
        node = waiting.pop()
        families = [child for child in dag.child_indices[node] if child in inside and child not in asked]
        asked.update(families)
        found = {*dag.parent_indices[node], *families}.union(*(dag.parent_indices[child] for child in families))
        found -= reached
        reached |= found
        waiting.extend(step for step in found if step not in barrier)
    return reached

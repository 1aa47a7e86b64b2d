"""Heuristic searches for the graph of highest score.

Greedy: ``neighbourhood`` (moves and their gains), ``hill_climbing``, ``tabu``. Over orders: ``parent_sets`` (candidate
families), ``candidates`` (how they grow), ``orderings`` (insertions), ``order_search``. Over equivalence classes:
``class_operators``, ``ges``. And ``learn_structure``, which chooses.
"""

__all__: list[str] = []

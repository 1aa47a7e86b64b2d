"""Learning from tests of conditional independence.

``contingency`` and ``tests`` (one test), ``mutual_information``, ``oracles`` (who answers), ``skeletons``,
``colliders``, ``pc``, and ``mmhc``, which restricts a greedy search.
"""

__all__: list[str] = []

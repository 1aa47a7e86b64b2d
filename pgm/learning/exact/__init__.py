"""Exact structure search: the best graph, and the proof that there is no better one.

``exact_search`` chooses between ``dynamic_programming`` (with ``all_subsets``) and the integer program: ``pruning`` and
``superset_bounds`` (which families can matter), ``family_columns``, ``cuts``, ``certificate``, ``linear_program``,
``relaxation``, ``cluster_cuts``, ``subset_lattice``, ``local_cuts``, ``separation``, ``incumbents``,
``branch_and_bound``, ``near_best_sets``.
"""

__all__: list[str] = []

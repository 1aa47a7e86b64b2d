"""What classifiers share: reading tables, scikit-learn's manners, and what follows from P(class, features).

Read ``reading`` (tables to codes), ``continuous`` and ``count_matrix`` (the same for measurements and for counts), then
``posterior`` (any Bayes classifier), ``batches``, and ``base`` (those with a table for each feature).
"""

__all__: list[str] = []

"""What classifiers count, and the probabilities that they estimate from it, with all rows or without one.

Read ``class_counts`` (the class x value x value table), ``estimates`` (the textbook's formulas), ``leaving_out``; then
``class_moments`` (measurements), ``triple_counts`` (A2DE), ``information`` and ``relevance`` (what features tell).
"""

__all__: list[str] = []

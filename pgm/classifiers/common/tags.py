"""What classifiers tell scikit-learn about themselves."""

from __future__ import annotations

from typing import Any

__all__ = ["categorical_tags"]


def categorical_tags(tags: Any) -> Any:
    """Return tags that say: features are categories, as text or whole numbers, and cells may be missing."""
    tags.input_tags.categorical = True
    tags.input_tags.allow_nan = True
    tags.input_tags.string = True
    return tags

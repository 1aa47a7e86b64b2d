"""`Record`: the base of results that nobody can change by accident, neither their fields nor the mappings in them."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _Base = DataclassInstance
else:
    _Base = object

__all__ = ["Record"]


class Record(_Base):
    """A frozen dataclass whose dictionaries become read-only views; it can be copied and pickled all the same.

    Examples
    --------
    >>> from pgm.inference.explanation import Explanation
    >>> Explanation({"rain": "yes"}, -1.0, -2.0).assignment["rain"] = "no"
    Traceback (most recent call last):
    ...
    TypeError: 'mappingproxy' object does not support item assignment
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, dict):
                object.__setattr__(self, field.name, MappingProxyType(value))

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, field.name) for field in fields(self)]
        return type(self), tuple([dict(v) if isinstance(v, MappingProxyType) else v for v in values])

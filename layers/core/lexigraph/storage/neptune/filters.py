"""Metadata filters as conditions on the properties of a Source node, with the meaning of ``Filter.matches``.

A source has a property for each key that filters see, named after the key's hash and the type of its value: only values of
one type compare, and any text may be a key. Integers beyond 64 bits are compared as floating point numbers.
"""

from hashlib import blake2b
from typing import Any

from lexigraph.model.filters import Filter, MetadataFilter, value_type
from lexigraph.model.graph import Scalar, Source

NEGATIONS = ("!=", "not_in")
_PREFIX = "is"


def filter_properties(source: Source) -> dict[str, Scalar]:
    """Return the properties of a source that its filters are compared with."""
    return {
        _property(key, value): _stored(value)
        for key, value in source.filterable.items()
        if value == value  # not a number: equal to nothing, as good as missing
    }


def filter_condition(filters: Filter | None) -> tuple[str, dict[str, Any]]:
    """Return a condition (never null) on a source ``s`` and its parameters."""
    parameters: dict[str, Any] = {}
    return (_condition(filters, parameters) if filters else "true"), parameters


def _condition(filters: Filter, parameters: dict[str, Any]) -> str:
    if isinstance(filters, MetadataFilter):
        return _key_condition(filters, parameters)
    parts = (_condition(part, parameters) for part in filters.filters)
    joined = (" OR " if filters.condition == "or" else " AND ").join(parts)
    return f"{'NOT ' if filters.condition == 'not' else ''}({joined})"


def compared_values(filter_: MetadataFilter) -> dict[str, list[Scalar]]:
    """Return what the filter compares with each property of a source, before any negation: it is enough that one does."""
    by_property: dict[str, list[Scalar]] = {}
    for value in filter_.values:
        # truth values have no order
        if value == value and not (_is_ordered(filter_) and isinstance(value, bool)):
            by_property.setdefault(_property(filter_.key, value), []).append(_stored(value))
    return by_property


def _is_ordered(filter_: MetadataFilter) -> bool:
    return filter_.operator in ("<", "<=", ">", ">=")


def _key_condition(filter_: MetadataFilter, parameters: dict[str, Any]) -> str:
    ordered = _is_ordered(filter_)
    parts = []
    for name, values in compared_values(filter_).items():
        parameter = f"filter{len(parameters)}"
        parameters[parameter] = values[0] if ordered else values
        parts.append(f"coalesce(s.{name} {filter_.operator if ordered else 'IN'} ${parameter}, false)")
    negation = "NOT " if filter_.operator in NEGATIONS else ""
    return f"{negation}({' OR '.join(parts) or 'false'})"


def _property(key: str, value: Scalar) -> str:
    digest = blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{_PREFIX}_{value_type(value)}_{digest}"


def _stored(value: Scalar) -> Scalar:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value

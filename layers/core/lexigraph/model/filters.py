"""Metadata filters, which select the sources used for a question; all stores evaluate them alike.

A filter is a condition on one metadata key, or ``and`` / ``or`` / ``not`` over filters. Only values of the same type match:
numbers with numbers, booleans with booleans, text with text. Dates are ISO 8601 text, which sorts chronologically
(``2024-05`` < ``2024-05-01``). If a source lacks the key, only ``!=`` and ``not_in`` match. The keys ``namespace``, ``uri``
and ``title`` refer to properties of the source.
"""

import json
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import Any, Literal, get_args

from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Metadata, Scalar

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not_in"]
Condition = Literal["and", "or", "not"]
_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
MAX_KEY_CHARS = 200
_MAX_NODES = 100
_MAX_LEVELS = 16
_MAX_VALUES = 1_000
_NAME_CHARS = 80  # of what was sent, in a message


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """``key operator value``; ``in`` and ``not_in`` take a tuple of values."""

    key: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if self.operator not in get_args(Operator):
            raise InvalidInput(f"filters.operator must be one of {', '.join(get_args(Operator))}")
        if not isinstance(self.key, str) or not self.key.strip() or len(self.key) > MAX_KEY_CHARS:
            raise InvalidInput(f"filters.key must be a string of 1 to {MAX_KEY_CHARS} characters, not all of them blank")
        many = self.operator in ("in", "not_in")
        if many != isinstance(self.value, tuple):
            raise InvalidInput(f"filter {self.key!r} {self.operator} takes {'a list' if many else 'one value'}")
        if len(self.values) > _MAX_VALUES:
            raise InvalidInput(f"filter {self.key!r} lists {len(self.values)} values; at most {_MAX_VALUES} are allowed")
        if not all(isinstance(v, (str, int, float, bool)) for v in self.values):
            raise InvalidInput(f"filter {self.key!r} accepts only strings, numbers and booleans")

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values to compare with."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def matches(self, metadata: Metadata) -> bool:
        """Return whether a source with this metadata matches."""
        have = metadata.get(self.key)
        if self.operator == "not_in":
            return not any(_same(have, v) for v in self.values)
        if self.operator == "!=":
            return not _same(have, self.value)
        if have is None:
            return False
        if self.operator == "in":
            return any(_same(have, v) for v in self.values)
        if self.operator == "==":
            return _same(have, self.value)
        return _ordered(have, self.operator, self.value)


@dataclass(frozen=True, slots=True)
class MetadataFilters:
    """``and`` / ``or`` over filters; ``not`` negates the conjunction of its filters."""

    filters: tuple["Filter", ...]
    condition: Condition = "and"

    def __post_init__(self) -> None:
        if self.condition not in get_args(Condition):
            raise InvalidInput(f"filters.condition must be one of {', '.join(get_args(Condition))}")
        if not self.filters:
            raise InvalidInput(f"filter condition {self.condition!r} needs at least one filter")

    def matches(self, metadata: Metadata) -> bool:
        """Return whether a source with this metadata matches."""
        passed = (f.matches(metadata) for f in self.filters)
        return any(passed) if self.condition == "or" else all(passed) != (self.condition == "not")


Filter = MetadataFilter | MetadataFilters


def keys_of(given: Filter) -> tuple[str, ...]:
    """Return the keys used in a filter, each once."""
    parts = given.filters if isinstance(given, MetadataFilters) else ()
    return (given.key,) if isinstance(given, MetadataFilter) else tuple(dict.fromkeys(k for p in parts for k in keys_of(p)))


def having(key: str) -> Filter:
    """Return a filter that matches every source whose metadata has the key, whatever its value."""
    values = (MetadataFilter(key, ">=", ""), MetadataFilter(key, ">=", -1e308), MetadataFilter(key, "in", (True, False)))
    return MetadataFilters(values, "or")


def value_type(value: Any) -> str:
    """Return ``bool``, ``number``, ``text`` or ``none``; only values of the same type match."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "none"


def _same(a: Any, b: Any) -> bool:
    return value_type(a) == value_type(b) and bool(a == b)


def _ordered(have: Any, operator: str, value: Any) -> bool:
    if value_type(have) != value_type(value) or value_type(have) == "bool":
        return False
    return bool(_ORDER[operator](have, value))


def parse_filter(raw: Any) -> Filter | None:
    """Read a filter from plain data: ``{"key", "operator", "value"}`` or ``{"condition", "filters"}``; None stays None.

    Raise ``InvalidInput`` for any other shape, more than 100 conditions, or more than 16 levels of nesting.
    """
    return None if raw is None else _parse(raw, [_MAX_NODES], 1)


def _parse(raw: Any, budget: list[int], level: int) -> Filter:
    budget[0] -= 1
    if budget[0] < 0:
        raise InvalidInput(f"filters: at most {_MAX_NODES} conditions are allowed")
    if level > _MAX_LEVELS:
        raise InvalidInput(f"filters: at most {_MAX_LEVELS} levels of nesting are allowed")
    if isinstance(raw, MetadataFilter):
        return raw
    if isinstance(raw, MetadataFilters):
        return MetadataFilters(tuple(_parse(part, budget, level + 1) for part in raw.filters), raw.condition)
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"filters must be an object with key, operator and value, got {type(raw).__name__}")
    if "filters" in raw:
        _only(raw, "condition", "filters")
        parts = raw["filters"]
        if not isinstance(parts, list):
            raise InvalidInput("filters: 'filters' must be a list")
        return MetadataFilters(tuple(_parse(p, budget, level + 1) for p in parts), raw.get("condition", "and"))
    _only(raw, "key", "operator", "value")
    if not isinstance(raw.get("key"), str) or "value" not in raw:
        raise InvalidInput("filters: each condition needs 'key' and 'value' (and 'operator', default '==')")
    value = raw["value"]
    return MetadataFilter(raw["key"], raw.get("operator", "=="), tuple(value) if isinstance(value, list) else value)


def _only(raw: Mapping[Any, Any], *known: str) -> None:
    for name in raw:
        if name not in known:
            raise InvalidInput(f"filters.{str(name)[:_NAME_CHARS]}: unknown field, use one of {', '.join(known)}")


def plain_filter(filters: Filter) -> dict[str, Any]:
    """Convert a filter to plain data, the inverse of :func:`parse_filter`."""
    if isinstance(filters, MetadataFilters):
        return {"condition": filters.condition, "filters": [plain_filter(part) for part in filters.filters]}
    value = list(filters.value) if isinstance(filters.value, tuple) else filters.value
    return {"key": filters.key, "operator": filters.operator, "value": value}


def all_of(*filters: Filter | None) -> Filter | None:
    """Return a filter that matches where all of these match; None counts as no filter."""
    given = tuple(one for one in filters if one)
    return MetadataFilters(given) if len(given) > 1 else next(iter(given), None)


# what follows an operator is none: `year >> 3` would compare with the text `> 3`
_EXPRESSION = re.compile(r"\s*([\w.:-]+)\s*(==|!=|<=|>=|<|>|=|\bnot_in\b|\bin\b)\s*((?![=<>!]).+?)\s*", re.DOTALL)


def parse_expression(text: str) -> MetadataFilter:
    """Parse ``year >= 2020``, ``lang == en``, ``team in [a, b]``; values are JSON if they parse, else text."""
    match = _EXPRESSION.fullmatch(text)
    if not match:
        known = ", ".join(get_args(Operator))
        raise InvalidInput(
            f"filter {text[:80]!r} is not 'KEY OPERATOR VALUE', for example: year >= 2020; operators: {known}"
        )
    key, operator, raw = match.groups()
    operator = "==" if operator == "=" else operator
    value: Any = _values(text, raw) if operator in ("in", "not_in") else _literal(text, raw)
    return MetadataFilter(key, operator, value)  # type: ignore[arg-type]  # the pattern admits operators only


# text without double quotes: nothing that could be meant as a quotation or a list
_PLAIN = re.compile(r"""(?!['‘“])[^"\[\](){},]+(?<!['’”])""")


def _values(text: str, raw: str) -> tuple[Scalar, ...]:
    """Read ``["a, b", 3]``, which is JSON, or ``[a, b]``, brackets or none."""
    try:
        found = json.loads(raw)
    except ValueError:
        found = None
    if isinstance(found, list) and all(isinstance(value, (str, int, float, bool)) for value in found):
        return tuple(found)
    inner = raw[1:-1] if (raw[0], raw[-1]) in {("[", "]"), ("(", ")")} else raw
    return tuple(_literal(text, part.strip()) for part in _parts(inner) if part.strip())


def _parts(inner: str) -> Sequence[str]:
    """Return what stands between commas, those inside double quotes left alone."""
    return re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+', inner) if inner.count('"') > 1 else inner.split(",")


def _literal(text: str, raw: str) -> Scalar:
    """Read one value. Raise ``InvalidInput`` for what could be meant in two ways: a filter may bind what a key sees."""
    try:
        value = json.loads(raw)
    except ValueError:
        if not _PLAIN.fullmatch(raw):
            raise InvalidInput(
                f"filter {text[:80]!r}: cannot read {raw[:80]!r}. Put text that contains a quote, bracket or comma in "
                'double quotes, as in JSON: groups in ["a, b", "c"]'
            ) from None
        return raw
    if isinstance(value, (str, int, bool)) or (isinstance(value, float) and isfinite(value)):
        return value
    raise InvalidInput(f"filter {text[:80]!r}: {raw[:80]!r} is not text, a finite number, true or false")


def scalar(value: Any) -> Scalar | None:
    """Convert a value to metadata: scalars unchanged, dates to ISO 8601 text, anything else to None."""
    if isinstance(value, (str, int, float, bool)):
        return value
    return value.isoformat() if isinstance(value, date) else None

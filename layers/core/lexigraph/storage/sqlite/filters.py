"""Metadata filters as SQL conditions over a JSON column, with the meaning of ``Filter.matches``.

Integers beyond 64 bits are compared as floating point numbers, lone surrogates as question marks; nothing else differs.
"""

import json
import math
import re

from lexigraph.model.filters import Filter, MetadataFilter, value_type
from lexigraph.model.graph import Metadata, Scalar

Sql = tuple[str, list[str | int | float]]

# keys that a JSON path can name in every version of SQLite
_NAMEABLE = re.compile(r'[^"\\\x00-\x1f]+')
# SQLite's JSON functions end a text at NUL. This keeps texts apart and in order.
_WITHOUT_NUL = {0: "\x01\x01", 1: "\x01\x02"}


def filter_sql(filters: Filter, column: str) -> Sql:
    """Return a condition (never NULL) on a column that holds a :func:`filterable_json`, and its parameters in order."""
    if isinstance(filters, MetadataFilter):
        return _key_condition(filters, column)
    parts = [filter_sql(part, column) for part in filters.filters]
    joined = (" OR " if filters.condition == "or" else " AND ").join(sql for sql, _ in parts)
    negation = "NOT " if filters.condition == "not" else ""
    return f"{negation}({joined})", [value for _, values in parts for value in values]


def filterable_json(metadata: Metadata) -> str:
    """Return what filters see of a source (``Source.filterable``) as the JSON that :func:`filter_sql` reads."""
    entries = ((_stored(key), _literal(value)) for key, value in metadata.items() if not _is_nan(value))
    return "{" + ",".join(f"{_json(key)}:{literal}" for key, literal in sorted(entries)) + "}"


def _key_condition(filter_: MetadataFilter, column: str) -> Sql:
    key = _stored(filter_.key)
    negation = "NOT " if filter_.operator in ("!=", "not_in") else ""
    if _NAMEABLE.fullmatch(key):
        path = f'$."{key}"'
        condition, values = _value_condition(filter_, f"json_type({column}, ?)", f"json_extract({column}, ?)", [path])
        return f"{negation}ifnull({condition}, 0)", values
    condition, values = _value_condition(filter_, "entry.type", "entry.value", [])
    inner = f"SELECT 1 FROM json_each({column}) AS entry WHERE entry.key = ? AND ({condition})"
    return f"{negation}EXISTS ({inner})", [key, *values]


def _value_condition(filter_: MetadataFilter, kind: str, value: str, place: list[str]) -> Sql:
    """Compare with values of each type apart; ``place`` are the parameters of ``kind``, and of ``value``."""
    operator = {"!=": "=", "==": "=", "in": "=", "not_in": "="}.get(filter_.operator, filter_.operator)
    parts: list[Sql] = []
    if truths := {str(v).lower() for v in filter_.values if value_type(v) == "bool"}:
        # truth values have no order
        names = ", ".join(f"'{v}'" for v in sorted(truths)) if operator == "=" else ""
        parts.append((f"{kind} IN ({names})", [*place]))
    for type_, kinds in (("number", "'integer', 'real'"), ("text", "'text'")):
        values = [v for v in filter_.values if value_type(v) == type_]
        if len(values) == 1:
            parts.append((f"({kind} IN ({kinds}) AND {value} {operator} ?)", [*place, *place, _parameter(values[0])]))
        elif values:
            listed = "[" + ",".join(_literal(v) for v in values if not _is_nan(v)) + "]"
            parts.append(
                (f"({kind} IN ({kinds}) AND {value} IN (SELECT value FROM json_each(?)))", [*place, *place, listed])
            )
    return " OR ".join(sql for sql, _ in parts) or "0", [p for _, parameters in parts for p in parameters]


def _stored(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").translate(_WITHOUT_NUL)


def _parameter(value: Scalar) -> str | int | float:
    return _stored(value) if isinstance(value, str) else _number(value)


def _is_nan(value: Scalar) -> bool:
    # equal to nothing: as good as missing, and no JSON
    return isinstance(value, float) and math.isnan(value)


def _number(value: float) -> float:
    if -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _literal(value: Scalar) -> str:
    if isinstance(value, str):
        return _json(_stored(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    number = _number(value)
    return repr(number) if math.isfinite(number) else f"{'-' * (number < 0)}9e999"


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""Metadata as words of one keyword field, and metadata filters as queries over it, with the meaning of ``Filter.matches``.

Keys of metadata are the users'; a field for each would make the mapping grow without end. So every entry of a source's
metadata becomes a word, ``<version><key><type><value>``, that sorts as its value does within version, key and type. Then
equality is a term and order is a range. Only the values of one version may satisfy a filter together.
"""

import math
import struct
from collections.abc import Sequence
from hashlib import blake2b

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, MetadataFilter, value_type
from lexigraph.model.graph import Metadata, Scalar
from lexigraph.storage.opensearch.connection import Json

_SLOTS = "0123"
_ORDERED_CHARACTERS = 1_000  # a longer text is compared in order by its first ones
_NOTHING: Json = {"match_none": {}}
_RANGE = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_TYPES = {"number": "n", "text": "t", "bool": "b"}


def tag_words(versions: Sequence[Metadata]) -> list[str]:
    """Return the words for what filters see of a source, in each of its versions that still match.

    Most versions tell the same, which is told once. Raise ``InvalidInput`` for more than four that differ: no ingest leaves
    more than two behind.
    """
    told = {tuple(sorted(w for key, value in m.items() if (w := _word("", key, value)))): None for m in versions}
    if len(told) > len(_SLOTS):
        raise InvalidInput(f"a source has {len(told)} versions with tags; at most {len(_SLOTS)} are allowed: untag some")
    return [slot + word for slot, words in zip(_SLOTS, told, strict=False) for word in ("", *words)]


def tag_query(filters: Filter) -> Json:
    """Return the query for records of sources that pass in any of their versions."""
    return _any([_all([{"term": {"tags": slot}}, _query(filters, slot)]) for slot in _SLOTS])


def _query(filters: Filter, slot: str) -> Json:
    if isinstance(filters, MetadataFilter):
        return _key_query(filters, slot)
    parts = [_query(part, slot) for part in filters.filters]
    if filters.condition == "or":
        return _any(parts)
    return _not(_all(parts)) if filters.condition == "not" else _all(parts)


def _key_query(filter_: MetadataFilter, slot: str) -> Json:
    if filter_.operator in _RANGE:
        return _range(filter_, slot)
    words = sorted({word for value in filter_.values if (word := _word(slot, filter_.key, value))})
    found: Json = {"terms": {"tags": words}} if words else _NOTHING
    return _not(found) if filter_.operator in ("!=", "not_in") else found


def _range(filter_: MetadataFilter, slot: str) -> Json:
    """Compare within the key and the type of the value: truth values have no order, nor has what is no number."""
    value = filter_.value
    word = None if isinstance(value, (tuple, bool)) else _word(slot, filter_.key, value)
    if word is None:
        return _NOTHING
    first = _prefix(slot, filter_.key) + _TYPES[value_type(value)]
    limits = {"gte": first, "lt": first[:-1] + chr(ord(first[-1]) + 1)}
    operator = _RANGE[filter_.operator]
    limits.pop("gte" if operator.startswith("g") else "lt")
    return {"range": {"tags": {**limits, operator: word}}}


def _word(slot: str, key: str, value: Scalar) -> str | None:
    """Return the word of an entry; None for what is no number, which is equal to nothing."""
    first = _prefix(slot, key) + _TYPES[value_type(value)]
    if isinstance(value, str):
        return first + _text(value)
    if isinstance(value, bool):
        return first + str(int(value))
    return None if isinstance(value, float) and math.isnan(value) else first + _number(value)


def _prefix(slot: str, key: str) -> str:
    return slot + blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _text(value: str) -> str:
    text = value.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= _ORDERED_CHARACTERS:
        return text
    return text[:_ORDERED_CHARACTERS] + "\x00" + blake2b(text.encode(), digest_size=16).hexdigest()


def _number(value: float) -> str:
    """Return a text that sorts as the number: that of the nearest double, then what an integer differs from it."""
    try:
        near = float(value) + 0.0  # there is one zero
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    (bits,) = struct.unpack(">Q", struct.pack(">d", near))
    bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 2**63
    rest = int(value) - int(near) if isinstance(value, int) and -(2**63) <= value < 2**63 else 0
    return f"{bits:016x}{rest + 2**15:04x}"


def _all(parts: list[Json]) -> Json:
    return {"bool": {"filter": parts}}


def _any(parts: list[Json]) -> Json:
    return {"bool": {"should": parts, "minimum_should_match": 1}}


def _not(part: Json) -> Json:
    return {"bool": {"must_not": [part]}}

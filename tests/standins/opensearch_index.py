"""An index of the OpenSearch stand-in: mappings kept to, text analysed, BM25 as Lucene has it, k-NN by compressed vectors.

k-NN looks at all vectors, where the service follows a graph; what is lost by compression is lost here, too.

Only what the store uses is known; everything else is a ``Refusal``, as is a query that OpenSearch does not know.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from unicodedata import combining, normalize

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from tests.standins.opensearch_quantiser import BITS, distances, quantised, thresholds

Json = dict[str, Any]
Scores = dict[str, float]

_WORD = re.compile(r"[^\W_]+")
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})
_LONGEST_KEYWORD = 32_766  # bytes; Lucene takes no longer term
_MOST_TERMS, _MOST_CLAUSES, _WINDOW = 65_536, 1_024, 10_000
_K1, _B = 1.2, 0.75
_TYPES = {"keyword", "long", "text", "knn_vector"}
_MOST_FIELDS = 1_000  # objects count, too
MOST_BYTES = 2**40  # of an index; what the service says beyond is not published
_COMPRESSIONS = {"1x", "2x", "8x", "16x", "32x"}


class Refusal(Exception):
    """An error in the form of OpenSearch."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(f"{status} {kind}: {reason}")
        self.status, self.error = status, {"type": kind, "reason": reason}


def invalid(reason: str, kind: str = "parsing_exception") -> Refusal:
    return Refusal(400, kind, reason)


@dataclass
class Words:
    """The inverted index of a text field."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    total: int = 0

    def add(self, id_: str, words: list[str]) -> None:
        if not words:  # counts nowhere
            return
        self.lengths[id_] = len(words)
        self.total += len(words)
        for word in words:
            found = self.counts.setdefault(word, {})
            found[id_] = found.get(id_, 0) + 1

    def remove(self, id_: str, words: list[str]) -> None:
        self.total -= self.lengths.pop(id_, 0)
        for word in set(words):
            del self.counts[word][id_]
            if not self.counts[word]:
                del self.counts[word]

    def score(self, word: str, documents: int | None = None) -> Scores:
        """BM25 of a word; ``documents`` in place of how many hold it."""
        found = self.counts.get(word, {})
        held = len(found) if documents is None else documents
        idf = math.log(1 + (len(self.lengths) - held + 0.5) / (held + 0.5))
        average = self.total / max(1, len(self.lengths))
        scores: Scores = {}
        for id_, count in found.items():
            length = _as_a_byte(self.lengths[id_])
            scores[id_] = float(np.float32(idf * count / (count + _K1 * (1 - _B + _B * length / average))))
        return scores


def _as_a_byte(length: int) -> int:
    """The length of a text as Lucene keeps it: exact up to 40 words, then with 4 significant bits."""
    if length < 24:
        return length
    rest = length - 24
    shift = max(0, rest.bit_length() - 4)
    return 24 + ((rest >> shift) << shift)


class Index:
    """What one index holds. ``live`` is what was written, by id; searches see what has been shown of it."""

    def __init__(self, name: str, body: Json, generation: str) -> None:
        self.name, self.generation = name, generation
        self.mappings: Json = body.get("mappings", {})
        self._settings: Json = body.get("settings", {})
        self._analyzers = _analyzers(self._settings.get("analysis", {}))
        self.fields: dict[str, Json] = {}
        self._words: dict[str, Words] = {}
        self.add({})
        self.unknown = 0  # so many more documents are refused: not everywhere has it been heard of
        self.late: dict[str, int] = {}  # fields of which as many more documents are refused, for the same reason
        self.live: dict[str, Json] = {}
        self.bytes, self.most_bytes = 0, MOST_BYTES
        self._sizes: dict[str, int] = {}
        self._shown: dict[str, Json] = {}
        self._keywords: dict[str, dict[Any, dict[str, None]]] = {}
        self._matrix: tuple[list[str], NDArray[np.float64]] | None = None

    def add(self, properties: Json) -> None:
        """Add fields to the mapping; those of objects are named ``OBJECT.FIELD``."""
        merged = _merged(self.mappings.get("properties", {}), properties)
        fields = {name: mapping for name, mapping in _flat(merged, "properties").items() if mapping.get("type") != "object"}
        for name, mapping in fields.items():
            self._check_mapping(name, mapping, self._settings)
        if len(fields) + sum("properties" in mapping for mapping in merged.values()) > _MOST_FIELDS:
            raise invalid(f"Limit of total fields [{_MOST_FIELDS}] has been exceeded", "illegal_argument_exception")
        self.mappings["properties"], self.fields = merged, fields
        for name, mapping in fields.items():
            if mapping["type"] == "text":
                self._words.setdefault(name, Words())

    def _check_mapping(self, name: str, mapping: Json, settings: Json) -> None:
        if mapping["type"] not in _TYPES:
            raise invalid(f"No handler for type [{mapping['type']}] declared on field [{name}]", "mapper_parsing_exception")
        if mapping["type"] == "text" and mapping["analyzer"] not in self._analyzers:
            raise invalid(f"analyzer [{mapping['analyzer']}] has not been configured", "mapper_parsing_exception")
        if mapping["type"] == "knn_vector":
            if not settings.get("index", {}).get("knn"):
                raise invalid("index.knn is not set", "mapper_parsing_exception")
            refused = [p for p in ("engine", "mode") if p in mapping.get("method", {}) or p in mapping]
            if self.generation == "nextgen" and refused:
                raise invalid(f"Field parameter '{refused[0]}' is not supported", "illegal_argument_exception")
            if mapping.get("compression_level", "1x") not in _COMPRESSIONS:
                raise invalid("Unknown value for field [compression_level]", "illegal_argument_exception")
            if "compression_level" in mapping and self.generation == "classic":
                reason = f"unknown parameter [compression_level] on mapper [{name}] of type [knn_vector]"
                raise invalid(reason, "mapper_parsing_exception")

    # ------------------------------------------------------------ writing

    def check(self, source: Json) -> None:
        """Refuse a document that the mapping does not take."""
        for name, value in _flat(source).items():
            mapping = self.fields.get(name)
            if mapping is None or self.late.get(name):
                self.late[name] = self.late.get(name, 1) - 1
                reason = f"mapping set to strict, dynamic introduction of [{name}] within [_doc] is not allowed"
                raise invalid(reason, "strict_dynamic_mapping_exception")
            if mapping["type"] == "knn_vector" and len(value) != mapping["dimension"]:
                reason = f"Vector dimension mismatch. Expected: {mapping['dimension']}, Given: {len(value)}"
                raise invalid(reason, "mapper_parsing_exception")
            if mapping["type"] == "keyword" and mapping.get("index", True):
                for word in value if isinstance(value, list) else [value]:
                    if len(word.encode()) > _LONGEST_KEYWORD:
                        raise invalid("Document contains at least one immense term", "illegal_argument_exception")

    def keep(self, id_: str, source: Json | None) -> None:
        """Write a document, or remove it, and count what the index takes: JSON, of a vector as many bytes as its floats."""
        size = _size(source)
        more = size - self._sizes.get(id_, 0)
        if more > 0 and self.bytes + more > self.most_bytes:
            raise invalid(f"the index takes {self.most_bytes} bytes", "illegal_argument_exception")
        self.bytes += more
        if source is None:
            del self.live[id_], self._sizes[id_]
        else:
            self.live[id_], self._sizes[id_] = source, size

    def show(self, id_: str, source: Json | None) -> None:
        """Let searches see a document as it is now; None: let them see that it is gone."""
        old = self._shown.pop(id_, None)
        documents = [(_flat(document or {}), is_new) for document, is_new in ((old, False), (source, True))]
        for name, mapping in self.fields.items():
            for document, is_new in documents:
                if name in document:
                    self._index(name, mapping, id_, document[name], is_new)
        if source is not None:
            self._shown[id_] = source

    def _index(self, name: str, mapping: Json, id_: str, value: Any, is_new: bool) -> None:
        if mapping["type"] == "knn_vector":
            self._matrix = None
        elif mapping["type"] == "text":
            change = self._words[name].add if is_new else self._words[name].remove
            # the values of a list count as one text
            change(id_, self._analyzers[mapping["analyzer"]](" ".join(value) if isinstance(value, list) else value))
        elif mapping.get("index", True):
            for word in value if isinstance(value, list) else [value]:
                holders = self._keywords.setdefault(name, {}).setdefault(word, {})
                if is_new:
                    holders[id_] = None
                else:
                    holders.pop(id_, None)

    # ------------------------------------------------------------ searching

    def search(self, body: Json) -> Json:
        """Answer a search with the ``hits`` of its response."""
        unknown = body.keys() - {"query", "size", "_source", "sort", "track_total_hits", "search_after"}
        size = body.get("size", 10)
        if unknown:
            raise invalid(f"unknown key {sorted(unknown)} in the search")
        if size > _WINDOW:
            raise invalid("Result window is too large", "illegal_argument_exception")
        scores = self._scores(body["query"])
        sort = body.get("sort", [{"_score": "desc"}])
        rows = [(self._sort_values(sort, id_, score), id_, score) for id_, score in scores.items()]
        for place in reversed(range(len(sort))):
            (direction,) = sort[place].values()
            rows.sort(key=lambda row: row[0][place], reverse=direction == "desc")
        if "search_after" in body:
            rows = [row for row in rows if _comes_after(row[0], body["search_after"], sort)]
        scored = any("_score" in by for by in sort)
        hits = [self._hit(values, id_, score if scored else None, body) for values, id_, score in rows[:size]]
        total = {"total": {"value": len(scores), "relation": "eq"}} if body.get("track_total_hits") else {}
        return {**total, "hits": hits}

    def _hit(self, values: list[Any], id_: str, score: float | None, body: Json) -> Json:
        asked, source = body.get("_source", True), self._shown[id_]
        kept = source if asked is True else {name: v for name, v in source.items() if name in asked and name != "vector"}
        sort = {"sort": values} if "sort" in body else {}
        return {"_index": self.name, "_id": id_, "_score": score, "_source": kept, **sort}

    def _sort_values(self, sort: list[Json], id_: str, score: float) -> list[Any]:
        return [score if name == "_score" else self._shown[id_].get(name, "") for by in sort for name in by]

    def _scores(self, query: Json) -> Scores:
        ((kind, told),) = query.items()
        known: dict[str, Callable[[Any], Scores]] = {
            "term": lambda t: self._terms({name: [value] for name, value in t.items()}),
            "terms": self._terms,
            "range": self._range,
            "bool": self._bool,
            "match": self._match,
            "prefix": self._prefix,
            "knn": self._knn,
            "match_none": lambda _: {},
        }
        if kind not in known:
            raise invalid(f"unknown query [{kind}]")
        return known[kind](told)

    def _terms(self, told: Json) -> Scores:
        ((name, values),) = told.items()
        self._field(name, "keyword", "long")
        if len(values) > _MOST_TERMS:
            raise invalid("The number of terms has exceeded the allowed maximum", "illegal_argument_exception")
        held = self._keywords.get(name, {})
        return {id_: 1.0 for value in values for id_ in held.get(value, {})}

    def _range(self, told: Json) -> Scores:
        ((name, limits),) = told.items()
        self._field(name, "keyword")
        known: dict[str, Callable[[bytes, bytes], bool]] = {
            "gt": lambda a, b: a > b,
            "gte": lambda a, b: a >= b,
            "lt": lambda a, b: a < b,
            "lte": lambda a, b: a <= b,
        }
        passed = [
            holders
            for word, holders in self._keywords.get(name, {}).items()
            if all(known[limit](word.encode(), value.encode()) for limit, value in limits.items())
        ]
        return {id_: 1.0 for holders in passed for id_ in holders}

    def _bool(self, told: Json) -> Scores:
        if told.keys() - {"must", "should", "filter", "must_not", "minimum_should_match"}:
            raise invalid(f"[bool] query does not support {sorted(told)}")
        if sum(len(part) for part in told.values() if isinstance(part, list)) > _MOST_CLAUSES:
            raise invalid("too many clauses", "too_many_clauses")
        scores = dict.fromkeys(self._shown, 0.0)
        for part in told.get("filter", []):
            passed = self._scores(part)
            scores = {id_: score for id_, score in scores.items() if id_ in passed}
        for part in told.get("must_not", []):
            refused = self._scores(part)
            scores = {id_: score for id_, score in scores.items() if id_ not in refused}
        for part in told.get("must", []):
            found = self._scores(part)
            scores = {id_: score + found[id_] for id_, score in scores.items() if id_ in found}
        some = [self._scores(part) for part in told.get("should", [])]
        least = told.get("minimum_should_match", 0 if "must" in told or "filter" in told or not some else 1)
        added: dict[str, tuple[int, float]] = {}
        for found in some:
            for id_, score in found.items():
                count, total = added.get(id_, (0, 0.0))
                added[id_] = count + 1, total + score
        return {
            id_: float(np.float32(score + added.get(id_, (0, 0.0))[1]))
            for id_, score in scores.items()
            if added.get(id_, (0, 0.0))[0] >= least
        }

    def _match(self, told: Json) -> Scores:
        ((name, options),) = told.items()
        if name not in self.fields:  # as if no document had it
            return {}
        words = self._analyzers[self._field(name, "text")["analyzer"]](options["query"])
        return _sum(self._words[name].score(word) for word in words)

    def _prefix(self, told: Json) -> Scores:
        """Only the first words in their order take part, all as rare as the most frequent of them."""
        ((name, options),) = told.items()
        if name not in self.fields:
            return {}
        self._field(name, "text")
        match = re.fullmatch(r"top_terms_blended_freqs_(\d+)", options["rewrite"])
        if not match:
            raise invalid(f"rewrite [{options['rewrite']}] is unknown")
        words = self._words[name]
        begun = sorted(word for word in words.counts if word.startswith(options["value"]))[: int(match[1])]
        most = max((len(words.counts[word]) for word in begun), default=0)
        return _sum(words.score(word, most) for word in begun)

    def _knn(self, told: Json) -> Scores:
        ((name, options),) = told.items()
        mapping = self._field(name, "knn_vector")
        if len(options["vector"]) != mapping["dimension"]:
            raise invalid("Query vector has invalid dimension", "illegal_argument_exception")
        if not 1 <= options["k"] <= _WINDOW or options.keys() - {"vector", "k", "filter"}:
            raise invalid("[knn] requires k in the range (0, 10000], a vector, and a filter at most")
        if self._matrix is None:
            held = [id_ for id_, source in self._shown.items() if name in source]
            rows = np.array([self._shown[id_][name] for id_ in held], float).reshape(len(held), mapping["dimension"])
            self._matrix = held, rows
        ids, matrix = self._matrix
        passed = self._scores(options["filter"]) if "filter" in options else dict.fromkeys(ids, 0.0)
        asked = np.array(options["vector"], float)
        if (level := mapping.get("compression_level", "1x")) in BITS and len(matrix):
            over = thresholds(matrix, BITS[level])
            (code,) = quantised(asked[None], over)
            scores = 1 / (1.0 + distances(quantised(matrix, over), code))
        else:
            products = matrix @ asked
            scores = np.where(products >= 0, 1 + products, 1 / (1 - np.minimum(products, 0)))
        scored = [(score, id_) for id_, score in zip(ids, scores.tolist(), strict=True) if id_ in passed]
        scored.sort(key=lambda found: -found[0])
        return {id_: float(np.float32(score)) for score, id_ in scored[: options["k"]]}

    def _field(self, name: str, *types: str) -> Json:
        mapping = self.fields.get(name)
        if mapping is None or mapping["type"] not in types or not mapping.get("index", True):
            raise invalid(f"Cannot search on field [{name}]", "query_shard_exception")
        return mapping


def _size(source: Json | None) -> int:
    if source is None:
        return 0
    return sum(4 * len(value) if name == "vector" else len(json.dumps(value)) for name, value in source.items())


def _merged(known: Json, added: Json) -> Json:
    """Return a mapping with what is added to it; fields that are there must stay as they are."""
    merged = dict(known)
    for name, mapping in added.items():
        if "properties" in mapping and name in known:
            merged[name] = {**known[name], "properties": _merged(known[name].get("properties", {}), mapping["properties"])}
        elif known.get(name, mapping) != mapping:
            raise invalid(f"mapper [{name}] cannot be changed", "illegal_argument_exception")
        else:
            merged[name] = mapping
    return merged


def _flat(fields: Json, inside: str = "") -> Json:
    """Return fields with those of objects, which lie ``inside``, by their whole names instead of the objects."""
    flat: Json = {}
    for name, value in fields.items():
        parts = value.get(inside) if inside and isinstance(value, dict) else value
        if isinstance(parts, dict):
            flat |= {f"{name}.{part}": of_part for part, of_part in parts.items()}
        else:
            flat[name] = value
    return flat


def _sum(parts: Iterable[Scores]) -> Scores:
    scores: Scores = {}
    for part in parts:
        for id_, score in part.items():
            scores[id_] = scores.get(id_, 0.0) + score
    return scores


def _comes_after(values: list[Any], last: list[Any], sort: list[Json]) -> bool:
    for value, known, by in zip(values, last, sort, strict=True):
        (direction,) = by.values()
        if value != known:
            return bool(value < known) if direction == "desc" else bool(value > known)
    return False


def _analyzers(analysis: Json) -> dict[str, Callable[[str], list[str]]]:
    """Make the analyzers of an index out of the parts that are known here."""
    made = {}
    for name, told in analysis.get("analyzer", {}).items():
        tokenizer = analysis["tokenizer"][told["tokenizer"]]
        if told["type"] != "custom" or tokenizer != {"type": "pattern", "pattern": r"[^\p{L}\p{N}]+"}:
            raise invalid(f"analyzer [{name}] is unknown", "illegal_argument_exception")
        made[name] = _analyzer([analysis.get("filter", {}).get(f, f) for f in told["filter"]])
    return made


def _without_accent(letter: str) -> str:
    bare = "".join(c for c in normalize("NFKD", letter) if not combining(c))
    return bare if bare.isascii() else letter  # Latin only


def _analyzer(filters: list[Any]) -> Callable[[str], list[str]]:
    stemmer = snowballstemmer.stemmer("porter")

    def one(word: str, filter_: Any) -> str:
        if filter_ == "lowercase":
            return word.lower()
        if filter_ == "asciifolding":
            return word if word.isascii() else "".join(map(_without_accent, word)).translate(_FOLDED)
        if filter_ == "porter_stem":
            return str(stemmer.stemWord(word)) if len(word) > 2 else word
        if isinstance(filter_, dict) and filter_["type"] == "truncate":
            return word[: filter_["length"]]
        raise invalid(f"failed to find filter [{filter_}]", "illegal_argument_exception")

    one("", "lowercase")
    for filter_ in filters:
        one("a", filter_)

    def analyze(text: str) -> list[str]:
        words = _WORD.findall(text)
        for filter_ in filters:
            words = [one(word, filter_) for word in words]
        return words

    return analyze

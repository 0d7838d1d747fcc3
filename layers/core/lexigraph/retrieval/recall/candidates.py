"""The first stage of a recall: all strategies at once, and the regular expression alone when the others find nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.retrieval.recall import strategies
from lexigraph.retrieval.recall.patterns import MAX_CHARS, Pattern, compile_pattern, looks_like_pattern
from lexigraph.retrieval.recall.results import StrategyReport
from lexigraph.retrieval.recall.strategies import BM25, EDGE_LABELS, REGEX, STRATEGIES, VECTOR, Scores
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest, FloatArray, GraphNode, Hit


@dataclass(slots=True)
class Candidates:
    """What the strategies found, live or not: ``scores`` by strategy, and what the ``pattern`` is still to be tried on."""

    scores: dict[str, Scores] = field(default_factory=dict)
    tried: Sequence[str] = ()
    pattern: Pattern | None = None
    errors: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        """Every node that may be found, once."""
        return list(dict.fromkeys((*(node for scores in self.scores.values() for node in scores), *self.tried)))

    def found(self, live: Mapping[str, GraphNode]) -> dict[str, Scores]:
        """Return the scores of live nodes by strategy, now with those of the pattern."""
        found = {name: {i: score for i, score in of.items() if i in live} for name, of in self.scores.items()}
        if self.pattern is not None:
            found[REGEX] = strategies.pattern_scores(self.pattern, [live[i] for i in self.ids if i in live])
        return found

    def reports(self, found: Mapping[str, Scores]) -> tuple[StrategyReport, ...]:
        """Return what each of the four strategies did."""
        return tuple(
            StrategyReport(name, len(found.get(name, ())), self.errors.get(name, ""), self.skipped.get(name, ""))
            for name in STRATEGIES
        )


def gather(stores: BoundStores, models: Models, text: str, *, force_regex: bool) -> Candidates:
    """Search for a query, in one call to the vector store and one to the graph; two to the former when nothing was found.

    Raise ``InvalidInput`` for a forced pattern that is none, ``StoreUnavailable`` when no search works.
    """
    pattern = compile_pattern(text) if force_regex else _pattern_in(text)
    found = Candidates(pattern=pattern)
    vector = None
    if not force_regex or (pattern and not pattern.words):
        vector = models.vectors([text], stores.trace)[0]
        if vector is None:
            found.errors[REGEX if force_regex else VECTOR] = ModelUnavailable.code
    if force_regex:
        found.skipped = dict.fromkeys((BM25, VECTOR, EDGE_LABELS), "force_regex: the query is a pattern")
    _search(stores, found, text, vector, words=not force_regex)
    if pattern is None and not any(found.scores.values()) and stores.trace.calls["vector"] == 1:
        found.pattern = _anywhere(text)
        _search(stores, found, text, vector, words=False)
    if found.pattern is None:
        found.skipped[REGEX] = "the query is no pattern, and others found something"
    return found


def _search(stores: BoundStores, found: Candidates, text: str, vector: FloatArray | None, *, words: bool) -> None:
    requests = strategies.requests_of(text, vector, found.pattern, words=words)
    hits, errors = strategies.search(stores, requests)
    found.errors |= errors
    found.tried = strategies.candidates(hits.get(REGEX, ()))
    if words:
        found.scores = {
            BM25: strategies.text_scores(text, hits.get(BM25, ())),
            VECTOR: strategies.vector_scores(hits.get(VECTOR, ())),
            EDGE_LABELS: _by_labels(stores, text, hits.get(EDGE_LABELS, [[]])[0]),
        }


def _by_labels(stores: BoundStores, text: str, hits: Sequence[Hit]) -> Scores:
    chunks = tuple(hit.id for hit in hits)
    rows = stores.evidence("edge_labels", EvidenceRequest(chunks=chunks, neighbours=False))
    return strategies.label_scores(text, hits, rows)


def _pattern_in(text: str) -> Pattern | None:
    """Return the pattern that a query looks like; None when it is none after all."""
    if not looks_like_pattern(text):
        return None
    try:
        return compile_pattern(text)
    except InvalidInput:
        return None


def _anywhere(text: str) -> Pattern | None:
    """Return the pattern that finds these very words, also as a part of longer ones; None when there are too many."""
    quoted = re.escape(text)
    return compile_pattern(quoted) if len(quoted) <= MAX_CHARS else None

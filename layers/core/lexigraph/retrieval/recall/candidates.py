"""The first stage of a recall: all strategies at once, and the nodes that they find."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.normalise import entity_key
from lexigraph.retrieval.recall import strategies
from lexigraph.retrieval.recall.identifiers import identifiers
from lexigraph.retrieval.recall.patterns import MAX_CHARS, Pattern, compile_pattern, looks_like_pattern
from lexigraph.retrieval.recall.results import StrategyReport
from lexigraph.retrieval.recall.sessions import DOCUMENT
from lexigraph.retrieval.recall.strategies import BM25, EDGE_LABELS, REGEX, STRATEGIES, VECTOR, Scores
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest, FloatArray, GraphNode, Hit

_INCOMPLETE = "the pattern matched or scanned too many nodes: some matches may be missing"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the query asks for literally: the pattern that finds it, and what texts are worth that it is found in.

    ``all_of_it``: it asks for nothing else.
    """

    pattern: Pattern
    worth: Callable[[Sequence[str]], list[float]]
    all_of_it: bool = True


@dataclass(slots=True)
class Candidates:
    """What the strategies found: the live ``nodes``, and their ``scores`` by strategy."""

    nodes: Mapping[str, GraphNode] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    incomplete: dict[str, str] = field(default_factory=dict)

    def near(self, hot: Sequence[str]) -> dict[str, GraphNode]:
        """Return the nodes, what stands in a document with one of the ``hot`` ones no further from it than that."""
        documents = {node.source.id for i in hot if (node := self.nodes.get(i)) and node.source}

        def nearer(node: GraphNode) -> GraphNode:
            beside = node.source is not None and node.source.id in documents
            return replace(node, hops=DOCUMENT) if beside and (node.hops is None or node.hops > DOCUMENT) else node

        return {i: nearer(node) for i, node in self.nodes.items()}

    def reports(self) -> tuple[StrategyReport, ...]:
        """Return what each of the four strategies did."""
        return tuple(
            StrategyReport(
                name,
                len(self.scores.get(name, ())),
                *(told.get(name, "") for told in (self.errors, self.skipped, self.incomplete)),
            )
            for name in STRATEGIES
        )


def gather(
    stores: BoundStores, models: Models, text: str, *, force_regex: bool = False, near: Sequence[str] = ()
) -> Candidates:
    """Search for a query in one call to the vector store and two to the graph; nodes come with their hops from ``near``.

    Raise ``InvalidInput`` for a forced pattern that is none, ``StoreUnavailable`` when no search works.
    """
    wanted = _by_pattern(compile_pattern(text)) if force_regex else _wanted(text)
    found = Candidates()
    if force_regex:
        found.skipped = dict.fromkeys((BM25, VECTOR, EDGE_LABELS), "force_regex is set, so only the pattern is matched")
    else:
        vector = models.vectors([text], stores.trace)[0]
        if vector is None:
            found.errors[VECTOR] = ModelUnavailable.code
        _search(stores, found, text, vector)
        if wanted is None and not any(found.scores.values()):
            wanted = _anywhere(text)
    _look_up(stores, found, wanted, near)
    if not force_regex:
        _take_called(found, text)
    return found


def _search(stores: BoundStores, found: Candidates, text: str, vector: FloatArray | None) -> None:
    hits, errors = strategies.search(stores, strategies.requests_of(text, vector))
    found.errors |= errors
    found.scores = {
        BM25: strategies.text_scores(hits.get(BM25, ())),
        VECTOR: strategies.vector_scores(hits.get(VECTOR, ())),
        EDGE_LABELS: _by_labels(stores, text, hits.get(EDGE_LABELS, [[]])[0]),
    }


def _by_labels(stores: BoundStores, text: str, hits: Sequence[Hit]) -> Scores:
    chunks = tuple(hit.id for hit in hits)
    rows = stores.evidence("edge_labels", EvidenceRequest(chunks=chunks, neighbours=False))
    return strategies.label_scores(text, hits, rows)


def _look_up(stores: BoundStores, found: Candidates, wanted: Wanted | None, near: Sequence[str]) -> None:
    """Look the nodes up that were found, with those that are ``wanted`` literally, and leave out what is not live."""
    ids = list(dict.fromkeys([*(node for scores in found.scores.values() for node in scores), *near]))
    if wanted is None:
        found.skipped[REGEX] = "the query has no pattern or identifier, and other strategies found matches"
        found.nodes = stores.nodes("nodes", ids, near)
    else:
        matches = stores.matching("nodes", wanted.pattern, ids, near)
        found.nodes = matches.nodes
        found.scores[REGEX] = strategies.exact_scores(wanted.worth, matches.nodes.values())
        if not matches.complete:
            found.incomplete[REGEX] = _INCOMPLETE
            # of a longer query a name that so many nodes hold decides nothing
            if wanted.all_of_it:
                stores.trace.warn("regex_incomplete", _INCOMPLETE)
    found.scores = {name: {i: score for i, score in of.items() if i in found.nodes} for name, of in found.scores.items()}


def _take_called(found: Candidates, text: str) -> None:
    """Take an entity whose name is the whole query for an exact match, however either is written."""
    key = entity_key(text)
    called = {i: 1.0 for i, node in found.nodes.items() if node.kind == "entity" and entity_key(node.value) == key}
    if called:
        found.scores[REGEX] = {**found.scores.get(REGEX, {}), **called}
        found.skipped.pop(REGEX, None)


def _wanted(text: str) -> Wanted | None:
    """Return what a query that is not forced asks for literally; None when nothing, or when RE2 is not there."""
    try:
        if looks_like_pattern(text):
            return _by_pattern(compile_pattern(text))
    except InvalidInput:
        pass  # it is none after all
    try:
        named = identifiers(text)
    except InvalidInput:
        return None
    return Wanted(named.pattern, named.scores, named.only) if named else None


def _by_pattern(pattern: Pattern) -> Wanted:
    return Wanted(pattern, lambda texts: [0.5 + 0.5 * share if share else 0.0 for share in pattern.covers(list(texts))])


def _anywhere(text: str) -> Wanted | None:
    """Return the pattern that finds these very words, also as a part of longer ones; None when there are too many."""
    quoted = re.escape(text)
    return _by_pattern(compile_pattern(quoted)) if len(quoted) <= MAX_CHARS else None

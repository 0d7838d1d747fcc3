"""Every retriever by name: what the command line, the HTTP API and the evaluation offer."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval import retrievers
from lexigraph.retrieval.stages.args import Known
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore


class Retriever(Protocol):
    """Anything that finds statements for a question."""

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements. Raise only if a store fails; other failures become warnings."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A class of :mod:`lexigraph.retrieval.retrievers`, and the arguments that make it this retriever.

    A ``light`` one searches without the graph, which takes a fraction of the time.
    """

    kind: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    light: bool = False


RetrieverName = Literal[
    "traversal",
    "semantic-guided",
    "hybrid",
    "chunk",
    "entity",
    "topic",
    "multihop",
    "multidoc",
    "recall",
    "vector",
    "bm25",
    "fused",
]
_SETTINGS = ("bm25", "graph_rank", "reranker")  # parameters that the settings know, too
RETRIEVERS: dict[RetrieverName, Entry] = {
    "traversal": Entry("TraversalBasedRetriever"),
    "semantic-guided": Entry("SemanticGuidedRetriever"),
    "hybrid": Entry("HybridRetriever"),
    "chunk": Entry("TraversalBasedRetriever", {"retrievers": ["ChunkBasedSearch"]}),
    "entity": Entry("TraversalBasedRetriever", {"retrievers": ["EntityBasedSearch"]}),
    "topic": Entry("TraversalBasedRetriever", {"retrievers": ["TopicBeamSearch"]}),
    "multihop": Entry("MultihopRetriever"),
    "multidoc": Entry("MultidocRetriever"),
    "recall": Entry("RecallSearch"),
    "vector": Entry("BaselineRetriever", {"mode": "vector"}, light=True),
    "bm25": Entry("BaselineRetriever", {"mode": "bm25"}, light=True),
    "fused": Entry("BaselineRetriever", {"mode": "fused"}, light=True),
}


def make_retriever(
    name: str,
    graph_store: GraphStore,
    vector_store: VectorStore,
    *,
    embedder: Embedder | None = None,
    llm: LanguageModel | None = None,
    settings: Settings | None = None,
    **args: Any,
) -> Retriever:
    """Create a retriever by name, one of ``RETRIEVERS``; models that it does not use are ignored.

    ``args`` are its :func:`parameters`; those not given default to the settings. Raise ``InvalidInput`` for an unknown name
    or an invalid parameter.
    """
    check_parameters(name, args)
    args = {**(set_by(settings, name) if settings else {}), **args}
    entry = RETRIEVERS[cast(RetrieverName, name)]
    kind = getattr(retrievers, entry.kind)
    models = {"embedder": embedder, "llm": llm, "settings": settings}
    taken = inspect.signature(kind).parameters
    used = {role: model for role, model in models.items() if role in taken}
    return cast(Retriever, kind(graph_store, vector_store, **entry.fixed, **used, **args))


def set_by(settings: Settings, name: str) -> dict[str, Any]:
    """Return the parameters of the retriever called ``name`` that the settings set to something else than they are."""
    changed = {p: getattr(settings, p) for p in _SETTINGS if getattr(settings, p) != Settings.model_fields[p].default}
    return {p: value for p, value in changed.items() if p in _known(name).names}


def check_parameters(name: str, args: Mapping[str, Any]) -> None:
    """Raise ``InvalidInput`` for a retriever that is not known, or a parameter that has no effect on it."""
    _known(name).check(args)


def parameters(name: str) -> list[str]:
    """Return the parameters of a retriever by name. Raise ``InvalidInput`` for an unknown name."""
    return list(_known(name).names)


def _known(name: str) -> Known:
    if name not in RETRIEVERS:
        raise InvalidInput(f"retriever {name[:80]!r} is unknown: use one of {', '.join(RETRIEVERS)}")
    entry = RETRIEVERS[name]
    known: Known = getattr(retrievers, entry.kind).parameters(**entry.fixed)
    return known

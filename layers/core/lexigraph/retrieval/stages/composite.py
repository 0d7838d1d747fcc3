"""Retrievers composed of searches, each of which can also be used alone."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Generic, Self, TypeVar

from lexigraph import telemetry
from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.anchors import Inquiry
from lexigraph.retrieval.stages.args import Known, RankingArgs, defaults_of, names_of
from lexigraph.retrieval.stages.expansion import Expansion
from lexigraph.retrieval.stages.postprocess import PostProcessor, as_post_processors, processed
from lexigraph.retrieval.stages.ranking import WEIGHTS, Weights
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.results import assemble, looking
from lexigraph.retrieval.stages.retriever import StatementRetriever
from lexigraph.retrieval.stages.statements import rank_statements
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore

A = TypeVar("A", bound=RankingArgs)
_STORES = ("graph_store", "vector_store")


class Search(ABC):
    """A search of a composite. ``given`` are its parameters under the names that the composite uses.

    With stores it can be used alone; ``embedder``, ``llm`` and ``settings`` are as in the composite.
    """

    USES: ClassVar[tuple[str, ...]]  # parameters of the composite without effect where this search takes no part
    COMPOSITE: ClassVar["type[Composite[Any]]"]  # which it is a part of: it says so itself, by its ``SEARCHES``

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter, one without effect, or a value out of range."""
        stores = {"graph_store": graph_store, "vector_store": vector_store}
        models = {"embedder": embedder, "llm": llm, "settings": settings}
        self._alone: dict[str, Any] = {name: value for name, value in (stores | models).items() if value is not None}
        self.given = self._checked(args)
        self._retriever = Lazy(self._made)

    @abstractmethod
    def _checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters by the composite's names. Raise ``InvalidInput`` for what is not allowed."""

    def inside(self) -> tuple[str, ...]:
        """Return those of ``given`` that can be given inside a composite."""
        return tuple(self.given)

    def check_inside(self) -> None:
        """Raise ``InvalidInput`` for what would have no effect inside a composite, whose stores it may have been given."""
        for name in (*self._alone, *self.given):
            if name not in _STORES and (name in self._alone or name not in self.inside()):
                raise InvalidInput(f"{_name(self)}: pass {name} to the composite retriever instead")

    def check_stores(self, graph_store: GraphStore, vector_store: VectorStore) -> None:
        """Raise ``InvalidInput`` when it was made for other stores than those of the composite."""
        for name, store in zip(_STORES, (graph_store, vector_store), strict=True):
            if self._alone.get(name, store) is not store:
                raise InvalidInput(f"{_name(self)}: {name} must be the same as that of the composite retriever")

    def retrieve(self, tenant: Tenant | str, question: Question | str | None = None) -> SearchResults:
        """Return the ranked statements of this search alone, as any retriever does.

        Raise ``InvalidInput`` if it was created without stores.
        """
        return self._retriever().retrieve(tenant, question)

    async def aretrieve(self, tenant: Tenant | str, question: Question | str | None = None) -> SearchResults:
        """Run :meth:`retrieve` in a thread."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    def _made(self) -> "Composite[Any]":
        """Return a composite of this search alone."""
        if not set(_STORES) <= self._alone.keys():
            raise InvalidInput(f"{_name(self)} has no stores: pass graph_store and vector_store to use it alone")
        return self.COMPOSITE(retrievers=[self._bare()], **self._alone, **self.given)

    def _bare(self) -> Self:
        bare = copy(self)
        bare.given, bare._alone = {}, {}
        return bare


class Composite(StatementRetriever[SearchResults], Generic[A]):
    """A retriever composed of searches: ``retrievers`` are types, instances or names of those in ``SEARCHES``.

    ``args`` are those of the dataclass ``ARGS`` that have an effect with these searches. ``embedder`` defaults to the one in
    the settings; without an ``llm``, keywords are taken from the question. ``reranker`` is a name or a ``Reranker``,
    ``weights`` are the constants of the ranking. ``post_processors`` are applied to the results in order, after the reranker
    (:mod:`lexigraph.retrieval.stages.postprocess`, G-36). Raise ``InvalidInput`` for invalid parameters.
    """

    SEARCHES: ClassVar[Mapping[str, type[Search]]]
    DEFAULT: ClassVar[Sequence[type[Search]]]
    ARGS: ClassVar[type[RankingArgs]]
    args: A

    def __init_subclass__(cls) -> None:
        for search in cls.__dict__.get("SEARCHES", {}).values():  # not those of a retriever that it derives from
            search.COMPOSITE = cls

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        *,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        reranker: str | Reranker | None = "tfidf",
        retrievers: Sequence[Search | type[Search] | str] | None = None,
        post_processors: Sequence[PostProcessor | type[PostProcessor]] | None = None,
        settings: Settings | None = None,
        weights: Weights = WEIGHTS,
        **args: Any,
    ) -> None:
        super().__init__(graph_store, vector_store, embedder, settings)
        self.llm, self._reranker, self.weights = llm, reranker, weights
        self.searches = self.searches_in(retrievers)
        for search in self.searches:
            search.check_stores(graph_store, vector_store)
        known = self.known(map(type, self.searches))
        known.check(args)
        own = {name: value for s in self.searches for name, value in s.given.items()}
        self.args = self.ARGS.of({**args, "reranker": reranker_name(reranker), **own})  # type: ignore[assignment]  # ARGS is A
        known.check_partners(self.args, {*args, *own} - self._always())
        self.post_processors = as_post_processors(post_processors)

    @classmethod
    def parameters(cls, retrievers: Any = None) -> Known:
        """Return the parameters that have an effect with these searches."""
        return cls.known(map(type, cls.searches_in(retrievers)))

    @classmethod
    def known(cls, used: Iterable[type[Search]]) -> Known:
        """Return the parameters that have an effect where searches of these types take part."""
        effective = {name for search in used for name in search.USES}
        every = reversed(list(cls.SEARCHES.items()))
        elsewhere = {name: kind for kind, search in every for name in search.USES if name not in effective}
        names = tuple(name for name in names_of(cls.ARGS) if name not in elsewhere)
        return Known(names, elsewhere, defaults_of(cls.ARGS))

    @classmethod
    def searches_in(cls, given: Any) -> list[Search]:
        """Return instances for the types, instances or names in ``given``, of the ``DEFAULT`` for None (G-14, G-18).

        Raise ``InvalidInput`` for anything else, an empty list, or one kind of search given twice.
        """
        kinds, names = tuple(cls.SEARCHES.values()), ", ".join(cls.SEARCHES)
        wanted = list(cls.DEFAULT) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
        searches: list[Search] = []
        for one in wanted:
            kind = cls.SEARCHES.get(one) if isinstance(one, str) else one
            search: Any = kind() if isinstance(kind, type) and issubclass(kind, kinds) else kind
            if not isinstance(search, kinds):
                raise InvalidInput(f"retrievers: {one!r:.80} is not a search; use classes or instances of {names}")
            for other in searches:
                if isinstance(search, type(other)) or isinstance(other, type(search)):
                    raise InvalidInput(f"retrievers: {_name(other)} and {_name(search)} are the same search: pass only one")
            search.check_inside()
            searches.append(search)
        if not searches:
            raise InvalidInput(f"retrievers must contain at least one of {names}")
        return searches

    @abstractmethod
    def _expand(self, stores: BoundStores, text: str) -> tuple[Inquiry, Expansion[A]]:
        """Return what was asked for, and the evidence that was collected for it."""

    def _find(self, stores: BoundStores, text: str) -> SearchResults:
        inquiry, expansion = self._expand(stores, text)
        entities = expansion.anchors.entities
        with stores.trace.step("rank"):
            reranker = self.models.reranker(self._reranker)
            # statements are reranked against the question and the entity names looked up (G-35)
            queries = [text, *(a.entity.value for a in entities if len(a.path) < 2)]
            looked_at, ranked = looking(rank_statements(expansion, queries, reranker, stores.trace))
            with telemetry.span("results"):
                results = assemble(ranked, self.args, lambda chunk_id: expansion.found.said(chunk_id).values())
        return SearchResults(
            text,
            results,
            entities=tuple(a.entity.value for a in entities),
            keywords=inquiry.keywords,
            looked_at=looked_at,
        )

    def _finished(self, found: SearchResults, trace: Trace) -> SearchResults:
        for processor in self.post_processors:
            with trace.step("post_processing"):
                found = processed(found, processor)
        return found

    def _always(self) -> set[str]:
        """Return the parameters that have an effect whatever their partners are."""
        return set()

    def _has(self, kind: type[Search]) -> bool:
        return any(isinstance(search, kind) for search in self.searches)


def _name(search: Search) -> str:
    return type(search).__name__

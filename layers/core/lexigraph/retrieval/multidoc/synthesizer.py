"""Multi-document synthesis: sections of several articles as one context, with the reference system's interface."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexigraph.inference.protocols import Embedder, Reranker
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.filters import Filter, parse_filter
from lexigraph.model.multidoc import MultidocContext
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.multidoc.articles import ArticleStore, RetrievalFailed, check_store, embedded
from lexigraph.retrieval.multidoc.sections import (
    Article,
    MultidocArgs,
    Section,
    extract_facts,
    find_articles,
    find_sections,
    group_by_article,
    rank_articles,
)
from lexigraph.retrieval.stages.args import check_number
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings


class MultiDocSynthesizer:
    """Retrieves the best sections of several articles and the facts in them (W).

    ``conn`` are the stores, as returned by ``open_stores(settings)``. Returned are up to ``num_docs`` articles (1 to 10,
    default 5) of up to ``max_sections`` sections (1 to 10, default 3) whose relevance, (1 + cosine) / 2, is at least
    ``min_relevance`` (0 to 1, default 0.7); ``preset`` sets other defaults
    (:data:`~lexigraph.retrieval.multidoc.sections.PRESETS`). Facts have at least ``min_fact_chars`` characters (0 to 1,000,
    default 9). ``reranker`` (``tfidf``, ``bedrock``, ``model``, or an object) reorders the articles before ``num_docs``
    applies. ``tenant`` and ``filters`` restrict what is read. Each question takes one graph call, one registry call and one
    vector call, more if a long document fills the search.
    Raise ``ValueError`` (``InvalidInput``) for a value out of range, ``TypeError`` if ``conn`` are not stores.
    """

    def __init__(
        self,
        conn: ArticleStore,
        num_docs: int | None = None,
        max_sections: int | None = None,
        min_relevance: float | None = None,
        *,
        preset: str = "explanatory",
        tenant: str = "default",
        filters: Filter | Mapping[str, Any] | None = None,
        min_fact_chars: int = 9,
        reranker: str | Reranker | None = None,
        settings: Settings | None = None,
    ) -> None:
        check_store(conn)
        own = {"num_docs": num_docs, "max_sections": max_sections, "min_relevance": min_relevance}
        self.args = MultidocArgs.of({**own, "preset": preset})
        check_number("min_fact_chars", min_fact_chars, 0, 1_000)
        reranker_name(reranker)
        self.conn, self.tenant, self.filters = conn, Tenant(tenant), parse_filter(filters)
        self.min_fact_chars = min_fact_chars
        self.reranker = Models(None, settings).reranker(reranker)

    _group_by_article = staticmethod(group_by_article)
    _rank_articles = staticmethod(rank_articles)

    @property
    def num_docs(self) -> int:
        """Maximum number of articles."""
        return self.args.num_docs

    @property
    def max_sections(self) -> int:
        """Maximum number of sections per article."""
        return self.args.max_sections

    @property
    def min_relevance(self) -> float:
        """Minimum relevance of a section, 0 to 1."""
        return self.args.min_relevance

    def retrieve(self, question: str, embedding_generator: Embedder) -> dict[str, Any]:
        """Return articles, sections, sources and facts for a question (W-07 to W-12).

        ``articles`` (title, category, word_count) come in rank order; ``sections`` (section_id, title, content,
        article_title, relevance_score) by article, then best first; ``sources`` are the titles; ``facts`` come in the order
        of the sections, ``fact_support`` counts the sections that state each. There may be fewer articles than
        ``num_docs``, or none. ``best_relevance`` is that of the best section of all; if it is below ``min_relevance``, there
        is a ``below_min_relevance`` warning. Raise ``ValueError`` for an empty question or if it cannot be embedded,
        ``RuntimeError`` if a store fails.
        """
        return self.find(question, embedding_generator).to_dict()

    def find(self, question: str, embedding_generator: Embedder) -> MultidocContext:
        """Return a ``MultidocContext``, with timings and store calls. Raise as :meth:`retrieve` does."""
        trace = Trace()
        asked = Question.of(question, self.filters)
        with trace.step("embed"):
            vector = embedded(asked.text, embedding_generator)
        stores = BoundStores(self.conn.graph, self.conn.vectors, self.tenant, asked.filters, trace)
        try:
            found = find_sections(stores, asked.text, vector, self.args)
            articles = find_articles(stores, asked.text, found, self.args, self.reranker)
            described = self._described(articles, trace)
        except StoreUnavailable as error:
            raise RetrievalFailed(str(error)) from error
        if not articles:
            stores.tell_of_filter()
        sections = [section for article in articles for section in article.sections]
        facts = extract_facts(sections, self.min_fact_chars)
        trace.finish()
        return MultidocContext(
            question=asked.text,
            articles=tuple(described),
            sections=tuple(map(_shown, sections)),
            facts=tuple(facts),
            fact_support=tuple(facts.values()),
            best_relevance=found.best,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    def _described(self, articles: Sequence[Article], trace: Trace) -> list[dict[str, Any]]:
        if not articles:
            return []
        with trace.step("articles", "registry"):
            records = self.conn.registry.records(self.tenant, [a.source.id for a in articles])
        return [a.described(records[a.source.id].words if a.source.id in records else 0) for a in articles]

    def _extract_facts(self, sections: list[Section]) -> list[str]:
        """Return the sentences of the sections' ``content`` that state something, each once (W-15)."""
        return list(extract_facts(sections, self.min_fact_chars))


def _shown(section: Section) -> dict[str, Any]:
    rest = {name: value for name, value in section.items() if name != "score"}
    return {**rest, "relevance_score": section["score"]}

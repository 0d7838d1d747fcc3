"""Multi-hop retrieval: hop by hop through a namespace, by similarity and by symbolic edges between chunks."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexigraph.model.errors import NotFound
from lexigraph.model.filters import MetadataFilter, MetadataFilters
from lexigraph.model.multihop import Hop, MultihopResult, MultihopResults, SymbolicEdge
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.multihop.hops import Cell, MultihopArgs, Walk
from lexigraph.retrieval.stages.args import names_of
from lexigraph.retrieval.stages.results import passage, read_on
from lexigraph.retrieval.stages.retriever import Ranked, RankedRetriever
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.storage.protocols import EvidenceRequest, Registry, VectorRecord

ROWS = 1_000_000  # row ids that one document of a namespace takes
_SHOWN, _SNIPPET = 3, 200  # texts of a hop, and their characters


class MultihopRetriever(RankedRetriever):
    """Searches for the most relevant chunks, then continues from the best of them, for ``num_hops`` hops in all.

    Each hop follows symbolic edges (next and previous chunk, same headings, an entity, name or topic in common) and
    searches for the chunks nearest to the mean vector of question and seeds; each of the two fills half of
    ``top_k_per_hop``. A chunk's score is its relevance to the question combined with the chunk it was reached from
    (:mod:`~lexigraph.retrieval.multihop.inquiry`), times ``hop_decay`` per hop; with ``use_symbolic``, the role makes up
    5 %. A chunk reached at several hops keeps its best score.

    :meth:`query` returns chunks with row ids, :meth:`retrieve` their statements. Each hop takes at most one vector and one
    graph call; the result takes one call more, and :meth:`query` two of the registry. If symbolic edges cannot be read,
    the hop continues without them, with a warning; if the embedding model fails, the search uses words and symbolic edges.
    ``args`` are those of :class:`~lexigraph.retrieval.multihop.hops.MultihopArgs` and, for :meth:`retrieve`, those of every
    :class:`~lexigraph.retrieval.stages.retriever.RankedRetriever`.
    """

    OWN = names_of(MultihopArgs)

    def _configure(self, own: Mapping[str, Any]) -> None:
        self.args = MultihopArgs.of(own)

    def query(self, tenant: Tenant, question: Question, namespace: str, registry: Registry) -> MultihopResults:
        """Return the hops and the final ranking within a namespace (H).

        Raise ``NotFound`` for a namespace without documents, ``StoreUnavailable`` if a store fails.
        """
        trace = Trace()
        with trace.step("namespace", "registry"):
            documents = registry.documents(tenant, namespace=namespace, limit=2)
        if not documents:
            raise NotFound(f"namespace {namespace[:80]!r} does not exist: ingest a document into it first")
        within = MetadataFilter("namespace", "==", namespace)
        filters = MetadataFilters((within, question.filters)) if question.filters else within
        walk = self._walk(BoundStores(self.graph_store, self.vector_store, tenant, filters, trace), question.text)
        sources = list(dict.fromkeys(walk.places[c.id].source_id for c in walk.cells))
        with trace.step("row_ids", "registry"):
            ordinals = registry.ordinals(tenant, namespace, sources)
        alone = len(documents) == 1
        rows = {
            c.id: place.placement.seq + ROWS * (0 if alone else ordinals[place.source_id])
            for c in walk.cells
            for place in (walk.places[c.id],)
        }
        ranked = sorted(walk.cells, key=lambda c: (-walk.score(c), rows[c.id]))[: self.args.final_top_k]
        shown = [c for hop in walk.hops for c in hop[:_SHOWN]]
        texts = walk.stores.texts("texts", list(dict.fromkeys(c.id for c in (*ranked, *shown))))
        results = tuple(_result(walk, c, rows[c.id], texts) for c in ranked if c.id in texts)
        if question.filters and not results:
            walk.stores.tell_of_filter()
        trace.finish()
        return MultihopResults(
            query=question.text,
            namespace=namespace,
            hops=tuple(Hop(at, _snippets(walk, hop[:_SHOWN], texts)) for at, hop in enumerate(walk.hops)),
            final_results=results,
            symbolic_edges=tuple(SymbolicEdge(c.hop, rows[c.id]) for hop in walk.hops for c in hop if walk.is_symbolic(c)),
            symbolic_failures=walk.failures,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    def _rank(self, stores: BoundStores, text: str) -> tuple[Ranked, Sequence[str]]:
        walk = self._walk(stores, text)
        ranked = sorted(walk.cells, key=lambda c: (-walk.score(c), c.id))[: self.args.final_top_k]
        request = EvidenceRequest(chunks=tuple(c.id for c in ranked), neighbours=False, facts=self.shape.include_facts)
        rows = stores.evidence("evidence", request)
        return read_on(rows, {c.id: walk.parts(c) for c in ranked}, {c.id: c.reason for c in ranked}), ()

    def _walk(self, stores: BoundStores, text: str) -> Walk:
        walk = Walk(stores, text, self.models.vectors([text], stores.trace)[0], self.args)
        walk.run()
        return walk


def _result(walk: Walk, cell: Cell, row_id: int, texts: Mapping[str, VectorRecord]) -> MultihopResult:
    place = walk.places[cell.id]
    source, placement = walk.sources[place.source_id], place.placement
    return MultihopResult(
        row_id=row_id,
        value=passage(texts[cell.id].text, placement),
        role=placement.role,
        parent=f"chunk_{place.first}",
        score=walk.score(cell),
        hop=cell.hop,
        reason=cell.reason,
        chunk_id=cell.id,
        uri=source.uri,
        title=source.title,
        start=placement.start,
        end=placement.end,
    )


def _snippets(walk: Walk, cells: Sequence[Cell], texts: Mapping[str, VectorRecord]) -> tuple[str, ...]:
    return tuple(passage(texts[c.id].text, walk.places[c.id].placement)[:_SNIPPET] for c in cells if c.id in texts)

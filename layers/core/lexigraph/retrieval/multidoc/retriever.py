"""Multi-document search as a retriever: statements from the best sections of the best articles."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexigraph.retrieval.multidoc.sections import (
    MultidocArgs,
    best_sections,
    distinct_titles,
    find_sections,
    group_by_article,
    rank,
)
from lexigraph.retrieval.stages.results import read_on
from lexigraph.retrieval.stages.retriever import Ranked, RankedRetriever
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest


class MultidocRetriever(RankedRetriever):
    """Returns the statements of the best ``max_sections`` sections of the best ``num_docs`` articles (W-07).

    Articles are ranked by the sum of their best sections' relevance, (1 + cosine) / 2. Sections without statements are
    left out; :class:`~lexigraph.retrieval.multidoc.synthesizer.MultiDocSynthesizer` returns the sections themselves. Takes
    one graph call and one vector call, more if a long document fills the search. If the embedding model fails, the search
    uses BM25, with a warning. ``args`` are those of :meth:`~lexigraph.retrieval.multidoc.sections.MultidocArgs.of`, with
    ``min_relevance`` 0 unless it or a ``preset`` is given, and those of every
    :class:`~lexigraph.retrieval.stages.retriever.RankedRetriever`.
    """

    OWN = ("num_docs", "max_sections", "min_relevance", "preset")

    def _configure(self, own: Mapping[str, Any]) -> None:
        self.args = MultidocArgs.of(own if "preset" in own else {"min_relevance": 0.0, **own})

    def _rank(self, stores: BoundStores, text: str) -> tuple[Ranked, Sequence[str]]:
        vector = self.models.vectors([text], stores.trace)[0]
        found = find_sections(stores, text, vector, self.args).of_each(2 * self.args.max_sections)
        chunks = tuple(hit.id for hit, _ in found)
        rows = stores.evidence("evidence", EvidenceRequest(chunks=chunks, neighbours=False, facts=self.shape.include_facts))
        sources = {row.chunk_id: row.source for row in rows}
        titles = distinct_titles({source.id: source for source in sources.values()}.values())
        grouped = group_by_article(
            [
                {"section_id": hit.id, "article_title": titles[sources[hit.id].id], "score": relevance}
                for hit, relevance in found
                if hit.id in sources
            ]
        )
        best = best_sections(grouped, self.args.max_sections)
        ranked = rank(best, self.args.num_docs)[: self.args.num_docs]
        return read_on(rows, {s["section_id"]: {"relevance": s["score"]} for title, _ in ranked for s in best[title]}), ()

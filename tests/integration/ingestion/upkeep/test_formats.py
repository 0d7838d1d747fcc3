"""A database of the format before: opened, asked, checked, and read anew by what reads better now."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import Extraction
from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.retrievers import ChunkBasedSearch
from lexigraph.settings import Settings
from tests.formats import as_format_4
from tests.laptop import content, laptop, open_laptop, write_pages
from tests.models import SentenceExtractor, WordEmbedder

PAGES = {"Kiln": "Kiln heats clay.\n\nTo start it type:\n\n```\nkiln --cone 6\n```", "Clay": "Clay is dug in Bergen."}


class Kinds(SentenceExtractor):
    """Knows code where the one before took it for a sentence."""

    name = "sentences-2"

    def _one(self, chunk: ChunkText) -> Extraction:
        def kind(start: int) -> str:
            return "code" if any(p.role == "code" and p.start <= start < p.end for p in chunk.parts) else "prose"

        read = super()._one(chunk)
        topics = [replace(t, statements=tuple(replace(s, kind=kind(s.start)) for s in t.statements)) for t in read.topics]
        return replace(read, topics=tuple(topics))


def found(index: LexicalGraphIndex) -> list[ScoredStatement]:
    search = ChunkBasedSearch(index.stores.graph, index.stores.vectors, embedder=WordEmbedder())
    return list(search.retrieve(DEFAULT_TENANT, Question.of("How do I start the Kiln?")).statements)


def test_a_database_of_the_format_before_goes_on(tmp_path: Path) -> None:
    corpus = write_pages(tmp_path / "corpus", PAGES)
    with closing(open_laptop(tmp_path / "data")) as stores:
        index = laptop(tmp_path / "data", stores)
        index.ingest([corpus])
        before, told = content(stores), found(index)
    as_format_4(tmp_path / "data" / "graph.sqlite")

    with closing(open_laptop(tmp_path / "data")) as stores:
        assert content(stores) == before
        assert found(laptop(tmp_path / "data", stores)) == told
        assert {s.kind for s in told} == {"prose"}

        embedder = WordEmbedder()
        index = LexicalGraphIndex(stores, embedder=embedder, extractor=Kinds(), settings=Settings(data=tmp_path / "data"))
        assert index.repair() == []
        report = index.ingest([corpus])
        assert (report.documents_updated, embedder.embedded) == (2, 0)
        assert {s.text for s in found(index) if s.kind == "code"} == {"kiln --cone 6"}
        assert index.repair() == []
        assert index.ingest([corpus]).documents_unchanged == 2

"""The index of a corpus: made once, reused, gone on with, and never mixed with another."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lexigraph.evaluation.corpus import Passage
from lexigraph.evaluation.index import MARKER, corpus_index
from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion.lead import lead_subject
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from tests.models import SentenceExtractor, WordEmbedder
from tests.vector_dump import dump_vectors

TENANT = Tenant("default")
PASSAGES = [
    Passage("p-1", "Granite Cellar", "Granite Cellar is a database. Tove Lund built it."),
    Passage("p-2", "Tove Lund", "Tove Lund was born in Aalborg."),
    Passage("p-3", "", "A passage without a name. Aalborg is a town."),
]
WORDS = {"embedding_model": "words", "embedding_dimension": WordEmbedder.dimension}


class Breaking(WordEmbedder):
    """Fails after some texts, as a model does whose server goes away."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        if self.embedded + len(texts) > self.after:
            raise ModelUnavailable("the model went away")
        return super().embed_passages(texts)


class Doubtful(SentenceExtractor):
    """Gives nothing usable for chunks that hold a word."""

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        for chunk, found in zip(chunks, super().extract(chunks), strict=True):
            yield Extraction(failed="no statements") if "Aalborg" in chunk.text else found


class Other(SentenceExtractor):
    name = "sentences-2"


def opened(folder: Path, passages: Sequence[Passage] = PASSAGES, *, titles: bool = True, **given: Any) -> Any:
    models = {"embedder": WordEmbedder(), "extractor": SentenceExtractor()}
    models |= {name: given.pop(name) for name in tuple(given) if name in models}
    return corpus_index(folder, passages, Settings(**{**WORDS, **given}), titles=titles, **models)


def test_a_corpus_is_ingested_once_and_then_reused(tmp_path: Path) -> None:
    with opened(tmp_path / "index") as index:
        report = index.fill()
        assert (report.documents_new, index.complete) == (3, True)
        assert index.stores.graph.stats(TENANT)["sources"] == 3
    embedder, extractor = WordEmbedder(), SentenceExtractor()
    with opened(tmp_path / "index", embedder=embedder, extractor=extractor) as index:
        assert (index.complete, index.fill()) == (True, None)
        assert index.stores.graph.stats(TENANT)["sources"] == 3
    assert (embedder.embedded, extractor.extracted) == (0, 0)


def test_an_interrupted_ingest_goes_on_where_it_stopped(tmp_path: Path) -> None:
    breaking = Breaking(after=6)
    with opened(tmp_path, embedder=breaking, batch_documents=1) as index, pytest.raises(ModelUnavailable):
        index.fill()
    with opened(tmp_path, batch_documents=1) as index:
        report = index.fill()
        assert report.documents_unchanged + report.documents_new == 3
        assert report.documents_unchanged > 0
        assert report.documents_new > 0
        assert index.complete


def test_titles_are_in_text_and_links(tmp_path: Path) -> None:
    assert titled_by(tmp_path, titles=True) == 2
    assert indexed_texts(tmp_path)[0] == "Granite Cellar\nGranite Cellar is a database. Tove Lund built it."


def test_without_titles_passages_are_called_by_what_their_texts_begin_with(tmp_path: Path) -> None:
    assert titled_by(tmp_path, titles=False) == 2
    called = {p.id: lead_subject(p.text) for p in PASSAGES}
    assert sorted(indexed_texts(tmp_path)) == sorted(f"{called[p.id]}\n{p.text}".strip() for p in PASSAGES)


def titled_by(folder: Path, *, titles: bool) -> int:
    with opened(folder, titles=titles) as index:
        index.fill()
        sources = index.stores.graph.sources(TENANT, [r.source_id for r in index.stores.registry.documents(TENANT)])
        expected = {p.id: p.title if titles else lead_subject(p.text) for p in PASSAGES}
        assert {s.metadata["id"]: s.title for s in sources.values()} == expected
    with sqlite3.connect(folder / "graph.sqlite") as database:
        (count,) = database.execute("SELECT count(*) FROM about").fetchone()
    return int(count)


def indexed_texts(folder: Path) -> list[str]:
    with opened(folder, titles=json.loads((folder / MARKER).read_text())["fingerprint"]["titles"]) as index:
        return sorted((str(row[3]) for row in dump_vectors(index.stores.vectors, TENANT)["chunk"]), key=len, reverse=True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"passages": [*PASSAGES, Passage("p-4", "", "More.")]}, "other corpus"),
        ({"passages": [Passage("p-1", "Granite", PASSAGES[0].text), *PASSAGES[1:]]}, "other corpus"),
        ({"titles": False}, "titles"),
        ({"extractor": Other()}, "other extractor"),
        ({"chunk_tokens": 64}, "other chunks"),
        ({"tenant": "else"}, "other tenant"),
    ],
)
def test_the_index_of_something_else_is_left_alone_and_named(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with opened(tmp_path) as index:
        index.fill()
    before = (tmp_path / MARKER).read_text()
    with pytest.raises(InvalidInput, match=f"{said}.*: name a new folder"), opened(tmp_path, **changed):
        pass
    assert (tmp_path / MARKER).read_text() == before


def test_ids_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    ids = []
    for name in ("one", "two/three"):
        with opened(tmp_path / name) as index:
            index.fill()
            ids.append(sorted(r.source_id for r in index.stores.registry.documents(TENANT)))
            assert index.stores.registry.documents(TENANT)[0].uri == "corpus.jsonl#p-1"
    assert ids[0] == ids[1]


def test_the_order_of_passages_makes_no_other_corpus(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        index.fill()
    with opened(tmp_path, PASSAGES[::-1]) as index:
        assert index.complete


def test_a_folder_that_holds_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not an index of a corpus"), opened(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(InvalidInput, match="is not an index of a corpus"), opened(tmp_path / "letter.txt"):
        pass


def test_a_marker_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("{}")
    with pytest.raises(InvalidInput, match="cannot be read"), opened(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be written: not a directory"), opened(tmp_path / "file" / "index"):
        pass


def test_a_passage_that_cannot_be_taken_in_is_named(tmp_path: Path) -> None:
    passages = [*PASSAGES, Passage("p-4", "", "\x01")]
    with opened(tmp_path, passages) as index, pytest.raises(InvalidInput, match=r"1 passages .* line 4: contains no text"):
        index.fill()


def test_failed_extractions_leave_the_index_incomplete_so_that_the_next_run_tries_again(tmp_path: Path) -> None:
    with opened(tmp_path, extractor=Doubtful()) as index:
        assert index.fill().chunks_failed == 2
        assert not index.complete
    with opened(tmp_path) as index:
        assert index.fill().chunks_failed == 0
        assert index.complete


def test_stores_that_the_settings_name_are_not_touched_and_the_cache_is_used(tmp_path: Path) -> None:
    elsewhere = {"graph_store": "neptune-db://a", "vector_store": "aoss://b", "cache": f"sqlite:///{tmp_path / 'cache'}"}
    with opened(tmp_path / "one", **elsewhere) as index:
        assert index.fill().model_calls > 0
    with opened(tmp_path / "two", **elsewhere) as index:
        assert index.fill().model_calls == 0

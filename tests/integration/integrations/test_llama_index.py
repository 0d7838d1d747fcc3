"""Documents of LlamaIndex become documents of ours. Retrievers are tested in their own environment: `make frameworks`."""

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from lexigraph import LexicalGraphIndex
from lexigraph.integrations.llama_index import ingest
from lexigraph.settings import Settings
from tests.laptop import open_laptop
from tests.models import SentenceExtractor, WordEmbedder

pytestmark = pytest.mark.slow  # the import takes seconds


def test_documents_are_ingested_once_and_replaced_when_they_change(tmp_path: Path) -> None:
    documents = [Document(text="The Mill grinds rye.", doc_id="mill", metadata={"title": "Mill", "year": 1920, "x": [1]})]
    stores, settings = open_laptop(tmp_path / "data"), Settings(data=tmp_path / "data")
    with LexicalGraphIndex(stores, embedder=WordEmbedder(), extractor=SentenceExtractor(), settings=settings) as index:
        assert ingest(index, documents).documents_new == 1
        assert ingest(index, documents).documents_unchanged == 1
        (kept,) = index.documents()
        assert (kept.uri, kept.title, kept.metadata["year"]) == ("llama-index://mill", "Mill", 1920)
        documents[0].set_content("The Mill grinds wheat.")
        assert ingest(index, documents).documents_updated == 1
    stores.close()


def test_a_document_is_called_by_what_it_has_and_never_by_its_place_among_the_others(tmp_path: Path) -> None:
    documents = [
        Document(text="# Locks\n\nThe Lock opens at noon.", doc_id="lock"),
        Document(text="Ada Lovelace was a writer.", doc_id="ada"),
        Document(text="The Mill grinds rye.", doc_id="mill", metadata={"file_name": "mill.pdf"}),
        Document(text="", doc_id="nothing"),
    ]
    stores, settings = open_laptop(tmp_path / "data"), Settings(data=tmp_path / "data")
    with LexicalGraphIndex(stores, embedder=WordEmbedder(), extractor=SentenceExtractor(), settings=settings) as index:
        report = ingest(index, documents)
        assert [(f.uri, f.reason) for f in report.failures] == [("llama-index://nothing", "is empty")]
        assert {(d.title, d.metadata["file_name"]) for d in index.documents()} == {
            ("Locks", "lock"),
            ("Ada Lovelace", "ada"),
            ("mill.pdf", "mill.pdf"),
        }
    stores.close()

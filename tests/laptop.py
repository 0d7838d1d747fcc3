"""A whole laptop installation in a folder, with the light models of tests/models.py."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import (
    CacheFactory,
    Create,
    DocumentStoreFactory,
    GraphStoreFactory,
    RegistryFactory,
    VectorStoreFactory,
)
from lexigraph.storage.protocols import Stores
from tests.graph_dump import dump_graph
from tests.models import SentenceExtractor, WordEmbedder
from tests.vector_dump import dump_vectors

WORDS = EmbeddingModel("words", WordEmbedder.dimension)
CLOCK_QUESTION = "Who repairs the clock that Silverbirch keeps?"
CLOCK = {
    "Clock": "The clock strikes nine. The clock is of brass.",
    "Silverbirch": "Silverbirch keeps the clock. Silverbirch was written by Odile Ferrand.",
    "Odile Ferrand": "Odile Ferrand repairs bells.",
}


def open_laptop(folder: Path, *, create: Create = True) -> Stores:
    connection = f"sqlite:///{folder}"
    return Stores(
        GraphStoreFactory.for_graph_store(connection, create=create),
        VectorStoreFactory.for_vector_store(
            connection, embedding=EmbeddingModel("words", WordEmbedder.dimension), create=create
        ),
        DocumentStoreFactory.for_document_store(f"file:///{folder}/documents"),
        RegistryFactory.for_registry(connection, create=create),
        CacheFactory.for_cache(connection),
    )


def laptop(folder: Path, stores: Stores | None = None, **settings: Any) -> LexicalGraphIndex:
    return LexicalGraphIndex(
        stores or open_laptop(folder),
        embedder=WordEmbedder(),
        extractor=SentenceExtractor(),
        settings=Settings(data=folder, **settings),
    )


def write_pages(folder: Path, documents: Mapping[str, str]) -> Path:
    """Write each text below its title as a page of its own, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, text in documents.items():
        (folder / f"{title}.md").write_text(f"# {title}\n\n{text}", encoding="utf-8")
    return folder


@contextmanager
def laptop_with(folder: Path, documents: Mapping[str, str]) -> Iterator[Stores]:
    """Open stores that hold a page for each title and text."""
    opened = open_laptop(folder / "data")
    assert not laptop(folder / "data", opened).ingest([write_pages(folder / "corpus", documents)]).failures
    yield opened
    opened.close()


def content(stores: Stores, tenant: str = "default") -> dict[str, Any]:
    """All that a tenant has, in every store, in a form that depends on content only: no version, no time."""
    owner = Tenant(tenant)
    documents = stores.registry.documents(owner)
    return {
        "graph": dump_graph(stores.graph, owner),
        "vectors": {
            name: [tuple(v for v in row if not isinstance(v, int) or isinstance(v, bool)) for row in rows]
            for name, rows in dump_vectors(stores.vectors, owner).items()
        },
        "registry": [
            (r.source_id, r.uri, r.title, r.state, r.fingerprint, r.intended, dict(r.extractions)) for r in documents
        ],
        "texts": {
            source: [
                hashlib.sha256(stores.documents.get(owner, source, n)).hexdigest()
                for n in stores.documents.names(owner, source)
            ]
            for source in stores.documents.sources(owner)
        },
        "cache": stores.cache.stats(owner),
    }

"""How fast the build stage writes: everything but models, on a made-up corpus with realistic skew of degrees."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexigraph.evaluation.generated import DIMENSION, GeneratedCorpus, GeneratedDocument, WordVectors
from lexigraph.evaluation.memory import peak_resident_mb
from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion import versions
from lexigraph.ingestion.build import identify, yield_of
from lexigraph.ingestion.events import IngestReport
from lexigraph.ingestion.models import CachedModels
from lexigraph.model.batches import batched
from lexigraph.model.document import Block, ChunkText, LoadedDocument
from lexigraph.model.extraction import Extraction
from lexigraph.model.graph import Source
from lexigraph.model.ids import content_hash, source_id
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.common.no_cache import NoCache
from lexigraph.storage.factory import DocumentStoreFactory, GraphStoreFactory, RegistryFactory, VectorStoreFactory
from lexigraph.storage.protocols import Stores

TENANT = Tenant("bench")
_GROUP = 64  # documents written at once


@dataclass(frozen=True, slots=True)
class BuildFigures:
    """What a run measured; ``peak_mb`` is the resident memory of the process, ``disk_mb`` the size of the files."""

    statements: int
    facts: int
    entities: int
    documents: int
    seconds: float
    statements_per_second: float
    peak_mb: float
    disk_mb: float


class _NoExtractor:
    """Extractions are given; only a name is needed, for cache keys."""

    name = "given"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        return iter([Extraction() for _ in chunks])


class _Clocked(WordVectors):
    """The corpus's embedder, with the ``seconds`` it took."""

    seconds = 0.0

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        began = time.perf_counter()
        found = super().embed_passages(texts)
        self.seconds += time.perf_counter() - began
        return found


def measure(
    folder: Path, statements: int, *, seed: int = 1, progress: Callable[[int], None] = lambda _: None
) -> BuildFigures:
    """Write a made-up corpus of about ``statements`` statements with given embeddings into new stores below ``folder``.

    Timed: registry, texts, graph with all support edges, vectors, full text, publishing, collection and what is derived.
    Not timed: making the corpus and the vectors.
    """
    corpus, stores = GeneratedCorpus(statements, seed), open_folder(folder)
    seconds = write(corpus, stores, seed=seed, progress=progress)
    counts = stores.graph.stats(TENANT)
    stores.close()
    return BuildFigures(
        counts["statements"],
        counts["facts"],
        counts["entities"],
        len(corpus),
        round(seconds, 2),
        round(counts["statements"] / seconds, 1),
        peak_resident_mb(),
        round(size_of(folder) / 1e6, 1),
    )


def write(
    documents: Iterable[GeneratedDocument], stores: Stores, *, seed: int, progress: Callable[[int], None] = lambda _: None
) -> float:
    """Write made-up documents into stores and show them; return the seconds it took, without making them and their vectors.

    ``progress`` is told the statements so far.
    """
    embedder = _Clocked(seed)
    models = CachedModels(_NoExtractor(), embedder, stores.cache)
    report, seconds = IngestReport(), 0.0
    settling = versions.Settling(stores, TENANT)
    for group in batched(map(plan_of, documents), _GROUP):
        began, embedding = time.perf_counter(), embedder.seconds
        versions.write(group, stores, models, TENANT, report, lambda _: None)
        versions.show(versions.written(group), stores, TENANT)
        settling.when_due()
        seconds += time.perf_counter() - began - (embedder.seconds - embedding)
        progress(report.statements_created)
    began = time.perf_counter()
    versions.settle_entities(stores, TENANT)
    return seconds + time.perf_counter() - began


def open_folder(folder: Path) -> Stores:
    """Open the embedded stores below ``folder``, for the vectors of :class:`GeneratedCorpus`."""
    connection = f"sqlite:///{folder}"
    return Stores(
        GraphStoreFactory.for_graph_store(connection, create=True),
        VectorStoreFactory.for_vector_store(connection, embedding=EmbeddingModel("made", DIMENSION), create=True),
        DocumentStoreFactory.for_document_store(f"file:///{folder}/documents"),
        RegistryFactory.for_registry(connection),
        NoCache(),
    )


def size_of(folder: Path) -> int:
    """Return the bytes of all files below ``folder``."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def plan_of(made: GeneratedDocument) -> versions.Plan:
    """Return a made-up document as a version to be written."""
    uri = f"file:///bench/{made.number}.md"
    source = Source(source_id(TENANT, "default", uri), uri, "default", made.title, {"number": made.number})
    blocks = tuple(Block(c.start, c.end, c.headings) for c in made.chunks)
    document = LoadedDocument(uri, made.title, "\n\n".join(c.text for c in made.chunks), blocks, content_hash(uri))
    plan = versions.Plan(document, source, content_hash(source.id), _NoExtractor.name, None, [], [])
    for chunk, found in zip(identify(TENANT, source.id, made.chunks, {}), made.extractions, strict=True):
        plan.add(TENANT, chunk.yielding(TENANT, source.id, yield_of(found)), found)
    return plan

"""How fast the build stage writes: everything but models, on a made-up corpus with realistic skew of degrees."""

import random
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion import versions
from lexigraph.ingestion.build import IdentifiedChunk, chunk_graph, identify, yield_of
from lexigraph.ingestion.events import IngestReport
from lexigraph.ingestion.models import CachedModels
from lexigraph.model.document import ChunkText, LoadedDocument
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.graph import Source
from lexigraph.model.ids import content_hash, source_id
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.cache import NoCache
from lexigraph.storage.factory import DocumentStoreFactory, GraphStoreFactory, RegistryFactory, VectorStoreFactory
from lexigraph.storage.protocols import Stores

_STATEMENTS_A_CHUNK = 5
_CHUNKS_A_DOCUMENT = 4
_DIMENSION = 384
_TENANT = Tenant("bench")
_SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vo", "bel", "dru", "sen", "ory", "quin", "zar")
_WORDS = ("builds", "owns", "leads", "supplies", "visits", "repairs", "sells", "joins", "near", "under", "during", "with")


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


class _GivenVectors:
    """Embeddings given: a lookup in random unit vectors made beforehand."""

    label = f"given-{_DIMENSION}"
    dimension = _DIMENSION

    def __init__(self, seed: int) -> None:
        pool = np.random.default_rng(seed).standard_normal((4096, _DIMENSION)).astype(np.float32)
        self._pool: FloatArray = pool / np.linalg.norm(pool, axis=1, keepdims=True)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        chosen: FloatArray = self._pool[[hash(text) % len(self._pool) for text in texts]]
        return chosen

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return self.embed_passages(texts)


class _NoExtractor:
    """Extractions are given; only a name is needed, for cache keys."""

    name = "given"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        return iter([Extraction() for _ in chunks])


def _names(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(_SYLLABLES, k=3)).title() + f" {n}" for n in range(count)]


def _plans(statements: int, seed: int) -> list[versions.Plan]:
    """Make documents with extractions: entities drawn with a Zipf-like skew, so that a few are hubs."""
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    names = _names(rng, max(50, statements // 5))
    weights = list(np.cumsum(1 / np.arange(1, len(names) + 1) ** 0.8))
    plans = []
    for number in range(-(-statements // (_STATEMENTS_A_CHUNK * _CHUNKS_A_DOCUMENT))):
        title = names[number % len(names)]
        uri = f"file:///bench/{number}.md"
        source = Source(source_id(_TENANT, "default", uri), uri, "default", title, {"number": number})
        chunks, extractions, at = [], [], 0
        for seq in range(_CHUNKS_A_DOCUMENT):
            said = []
            for place in range(_STATEMENTS_A_CHUNK):
                a, b, c = rng.choices(names, cum_weights=weights, k=3)
                verb = rng.choice(_WORDS)
                text = f"{a} {verb} {b} {' '.join(rng.choices(_WORDS, k=8))} {c} in case {number}.{seq}.{place}."
                said.append(
                    ExtractedStatement(
                        text,
                        0,
                        len(text),
                        (),
                        tuple(ExtractedEntity(n, "Name") for n in dict.fromkeys((a, b, c))),
                        (ExtractedFact(a, verb, b), ExtractedFact(a, "is in", f"case {number}")),
                    )
                )
            text = " ".join(s.value for s in said)
            chunks.append(ChunkText(seq, title, (f"Part {seq}",), text, at, at + len(text)))
            extractions.append(Extraction((ExtractedTopic(f"Part {seq}", tuple(said)),)))
            at += len(text) + 2
        document = LoadedDocument(uri, title, "\n\n".join(c.text for c in chunks), (), content_hash(uri))
        plans.append(_plan(document, source, chunks, extractions))
    return plans


def _plan(document: LoadedDocument, source: Source, chunks: list[ChunkText], found: list[Extraction]) -> versions.Plan:
    known: list[IdentifiedChunk] = [
        c.yielding(_TENANT, source.id, yield_of(e))
        for c, e in zip(identify(_TENANT, source.id, chunks, {}), found, strict=True)
    ]
    graphs = [chunk_graph(_TENANT, source.id, c, e) for c, e in zip(known, found, strict=True)]
    return versions.Plan(document, source, content_hash(source.id), _NoExtractor.name, None, known, known, graphs)


def measure(
    folder: Path, statements: int, *, seed: int = 1, progress: Callable[[int], None] = lambda _: None
) -> BuildFigures:
    """Write about ``statements`` pre-extracted statements with given embeddings into new stores below ``folder``.

    Timed: registry, texts, graph with all support edges, vectors, full text, publishing, collection and what is derived.
    Not timed: making the corpus and the vectors.
    """
    connection = f"sqlite:///{folder}"
    stores = Stores(
        GraphStoreFactory.for_graph_store(connection),
        VectorStoreFactory.for_vector_store(connection, embedding=EmbeddingModel("given", _DIMENSION)),
        DocumentStoreFactory.for_document_store(f"file:///{folder}/documents"),
        RegistryFactory.for_registry(connection),
        NoCache(),
    )
    models = CachedModels(_NoExtractor(), _GivenVectors(seed), stores.cache)
    plans, report, seconds = _plans(statements, seed), IngestReport(), 0.0
    settling = versions.Settling(stores, _TENANT)
    for at in range(0, len(plans), 64):
        group = plans[at : at + 64]
        began = time.perf_counter()
        versions.write(group, stores, models, _TENANT, report, lambda _: None, fresh=False)
        versions.finish(group, stores, _TENANT)
        settling.when_due()
        if at + 64 >= len(plans):
            versions.settle_entities(stores, _TENANT)
        seconds += time.perf_counter() - began
        progress(report.statements_created)
    counts = stores.graph.stats(_TENANT)
    stores.close()
    return BuildFigures(
        counts["statements"],
        counts["facts"],
        counts["entities"],
        len(plans),
        round(seconds, 2),
        round(counts["statements"] / seconds, 1),
        round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2), 1),
        round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6, 1),
    )

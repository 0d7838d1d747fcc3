"""The documents of probes: two, of a tenant of their own, as the pipeline would make graph and records of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexigraph.ingestion.build import IdentifiedChunk, chunk_graph, identify, records, yield_of
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.graph import ChunkGraph, Source
from lexigraph.model.ids import entity_id, source_id
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import IndexName, SourceVersion, VectorRecord

TENANT = Tenant("lexigraph-probe")
NAMESPACE, LAST = "probe", "Bo Larsen"
_ALIAS = ("HT", "Heron Team")
# title -> topics -> (statement, names in it, fact)
_PAGES: Mapping[str, Mapping[str, Sequence[tuple[str, tuple[str, ...], tuple[str, str, str]]]]] = {
    "Tidewater": {
        "ownership": [
            (
                "Tidewater is owned by the Heron Team.",
                ("Tidewater", "Heron Team"),
                ("Tidewater", "owned by", "Heron Team"),
            ),
            ("Heron Team is also called HT.", ("Heron Team", "HT"), ("Heron Team", "called", "HT")),
        ],
        "operation": [
            ("Tidewater runs on Neptune.", ("Tidewater", "Neptune"), ("Tidewater", "runs on", "Neptune")),
        ],
    },
    "Heron Team": {
        "people": [
            (
                "The Heron Team is led by Ines Calloway.",
                ("Heron Team", "Ines Calloway"),
                ("Heron Team", "led by", "Ines Calloway"),
            ),
            (
                f"{LAST} of the Heron Team keeps Neptune running.",
                (LAST, "Heron Team", "Neptune"),
                (LAST, "keeps", "Neptune"),
            ),
        ],
    },
}


@dataclass(frozen=True)
class Sample:
    """What is written: versions of the sources, what an observer says of two chunks, and records of the indexes."""

    versions: tuple[SourceVersion, ...]
    observations: tuple[PairObservation, ...]
    records: dict[IndexName, list[VectorRecord]]

    @property
    def sources(self) -> list[Source]:
        """The sources."""
        return [version.source for version in self.versions]

    @property
    def chunks(self) -> list[str]:
        """The ids of the chunks as they stand."""
        return [id_ for version in self.versions for id_ in version.placements]

    @property
    def statements(self) -> list[str]:
        """The ids of the statements as they stand."""
        return [s.id for version in self.versions for chunk in version.chunks for s in chunk.statements]


def sample(dimension: int) -> Sample:
    """Return the documents, with vectors of so many numbers that nobody's model made."""
    versions, found = [], dict[IndexName, list[VectorRecord]]()
    for title, topics in _PAGES.items():
        uri = f"probe:///{title}"
        source = Source(source_id(TENANT, NAMESPACE, uri), uri, NAMESPACE, title, {"probe": "first"}, 1)
        parts = list(_parts(source, title, topics))
        versions.append(SourceVersion(source, {p.id: p.placement for p, _ in parts}, tuple(graph for _, graph in parts)))
        for part, graph in parts:
            for index, rows in records(source.id, part, graph).items():
                found.setdefault(index, []).extend(rows)
    first, second, *_ = versions[0].placements
    pair = PairObservation(first, second, "probe", "probe", (ChunkRelation(first, second, "SUPPORTS", 0.9, "Tidewater"),))
    return Sample(tuple(versions), (pair,), {index: _with_vectors(index, rows, dimension) for index, rows in found.items()})


def ids(*names: str) -> list[str]:
    """Return the ids of entities."""
    return [entity_id(TENANT, name) for name in names]


def unit_vectors(count: int, dimension: int) -> Any:
    """Return rows of length 1, the same each time."""
    rows = np.random.default_rng(18).standard_normal((count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _with_vectors(index: IndexName, rows: Sequence[VectorRecord], dimension: int) -> list[VectorRecord]:
    if index not in ("chunk", "statement", "topic"):
        return list(rows)
    vectors = unit_vectors(len(rows), dimension)
    return [VectorRecord(r.id, r.text, r.source_id, r.chunk_id, v) for r, v in zip(rows, vectors, strict=True)]


def _parts(source: Source, title: str, topics: Mapping[str, Any]) -> Sequence[tuple[IdentifiedChunk, ChunkGraph]]:
    texts, extractions, at = [], [], 0
    for seq, (topic, said) in enumerate(topics.items()):
        text = " ".join(statement for statement, _, _ in said)
        texts.append(ChunkText(seq, title, (topic,), text, at, at + len(text)))
        aliases = (_ALIAS,) if any(_ALIAS[0] in names for _, names, _ in said) else ()
        extractions.append(Extraction((ExtractedTopic(topic, tuple(_statements(said))),), aliases))
        at += len(text) + 2
    parts = [
        part.yielding(TENANT, source.id, yield_of(extraction))
        for part, extraction in zip(identify(TENANT, source.id, texts, {}), extractions, strict=True)
    ]
    return [(p, chunk_graph(TENANT, source.id, p, e)) for p, e in zip(parts, extractions, strict=True)]


def _statements(said: Sequence[tuple[str, tuple[str, ...], tuple[str, str, str]]]) -> Sequence[ExtractedStatement]:
    found, at = [], 0
    for text, names, fact in said:
        entities = tuple(ExtractedEntity(name) for name in names)
        found.append(ExtractedStatement(text, at, at + len(text), (), entities, (ExtractedFact(*fact),)))
        at += len(text) + 1
    return found

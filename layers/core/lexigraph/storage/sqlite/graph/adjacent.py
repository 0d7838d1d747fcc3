"""Chunks beside chunks in the embedded graph: in reading order, under the same headings, by entity and by topic.

The chunks of every source concerned are read once, in reading order: from them follow neighbours, headings and where each
chunk stands. A handful of queries whatever their number.
"""

import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Placement
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Adjacency, ChunkEdge, ChunkPlace
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, keys_of, public, raw, select
from lexigraph.storage.sqlite.graph.inspect import SqliteInspect
from lexigraph.storage.sqlite.graph.read import seldom

SHARED = 100  # mentions of an entity beyond which chunks are not joined by it

# One row a live chunk of the sources, in reading order.
_CHUNKS = """
SELECT p.chunk, c.id, p.source, s.id, p.seq, p."start", p."end", p.role, p.parent
FROM placed p CROSS JOIN chunk c ON c.k = p.chunk CROSS JOIN source s ON s.k = p.source WHERE p.source IN ({}) AND
"""


@dataclass(frozen=True, slots=True)
class _Chunk:
    key: int
    id: str
    source: int
    source_id: str
    placement: Placement

    @property
    def section(self) -> tuple[int, str]:
        return self.source, self.placement.parent


class _Shared(NamedTuple):
    """What two chunks share: how rare the entities are (summed), how many chunks the rarest is in, the other's source."""

    weight: float
    among: int
    source: int


_Chunks = dict[int, _Chunk]  # by key
_Shelves = Mapping[tuple[int, str | int], Sequence[_Chunk]]  # what stands together, in reading order


class SqliteAdjacent(SqliteInspect):
    """What stands beside chunks."""

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        with self._gate(tenant, filters) as gate:
            asked = keys_of(gate.connection, "chunk", map(raw, chunk_ids)).values()
            homes = f"""SELECT p.chunk, p.source FROM placed p CROSS JOIN source s ON s.k = p.source
                WHERE p.chunk IN ({{}}) AND {gate.sql}"""
            home = dict(gate.select(homes, asked))
            chunks = _chunks_of(gate, set(home.values()))
            seeds = sorted((chunks[k] for k in home), key=lambda chunk: chunk.id)
            edges: dict[ChunkEdge, None] = {}
            if per_kind:
                sharing = _by_entity(gate, home, per_kind)
                chunks |= _chunks_of(gate, {shared.source for shared in sharing.values()} - set(home.values()))
                edges = dict.fromkeys(_edges(gate.connection, chunks, seeds, sharing, per_kind))
            wanted = {s.id for s in seeds} | {e.to_chunk for e in edges}
            first = {section: shelf[0].placement.seq for section, shelf in _sections(chunks).items()}
            places = {
                c.id: ChunkPlace(c.id, c.source_id, c.placement, first[c.section]) for c in chunks.values() if c.id in wanted
            }
            return Adjacency(
                places=places,
                sources=self.sources(tenant, sorted({p.source_id for p in places.values()})),
                edges=tuple(edges),
            )


def _chunks_of(gate: Gate, keys: Iterable[int]) -> _Chunks:
    rows = gate.select(f"{_CHUNKS} {gate.sql} ORDER BY p.source, p.seq", sorted(keys))
    return {k: _Chunk(k, public("chunk", i), s, public("source", sid), Placement(*at)) for k, i, s, sid, *at in rows}


def _sections(chunks: _Chunks) -> _Shelves:
    shelves: dict[tuple[int, str | int], list[_Chunk]] = defaultdict(list)
    for chunk in chunks.values():
        shelves[chunk.section].append(chunk)
    return shelves


def _edges(
    connection: sqlite3.Connection,
    chunks: _Chunks,
    seeds: Sequence[_Chunk],
    sharing: Mapping[tuple[int, int], _Shared],
    most: int,
) -> Iterable[ChunkEdge]:
    """Yield the edges out of the seeds, kind by kind, the nearest first."""
    at = {(c.source, c.placement.seq): c for c in chunks.values()}
    for seed in seeds:
        for step, kind in ((1, "next"), (-1, "previous")):
            if beside := at.get((seed.source, seed.placement.seq + step)):
                yield ChunkEdge(seed.id, beside.id, kind)
    sections = _sections(chunks)
    for seed in seeds:
        shelf = sections[seed.section]
        yield from (ChunkEdge(seed.id, c.id, "parent", len(shelf)) for c in _nearest(seed, shelf, most))
    shared: dict[int, list[tuple[float, str, int]]] = defaultdict(list)
    for (seed_key, other), (weight, among, _) in sharing.items():
        shared[seed_key].append((-weight, chunks[other].id, among))
    for seed in seeds:
        best = sorted(shared[seed.key])[:most]
        yield from (ChunkEdge(seed.id, other_id, "entity", among) for _, other_id, among in best)
    for seed, shelf in _by_topic(connection, chunks, seeds):
        yield from (ChunkEdge(seed.id, c.id, "topic", len(shelf)) for c in _nearest(seed, shelf, most))


def _nearest(seed: _Chunk, shelf: Sequence[_Chunk], most: int) -> list[_Chunk]:
    """Return the ``most`` chunks of a shelf that stand nearest to the seed, itself left out."""
    seq = seed.placement.seq
    place = bisect_left(shelf, seq, key=lambda c: c.placement.seq)
    near = [c for c in shelf[max(0, place - most) : place + most + 1] if c.key != seed.key]
    return sorted(near, key=lambda c: (abs(c.placement.seq - seq), c.placement.seq))[:most]


def _by_topic(
    connection: sqlite3.Connection, chunks: _Chunks, seeds: Sequence[_Chunk]
) -> Iterable[tuple[_Chunk, Sequence[_Chunk]]]:
    """Yield each seed with all chunks that have a topic in common with it, in reading order."""
    pairs = "SELECT chunk, topic FROM topic_in WHERE {} IN ({{}}) ORDER BY chunk, topic"
    topics: dict[int, list[int]] = defaultdict(list)
    for chunk, topic in select(connection, pairs.format("chunk"), [s.key for s in seeds]):
        topics[chunk].append(topic)
    held: dict[int, list[_Chunk]] = defaultdict(list)
    for chunk, topic in select(connection, pairs.format("topic"), sorted({t for of in topics.values() for t in of})):
        if chunk in chunks:  # others are of a version that is not shown
            held[topic].append(chunks[chunk])
    for seed in seeds:
        together = {c.key: c for topic in topics[seed.key] for c in held[topic]}
        yield seed, sorted(together.values(), key=lambda c: c.placement.seq)


def _by_entity(gate: Gate, seeds: Iterable[int], most: int) -> dict[tuple[int, int], _Shared]:
    """Return, by (seed, chunk), what the two have in common by the entities that both mention.

    Of each seed the ``most`` best and whatever ties with the last of them: ties are settled by id.
    """
    naming: dict[int, list[int]] = defaultdict(list)
    for chunk, entity in select(
        gate.connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", sorted(seeds)
    ):
        naming[entity].append(chunk)
    query = f"SELECT DISTINCT x.entity, x.chunk, p.source FROM mentions x {PLACED} WHERE x.entity IN ({{}}) AND {gate.sql}"
    mentioned: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for entity, chunk, source in gate.select(query, sorted(seldom(gate.connection, "mentions", naming, SHARED))):
        mentioned[entity].append((chunk, source))
    weights: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    rarest: dict[tuple[int, int], int] = {}
    home: dict[int, int] = {}
    for entity in sorted(mentioned, key=lambda e: (len(mentioned[e]), e)):
        for chunk, source in mentioned[entity]:
            home[chunk] = source
            for seed in naming[entity]:
                if seed != chunk:
                    weights[seed][chunk] += 1.0 / len(mentioned[entity])
                    rarest.setdefault((seed, chunk), len(mentioned[entity]))
    kept: dict[tuple[int, int], _Shared] = {}
    for seed, of in weights.items():
        rounded = {chunk: round(weight, 9) for chunk, weight in of.items()}
        edge = sorted(rounded.values(), reverse=True)[min(most, len(of)) - 1]
        kept.update({(seed, c): _Shared(w, rarest[seed, c], home[c]) for c, w in rounded.items() if w >= edge})
    return kept

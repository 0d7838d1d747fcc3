"""Reading topics of the embedded graph: their statements, and the topics beside them."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from lexigraph.storage.protocols import EvidenceRequest
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, Pair, keys_of, raw, select

CHUNKS = 1_000  # of one topic that are looked at, in reading order
BESIDE = 20  # topics next to one topic at most, the nearest first; and topics that share entities, most of them first
SHARED = 100  # mentions of an entity beyond which topics are not joined by it


def of_topics(gate: Gate, request: EvidenceRequest, entities: Sequence[int]) -> set[Pair]:
    """Return (chunk, statement) of the topics asked for and, as far as the request reaches, of those beside them."""
    topics = set(keys_of(gate.connection, "topic", (raw(t) for t in request.topics)).values())
    if not topics:
        return set()
    pairs = _statements(gate, topics, request.per_topic, entities)
    beside: set[int] = set()
    if request.topic_reach:
        beside |= _next_to(gate, topics, request.topic_reach)
    if request.topic_links:
        beside |= _sharing(gate, topics, pairs, request.topic_links)
    return pairs | _statements(gate, beside, request.per_topic, entities)


def _statements(gate: Gate, topics: Iterable[int], most: int, entities: Sequence[int]) -> set[Pair]:
    """Return the first ``most`` statements of each topic: those that name most of the entities, then as the source reads."""
    places = f"""SELECT topic, chunk, seq FROM (
        SELECT x.topic, x.chunk, p.seq, row_number() OVER (PARTITION BY x.topic ORDER BY p.seq, x.chunk) AS at
        FROM topic_in x {PLACED} WHERE x.topic IN ({{}}) AND {gate.sql}) WHERE at <= {CHUNKS}"""
    seq = {(chunk, topic): n for topic, chunk, n in gate.select(places, sorted(topics))}
    said = "SELECT x.chunk, t.topic, x.statement, x.position FROM said_in x JOIN statement t ON t.k = x.statement"
    found: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    for chunk, topic, statement, position in select(gate.connection, f"{said} WHERE x.chunk IN ({{}})", {c for c, _ in seq}):
        if (chunk, topic) in seq:
            found[topic].append((seq[chunk, topic], position, statement, chunk))
    naming = _naming(gate.connection, {c for c, _ in seq}, set(entities))
    pairs: set[Pair] = set()
    for rows in found.values():
        ordered = sorted(rows, key=lambda row: (-naming.get((row[3], row[2]), 0), *row))
        first = {statement: (chunk, statement) for _, _, statement, chunk in reversed(ordered)}
        kept = dict.fromkeys(statement for _, _, statement, _ in ordered)
        pairs.update(first[statement] for statement in list(kept)[:most])
    return pairs


def _naming(connection: sqlite3.Connection, chunks: set[int], entities: set[int]) -> dict[Pair, int]:
    """Return how many of the entities each statement of the chunks names."""
    named: dict[Pair, int] = defaultdict(int)
    if entities:
        for c, s, e in select(connection, "SELECT chunk, statement, entity FROM mentions WHERE chunk IN ({})", chunks):
            named[c, s] += e in entities
    return named


def _next_to(gate: Gate, topics: set[int], reach: int) -> set[int]:
    """Return the topics of the chunks up to ``reach`` before and after those of the topics, and of these."""
    query = f"""
        SELECT a.topic, b.topic, min(abs(p.seq - o.seq)), min(p.seq), n.id FROM topic_in a
        CROSS JOIN placed o ON o.chunk = a.chunk
        CROSS JOIN placed p ON p.source = o.source AND p.seq BETWEEN o.seq - {int(reach)} AND o.seq + {int(reach)}
        CROSS JOIN source s ON s.k = p.source CROSS JOIN topic_in b ON b.chunk = p.chunk
        JOIN topic n ON n.k = b.topic
        WHERE a.topic IN ({{}}) AND o.since <= s.live AND (o.until IS NULL OR o.until > s.live) AND {gate.sql}
        GROUP BY a.topic, b.topic ORDER BY 3, 4, 5
    """
    near: dict[int, list[int]] = defaultdict(list)
    for topic, other, *_ in gate.select(query, sorted(topics)):
        if other not in topics:
            near[topic].append(other)
    return {other for found in near.values() for other in found[:BESIDE]}


def _sharing(gate: Gate, topics: set[int], pairs: set[Pair], most: int) -> set[int]:
    """Return topics that name entities of the statements, too: of those entities that at most ``most`` other topics name."""
    named = select(
        gate.connection, "SELECT chunk, statement, entity FROM mentions WHERE chunk IN ({})", {c for c, _ in pairs}
    )
    entities = {e for c, s, e in named if (c, s) in pairs}
    counts = "SELECT entity, count(*) FROM mentions WHERE entity IN ({}) GROUP BY entity"
    rare = {e for e, n in select(gate.connection, counts, sorted(entities)) if n <= SHARED}
    query = f"""SELECT DISTINCT x.entity, t.topic, n.id FROM mentions x {PLACED} JOIN statement t ON t.k = x.statement
        JOIN topic n ON n.k = t.topic WHERE x.entity IN ({{}}) AND {gate.sql}"""
    sharing: dict[int, set[tuple[bytes, int]]] = defaultdict(set)
    for entity, topic, id_ in gate.select(query, sorted(rare)):
        if topic not in topics:
            sharing[entity].add((id_, topic))
    shared = Counter(topic for found in sharing.values() if len(found) <= most for topic in found)
    ranked = sorted(shared, key=lambda topic: (-shared[topic], topic))
    return {topic for _, topic in ranked[:BESIDE]}

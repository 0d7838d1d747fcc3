"""How chunks come to be related: by a language model in the course of an ingest, or afterwards for new chunks alone.

What chunks share is not stored: it is derived when asked (``GraphStore.related``). Which pairs were asked about is noted
in the graph, so that an interrupted run goes on where it stopped, and a pair that failed is asked about again.
"""

import logging
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion.events import Event, IngestReport, Listener, end, most_frequent, recording
from lexigraph.ingestion.extract.relations import Pair, RelationExtractor
from lexigraph.ingestion.files import read_text
from lexigraph.ingestion.versions import Plan
from lexigraph.model.errors import Conflict, InvalidInput, NotFound
from lexigraph.model.graph import Placement
from lexigraph.model.ids import number_of
from lexigraph.model.relations import PairObservation, count_together
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import DocumentRecord, Stores

logger = logging.getLogger(__name__)
MODE = "relations_incremental"
NO_MODEL = "relating chunks needs a language model: set LEXIGRAPH_LLM"
SWITCHED_OFF = "relations are disabled: set LEXIGRAPH_RELATIONS=true"
_PLACE = re.compile(r"chunk_(\d+)$")


def relation_extractor(settings: Settings, llm: LanguageModel | None) -> RelationExtractor | None:
    """Return the extractor that the settings ask for; None without a model, or when they ask for none."""
    if llm is None or not settings.relations:
        return None
    return RelationExtractor(
        llm,
        truncate=settings.relation_truncate,
        temperature=settings.relation_temperature,
        concurrency=settings.extract_concurrency,
    )


def made_with(settings: Settings, extractor: RelationExtractor | None) -> tuple[str, ...]:
    """Return what relations in a document depend on: with something else they are looked at again."""
    if extractor is None:
        return ()
    return extractor.observer, extractor.how, str(settings.relation_window)


def window_pairs(chunks: Sequence[tuple[str, str, int]], window: int, title: str = "") -> list[Pair]:
    """Return the pairs of chunks (id, text, seq) whose places are at most ``window`` apart."""
    ordered = sorted(chunks, key=lambda c: c[2])
    return [
        Pair(a[0], b[0], a[1], b[1], b[2] - a[2], title)
        for at, a in enumerate(ordered)
        for b in ordered[at + 1 : at + 1 + window]
        if b[2] - a[2] <= window
    ]


# ---------------------------------------------------------------- in the course of an ingest


def relate_plans(
    plans: Sequence[Plan],
    stores: Stores,
    tenant: Tenant,
    extractor: RelationExtractor | None,
    settings: Settings,
    report: IngestReport,
    tell: Listener,
    *,
    again: bool,
) -> None:
    """Relate the neighbouring chunks of versions that were just written; ``again`` also those that were asked about before.

    A plan notes its pairs that failed, so that the next run looks at the document again.
    """
    tell(Event("relates_to", {"chunks": sum(len(p.new) for p in plans)}))
    if extractor is None:
        why = NO_MODEL if settings.relations else SWITCHED_OFF
        tell(Event("relation_start", {"pairs": 0, "reason": why}))
        tell(Event("relation_extraction_done", {"created": 0, "failed": 0, "pairs": 0, "reason": why}))
        return
    pairs = {
        (pair.first, pair.second): (pair, p)
        for p in plans
        for pair in window_pairs(
            [(c.id, c.chunk.text, c.chunk.seq) for c in p.chunks], settings.relation_window, p.source.title
        )
    }
    firsts = list({first for first, _ in pairs})
    known = {} if again else stores.graph.observed(tenant, firsts, extractor.observer, extractor.how)
    todo = {ends: found for ends, found in pairs.items() if ends not in known}
    tell(Event("relation_start", {"pairs": len(todo), "window": settings.relation_window}))
    created = failed = 0
    for done, observation in enumerate(extractor.observe([pair for pair, _ in todo.values()]), 1):
        made = stores.graph.relate(tenant, [observation])[0]
        created += made
        _log(observation, made)
        if observation.failed:
            failed += 1
            _note_failed(observation, todo[observation.first, observation.second][1], report)
        tell(Event("relation_extraction", {}, done, len(todo)))
    report.llm_rel_edges += created
    reasons = {"reasons": most_frequent(report.pair_reasons)} if failed else {}
    tell(Event("relation_extraction_done", {"created": created, "failed": failed, "pairs": len(todo), **reasons}))


def _note_failed(observation: PairObservation, p: Plan, report: IngestReport) -> None:
    """Let the next run look at the document again, and the report say which chunks could not be related, and why."""
    p.failed_pairs += 1
    seq = {c.id: c.chunk.seq for c in p.chunks}
    ends = " and ".join(f"chunk_{seq[c]}" for c in (observation.first, observation.second))
    report.pair_failed(p.source.uri, ends, observation.failed)


class Together:
    """Counts the pairs of entities that the new chunks of a run name together in ``least`` chunks or more (E-09)."""

    def __init__(self, least: int, min_name: int) -> None:
        self._least, self._min_name = least, min_name
        self._chunk, self._entity = array("q"), array("q")
        self._chunks = 0

    def add(self, plans: Iterable[Plan]) -> None:
        """Count the chunks that the plans add to what readers see."""
        for graph in (g for p in plans for c, g in zip(p.new, p.graphs, strict=True) if c.id not in p.live):
            named = sorted({number_of(m.entity_id) for m in graph.mentions if len(m.form) >= self._min_name})
            self._chunks += 1
            self._chunk.extend([self._chunks] * len(named))
            self._entity.extend(named)

    def pairs(self) -> int:
        """Return the number of pairs."""
        return count_together(self._chunk, np.unique(self._entity, return_inverse=True)[1], self._least)


# ---------------------------------------------------------------- new chunks alone


@dataclass(frozen=True, slots=True)
class NewChunks:
    """Which chunks of a document are new, and how to relate them to others (E-21 to E-25).

    Set ``new_after`` to the last old chunk, by id or by a name ending in ``chunk_`` and its number; or set ``detect_after``
    and ``new_count``, the number of new chunks at the end. Values that are None default to the settings.
    """

    new_after: str | None = None
    detect_after: bool = False
    new_count: int | None = None
    window: int | None = None
    truncate: int | None = None
    temperature: float | None = None

    def checked(self, settings: Settings) -> "NewChunks":
        """Return this with the settings' values for what is None. Raise ``InvalidInput`` for a value that is not allowed."""
        if (self.new_after is None) == (not self.detect_after):
            raise InvalidInput("pass either new_after (the last old chunk) or detect_after with new_count")
        if self.detect_after and (not isinstance(self.new_count, int) or self.new_count < 1):
            raise InvalidInput(f"new_count must be a whole number of at least 1, got {self.new_count!r}")
        if self.new_count is not None and not self.detect_after:
            raise InvalidInput("new_count needs detect_after: omit it or set detect_after")
        names = ("window", "truncate", "temperature")
        filled = replace(self, **{n: getattr(settings, f"relation_{n}") for n in names if getattr(self, n) is None})
        for name, low, high in (("window", 1, 10), ("truncate", 50, 10_000), ("temperature", 0.0, 2.0)):
            value = getattr(filled, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                raise InvalidInput(f"{name} must be between {low:,} and {high:,}, got {value!r}")
        return filled

    def split(self, chunks: Mapping[str, Placement]) -> tuple[list[str], list[str]]:
        """Return the old and the new chunks in reading order. Raise ``InvalidInput`` when there is no such boundary."""
        order = sorted(chunks, key=lambda c: (chunks[c].seq, c))
        if self.new_after is None:
            new = self.new_count or 0
            if new >= len(order):
                raise InvalidInput(f"new_count must be less than the document's {len(order):,} chunks, got {new:,}")
            return order[:-new], order[-new:]
        named = _PLACE.search(self.new_after)
        known = chunks[self.new_after].seq if self.new_after in chunks else int(named[1]) if named else None
        if known is None or known >= len(order):
            raise InvalidInput(
                f"new_after {self.new_after[:80]!r} is not a chunk of this document: pass a chunk id, or chunk_0 to "
                f"chunk_{len(order) - 1}"
            )
        old = [c for c in order if chunks[c].seq <= known]
        return old, order[len(old) :]


def for_new_chunks(settings: Settings, llm: LanguageModel | None, what: NewChunks) -> RelationExtractor:
    """Return the extractor for checked :class:`NewChunks`. Raise ``InvalidInput`` without a model."""
    if llm is None:
        raise InvalidInput(NO_MODEL)
    return RelationExtractor(
        llm,
        truncate=what.truncate or settings.relation_truncate,
        temperature=what.temperature or 0.0,
        concurrency=settings.extract_concurrency,
    )


def relate_document(
    stores: Stores,
    tenant: Tenant,
    record: DocumentRecord,
    extractor: RelationExtractor,
    what: NewChunks,
    job_id: str,
    on_event: Listener = lambda _: None,
) -> dict[str, Any]:
    """Relate the new chunks of a document to each other and to the last old ones; return the result (E-27), end the job.

    Nothing is deleted; a relation of the same ends and type is passed over; a pair asked about before in the same way is
    not asked about again (E-28 to E-30). Whether a failure ends the job is the caller's to say: somebody may try again.
    """
    tell = recording(stores.registry, tenant, job_id, on_event)
    with stores.registry.lease(tenant, [record.source_id]) as mine:
        if not mine:
            raise Conflict(f"{record.source_id}: another process is working on this document; try again later")
        now = stores.registry.document(tenant, record.source_id)  # it may have changed before the lease was taken
        if now is None:
            raise NotFound("the document no longer exists: ingest it again")
        result = _relate_new(stores, tenant, now, extractor, what, tell)
    end(stores.registry, tenant, job_id, result, tell)
    return result


def _relate_new(
    stores: Stores,
    tenant: Tenant,
    record: DocumentRecord,
    extractor: RelationExtractor,
    what: NewChunks,
    tell: Listener,
) -> dict[str, Any]:
    places = stores.graph.chunk_ids(tenant, record.source_id)
    old, new = what.split(places)
    window = what.window or 1
    text = read_text(stores, tenant, record)
    chunk = {c: (c, text[p.start : p.end], p.seq) for c, p in places.items()}
    pairs = [
        Pair(a, b, chunk[a][1], chunk[b][1], places[b].seq - places[a].seq, record.title)
        for a in old[-window:]
        for b in new[:window]
    ]
    pairs += window_pairs([chunk[c] for c in new], window, record.title)
    counts = {"old": len(old), "new": len(new), "pairs": len(pairs)}
    tell(Event("relation_incremental_start", {**counts, "window": window}))
    known = stores.graph.observed(tenant, [p.first for p in pairs], extractor.observer, extractor.how)
    done = [known[ends] for p in pairs if (ends := (p.first, p.second)) in known]
    so_far = {"processed": len(done), "total": len(pairs), "created": 0, "skipped": sum(done)}
    tell(_progress(so_far))
    for observation in extractor.observe([p for p in pairs if (p.first, p.second) not in known]):
        created, passed_over = stores.graph.relate(tenant, [observation], keep=True)
        _log(observation, created)
        so_far["processed"] += 1
        so_far["created"] += created
        so_far["skipped"] += passed_over
        if observation.failed:
            pair = "::".join(f"chunk_{places[c].seq}" for c in (observation.first, observation.second))
            tell(Event("relation_incremental_warn", {"pair": pair, "error": observation.failed}))
        tell(_progress(so_far))
    made = {"created": so_far["created"], "skipped": so_far["skipped"]}
    tell(Event("relation_incremental_done", {**made, **counts}))
    if made["created"]:
        stores.registry.save(tenant, [record])  # what was answered before may be answered better now
    return {"mode": MODE, **made, **counts}


def _log(observation: PairObservation, created: int) -> None:
    # their types and evidence are words of the model, perhaps those of a document
    said = observation.failed or f"{len(observation.relations)} relations"
    logger.debug("%s and %s: %s, %d of them new", observation.first, observation.second, said, created)


def _progress(so_far: Mapping[str, int]) -> Event:
    return Event("relation_incremental_progress", dict(so_far), so_far["processed"], so_far["total"])

"""Progress events and reports of an ingest."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from threading import RLock
from typing import Any

from lexigraph.model.errors import Cancelled, InvalidInput
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobStatus, Registry

# steps within a step: of these the last is kept, and one every few seconds
_FLEETING = frozenset(
    ("entity_extraction", "embedding_progress", "hash_computed", "relation_extraction", "relation_incremental_progress")
)

_SECONDS = 4.0  # so that whoever waits sees something at least every five
MOST_FAILURES = 100
PART_CHUNKS = 500  # of a document that are extracted and written together: what they yield takes some 100 MB
_REASONS = 3
_KEPT = ("chunks_new", "chunks_skipped", "documents_new", "documents_updated", "documents_unchanged", "documents_removed")


@dataclass(frozen=True, slots=True)
class Event:
    """A progress event. ``stage`` is a name from E-16; ``current`` of ``total`` items are done (0: unknown)."""

    stage: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    current: int = 0
    total: int = 0


Listener = Callable[[Event], None]


def recording(registry: Registry, tenant: Tenant, job_id: str, on_event: Listener = lambda _: None) -> Listener:
    """Return a listener that keeps events for the job and passes them on.

    Of steps within a step, which are many, it keeps the last and one every four seconds. May be told from several threads.
    """
    kept: dict[str, float] = {}
    lock = RLock()

    def tell(event: Event) -> None:
        now = time.monotonic()
        with lock:
            due = now - kept.setdefault(event.stage, now) >= _SECONDS or event.current == event.total
            if due or event.stage not in _FLEETING:
                kept[event.stage] = now
                counts = {"current": event.current} if event.current or event.total else {}
                counts |= {"total": event.total} if event.total else {}  # one that is unknown is not told: 19 of 0
                registry.add_events(tenant, job_id, [(event.stage, {**event.detail, **counts})])
            on_event(event)

    return tell


CANCEL = "cancel"  # the step by which a job is told to stop
_LOOK_SECONDS = 1.0


def stopping(registry: Registry, tenant: Tenant, job_id: str, tell: Listener) -> Listener:
    """Return a listener that passes events on, and raises ``Cancelled`` once the job was told to stop.

    It looks at most once a second, and may be told from several threads.
    """
    lock, looked, seen, cancelled = RLock(), -_LOOK_SECONDS, 0, False

    def heard(event: Event) -> None:
        nonlocal looked, seen, cancelled
        with lock:
            if not cancelled and time.monotonic() - looked >= _LOOK_SECONDS:
                events = registry.events(tenant, job_id, after=seen)
                looked, seen = time.monotonic(), events[-1].seq if events else seen
                cancelled = any(one.stage == CANCEL for one in events)
            if cancelled:
                raise Cancelled("the job was cancelled; documents it had finished are kept")
        tell(event)

    return heard


def end(registry: Registry, tenant: Tenant, job_id: str, result: Mapping[str, Any], tell: Listener) -> None:
    """End a job as :func:`ending` says of its result."""
    status, result, reason = ending(result)
    if reason:
        tell(Event("error", {"error": reason}))
    else:
        tell(Event("result", result))
        tell(Event("done"))
    registry.finish_job(tenant, job_id, status, result, reason)


def ending(result: Mapping[str, Any]) -> tuple[JobStatus, Mapping[str, Any], str]:
    """Return how a job ends: its status, FAILED where the result is :func:`useless`, its result, and the reason."""
    reason = useless(result)
    error = {"error": InvalidInput.code} if unread(result) else {}
    return "FAILED" if reason else "SUCCEEDED", {**result, **error}, reason


def useless(result: Mapping[str, Any]) -> str:
    """Return why a result is of no use: nothing could be read, or every chunk of the run failed; else nothing."""
    if reason := unread(result):
        return reason
    failed = result.get("chunks_failed", 0)
    if not failed or failed < result["chunks_new"] + result["chunks_skipped"]:
        return ""
    return f"none of {failed:,} chunks could be extracted: {most_frequent(result['chunk_reasons'])}"


def unread(result: Mapping[str, Any]) -> str:
    """Return why nothing of what was given could be read; nothing where some of it could, or there was nothing."""
    failures = result.get("failures")
    if not failures or any(result.get(name) for name in _KEPT):
        return ""
    reasons = list(dict.fromkeys(f"{PurePath(f['uri']).name}: {f['reason']}" for f in failures))
    more = f"; and {len(reasons) - _REASONS:,} more" if len(reasons) > _REASONS else ""
    return f"nothing could be ingested: {'; '.join(reasons[:_REASONS])}{more}"


def most_frequent(reasons: Mapping[str, int]) -> str:
    """Return the most frequent reasons of failures in one line."""
    return "; ".join(reason for reason, _ in Counter(reasons).most_common(_REASONS))


def with_warnings(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with ``warnings``, each ``{"type", "detail"}``: a job that ends well is not always whole."""
    of = (("chunk", "chunks", "without statements"), ("pair", "pairs of chunks", "not related"))
    warnings = [
        {
            "type": f"{one}s_failed",
            "detail": f"{failed:,} {what} {lack}: {most_frequent(result[f'{one}_reasons'])}; ingest again to retry "
            "what failed",
        }
        for one, what, lack in of
        if (failed := result.get(f"{one}s_failed"))
    ]
    return {**result, "warnings": warnings}


@dataclass(frozen=True, slots=True)
class Failure:
    """A file, line or document that could not be ingested, with a one-line reason."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files skipped in folders because of their suffix (``ending``), with the reason."""

    ending: str
    files: int
    reason: str


def told(skipped: Sequence[Skipped]) -> str:
    """Return what was passed over in one line: ``4 files: 3 .bin (unknown type), 1 .doc (save it as .docx)``."""
    total = sum(one.files for one in skipped)
    kinds = ", ".join(f"{one.files:,} {one.ending} ({one.reason})" for one in skipped)
    return f"{total:,} file{'s' * (total != 1)}: {kinds}"


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest; all counts are of this run only.

    Counts of entities and facts are those added to the graph. ``extracted`` and ``embedded`` count the chunks and texts sent
    to models, without cache hits; ``chunks_embedded`` counts the chunks among these texts. ``documents_removed`` counts
    records no longer in their file. ``cooccur_edges`` counts pairs of entities that new chunks name together often enough,
    ``llm_rel_edges`` new relations between chunks, ``relations_created`` both. ``skipped`` lists files of unknown type in
    folders, ``failures`` files and documents that could not be ingested. ``chunk_failures`` and ``pair_failures`` hold the
    first 100 of ``chunks_failed`` and ``pairs_failed``, which the next run retries; ``chunk_reasons`` and ``pair_reasons``
    count them by reason.
    """

    job_id: str = ""
    files_processed: int = 0
    documents_new: int = 0
    documents_updated: int = 0
    documents_unchanged: int = 0
    documents_removed: int = 0
    chunks_new: int = 0
    chunks_skipped: int = 0
    chunks_failed: int = 0
    statements_created: int = 0
    entities_created: int = 0
    facts_created: int = 0
    extracted: int = 0
    embedded: int = 0
    chunks_embedded: int = 0
    dropped: int = 0
    cooccur_edges: int = 0
    llm_rel_edges: int = 0
    pairs_failed: int = 0
    elapsed_sec: float = 0.0
    incremental: bool = True
    failures: list[Failure] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    chunk_failures: list[Failure] = field(default_factory=list)
    pair_failures: list[Failure] = field(default_factory=list)
    chunk_reasons: dict[str, int] = field(default_factory=dict)
    pair_reasons: dict[str, int] = field(default_factory=dict)

    def chunk_failed(self, uri: str, place: str, reason: str) -> None:
        """Count a chunk without a usable extraction; the first 100 are kept with their place and reason."""
        self.chunks_failed += 1
        _note(self.chunk_failures, self.chunk_reasons, Failure(uri, f"{place}: {reason}"), reason)

    def pair_failed(self, uri: str, place: str, reason: str) -> None:
        """Count a pair of chunks that could not be related; the first 100 are kept with their place and reason."""
        self.pairs_failed += 1
        _note(self.pair_failures, self.pair_reasons, Failure(uri, f"{place}: {reason}"), reason)

    @property
    def relations_created(self) -> int:
        """The sum of ``cooccur_edges`` and ``llm_rel_edges`` (E-09)."""
        return self.cooccur_edges + self.llm_rel_edges

    @property
    def model_calls(self) -> int:
        """The number of chunks extracted and texts embedded in this run."""
        return self.extracted + self.embedded

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the result of a job."""
        counts = {"relations_created": self.relations_created, "model_calls": self.model_calls}
        return with_warnings({**asdict(self), **counts})


def _note(failures: list[Failure], reasons: dict[str, int], failure: Failure, reason: str) -> None:
    if len(failures) < MOST_FAILURES:
        failures.append(failure)
    if reason in reasons or len(reasons) < MOST_FAILURES:
        reasons[reason] = reasons.get(reason, 0) + 1

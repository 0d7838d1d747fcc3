"""What registries answer to views: of documents those that the view sees, of jobs those that were begun in it.

A registry knows whole tenants; what it keeps under the name of a view (sessions, places in namespaces) is the view's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, get_args

from lexigraph.model.errors import NotFound
from lexigraph.model.filters import plain_filter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.records import no_job
from lexigraph.storage.protocols import DocumentRecord, DocumentState, Freshness, JobEvent, JobRecord

R = TypeVar("R")
RIGHTS = "rights"  # in the request of a job: the filters that what it takes in has to pass
_PAGE = 1_000
_LOOKED_AT = 1_000  # jobs of the tenant, the latest, among which those of a view are looked for
# what a job tells of the whole tenant: what was known before, by whatever document, and what is in all of them
_OF_ALL = frozenset(
    {"entities_created", "facts_created", "relations_created", "cooccur_edges", "llm_rel_edges"}
    | {"extracted", "embedded", "chunks_embedded", "model_calls"}
)
_OF_NEW = frozenset({"entity_extraction", "embedding_progress"})  # steps that are left out where a text was known before


def sees(view: View, record: DocumentRecord) -> bool:
    """Tell whether a document is one that the view sees."""
    source = Source(record.source_id, record.uri, record.namespace, record.title, record.metadata)
    return view.rights.matches(source.filterable)


def seen_by_views(registry: type[R]) -> type[R]:
    """Let a registry answer views, too: each method is given to one that asks it for the whole tenant."""
    for name, of_view in _ANSWERS.items():
        setattr(registry, name, _either(getattr(registry, name), of_view))
    return registry


def _either(of_whole: Callable[..., Any], of_view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(of_whole)
    def answer(self: Any, tenant: Tenant, *args: Any, **named: Any) -> Any:
        if isinstance(tenant, View):
            return of_view(self, tenant, *args, **named)
        return of_whole(self, tenant, *args, **named)

    return answer


def _document(registry: Any, view: View, source_id: str) -> DocumentRecord | None:
    record = registry.document(view.whole, source_id)
    return record if record and sees(view, record) else None


def _records(registry: Any, view: View, source_ids: Sequence[str]) -> dict[str, DocumentRecord]:
    return {i: record for i, record in registry.records(view.whole, source_ids).items() if sees(view, record)}


def _documents(
    registry: Any, view: View, *, namespace: str | None = None, after: str = "", limit: int = _PAGE
) -> list[DocumentRecord]:
    found: list[DocumentRecord] = []
    size = max(limit, _PAGE) if limit > 0 else limit  # what is refused is refused there
    while page := registry.documents(view.whole, namespace=namespace, after=after, limit=size):
        for record in page:
            if len(found) >= limit and record.uri != found[-1].uri:
                return found
            if sees(view, record):
                found.append(record)
        if len(page) < size:
            break
        after = page[-1].uri
    return found


def _start_job(registry: Any, view: View, kind: str, request: Mapping[str, Any], *, job_id: str = "") -> JobRecord:
    begun = registry.start_job(view.whole, kind, {**request, RIGHTS: plain_filter(view.rights)}, job_id=job_id)
    return _job(registry, view, begun.id)


def _job(registry: Any, view: View, job_id: str) -> JobRecord:
    job = _own(view, registry.job(view.whole, job_id))
    if job is None:
        raise no_job(job_id)
    return job


def _jobs(registry: Any, view: View, *, limit: int = 50) -> list[JobRecord]:
    every = registry.jobs(view.whole, limit=_LOOKED_AT if limit > 0 else limit)
    return [job for one in every if (job := _own(view, one))][:limit]


def _events(registry: Any, view: View, job_id: str, *, after: int = 0) -> list[JobEvent]:
    try:
        _job(registry, view, job_id)
    except NotFound:
        return []
    events = registry.events(view.whole, job_id, after=after)
    return [replace(event, data=_told(event.data)) for event in events if event.stage not in _OF_NEW]


def _own(view: View, job: JobRecord) -> JobRecord | None:
    """Return a job with what it may tell the view; None for one that was not begun in it."""
    return replace(job, result=_told(job.result)) if job.request.get(RIGHTS) == plain_filter(view.rights) else None


def _told(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in _OF_ALL}


def _freshness(registry: Any, view: View) -> Freshness:
    found: Freshness = registry.freshness(view.whole)
    return found


def _clear(registry: Any, view: View) -> int:
    return int(registry.clear(view.whole))


def _stats(registry: Any, view: View) -> dict[str, int]:
    states = dict.fromkeys(get_args(DocumentState), 0)
    after, page = "", _documents(registry, view)
    while page:
        for record in page:
            states[record.state] += 1
        after = page[-1].uri
        page = _documents(registry, view, after=after)
    return {**states, "jobs": len(_jobs(registry, view, limit=_LOOKED_AT))}


_ANSWERS: Mapping[str, Callable[..., Any]] = {
    "document": _document,
    "records": _records,
    "documents": _documents,
    "start_job": _start_job,
    "job": _job,
    "jobs": _jobs,
    "events": _events,
    "freshness": _freshness,
    "clear": _clear,
    "stats": _stats,
}

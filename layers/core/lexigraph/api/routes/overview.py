"""What there is at a glance: counts, kinds of documents, jobs, stores, models, and what is amiss. Cheap, however much it is.

What has to be counted is counted once for each state of the documents; where that takes long, and these change, seldom. No
reply waits for it long: it goes on, and is there for the next one.
"""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

from lexigraph import __version__
from lexigraph.api.access.auth import Reader
from lexigraph.api.routes.diagnostics import StoreState, state_of
from lexigraph.api.schemas.overview import Day, EmbeddingModel, Models, NamedCount, NamedModel, Overview, Warned
from lexigraph.api.service import Service, TheService
from lexigraph.api.tagged import tagged_router
from lexigraph.inference.protocols import Standing
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.counts import live_counts
from lexigraph.storage.protocols import DocumentRecord, Freshness, JobStatus

router = tagged_router("", "service")
_PATIENCE = 0.5  # seconds that a reply waits for counts
_QUICK = 0.25  # seconds in which is counted anew whenever documents have changed
_TIMES = 20  # where that takes longer: when as many times as long have passed
_DOCUMENTS = 50_000  # whose kinds are told
_PAGE = 1_000
_JOBS = 200  # the latest, of which is told how they stand
_KINDS = ("documents", "chunks", "topics", "statements", "facts", "entities")


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of a tenant, and when."""

    freshness: Freshness
    until: float
    at: str
    kinds: dict[str, int]
    languages: tuple[NamedCount, ...]
    file_types: tuple[NamedCount, ...]
    growth: tuple[Day, ...]


@router.get("/overview", operation_id="overview", summary="Get an overview")
async def overview(who: Reader, service: TheService) -> Overview:
    """Return counts by kind, languages, file types, growth by day, jobs, the state of stores and models, and warnings.

    Counts are those of `counted_at`; where counting takes long and documents change, they may be some time old. While they
    are counted for the first time, `counted_at` is empty and `counts` has the documents only: ask again.
    """
    return await service.run(lambda: _overview(service, who.tenant), asks=who.tenant.whole)


def _overview(service: Service, tenant: Tenant) -> Overview:
    stores = service.stores
    documents: dict[str, int] = {}
    jobs: Counter[str] = Counter()
    counted = Counted(Freshness(), 0.0, "", dict.fromkeys(_KINDS, 0), (), (), ())

    def of_registry() -> None:
        documents.update(stores.registry.stats(tenant))
        jobs.update(job.status for job in stores.registry.jobs(tenant, limit=_JOBS))

    def of_graph() -> None:
        nonlocal counted
        counted = _counted(service, tenant)

    states: dict[str, StoreState] = {
        "registry": state_of(of_registry),
        "graph": state_of(of_graph),
        "vectors": state_of(lambda: stores.vectors.fetch(tenant, "chunk", [f"chunk:{'0' * 32}"])),
    }
    documents.pop("jobs", None)
    models = _models(service)
    return Overview(
        version=__version__,
        counts=counted.kinds,
        counted_at=counted.at,
        documents=documents,
        languages=list(counted.languages),
        file_types=list(counted.file_types),
        growth=list(counted.growth),
        jobs={status: jobs[status] for status in get_args(JobStatus)},
        stores=states,
        models=models,
        warnings=list(_warnings(documents, jobs, states, models)),
    )


def _counted(service: Service, tenant: Tenant) -> Counted:
    """Return the counts; those from before while they are counted anew, without any the number of documents alone."""
    known: Counted | None = service.overviews.get((str(tenant),))
    now = service.stores.registry.freshness(tenant.whole)
    if known and (known.freshness == now or time.monotonic() < known.until):
        return known
    if found := service.countings.ask(str(tenant), lambda: _count(service, tenant, now), _PATIENCE):
        return found
    documents = service.stores.registry.stats(tenant).get("READY", 0)
    return known or Counted(now, 0.0, "", {"documents": documents}, (), (), ())


def _count(service: Service, tenant: Tenant, freshness: Freshness) -> Counted:
    began = time.monotonic()
    stats = live_counts(service.stores, tenant)
    kinds = {kind: stats.get("sources" if kind == "documents" else kind, 0) for kind in _KINDS}
    languages, types, days, characters = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for record in _records(service, tenant):
        languages[str(record.metadata.get("language", ""))] += 1
        types[str(record.metadata.get("file_type", ""))] += 1
        days[record.updated_at[:10]] += 1
        characters[record.updated_at[:10]] += record.characters
    growth = tuple(Day(day=day, documents=n, characters=characters[day]) for day, n in sorted(days.items()) if day)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    took = time.monotonic() - began
    until = began + _TIMES * took if took > _QUICK else 0.0
    found = Counted(freshness, until, now, kinds, _most_first(languages), _most_first(types), growth)
    service.overviews.put((str(tenant),), found)
    return found


def _records(service: Service, tenant: Tenant) -> Iterable[DocumentRecord]:
    """Yield the documents that readers see, of very many the first by uri."""
    after, seen = "", 0
    while seen < _DOCUMENTS and (page := service.stores.registry.documents(tenant, after=after, limit=_PAGE)):
        yield from (record for record in page if record.version and record.state != "REMOVING")
        seen += len(page)
        after = page[-1].uri
        if len(page) < _PAGE:
            break


def _most_first(counts: Counter[str]) -> tuple[NamedCount, ...]:
    return tuple(NamedCount(name=n, documents=c) for n, c in sorted(counts.items(), key=lambda p: (-p[1], p[0])))


def _models(service: Service) -> Models:
    try:
        answers = service.standing().answers
    except (StoreUnavailable, ModelUnavailable, InvalidInput):
        answers = Standing(answers=False).answers
    stores = service.stores
    return Models(
        llm=NamedModel(name=service.settings.llm, answers=answers),
        embedding=EmbeddingModel(name=stores.vectors.label, dimension=stores.vectors.dimension, answers=service.embeds()),
    )


def _warnings(
    documents: dict[str, int], jobs: Counter[str], states: dict[str, StoreState], models: Models
) -> Iterable[Warned]:
    for name, state in states.items():
        if state == "damaged":
            yield Warned(type="store_damaged", detail=f"the store {name} is damaged", remedy="run lexigraph doctor")
        elif state == "unavailable":
            yield Warned(
                type="store_unavailable", detail=f"the store {name} does not respond", remedy="run lexigraph doctor"
            )
    if models.embedding.answers is False:
        told = "the embedding model does not respond: only keyword search is used"
        yield Warned(type="embedding_failed", detail=told, remedy="run lexigraph doctor")
    if models.llm.name == "none":
        told = "no language model is set: answers are quotations from the documents"
        yield Warned(type="no_language_model", detail=told, remedy="set LEXIGRAPH_LLM, or go on without")
    elif models.llm.answers is False:
        told = "the language model does not respond: answers are quotations from the documents"
        yield Warned(type="model_unavailable", detail=told, remedy="run lexigraph doctor --probe-llm")
    if failed := documents.get("FAILED", 0):
        told = f"{failed} document{'s' * (failed > 1)} could not be ingested"
        yield Warned(type="documents_failed", detail=told, remedy="see the reasons in /documents, then send them again")
    if failed := jobs["FAILED"]:
        told = f"{failed} of the latest jobs failed"
        yield Warned(type="jobs_failed", detail=told, remedy="see the reasons in /jobs")

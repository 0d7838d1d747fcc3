"""The relations-only mode of ``/ingest/stream``: new chunks of a document are related to others, nothing else (E-19)."""

from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import Depends, Query

from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.handover import is_id
from lexigraph.api.limits import FLAG, NUMBER, TEXT, WHOLE
from lexigraph.api.service import Service
from lexigraph.ingestion.jobs import RELATE
from lexigraph.ingestion.relations import NO_MODEL, NewChunks
from lexigraph.ingestion.roots import inside
from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord

_USUAL = {"window": 2, "truncate": 400, "temperature": 0.0}  # as the reference page has them


def _asked(
    inc_rel_only: Annotated[
        bool, Query(description="only relate the new chunks of a document to others (E-19)", examples=[False]), FLAG
    ] = False,
    new_after: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="with inc_rel_only: the last old chunk", examples=["chunk_119"]),
        TEXT,
    ] = None,
    detect_after: Annotated[
        bool, Query(description="with inc_rel_only: the last new_count chunks are new", examples=[False]), FLAG
    ] = False,
    new_count: Annotated[
        int | None, Query(ge=1, le=1_000_000, description="with detect_after: how many chunks are new", examples=[8]), WHOLE
    ] = None,
    rel_window: Annotated[
        int | None, Query(ge=1, le=10, description="with inc_rel_only: chunks that a pair may span", examples=[2]), WHOLE
    ] = None,
    rel_truncate: Annotated[
        int | None,
        Query(ge=50, le=10_000, description="with inc_rel_only: characters of a chunk shown to the model", examples=[400]),
        WHOLE,
    ] = None,
    rel_temperature: Annotated[
        float | None, Query(ge=0, le=2, description="with inc_rel_only: temperature of the model", examples=[0.0]), NUMBER
    ] = None,
) -> NewChunks | None:
    """Return what is to be related, None for an ordinary ingest. Raise ``ApiError`` 422 for what would have no effect."""
    what = NewChunks(new_after, detect_after, new_count, rel_window, rel_truncate, rel_temperature)
    if inc_rel_only:
        return what
    # defaults that are written out ask for nothing
    usual: dict[str, Any] = {name: None for name, value in _USUAL.items() if getattr(what, name) == value}
    if replace(what, **usual) != NewChunks():
        raise ApiError(422, "inc_rel_only: the boundary and the rel_ parameters need inc_rel_only=true")
    return None


RelationsOnly = Annotated[NewChunks | None, Depends(_asked)]


def begin_relate(
    service: Service, tenant: Tenant, path: str, what: NewChunks, *, namespace: str, refresh: bool
) -> JobRecord:
    """Start a job that relates the new chunks of the document ingested from ``path`` into a namespace, or of that id.

    Raise ``InvalidInput`` for a boundary that is none, without a language model or with ``refresh``, ``NotFound`` for no
    such document.
    """
    if refresh:
        raise InvalidInput("refresh: has no effect with inc_rel_only: omit one of them")
    if service.handover:
        if service.settings.llm == "none":  # a job done elsewhere would say so much later
            raise InvalidInput(NO_MODEL)
        what.checked(service.settings)
        return service.handover.relate(tenant, namespace, path, what)
    document = path if is_id(path) else source_id(tenant, namespace, inside(tenant, path, service.settings).as_uri())
    if service.stores.registry.document(tenant, document) is None:
        raise NotFound(f"path: no document was ingested from {path[:80]!r} into the namespace {namespace!r}")
    what.checked(service.settings)
    request: dict[str, Any] = {"resumable": True, RELATE: {"name": document, "what": asdict(what)}}
    return service.jobs.begin(tenant, request)

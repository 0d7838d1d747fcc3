"""Merges, aliases and splits of names over HTTP, made and undone by whoever administers a tenant.

In a deployment these routes have a function of their own, the only one behind the gateway that writes the graph.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from lexigraph.api.access.auth import Admin
from lexigraph.api.access.keys import Principal
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import TEXT, Body, Name, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion import curation
from lexigraph.model.curation import Decision
from lexigraph.model.errors import InvalidInput
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant, View

router = APIRouter(prefix="/curation", tags=["entities"])
Kind = Literal["merge", "alias", "split"]
KINDS = "`merge`: documents contain all the names; `alias`: the other names need not occur; `split`: one name of two things"
Document = Annotated[str, Field(min_length=1, max_length=2_000), TEXT]


class NewDecision(Body):
    """Names that mean one entity, or a name that means another one in some documents."""

    kind: Kind = Field("merge", description=KINDS, examples=["merge"])
    name: Name = Field(
        description="name of the entity that is meant; of a `split`, the name to split", examples=["Quill Line"]
    )
    others: list[Name] = Field(
        min_length=1,
        max_length=curation.MOST_OTHERS,
        description="other names of it; of a `split`, the one new name",
        examples=[["Quill Shipping"]],
    )
    documents: list[Document] = Field(
        [],
        max_length=curation.MOST_DOCUMENTS,
        description="ids or URIs of the documents in which a `split` applies",
        examples=[[]],
    )
    note: Annotated[str, Field(max_length=curation.LONGEST_NOTE), TEXT] = Field(
        "", description="reason, for the history", examples=["renamed in 2019"]
    )


class DecisionReply(Reply):
    """A decision about names."""

    id: str = Field(description="decision id", examples=["2026-11-27T145719-e7b2"])
    kind: Kind = Field(description=KINDS, examples=["merge"])
    name: str = Field(description="name of the entity that is meant; of a `split`, the name split", examples=["Quill Line"])
    others: list[str] = Field(description="other names of it; of a `split`, the one new name", examples=[["Quill Shipping"]])
    documents: list[str] = Field(description="ids of the documents in which a `split` applies", examples=[[]])
    by: str = Field(description="who decided: key id, or user of the command line", examples=["lxk_5554b5e1"])
    note: str = Field(description="reason", examples=["renamed in 2019"])
    made_at: str = Field(description="time, UTC", examples=["2026-11-27T14:57:19.123+00:00"])
    undone_at: str = Field(description="time at which it was undone, UTC; empty while it holds", examples=[""])

    @classmethod
    def of(cls, tenant: Tenant, made: Decision) -> "DecisionReply":
        """Return the reply for a decision."""
        return cls(
            id=made.id,
            kind="merge" if made.kind == "synonyms" else made.kind,
            name=made.name,
            others=list(made.others),
            documents=[source_id(tenant.whole, *document) for document in made.documents],
            by=made.by,
            note=made.note,
            made_at=made.made_at,
            undone_at=made.undone_at,
        )


@router.post(
    "/decisions",
    operation_id="decide",
    summary="Merge or split entities, or add aliases",
    status_code=201,
    responses=errors(404, 409),
)
async def decide(who: Admin, service: TheService, body: NewDecision) -> DecisionReply:
    """Make names mean one entity: a question about one name also finds what documents say of the others.

    A `split` does the opposite: in the given documents, the name means another entity, under the new name. The documents
    are rebuilt without a model call before the reply. A question with the plain name still finds both.

    A decision outlives ingests and deletions until it is undone. One that contradicts another is refused with 409. Clears
    the tenant's caches.
    """
    _check_may(service, who)

    def work() -> Decision:
        by, note = who.key_id or "", body.note
        if body.kind != "split":
            if body.documents:
                raise InvalidInput("documents: only a split has documents")
            return curation.decide(service.stores, who.tenant, body.kind, body.name, body.others, by=by, note=note)
        _check_builds(service)
        if len(body.others) != 1:
            raise InvalidInput(f"others: a split has one new name, got {len(body.others)}")
        return service.index.split(body.name, body.others[0], body.documents, tenant=who.tenant, by=by, note=note)

    return DecisionReply.of(who.tenant, await service.run(work))


@router.delete(
    "/decisions/{decision_id}",
    operation_id="undo_decision",
    summary="Undo a merge, an alias or a split",
    responses=errors(404, 409),
)
async def undo_decision(
    who: Admin,
    service: TheService,
    decision_id: Annotated[
        str,
        Path(pattern="^[0-9T-]{17}-[0-9a-f]{4}$", description="decision id", examples=["2026-11-27T145719-e7b2"]),
    ],
) -> DecisionReply:
    """Undo a decision: names mean again what they meant without it. The decision stays in the history."""
    _check_may(service, who)

    def work() -> Decision:
        if service.settings.workflow:
            if any(one.id == decision_id and one.kind == "split" for one in curation.history(service.stores, who.tenant)):
                _check_builds(service)
            return curation.undo(service.stores, who.tenant, decision_id)
        return service.index.undo(decision_id, tenant=who.tenant)

    undone = await service.run(work)
    return DecisionReply.of(who.tenant, undone)


def check_sees_all(who: Principal) -> None:
    """Raise ``ApiError`` 403 for a key with filters: names stand for what it may not see."""
    if isinstance(who.tenant, View):
        raise ApiError(403, "keys with filters cannot curate names", hint="use a key without filters")


def _check_may(service: Service, who: Principal) -> None:
    """Raise ``ApiError`` 403 also in the functions of a deployment that only read the graph."""
    check_sees_all(who)
    if service.settings.workflow and not service.decides:
        raise ApiError(403, "this function cannot change names", hint="send the request to the deployment's API")


def _check_builds(service: Service) -> None:
    """Raise ``ApiError`` 403 for splits in a deployment, whose functions behind the gateway do not build documents."""
    if service.settings.workflow:
        raise ApiError(
            403,
            "a split rebuilds documents, which a deployment cannot do",
            hint="write the fuller name in the documents that mean the other one, and upload them again",
        )

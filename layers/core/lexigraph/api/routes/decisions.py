"""Merges and aliases of names over HTTP, made and undone by whoever administers a tenant.

In a deployment these routes have a function of their own, the only one behind the gateway that writes the graph.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from lexigraph.api.access.auth import Admin
from lexigraph.api.access.keys import Principal
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import NAME, TEXT, Body, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion import curation
from lexigraph.model.curation import Decision
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.model.tenant import View

router = APIRouter(prefix="/curation", tags=["entities"])
Name = Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=PATTERN), NAME]


class NewDecision(Body):
    """Names that mean one entity."""

    kind: Literal["merge", "alias"] = Field(
        "merge",
        description="`merge`: documents contain all the names; `alias`: the other names need not occur",
        examples=["merge"],
    )
    name: Name = Field(description="name of the entity that is meant", examples=["Quill Line"])
    others: list[Name] = Field(
        min_length=1, max_length=curation.MOST_OTHERS, description="other names of it", examples=[["Quill Shipping"]]
    )
    note: Annotated[str, Field(max_length=curation.LONGEST_NOTE), TEXT] = Field(
        "", description="reason, for the history", examples=["renamed in 2019"]
    )


class DecisionReply(Reply):
    """A decision about names."""

    id: str = Field(description="decision id", examples=["2026-11-27T145719-e7b2"])
    kind: Literal["merge", "alias"] = Field(description="kind of decision", examples=["merge"])
    name: str = Field(description="name of the entity that is meant", examples=["Quill Line"])
    others: list[str] = Field(description="other names of it", examples=[["Quill Shipping"]])
    by: str = Field(description="who decided: key id, or user of the command line", examples=["lxk_5554b5e1"])
    note: str = Field(description="reason", examples=["renamed in 2019"])
    made_at: str = Field(description="time, UTC", examples=["2026-11-27T14:57:19.123+00:00"])
    undone_at: str = Field(description="time at which it was undone, UTC; empty while it holds", examples=[""])

    @classmethod
    def of(cls, made: Decision) -> "DecisionReply":
        """Return the reply for a decision."""
        return cls(
            id=made.id,
            kind="alias" if made.kind == "alias" else "merge",
            name=made.name,
            others=list(made.others),
            by=made.by,
            note=made.note,
            made_at=made.made_at,
            undone_at=made.undone_at,
        )


@router.post(
    "/decisions", operation_id="decide", summary="Merge entities or add aliases", status_code=201, responses=errors(404, 409)
)
async def decide(who: Admin, service: TheService, body: NewDecision) -> DecisionReply:
    """Make names mean one entity: a question about one name also finds what documents say of the others.

    A decision outlives ingests and deletions until it is undone. One that contradicts another is refused with 409. Clears
    the tenant's caches.
    """
    _check_may(service, who)

    def work() -> Decision:
        return curation.decide(
            service.stores, who.tenant, body.kind, body.name, body.others, by=who.key_id or "", note=body.note
        )

    return DecisionReply.of(await service.run(work))


@router.delete(
    "/decisions/{decision_id}",
    operation_id="undo_decision",
    summary="Undo a merge or an alias",
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
    return DecisionReply.of(await service.run(lambda: curation.undo(service.stores, who.tenant, decision_id)))


def check_sees_all(who: Principal) -> None:
    """Raise ``ApiError`` 403 for a key with filters: names stand for what it may not see."""
    if isinstance(who.tenant, View):
        raise ApiError(403, "keys with filters cannot curate names", hint="use a key without filters")


def _check_may(service: Service, who: Principal) -> None:
    """Raise ``ApiError`` 403 also in the functions of a deployment that only read the graph."""
    check_sees_all(who)
    if service.settings.workflow and not service.decides:
        raise ApiError(403, "this function cannot change names", hint="send the request to the deployment's API")

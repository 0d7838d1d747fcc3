"""Decisions about names over HTTP, for whoever administers a tenant: made, listed and undone."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from lexigraph.api.access.auth import Admin
from lexigraph.api.access.keys import Principal
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import NAME, TEXT, WHOLE, Body, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion import curation
from lexigraph.ingestion.proposals import propose
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


class DecisionList(Reply):
    """The decisions of a tenant, including undone ones, oldest first."""

    decisions: list[DecisionReply] = Field(description="oldest first")


class ProposalReply(Reply):
    """Two entities that may be the same, with the evidence."""

    name: str = Field(description="name of the entity that more documents name", examples=["Quill Shipping Company"])
    other: str = Field(description="name that may mean the same", examples=["Quill Shipping"])
    reason: str = Field(description="how the names resemble each other", examples=["with and without title or legal form"])
    score: float = Field(description="0 to 1, from names and shared context", examples=[0.63])
    shared: list[str] = Field(description="names that occur together with both", examples=[["Tove Lund", "Vardo"]])
    documents: list[str] = Field(description="titles of documents that name both", examples=[["Ferries"]])
    statements: list[str] = Field(
        description="a statement about each",
        examples=[["Quill Shipping Company owns two ships.", "Quill Shipping runs ferries."]],
    )


class ProposalList(Reply):
    """Pairs of entities that may be the same, the most likely first."""

    proposals: list[ProposalReply] = Field(description="the most likely first")


@router.get("/proposals", operation_id="list_proposals", summary="Propose merges")
async def list_proposals(
    who: Admin,
    service: TheService,
    response: Response,
    name: Annotated[
        str, Query(max_length=LONGEST, description="only pairs with this name", examples=["Quill Shipping"]), TEXT
    ] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="maximum number", examples=[20]), WHOLE] = 20,
) -> ProposalList:
    """Return pairs of entities with similar names that occur with the same other entities, with the evidence.

    Nothing changes; accept a pair with POST `/curation/decisions`. Considers the 2,000 entities that most documents name.
    """
    _check_sees_all(who)
    response.headers["Cache-Control"] = "no-store"
    found = await service.run(lambda: propose(service.stores, who.tenant, limit=limit, name=name), asks=who.tenant.whole)
    return ProposalList(
        proposals=[
            ProposalReply(
                name=one.name,
                other=one.other,
                reason=one.reason,
                score=one.score,
                shared=list(one.shared),
                documents=list(one.documents),
                statements=list(one.statements),
            )
            for one in found
        ]
    )


@router.get("/decisions", operation_id="list_decisions", summary="List merges and aliases")
async def list_decisions(who: Admin, service: TheService, response: Response) -> DecisionList:
    """Return the tenant's merges and aliases, including undone ones."""
    _check_sees_all(who)
    response.headers["Cache-Control"] = "no-store"
    found = await service.run(lambda: curation.history(service.stores, who.tenant))
    return DecisionList(decisions=[DecisionReply.of(one) for one in found])


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


def _check_sees_all(who: Principal) -> None:
    """Raise ``ApiError`` 403 for a key with filters: names stand for what it may not see."""
    if isinstance(who.tenant, View):
        raise ApiError(403, "keys with filters cannot curate names", hint="use a key without filters")


def _check_may(service: Service, who: Principal) -> None:
    """Raise ``ApiError`` 403 also in a deployment, where no function that answers requests may write the graph."""
    _check_sees_all(who)
    if service.settings.workflow:
        raise ApiError(
            403,
            "names cannot be curated through this API",
            hint="run `lexigraph entities` inside the VPC, as docs/curation.md says",
        )

"""Decisions about names, and proposals, listed over HTTP for whoever administers a tenant."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from lexigraph.api.access.auth import Admin
from lexigraph.api.limits import TEXT, WHOLE, Reply
from lexigraph.api.routes.decisions import DecisionReply, check_sees_all
from lexigraph.api.service import TheService
from lexigraph.ingestion import curation
from lexigraph.ingestion.proposals import propose
from lexigraph.model.names import LONGEST

router = APIRouter(prefix="/curation", tags=["entities"])


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
    check_sees_all(who)
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


@router.get("/decisions", operation_id="list_decisions", summary="List merges, aliases and splits")
async def list_decisions(who: Admin, service: TheService, response: Response) -> DecisionList:
    """Return the tenant's merges, aliases and splits, including undone ones."""
    check_sees_all(who)
    response.headers["Cache-Control"] = "no-store"
    found = await service.run(lambda: curation.history(service.stores, who.tenant))
    return DecisionList(decisions=[DecisionReply.of(who.tenant, one) for one in found])

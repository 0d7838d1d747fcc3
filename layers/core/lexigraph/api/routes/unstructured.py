"""Documents that clients send, each in a namespace of its own, and multi-hop questions in one (H)."""

import secrets
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Form, Response
from pydantic import Field

from lexigraph.api.access.auth import Reader, Writer, check_database
from lexigraph.api.errors import A_WORD
from lexigraph.api.jobs.uploads import GivenMetadata, Upload, Wait, take_upload
from lexigraph.api.limits import NAME, FormRoute, Name, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.search import Filtered, NoticeReply
from lexigraph.api.service import TheService
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.model.question import Question
from lexigraph.retrieval.multihop.retriever import MultihopRetriever

router = APIRouter(tags=["unstructured"], route_class=FormRoute)
DATABASE = "fractal_db"


class MultihopRequest(Filtered):
    """A multi-hop question (H-02 to H-11)."""

    query: str = Field(
        description="question in natural language",
        min_length=1,
        max_length=100_000,
        pattern=A_WORD,
        examples=["explain the appeals process"],
    )
    db_name: Name = Field(description="label of the database", examples=["fractal_db"])
    namespace: Name = Field(description="namespace returned by the upload", examples=["document_upload_3f9a1c2e"])
    role: str | None = Field(
        None, min_length=1, max_length=64, description="paragraph, list, table, code, row or heading", examples=["paragraph"]
    )
    use_symbolic: bool = Field(default=True, description="follow symbolic edges and weight roles", examples=[True])
    num_hops: int = Field(3, description="number of hops", ge=1, le=8, examples=[3])
    top_k_per_hop: int = Field(15, description="maximum chunks kept per hop", ge=1, le=200, examples=[15])
    final_top_k: int = Field(10, description="maximum results", ge=1, le=100, examples=[10])
    hop_decay: float = Field(0.85, gt=0, le=1, description="score factor per hop; 1.0 disables decay", examples=[0.85])
    context_expansion_ratio: float = Field(
        0.5, gt=0, le=1, description="share of results that seeds the next hop", examples=[0.5]
    )


class HopReply(Reply):
    """A hop: the first of its texts."""

    hop: int = Field(description="hop, from 0", examples=[0])
    docs: list[str] = Field(description="texts of its first chunks", examples=[["Appeals must be submitted in writing..."]])


class CellReply(Reply):
    """A chunk of the final ranking (H-20)."""

    row_id: int = Field(description="number of the chunk within the namespace", examples=[34])
    value: str = Field(description="text of the chunk", examples=["Appeals must be submitted in writing within 14 days..."])
    role: str = Field(description="paragraph, list, table, code or row", examples=["paragraph"])
    parent: str = Field(description="first chunk under the same headings", examples=["chunk_6"])
    text: str = Field(description="same as `value`", examples=["Appeals must be submitted in writing within 14 days..."])
    score: float = Field(description="higher is better", examples=[0.923])
    hop: int = Field(description="the hop that gave it its score", examples=[0])
    reason: str = Field(description="how it was found", examples=["semantic"])
    chunk_id: str = Field(
        description="id of the chunk that contains it", examples=["chunk:3c067f04242ced37302a063b8b72672e"]
    )
    uri: str = Field(description="URI of the document", examples=["upload://document_upload_3f9a1c2e/appeals.md"])
    title: str = Field(description="title of the document", examples=["Appeals"])
    start: int = Field(description="start offset in the parsed text", examples=[127])
    end: int = Field(description="end offset (exclusive)", examples=[168])


class SymbolicEdgeReply(Reply):
    """A chunk that entered through a symbolic edge (H-23)."""

    hop: int = Field(description="hop, from 0", examples=[0])
    doc_idx: int = Field(description="`row_id` of the chunk", examples=[34])


class MultihopReply(Reply):
    """Hops, final ranking and symbolic edges (H-18 to H-23)."""

    query: str = Field(description="as it was asked", examples=["explain the appeals process"])
    namespace: str = Field(description="namespace", examples=["document_upload_3f9a1c2e"])
    hops: list[HopReply] = Field(description="from the first")
    final_results: list[CellReply] = Field(description="best first")
    symbolic_edges: list[SymbolicEdgeReply] = Field(description="what edges led to")
    symbolic_failures: int = Field(description="hops for which no symbolic edges were found", examples=[0])
    warnings: list[NoticeReply] = Field(description="warnings")
    timings: dict[str, float] = Field(description="milliseconds by step", examples=[{"total": 9.1}])
    calls: dict[str, int] = Field(description="store calls", examples=[{"vector": 4, "graph": 3}])


class UploadReply(Reply):
    """Result of an upload (H-26). Query it in ``namespace``."""

    status: Literal["success", "accepted"] = Field(description="accepted: in progress", examples=["success"])
    namespace: str = Field(description="namespace to query", examples=["document_upload_3f9a1c2e"])
    db_name: str = Field(description="label of the database", examples=["fractal_db"])
    total_cells: int = Field(description="chunks of the document", examples=[42])
    vector_source: Literal["generated"] = Field(description="always generated", default="generated", examples=["generated"])
    job_id: str = Field(description="job id, for /jobs", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status_url: str = Field(description="URL of the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])


@router.post("/unstructured/upload_document", include_in_schema=False)
@router.post(
    "/unstructured/upload_document/",
    operation_id="upload_document",
    summary="Upload a document",
    responses={202: {"model": UploadReply, "description": "in progress: poll the job"}},
)
async def upload_document(
    who: Writer,
    service: TheService,
    response: Response,
    file: Upload,
    metadata: GivenMetadata,
    db_name: Annotated[
        str,
        Form(min_length=1, max_length=LONGEST, pattern=PATTERN, description="label of the database", examples=[DATABASE]),
        NAME,
    ] = DATABASE,
    wait: Wait = 20.0,
) -> UploadReply:
    """Upload and ingest a document into a new namespace, which the response names (H-26)."""
    check_database(who, db_name)
    namespace = f"document_upload_{secrets.token_hex(4)}"  # one for this document alone (H-04)
    job = await take_upload(service, who.tenant, file, namespace, wait, response, metadata)
    records = await service.run(lambda: service.stores.registry.documents(who.tenant, namespace=namespace))
    return UploadReply(
        status="accepted" if job.status == "RUNNING" else "success",
        namespace=namespace,
        db_name=db_name,
        total_cells=sum(record.chunks for record in records),
        job_id=job.id,
        status_url=f"/jobs/{job.id}",
    )


@router.post("/unstructured/multihop_query", include_in_schema=False, response_model=MultihopReply)
@router.post(
    "/unstructured/multihop_query/",
    operation_id="multihop_query",
    summary="Multi-hop query",
    response_model=MultihopReply,
    responses=errors(404),
)
async def multihop_query(who: Reader, service: TheService, body: MultihopRequest) -> dict[str, Any]:
    """Follow the graph hop by hop from the chunks most similar to the query, and rank the results (H)."""
    check_database(who, body.db_name)

    def work() -> dict[str, Any]:
        args = body.model_dump(exclude={"query", "db_name", "namespace", "filters"})
        retriever = cast(MultihopRetriever, service.retriever(who.tenant, "multihop", args))
        longest = service.settings.max_question_chars
        question = Question.of(body.query, body.where(), max_chars=longest, name="query")
        return retriever.query(who.tenant, question, body.namespace, service.stores.registry).to_dict()

    return await service.run(work, asks=who.tenant.whole)

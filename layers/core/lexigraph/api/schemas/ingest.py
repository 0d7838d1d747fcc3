"""Taking documents in: what is asked and answered (E-04 to E-34)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from lexigraph.api.limits import NAME, Body, Reply
from lexigraph.api.schemas.search import NoticeReply
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.storage.protocols import JobEvent, JobRecord, JobStatus

Place = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4_096,
        description="a file or folder of the server; in a deployment s3://BUCKET/TENANT/NAMESPACE/NAME",
        examples=["corpus/flow.md"],
    ),
]
Namespace = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST,
        pattern=PATTERN,
        description="what the documents are filed under",
        examples=["default"],
    ),
    NAME,
]


class IngestRequest(Body):
    """What to ingest (E-08)."""

    path: Place
    namespace: Namespace = Field(description="what it is filed under", default="default", examples=["default"])


class FailureReply(Reply):
    """A file, document, chunk or pair of chunks that failed, and why."""

    uri: str = Field(description="the file or document", examples=["notes.xyz"])
    reason: str = Field(description="why it was not taken in", examples=["is of an unsupported type"])


class SkippedReply(Reply):
    """Files in folders that were passed over, by the ending of their names."""

    ending: str = Field(description="the end of their names, or the whole name", examples=[".doc"])
    files: int = Field(description="how many", examples=[3])
    reason: str = Field(description="why, or what to do", examples=["save it as .docx"])


class IngestReply(Reply):
    """What was done (E-09), all numbers of this run. While the job is not over they are 0 and ``status`` says so."""

    job_id: str = Field(description="ask /jobs for it", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status: JobStatus = Field(description="how the job stands", examples=["SUCCEEDED"])
    status_url: str = Field(description="where to ask for the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    files_processed: int = Field(description="files read", default=0, examples=[1])
    chunks_new: int = Field(
        description="chunks written; without `incremental` also those that had not changed", default=0, examples=[12]
    )
    chunks_skipped: int = Field(description="chunks that had not changed and were passed over", default=0, examples=[4])
    chunks_total: int = Field(default=0, description="written and passed over", examples=[16])
    chunks_embedded: int = Field(default=0, description="chunks that the embedding model was given", examples=[12])
    chunks_failed: int = Field(default=0, description="chunks that the model gave nothing usable for", examples=[0])
    entities_created: int = Field(description="entities that were not there before", default=0, examples=[23])
    facts_created: int = Field(description="facts that were not there before", default=0, examples=[31])
    relations_created: int = Field(description="cooccur_edges and llm_rel_edges together", default=0, examples=[17])
    cooccur_edges: int = Field(
        default=0, description="pairs of entities that several chunks name which were not there before", examples=[9]
    )
    llm_rel_edges: int = Field(
        default=0, description="relations between chunks, found by a model, that were not there before", examples=[8]
    )
    pairs_failed: int = Field(default=0, description="pairs of chunks that the model gave nothing usable for", examples=[0])
    elapsed_sec: float = Field(description="seconds", default=0.0, examples=[2.41])
    incremental: bool = Field(description="what had not changed was skipped", default=False, examples=[True])
    documents_new: int = Field(description="documents ingested", default=0, examples=[1])
    documents_updated: int = Field(description="documents replaced", default=0, examples=[0])
    documents_unchanged: int = Field(description="documents skipped", default=0, examples=[0])
    documents_removed: int = Field(description="records that a file holds no more", default=0, examples=[0])
    failures: list[FailureReply] = Field(description="what was not taken in", default_factory=list, examples=[[]])
    skipped: list[SkippedReply] = Field(
        description="files of no known type in a folder", default_factory=list, examples=[[]]
    )
    chunk_failures: list[FailureReply] = Field(
        description="the first 100 of `chunks_failed`, with their places and reasons", default_factory=list, examples=[[]]
    )
    pair_failures: list[FailureReply] = Field(
        description="the first 100 of `pairs_failed`, with their places and reasons", default_factory=list, examples=[[]]
    )
    warnings: list[NoticeReply] = Field(description="what went less well", default_factory=list, examples=[[]])
    progress: list[dict[str, Any]] | None = Field(
        None,
        description="with `progress`: the stages so far, as the stream tells them",
        examples=[[{"stage": "scan_input", "files": 1}]],
    )

    @classmethod
    def of(cls, job: JobRecord, progress: Sequence[Mapping[str, Any]] | None = None) -> "IngestReply":
        """Return the reply for a job as it stands."""
        result = dict(job.result)
        return cls.model_validate(
            {
                **{name: value for name, value in result.items() if name in cls.model_fields},
                "job_id": job.id,
                "status": job.status,
                "status_url": f"/jobs/{job.id}",
                "namespace": job.request.get("namespace", "default"),
                "incremental": bool(result.get("incremental", job.request.get("incremental", False))),
                "chunks_total": result.get("chunks_new", 0) + result.get("chunks_skipped", 0),
                "progress": progress,
            }
        )


def stage_of(event: JobEvent) -> dict[str, Any]:
    """Return an event of a job as clients are told it."""
    return {"stage": event.stage, **event.data}

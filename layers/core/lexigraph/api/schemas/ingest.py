"""Taking documents in: what is asked and answered (E-04 to E-34)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from lexigraph.api.limits import Body, Name, Reply
from lexigraph.api.schemas.search import NoticeReply
from lexigraph.storage.protocols import JobEvent, JobRecord, JobStatus

Place = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4_096,
        description="file or folder on the server; in a deployment s3://BUCKET/TENANT/NAMESPACE/NAME",
        examples=["corpus/flow.md"],
    ),
]


class IngestRequest(Body):
    """What to ingest (E-08)."""

    path: Place
    namespace: Name = Field(description="namespace", default="default", examples=["default"])


class FailureReply(Reply):
    """A file, document, chunk or pair of chunks that failed, and why."""

    uri: str = Field(description="the file or document", examples=["notes.xyz"])
    reason: str = Field(description="reason of the failure", examples=["is of an unsupported type"])


class SkippedReply(Reply):
    """Skipped files, by suffix."""

    ending: str = Field(description="suffix, or whole name", examples=[".doc"])
    files: int = Field(description="number of files", examples=[3])
    reason: str = Field(description="reason or remedy", examples=["save it as .docx"])


class IngestReply(Reply):
    """Result of the ingest (E-09), with counts of this run; all 0 while it is running."""

    job_id: str = Field(description="job id, for /jobs", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status: JobStatus = Field(description="status of the job", examples=["SUCCEEDED"])
    status_url: str = Field(description="URL of the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])
    namespace: str = Field(description="namespace", examples=["default"])
    files_processed: int = Field(description="number of files read", default=0, examples=[1])
    chunks_new: int = Field(
        description="number of chunks written; without `incremental` including unchanged ones", default=0, examples=[12]
    )
    chunks_skipped: int = Field(description="number of unchanged chunks skipped", default=0, examples=[4])
    chunks_total: int = Field(default=0, description="total of new and skipped chunks", examples=[16])
    chunks_embedded: int = Field(default=0, description="number of chunks embedded", examples=[12])
    chunks_failed: int = Field(default=0, description="number of chunks whose extraction failed", examples=[0])
    entities_created: int = Field(description="number of new entities", default=0, examples=[23])
    facts_created: int = Field(description="number of new facts", default=0, examples=[31])
    relations_created: int = Field(description="cooccur_edges and llm_rel_edges together", default=0, examples=[17])
    cooccur_edges: int = Field(default=0, description="number of new co-occurring entity pairs", examples=[9])
    llm_rel_edges: int = Field(
        default=0, description="number of new relations between chunks found by a model", examples=[8]
    )
    pairs_failed: int = Field(
        default=0, description="number of chunk pairs for which the model returned nothing usable", examples=[0]
    )
    elapsed_sec: float = Field(description="duration in seconds", default=0.0, examples=[2.41])
    incremental: bool = Field(description="whether unchanged content was skipped", default=False, examples=[True])
    documents_new: int = Field(description="number of documents added", default=0, examples=[1])
    documents_updated: int = Field(description="number of documents replaced", default=0, examples=[0])
    documents_unchanged: int = Field(description="number of unchanged documents skipped", default=0, examples=[0])
    documents_removed: int = Field(description="number of records removed from files", default=0, examples=[0])
    failures: list[FailureReply] = Field(
        description="files and documents that could not be ingested", default_factory=list, examples=[[]]
    )
    skipped: list[SkippedReply] = Field(description="unsupported files in a folder", default_factory=list, examples=[[]])
    chunk_failures: list[FailureReply] = Field(
        description="the first 100 failed chunks, with location and reason", default_factory=list, examples=[[]]
    )
    pair_failures: list[FailureReply] = Field(
        description="the first 100 failed pairs, with location and reason", default_factory=list, examples=[[]]
    )
    warnings: list[NoticeReply] = Field(description="warnings", default_factory=list, examples=[[]])
    progress: list[dict[str, Any]] | None = Field(
        None,
        description="with `progress`: the stages so far",
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

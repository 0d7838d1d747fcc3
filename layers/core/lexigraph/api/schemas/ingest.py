"""Taking documents in: what is asked and answered (E-04 to E-34, H-26), and the jobs that do it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from lexigraph.api.limits import Body, Reply
from lexigraph.storage.protocols import JobEvent, JobRecord

Path = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4_096,
        description="a file or folder of the server; in a deployment s3://BUCKET/TENANT/NAMESPACE/NAME",
        examples=["corpus/flow.md"],
    ),
]
Namespace = Annotated[
    str, Field(min_length=1, max_length=128, description="what the documents are filed under", examples=["default"])
]


class IngestRequest(Body):
    """What to take in (E-08)."""

    path: Path
    namespace: Namespace = Field(description="what it is filed under", default="default", examples=["default"])


class FailureReply(Reply):
    """A file or document that was not taken in, and why."""

    uri: str = Field(description="the file or document", examples=["notes.xyz"])
    reason: str = Field(description="why it was not taken in", examples=["is of no known type"])


class IngestReply(Reply):
    """What was done (E-09). While the job is not over, the numbers are 0 and ``status`` says so."""

    job_id: str = Field(description="ask /jobs for it", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status: Literal["RUNNING", "SUCCEEDED", "FAILED"] = Field(description="how the job stands", examples=["SUCCEEDED"])
    status_url: str = Field(description="where to ask for the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    files_processed: int = Field(description="files read", default=0, examples=[1])
    chunks_new: int = Field(description="chunks taken in", default=0, examples=[12])
    chunks_skipped: int = Field(description="chunks that had not changed", default=0, examples=[4])
    chunks_total: int = Field(default=0, description="new and skipped", examples=[16])
    chunks_embedded: int = Field(default=0, description="those that the embedding model was given", examples=[12])
    entities_created: int = Field(description="entities that were not known before", default=0, examples=[23])
    relations_created: int = Field(description="relations that were not known before", default=0, examples=[17])
    cooccur_edges: int = Field(default=0, description="pairs of entities in common chunks, of all documents", examples=[9])
    llm_rel_edges: int = Field(default=0, description="relations between chunks that a model found", examples=[8])
    elapsed_sec: float = Field(description="seconds", default=0.0, examples=[2.41])
    incremental: bool = Field(description="what had not changed was skipped", default=False, examples=[True])
    documents_new: int = Field(description="documents taken in", default=0, examples=[1])
    documents_updated: int = Field(description="documents replaced", default=0, examples=[0])
    documents_unchanged: int = Field(description="documents skipped", default=0, examples=[0])
    documents_removed: int = Field(description="records that a file holds no more", default=0, examples=[0])
    failures: list[FailureReply] = Field(description="what was not taken in", default_factory=list, examples=[[]])

    @classmethod
    def of(cls, job: JobRecord) -> "IngestReply":
        """Return the reply for a job as it stands."""
        result = dict(job.result)
        return cls.model_validate(
            {
                **{name: value for name, value in result.items() if name in cls.model_fields},
                "job_id": job.id,
                "status": job.status,
                "status_url": f"/jobs/{job.id}",
                "namespace": job.request.get("namespace", "default"),
                "incremental": bool(job.request.get("incremental", False)),
                "chunks_total": result.get("chunks_new", 0) + result.get("chunks_skipped", 0),
                "chunks_embedded": min(result.get("embedded", 0), result.get("chunks_new", 0)),
            }
        )


class JobReply(Reply):
    """A job: what was asked for, how it stands, and its result."""

    id: str = Field(description="of the job", examples=["0f6c2d1a9b3e4f508172635445362718"])
    kind: str = Field(description="what it does", examples=["ingest"])
    status: Literal["RUNNING", "SUCCEEDED", "FAILED"] = Field(description="how the job stands", examples=["SUCCEEDED"])
    created_at: str = Field(description="time of the beginning, UTC", examples=["2026-11-22T06:08:27.123+00:00"])
    updated_at: str = Field(description="time of the last change, UTC", examples=["2026-11-22T06:08:29.533+00:00"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    result: dict[str, Any] = Field(description="as the ingest would have answered", examples=[{"chunks_new": 12}])
    reason: str = Field(description="why it failed", examples=[""])

    @classmethod
    def of(cls, job: JobRecord) -> "JobReply":
        """Return the reply for a job."""
        namespace = job.request.get("namespace", "default")
        result = {name: value for name, value in job.result.items() if name != "job_id"}
        return cls(
            id=job.id,
            kind=job.kind,
            status=job.status,
            created_at=job.created_at,
            updated_at=job.updated_at,
            namespace=namespace,
            result=result,
            reason=job.reason,
        )


class JobList(Reply):
    """Jobs, newest first."""

    jobs: list[JobReply] = Field(description="newest first")


class EventReply(Reply):
    """A step of a job; ``seq`` counts from 1."""

    seq: int = Field(description="counts from 1", examples=[1])
    stage: str = Field(description="what was done", examples=["scan_input"])
    at: str = Field(description="time, UTC", examples=["2026-11-22T06:08:27.123+00:00"])
    data: dict[str, Any] = Field(description="figures of the stage", examples=[{"files": 1}])

    @classmethod
    def of(cls, event: JobEvent) -> "EventReply":
        """Return the reply for an event."""
        return cls(seq=event.seq, stage=event.stage, at=event.at, data=dict(event.data))


class EventList(Reply):
    """Events of a job, in order."""

    events: list[EventReply] = Field(description="in order")


class UploadReply(Reply):
    """What came of an uploaded file (H-26). ``namespace`` is what to ask in."""

    status: Literal["success", "accepted"] = Field(description="accepted: still at work", examples=["success"])
    namespace: str = Field(description="what to ask in", examples=["document_upload_3f9a1c2e"])
    db_name: str = Field(description="label of the database", examples=["fractal_db"])
    total_cells: int = Field(description="chunks of the document", examples=[42])
    vector_source: Literal["generated"] = Field(description="always generated", default="generated", examples=["generated"])
    job_id: str = Field(description="ask /jobs for it", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status_url: str = Field(description="where to ask for the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])

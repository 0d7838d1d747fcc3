"""Taking documents in: what is asked and answered (E-04 to E-34)."""

from typing import Annotated, Literal

from pydantic import Field

from lexigraph.api.limits import NAME, Body, Reply
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.storage.protocols import JobRecord

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
    """What to take in (E-08)."""

    path: Place
    namespace: Namespace = Field(description="what it is filed under", default="default", examples=["default"])


class FailureReply(Reply):
    """A file or document that was not taken in, and why."""

    uri: str = Field(description="the file or document", examples=["notes.xyz"])
    reason: str = Field(description="why it was not taken in", examples=["is of no known type"])


class SkippedReply(Reply):
    """Files in folders that were passed over, by the ending of their names."""

    ending: str = Field(description="the end of their names, or the whole name", examples=[".doc"])
    files: int = Field(description="how many", examples=[3])
    reason: str = Field(description="why, or what to do", examples=["save it as .docx"])


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
    skipped: list[SkippedReply] = Field(
        description="files of no known type in a folder", default_factory=list, examples=[[]]
    )

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

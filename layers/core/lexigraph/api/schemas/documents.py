"""Documents as the API shows them."""

from typing import Any, Literal

from pydantic import Field

from lexigraph.api.limits import Reply
from lexigraph.storage.protocols import DocumentRecord


class DocumentReply(Reply):
    """A document and how it stands."""

    id: str = Field(description="of the document", examples=["source:3c067f04242ced37302a063b8b72672e"])
    uri: str = Field(description="where the document comes from", examples=["upload://default/flow.md"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    title: str = Field(description="what it calls itself", examples=["The approval flow"])
    state: Literal["BUILDING", "READY", "REMOVING", "FAILED"] = Field(
        description="whether questions see it", examples=["READY"]
    )
    version: int = Field(description="grows with every change", examples=[1])
    chunks: int = Field(description="pieces of text", examples=[12])
    characters: int = Field(description="of its text", examples=[8_412])
    failed_chunks: int = Field(description="chunks from which nothing could be extracted", examples=[0])
    reason: str = Field(description="why it failed", examples=[""])
    updated_at: str = Field(description="time of the last change, UTC", examples=["2026-11-22T06:08:29.533+00:00"])
    metadata: dict[str, Any] = Field(description="what came with it; filters see it", examples=[{"year": 2024}])

    @classmethod
    def of(cls, record: DocumentRecord) -> "DocumentReply":
        """Return the reply for a document."""
        named = {name: getattr(record, name) for name in cls.model_fields if name not in ("id", "metadata")}
        return cls(id=record.source_id, metadata=dict(record.metadata), **named)


class DocumentList(Reply):
    """A page of documents, by uri; ``next`` is where the next page begins, null at the end."""

    documents: list[DocumentReply] = Field(description="the page")
    next: str | None = Field(description="`after` of the next page, null at the end", examples=[None])


class DocumentJob(Reply):
    """The job that takes a document in."""

    job_id: str = Field(description="ask /jobs for it", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status: Literal["RUNNING", "SUCCEEDED"] = Field(description="how the job stands", examples=["SUCCEEDED"])
    status_url: str = Field(description="where to ask for the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    document: DocumentReply | None = Field(
        description="null while the job is not over, and for a file of several documents", examples=[None]
    )


class Removed(Reply):
    """How many documents were removed."""

    removed: int = Field(description="documents removed", examples=[1])
    job_id: str | None = Field(
        description="the job that removes it, absent where that is done at once", default=None, examples=[None]
    )

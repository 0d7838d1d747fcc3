"""Tokens, money and minutes before an ingest."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, model_validator

from lexigraph.api.access.auth import Writer
from lexigraph.api.estimator import estimate_apart
from lexigraph.api.jobs.uploads import check_whole, file_name
from lexigraph.api.limits import NAME, Body, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.ingest import Place
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion.events import told
from lexigraph.ingestion.jobs import file_type
from lexigraph.ingestion.load import FileItem, passed_over
from lexigraph.ingestion.roots import files_inside
from lexigraph.model.names import PATTERN
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.folders import translated

router = APIRouter(tags=["ingest"])
_SHARE = 0.9  # of the deadline
_BINARY = frozenset("pdf docx odt xlsx xls ods odp pptx epub".split())
_Text = Annotated[str, Field(min_length=1, max_length=900_000)]
_Name = Annotated[str, Field(min_length=1, max_length=200, pattern=PATTERN), NAME]


class EstimateRequest(Body):
    """What to estimate: a ``path`` or a ``text``. Prices of the language model may be given."""

    path: Place | None = Field(None, description="path on the server, as for an ingest", examples=["corpus/flow.md"])
    text: _Text | None = Field(None, description="document text, instead of path", examples=["# Flow\n\nMira Holm signs."])
    name: _Name = Field(
        "text.md", description="file name of the text; its suffix gives the type, if it is one of text", examples=["flow.md"]
    )
    usd_per_million_input: float | None = Field(
        None, ge=0, le=10_000, description="US dollars per million input tokens", examples=[1.0]
    )
    usd_per_million_output: float | None = Field(
        None, ge=0, le=10_000, description="US dollars per million output tokens", examples=[5.0]
    )

    @model_validator(mode="after")
    def _is_one(self) -> "EstimateRequest":
        if (self.path is None) == (self.text is None):
            raise ValueError("give either path, a file or folder of the server, or text")
        return self


class EstimateReply(Reply):
    """Estimated tokens, cost and minutes of a full ingest. Unchanged documents cost nothing."""

    files: int = Field(description="number of files read", examples=[17])
    documents: int = Field(description="number of documents", examples=[19])
    characters: int = Field(description="number of characters", examples=[31_000])
    chunks: int = Field(description="number of chunks", examples=[86])
    model_calls: int = Field(description="language model calls", examples=[0])
    input_tokens: int = Field(description="estimated language model tokens", examples=[0])
    output_tokens: int = Field(description="estimated language model tokens", examples=[0])
    embedding_tokens: int = Field(description="estimated tokens to embed", examples=[15_200])
    usd: float | None = Field(description="US dollars; null if a price is unknown", examples=[0.0])
    minutes: float = Field(description="estimated minutes", examples=[0.12])
    prices_as_of: str = Field(description="date of the price list", examples=["2026-08"])
    notes: list[str] = Field(description="unreadable files and missing prices", examples=[[]])


@router.post("/estimate", operation_id="estimate", summary="Estimate tokens and cost", responses=errors(404))
async def estimate_ingest(who: Writer, service: TheService, body: EstimateRequest) -> EstimateReply:
    """Read and chunk documents without calling a model, and estimate tokens, cost and time. Nothing is stored."""
    if body.path is not None:
        check_whole(who.tenant)
    # the process ends before the answer is due, so that whoever waits for it can say so
    until = time.monotonic() + _SHARE * service.settings.api_deadline
    prices = body.model_dump(include={"usd_per_million_input", "usd_per_million_output"})

    def work() -> dict[str, Any]:
        skipped: Counter[str] = Counter()
        with _files(service, who.tenant, body, skipped) as items:
            found = estimate_apart(items, service.settings, prices, until)
        notes = [f"skipped {told(passed_over(skipped))}"] if skipped else []
        return {**found, "notes": [*found["notes"], *notes]}

    return EstimateReply.model_validate(await service.run(work, alone=who.tenant.whole))


@contextmanager
def _files(service: Service, tenant: Tenant, body: EstimateRequest, skipped: Counter[str]) -> Iterator[list[FileItem]]:
    """Give the files that are meant, as long as the block lasts; count those of no known type in ``skipped``."""
    if body.path is not None and service.handover is None:
        yield files_inside(tenant, [body.path], service.settings, skipped)[0]
        return
    with TemporaryDirectory() as folder:
        if body.path is not None and service.handover:
            yield [service.handover.fetch(tenant, body.path, Path(folder))]
        else:
            name = PurePosixPath(file_name(body.name, "name")).name
            type_ = file_type(name, "name")
            # text is text: it is not packed, nor in a format that only bytes can have
            file = Path(folder) / (name[:-3] if name.lower().endswith(".gz") else name)
            type_ = "txt" if type_ in _BINARY else type_
            with translated(file):
                file.write_text(body.text or "", encoding="utf-8")
            yield [FileItem(file, file.as_uri(), type_)]

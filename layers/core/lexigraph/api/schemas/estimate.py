"""What an ingest would take."""

from typing import Annotated

from pydantic import Field, model_validator

from lexigraph.api.limits import Body, Reply
from lexigraph.api.schemas.ingest import Path

_Text = Annotated[str, Field(min_length=1, max_length=900_000)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class EstimateRequest(Body):
    """What would be taken in: what lies at ``path``, or a ``text``. The language model's prices are the caller's to give."""

    path: Path | None = Field(None, description="what lies on the server, as for an ingest", examples=["corpus/flow.md"])
    text: _Text | None = Field(None, description="a document, instead of path", examples=["# Flow\n\nMira Holm signs."])
    name: _Name = Field("text.md", description="of the text: its end says the type", examples=["flow.md"])
    usd_per_million_input: float | None = Field(None, ge=0, le=10_000, description="dollars", examples=[1.0])
    usd_per_million_output: float | None = Field(None, ge=0, le=10_000, description="dollars", examples=[5.0])

    @model_validator(mode="after")
    def _is_one(self) -> "EstimateRequest":
        if (self.path is None) == (self.text is None):
            raise ValueError("give either path, a file or folder of the server, or text")
        return self


class EstimateReply(Reply):
    """Tokens, money and minutes of taking everything in anew; what is unchanged costs nothing."""

    files: int = Field(description="files read", examples=[17])
    documents: int = Field(description="documents in them", examples=[19])
    characters: int = Field(description="of its text", examples=[31_000])
    chunks: int = Field(description="pieces of text", examples=[86])
    model_calls: int = Field(description="calls of the language model", examples=[0])
    input_tokens: int = Field(description="of the language model, about", examples=[0])
    output_tokens: int = Field(description="of the language model, about", examples=[0])
    embedding_tokens: int = Field(description="about", examples=[15_200])
    usd: float | None = Field(description="dollars; null where a price is not known", examples=[0.0])
    minutes: float = Field(description="about", examples=[0.12])
    prices_as_of: str = Field(description="month of the prices known", examples=["2026-08"])
    notes: list[str] = Field(description="what could not be read, which price is missing", examples=[[]])

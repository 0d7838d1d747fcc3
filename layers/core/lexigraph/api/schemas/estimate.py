"""What an ingest would take."""

from pydantic import Field

from lexigraph.api.limits import Body, Reply
from lexigraph.api.schemas.ingest import Path


class EstimateRequest(Body):
    """What would be taken in. The prices of the language model are the caller's to give."""

    path: Path
    usd_per_million_input: float | None = Field(None, ge=0, le=10_000, description="dollars", examples=[1.0])
    usd_per_million_output: float | None = Field(None, ge=0, le=10_000, description="dollars", examples=[5.0])


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

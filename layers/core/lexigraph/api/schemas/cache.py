"""What the server remembers (E-57, E-58)."""

from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply


class CacheStats(Reply):
    """The tenant's entries, oldest first."""

    embedding_cache_size: int = Field(description="questions whose vectors are remembered", examples=[1])
    answer_cache_size: int = Field(description="questions whose answers are remembered", examples=[1])
    embedding_cache_keys: list[str] = Field(description="which, oldest first", examples=[["question:Describe the flow"]])
    answer_cache_keys: list[str] = Field(description="which, oldest first", examples=[["Describe the flow"]])


class Cleared(Reply):
    """The entries are gone."""

    cleared: Literal[True] = Field(description="always true", default=True, examples=[True])

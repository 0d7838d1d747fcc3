"""What the server remembers (E-57, E-58)."""

from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply


class CacheStats(Reply):
    """The tenant's entries, oldest first."""

    embedding_cache_size: int = Field(examples=[1])
    answer_cache_size: int = Field(examples=[1])
    embedding_cache_keys: list[str] = Field(examples=[["question:Describe the flow"]])
    answer_cache_keys: list[str] = Field(examples=[["Describe the flow"]])


class Cleared(Reply):
    """The entries are gone."""

    cleared: Literal[True] = Field(default=True, examples=[True])

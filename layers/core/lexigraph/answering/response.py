"""Responses of the query engine: the answer, its citations, and the search results behind it."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.answering.support import Unsupported
from lexigraph.model.errors import LexigraphError
from lexigraph.model.results import Citation, Notice, SearchResults


@dataclass(frozen=True, slots=True)
class QueryResponse:
    """An answer with its citations.

    Attributes:
        question: The question as asked.
        response: The text, with citation labels such as ``[S1]``.
        citations: The sources cited, ordered by label.
        sources: Every source that could have been cited.
        results: The search results behind the answer.
        extractive: True if no language model wrote the answer.
        warnings: Warnings of retrieval, then of the answer.
        timings: Milliseconds by step: retrieve, answer, total.
        unsupported: Sentences and citations of a language model that the cited statements do not support; in a strict
            answer, those removed.
        rewritten: The question completed from the history, as used for retrieval; else empty.
        confidence: Confidence that the documents answer the question, 0 to 1.
        answerable: Whether the confidence suffices; if not, there is a ``weak_match`` warning and an extractive answer
            says "not found".
    """

    question: str
    response: str
    citations: tuple[Citation, ...]
    sources: tuple[Citation, ...]
    results: SearchResults
    extractive: bool
    warnings: tuple[Notice, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    unsupported: tuple[Unsupported, ...] = ()
    rewritten: str = ""
    confidence: float = 1.0
    answerable: bool = True

    def __str__(self) -> str:
        return self.response

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with keys in a fixed order: the JSON that the CLI prints."""
        return {
            "question": self.question,
            "rewritten": self.rewritten,
            "answer": self.response,
            "answerable": self.answerable,
            "confidence": self.confidence,
            "extractive": self.extractive,
            "citations": [asdict(c) for c in self.citations],
            "unsupported": [asdict(u) for u in self.unsupported],
            "warnings": [asdict(w) for w in self.warnings],
            "timings": dict(self.timings),
            "results": self.results.to_dict(),
        }


class StreamingQueryResponse:
    """A streamed answer: iterate over it (``for``, ``async for``) or over ``response_gen``.

    ``results``, ``confidence``, ``answerable`` and ``offered``, the sources that a language model may cite (none without
    one), are available at once. The other attributes are those of
    :class:`QueryResponse`; reading one of them waits for the end of the stream. The pieces concatenate to ``response``.
    """

    def __init__(
        self,
        question: str,
        results: SearchResults,
        pieces: Generator[str, None, QueryResponse],
        confidence: float = 1.0,
        answerable: bool = True,
        offered: tuple[Citation, ...] = (),
    ) -> None:
        self.question = question
        self.results = results
        self.offered = offered
        self.confidence, self.answerable = confidence, answerable
        self._pieces = pieces
        self._whole: QueryResponse | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration as stop:
            if stop.value is not None:
                self._whole = stop.value
            raise

    async def __aiter__(self) -> AsyncIterator[str]:
        while (piece := await asyncio.to_thread(next, self, None)) is not None:
            yield piece

    def __str__(self) -> str:
        return self.response

    @property
    def response_gen(self) -> Iterator[str]:
        """The rest of the stream."""
        return self

    def complete(self) -> QueryResponse:
        """Read the stream to its end and return the whole response."""
        for _ in self:
            pass
        if self._whole is None:
            raise LexigraphError("the answer was closed before its end: ask again")
        return self._whole

    def close(self) -> None:
        """Close the stream and stop reading the model's reply."""
        self._pieces.close()

    @property
    def response(self) -> str:
        """The text of the whole answer."""
        return self.complete().response

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources cited, ordered by label."""
        return self.complete().citations

    @property
    def sources(self) -> tuple[Citation, ...]:
        """Every source that could have been cited."""
        return self.complete().sources

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The warnings of retrieval and of the answer."""
        return self.complete().warnings

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """Sentences and citations that the cited statements do not support."""
        return self.complete().unsupported

    @property
    def rewritten(self) -> str:
        """The question completed from the history, as used for retrieval; else empty."""
        return self.complete().rewritten

    @property
    def extractive(self) -> bool:
        """True if no language model wrote the answer."""
        return self.complete().extractive

    @property
    def timings(self) -> Mapping[str, float]:
        """Milliseconds by step."""
        return self.complete().timings

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, like :meth:`QueryResponse.to_dict`."""
        return self.complete().to_dict()

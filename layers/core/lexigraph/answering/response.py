"""What a question gets back from the query engine: an answer, its citations, and the results behind it."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.answering.support import Unsupported
from lexigraph.model.errors import LexigraphError
from lexigraph.model.results import Citation, Notice, SearchResults


@dataclass(frozen=True, slots=True)
class QueryResponse:
    """An answer.

    ``response`` is the text, with labels such as ``[S1]``; ``citations`` are what those labels stand for, in the order
    of the labels; ``sources`` all that was offered for citing. ``extractive`` tells that no language model wrote it.
    ``rewritten`` is what was searched for where the history completed the question; else empty. ``warnings`` are those of
    retrieval, then those of the answer. ``timings`` are milliseconds: retrieve, answer, total. ``confidence`` tells how sure
    it is, 0 to 1, that the documents answer the question, ``answerable`` whether that is enough; where it is not, a warning
    (``weak_match``) says so, and an extractive answer says "not found". ``unsupported`` are the sentences of a language
    model, and its citations, that the statements cited do not bear out; of a strict answer, those left out.
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
        """Return plain data, keys in a fixed order: the JSON of the CLI."""
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
    """An answer that arrives in pieces: iterate over it (``for``, ``async for``) or over ``response_gen``.

    ``results``, ``confidence`` and ``answerable`` are there from the start. The other attributes are those of
    :class:`QueryResponse`; reading one of them before the end first waits for the rest. Its pieces joined are exactly
    ``response``.
    """

    def __init__(
        self,
        question: str,
        results: SearchResults,
        pieces: Generator[str, None, QueryResponse],
        confidence: float = 1.0,
        answerable: bool = True,
    ) -> None:
        self.question = question
        self.results = results
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
        """The pieces of the answer that have not been read yet."""
        return self

    def complete(self) -> QueryResponse:
        """Read to the end and return the whole response."""
        for _ in self:
            pass
        if self._whole is None:
            raise LexigraphError("the answer was given up before its end: ask again")
        return self._whole

    def close(self) -> None:
        """Give the answer up: the model's reply is not read further."""
        self._pieces.close()

    @property
    def response(self) -> str:
        """The whole text."""
        return self.complete().response

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the labels of the answer stand for."""
        return self.complete().citations

    @property
    def sources(self) -> tuple[Citation, ...]:
        """All that was offered for citing."""
        return self.complete().sources

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The warnings of retrieval and of the answer."""
        return self.complete().warnings

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What the statements cited do not bear out."""
        return self.complete().unsupported

    @property
    def rewritten(self) -> str:
        """What was searched for where the history completed the question; else empty."""
        return self.complete().rewritten

    @property
    def extractive(self) -> bool:
        """Whether no language model wrote the answer."""
        return self.complete().extractive

    @property
    def timings(self) -> Mapping[str, float]:
        """Milliseconds by step."""
        return self.complete().timings

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, like :meth:`QueryResponse.to_dict`."""
        return self.complete().to_dict()

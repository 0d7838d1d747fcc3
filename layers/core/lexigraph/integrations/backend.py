"""The common backend of the integrations: statements and answers from local stores or from a server."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

from lexigraph.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved statement. ``label`` is its citation label in an answer; empty if it is not cited.

    ``start`` and ``end`` are character offsets in the parsed document, ``before`` and ``after`` the adjacent statements, if
    known, and ``metadata`` is that of the document.
    """

    id: str
    text: str
    score: float
    uri: str
    title: str
    document_id: str
    chunk_id: str
    start: int | None
    end: int | None
    topic: str = ""
    reason: str = ""
    path: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    label: str = ""
    before: tuple[tuple[str, str], ...] = ()
    after: tuple[tuple[str, str], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return the metadata for the framework's document as plain values, the document's metadata first."""
        own = {
            "title": self.title,
            "topic": self.topic,
            "uri": self.uri,
            "document_id": self.document_id,
            "chunk_id": self.chunk_id,
            "statement_id": self.id,
            "start": self.start,
            "end": self.end,
            "reason": self.reason,
            "path": " > ".join(self.path),
            "label": self.label,
        }
        kept = {name: value for name, value in self.metadata.items() if name not in ("title", "namespace")}
        return {**kept, **{name: value for name, value in own.items() if value not in ("", None)}}


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with its cited statements, ordered by label."""

    text: str
    cited: tuple[Hit, ...]
    answerable: bool
    confidence: float
    warnings: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return the metadata for the framework's response."""
        return {"answerable": self.answerable, "confidence": self.confidence, "warnings": list(self.warnings)}

    def told(self) -> str:
        """Return the answer as tool output for an agent: with the text of each source, or a note that there is none."""
        if not self.answerable:
            return "The documents do not answer this question."
        sources = "\n".join(f"[{hit.label}] {hit.title or hit.uri}: {hit.text}" for hit in self.cited)
        return f"{self.text}\n\nSources:\n{sources}"


class Streamed(Protocol):
    """A streamed answer; ``answered`` is set once the stream has been read."""

    answered: Answered | None

    def __iter__(self) -> Iterator[str]: ...


class AsyncStreamed(Protocol):
    """A streamed answer, for ``async for``."""

    answered: Answered | None

    def __aiter__(self) -> AsyncIterator[str]: ...


class Backend(Protocol):
    """A source of statements and answers."""

    def retrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]: ...
    async def aretrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]: ...
    def answer(self, question: str) -> Answered: ...
    async def aanswer(self, question: str) -> Answered: ...
    def stream(self, question: str) -> Streamed: ...
    def astream(self, question: str) -> AsyncStreamed: ...


def backend(
    *,
    index: str | None = None,
    url: str | None = None,
    api_key: str | None = None,
    retriever: str = "traversal",
    tenant: str | None = None,
    filters: Mapping[str, Any] | None = None,
    llm: Any = None,
    **parameters: Any,
) -> Backend:
    """Create the backend for a local index (``index``: its folder or connection string) or for a server (``url``).

    Give exactly one of the two. ``tenant`` and ``llm`` apply to a local index only: a server uses the tenant of the key and
    its own model. ``parameters`` are those of the retriever. Raise ``InvalidInput`` for any other combination.
    """
    if (index is None) == (url is None):
        raise InvalidInput("pass either index (a folder or connection string) or url (the address of a server)")
    if url is not None:
        if tenant is not None or llm is not None:
            raise InvalidInput("tenant and llm cannot be used with url: the server sets both")
        return Remote(url, api_key, retriever, filters, parameters)
    if api_key is not None:
        raise InvalidInput("api_key cannot be used with index: pass it with url")
    connection = index if index and "://" in index else f"sqlite:///{index}"
    return Local(connection, retriever, tenant=tenant, filters=filters, llm=llm, **parameters)


class Local:
    """A local index: stores on this machine, or those of a connection string."""

    def __init__(self, connection: str, retriever: str, **options: Any) -> None:
        from lexigraph.answering.query_engine import LexicalGraphQueryEngine

        self._engine = LexicalGraphQueryEngine.for_retriever(retriever, connection, connection, **options)

    def retrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]:
        return hits(self._engine.retrieve(question, filters=filters).to_dict())

    async def aretrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]:
        return await asyncio.to_thread(self.retrieve, question, filters)

    def answer(self, question: str) -> Answered:
        return _answered(self._engine.stream(question).complete())

    async def aanswer(self, question: str) -> Answered:
        return await asyncio.to_thread(self.answer, question)

    def stream(self, question: str) -> "LocalStream":
        return LocalStream(self._engine, question)

    def astream(self, question: str) -> "LocalStream":
        return LocalStream(self._engine, question)


class LocalStream:
    """A streamed answer from local stores."""

    def __init__(self, engine: Any, question: str) -> None:
        self._engine, self._question = engine, question
        self.answered: Answered | None = None

    def __iter__(self) -> Iterator[str]:
        response = self._engine.stream(self._question)
        yield from response
        self.answered = _answered(response.complete())

    async def __aiter__(self) -> AsyncIterator[str]:
        response = await self._engine.astream(self._question)
        async for piece in response:
            yield piece
        self.answered = _answered(response.complete())


class Remote:
    """A server, accessed through its client."""

    def __init__(
        self, url: str, api_key: str | None, retriever: str, filters: Mapping[str, Any] | None, parameters: Mapping[str, Any]
    ) -> None:
        from lexigraph.client import AsyncClient, Client

        self._client = Client(url, api_key)
        self._make = partial(AsyncClient, url, api_key)  # one a question: it belongs to an event loop
        self._retriever: Any = retriever
        self._filters, self._parameters = filters, dict(parameters)

    def _options(self, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        wanted = filters or self._filters
        return {"parameters": self._parameters, **({"filters": wanted} if wanted else {})}

    def retrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]:
        return hits(self._client.retrieve(question, self._retriever, **self._options(filters)))

    async def aretrieve(self, question: str, filters: Mapping[str, Any] | None = None) -> list[Hit]:
        async with self._make() as client:
            return hits(await client.retrieve(question, self._retriever, **self._options(filters)))

    def answer(self, question: str) -> Answered:
        return _replied(self._client.query(question, retriever=self._retriever, **self._options()))

    async def aanswer(self, question: str) -> Answered:
        async with self._make() as client:
            return _replied(await client.query(question, retriever=self._retriever, **self._options()))

    def stream(self, question: str) -> "RemoteStream":
        return RemoteStream(self, question)

    def astream(self, question: str) -> "RemoteStream":
        return RemoteStream(self, question)


class RemoteStream:
    """A streamed answer from a server."""

    def __init__(self, remote: Remote, question: str) -> None:
        self._remote, self._question = remote, question
        self.answered: Answered | None = None

    def __iter__(self) -> Iterator[str]:
        remote = self._remote
        with remote._client.stream(self._question, retriever=remote._retriever, **remote._options()) as answer:
            yield from answer
        self.answered = _replied(answer.result or {})

    async def __aiter__(self) -> AsyncIterator[str]:
        remote = self._remote
        options = {"retriever": remote._retriever, **remote._options()}
        async with remote._make() as client, client.stream(self._question, **options) as answer:
            async for piece in answer:
                yield piece
        self.answered = _replied(answer.result or {})


def hits(found: Mapping[str, Any]) -> list[Hit]:
    """Return the statements of results in their JSON form, best first."""
    told = [
        Hit(
            id=one["id"],
            text=one["text"],
            score=float(one["score"]),
            uri=result["source"],
            title=result["metadata"].get("title", ""),
            document_id=result["document_id"],
            chunk_id=one["chunk_id"],
            start=one["start"],
            end=one["end"],
            topic=result["topic"],
            reason=one["reason"],
            path=tuple(one["path"]),
            facts=tuple(one["facts"]),
            before=_around(one, before=True),
            after=_around(one, before=False),
            metadata=result["metadata"],
        )
        for result in found["results"]
        for one in result["details"]
    ]
    return sorted(told, key=lambda hit: -hit.score)


def _around(one: Mapping[str, Any], *, before: bool) -> tuple[tuple[str, str], ...]:
    return tuple((c["id"], c["text"]) for c in one.get("context", ()) if (c["start"] < one["start"]) == before)


def _answered(response: Any) -> Answered:
    """Return an answer of the engine."""
    found = {hit.id: hit for hit in hits(response.results.to_dict())}
    return Answered(
        response.response,
        tuple(_cited(asdict(c), found.get(c.statement_id), c.source_id) for c in response.citations),
        response.answerable,
        response.confidence,
        tuple(w.detail for w in response.warnings),
    )


def _replied(reply: Mapping[str, Any]) -> Answered:
    """Return an answer of a server: its sources that it refers to."""
    labels = {one["label"] for one in reply.get("references", ())}
    cited = (one for one in reply.get("sources", ()) if one["label"] in labels)
    return Answered(
        reply.get("answer", ""),
        tuple(_cited(one, None, one.get("document_id", "")) for one in cited),
        bool(reply.get("answerable", True)),
        float(reply.get("confidence", 0)),
        tuple(w["detail"] for w in reply.get("warnings", ())),
    )


def _cited(one: Mapping[str, Any], hit: Hit | None, document_id: str) -> Hit:
    """Return a citation; ``hit`` is what retrieval told of the same statement."""
    return Hit(
        id=one.get("statement_id", ""),
        text=one["text"],
        score=hit.score if hit else float(one.get("final_score") or 0),
        uri=one.get("uri", ""),
        title=one.get("title", ""),
        document_id=document_id,
        chunk_id=one.get("chunk_id") or one.get("id", ""),
        start=one.get("start"),
        end=one.get("end"),
        topic=hit.topic if hit else one.get("topic", ""),
        reason=hit.reason if hit else one.get("reason", ""),
        path=hit.path if hit else tuple(one.get("path") or ()),
        facts=hit.facts if hit else (),
        label=one["label"],
        before=hit.before if hit else (),
        after=hit.after if hit else (),
        metadata=hit.metadata if hit else {},
    )

"""The client for ``async``. ``synchronous`` is made from this file: `python -m tests.client_code`."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, cast

import httpx

from lexigraph.client import types
from lexigraph.client.failures import ApiFailure, Unreachable, decoded, failure_of
from lexigraph.client.requests import (
    BROKEN,
    HEADER,
    LARGE_BYTES,
    address,
    document,
    form,
    given,
    inside,
    parameters,
    pause,
    refused,
    sent,
)
from lexigraph.client.streams import AsyncAnswer, Event, Parser
from lexigraph.model.errors import InvalidInput

_ENDED = frozenset({"SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"})
_POLL_SECONDS = 1.0


class AsyncClient:
    """A client of the HTTP API. Use it in a ``with`` block or call ``close``; it can be shared between threads or tasks.

    ``url`` and ``api_key`` default to the environment (``LEXIGRAPH_URL``, ``LEXIGRAPH_API_KEY``), ``url`` then to
    ``http://127.0.0.1:8010``. ``timeout`` is in seconds and applies to connecting and to each read. Requests that fail
    because the server is busy, restarting or rate limiting are tried up to ``attempts`` times. ``transport`` is an httpx
    transport.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        attempts: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url, key = given(url, api_key)
        self._attempts = attempts
        headers = {HEADER: key} if key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    # ------------------------------------------------------------ questions

    async def query(self, question: str, **options: Unpack[types.QueryOptions]) -> types.QueryReply:
        """Answer a question, with citations."""
        return cast(types.QueryReply, await self._call("query", body={"question": question, **options}))

    def stream(self, question: str, **options: Unpack[types.QueryOptions]) -> AsyncAnswer:
        """Stream the answer to a question. The request is sent when iteration begins."""
        return AsyncAnswer(self._events("query", body={"question": question, **options, "stream": True}))

    async def retrieve(
        self, question: str, retriever: str = "traversal", **options: Unpack[types.RetrieveOptions]
    ) -> types.RetrieveReply:
        """Retrieve ranked statements, each with its reason and score parts."""
        reply = await self._call("retrieve", {"retriever": retriever}, body={"question": question, **options})
        return cast(types.RetrieveReply, reply)

    async def multidoc(self, question: str, **options: Unpack[types.MultidocOptions]) -> types.MultidocReply:
        """Answer a question from the best sections of several documents."""
        return cast(types.MultidocReply, await self._call("query_multidoc", body={"question": question, **options}))

    async def multihop(self, query: str, **options: Unpack[types.MultihopOptions]) -> types.MultihopReply:
        """Follow the graph hop by hop within a namespace. ``db_name`` and ``namespace`` are required."""
        return cast(types.MultihopReply, await self._call("multihop_query", body={"query": query, **options}))

    async def recall(self, query: str, **options: Unpack[types.RecallOptions]) -> types.RecallReply:
        """Recall entities, statements and topics within a session."""
        return cast(types.RecallReply, await self._call("hm_recall", body={"query": query, **options}))

    async def preview(self, question: str, **options: Unpack[types.PreviewOptions]) -> types.PreviewReply:
        """Return the ranking that an answer would use, with score parts."""
        return cast(types.PreviewReply, await self._call("ranking_preview", body={"question": question, **options}))

    async def statement(self, statement_id: str) -> types.StatementPlace:
        """Return a statement with its document and offsets."""
        return cast(types.StatementPlace, await self._call("get_statement", {"statement_id": statement_id}))

    # ------------------------------------------------------------ ingestion

    async def upload(
        self,
        file: Path | str | tuple[str, bytes],
        *,
        namespace: str = "default",
        metadata: Mapping[str, object] | None = None,
        wait: float = 600.0,
        on_event: Callable[[types.EventReply], None] | None = None,
    ) -> types.JobReply:
        """Upload a file, or a name with bytes, and wait up to ``wait`` seconds until it is ingested (0: do not wait).

        A file of the same name in the same namespace is replaced; names may have folders (``guide/index.md``). The job of a
        file that cannot be read FAILED. Files over 4 MB go to the upload URL of a deployment. ``on_event`` is called with
        each event of the job. Raise ``InvalidInput`` if the server rejects the file.
        """
        name, data = document(file)
        # metadata can only be sent with the file
        large = len(data) > LARGE_BYTES and not metadata
        job_id = await self._offered(name, data, namespace) if large else None
        if job_id is None:
            query = parameters(wait=0)
            reply = await self._call(
                "send_document", query=query, data=form(metadata, namespace=namespace), files={"file": (name, data)}
            )
            job_id = str(reply["job_id"])
        return await self.wait(job_id, wait, on_event=on_event)

    async def upload_folder(
        self,
        folder: Path | str,
        *,
        namespace: str = "default",
        metadata: Mapping[str, object] | None = None,
        wait: float = 600.0,
    ) -> AsyncIterator[tuple[Path, types.JobReply]]:
        """Upload a folder recursively, one file at a time; yield each file with its job.

        Names have the folders below ``folder``: ``guide/index.md``. All files get the ``metadata``. A file that the server
        rejects has a job without id, FAILED with the ``reason``, and the others follow. Hidden files are left out. Raise
        ``InvalidInput`` if there is no such folder.
        """
        for path, name in inside(Path(folder)):
            try:
                job = await self.upload((name, document(path)[1]), namespace=namespace, metadata=metadata, wait=wait)
            except InvalidInput as error:
                job = refused(namespace, str(error))
            yield path, job

    async def _offered(self, name: str, data: bytes, namespace: str) -> str | None:
        """Put a large file where the server says; return the job, None where the server takes it directly."""
        try:
            offer = await self._call("offer_upload", body={"name": name, "namespace": namespace})
        except ApiFailure as error:
            if error.status in (404, 405):  # a server that ingests files itself has no such route
                return None
            raise
        reply = await self._http.put(offer["url"], content=data, headers={**offer["headers"], HEADER: ""})
        if not reply.is_success:
            raise failure_of(reply.status_code, reply.content)
        return str(offer["job_id"])

    async def upload_document(
        self,
        file: Path | str | tuple[str, bytes],
        *,
        db_name: str = "fractal_db",
        metadata: Mapping[str, object] | None = None,
        wait: float = 20.0,
    ) -> types.UploadReply:
        """Upload a file into a new namespace, which the reply names, for ``multihop``."""
        name, data = document(file)
        sent = form(metadata, db_name=db_name)
        reply = await self._call("upload_document", query=parameters(wait=wait), data=sent, files={"file": (name, data)})
        return cast(types.UploadReply, reply)

    async def ingest(
        self,
        path: str,
        *,
        namespace: str = "default",
        incremental: bool | None = None,
        refresh: bool | None = None,
        refresh_relations: bool | None = None,
        checkpoint: bool | None = None,
        progress: bool | None = None,
        wait: float | None = None,
    ) -> types.IngestReply:
        """Ingest a file or folder on the server."""
        query = parameters(
            incremental=incremental,
            refresh=refresh,
            refresh_relations=refresh_relations,
            checkpoint=checkpoint,
            progress=progress,
            wait=wait,
        )
        return cast(types.IngestReply, await self._call("ingest", query=query, body={"path": path, "namespace": namespace}))

    async def ingest_stream(self, path: str, **options: str | float | bool) -> AsyncIterator[Event]:
        """Ingest a file or folder on the server and yield its events."""
        async for event in self._events("ingest_and_stream", query=parameters(path=path, **options)):
            yield event

    async def estimate(self, **what: Unpack[types.EstimateRequest]) -> types.EstimateReply:
        """Estimate tokens and cost of ingesting a ``path`` on the server, or a ``text``."""
        return cast(types.EstimateReply, await self._call("estimate", body=dict(what)))

    async def job(self, job_id: str) -> types.JobReply:
        """Return a job."""
        return cast(types.JobReply, await self._call("get_job", {"job_id": job_id}))

    async def jobs(self, limit: int = 20) -> list[types.JobReply]:
        """Return the most recent jobs, newest first."""
        return cast(list[types.JobReply], (await self._call("list_jobs", query=parameters(limit=limit)))["jobs"])

    async def job_events(self, job_id: str, after: int = 0) -> list[types.EventReply]:
        """Return the events of a job after a sequence number."""
        reply = await self._call("job_events", {"job_id": job_id}, query=parameters(after=after))
        return cast(list[types.EventReply], reply["events"])

    async def cancel_job(self, job_id: str) -> types.JobReply:
        """Cancel an ingest."""
        return cast(types.JobReply, await self._call("cancel_job", {"job_id": job_id}))

    async def wait(
        self, job_id: str, seconds: float = 600.0, *, on_event: Callable[[types.EventReply], None] | None = None
    ) -> types.JobReply:
        """Wait until a job ends, or up to ``seconds``; return its current state."""
        deadline, seen = time.monotonic() + seconds, 0
        while True:
            job = await self.job(job_id)
            if on_event:
                for event in await self.job_events(job_id, seen):
                    seen = event["seq"]
                    on_event(event)
            if job["status"] in _ENDED or time.monotonic() >= deadline:
                return job
            await asyncio.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))

    # ------------------------------------------------------------ documents and entities

    def documents(self, *, namespace: str | None = None, find: str | None = None) -> AsyncIterator[types.DocumentReply]:
        """Iterate over documents, sorted by URI; ``find`` filters by words in title, URI and namespace."""
        query = parameters(namespace=namespace, find=find)
        return cast(AsyncIterator[types.DocumentReply], self._pages("list_documents", "documents", query=query, by="after"))

    async def document(self, document_id: str) -> types.DocumentReply:
        """Return a document's record."""
        return cast(types.DocumentReply, await self._call("get_document", {"document_id": document_id}))

    async def document_text(self, document_id: str, *, start: int = 0, limit: int | None = None) -> types.TextReply:
        """Return a range of a document's parsed text."""
        query = parameters(start=start, limit=limit)
        return cast(types.TextReply, await self._call("document_text", {"document_id": document_id}, query=query))

    async def document_outline(self, document_id: str) -> types.OutlineReply:
        """Return the headings, pages, code blocks and tables of a document."""
        return cast(types.OutlineReply, await self._call("document_outline", {"document_id": document_id}))

    def document_topics(self, document_id: str) -> AsyncIterator[types.TopicReply]:
        """Iterate over a document's topics."""
        pages = self._pages("document_topics", "topics", {"document_id": document_id})
        return cast(AsyncIterator[types.TopicReply], pages)

    def document_statements(
        self, document_id: str, *, start: int | None = None, end: int | None = None
    ) -> AsyncIterator[types.PlacedStatement]:
        """Iterate over a document's statements in reading order, or those within a range of its text."""
        query = parameters(start=start, end=end)
        pages = self._pages("document_statements", "statements", {"document_id": document_id}, query)
        return cast(AsyncIterator[types.PlacedStatement], pages)

    async def delete_document(self, document_id: str) -> types.Removed:
        """Delete a document and everything that only it supports."""
        return cast(types.Removed, await self._call("remove_document", {"document_id": document_id}))

    def entities(self, q: str | None = None) -> AsyncIterator[types.EntitySummary]:
        """Iterate over entities whose names contain the words, best first; without words, over all, most documents first."""
        return cast(AsyncIterator[types.EntitySummary], self._pages("find_entities", "entities", query=parameters(q=q)))

    async def entity(self, entity_id: str) -> types.EntityReply:
        """Return an entity with its names, classes, aliases and counts."""
        return cast(types.EntityReply, await self._call("get_entity", {"entity_id": entity_id}))

    def entity_statements(self, entity_id: str, *, document: str | None = None) -> AsyncIterator[types.SourceStatements]:
        """Iterate over the statements that mention an entity, grouped by document. A document may come in several parts."""
        pages = self._pages("entity_statements", "sources", {"entity_id": entity_id}, parameters(document=document))
        return cast(AsyncIterator[types.SourceStatements], pages)

    def entity_neighbours(self, entity_id: str) -> AsyncIterator[types.NeighbourReply]:
        """Iterate over the entities that occur in the same statements, most frequent first."""
        pages = self._pages("entity_neighbours", "neighbours", {"entity_id": entity_id})
        return cast(AsyncIterator[types.NeighbourReply], pages)

    async def egonet(
        self,
        node_id: str,
        *,
        depth: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
        kinds: Sequence[str] | None = None,
    ) -> types.Egonet:
        """Return the neighbourhood of a node."""
        joined = ",".join(kinds) if kinds else None
        query = parameters(id=node_id, depth=depth, limit=limit, offset=offset, kinds=joined)
        return cast(types.Egonet, await self._call("egonet", query=query))

    # ------------------------------------------------------------ administration

    async def keys(self) -> list[types.KeyReply]:
        """Return the tenant's keys, including revoked ones."""
        return cast(list[types.KeyReply], (await self._call("list_keys"))["keys"])

    async def create_key(self, **key: Unpack[types.NewKey]) -> types.MadeKey:
        """Create a key and return it with its secret, which cannot be retrieved later."""
        return cast(types.MadeKey, await self._call("create_key", body=dict(key)))

    async def revoke_key(self, key_id: str) -> types.KeyReply:
        """Revoke a key."""
        return cast(types.KeyReply, await self._call("revoke_key", {"key_id": key_id}))

    async def decisions(self) -> list[types.DecisionReply]:
        """Return the tenant's merges, aliases and splits, including undone ones."""
        return cast(list[types.DecisionReply], (await self._call("list_decisions"))["decisions"])

    async def decide(self, **decision: Unpack[types.NewDecision]) -> types.DecisionReply:
        """Merge entities, add aliases to one, or split one."""
        return cast(types.DecisionReply, await self._call("decide", body=dict(decision)))

    async def undo_decision(self, decision_id: str) -> types.DecisionReply:
        """Undo a merge, an alias or a split."""
        return cast(types.DecisionReply, await self._call("undo_decision", {"decision_id": decision_id}))

    async def proposals(self, name: str = "", *, limit: int = 20) -> list[types.ProposalReply]:
        """Return pairs of entities that may be the same, with the evidence, the most likely first."""
        found = await self._call("list_proposals", query={"name": name, "limit": limit})
        return cast(list[types.ProposalReply], found["proposals"])

    async def overview(self) -> types.Overview:
        """Return counts, jobs and the state of stores and models."""
        return cast(types.Overview, await self._call("overview"))

    async def diagnostics(self) -> types.Diagnostics:
        """Check stores and models."""
        return cast(types.Diagnostics, await self._call("diagnostics"))

    async def health(self) -> types.Health:
        """Check that the server is running; no key is required."""
        return cast(types.Health, await self._call("health"))

    async def cache_stats(self) -> types.CacheStats:
        """Return the number of cached answers and question embeddings."""
        return cast(types.CacheStats, await self._call("cache_stats"))

    async def clear_cache(self) -> types.Cleared:
        """Clear the tenant's cached answers and question embeddings."""
        return cast(types.Cleared, await self._call("clear_cache"))

    # ------------------------------------------------------------ the wire

    async def _call(
        self, operation: str, path: Mapping[str, str] | None = None, *, body: object = None, **more: Any
    ) -> dict[str, Any]:
        """Call an operation, again where that is safe and may help; return what it replied. Raise ``ApiFailure``."""
        method, url = address(self.url, operation, path or {})
        request = sent(json=body, params=more.pop("query", None), **more)
        tried = 0
        while True:
            tried += 1
            try:
                reply = await self._http.request(method, url, **request)
            except httpx.TransportError as error:
                status, told = 0 if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) else BROKEN, None
                wrong: ApiFailure = Unreachable(0, "unreachable", f"{self.url}: {error or type(error).__name__}")
            else:
                if reply.is_success:
                    return cast(dict[str, Any], decoded(reply.content))
                status, told = reply.status_code, reply.headers.get("Retry-After")
                wrong = failure_of(status, reply.content)
            seconds = pause(operation, tried, self._attempts, status, told)
            if seconds is None:
                raise wrong
            await asyncio.sleep(seconds)

    async def _events(
        self, operation: str, *, body: object = None, query: Mapping[str, str] | None = None
    ) -> AsyncIterator[Event]:
        """Yield the events of a stream; it is begun again only before its first event."""
        method, url = address(self.url, operation, {})
        request = sent(json=body, params=query)
        tried, begun = 0, False
        while True:
            tried += 1
            parser = Parser()
            try:
                async with self._http.stream(method, url, **request) as reply:
                    if reply.is_success:
                        async for piece in reply.aiter_text():
                            for event in parser.feed(piece):
                                begun = True
                                yield event
                        return
                    status, told = reply.status_code, reply.headers.get("Retry-After")
                    wrong: ApiFailure = failure_of(status, await reply.aread())
            except httpx.TransportError as error:
                status, told = 0 if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) else BROKEN, None
                wrong = Unreachable(0, "unreachable", f"{self.url}: the connection closed before the stream ended")
            seconds = None if begun else pause(operation, tried, self._attempts, status, told)
            if seconds is None:
                raise wrong
            await asyncio.sleep(seconds)

    async def _pages(
        self,
        operation: str,
        field: str,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        by: str = "cursor",
    ) -> AsyncIterator[Any]:
        """Yield what stands in a field of all pages."""
        more: dict[str, str] = {}
        while True:
            page = await self._call(operation, path, query={**(query or {}), **more})
            for one in page[field]:
                yield one
            if not page.get("next"):
                return
            more = {by: str(page["next"])}

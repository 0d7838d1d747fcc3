"""Statements, facts, entities and documents as rows, for pandas, networkx and Parquet."""

from collections.abc import Callable, Iterator
from typing import Any

from lexigraph.exchange.records import DocumentGraph, graphs
from lexigraph.model.errors import InvalidInput, Misconfigured
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Stores

Row = dict[str, Any]
_PLACE = {"document_id": str, "uri": str, "title": str, "namespace": str, "version": int}
# columns of each table and what they hold
COLUMNS: dict[str, dict[str, type]] = {
    "documents": {**_PLACE, "chunks": int, "statements": int},
    "statements": {
        "id": str,
        "text": str,
        "original": str,
        "kind": str,
        "topic": str,
        "entities": list,
        "chunk_id": str,
        "start": int,
        "end": int,
        **_PLACE,
    },
    "facts": {
        "id": str,
        "subject": str,
        "predicate": str,
        "object": str,
        "subject_id": str,
        "object_id": str,
        "statement_id": str,
        "chunk_id": str,
        "start": int,
        "end": int,
        **_PLACE,
    },
    "entities": {"id": str, "name": str, "class": str, "documents": int, "facts": int},
}


def rows_of(graph: DocumentGraph, table: str) -> Iterator[Row]:
    """Yield the rows of a table that come from one document. An entity comes with each document that names it."""
    record = graph.record
    place: Row = {
        "document_id": record.source_id,
        "uri": record.uri,
        "title": record.title,
        "namespace": record.namespace,
        "version": record.version,
    }
    if table == "documents":
        yield {**place, "chunks": len(graph.chunks), "statements": len(graph.statements)}
    if table == "entities":
        yield from (entity.to_dict() for entity in graph.entities.values())
    for row in graph.statements if table in ("statements", "facts") else ():
        where = {
            "chunk_id": row.chunk_id,
            "start": row.chunk_start + row.start,
            "end": row.chunk_start + row.end,
            **place,
        }
        if table == "statements":
            named = [graph.entities[id_].value for id_ in row.entities if id_ in graph.entities]
            yield {
                "id": row.id,
                "text": row.value,
                "original": row.original,
                "kind": row.kind,
                "topic": row.topic,
                "entities": named,
                **where,
            }
            continue
        for fact in row.facts:
            yield {
                "id": fact.id,
                "subject": fact.subject,
                "predicate": fact.predicate,
                "object": fact.object,
                "subject_id": fact.subject_id,
                "object_id": fact.object_id or "",
                "statement_id": row.id,
                **where,
            }


class Table:
    """A lazy table: each iteration reads the stores again.

    Examples:
        >>> from lexigraph.exchange.frames import table
        >>> with LexicalGraphIndex() as index:
        ...     frame = table(index.stores, "facts").to_pandas()
        ...     graph = table(index.stores, "facts").to_networkx()
    """

    def __init__(self, name: str, read: Callable[[], Iterator[Row]]) -> None:
        self.name, self._read = name, read

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(COLUMNS[self.name])

    def __iter__(self) -> Iterator[Row]:
        return self._read()

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``. Raise ``Misconfigured`` without pandas."""
        pandas = _imported("pandas", "a data frame")
        return pandas.DataFrame.from_records(list(self), columns=list(self.columns))

    def to_networkx(self) -> Any:
        """Return facts as a ``networkx.MultiDiGraph`` of entities: one edge per fact, with predicate and location.

        An object that is not an entity becomes a node named by its text. Raise ``Misconfigured`` without networkx, or for
        a table other than facts.
        """
        if self.name != "facts":
            raise Misconfigured(f"table {self.name!r} has no edges: call to_networkx() on the table 'facts'")
        graph = _imported("networkx", "a graph").MultiDiGraph()
        for row in self:
            object_ = row["object_id"] or row["object"]
            graph.add_node(row["subject_id"], name=row["subject"])
            graph.add_node(object_, name=row["object"])
            rest = {
                name: value for name, value in row.items() if name not in ("subject", "object", "subject_id", "object_id")
            }
            graph.add_edge(row["subject_id"], object_, **rest)
        return graph


def table(stores: Stores, name: str, *, tenant: str = "default", namespace: str | None = None) -> Table:
    """Return a table: documents, statements, facts or entities (each once). Raise ``InvalidInput`` for an unknown name."""
    if name not in COLUMNS:
        raise InvalidInput(f"table {name[:40]!r} is unknown: use one of {', '.join(COLUMNS)}")
    owner = Tenant(tenant)

    def read() -> Iterator[Row]:
        seen: set[str] = set()
        for graph in graphs(stores, owner, namespace):
            for row in rows_of(graph, name):
                if name == "entities":
                    if row["id"] in seen:
                        continue
                    seen.add(row["id"])
                yield row

    return Table(name, read)


def _imported(package: str, what: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise Misconfigured(f"{what} needs {package}: pip install {package}") from None

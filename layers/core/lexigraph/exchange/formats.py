"""Export formats. Each writer streams the graphs of documents one at a time."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from lexigraph.exchange.frames import COLUMNS, rows_of
from lexigraph.exchange.records import DocumentGraph
from lexigraph.model.errors import Misconfigured

_KEYS = {  # of GraphML: what a node or an edge may have
    "kind": "string",
    "value": "string",
    "name": "string",
    "class": "string",
    "uri": "string",
    "namespace": "string",
    "version": "int",
    "predicate": "string",
    "original": "string",
    "start": "int",
    "end": "int",
    "seq": "int",
}
_VOCABULARY = "https://github.com/lexigraph/lexigraph/vocabulary#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_PROV = "http://www.w3.org/ns/prov#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROWS = 10_000  # of a table that are written together


def graphml(graphs: Iterable[DocumentGraph]) -> Iterator[str]:
    """Yield a GraphML document with all sources, chunks, topics, statements, facts and entities, and their edges."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, kind in _KEYS.items():
        yield f'<key id="{name}" for="all" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph edgedefault="directed">\n'
    seen: set[str] = set()
    for graph in graphs:
        yield from (part for part in _elements(graph, seen))
    yield "</graph>\n</graphml>\n"


def _elements(graph: DocumentGraph, seen: set[str]) -> Iterator[str]:
    record = graph.record

    def node(id_: str, kind: str, **data: Any) -> str:
        if id_ in seen:
            return ""
        seen.add(id_)
        return f"<node id={quoteattr(id_)}>{_data({'kind': kind, **data})}</node>\n"

    def edge(source: str, target: str, kind: str, **data: Any) -> str:
        ends = f"source={quoteattr(source)} target={quoteattr(target)}"
        return f"<edge {ends}>{_data({'kind': kind, **data})}</edge>\n"

    place = {"uri": record.uri, "namespace": record.namespace, "version": record.version}
    yield node(record.source_id, "source", value=record.title, **place)
    for id_, chunk in sorted(graph.chunks.items(), key=lambda one: one[1].seq):
        yield node(id_, "chunk", seq=chunk.seq, start=chunk.start, end=chunk.end)
        yield edge(id_, record.source_id, "EXTRACTED_FROM")
    for entity in graph.entities.values():
        yield node(entity.id, "entity", name=entity.value, **{"class": entity.class_})
    for row in graph.statements:
        if topic := node(row.topic_id, "topic", value=row.topic):
            yield topic
        where = {"start": row.chunk_start + row.start, "end": row.chunk_start + row.end}
        yield node(row.id, "statement", value=row.value, original=row.original)
        yield edge(row.id, row.topic_id, "BELONGS_TO")
        yield edge(row.id, row.chunk_id, "MENTIONED_IN", **where)
        for id_ in row.entities:
            if id_ in seen:
                yield edge(row.id, id_, "MENTIONS")
        for fact in row.facts:
            yield node(fact.id, "fact", value=str(fact), predicate=fact.predicate)
            yield edge(fact.id, row.id, "SUPPORTS")
            for named, kind in ((fact.subject_id, "SUBJECT"), (fact.object_id or "", "OBJECT")):
                if named in seen and (mark := f"{kind} {named} {fact.id}") not in seen:
                    seen.add(mark)
                    yield edge(named, fact.id, kind)


def _data(values: dict[str, Any]) -> str:
    told = ((name, _NOT_XML.sub("\ufffd", str(value))) for name, value in values.items() if value not in ("", None))
    return "".join(f"<data key={quoteattr(name)}>{escape(value)}</data>" for name, value in told)


def nquads(graphs: Iterable[DocumentGraph]) -> Iterator[str]:
    """Yield N-Quads: a named graph per document, provenance in PROV-O, facts as triples of their entities."""
    for graph in graphs:
        record = graph.record
        context = _iri(record.source_id)

        def quad(subject: str, predicate: str, object_: str, context: str = context) -> str:
            return f"{subject} <{predicate}> {object_} {context} .\n"

        yield quad(context, f"{_RDF}type", f"<{_PROV}Entity>")
        yield quad(context, f"{_RDFS}label", _literal(record.title or record.uri))
        yield quad(context, f"{_VOCABULARY}uri", _literal(record.uri))
        yield quad(context, f"{_VOCABULARY}version", _literal(record.version))
        for id_, chunk in sorted(graph.chunks.items(), key=lambda one: one[1].seq):
            yield quad(_iri(id_), f"{_PROV}wasDerivedFrom", context)
            yield quad(_iri(id_), f"{_VOCABULARY}start", _literal(chunk.start))
            yield quad(_iri(id_), f"{_VOCABULARY}end", _literal(chunk.end))
        for entity in graph.entities.values():
            yield quad(_iri(entity.id), f"{_RDFS}label", _literal(entity.value))
            if entity.class_:
                yield quad(_iri(entity.id), f"{_VOCABULARY}class", _literal(entity.class_))
        for row in graph.statements:
            statement = _iri(row.id)
            yield quad(statement, f"{_RDF}type", f"<{_VOCABULARY}Statement>")
            yield quad(statement, f"{_VOCABULARY}text", _literal(row.value))
            yield quad(statement, f"{_VOCABULARY}topic", _literal(row.topic))
            yield quad(statement, f"{_PROV}wasDerivedFrom", _iri(row.chunk_id))
            yield quad(statement, f"{_VOCABULARY}start", _literal(row.chunk_start + row.start))
            yield quad(statement, f"{_VOCABULARY}end", _literal(row.chunk_start + row.end))
            for id_ in row.entities:
                yield quad(statement, f"{_VOCABULARY}mentions", _iri(id_))
            for fact in row.facts:
                object_ = _iri(fact.object_id) if fact.object_id else _literal(fact.object)
                yield quad(_iri(fact.subject_id), f"{_VOCABULARY}{quote(fact.predicate, safe='')}", object_)
                yield quad(_iri(fact.id), f"{_RDF}subject", _iri(fact.subject_id))
                yield quad(_iri(fact.id), f"{_RDF}predicate", f"<{_VOCABULARY}{quote(fact.predicate, safe='')}>")
                yield quad(_iri(fact.id), f"{_RDF}object", object_)
                yield quad(_iri(fact.id), f"{_VOCABULARY}supports", statement)


def _iri(id_: str) -> str:
    return f"<urn:lexigraph:{quote(id_, safe=':')}>"


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return f'"{value}"^^<{_XSD}integer>'
    # JSON escapes what N-Quads wants escaped; characters that need not be stay as they are
    text = json.dumps(_NOT_XML.sub("\ufffd", value), ensure_ascii=False)[1:-1].replace("\\/", "/")
    return f'"{text}"'


def parquet(graphs: Iterable[DocumentGraph], folder: Path) -> None:
    """Write one Parquet file per table into a folder. Raise ``Misconfigured`` without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet as files
    except ModuleNotFoundError:
        raise Misconfigured('Parquet needs pyarrow: pip install "lexigraph[parquet]"') from None
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), list: pyarrow.list_(pyarrow.string())}
    schemas = {
        name: pyarrow.schema([(column, kinds[kind]) for column, kind in columns.items()])
        for name, columns in COLUMNS.items()
    }
    waiting: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    entities = set[str]()
    with ExitStack() as open_:
        writers = {
            name: open_.enter_context(files.ParquetWriter(folder / f"{name}.parquet", schema))
            for name, schema in schemas.items()
        }

        def write(name: str) -> None:
            writers[name].write_table(pyarrow.Table.from_pylist(waiting[name], schemas[name]))
            waiting[name] = []

        for graph in graphs:
            for name in COLUMNS:
                rows = [row for row in rows_of(graph, name) if name != "entities" or row["id"] not in entities]
                if name == "entities":
                    entities |= {row["id"] for row in rows}
                waiting[name] += rows
                if len(waiting[name]) >= _ROWS:
                    write(name)
        for name in COLUMNS:
            write(name)

"""Files for Neptune's bulk loader: what chunks contribute to the graph, in its openCypher CSV format, compressed.

The loader adds nodes, edges and properties that are not there, and changes none that are (user guide, "Special
considerations for loading openCypher data"). So a load may run beside writers, be repeated, and bring what is there already.
What it brings is hidden: the places of its chunks are closed (``until`` 0), and no chunk has its ``statements``. Whoever
writes the version counts what came (:mod:`~lexigraph.storage.neptune.loaded`) and writes only what is missing.

Files lie in two folders: ``places`` has sources, chunks and their places, ``graph`` the rest, to be loaded after those: what
is in the graph then always belongs to a chunk by whose place it is found, to be collected or counted.

Node files come with ``:ID`` and ``:LABEL``, relationship files with ``:ID``, ``:START_ID``, ``:END_ID`` and ``:TYPE``. No
relationship comes twice in a load, nor a node twice in a part of it.
"""

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexigraph.model.graph import ChunkGraph, Placement, Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import entity_forms
from lexigraph.storage.neptune.client import Row
from lexigraph.storage.neptune.contributed import aliases_of, facts_of, mentions_of, objects_of, statements_of, topics_of
from lexigraph.storage.neptune.schema import aliases_text, edge_id

FOLDERS = ("places", "graph")  # in the order of loading
_PLACED = {"source", "chunk", "placed"}
FILE_BYTES = 100_000_000  # of a file, before it is compressed
_LEVEL = 3  # of gzip: twice as fast as the default, a tenth larger
_NODE, _EDGE = (":ID", ":LABEL"), (":ID", ":START_ID", ":END_ID", ":TYPE")


@dataclass(frozen=True, slots=True)
class _Table:
    """A kind of file: its ``label`` (of a relationship its type), and its properties by column header."""

    name: str
    label: str
    header: tuple[str, ...]
    properties: tuple[str, ...]
    shared: bool = False  # several chunks bring the same


def _table(name: str, label: str, system: tuple[str, ...], properties: str, *, shared: bool = False) -> _Table:
    columns = properties.split()
    return _Table(name, label, (*system, *columns), tuple(c.partition(":")[0] for c in columns), shared)


_TABLES = {
    table.name: table
    for table in (
        _table(
            "source", "Source", _NODE, "tenant:String uri:String namespace:String title:String metadata:String live:Long"
        ),
        _table("chunk", "Chunk", _NODE, "tenant:String source:String aliases:String"),
        _table("topic", "Topic", _NODE, "tenant:String source:String value:String", shared=True),
        _table("statement", "Statement", _NODE, "tenant:String value:String details:String kind:String", shared=True),
        _table("fact", "Fact", _NODE, "tenant:String subject:String predicate:String object:String", shared=True),
        _table("entity", "Entity", _NODE, "tenant:String value:String class:String df:Long degree:Long", shared=True),
        _table(
            "placed",
            "EXTRACTED_FROM",
            _EDGE,
            "since:Long until:Long seq:Long start:Long end:Long role:String parent:String",
        ),
        _table("topic-in", "MENTIONED_IN", _EDGE, ""),
        _table("said-in", "MENTIONED_IN", _EDGE, "position:Long start:Long end:Long original:String"),
        _table("belongs", "BELONGS_TO", _EDGE, "", shared=True),
        _table("mentions", "MENTIONS", _EDGE, "chunk:String form:String class:String"),
        _table("supports", "SUPPORTS", _EDGE, "chunk:String confidence:Double"),
        _table("subject", "SUBJECT", _EDGE, "", shared=True),
        _table("object", "OBJECT", _EDGE, "chunk:String statement:String"),
        _table("alias", "ALIAS_OF", _EDGE, "chunk:String alias_form:String target_form:String"),
    )
}
Known = Callable[[Sequence[str]], set[str]]


@dataclass
class GraphFiles:
    """The files of one part of a load, in a folder. ``rows`` counts lines, ``bytes`` what they take before compression.

    ``known`` says which of some facts (ids) other parts of the load bring; ``facts`` are those of this one.
    """

    folder: Path
    part: int
    known: Known = lambda _: set()
    most: int = FILE_BYTES
    rows: int = 0
    bytes: int = 0
    facts: set[str] = field(default_factory=set)
    paths: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open: dict[str, _File] = {}
        self._seen: dict[str, set[str]] = {name: set() for name, table in _TABLES.items() if table.shared}

    def add(self, tenant: Tenant, source: Source, placements: Mapping[str, Placement], chunks: Sequence[ChunkGraph]) -> None:
        """Write what the new ``chunks`` of a version of a source contribute, and where they stand in it."""
        forms = entity_forms(chunks)
        facts = {row["id"] for c in chunks for row in facts_of(c)}
        elsewhere = self.known(sorted(facts - self.facts))
        self.facts |= facts - elsewhere
        for name, ends, row in _rows(tenant, source, placements, chunks, forms):
            if name in ("fact", "subject") and (row["id"] if name == "fact" else ends[2]) in elsewhere:
                continue
            self._write(_TABLES[name], ends, row)

    def close(self) -> list[Path]:
        """End the files; return where they are."""
        for file in self._open.values():
            file.close()
        self._open.clear()
        return self.paths

    def _write(self, table: _Table, system: Sequence[str], row: Row) -> None:
        if table.shared:
            if system[0] in self._seen[table.name]:
                return
            self._seen[table.name].add(system[0])
        file = self._open.get(table.name)
        if file is None or file.bytes >= self.most:
            if file:
                file.close()
            path = self.folder / FOLDERS[table.name not in _PLACED]
            path.mkdir(exist_ok=True)
            path /= f"{table.name}-{self.part:05d}-{len(self.paths):03d}.csv.gz"
            file = self._open[table.name] = _File(path, table.header)
            self.paths.append(path)
        values = [row[name] for name in table.properties]
        self.bytes += file.write([*system, table.label, *values])
        self.rows += 1


class _File:
    """A compressed file of lines; ``bytes`` are those of its text."""

    def __init__(self, path: Path, header: Sequence[str]) -> None:
        self._out = gzip.GzipFile(path, "wb", compresslevel=_LEVEL)
        self._line = io.StringIO(newline="")
        self._csv = csv.writer(self._line)
        self.bytes = 0
        self.write(header)

    def write(self, values: Sequence[Any]) -> int:
        """Write a line; return its bytes."""
        self._csv.writerow(values)
        # no string in Neptune holds NUL; half of a surrogate pair is no character
        text = self._line.getvalue().replace("\0", "\ufffd").encode("utf-8", "replace")
        self._line.seek(0)
        self._line.truncate()
        self._out.write(text)
        self.bytes += len(text)
        return len(text)

    def close(self) -> None:
        """End the file."""
        self._out.close()


def _rows(
    tenant: Tenant,
    source: Source,
    placements: Mapping[str, Placement],
    chunks: Sequence[ChunkGraph],
    forms: Mapping[str, str],
) -> Iterable[tuple[str, tuple[str, ...], Row]]:
    """Yield kind, system columns but for the label, and properties of all nodes and edges, with the ids of the writer."""
    owned = {"tenant": tenant}
    at_first = {"title": "", "metadata": "{}", "live": 0}
    yield "source", (source.id,), {**owned, **at_first, "uri": source.uri, "namespace": source.namespace}
    derived = {"class": "", "df": 0, "degree": 0}
    for entity, form in forms.items():
        yield "entity", (entity,), {**owned, **derived, "value": form}
    for c in chunks:
        chunk, place = c.chunk_id, placements[c.chunk_id]
        yield "chunk", (chunk,), {**owned, "source": source.id, "aliases": aliases_text(c)}
        where = {name: getattr(place, name) for name in ("seq", "start", "end", "role", "parent")}
        edge = edge_id("EXTRACTED_FROM", chunk, source.version)
        yield "placed", (edge, chunk, source.id), {**where, "since": source.version, "until": 0}
        for row in topics_of(c):
            yield "topic", (row["id"],), {**row, **owned, "source": source.id}
            yield "topic-in", (row["said"], row["id"], chunk), row
        for row in statements_of(c):
            yield "statement", (row["id"],), {**row, **owned}
            yield "said-in", (row["said"], row["id"], chunk), row
            yield "belongs", (row["belongs"], row["id"], row["topic"]), row
        for row in mentions_of(c, forms):
            yield "mentions", (row["id"], row["statement"], row["entity"]), row
        for row in facts_of(c):
            yield "fact", (row["id"],), {**row, **owned}
            yield "supports", (row["supports"], row["id"], row["statement"]), row
            yield "subject", (row["stands"], row["subject_id"], row["id"]), row
        for row in objects_of(c):
            yield "object", (row["id"], row["entity"], row["fact"]), row
        for row in aliases_of(c, forms):
            yield "alias", (row["id"], row["alias"], row["target"]), row

"""Fill a collection with tenants until it takes no more, and count what travels and what an index holds.

python -m bench.scale.indexes [--tenants 1000] [--folder FOLDER]

OpenSearch Serverless is the stand-in of the tests, on loopback, with its limits: 1,000 fields and 1 TiB an index, 1,000
indexes a collection. Printed are three tables in Markdown: how many tenants fit into one index of a kind and into several;
the bytes of a record and of an answer; and what 10^8 statements take, by compression. The third is computed: bytes of an
index from the second table, memory by OpenSearch's formula for HNSW, 1.1 x (bits / 8 x dimension + 8 x m) bytes a vector.
FOLDER is a data folder of SQLite stores with MiniLM's vectors, whose texts and vectors are sent; made ones otherwise.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from infra.cost import HOURS, prices
from lexigraph.model.errors import Misconfigured
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.queries import queries, record_body
from lexigraph.storage.opensearch.store import OpenSearchVectorStore
from lexigraph.storage.protocols import IndexName, SearchRequest, VectorRecord
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.standins.aws_server import ENVIRONMENT
from tests.standins.opensearch import OpenSearchServer
from tests.standins.opensearch_index import MOST_BYTES

STATEMENTS = 10**8
# vectors of chunks, statements and topics, and texts alone, to a statement: what the visible sets have
A_STATEMENT = {"chunk": 0.33, "statement": 1.0, "topic": 0.32}
M, GIB = 16, 2**30
UNIT_GIB = 6  # of memory in a capacity unit
BITS = {"1x": 32, "2x": 16, "8x": 4, "16x": 2, "32x": 1}
KINDS: tuple[IndexName, ...] = ("chunk", "statement", "topic", "entity", "relation")


@contextmanager
def collection(more: str, dimension: int) -> Iterator[tuple[OpenSearchServer, OpenSearchVectorStore]]:
    """Run an empty collection and open a store on it."""
    with OpenSearchServer() as server:
        os.environ |= ENVIRONMENT
        with closing(
            OpenSearchVectorStore(server.connection + more, label=f"made-{dimension}", dimension=dimension)
        ) as store:
            yield server, store


def tenants_that_fit(indexes: int, most: int) -> str:
    """Write documents of new tenants until one is refused; return the row of the table."""
    vectors, taken, said = units(3, 8), 0, "none"
    with collection(f"&indexes={indexes}", 8) as (server, store):
        with suppress(Misconfigured):
            for number in range(most):
                tenant = Tenant(f"tenant-{number}")
                store.tag(tenant, [Source("s", "file:///s.md", "default", "S", {"year": 2026})])
                rows = [VectorRecord(f"r{n}", f"A text of number {number}", "s", "c", v) for n, v in enumerate(vectors)]
                texts = [replace(row, vector=None) for row in rows]
                store.upsert(tenant, {kind: texts if kind in ("entity", "relation") else rows for kind in KINDS})
                taken += 1
        if taken < most:
            said = f"tenant {taken + 1}"
        server.show_all()
        # every tenant finds its own, and nothing else
        wanted = [SearchRequest("statement", text="text", k=10), SearchRequest("chunk", vector=vectors[0], k=10)]
        for number in range(taken):
            for hits in store.search_many(Tenant(f"tenant-{number}"), wanted):
                if [hit.text for hit in hits] != [f"A text of number {number}"] * 3:
                    raise RuntimeError(f"tenant {number} found {len(hits)} texts")
        fields = max(len(index.fields) for index in server.indexes.values())
        mapping = max(len(json.dumps(index.mappings)) for index in server.indexes.values())
        requests = sum(request["path"] != "/_msearch" for request in server.requests)
    row = (indexes, len(server.indexes), f"{taken:,}", said, fields, f"{mapping / 1_000:.0f}", f"{requests / taken:.1f}")
    return f"| {' | '.join(map(str, row))} |"


def units(count: int, dimension: int) -> Any:
    """Return vectors of length 1 as models make them: as many digits as a float has."""
    made = np.random.default_rng(1).standard_normal((count, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def records(folder: Path | None, dimension: int, count: int = 1_000) -> list[VectorRecord]:
    """Return statements, of a folder where there is one, with made vectors where its own have another dimension."""
    made = units(count, dimension)
    if folder is None:
        return [
            VectorRecord(f"statement:{n:032x}", "A sentence of some length. " * 5, f"s{n}", "c", made[n])
            for n in range(count)
        ]
    with closing(SqliteVectorStore(f"sqlite:///{folder}", label="minilm-384", dimension=384)) as store:
        found = store.fetch(Tenant("default"), "statement", store.ids(Tenant("default"), "statement", limit=count))
    return [row if dimension == 384 else replace(row, vector=made[n]) for n, row in enumerate(found.values())]


def bytes_of(folder: Path | None, dimension: int) -> tuple[list[str], float]:
    """Return the rows of the table for a dimension, and what a record takes in an index."""
    rows, tenant = records(folder, dimension), Tenant("a")
    with collection("", dimension) as (server, store):
        store.upsert(tenant, {"statement": rows})
        after = sum(request["bytes"] for request in server.asked("/_bulk")) / len(rows)
        held = sum(index.bytes for index in server.indexes.values()) / len(rows)
    every_digit = sum(len(json.dumps(np.asarray(r.vector, float).tolist(), separators=(",", ":"))) for r in rows)
    sent = sum(len(json.dumps(record_body(tenant, r, True)["vector"], separators=(",", ":"))) for r in rows)
    before = after + (every_digit - sent) / len(rows)
    question = SearchRequest("statement", vector=rows[0].vector, k=50)
    (query,) = queries(question, tenant)
    hit = sum(len(json.dumps(record_body(tenant, r, True) | {"vector": ""})) for r in rows) / len(rows)
    told = [
        ("record in a bulk request", before, after),
        ("query by vector", len(json.dumps(query.body)) + (every_digit - sent) / len(rows), len(json.dumps(query.body))),
        ("answer to it, k = 50", 58 * hit, query.size * hit),
    ]
    return [f"| {what} | {dimension:,} | {was:,.0f} | {now:,.0f} |" for what, was, now in told], held


def statements(dimension: int) -> Iterator[str]:
    """Yield the rows of the table of 10^8 statements for a dimension."""
    vectors = sum(A_STATEMENT.values()) * STATEMENTS
    for level, bits in BITS.items():
        each = 1.1 * (bits / 8 * dimension + 8 * M)
        memory = vectors * each / GIB
        units_ = -(-memory // UNIT_GIB)
        month = units_ * prices()["aoss_ocu_hour"] * HOURS
        fit = 16 * UNIT_GIB * GIB / each / sum(A_STATEMENT.values())
        yield f"| {dimension:,} | {level} | {each:,.0f} | {memory:,.0f} | {units_:,.0f} | {month:,.0f} | {fit:.1e} |"


def main(given: Sequence[str] | None = None) -> None:
    """Parse the command line, fill, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tenants", type=int, default=1_000, help="default 1000")
    parser.add_argument("--folder", type=Path, help="data folder of SQLite stores with MiniLM's vectors")
    options = parser.parse_args(given)
    print(
        "| indexes of a kind | indexes | tenants | first refused | most fields | largest mapping, kB | requests a tenant |"
    )
    print("|---|---|---|---|---|---|---|")
    for indexes in (1, 8, 16, 32):
        print(tenants_that_fit(indexes, options.tenants), flush=True)
    print("\n| what travels | dimension | bytes before | now |\n|---|---|---|---|")
    sizes = {}
    for dimension in (384, 1_024):
        lines, sizes[dimension] = bytes_of(options.folder, dimension)
        print("\n".join(lines), flush=True)
    print(
        "\n| dimension | compression | bytes a vector | GiB for 10^8 statements | units | US$ a month awake | fit 16 units |"
    )
    print("|---|---|---|---|---|---|---|")
    for dimension in sizes:
        print("\n".join(statements(dimension)))
    print()
    for dimension, held in sizes.items():
        index = held * STATEMENTS
        shares = ", ".join(f"{index / n / MOST_BYTES:.2f} TiB of {n}" for n in (1, 8, 16, 32))
        print(f"An index of statements takes {held:,.0f} bytes a record of {dimension:,} dimensions: 10^8 in {shares}.")


if __name__ == "__main__":
    main()

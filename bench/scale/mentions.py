"""Count what the graph stores look at to take in one more document, in tenants of different size.

python -m bench.scale.mentions
python -m bench.scale.mentions --mentions 10000 --mentions 1000000 --store sqlite

Every document names the same few entities in each statement, as the names of a company or of its product do. Printed is a
table in Markdown: mentions before, milliseconds, and for SQLite the steps of its machine, for Neptune (the stand-in over
FalkorDB) the calls and the records that the steps of its reads produced.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import GraphStore, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.standins.neptune import NeptuneStandIn
from tests.worlds import Said, said, settle, version

TENANT = Tenant("a")
EVERYWHERE = [f"Product {letter}" for letter in "ABCDEFGHIJ"]  # named by every statement
_STATEMENTS = 100  # of a document
_TOGETHER = 10  # documents written at once
_STEPS = 100  # of SQLite's machine that are counted as one


def document(number: int) -> SourceVersion:
    """Return a document of a hundred statements, each of which names ten entities that all others name, and one its own."""
    own = f"Own {number}"
    statements: list[Said] = [
        said(f"Line {number}.{n} is said.", *EVERYWHERE, own, facts=[(EVERYWHERE[0], "has line", f"{number}.{n}")])
        for n in range(_STATEMENTS)
    ]
    return version(TENANT, f"Document {number}", {"A topic": statements})


def fill(store: GraphStore, mentions: int) -> int:
    """Take in as many documents as that; return how many."""
    count = round(mentions / (_STATEMENTS * (len(EVERYWHERE) + 1)))
    for begin in range(0, count, _TOGETHER):
        some = [document(n) for n in range(begin, min(count, begin + _TOGETHER))]
        store.write(TENANT, some)
        store.publish(TENANT, [v.source for v in some])
    settle(store, TENANT)
    return count


def one_more(store: GraphStore, number: int) -> tuple[Entity, ...]:
    """Take in one more document up to what is derived from it; return the entities that changed."""
    more = document(number)
    store.write(TENANT, [more])
    store.publish(TENANT, [more.source])
    return derived(store)


def derived(store: GraphStore) -> tuple[Entity, ...]:
    """Derive and settle what is due, which has to be one step; return it."""
    found = store.derive(TENANT)
    store.settle(TENANT, found)
    return found.present


@contextmanager
def sqlite(folder: Path) -> Iterator[SqliteGraphStore]:
    """Give an embedded store."""
    with closing(SqliteGraphStore(f"sqlite:///{folder}")) as store:
        yield store


def steps_of(store: SqliteGraphStore, number: int) -> tuple[int, float]:
    """Return how many hundred steps SQLite's machine takes to derive after one more document, and the seconds."""
    more, steps = document(number), [0]
    store.write(TENANT, [more])
    store.publish(TENANT, [more.source])

    def step() -> int:
        steps[0] += 1
        return 0

    with store._database.write() as connection:
        connection.set_progress_handler(step, _STEPS)
    began = time.perf_counter()
    derived(store)
    took = time.perf_counter() - began
    with store._database.write() as connection:
        connection.set_progress_handler(None, 0)
    return steps[0], took


def records_of(store: NeptuneGraphStore, cluster: NeptuneStandIn, number: int) -> tuple[int, int, float]:
    """Return how many calls one more document takes to derive, how many records its reads produce, and the seconds."""
    more = document(number)
    store.write(TENANT, [more])
    store.publish(TENANT, [more.source])
    cluster.forget()
    began = time.perf_counter()
    derived(store)
    took = time.perf_counter() - began
    again = document(number + 1)
    store.write(TENANT, [again])
    store.publish(TENANT, [again.source])
    cluster.forget()
    cluster.profiled = True
    derived(store)
    cluster.profiled = False
    return len(cluster.calls), sum(call.records for call in cluster.calls), took


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.mentions", description=__doc__)
    parser.add_argument("--mentions", type=int, action="append", help="of a tenant (default: 10,000 and 100,000)")
    parser.add_argument("--store", choices=("sqlite", "neptune"), action="append", help="default: both")
    asked = parser.parse_args(arguments)
    print("| store | mentions before | derive, ms | calls | looked at |\n|---|---|---|---|---|")
    for name in asked.store or ("sqlite", "neptune"):
        for mentions in asked.mentions or (10_000, 100_000):
            if name == "sqlite":
                with tempfile.TemporaryDirectory() as folder, sqlite(Path(folder)) as store:
                    steps, took = steps_of(store, fill(store, mentions))
                    print(f"| SQLite | {mentions:,} | {took * 1000:.0f} | | {steps * _STEPS:,} steps |", flush=True)
            else:
                with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as remote:
                    calls, records, took = records_of(remote, cluster, fill(remote, mentions))
                    print(f"| Neptune | {mentions:,} | {took * 1000:.0f} | {calls} | {records:,} records |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

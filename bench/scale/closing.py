"""Let very many files of one tenant close at once: what they ask of the one lease that they take by turns.

python -m bench.scale.closing                # 25 and 200 files, really, over DynamoDB's stand-in; then the model
python -m bench.scale.closing --files 200 --seconds 2
python -m bench.scale.closing --model        # only what cannot be run: 1,000 tenants, 50 publishers of one

The first table is of the real code: a thread a file ends at the same moment as all others (``versions.settle_entities``),
over the registry in moto's DynamoDB and a graph that takes its time.
The second is a model of discrete events: its tries and waits are drawn by the policies of the code, the writes of a file are
counted in a real ingest over the stand-in, and the limits are those that AWS publishes. The exit code is 1 when an item is
throttled, a lease is lost, or a name is missing.
"""

import argparse
import heapq
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from bench.scale.mentions import EVERYWHERE
from lexigraph.ingestion import versions
from lexigraph.model.tenant import Tenant
from lexigraph.storage.dynamodb import leases
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.protocols import Derived
from tests.laptop import laptop, open_laptop
from tests.standins.aws_server import ENVIRONMENT, AwsServer
from tests.worlds import said, version

TENANT = Tenant("a")
LEASE = f"t#{TENANT}#lease#collector"
MOST_WRITES = 1_000  # a second, to an item of DynamoDB (a transaction counts double)
TABLE_WRITES = 40_000  # a second, to a table, without a rise of the quota
_CLIENTS = 8  # registries, each with connections of its own
_DEADLINE = 600.0


# ---------------------------------------------------------------- the real code


@dataclass(frozen=True)
class Closed:
    """What the end of so many files at once took."""

    files: int
    seconds: float
    requests: int
    busiest: int  # writes to the item of the lease within a second
    throttled: int
    lost: int
    derived: int  # computations that had something to do
    missing: int  # names that are not as they have to be


class Slowly:
    """A graph whose derivations take as long as Neptune's do, and are counted."""

    def __init__(self, graph: Any, seconds: float) -> None:
        self._graph, self._seconds, self.derived = graph, seconds, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def derive(self, tenant: Tenant) -> Derived:
        """Derive, slowly where there is anything."""
        found: Derived = self._graph.derive(tenant)
        self.derived += bool(found)
        time.sleep(self._seconds if found else 0.02)
        return found


def close_at_once(aws: AwsServer, files: int, seconds: float) -> Closed:
    """Let files end at once, each in a thread, where a computation with anything to do takes ``seconds``."""
    table = f"closing-{uuid4().hex}"
    registries = [DynamoDBRegistry(aws.dynamodb(table)) for _ in range(min(_CLIENTS, files))]
    with tempfile.TemporaryDirectory() as folder, closing(open_laptop(Path(folder))) as stores:
        slow = Slowly(stores.graph, seconds)
        together, failed = threading.Barrier(files + 1), list[BaseException]()

        def close(number: int) -> None:
            one = version(TENANT, f"File {number}", {"A": [said(f"Line {number}.", *EVERYWHERE, f"Own {number}")]})
            mine: Any = replace(stores, graph=slow, registry=registries[number % len(registries)])
            try:
                stores.graph.write(TENANT, [one])
                together.wait(_DEADLINE)
                stores.graph.publish(TENANT, [one.source])
                versions.settle_entities(mine, TENANT)
            except BaseException as error:  # noqa: BLE001  # told below
                failed.append(error)

        threads = [threading.Thread(target=close, args=(n,)) for n in range(files)]
        for thread in threads:
            thread.start()
        together.wait(_DEADLINE)
        aws.calls.clear()
        aws.writes.clear()
        began = time.perf_counter()
        for thread in threads:
            thread.join(_DEADLINE)
        took = time.perf_counter() - began
        wanted = {*EVERYWHERE, *(f"Own {n}" for n in range(files)), *(f"File {n}" for n in range(files))}
        there = stores.vectors.ids(TENANT, "entity", limit=10 * len(wanted))
        writes = aws.writes[LEASE]
        requests = sum(aws.calls.values()) - aws.calls["throttled"]
        missing = abs(len(wanted) - len(there)) + bool(stores.graph.derive(TENANT))
        busiest, throttled = max(writes.values(), default=0), aws.calls["throttled"]
        return Closed(files, took, requests, busiest, throttled, len(failed), slow.derived, missing)


def writes_of_a_file(aws: AwsServer) -> dict[str, int]:
    """Return the writes to the table that one new file means for a tenant that has others, by partition key."""
    with tempfile.TemporaryDirectory() as folder, closing(open_laptop(Path(folder))) as opened:
        stores = replace(opened, registry=DynamoDBRegistry(aws.dynamodb(f"a-file-{uuid4().hex}")))
        index = laptop(Path(folder), stores)
        for name, text in (("A", "Oslo is the capital of Norway."), ("B", "Oslo is a town in Norway.")):
            page = Path(folder) / f"{name}.md"
            page.write_text(f"# {name}\n\n{text}\n", "utf-8")
            aws.writes.clear()
            index.ingest([page])
        return {key: writes.total() for key, writes in aws.writes.items()}


# ---------------------------------------------------------------- the model


@dataclass(frozen=True)
class Modelled:
    """What the busiest second of an item has, and how long all took."""

    busiest: int
    seconds: float
    conflicts: int = 0
    longest_wait: float = 0.0


def model_closing(files: int, seconds: float, latency: float, seed: int, *, deaths: int = 1) -> Modelled:
    """Files that ask for one lease at once, again and again as the code does; so many holders die and give nothing back."""
    rng, now, held_until, holder = random.Random(seed), 0.0, -1.0, False
    units, ended, begun = Counter[int](), 0.0, Counter[int]()
    events = [(rng.random() * 0.1, n, "try") for n in range(files)]
    heapq.heapify(events)
    left, untouched = deaths, False
    while events:
        now, number, what = heapq.heappop(events)
        units[int(now)] += 1
        if what == "renew":
            continue
        if what == "free":
            holder, ended = False, now
        elif holder and now < held_until:
            begun[number] += 1
            doubled = versions.FIRST_WAIT_SECONDS * 2 ** min(begun[number] - 1, 64)
            pause = rng.random() * min(versions.LONGEST_WAIT_SECONDS, doubled)
            heapq.heappush(events, (now + latency + pause, number, "try"))
        else:
            units[int(now)] += 2 * bool(holder)  # whose term is over: taken in a transaction
            holder = True
            took = 0.05 if untouched else seconds  # what all have touched until now goes at once
            untouched = True
            if left and number % 7 == 3:
                left, untouched = left - 1, False
                held_until = now + leases.LEASE_SECONDS + leases.SKEW_SECONDS
                heapq.heappush(events, (held_until, number, "try"))  # the workflow runs its step again
                continue
            held_until = now + took + leases.LEASE_SECONDS
            for at in range(1, int(took * 4 / leases.LEASE_SECONDS) + 1):
                heapq.heappush(events, (now + at * leases.LEASE_SECONDS / 4, number, "renew"))
            heapq.heappush(events, (now + took, number, "free"))
    return Modelled(max(units.values()), ended)


def model_publishing(publishers: int, writes: int, file_seconds: float, latency: float, seed: int) -> Modelled:
    """Publishers of one tenant, each of which changes its counts so many times a file, in transactions that may collide."""
    rng, units, conflicts, longest = random.Random(seed), Counter[int](), 0, 0.0
    events = [(rng.random() * file_seconds, n, 1, 0.0) for n in range(publishers * writes * 20)]  # twenty files each
    events = [(at + file_seconds * (n // (publishers * writes)), n, tries, since) for at, n, tries, since in events]
    heapq.heapify(events)
    busy_until, now = 0.0, 0.0
    while events:
        now, n, tries, since = heapq.heappop(events)
        units[int(now)] += 2
        began = since or now
        if now < busy_until:
            conflicts += 1
            pause = rng.random() * min(3.0, 0.05 * 2 ** (tries - 1))  # as of AwsClient
            heapq.heappush(events, (now + latency + pause, n, tries + 1, began))
        else:
            busy_until = now + latency
            longest = max(longest, now - began)
    return Modelled(max(units.values()), now, conflicts, longest)


# ---------------------------------------------------------------- the tables


def main(arguments: list[str]) -> int:
    """Print the tables; return 1 when a limit was passed."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.closing", description=__doc__)
    parser.add_argument("--files", type=int, action="append", help="that close at once (default: 25 and 200)")
    parser.add_argument("--seconds", type=float, default=2.0, help="that one derivation takes (default: %(default)s)")
    parser.add_argument("--tenants", type=int, default=1_000, help="of the model (default: %(default)s)")
    parser.add_argument("--publishers", type=int, default=50, help="of one tenant (default: %(default)s)")
    parser.add_argument("--model", action="store_true", help="only the model")
    asked = parser.parse_args(arguments)
    bad = False
    with AwsServer() as aws, patch.dict(os.environ, ENVIRONMENT):
        if not asked.model:
            print(
                "| files at once | s | requests | busiest second of the lease | derivations | throttled | lost | missing |"
            )
            print("|---|---|---|---|---|---|---|---|")
            for files in asked.files or (25, 200):
                c = close_at_once(aws, files, asked.seconds)
                row = (c.files, f"{c.seconds:.1f}", c.requests, c.busiest, c.derived, c.throttled, c.lost, c.missing)
                print("|", " | ".join(map(str, row)), "|", flush=True)
                bad |= bool(c.throttled or c.lost or c.missing)
            print()
        of_file = writes_of_a_file(aws)
    return int(_modelled(asked, of_file) or bad)


def _modelled(asked: argparse.Namespace, of_file: dict[str, int]) -> bool:
    meta = max(1, of_file.get("t#default#meta", 0) // 2)
    files_a_second = asked.tenants * asked.publishers / 10 / 50  # a fiftieth of the tenants at work, ten seconds a file
    rows = [("writes of a file, all items", sum(of_file.values()), "")]
    closing_ = [model_closing(200, asked.seconds, 0.01, seed) for seed in range(20)]
    publishing = [model_publishing(asked.publishers, meta, 10.0, 0.02, seed) for seed in range(20)]
    busiest = max(m.busiest for m in closing_), max(m.busiest for m in publishing)
    table = round(files_a_second * sum(of_file.values()))
    rows += [
        ("the lease, 200 files of a tenant closing at once, one dies: writes in a second", busiest[0], MOST_WRITES),
        ("... until the last has closed, s", round(max(m.seconds for m in closing_)), 900),
        (f"the tenant's counts, {asked.publishers} publishers: writes in a second", busiest[1], MOST_WRITES),
        ("... transactions that met another", sum(m.conflicts for m in publishing) // len(publishing), ""),
        ("... the longest that one waited, s", f"{max(m.longest_wait for m in publishing):.2f}", 60),
        (
            f"the table, {asked.tenants:,} tenants, {files_a_second:,.0f} files a second: writes a second",
            table,
            TABLE_WRITES,
        ),
    ]
    print("| modelled | at most | limit |\n|---|---|---|")
    for what, found, limit in rows:
        print(
            f"| {what} | {found:,} | {limit:,} |" if isinstance(found, int) and limit else f"| {what} | {found} | {limit} |"
        )
    return max(busiest) > MOST_WRITES or table > TABLE_WRITES


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

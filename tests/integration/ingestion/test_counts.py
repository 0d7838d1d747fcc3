"""Counts that the registry keeps are what the graph holds: after updates, removals, an interruption and a repair."""

# ruff: noqa: F401, F811  fixtures

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from lexigraph.ingestion.upkeep.repair import examine
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.counts import live_counts
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.protocols import Stores
from tests.contract.registry_fixtures import aws, aws_server
from tests.laptop import CLOCK, laptop, open_laptop, write_pages
from tests.standins.aws_server import AwsServer

DEFAULT = Tenant("default")


@pytest.fixture
def stores(aws: AwsServer, tmp_path: Path) -> Iterator[Stores]:
    registry = DynamoDBRegistry(aws.dynamodb(f"counts-{uuid4().hex}"))
    with closing(open_laptop(tmp_path / "data")) as opened:
        yield replace(opened, registry=registry)


def check(stores: Stores) -> None:
    told, held = live_counts(stores, DEFAULT), stores.graph.stats(DEFAULT)
    assert {k: n for k, n in told.items() if k not in ("facts", "entities")} == {
        k: n for k, n in held.items() if k not in ("facts", "entities")
    }
    assert told["facts"] >= held["facts"]
    assert told["entities"] >= held["entities"]


@pytest.mark.slow
def test_counts_follow_documents_that_come_change_and_go(stores: Stores, tmp_path: Path, aws: AwsServer) -> None:
    pages, index = write_pages(tmp_path / "pages", CLOCK), laptop(tmp_path / "data", stores)
    assert not index.ingest([pages]).failures
    check(stores)
    assert live_counts(stores, DEFAULT)["sources"] == 3
    (pages / "Clock.md").write_text("# Clock\n\nThe clock strikes ten. It was made in Molde. It is of iron.", "utf-8")
    with aws.failing("TransactWriteItems", "AccessDeniedException"), pytest.raises(StoreUnavailable):
        index.ingest([pages])
    assert not index.ingest([pages]).failures
    check(stores)
    gone = [r.source_id for r in stores.registry.documents(DEFAULT) if r.title == "Clock"]
    index.remove(gone)
    check(stores)
    assert live_counts(stores, DEFAULT)["sources"] == 2


def test_doctor_puts_counts_right_and_those_of_an_earlier_release(stores: Stores, tmp_path: Path) -> None:
    index = laptop(tmp_path / "data", stores)
    assert not index.ingest([write_pages(tmp_path / "pages", CLOCK)]).failures
    first, second, *_ = stores.registry.documents(DEFAULT)
    stores.registry.save(DEFAULT, [replace(first, counts={}), replace(second, counts={**second.counts, "chunks": 99})])
    found = examine(stores, DEFAULT, repair=True)
    assert {f.uri: f.problem for f in found} == dict.fromkeys((first.uri, second.uri), "its counts differ from the graph")
    check(stores)
    assert examine(stores, DEFAULT) == []

"""What is derived of names that stand everywhere costs the same in a tenant of any size, and is the same in both stores."""

from contextlib import closing
from pathlib import Path

import pytest

from bench.scale import mentions
from lexigraph.model.ids import entity_id
from lexigraph.storage.neptune.store import NeptuneGraphStore
from tests.standins.neptune import NeptuneStandIn

SMALL, LARGE = 14_000, 42_000  # mentions; of each name that stands everywhere more than the thousand that are looked at


@pytest.mark.slow
def test_one_more_document_is_no_more_work_for_sqlite_in_a_larger_tenant(tmp_path: Path) -> None:
    steps = []
    for count in (SMALL, LARGE):
        with mentions.sqlite(tmp_path / str(count)) as store:
            steps.append(mentions.steps_of(store, mentions.fill(store, count))[0])
    assert steps[1] < 1.05 * steps[0]  # trees of keys are a little higher


@pytest.mark.nightly
def test_one_more_document_is_no_more_reads_for_neptune_in_a_larger_tenant_and_gives_what_sqlite_does(
    tmp_path: Path,
) -> None:
    records, found = [], []
    for count in (SMALL, LARGE):
        with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as store:
            documents = mentions.fill(store, count)
            records.append(mentions.records_of(store, cluster, documents))
            found.append(sorted(mentions.one_more(store, documents + 2)))
    assert records[1][0] == records[0][0]
    assert records[1][1] < 1.05 * records[0][1]
    with mentions.sqlite(tmp_path) as store:
        mentions.fill(store, LARGE)
        for number in range(documents, documents + 2):
            mentions.one_more(store, number)
        assert sorted(mentions.one_more(store, documents + 2)) == found[1]


def test_beyond_a_thousand_mentions_counts_stop_and_below_they_are_exact(tmp_path: Path) -> None:
    with mentions.sqlite(tmp_path) as store:
        documents = mentions.fill(store, 10_000)
        everywhere, own = entity_id(mentions.TENANT, "Product A"), entity_id(mentions.TENANT, f"Own {documents}")
        assert documents == 9
        exact = {e.id: e for e in mentions.one_more(store, documents)}  # the thousandth mention
        assert (exact[everywhere].df, exact[everywhere].degree) == (10, 1000)
        assert (exact[own].value, exact[own].df, exact[own].degree) == (f"Own {documents}", 1, 0)
        capped = {e.id: e for e in mentions.one_more(store, documents + 1)}[everywhere]
        assert (capped.value, capped.df, capped.degree) == ("Product A", 11, 1000)

"""Looking around in the embedded graph where it is large: what is read stays bounded, and the reply says so."""

from pathlib import Path

import pytest

from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import MOST_MENTIONS
from lexigraph.storage.sqlite.graph.explore import _LEADING
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.worlds import said, show, version

ACME = Tenant("acme")


@pytest.mark.nightly
def test_of_an_entity_that_is_named_very_often_so_many_mentions_are_read(tmp_path: Path) -> None:
    store = SqliteGraphStore(f"sqlite:///{tmp_path}")
    each = 501
    for part in range(MOST_MENTIONS // 5 // each + 1):
        topics = {
            f"Part {n}": [said(f"Hub meets Name {i} in {part} {n}.", "Hub", f"Name {i}") for i in range(each)]
            for n in range(5)
        }
        show(store, "acme", version("acme", f"Book {part}", topics))
    often, seldom = entity_id("acme", "Hub"), entity_id("acme", "Name 7")
    profile = store.profile(ACME, often)
    assert (profile.statements, profile.neighbours, profile.complete) == (MOST_MENTIONS, each, False)
    companions = store.companions(ACME, often, limit=3)
    assert (len(companions.found), companions.total, companions.complete) == (3, each, False)
    assert store.profile(ACME, seldom).complete
    assert store.companions(ACME, seldom).complete
    store.close()


def test_what_most_sources_name_is_found_by_an_index(tmp_path: Path) -> None:
    store = SqliteGraphStore(f"sqlite:///{tmp_path}")
    show(store, "acme", version("acme", "Note", {"Part": [said("Tove Lund waits.", "Tove Lund")]}))
    assert [e.value for e in store.leading(ACME, 3)] == ["Tove Lund"]
    with store._database.read() as connection:
        plan = " ".join(str(row[-1]) for row in connection.execute(f"EXPLAIN QUERY PLAN {_LEADING}", (1, 20)))
    assert "entity_df" in plan
    assert "TEMP B-TREE" not in plan
    store.close()

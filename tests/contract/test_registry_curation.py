"""Decisions about names: kept by tenant, replaced by their id, never lost among each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from lexigraph.model.curation import Decision
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Registry

ONE, OTHER = Tenant("one"), Tenant("other")
FIRST = Decision("2026-01", "merge", "Quill Line", ("Quill", "Q. Line"), "ada", "the same firm", "2026-01-01T00:00:00Z")


def test_decisions_are_kept_whole_by_tenant_and_in_order(registry: Registry) -> None:
    second = replace(FIRST, id="2026-02", kind="alias", note="")
    for decision in (second, FIRST):
        registry.decide(ONE, decision)
    assert registry.decisions(ONE) == [FIRST, second]
    assert registry.decisions(OTHER) == []


def test_a_decision_of_the_same_id_takes_its_place(registry: Registry) -> None:
    registry.decide(ONE, FIRST)
    undone = replace(FIRST, undone_at="2026-01-02T00:00:00Z")
    registry.decide(ONE, undone)
    assert registry.decisions(ONE) == [undone]
    assert (FIRST.pairs, undone.pairs) == ([("Quill", "Quill Line"), ("Q. Line", "Quill Line")], [])


def test_decisions_made_at_once_are_all_kept(open_registry: Callable[[], Registry]) -> None:
    clients = [open_registry() for _ in range(4)]
    made = [replace(FIRST, id=f"2026-{n:02d}") for n in range(20)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: clients[n % 4].decide(ONE, made[n]), range(20)))
    assert clients[0].decisions(ONE) == made

"""A name that is everywhere must not slow the questions about it, nor those that pass it: counted in steps of SQLite."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.worlds import said, settle, version

A = Tenant("a")
HUB, OTHER = entity_id(A, "Hubville"), entity_id(A, "Otto 7")
_STATEMENTS, _CHUNKS = 10, 10


def place(number: int) -> SourceVersion:
    """A document with a hundred statements, all of which name the hub and stand in a fact with it."""
    people = [f"Otto {number * _STATEMENTS * _CHUNKS + n}" for n in range(_STATEMENTS * _CHUNKS)]
    told = [said(f"{p} lives in Hubville.", p, "Hubville", facts=[(p, "lives in", "Hubville")]) for p in people]
    chunks = {f"Part {at}": told[at * _STATEMENTS : (at + 1) * _STATEMENTS] for at in range(_CHUNKS)}
    return version(A, f"Place {number}", chunks)


def build(folder: Path, mentions: int) -> SqliteGraphStore:
    store = SqliteGraphStore(f"sqlite:///{folder}")
    versions = [version(A, "Hubville", {"Town": [said("Hubville has a mayor, Ida.", "Hubville", "Ida")]})]
    versions += [place(n) for n in range(mentions // (_STATEMENTS * _CHUNKS))]
    for at in range(0, len(versions), 50):
        store.write(A, versions[at : at + 50])
        store.publish(A, [v.source for v in versions[at : at + 50]])
    settle(store, A)
    return store


def steps(store: SqliteGraphStore, ask: Callable[[], object]) -> int:
    """Return how many hundreds of steps SQLite's machine takes for what is asked, which joins this read transaction."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with store._database.read() as connection:
        connection.set_progress_handler(count, 100)
        try:
            ask()
        finally:
            connection.set_progress_handler(None, 0)
    return counted


def work(store: SqliteGraphStore) -> dict[str, int]:
    """Return the steps of each call of a question that is about the hub, or passes it."""
    named_by = tuple(place(0).placements)[:3]
    about = tuple(version(A, "Hubville", {"Town": [said("Hubville has a mayor, Ida.", "Hubville", "Ida")]}).placements)
    found = store.evidence(A, EvidenceRequest(chunks=about, entities=(HUB, OTHER)))
    assert {row.value for row in found} == {"Hubville has a mayor, Ida.", "Otto 7 lives in Hubville."}
    links = store.neighbourhood(A, named_by).links
    assert {(link.entity_id, link.to_chunk, link.kind) for link in links} == {(HUB, about[0], "about")}
    return {
        "entities": steps(store, lambda: store.entities(A, (HUB, OTHER), connected=3)),
        "evidence": steps(store, lambda: store.evidence(A, EvidenceRequest(chunks=about, entities=(HUB, OTHER)))),
        "passing": steps(store, lambda: store.neighbourhood(A, named_by)),
        "leaving": steps(store, lambda: store.neighbourhood(A, about)),
    }


def grown(folder: Path, many: int) -> dict[str, tuple[int, int]]:
    """Return the calls that take over a tenth more steps with ``many`` mentions than with 1,500, with their steps."""
    few, most = (work(build(folder / str(n), n)) for n in (1_500, many))
    return {call: (few[call], most[call]) for call in few if most[call] > 1.1 * few[call] + 5}


@pytest.mark.slow
def test_thrice_as_many_mentions_of_a_hub_cost_a_question_no_more(tmp_path: Path) -> None:
    assert grown(tmp_path, 4_500) == {}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "mentions", [pytest.param(15_000, marks=pytest.mark.slow), pytest.param(50_000, marks=pytest.mark.soak)]
)
def test_tens_of_thousands_of_mentions_of_a_hub_cost_a_question_no_more(tmp_path: Path, mentions: int) -> None:
    assert grown(tmp_path, mentions) == {}

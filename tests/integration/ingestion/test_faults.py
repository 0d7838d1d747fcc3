"""A document's way over Neptune, OpenSearch, DynamoDB and S3, disturbed at any call: it ends as if undisturbed.

Functions are killed before and after a call is carried out, refused for a while or for good, and lose replies; other
documents come and go in the middle; messages come twice and in any order. What fails for good says so and is driven on.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import permutations
from typing import Any

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import load_settings
from lexigraph.storage.protocols import VectorRecord
from tests.disturbance import OWNER, Way, World, disturbed_world, go_disturbed, go_meanwhile, open_all, recorded
from tests.functions import message
from tests.models import SentenceExtractor, WordEmbedder
from tests.standins.forked_functions import ForkedFunctions
from tests.standins.script import KINDS
from tests.worlds import said, version

HARBOUR, LIGHTHOUSE, GRANITE = (f"default/default/{name}.md" for name in ("harbour", "lighthouse", "granite"))
TEXT = """# Harbour Office

The Harbour Office runs Lighthouse. Tove Lund built Granite.

## Rooms

The Harbour Office keeps Basalt in room 7. Mira Holm leads the Harbour Office.

## People

Tove Lund met Mira Holm.
"""
CHANGED = TEXT.replace("in room 7", "in the cellar").replace("met Mira Holm", "knows Granite")
SHARING = "# Lighthouse\n\nTove Lund built Granite. Mira Holm leads the Harbour Office.\n\nLighthouse stores Basalt.\n"
THIRD = "# Granite\n\nTove Lund built Granite. Granite holds Basalt.\n\nMira Holm leads the Harbour Office.\n"


# the files, each way's with its text (empty: it is deleted), and the way that goes before
WAYS = {
    "lighthouse": (LIGHTHOUSE, SHARING, ""),
    "new": (HARBOUR, TEXT, "lighthouse"),
    "replaced": (HARBOUR, CHANGED, "new"),
    "removed": (HARBOUR, "", "replaced"),
    "another": (GRANITE, THIRD, "new"),
    "gone": (LIGHTHOUSE, "", "new"),
}


class Ground:
    """The deployment and its ways, each recorded when first asked for; ``functions`` are disturbed, ``others`` are not."""

    def __init__(self, world: World, functions: ForkedFunctions, others: ForkedFunctions) -> None:
        self.world, self.functions, self.others = world, functions, others
        self._ways: dict[str, Way] = {}

    def way(self, name: str) -> Way:
        """Return a way from where the one before it ends."""
        if name not in self._ways:
            key, text, before = WAYS[name]
            if before:
                self.world.restore(self.way(before).end)
            if text:
                kind = "start.overwritten" if name == "replaced" else "start.created"
                told = message(kind, key=key, version_id=self.world.put(key, text))
            else:
                self.world.delete(key)
                told = message("start.deleted", key=key)
            self._ways[name] = recorded(self.world, self.functions, told)
        return self._ways[name]

    def after(self, first: str, second: str) -> Way:
        """Return the second way from where the first one ends."""
        name = f"{first}, {second}"
        if name not in self._ways:
            told = self.way(second).told
            self.world.restore(self.way(first).end)
            self._ways[name] = recorded(self.world, self.functions, told)
        return self._ways[name]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with disturbed_world(tmp_path_factory.mktemp("data")) as world:
        world.collection.slower = {"lexigraph-statement": 3, "lexigraph-tag": 4}
        with ForkedFunctions(world.script) as functions, ForkedFunctions() as others:
            yield Ground(world, functions, others)


def disturb(ground: Ground, name: str, calls: range, turn: int) -> None:
    """Disturb these calls of a way, one after another by the next kind; after five turns each has met each."""
    way, wrong = ground.way(name), []
    for n, at in enumerate(at for at in calls if at <= way.calls):
        kind = KINDS[(n + turn) % len(KINDS)]
        if found := go_disturbed(ground.world, ground.functions, way, at, kind):
            wrong.append((at, kind, way.names[at - 1], found))
    assert not wrong, wrong


def race(ground: Ground, first: str, second: str, calls: range, *, frozen: bool) -> None:
    """Let a second way be gone in the middle of these calls of the first."""
    way, end = ground.way(first), ground.after(first, second).end
    wrong = [
        (at, way.names[at - 1], found)
        for at in calls
        if at <= way.calls
        and (found := go_meanwhile(ground.world, ground.functions, ground.others, way, at, ground.way(second), end, frozen))
    ]
    assert not wrong, wrong


# ------------------------------------------------------------ killed, throttled, cut off, refused


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "calls", "turn"), [("replaced", range(67, 1_000, 180), 0), ("removed", range(43, 90, 40), 3)]
)
def test_a_way_disturbed_at_some_calls_ends_as_if_undisturbed(ground: Ground, name: str, calls: range, turn: int) -> None:
    disturb(ground, name, calls, turn)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(len(KINDS)))
@pytest.mark.parametrize("name", ["new", "replaced", "removed"])
def test_a_way_disturbed_at_any_call_ends_as_if_undisturbed(ground: Ground, name: str, turn: int) -> None:
    disturb(ground, name, range(1, 1_000), turn)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["killed", "killed after", "busy", "cut"])
def test_a_failure_whose_record_is_disturbed_at_any_call_is_told_and_driven_on(ground: Ground, kind: str) -> None:
    way = ground.way("replaced")
    at = way.names.index("Neptune write") + 3
    wrong = [
        (call, found)
        for call in range(1, 20)
        if (found := go_disturbed(ground.world, ground.functions, way, at, "denied", (call, kind)))
    ]
    assert not wrong, wrong


# ------------------------------------------------------------ others in the middle

RACES = [("replaced", "gone"), ("another", "gone"), ("gone", "another"), ("another", "replaced"), ("removed", "gone")]
REMOVED = ("replaced", "removed")  # the same document; the run that it overtakes ends as Superseded


@pytest.mark.nightly
@pytest.mark.parametrize("frozen", [False, True])
def test_a_document_that_goes_amid_the_update_of_another_that_shares_facts_harms_neither(
    ground: Ground, frozen: bool
) -> None:
    at = 160 if frozen else 95
    race(ground, "replaced", "gone", range(at, at + 1), frozen=frozen)


@pytest.mark.soak
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(("first", "second"), RACES)
def test_a_document_that_comes_or_goes_at_any_call_of_another_that_shares_facts_harms_neither(
    ground: Ground, first: str, second: str, frozen: bool
) -> None:
    race(ground, first, second, range(7, 1_000), frozen=frozen)


@pytest.mark.nightly
def test_a_build_that_sleeps_while_its_document_is_removed_leaves_nothing(ground: Ground) -> None:
    names = ground.way("replaced").names
    ground.way("removed")
    last = max(n for n, name in enumerate(names, 1) if name == "OpenSearch _bulk")
    race(ground, *REMOVED, range(last, last + 1), frozen=True)


@pytest.mark.soak
@pytest.mark.parametrize("frozen", [True, False])
def test_a_document_that_is_removed_at_any_call_of_its_update_leaves_nothing(ground: Ground, frozen: bool) -> None:
    race(ground, *REMOVED, range(7, 1_000), frozen=frozen)


@pytest.mark.nightly
def test_doctor_takes_away_what_the_stores_of_a_deployment_hold_of_a_document_that_nobody_knows(ground: Ground) -> None:
    world, end, gone = ground.world, ground.way("new").end, version(OWNER, "Gone", {"Life": [said("Tove Lund|Person")]})
    world.restore(end)
    index = LexicalGraphIndex(world.stores, embedder=WordEmbedder(), extractor=SentenceExtractor(), settings=load_settings())
    assert index.repair(dry_run=True) == []
    (chunk,), (vector,) = gone.placements, WordEmbedder().embed_questions(["x"])
    records = {"chunk": [VectorRecord(chunk, "x", gone.source.id, chunk, vector)]}
    source = gone.source.id
    for leave in (
        lambda stores: stores.vectors.upsert(OWNER, records),
        lambda stores: stores.vectors.tag(OWNER, [gone.source]),
        lambda stores: stores.documents.put(OWNER, source, "text.1", b"x"),
        lambda stores: stores.graph.write(OWNER, [gone]),
    ):
        with closing(open_all(load_settings())) as stores:
            leave(stores)
        world.collection.show_all()
        assert [f.source_id for f in index.repair(dry_run=True)] == [source]
        assert [f.repaired for f in index.repair()] == [True]
        assert world.content() == end.content
        assert index.repair(dry_run=True) == []


def compared(ground: Ground, *, repair: bool) -> dict[str, int]:
    """Have the state machine compare the stores, a place a call; return what it counts."""
    went: list[tuple[str, dict[str, Any]]] = []
    given = {"action": "check", "check": {"tenant": OWNER, "repair": repair, "seconds": 0}}
    ground.world.script.begin()
    execution = ground.world.execution(ground.functions, given, enter=lambda name, data: went.append((name, data)))
    assert execution.run() == "SUCCEEDED", execution.error
    assert [name for name, _ in went].count("Check") > 3
    name, data = went[-1]
    assert name == "Checked"
    return dict(data["check"]["problems"])


@pytest.mark.nightly
def test_an_operator_has_a_deployment_compare_its_stores_and_put_them_right(ground: Ground) -> None:
    world, end = ground.world, ground.way("new").end
    world.restore(end)
    with closing(open_all(load_settings())) as stores:
        stores.documents.put(OWNER, "source:" + "9" * 32, "text.1", b"x")
        stores.cache.put_many(OWNER, "extraction:x", {"k": b"x"})
        stores.cache.own(OWNER, {"chunk:" + "9" * 32: [("extraction:x", "k")]})
    problems = {"is in a store but not in the registry": 1, "chunks in the cache belong to no document": 1}
    assert compared(ground, repair=False) == problems
    assert world.content() != end.content
    assert compared(ground, repair=True) == problems
    assert world.content() == end.content
    assert compared(ground, repair=False) == {}


# ------------------------------------------------------------ messages


def tell(ground: Ground, order: tuple[str, ...], *, late: bool) -> None:
    """Tell of what happened to `harbour` in this order, each message and each call of a function twice.

    ``late``: what was begun is carried out after all was told, the last first.
    """
    world, ways = ground.world, [ground.way(name) for name in order]
    newest = max(order, key=["new", "replaced", "removed"].index)
    world.restore(ground.way("new").begin)
    begun = 0
    before = len(world.cloud.started(world.arn))
    for way in ways:
        for _ in range(2):
            assert world.deliver(ground.others, way.told)
        given = world.cloud.started(world.arn)[before + begun :]
        begun += len(given)
        if not late:
            assert all(world.execution(ground.others, g, times=2).run() == "SUCCEEDED" for g in given)
    if late:
        for given in world.cloud.started(world.arn)[before:][::-1]:
            assert world.execution(ground.others, given, times=2).run() == "SUCCEEDED"
    end = ground.way(newest).end
    found = world.content()
    for kept in ("graph", "vectors", "registry", "texts"):
        assert found[kept] == end.content[kept], (order, late, kept)


ORDERS = [order for count in (2, 3) for order in permutations(("new", "replaced", "removed"), count)]


@pytest.mark.nightly
def test_messages_told_twice_and_out_of_order_end_in_the_newest_state(ground: Ground) -> None:
    tell(ground, ("replaced", "new"), late=True)


@pytest.mark.soak
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_messages_told_twice_and_in_any_order_end_in_the_newest_state(
    ground: Ground, order: tuple[str, ...], late: bool
) -> None:
    tell(ground, order, late=late)

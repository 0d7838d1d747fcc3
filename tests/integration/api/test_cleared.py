"""What one server is told to forget, every server with the same registry forgets: answers at once, vectors soon after."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraph.api.app import create_app
from lexigraph.api.caches import Clearings, Remembered
from lexigraph.api.models import RememberingEmbedder
from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion import curation
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Freshness
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests.laptop import laptop, open_laptop, write_pages
from tests.models import WordEmbedder
from tests.server import Api, LaptopService, serving

QUESTION = {"question": "Who leads the Heron Team?"}
PAGES = {"Heron Team": "The Heron Team is led by Ines Calloway."}


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Counting(WordEmbedder):
    """Counts the questions that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        self.asked += len(texts)
        return super().embed_questions(texts)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[tuple[Api, Counting], tuple[Api, Counting]]]:
    """Two servers over one folder, which share nothing but that: each has stores, models and memory of its own."""
    settings = Settings(data=tmp_path / "data", api_rate=0)
    with ExitStack() as opened:
        servers = []
        for _ in range(2):
            stores, embedder = open_laptop(tmp_path / "data"), Counting()
            opened.callback(stores.close)
            service = LaptopService(settings, stores=stores, embedder=embedder)
            api = Api(opened.enter_context(serving(create_app(settings, service))), stores)
            opened.callback(api.close)
            servers.append((api, embedder))
        laptop(tmp_path / "data", servers[0][0].stores).ingest([write_pages(tmp_path / "corpus", PAGES)])
        yield servers[0], servers[1]


@pytest.mark.requirement("E-58")
def test_what_is_cleared_at_one_server_is_answered_anew_by_the_other(
    two: tuple[tuple[Api, Counting], tuple[Api, Counting]],
) -> None:
    (asked, embedder), (other, _) = two
    client, manager, stranger = asked.client(), other.client(), other.client("other")
    client.post("/query", json=QUESTION)
    assert client.post("/query", json=QUESTION).json()["cached"] is True
    stranger.post("/cache/clear")
    assert client.post("/query", json=QUESTION).json()["cached"] is True, "another tenant's clearing leaves it"
    before = embedder.asked

    assert manager.post("/cache/clear").json() == {"cleared": True}

    told = client.get("/cache/stats").json()
    assert (told["answer_cache_size"], told["embedding_cache_size"]) == (0, 0)
    assert client.post("/query", json=QUESTION).json()["cached"] is False
    assert client.post("/query", json=QUESTION).json()["cached"] is True
    assert embedder.asked == before + 1


def test_after_a_decision_about_names_no_server_answers_from_memory(
    two: tuple[tuple[Api, Counting], tuple[Api, Counting]],
) -> None:
    (asked, _), (other, _) = two
    client = asked.client()

    def remembered() -> list[bool]:
        return [client.post("/query", json=QUESTION).json()["cached"] for _ in range(2)]

    def with_aliases() -> int:
        return int(client.get("/diagnostics").json()["entity_aliases"]["with_aliases"])

    assert remembered() == [False, True]
    assert with_aliases() == 0
    made = curation.decide(other.stores, Tenant("default"), "alias", "Heron Team", ["Grey Birds"])
    assert remembered() == [False, True]
    assert with_aliases() > 0
    curation.undo(other.stores, Tenant("default"), made.id)
    assert remembered() == [False, True]
    assert with_aliases() == 0


class Watched(SqliteRegistry):
    """Counts how often it is asked whether what is remembered still holds."""

    asked = 0

    def freshness(self, tenant: Tenant) -> Freshness:
        self.asked += 1
        return super().freshness(tenant)


def test_answers_ask_the_registry_once_each_and_statements_once_a_minute(tmp_path: Path) -> None:
    stores = open_laptop(tmp_path)
    registry = Watched(f"sqlite:///{tmp_path}")
    settings, embedder = Settings(data=tmp_path, api_rate=0), Counting()
    service = LaptopService(settings, stores=replace(stores, registry=registry), embedder=embedder)
    laptop(tmp_path, stores).ingest([write_pages(tmp_path / "corpus", PAGES)])
    with serving(create_app(settings, service)) as url:
        api = Api(url, stores)
        client = api.client()
        for _ in range(4):
            assert client.post("/retrieve/traversal", json=QUESTION).json()["results"]
        assert registry.asked == 1
        for _ in range(2):
            client.post("/query", json=QUESTION)
        assert registry.asked == 3
        assert embedder.asked <= 2, "and vectors are used again"
        api.close()
    registry.close()
    stores.close()


def test_vectors_are_used_for_a_minute_without_asking_whether_they_were_cleared() -> None:
    clock, embedder, cleared, asked = Clock(), Counting(), [0], [0]
    heard = Clearings(60.0, alone=False, clock=clock)
    known: Remembered[FloatArray] = Remembered(10, 3_600.0, clock)

    def cleared_meanwhile() -> bool:
        if not heard.due("a"):
            return False
        asked[0] += 1
        if anew := heard.note("a", cleared[0]):
            known.clear("a")
        return anew

    remembering = RememberingEmbedder(embedder, "a", known, cleared_meanwhile)
    for _ in range(5):
        remembering.embed_questions(["Who?"])
    assert (embedder.asked, asked) == (1, [1])
    cleared[0] += 1
    clock.now += 59
    remembering.embed_questions(["Who?"])
    assert (embedder.asked, asked) == (1, [1])
    clock.now += 2
    remembering.embed_questions(["Who?"])
    assert (embedder.asked, asked) == (2, [2])


def test_a_process_that_never_asked_before_forgets_what_it_alone_remembers() -> None:
    assert Clearings(60.0, alone=True).note("a", 3) is True
    shared = Clearings(60.0, alone=False)
    assert [shared.note("a", 3), shared.note("a", 3), shared.note("a", 4), shared.note("b", 4)] == [
        False,
        False,
        True,
        False,
    ]

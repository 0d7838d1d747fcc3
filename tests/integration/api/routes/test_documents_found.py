"""Documents found by words of their title, uri and namespace, page by page, however many there are."""

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from lexigraph.model.tenant import Tenant
from tests.server import laptop_api

TENANT = Tenant("default")
COUNT = 2_300


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with laptop_api(tmp_path_factory.mktemp("found")) as served:
        client = served.client()
        reply = client.post("/documents", files={"file": ("Fähre & Flut.md", b"# Flow\n\nTove Lund signs.\n")})
        registry = served.stores.registry
        record = registry.records(TENANT, [reply.json()["document"]["id"]])[reply.json()["document"]["id"]]
        made = []
        for number in range(COUNT):
            named = f"Invoice {number}" if number % 3 else f"Überweisung {number}"
            namespace = "paid" if number % 2 else "open"
            uri = f"upload://x/{number // 2:05}.md"  # two of each
            made.append(replace(record, source_id=f"source:{number:032x}", uri=uri, namespace=namespace, title=named))
        registry.save(TENANT, made)
        yield client


def _all(client: httpx.Client, **params: str | int) -> tuple[list[str], int]:
    """Return titles in order, and how many pages there were."""
    titles: list[str] = []
    after, pages = "", 0
    while after is not None:
        told = client.get("/documents", params={**params, "after": after}).raise_for_status().json()
        titles += [document["title"] for document in told["documents"]]
        after, pages = told["next"], pages + 1
        assert pages < 200
    return titles, pages


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 100, 1_000])
def test_every_document_that_has_the_words_is_found_once(client: httpx.Client, limit: int) -> None:
    titles, pages = _all(client, find="ÜBERWEIS 11", limit=limit)
    wanted = [f"Überweisung {n}" for n in range(0, COUNT, 3) if "11" in f"{n} {n // 2:05}"]
    assert sorted(titles) == sorted(wanted)
    assert pages <= len(wanted) // limit + 4


def test_words_may_stand_in_title_uri_and_namespace(client: httpx.Client) -> None:
    titles, _ = _all(client, find="paid 00020.md")
    assert titles == ["Invoice 41"]
    assert _all(client, find="00020.md", namespace="open")[0] == ["Invoice 40"]


def test_a_name_is_found_as_it_was_given_whatever_its_uri_has_to_escape(client: httpx.Client) -> None:
    assert _all(client, find="fähre & FLUT.md")[0] == ["Flow"]


def test_what_nothing_has_is_found_nowhere(client: httpx.Client) -> None:
    titles, pages = _all(client, find="no-such-word")
    assert (titles, pages) == ([], 1)


def test_nothing_to_find_is_all_of_them(client: httpx.Client) -> None:
    assert len(_all(client, find="  ", limit=1_000)[0]) == COUNT + 1


def test_what_is_to_be_found_is_short_text(client: httpx.Client) -> None:
    assert client.get("/documents", params={"find": "a" * 201}).status_code == 422

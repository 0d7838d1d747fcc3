"""What there is at a glance: right after every change, counted only when something has changed, and of one tenant."""

import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import httpx
import pytest

from lexigraph.api.routes import overview
from lexigraph.model.tenant import Tenant
from tests.server import Api, laptop_api, send

OURS = Tenant("default")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("overview")) as served:
        yield served


def test_it_tells_what_there_is_right_after_every_change(api: Api) -> None:
    client = api.client("fresh")
    empty = client.get("/overview").json()
    assert not any(empty["counts"].values())
    assert (empty["languages"], empty["growth"], empty["jobs"]["SUCCEEDED"]) == ([], [], 0)
    send(client, "flow.md", "# Flow\n\nTove Lund signs the ledger. Mira Holm pays.\n")
    document = send(client, "note.txt", "Mira Holm reads.")
    told = client.get("/overview").json()
    assert told["counts"]["documents"] == told["documents"]["READY"] == told["jobs"]["SUCCEEDED"] == 2
    assert all(told["counts"][kind] for kind in ("chunks", "topics", "statements", "entities"))
    assert {t["name"]: t["documents"] for t in told["file_types"]} == {"md": 1, "txt": 1}
    assert sum(language["documents"] for language in told["languages"]) == 2
    (day,) = told["growth"]
    assert (day["documents"], day["characters"] > 0, day["day"]) == (2, True, told["counted_at"][:10])
    assert told["stores"] == {"graph": "ok", "vectors": "ok", "registry": "ok"}
    assert (told["models"]["llm"]["name"], told["models"]["embedding"]["dimension"]) == ("none", 64)
    client.delete(f"/documents/{document}")
    assert client.get("/overview").json()["counts"]["documents"] == 1
    assert not any(api.client("other").get("/overview").json()["counts"].values())


def test_what_is_amiss_is_told_with_what_to_do(api: Api) -> None:
    client = api.client()
    document = send(client, "broken.md", "# Broken\n\nTove Lund signs.\n")
    registry = api.stores.registry
    registry.save(OURS, [replace(registry.records(OURS, [document])[document], state="FAILED", reason="a reason")])
    told = {warning["type"]: warning for warning in client.get("/overview").json()["warnings"]}
    assert told.keys() == {"no_language_model", "documents_failed"}
    assert all(warning["remedy"] for warning in told.values())
    assert told["documents_failed"]["detail"] == "1 document could not be ingested"


def test_nothing_is_counted_again_until_something_changes(api: Api) -> None:
    client, calls = api.client(), list[str]()
    client.get("/overview")
    stats = api.stores.graph.stats

    def counted(tenant: Tenant) -> dict[str, int]:
        calls.append(tenant)
        return stats(tenant)

    api.stores.graph.stats = counted  # type: ignore[method-assign]
    try:
        tag = client.get("/overview").headers["etag"]
        assert client.get("/overview", headers={"If-None-Match": tag}).status_code == 304
        assert calls == []
        send(client, "more.md", "# More\n\nMira Holm reads.\n")
        calls.clear()  # the ingest has counted, too
        client.get("/overview")
        assert calls == ["default"]
    finally:
        del api.stores.graph.stats


@pytest.mark.slow
def test_no_reply_waits_for_counts_that_take_long(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "_TIMES", 2)  # as long until they are counted again: two seconds instead of twenty
    client, counting, calls = api.client("large"), Event(), list[str]()
    document = send(client, "flow.md", "# Flow\n\nTove Lund signs the ledger.\n")
    stats = api.stores.graph.stats

    def slowly(tenant: Tenant) -> dict[str, int]:
        calls.append(tenant)
        counting.wait(20)
        return stats(tenant)

    api.stores.graph.stats = slowly  # type: ignore[method-assign]
    try:
        for _ in range(2):  # and is not counted twice at the same time
            first = client.get("/overview").json()
            assert (first["counts"], first["counted_at"], first["stores"]["graph"]) == ({"documents": 1}, "", "ok")
        counting.set()
        assert _counted(client)["counts"]["statements"] == 1
        assert calls == ["large"]
        counting.clear()
        client.delete(f"/documents/{document}")
        assert client.get("/overview").json()["counts"]["statements"] == 1  # as it was, with its time
        counting.set()
        until = time.monotonic() + 60
        while _counted(client)["counts"]["statements"] and time.monotonic() < until:
            time.sleep(0.05)
        assert _counted(client)["counts"]["statements"] == 0
    finally:
        counting.set()
        del api.stores.graph.stats


def _counted(client: httpx.Client) -> dict[str, Any]:
    until = time.monotonic() + 60
    while not (told := client.get("/overview").json())["counted_at"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    return dict(told)


def test_it_is_for_readers(api: Api) -> None:
    assert api.client("default", "ingest").get("/overview").status_code == 403

"""Names curated over HTTP: merged, listed and undone by an administrator, and felt by questions at once."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.storage.protocols import SCOPES
from tests.server import Api, laptop_api

TEXT = b"# Ferries\n\nQuill Line runs ferries to Vardo.\n\nQuill Shipping was founded by Tove Lund.\n"
STAFF = {"key": "group", "operator": "==", "value": "staff"}
MERGE = {"name": "Quill Line", "others": ["Quill Shipping"], "note": "renamed in 2019"}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with laptop_api(tmp_path) as served:
        assert served.client().post("/documents", files={"file": ("ferries.md", TEXT)}).status_code == 200
        yield served


def aliases(api: Api) -> list[str]:
    """The other names of Quill Line, as its page shows them."""
    (line,) = (
        e for e in api.client().get("/entities", params={"q": "Quill Line"}).json()["entities"] if e["name"] == "Quill Line"
    )
    return [alias["name"] for alias in api.client().get(f"/entities/{line['id']}").json()["aliases"]]


def test_a_merge_is_seen_at_once_listed_and_undone(api: Api) -> None:
    admin = api.client()
    assert aliases(api) == []
    reply = admin.post("/curation/decisions", json=MERGE)
    made = reply.json()
    assert (reply.status_code, made["kind"], made["name"], made["others"]) == (
        201,
        "merge",
        "Quill Line",
        ["Quill Shipping"],
    )
    assert made["note"] == "renamed in 2019" and not made["undone_at"]
    assert aliases(api) == ["Quill Shipping"]
    assert admin.get("/curation/decisions").json()["decisions"] == [made]
    undone = admin.delete(f"/curation/decisions/{made['id']}")
    assert undone.status_code == 200 and undone.json()["undone_at"]
    assert aliases(api) == []
    assert admin.get("/curation/decisions").json()["decisions"] == [undone.json()], "the history keeps it"
    assert admin.delete(f"/curation/decisions/{made['id']}").status_code == 409


def test_an_alias_is_a_name_that_no_document_contains(api: Api) -> None:
    admin = api.client()
    alias = {"kind": "alias", "name": "Quill Line", "others": ["QL"]}
    assert admin.post("/curation/decisions", json={**alias, "kind": "merge"}).status_code == 404
    assert admin.post("/curation/decisions", json=alias).status_code == 201
    contrary = admin.post("/curation/decisions", json={**alias, "name": "Vardo"})
    assert (contrary.status_code, contrary.json()["error"]) == (409, "conflict")


def test_only_who_administers_and_sees_all_may_curate(api: Api) -> None:
    admin = api.client()
    made = admin.post("/curation/decisions", json=MERGE).json()
    path = f"/curation/decisions/{made['id']}"
    filtered = admin.post("/keys", json={"scopes": list(SCOPES), "filters": STAFF}).json()["key"]
    for client in (api.client("default", "read"), api.with_headers({"X-API-Key": filtered})):
        for reply in (
            client.get("/curation/decisions"),
            client.get("/curation/proposals"),
            client.post("/curation/decisions", json=MERGE),
            client.delete(path),
        ):
            assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")
    other = api.client("other")
    assert other.get("/curation/decisions").json() == {"decisions": []}
    assert other.delete(path).status_code == 404


def test_a_decision_tells_a_key_with_filters_no_name_of_other_documents(api: Api) -> None:
    admin, told = api.client(), {"group": "staff"}
    staff = api.client(filters=MetadataFilter("group", "==", "staff"))
    send = {"files": {"file": ("pier.md", b"# Pier\n\nQuill Line built the Vardo Pier.\n")}}
    assert admin.post("/documents", **send, data={"metadata": json.dumps(told)}).status_code == 200
    assert admin.post("/curation/decisions", json=MERGE).status_code == 201

    def samples(client: httpx.Client) -> list[dict[str, object]]:
        found: list[dict[str, object]] = client.get("/diagnostics").json()["entity_aliases"]["sample_top5"]
        return found

    assert samples(admin) == [{"name": "Quill Line", "aliases": ["Quill Shipping"], "alias_count": 1}]
    assert samples(staff) == []


@pytest.mark.slow
def test_a_proposal_has_its_evidence_and_goes_once_it_is_accepted(api: Api) -> None:
    admin = api.client()
    text = b"# Harbour\n\nQuill Shipping Ltd was founded by Tove Lund. Quill Shipping Ltd lies in Vardo.\n"
    assert admin.post("/documents", files={"file": ("harbour.md", text)}).status_code == 200
    pairs = admin.get("/curation/proposals", params={"name": "Quill Shipping"}).json()["proposals"]
    (pair,) = (one for one in pairs if "Ltd" in one["name"] + one["other"])
    assert {pair["name"], pair["other"]} == {"Quill Shipping", "Quill Shipping Ltd"}
    assert "Tove Lund" in pair["shared"] and len(pair["statements"]) == 2
    merge = {"name": pair["name"], "others": [pair["other"]], "note": pair["reason"]}
    assert admin.post("/curation/decisions", json=merge).status_code == 201
    assert pair not in admin.get("/curation/proposals").json()["proposals"]


def test_a_split_parts_two_meanings_is_listed_and_undone(api: Api) -> None:
    admin = api.client()
    text = b"# Pens\n\nQuill Line draws Ada.\n"
    assert admin.post("/documents", files={"file": ("pens.md", text)}).status_code == 200
    (other,) = (d for d in admin.get("/documents").json()["documents"] if d["title"] == "Pens")
    split = {"kind": "split", "name": "Quill Line", "others": ["Quill Line (pen)"], "documents": [other["uri"]]}
    reply = admin.post("/curation/decisions", json=split)
    made = reply.json()
    assert (reply.status_code, made["kind"], made["documents"]) == (201, "split", [other["id"]])
    assert aliases(api) == ["Quill Line (pen)"]
    assert admin.get("/curation/decisions").json()["decisions"] == [made]
    assert admin.post("/curation/decisions", json=split).status_code == 409
    merge = admin.post("/curation/decisions", json={"name": "Quill Line", "others": ["Quill Line (pen)"]})
    assert (merge.status_code, made["id"] in merge.json()["message"]) == (409, True)
    assert admin.delete(f"/curation/decisions/{made['id']}").json()["undone_at"]
    assert aliases(api) == []


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"documents": []}, 422),
        ({"others": ["Pen", "Line"]}, 422),
        ({"kind": "alias"}, 422),
        ({"documents": ["nowhere.md"]}, 404),
        ({"name": "Nobody Here"}, 422),
    ],
)
def test_a_split_that_cannot_be_is_refused(api: Api, change: dict[str, object], status: int) -> None:
    split = {"kind": "split", "name": "Quill Line", "others": ["Quill Line (pen)"], "documents": ["ferries.md"]}
    reply = api.client().post("/curation/decisions", json={**split, **change})
    assert reply.status_code == status, reply.text
    assert api.client().get("/curation/decisions").json() == {"decisions": []}


@pytest.mark.parametrize("others", [[], ["Quill Line"], ["x" * 201], ["..."], ["Vardo"] * 51])
def test_names_that_cannot_be_are_refused_and_nothing_is_kept(api: Api, others: list[str]) -> None:
    reply = api.client().post("/curation/decisions", json={**MERGE, "others": others})
    assert reply.status_code in (400, 422), reply.text
    assert api.client().get("/curation/decisions").json() == {"decisions": []}

"""Keys over HTTP: an administrator of a tenant makes and revokes them, and gives away no more than is his."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.api.access.keys import HEADER
from lexigraph.api.startup import UNTIL_KEY
from lexigraph.storage.protocols import SCOPES
from tests.server import Api, laptop_api

STAFF = {"key": "group", "operator": "==", "value": "staff"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("keys")) as served:
        yield served


def test_a_key_is_made_shown_once_used_and_revoked(api: Api) -> None:
    admin = api.client()
    reply = admin.post("/keys", json={"name": "<b>newsroom</b> [S1]", "scopes": ["read", "ingest"], "rate": 50})
    assert (reply.status_code, reply.headers["cache-control"]) == (201, "no-store")
    made = reply.json()
    secret = made.pop("key")
    listed = admin.get("/keys")
    assert made in listed.json()["keys"]
    assert secret not in listed.text
    assert (made["name"], made["scopes"], made["rate"], made["revoked_at"]) == (
        "<b>newsroom</b> [S1]",
        ["read", "ingest"],
        50,
        "",
    )
    holder = api.with_headers({HEADER: secret})
    assert holder.get("/documents").status_code == 200
    assert holder.get("/keys").status_code == 403
    revoked = admin.delete(f"/keys/{made['id']}").json()
    assert revoked["revoked_at"]
    assert holder.get("/documents").status_code == 401
    assert revoked in admin.get("/keys").json()["keys"]


def test_a_key_with_filters_sees_what_passes_and_administers_nothing(api: Api) -> None:
    admin = api.client()
    for name, group in (("a.md", "staff"), ("b.md", "board")):
        text = f"---\ngroup: {group}\n---\n# Note {name}\n\nTove Lund signs.\n"
        assert admin.post("/documents", files={"file": (name, text.encode())}).status_code == 200
    made = admin.post("/keys", json={"scopes": list(SCOPES), "filters": STAFF}).json()
    assert made["filters"] == STAFF
    holder = api.with_headers({HEADER: made["key"]})
    assert [d["metadata"]["group"] for d in holder.get("/documents").json()["documents"]] == ["staff"]
    for reply in (holder.get("/keys"), holder.post("/keys", json={}), holder.delete(f"/keys/{made['id']}")):
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")


def test_a_key_gives_no_more_than_it_has(api: Api) -> None:
    narrow = api.client("default", "admin", databases=("shop",))
    assert narrow.post("/keys", json={"scopes": ["read"], "databases": ["shop"]}).status_code == 403
    assert narrow.post("/keys", json={"scopes": ["admin"]}).status_code == 403
    assert narrow.post("/keys", json={"scopes": ["admin"], "databases": ["court"]}).status_code == 403
    assert narrow.post("/keys", json={"scopes": ["admin"], "databases": ["shop"]}).status_code == 201


def test_a_key_with_a_rate_gives_none_that_is_faster(api: Api) -> None:
    made = api.client().post("/keys", json={"scopes": ["read", "admin"], "rate": 40}).json()
    slow = api.with_headers({HEADER: made["key"]})
    refused = slow.post("/keys", json={"rate": 41})
    assert (refused.status_code, refused.json()["message"]) == (403, "rate: your key is limited to 40 a minute")
    assert [slow.post("/keys", json=rate).json()["rate"] for rate in ({"rate": 30}, {"rate": 0}, {})] == [30, 40, 40]


def test_keys_of_other_tenants_are_not_there(api: Api) -> None:
    theirs = api.client("other").post("/keys", json={}).json()
    admin = api.client()
    assert theirs["id"] not in admin.get("/keys").text
    assert admin.delete(f"/keys/{theirs['id']}").status_code == 404
    assert api.with_headers({HEADER: theirs["key"]}).get("/documents").status_code == 200


def test_no_key_revokes_itself(api: Api) -> None:
    made = api.client().post("/keys", json={"scopes": list(SCOPES)}).json()
    holder = api.with_headers({HEADER: made["key"]})
    reply = holder.delete(f"/keys/{made['id']}")
    assert (reply.status_code, reply.json()["error"]) == (409, "conflict")
    assert holder.get("/keys").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": ["root"]},
        {"name": "\u202egnp"},
        {"name": "a" * 5_000},
        {"rate": -1},
        {"filters": {"key": "group", "operator": "like", "value": 1}},
        {"tenant": "other"},
    ],
)
def test_what_cannot_be_a_key_is_refused(api: Api, body: dict[str, object]) -> None:
    assert api.client().post("/keys", json=body).status_code == 422


def test_filters_are_no_longer_than_a_gateway_hands_on(api: Api) -> None:
    long = {"key": "group", "operator": "in", "value": ["x" * 900] * 5}
    assert api.client().post("/keys", json={"filters": long}).status_code == 413


def test_the_first_key_closes_an_open_server(tmp_path: Path) -> None:
    with laptop_api(tmp_path, open_=UNTIL_KEY) as api:
        anybody = api.with_headers({})
        elsewhere = anybody.post("/keys", json={}, headers={"Origin": "https://elsewhere.example"})
        assert elsewhere.status_code == 403
        assert anybody.get("/keys").json() == {"keys": []}
        made = anybody.post("/keys", json={"scopes": list(SCOPES)}).json()
        assert anybody.get("/keys").status_code == 401
        assert len(api.with_headers({HEADER: made["key"]}).get("/keys").json()["keys"]) == 1


@pytest.mark.parametrize("body", [{}, {"scopes": ["read", "ingest"]}, {"scopes": list(SCOPES), "filters": STAFF}])
def test_a_first_key_that_could_make_no_other_leaves_the_server_open(tmp_path: Path, body: dict[str, object]) -> None:
    with laptop_api(tmp_path, open_=UNTIL_KEY) as api:
        anybody = api.with_headers({})
        reply = anybody.post("/keys", json=body)
        assert (reply.status_code, "for the first key" in reply.json()["message"]) == (422, True)
        assert anybody.get("/keys").json() == {"keys": []}


def test_where_a_workflow_takes_documents_in_an_operator_makes_keys(tmp_path: Path) -> None:
    with laptop_api(tmp_path, workflow="arn:aws:states:eu-west-1:1:stateMachine:x", inbox="bucket") as api:
        reply = api.client().get("/keys")
        assert (reply.status_code, "lexigraph keys" in reply.json()["hint"]) == (403, True)

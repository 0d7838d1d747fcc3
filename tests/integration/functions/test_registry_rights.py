"""What functions ask of the registry's table is what their roles allow, item by item; keys are written by none of them."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from functions.finish.handler import IngestFailed
from infra.registry_rights import rights
from lexigraph.api.access.keys import new_key
from lexigraph.ingestion.workflow.file_run import Superseded
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tenant import Tenant
from tests.functions import ALL, KEY, Deployed, deployed, event, inbox, invoke, message

HARBOUR = "# Harbour Office\n\nThe Harbour Office runs Lighthouse.\n\nTove Lund built Granite.\n"
SECOND_KEY = "default/default/granite.md"
SECOND = "# Granite\n\nGranite was built by Tove Lund for the Harbour Office.\n"
OF_TRANSACTIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
NOTHING: dict[str, Any] = {"queryStringParameters": None, "multiValueQueryStringParameters": None}
Asked = tuple[str, str, str]  # function, action, partition key


def allowed(job: str, action: str, key: str) -> bool:
    """Whether a role may do this, as IAM reads the patterns: ``*`` stands for any text."""
    return any(
        action in right.actions and any(re.fullmatch(re.escape(p).replace(r"\*", ".*"), key) for p in right.keys)
        for right in rights(job)
    )


def named(operation: str, asked: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the actions that a request needs, with the partition keys that they name."""
    if operation == "Query":
        yield operation, asked["ExpressionAttributeValues"][":pk"]["S"]
    elif operation == "BatchGetItem":
        yield from ((operation, key["pk"]["S"]) for wanted in asked["RequestItems"].values() for key in wanted["Keys"])
    elif operation == "BatchWriteItem":
        for write in (w for writes in asked["RequestItems"].values() for w in writes):
            (told,) = write.values()
            yield operation, (told.get("Item") or told["Key"])["pk"]["S"]
    elif operation == "TransactWriteItems":
        for kind, told in (pair for action in asked["TransactItems"] for pair in action.items()):
            yield OF_TRANSACTIONS[kind], (told.get("Item") or told["Key"])["pk"]["S"]
    else:
        yield operation, (asked.get("Item") or asked["Key"])["pk"]["S"]


class Watched:
    """A deployment whose requests to the registry are noted under the function that makes them."""

    def __init__(self, made: Deployed) -> None:
        self.made, self.asked, self._job = made, set[Asked](), ""
        answer = made.cloud.answer

        def watched(request: BaseHTTPRequestHandler, body: bytes) -> None:
            target = request.headers.get("X-Amz-Target", "")
            if self._job and target.startswith("DynamoDB"):
                self.asked |= {(self._job, *one) for one in named(target.rpartition(".")[2], json.loads(body))}
            answer(request, body)

        made.cloud.answer = watched  # type: ignore[method-assign]  # of this one server

    def call(self, job: str, payload: dict[str, Any]) -> Any:
        """Call a function."""
        with self._as(job):
            return invoke(job, payload)

    def ask(self, job: str, path: str, **body: Any) -> Any:
        """Send a request to a function behind the gateway."""
        reply = self.call(job, event("query.query", path=path, resource=path, body=json.dumps(body)))
        assert reply["statusCode"] == 200, reply
        return json.loads(reply["body"])

    @contextmanager
    def _as(self, job: str) -> Iterator[None]:
        self._job = job
        try:
            yield
        finally:
            self._job = ""

    def bring_in(self, asked: dict[str, Any]) -> None:
        """Do by hand what the state machine does."""
        self.call("parse", event("parse", run=asked["run"], object=asked["object"]))
        for batch in range(self.call("chunk", event("chunk", run=asked["run"]))["batches"]):
            self.call("extract", event("extract", run=asked["run"], batch=batch))
        self.call("build", event("build", run=asked["run"], part=0))
        self.call("finish", event("finish", run=asked["run"], part=0))
        self.call("finish", event("finish.close", run=asked["run"]))


def take_in_and_out(watched: Watched) -> None:
    """Files come, change, fail, go on, and go."""
    made = watched.made
    watched.call("start", message("start.created", version_id=made.put(HARBOUR)))
    watched.bring_in(made.started()[-1])
    watched.call("start", message("start.created", key=SECOND_KEY, version_id=made.put(SECOND, SECOND_KEY)))
    overtaken = made.started()[-1]
    again = made.put(SECOND, SECOND_KEY)
    watched.call("start", message("start.overwritten", key=SECOND_KEY, version_id=again))
    failing = made.started()[-1]
    with pytest.raises(Superseded):
        watched.call("parse", event("parse", run=overtaken["run"], object=overtaken["object"]))
    watched.call("parse", event("parse", run=failing["run"], object=failing["object"]))
    failed = event("finish.failed", run=failing["run"], object=failing["object"])
    with pytest.raises(IngestFailed):
        watched.call("finish", failed)
    watched.call("finish", failed)
    watched.bring_in(failing)
    changed = made.put(HARBOUR.replace("Granite.", "Basalt."))
    watched.call("start", message("start.overwritten", version_id=changed, sequencer="0065A1B2C3D4E5F602"))
    watched.bring_in(made.started()[-1])


def leave_a_lease(made: Deployed, key: str) -> None:
    """Have a lease lie there that a dead writer held."""
    dead = {"pk": f"t#default#lease#{key}", "sk": "lease", "holder": "dead"}
    item = {**{name: {"S": value} for name, value in dead.items()}, "until": {"N": "0"}}
    made.cloud.client("dynamodb").put_item(TableName=f"lexigraph-{made.cloud.port}", Item=item)


def let_time_pass(made: Deployed) -> None:
    """Make it long ago that writers lost their leases."""
    client, table = made.cloud.client("dynamodb"), f"lexigraph-{made.cloud.port}"
    for item in made.cloud.items(table):
        if item["pk"]["S"] == "system#late":
            tenant, _, token = item["sk"]["S"].split("#")
            client.put_item(TableName=table, Item={**item, "sk": {"S": f"{tenant}#{0:020d}#{token}"}})
            client.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})


def ask_all(watched: Watched) -> None:
    """Ask what notes something, and what lists."""
    for _ in range(2):
        watched.ask("query", "/api/v1/memory/recall", query="Granite", session_id="s")
    watched.ask(
        "query", "/unstructured/multihop_query/", query="Who built Granite?", namespace="default", db_name="default_db"
    )
    watched.ask("query", "/query", question="Who built Granite?")
    for job, payload in (("query", "query.jobs"), ("manage", "manage.upload"), ("manage", "manage.upload_url")):
        assert watched.call(job, event(payload))["statusCode"] < 300
    watched.ask("manage", "/cache/clear")
    assert watched.call("manage", event("manage.ingest"))["statusCode"] == 202


def curate(watched: Watched) -> None:
    """Merge two names, after somebody died who was about to, and undo it."""
    for key in ("curation", "collector"):
        leave_a_lease(watched.made, key)
    merged = watched.call("curate", event("curate.decide"))
    assert merged["statusCode"] == 201, merged
    path = f"/curation/decisions/{json.loads(merged['body'])['id']}"
    assert watched.call("curate", event("curate.undo", path=path))["statusCode"] == 200


@pytest.mark.nightly
def test_functions_ask_nothing_of_the_registry_that_their_roles_would_refuse(tmp_path: Path) -> None:
    settings = {"LEXIGRAPH_API_AUTH": "gateway", "LEXIGRAPH_API_DEADLINE": "10"}
    with deployed(tmp_path, aws=True, **settings) as made:
        watched = Watched(made)
        secret, key = new_key("default", ["read"])
        made.stores.registry.add_key(key)
        assert "context" in watched.call("authorize", event("authorize", headers={"X-API-Key": secret}))
        take_in_and_out(watched)
        ask_all(watched)
        curate(watched)
        uri = f"s3://{inbox()}/{KEY}"
        (record,) = (r for r in made.stores.registry.documents(Tenant("default")) if r.uri == uri)
        leave_a_lease(made, record.source_id)
        path = f"/documents/{record.source_id}"
        for shown in ("/overview", "/documents", path, f"{path}/text", f"{path}/outline", f"{path}/statements"):
            seen = watched.call("query", event("query.jobs", path=shown, **NOTHING))
            assert seen["statusCode"] == 200, seen
        removed = event("manage.remove", path=path, pathParameters={"document_id": record.source_id})
        assert watched.call("manage", removed)["statusCode"] == 202
        watched.call("remove", made.started()[-1])
        made.delete(SECOND_KEY)
        watched.call("start", message("start.deleted", key=SECOND_KEY, sequencer="0065A1B2C3D4E5F603"))
        watched.call("remove", event("remove", run=made.started()[-1]["run"]))
        let_time_pass(made)
        with pytest.raises(InvalidInput, match="is already in use"):
            watched.call("build", event("build.reembed", model=""))
        assert watched.call("remove", event("remove.tend")) == {"tenants": 1, "late_writers": 3}

    assert {job for job, _, _ in watched.asked} == set(ALL)
    assert {one for one in watched.asked if not allowed(*one)} == set()
    written = {key for _, action, key in watched.asked if action not in ("GetItem", "BatchGetItem", "Query")}
    patterns = {pattern for job in ALL for right in rights(job)[1:] for pattern in right.keys}
    assert not [p for p in patterns if not any(re.fullmatch(p.replace("*", ".*"), key) for key in written)]


@pytest.mark.parametrize("job", [*ALL, "stream", "follow"])
def test_no_function_may_write_a_key_and_only_the_authorizer_reads_one(job: str) -> None:
    of_keys = ("system#key#0f", "system#keyid#lxk_1", "t#default#keys", "t#a.b-c_d#keys")
    actions = {action for job in ALL for right in rights(job) for action in right.actions}
    may = {(action, key) for action in actions for key in of_keys if allowed(job, action, key)}
    assert not {action for action, _ in may if action not in ("GetItem", "BatchGetItem", "Query")}
    reads = {key for _, key in may}
    # the list of a tenant's keys holds digests, which open nothing
    alone = {"authorize": {"system#key#0f"}, "curate": set[str]()}
    assert reads == alone.get(job, {"t#default#keys", "t#a.b-c_d#keys"})

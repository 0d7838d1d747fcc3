"""Who signs with IAM: whose signature it is comes from the gateway alone, and a key of the registry says what they may."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mangum import Mangum
from typer.testing import CliRunner

from lexigraph.api.access.keys import digest
from lexigraph.api.access.signers import KEPT_SECONDS, Signers, add_signer, signer_digest, signer_key, signer_of
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.cli.main import app as cli
from lexigraph.model.errors import Conflict, InvalidInput
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import DocumentRecord, Registry
from tests import patient
from tests.standins.signed_gateway import REGION, signed_gateway

ROLE = "arn:aws:iam::123456789012:role/team-search"
SESSION = "arn:aws:sts::123456789012:assumed-role/team-search/nightly"
EVENTS = Path(__file__).parents[3] / "events"


@dataclass
class Gateway:
    """The application behind a gateway that asks for a signature, and what it may know of callers."""

    handler: Mangum
    registry: Registry
    folder: Path

    def asked(self, path: str = "/jobs", arn: str = SESSION, method: str = "GET", **changes: Any) -> tuple[int, Any]:
        """Ask as the caller ``arn`` in an event as API Gateway sends it with AWS_IAM; ``changes`` are of its context."""
        event = json.loads((EVENTS / "query.signed.json").read_text("utf-8"))
        event |= {"path": path, "resource": path, "httpMethod": method}
        event |= {"queryStringParameters": None, "multiValueQueryStringParameters": None}
        event["requestContext"]["identity"]["userArn"] = arn
        event["requestContext"] |= changes
        reply = self.handler(event, None)  # type: ignore[arg-type]  # it asks nothing of the context
        return reply["statusCode"], json.loads(reply["body"])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    settings = Settings(data=tmp_path, api_auth="gateway")
    with closing(Service(settings)) as service:
        yield Gateway(Mangum(create_app(settings, service), lifespan="off"), service.stores.registry, tmp_path)


@pytest.mark.parametrize(
    ("arn", "whose"),
    [
        (SESSION, ROLE),
        (ROLE, ROLE),
        ("arn:aws:iam::123456789012:role/some/path/team-search", ROLE),
        ("arn:aws:iam::123456789012:user/people/ada", "arn:aws:iam::123456789012:user/ada"),
        ("arn:aws-us-gov:sts::123456789012:assumed-role/r/s@x.org", "arn:aws-us-gov:iam::123456789012:role/r"),
    ],
)
def test_a_session_is_its_role_and_a_path_tells_nothing(arn: str, whose: str) -> None:
    assert signer_of(arn) == whose
    assert signer_of(whose) == whose


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::123456789012:root",
        "arn:aws:sts::123456789012:federated-user/ada",
        "arn:aws:iam::123456789012:role/*",
        "arn:aws:iam::*:role/team-search",
        "arn:aws:iam::123456789012:group/team",
        "arn:aws:iam::12345678901:role/short",
        f"{ROLE}\n",
        f"{ROLE}/",
        "",
    ],
)
def test_what_names_no_single_role_or_user_is_refused_and_nobody(gateway: Gateway, arn: str) -> None:
    with pytest.raises(InvalidInput, match="the ARN of a role or a user"):
        signer_of(arn)
    assert gateway.asked(arn=arn or "arn:aws:iam::123456789012:root")[0] == 403


def test_who_signs_may_what_the_key_of_their_role_says_and_nothing_without_one(gateway: Gateway) -> None:
    status, reply = gateway.asked()
    assert (status, reply["error"]) == (403, "forbidden")
    assert "lexigraph keys create --principal" in reply["hint"]
    add_signer(gateway.registry, signer_key("team", ["read"], arn=ROLE))
    assert gateway.asked()[0] == 200, "known at once"
    status, reply = gateway.asked("/keys")
    assert (status, "lacks the scope" in reply["message"]) == (403, True)
    for other in ("role/team-searcher", "role/team", "user/team-search"):
        assert gateway.asked(arn=f"arn:aws:iam::123456789012:{other}")[0] == 403, other
    assert gateway.asked(arn=SESSION.replace("123456789012", "210987654321"))[0] == 403, "a role of another account"
    assert gateway.asked(arn=SESSION.replace("arn:aws:", "arn:aws-cn:"))[0] == 403


def test_documents_are_those_of_the_tenant_and_of_the_filters_that_the_key_has(gateway: Gateway) -> None:
    for tenant, names in (("team", (1, 2, 3)), ("default", (4,))):
        documents = [
            DocumentRecord(f"source:{n:032}", f"file:///{n}", "default", "", "READY", metadata={"n": n}) for n in names
        ]
        gateway.registry.save(Tenant(tenant), documents)
    add_signer(gateway.registry, signer_key("team", ["read"], arn=ROLE))
    rights = MetadataFilter("n", "==", 2)
    add_signer(gateway.registry, signer_key("team", ["read"], arn="arn:aws:iam::123456789012:user/ada", filters=rights))
    assert len(gateway.asked("/documents")[1]["documents"]) == 3
    (seen,) = gateway.asked("/documents", arn="arn:aws:iam::123456789012:user/people/ada")[1]["documents"]
    assert seen["uri"] == "file:///2"


def test_a_limit_of_the_keys_own_holds(gateway: Gateway) -> None:
    add_signer(gateway.registry, signer_key("team", ["read"], arn=ROLE, rate=2))
    assert [gateway.asked()[0] for _ in range(3)] == [200, 200, 429]


def test_a_role_has_one_key_and_after_that_is_revoked_another(gateway: Gateway) -> None:
    first = signer_key("team", ["read"], arn=SESSION)
    add_signer(gateway.registry, first)
    with pytest.raises(Conflict, match=f"{ROLE} already has the key {first.id} of tenant team"):
        add_signer(gateway.registry, signer_key("other", ["read"], arn=ROLE))
    gateway.registry.revoke_key(Tenant("team"), first.id)
    add_signer(gateway.registry, second := signer_key("other", ["read", "admin"], arn=ROLE))
    found = gateway.registry.signer(signer_digest(ROLE))
    assert found
    assert (found.id, found.tenant, found.scopes) == (second.id, "other", ("read", "admin"))
    (kept,) = gateway.registry.keys(Tenant("team"))
    assert kept.revoked_at, "the former one stays listed where it was"


def test_a_revoked_key_of_a_role_opens_nothing_after_a_minute(gateway: Gateway) -> None:
    now = [0.0]
    signers = Signers(lambda: gateway.registry, lambda: now[0])
    add_signer(gateway.registry, key := signer_key("team", ["read"], arn=ROLE))
    assert signers.find(SESSION)
    gateway.registry.revoke_key(Tenant("team"), key.id)
    now[0] = KEPT_SECONDS - 1
    assert signers.find(SESSION)
    now[0] = KEPT_SECONDS
    assert signers.find(SESSION) is None


def test_a_client_cannot_say_that_it_is_somebody_whose_signature_was_checked(tmp_path: Path) -> None:
    """Where nothing but a header could say so, and where the key in it is the digest of a role."""
    said = {"identity": {"userArn": SESSION}}
    headers = {"X-Amzn-Request-Context": json.dumps(said)}
    for mode in ("key", "gateway"):
        settings = Settings(data=tmp_path, api_auth=mode)  # type: ignore[arg-type]
        with closing(Service(settings)) as service:
            registry = service.stores.registry
            if registry.signer(signer_digest(ROLE)) is None:
                add_signer(registry, signer_key("team", ["read"], arn=ROLE))
            with TestClient(create_app(settings, service, open_=False)) as client:
                assert client.get("/jobs", headers=headers).status_code == 401
                for sent in (ROLE, signer_digest(ROLE), f"lxk_{signer_digest(ROLE)}"):
                    assert client.get("/jobs", headers={"X-API-Key": sent}).status_code == 401
                    assert registry.key(digest(sent)) is None


def test_an_authorizers_word_goes_before_and_health_needs_no_key(gateway: Gateway) -> None:
    add_signer(gateway.registry, signer_key("team", ["read", "admin"], arn=ROLE))
    said = {"tenant": "other", "scopes": "", "key_id": "k", "databases": "[]", "rate": "0"}
    assert gateway.asked(authorizer=said)[0] == 403, "the scopes are the authorizer's"
    assert gateway.asked("/health", arn="arn:aws:iam::123456789012:role/nobody")[0] == 200


def test_behind_the_adapter_the_role_is_read_from_its_header_alone(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, api_auth="adapter")
    identity = json.loads((EVENTS / "query.signed.json").read_text("utf-8"))["requestContext"]
    told = {"X-Amzn-Request-Context": json.dumps(identity)}
    with closing(Service(settings)) as service, TestClient(create_app(settings, service)) as client:
        assert client.get("/jobs", headers=told).status_code == 403
        add_signer(service.stores.registry, signer_key("team", ["read"], arn=ROLE))
        assert client.get("/jobs", headers=told).status_code == 200
        assert client.get("/jobs", headers=[*told.items(), ("X-Amzn-Request-Context", "{}")]).status_code == 401
        assert client.get("/jobs").status_code == 401


def test_an_operator_makes_lists_and_revokes_it_like_a_key(gateway: Gateway) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["--data", str(gateway.folder), "--tenant", "team", "keys", *arguments])
        return done.exit_code, done.output

    code, made = run("create", "--principal", SESSION, "--scope", "read", "--json")
    key = json.loads(made)
    assert (code, key["name"], key["scopes"], "key" in key) == (0, ROLE, ["read"], False)
    assert gateway.asked()[0] == 200
    code, said = run("create", "--principal", ROLE)
    assert (code, "revoke that first" in " ".join(said.split())) == (7, True)
    assert run("create", "--principal", ROLE, "--name", "x")[0] != 0
    assert run("create", "--principal", "arn:aws:iam::123456789012:root")[0] != 0
    assert [each["name"] for each in json.loads(run("list", "--json")[1])["keys"]] == [ROLE]
    assert run("revoke", key["id"]) == (0, f"revoked {key['id']}\n")
    assert gateway.registry.signer(signer_digest(ROLE)) is None


@pytest.mark.slow
def test_the_example_asks_a_gateway_that_checks_signatures_and_is_let_in_by_its_role(gateway: Gateway) -> None:
    """With botocore's own signature of the real request; other secrets, bodies and services are refused before."""
    callers = {"AKIAEXAMPLE": ("right", SESSION), "AKIASTRANGER": ("right", "arn:aws:iam::123456789012:user/nobody")}
    add_signer(gateway.registry, signer_key("team", ["read"], arn=ROLE))

    def handle(event: dict[str, Any], _: Any) -> dict[str, Any]:
        asyncio.set_event_loop(loop := asyncio.new_event_loop())  # as the main thread of a function has one
        with closing(loop):
            reply: dict[str, Any] = gateway.handler(event, None)  # type: ignore[arg-type]
        return reply

    def run(url: str, key: str, secret: str, region: str = REGION) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        own = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": region}
        example = str(Path(__file__).parents[3] / "examples" / "signed.py")
        asked = [sys.executable, example, url, "Who leads the team that owns Tidewater?"]
        return subprocess.run(asked, env={**kept, **own}, capture_output=True, text=True, timeout=120, check=False)

    with signed_gateway(handle, callers) as url:
        answered = run(url, "AKIAEXAMPLE", "right")
        told = [json.loads(line) for line in answered.stdout.splitlines()]
        wrong = run(url, "AKIAEXAMPLE", "wrong")
        elsewhere = run(url, "AKIAEXAMPLE", "right", "us-east-1")
        stranger = run(url, "AKIASTRANGER", "right")
        unsigned = patient.post(f"{url}/query", json={"question": "Who?"})

    assert answered.returncode == 0, answered.stderr
    assert told
    assert wrong.stderr.startswith("403: ") and "does not match" in wrong.stderr
    assert elsewhere.stderr.startswith("403: ")
    assert "no API key exists for" in stranger.stderr
    assert unsigned.status_code == 401

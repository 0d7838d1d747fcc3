"""The HTTP API: every operation routed to who may do it, closed but for /health, throttled, and errors in one shape."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.settings import PROFILES
from lexigraph.api.app import create_app
from lexigraph.settings import load_settings
from tests.infra.conftest import CHOSEN, ON_AWS, PROFILE_NAMES
from tests.infra.templates import Templates

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
OF = Callable[[str], Templates]
VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH")
WRITERS = {"manage", "follow", "curate"}
DECISIONS = {"POST /curation/decisions", "DELETE /curation/decisions/{decision_id}"}


def routes(found: Templates) -> dict[str, tuple[str, dict[str, object]]]:
    """Return the function and the method's properties by operation."""
    jobs = {job.lower(): job for job in found.functions}
    told: dict[str, tuple[str, dict[str, object]]] = {}
    for operation, properties in found.methods():
        uri = json.dumps(properties["Integration"]["Uri"])
        (name,) = set(re.findall(r"<api/(\w+?)(?:Live)?>/(?:invocations|response-streaming)", uri))
        told[operation] = (jobs[name.lower()], properties)
    return told


def description() -> dict[str, Any]:
    """Return docs/openapi.json."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))
    return found


def operations(described: dict[str, Any]) -> set[str]:
    """Return the operations that a description has."""
    return {
        f"{verb.upper()} {path.rstrip('/')}"
        for path, methods in described["paths"].items()
        for verb in methods
        if verb.upper() in VERBS
    }


@pytest.mark.requirement("U-05")
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_operation_of_the_api_has_a_route_and_retrievers_are_among_them(templates: OF, profile: str) -> None:
    routed = routes(templates(profile))
    assert not operations(description()) - routed.keys()
    for retrieval in ("POST /retrieve/{retriever}", "POST /ranking/preview", "POST /api/v1/memory/recall"):
        assert routed[retrieval][0] == "query"
    assert routed["POST /query/multidoc"][0] == routed["POST /unstructured/multihop_query"][0] == "query"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_the_deployed_application_offers_beside_its_description_is_routed_too(templates: OF, profile: str) -> None:
    workflow = "arn:aws:states:eu-west-1:1:stateMachine:x"
    app = create_app(load_settings(workflow=workflow, inbox="s3://inbox", api_auth="gateway"))
    offered = operations(app.openapi())
    assert offered - operations(description()) == {"POST /documents/upload-url"}
    assert not offered - routes(templates(profile)).keys()


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_operation_that_writes_goes_to_a_function_that_may_write(templates: OF, profile: str) -> None:
    routed = routes(templates(profile))
    written = {o for o, (job, _) in routed.items() if job in WRITERS}
    wanted = {
        "POST /documents",
        "POST /documents/upload-url",
        "DELETE /documents/{document_id}",
        "POST /ingest",
        "GET /ingest/stream",
        "POST /ingest/stream",
        "POST /estimate",
        "POST /cache/clear",
        "POST /unstructured/upload_document",
        *DECISIONS,
    }
    assert written == wanted
    assert {o for o, (job, _) in routed.items() if job == "curate"} == DECISIONS
    # what changes something has one of these verbs; all others of them only ask
    asking = {
        "POST /query",
        "POST /query/multidoc",
        "POST /ranking/preview",
        "POST /retrieve/{retriever}",
        "POST /api/v1/memory/recall",
        "POST /unstructured/multihop_query",
        "POST /jobs/{job_id}/cancel",
        "POST /mcp",
        "DELETE /mcp",
        # refused in a deployment: no function may write keys
        "POST /keys",
        "DELETE /keys/{key_id}",
    }
    changing = {o for o in routed if not o.startswith(("GET", "ANY"))}
    assert changing - written == asking


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_method_asks_the_authorizer_and_a_key_except_health_and_the_explorers_files(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    open_ = set()
    for operation, (_, properties) in routes(found).items():
        if properties["AuthorizationType"] == "NONE":
            open_.add(operation)
            continue
        assert properties["AuthorizationType"] == "CUSTOM"
        assert properties["AuthorizerId"] == "<api/Authorizer>"
        # metered by the usage plan; the emulator would take the caller's key for the plan's
        assert properties.get("ApiKeyRequired", False) is PROFILES[profile].aws
    assert open_ == {"GET /health", "GET /explorer", "GET /explorer/{proxy+}"}
    # strangers reach the function that may write nothing
    assert {routes(found)[operation][0] for operation in open_} == {"query"}
    authorizer = found.one("ApiGateway::Authorizer", "Authorizer").properties
    assert authorizer["Type"] == "REQUEST"
    assert authorizer["IdentitySource"] == "method.request.header.X-API-Key"
    assert authorizer["AuthorizerResultTtlInSeconds"] <= 60
    assert found.one("ApiGateway::RestApi", "Api").properties["ApiKeySourceType"] == "AUTHORIZER"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_the_explorer_shows_is_routed_to_who_reads_and_its_address_is_told(templates: OF, profile: str) -> None:
    found = templates(profile)
    routed = routes(found)
    for path in ("documents/{document_id}/text", "entities", "entities/{entity_id}/statements", "overview", "keys"):
        assert routed[f"GET /{path}"][0] == "query", path
    told = found.raw["api"]["Outputs"]["Explorer"]["Value"]
    assert json.dumps(told).count("/v1/") + json.dumps(told).count("Stage") == 1
    assert told["Fn::Join"][1][-1] == "/explorer/"
    api = found.one("ApiGateway::RestApi", "Api").properties
    assert 0 < api["MinimumCompressionSize"] <= 10_000  # what is loaded first goes compressed


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_key_that_opens_nothing_is_answered_as_by_a_server_so_that_the_page_asks_for_another(
    templates: OF, profile: str
) -> None:
    own = {r.properties["ResponseType"]: r.properties for r in templates(profile).of("ApiGateway::GatewayResponse")}
    for type_ in ("UNAUTHORIZED", "ACCESS_DENIED"):
        assert own[type_]["StatusCode"] == "401"
        (template,) = own[type_]["ResponseTemplates"].values()
        assert json.loads(template)["error"] == "unauthorized"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_requests_are_throttled_and_metered_by_a_plan_that_the_authorizer_names(templates: OF, profile: str) -> None:
    found = templates(profile)
    (stage,) = found.of("ApiGateway::Stage")
    (settings,) = [s for s in stage.properties["MethodSettings"] if s["ResourcePath"] == "/*"]
    assert 0 < settings["ThrottlingRateLimit"] <= 1_000
    of_each = stage.properties["MethodSettings"]
    assert [s["DataTraceEnabled"] for s in of_each] == [False] * len(of_each)  # would log questions and answers
    assert all(s["ThrottlingRateLimit"] == settings["ThrottlingRateLimit"] for s in of_each)
    plan = found.one("ApiGateway::UsagePlan", "ApiPlan").properties
    assert 0 < plan["Throttle"]["RateLimit"] <= settings["ThrottlingRateLimit"]
    (key,) = found.of("ApiGateway::ApiKey")
    usage = json.loads(found.functions["authorize"]["Environment"]["Variables"]["LEXIGRAPH_USAGE_KEYS"])
    assert usage == {"*": key.properties["Value"]}


@pytest.mark.parametrize("profile", ON_AWS)
def test_requests_are_logged_without_what_was_asked(templates: OF, profile: str) -> None:
    (stage,) = templates(profile).of("ApiGateway::Stage")
    logged = json.loads(stage.properties["AccessLogSetting"]["Format"])
    assert {"requestId", "status", "tenant"} <= logged.keys()
    said = " ".join(logged.values())
    assert not [word for word in ("body", "header", "path}", "querystring", "apiKey", "context.path ") if word in said]


def test_a_firewall_stands_before_prod(templates: OF) -> None:
    found = templates("prod")
    (acl,) = found.of("WAFv2::WebACL")
    rules = {rule["Name"]: rule for rule in acl.properties["Rules"]}
    assert rules["rate"]["Action"] == {"Block": {}}
    assert "AWSManagedRulesKnownBadInputsRuleSet" in rules
    (guarded,) = found.of("WAFv2::WebACLAssociation")
    assert guarded.properties["WebACLArn"] == f"<{acl.stack}/{acl.name}>"
    assert "/stages/" in guarded.properties["ResourceArn"]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_the_gateways_own_errors_have_the_shape_of_all_others(templates: OF, profile: str) -> None:
    own = templates(profile).of("ApiGateway::GatewayResponse")
    assert own
    for r in own:
        body = json.loads(r.properties["ResponseTemplates"]["application/json"])
        assert body.keys() == {"error", "message", "request_id"}, r.name
        assert body["request_id"] == "$context.requestId"


@pytest.mark.parametrize("profile", ON_AWS)
def test_functions_that_stream_are_called_so_and_wait_longer_than_the_gateways_29_seconds(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    for operation, (job, properties) in routes(found).items():
        integration = properties["Integration"]
        assert isinstance(integration, dict)
        streams = job in ("stream", "follow")
        assert integration.get("ResponseTransferMode", "BUFFERED") == ("STREAM" if streams else "BUFFERED"), operation
        limit = found.functions[job]["Timeout"]
        # a decision is carried out to its end also when the gateway has given up
        assert limit == {"curate": 120}.get(job, 300 if streams else 29)
    environment = found.functions["stream"]["Environment"]["Variables"]
    assert environment["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert environment["LEXIGRAPH_API_AUTH"] == "adapter"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_the_application_takes_its_principal_from_the_gateway_and_no_file_from_its_own_disk(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    for job in ("query", "manage", "curate"):
        environment = found.functions[job]["Environment"]["Variables"]
        assert environment["LEXIGRAPH_API_AUTH"] == "gateway"
        assert environment["LEXIGRAPH_INGEST_ROOTS"] == "{}"
        assert float(environment["LEXIGRAPH_API_DEADLINE"]) < found.functions[job]["Timeout"]  # says so before it is cut off
    assert PROFILES[profile].aws == ("stream" in found.functions)


def test_private_apis_are_reached_by_the_endpoints_that_were_named_and_let_in_whom_public_ones_do(templates: OF) -> None:
    """AWS: "Response streaming works for all REST API endpoint types" (Developer Guide of API Gateway)."""
    ids, found = CHOSEN["api_endpoints"].split(","), templates("chosen")
    for name, principals in (("Api", "*"), ("Signed", "arn:aws:iam::ACCOUNT:root")):
        api = found.one("ApiGateway::RestApi", name).properties
        assert api["EndpointConfiguration"] == {"Types": ["PRIVATE"], "VpcEndpointIds": ids}
        allowed, denied = api["Policy"]["Statement"]
        assert (allowed["Effect"], allowed["Principal"]) == ("Allow", {"AWS": principals}), "of IAM, whom its policies let"
        assert (denied["Effect"], denied["Principal"]) == ("Deny", {"AWS": "*"})
        assert denied["Condition"] == {"StringNotEquals": {"aws:SourceVpce": ids}}
        assert allowed["Resource"] == denied["Resource"] == "execute-api:/*"
    assert found.output("api", "Url") == f"https://<api/Api>-{ids[0]}.execute-api.REGION.amazonaws.com/v1/"
    public = templates("prod").one("ApiGateway::RestApi", "Api").properties
    assert public["EndpointConfiguration"] == {"Types": ["REGIONAL"]}

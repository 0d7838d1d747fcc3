"""The network: nothing leads out, and only our functions lead in to graph and vectors."""

import json
from collections.abc import Callable
from io import BytesIO

import pytest
from botocore.awsrequest import AWSRequest, AWSResponse
from urllib3 import HTTPResponse

from infra.settings import ZONES
from lexigraph.aws import session
from lexigraph.settings import DEFAULT_RERANK_MODEL
from tests.infra.conftest import ON_AWS
from tests.infra.templates import Templates

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("profile", ON_AWS),
]
OF = Callable[[str], Templates]
WAYS_OUT = (
    "EC2::NatGateway",
    "EC2::InternetGateway",
    "EC2::EgressOnlyInternetGateway",
    "EC2::TransitGatewayAttachment",
    "EC2::VPCPeeringConnection",
    "EC2::VPNGateway",
    "EC2::EIP",
    "EC2::Route",
)


def test_no_way_leads_out_of_the_network(templates: OF, profile: str) -> None:
    found = templates(profile)
    assert not [kind for kind in WAYS_OUT if found.has(kind)]
    assert not [r.name for r in found.of("EC2::Subnet") if r.properties.get("MapPublicIpOnLaunch")]
    services = {r.properties["ServiceName"].removeprefix("com.amazonaws.REGION.") for r in found.of("EC2::VPCEndpoint")}
    assert services == {"s3", "dynamodb", "bedrock-runtime", "aoss-data"}


def test_endpoints_pass_nothing_on_to_other_accounts(templates: OF, profile: str) -> None:
    """With credentials that are brought along, text could else be put into a bucket or sent to a model elsewhere."""
    for r in (r for name in (profile, "chosen", "placed") for r in templates(name).of("EC2::VPCEndpoint")):
        gateway = r.properties["VpcEndpointType"] == "Gateway"
        (statement,) = r.properties["PolicyDocument"]["Statement"]
        assert statement == {
            "Effect": "Allow",
            "Principal": "*",
            "Action": "*",
            "Resource": "*",
            "Condition": {"StringEquals": {f"aws:{'Resource' if gateway else 'Principal'}Account": "ACCOUNT"}},
        }, r.name


def test_a_rerank_model_that_was_chosen_has_its_endpoint_and_the_right_to_be_asked(templates: OF, profile: str) -> None:
    without, found = templates(profile), templates("chosen")
    (endpoint,) = (r for r in found.of("EC2::VPCEndpoint") if r.properties["ServiceName"].endswith("bedrock-agent-runtime"))
    assert endpoint.properties["PrivateDnsEnabled"] is True
    for job, properties in found.functions.items():
        assert properties["Environment"]["Variables"]["LEXIGRAPH_RERANK_MODEL"] == DEFAULT_RERANK_MODEL
        assert without.functions[job]["Environment"]["Variables"]["LEXIGRAPH_RERANK_MODEL"] == "none"
    assert {job for job in found.functions if "bedrock:Rerank" in found.may(job)} == {"query", "stream"}
    of_model = f"arn:aws:bedrock:REGION::foundation-model/{DEFAULT_RERANK_MODEL}"
    assert of_model in found.may("query")["bedrock:InvokeModel"]
    assert of_model not in without.may("query")["bedrock:InvokeModel"]


def test_tracing_is_a_setting_of_every_function_and_needs_no_further_right(templates: OF, profile: str) -> None:
    without, found = templates(profile), templates("chosen")
    for job, properties in found.functions.items():
        assert properties["Environment"]["Variables"]["LEXIGRAPH_TELEMETRY"] == "xray"
        assert "LEXIGRAPH_TELEMETRY" not in without.functions[job]["Environment"]["Variables"]
        of_traces = [{a for a in t.may(job) if a.startswith("xray:")} for t in (without, found)]
        assert of_traces == [{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}] * 2


def test_functions_ask_dynamodb_at_the_hosts_that_its_gateway_endpoint_leads_to(
    templates: OF, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "AWS_ACCOUNT_ID_ENDPOINT_MODE"
    (mode,) = {p["Environment"]["Variables"][name] for p in templates(profile).functions.values()}
    for key, value in (("ACCESS_KEY_ID", "AKIAEXAMPLE"), ("SECRET_ACCESS_KEY", "none"), ("ACCOUNT_ID", "123456789012")):
        monkeypatch.setenv(f"AWS_{key}", value)

    def host() -> str:
        asked: list[str] = []

        def answer(request: AWSRequest, **_: object) -> AWSResponse:
            asked.append(request.url)
            return AWSResponse(request.url, 200, {}, HTTPResponse(BytesIO(b"{}"), preload_content=False))

        client = session("eu-west-1", "tests").client("dynamodb")
        client.meta.events.register("before-send.dynamodb", answer)
        client.list_tables()
        return asked[0]

    monkeypatch.delenv(name, raising=False)
    assert host() == "https://123456789012.ddb.eu-west-1.amazonaws.com/"
    monkeypatch.setenv(name, mode)
    assert host() == "https://dynamodb.eu-west-1.amazonaws.com/"


def test_neptune_has_subnets_in_two_zones_also_where_endpoints_are_in_one(templates: OF, profile: str) -> None:
    found = templates(profile)
    subnets = {f"<{r.stack}/{r.name}>": r.properties["AvailabilityZone"] for r in found.of("EC2::Subnet")}
    (group,) = found.of("Neptune::DBSubnetGroup")
    assert len({json.dumps(subnets[subnet]) for subnet in group.properties["SubnetIds"]}) == ZONES


def test_neptune_is_reached_by_our_functions_on_its_port_and_by_nobody_else(templates: OF, profile: str) -> None:
    found = templates(profile)
    cluster = found.one("Neptune::DBCluster", "Cluster").properties
    assert cluster["IamAuthEnabled"] is True
    assert not [r.name for r in found.of("Neptune::DBInstance") if r.properties["PubliclyAccessible"]]
    (group,) = cluster["VpcSecurityGroupIds"]
    assert _ingress(found, group) == [("<network/Functions.GroupId>", cluster["DBPort"], cluster["DBPort"])]
    assert cluster["DBPort"] == 8182


def test_endpoints_are_reached_by_our_functions_over_https_and_by_nobody_else(templates: OF, profile: str) -> None:
    found = templates(profile)
    groups = {g for r in found.of("EC2::VPCEndpoint") for g in r.properties.get("SecurityGroupIds", ())}
    assert groups == {"<network/Endpoints.GroupId>"}
    assert _ingress(found, "<network/Endpoints.GroupId>") == [("<network/Functions.GroupId>", 443, 443)]
    assert _ingress(found, "<network/Functions.GroupId>") == []


def test_who_reads_files_reaches_s3_and_dynamodb_and_neither_graph_nor_other_endpoints(templates: OF, profile: str) -> None:
    found = templates(profile)
    (egress,) = found.one("EC2::SecurityGroup", "Files").properties["SecurityGroupEgress"]
    assert (egress["CidrIp"], egress["FromPort"], egress["ToPort"]) == ("0.0.0.0/0", 443, 443)
    for kind in ("EC2::SecurityGroupIngress", "EC2::SecurityGroupEgress"):  # nobody lets it in, nor it anybody
        assert not [r.name for r in found.of(kind) if "<network/Files.GroupId>" in r.properties.values()]


def test_functions_send_to_graph_endpoints_and_https_only(templates: OF, profile: str) -> None:
    found = templates(profile)
    inline = found.one("EC2::SecurityGroup", "Functions").properties["SecurityGroupEgress"]
    named = [r.properties for r in found.of("EC2::SecurityGroupEgress")]
    assert {(rule["FromPort"], rule["ToPort"]) for rule in (*inline, *named)} == {(443, 443), (8182, 8182)}


def test_the_collection_is_not_public_and_takes_requests_by_our_endpoint_alone(templates: OF, profile: str) -> None:
    found = templates(profile)
    (policy,) = json.loads(found.one("OpenSearchServerless::SecurityPolicy", "Access").properties["Policy"])
    assert policy["AllowFromPublic"] is False
    (source,) = policy["SourceVPCEs"]
    (endpoint,) = [r for r in found.of("EC2::VPCEndpoint") if f"<{r.stack}/{r.name}>" == source]
    # that of collections of the next generation, which are at on.aws; OpenSearch's own kind leads to Classic ones alone
    assert endpoint.properties["ServiceName"] == "com.amazonaws.REGION.aoss-data"
    assert endpoint.properties["PrivateDnsEnabled"] is True
    assert not found.has("OpenSearchServerless::VpcEndpoint")
    name = found.one("OpenSearchServerless::Collection", "Collection").properties["Name"]
    assert [rule["Resource"] for rule in policy["Rules"]] == [[f"collection/{name}"]]
    # the policies have to be there before the collection
    raw = found.raw["vector"]["Resources"]
    (collection,) = [r for r in raw.values() if r["Type"] == "AWS::OpenSearchServerless::Collection"]
    needed = {raw[id_]["Type"] for id_ in collection["DependsOn"]}
    assert {"AWS::OpenSearchServerless::SecurityPolicy", "AWS::OpenSearchServerless::CollectionGroup"} <= needed


def _ingress(found: Templates, group: str) -> list[tuple[str, int, int]]:
    inline = [r for r in found.of("EC2::SecurityGroup") if f"<{r.stack}/{r.name}.GroupId>" == group]
    assert len(inline) == 1
    assert "SecurityGroupIngress" not in inline[0].properties
    rules = [r.properties for r in found.of("EC2::SecurityGroupIngress") if r.properties["GroupId"] == group]
    return [(rule["SourceSecurityGroupId"], rule["FromPort"], rule["ToPort"]) for rule in rules]

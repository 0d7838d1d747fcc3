"""A deployment beside others in an account, with the names, bounds and locks that a platform team gives it."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.settings import LONGEST_SUFFIX, PROFILES, profile_of
from lexigraph.settings import DEFAULT_RERANK_MODEL
from tests.infra.conftest import PLACED, SUBNETS
from tests.infra.templates import Templates

pytestmark = pytest.mark.slow
OF = Callable[[str], Templates]
# names that are unique within something that is the deployment's own, and names of what AWS offers
_NOT_ALONE = {
    ("ApiGateway::Stage", "StageName"),
    ("IAM::Policy", "PolicyName"),
    ("CloudWatch::Alarm", "MetricName"),
    ("EC2::VPCEndpoint", "ServiceName"),
    ("DynamoDB::Table", "AttributeName"),
}

_RULES = ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")


def physical_names(found: Templates) -> Iterator[tuple[str, str]]:
    """Yield each kind of resource with a name that the template fixes, also those within a property."""
    for r in found.resources:
        kind = r.kind.removeprefix("AWS::")
        within = [pair for value in r.properties.values() if isinstance(value, dict) for pair in value.items()]
        for name, value in (*r.properties.items(), *within):
            fixed = isinstance(value, str) and "<" not in value and name.endswith(("Name", "Identifier", "Value"))
            if fixed and (kind, name) not in _NOT_ALONE:
                yield kind, value


def test_two_deployments_of_an_account_and_region_share_no_name_and_no_export(templates: OF) -> None:
    one, other = templates("dev"), templates("placed")
    names = dict(physical_names(one))
    fixed = {
        "Logs::LogGroup",
        "Neptune::DBCluster",
        "OpenSearchServerless::Collection",
        "OpenSearchServerless::AccessPolicy",
    }
    fixed |= {"OpenSearchServerless::CollectionGroup", "OpenSearchServerless::SecurityPolicy", "ApiGateway::ApiKey"}
    fixed |= {"StepFunctions::StateMachine", "CloudWatch::Dashboard", "CloudWatch::Alarm", "Budgets::Budget"}
    assert fixed <= names.keys()
    assert not set(physical_names(one)) & set(physical_names(other))
    exports = [
        {o["Export"]["Name"] for t in found.raw.values() for o in t.get("Outputs", {}).values() if "Export" in o}
        for found in (one, other)
    ]
    assert len(exports[0]) > 20
    assert not exports[0] & exports[1]
    stacks = [{path.name for path in found.folder.glob("*.template.json")} for found in (one, other)]
    assert not stacks[0] & stacks[1]
    assert one.raw.keys() == other.raw.keys()


def test_money_is_counted_by_a_tag_that_the_other_deployment_does_not_have(templates: OF) -> None:
    for profile, tag in (("dev", "dev"), ("placed", "dev-team-a")):
        found = templates(profile)
        (budget,) = found.of("Budgets::Budget")
        assert budget.properties["Budget"]["CostFilters"] == {"TagKeyValue": [f"user:lexigraph${tag}"]}
        assert {"Key": "lexigraph", "Value": tag} in found.one("Neptune::DBCluster", "Cluster").properties["Tags"]


@pytest.mark.parametrize("profile", ["dev", "prod"])
def test_the_longest_name_fits_where_there_is_least_room(templates: OF, profile: str) -> None:
    """OpenSearch Serverless takes 32 characters."""
    before = PROFILES[profile].prefix  # type: ignore[index]
    longest = replace(PROFILES[profile], suffix="x" * LONGEST_SUFFIX).prefix  # type: ignore[index]
    names = [name for kind, name in physical_names(templates(profile)) if kind.startswith("OpenSearchServerless")]
    assert max(len(name.replace(before, longest)) for name in names) <= 32


@pytest.mark.parametrize(("profile", "qualifier"), [("dev", "hnb659fds"), ("placed", PLACED["qualifier"])])
def test_stacks_are_deployed_by_the_bootstrap_stack_that_was_named(templates: OF, profile: str, qualifier: str) -> None:
    versions = {raw["Parameters"]["BootstrapVersion"]["Default"] for raw in templates(profile).raw.values()}
    assert versions == {f"/cdk-bootstrap/{qualifier}/version"}
    manifest = json.loads((templates(profile).folder / "manifest.json").read_text("utf-8"))["artifacts"].values()
    roles = [a["properties"]["assumeRoleArn"] for a in manifest if a["type"] == "aws:cloudformation:stack"]
    assert roles and all(f":role/cdk-{qualifier}-deploy-role-" in role for role in roles)


@pytest.mark.parametrize("profile", ["dev", "placed"])
def test_every_role_has_the_boundary_that_was_given_and_none_otherwise(templates: OF, profile: str) -> None:
    roles = templates(profile).of("IAM::Role")
    named = {r.name for r in roles}
    # those of CDK's own functions, of batch inference and of the account's log writer are among them
    assert any(name.startswith("BucketNotificationsHandler") for name in named)
    assert {"BulkRole", "ApiCloudWatchRole", "WorkflowRole"} <= named
    bounds = {r.properties.get("PermissionsBoundary") for r in roles}
    assert bounds == ({f"arn:aws:iam::ACCOUNT:policy/{PLACED['boundary']}"} if profile == "placed" else {None})
    assert not templates(profile).has("IAM::User")


@pytest.mark.parametrize(("profile", "protected"), [("dev", False), ("prod", True), ("placed", True)])
def test_stacks_are_protected_in_prod_and_where_it_was_asked(
    synthesized: Callable[[str], Path], profile: str, protected: bool
) -> None:
    artifacts = json.loads((synthesized(profile) / "manifest.json").read_text("utf-8"))["artifacts"]
    stacks = {name: a["properties"] for name, a in artifacts.items() if a["type"] == "aws:cloudformation:stack"}
    assert len(stacks) == 7
    assert {bool(p.get("terminationProtection")) for p in stacks.values()} == {protected}


def test_a_network_that_is_there_is_taken_as_it_is_and_gets_endpoints_and_groups_alone(templates: OF) -> None:
    found = templates("placed")
    made = {r.kind for r in found.resources if r.stack == "network"}
    assert made == {"AWS::EC2::VPCEndpoint", "AWS::EC2::SecurityGroup", *_RULES}
    for r in found.of("EC2::VPCEndpoint"):
        assert r.properties["VpcId"] == PLACED["vpc"]
        if r.properties["VpcEndpointType"] == "Gateway":
            assert r.properties["RouteTableIds"] == [PLACED["route_tables"]]
        else:
            assert r.properties["SubnetIds"] == [SUBNETS[0]]  # dev has them in one zone
    services = {r.properties["ServiceName"].removeprefix("com.amazonaws.REGION.") for r in found.of("EC2::VPCEndpoint")}
    assert services == {"s3", "dynamodb", "bedrock-runtime", "aoss-data"}
    assert {r.properties["VpcId"] for r in found.of("EC2::SecurityGroup")} == {PLACED["vpc"]}
    (group,) = found.of("Neptune::DBSubnetGroup")
    assert group.properties["SubnetIds"] == list(SUBNETS)
    inside = {job: p["VpcConfig"]["SubnetIds"] for job, p in found.functions.items() if "VpcConfig" in p}
    jobs = ("query", "stream", "curate", "parse", "chunk", "build", "finish", "remove")
    assert inside == {job: list(SUBNETS) for job in jobs}
    assert not json.loads((found.folder / "manifest.json").read_text("utf-8")).get("missing")  # no account was asked


@pytest.mark.nightly
@pytest.mark.parametrize("endpoint", ["", "vpce-0a1b2c3d4e5f60718"])
def test_endpoints_that_are_there_are_made_by_nobody_and_that_of_collections_where_it_is_not(
    tmp_path: Path, endpoint: str
) -> None:
    if find_spec("aws_cdk") is None or shutil.which("node") is None:
        pytest.skip("needs the CDK: make synth installs it, and Node has to be there")
    import aws_cdk as cdk

    from infra.stacks.data import DataStack
    from infra.stacks.network import NetworkStack
    from infra.stacks.vector import VectorStack

    context = {**PLACED, "route_tables": "", "endpoints": "existing", "collections_endpoint": endpoint}
    profile = profile_of({**context, "rerank_model": DEFAULT_RERANK_MODEL})
    app = cdk.App(outdir=str(tmp_path))
    data = DataStack(app, profile.stack("data"), profile)
    network = NetworkStack(app, profile.stack("network"), profile)
    assert data.key
    VectorStack(app, profile.stack("vector"), profile, network, data.key)
    app.synth()
    found = Templates(tmp_path)
    made = [r for r in found.resources if r.kind == "AWS::EC2::VPCEndpoint"]
    assert [r.properties["ServiceName"] for r in made] == ([] if endpoint else ["com.amazonaws.REGION.aoss-data"])
    (policy,) = json.loads(found.one("OpenSearchServerless::SecurityPolicy", "Access").properties["Policy"])
    assert policy["SourceVPCEs"] == [endpoint or f"<network/{made[0].name}>"]


def test_who_signs_finds_the_same_routes_and_functions_and_everything_asks_for_a_signature(templates: OF) -> None:
    found = templates("placed")
    keyed, signed = dict(found.methods("Api")), dict(found.methods("Signed"))
    assert keyed.keys() - signed.keys() == {"GET /explorer", "GET /explorer/{proxy+}"}, "a browser signs nothing"
    assert not signed.keys() - keyed.keys()
    for operation, properties in signed.items():
        assert properties["AuthorizationType"] == "AWS_IAM", operation
        assert not properties.get("ApiKeyRequired")
        assert properties["Integration"] == keyed[operation]["Integration"], operation
    assert signed["POST /query"]["Integration"]["ResponseTransferMode"] == "STREAM"
    assert not [p for p in keyed.values() if p["AuthorizationType"] == "AWS_IAM"]
    assert len(found.raw["api"]["Resources"]) < 450  # CloudFormation takes 500
    assert found.raw["api"]["Outputs"]["SignedUrl"] != found.raw["api"]["Outputs"]["Url"]


def test_functions_may_be_called_by_both_apis_of_this_deployment(templates: OF) -> None:
    found = templates("placed")
    of_signed = [
        r.properties for r in found.of("Lambda::Permission") if "<api/Signed>" in str(r.properties.get("SourceArn"))
    ]
    called = {p["FunctionName"] for p in of_signed}
    assert called == {f"<api/{job}>" for job in ("Query", "Manage", "Curate", "Stream", "Follow")}
    assert {p["Principal"] for p in of_signed} == {"apigateway.amazonaws.com"}


def test_roles_of_other_accounts_may_sign_where_these_are_named_and_nobody_else_is(templates: OF) -> None:
    policy = templates("placed").one("ApiGateway::RestApi", "Signed").properties["Policy"]
    (statement,) = policy["Statement"]
    others = [f"arn:aws:iam::{account}:root" for account in PLACED["iam_accounts"].split(",")]
    assert statement == {
        "Effect": "Allow",
        "Action": "execute-api:Invoke",
        "Principal": {"AWS": others},
        "Resource": "execute-api:/*",
    }
    assert "Policy" not in templates("placed").one("ApiGateway::RestApi", "Api").properties
    assert [r.name for r in templates("dev").of("ApiGateway::RestApi")] == ["Api"], "only where it was asked"


def test_the_signed_api_is_limited_and_logged_like_the_other_and_says_whose_signature_it_was(templates: OF) -> None:
    found = templates("placed")
    stages = {r.properties["RestApiId"]: r.properties for r in found.of("ApiGateway::Stage")}
    one, other = stages["<api/Api>"], stages["<api/Signed>"]
    assert one["MethodSettings"] == other["MethodSettings"]
    assert one["AccessLogSetting"]["Format"] == other["AccessLogSetting"]["Format"]
    assert json.loads(one["AccessLogSetting"]["Format"])["signer"] == "$context.identity.userArn"
    assert one["AccessLogSetting"]["DestinationArn"] != other["AccessLogSetting"]["DestinationArn"]
    told = {
        r.properties["ResponseType"]: r.properties
        for r in found.of("ApiGateway::GatewayResponse")
        if r.name.startswith("Signed")
    }
    statuses = {
        kind: told[kind]["StatusCode"] for kind in ("MISSING_AUTHENTICATION_TOKEN", "INVALID_SIGNATURE", "ACCESS_DENIED")
    }
    assert list(statuses.values()) == ["401", "401", "403"]
    # the stage logs by a role of the account, which has to be set before
    (stage,) = [r for r in found.of("ApiGateway::Stage") if r.properties["RestApiId"] == "<api/Signed>"]
    assert any(name.startswith("ApiAccount") for name in stage.depends)


def test_a_name_of_ones_own_leads_to_the_api_of_keys_with_the_certificate(templates: OF) -> None:
    found = templates("placed")
    (name,) = found.of("ApiGateway::DomainName")
    assert name.properties["DomainName"] == PLACED["domain"]
    assert name.properties["RegionalCertificateArn"] == PLACED["certificate"]
    assert name.properties["SecurityPolicy"] == "TLS_1_2"
    (mapping,) = found.of("ApiGateway::BasePathMapping")
    assert (mapping.properties["RestApiId"], mapping.properties.get("BasePath")) == ("<api/Api>", None)
    outputs = found.raw["api"]["Outputs"]
    assert outputs["DomainUrl"]["Value"] == f"https://{PLACED['domain']}/"
    assert outputs["DomainTarget"]["Value"]["Fn::GetAtt"][1] == "RegionalDomainName"
    assert not templates("dev").has("ApiGateway::DomainName")


def test_who_looks_signers_up_reads_their_keys_and_writes_none(templates: OF) -> None:
    keys = {
        s.role: action
        for s in templates("placed").statements
        for action in s.actions
        if "system#key" in s.conditions and s.role != "authorize"
    }
    assert keys.keys() == {"query", "manage", "curate", "stream", "follow"}
    assert {action.split(":")[1] for action in keys.values()} <= {"GetItem", "BatchGetItem", "Query"}
    assert not [s for s in templates("placed").statements if s.role != "authorize" and '"system#key#*"' in s.conditions]


def test_what_fails_for_who_signs_raises_the_same_alarm(templates: OF) -> None:
    def failing(profile: str) -> set[str]:
        (alarm,) = [r for r in templates(profile).of("CloudWatch::Alarm") if r.name == "FailedRequests"]
        single = [{"MetricStat": {"Metric": alarm.properties}}] if "MetricName" in alarm.properties else []
        stats = [m["MetricStat"]["Metric"] for m in (single or alarm.properties["Metrics"]) if "MetricStat" in m]
        assert {m["MetricName"] for m in stats} == {"5XXError"}
        return {d["Value"] for m in stats for d in m["Dimensions"] if d["Name"] == "ApiName"}

    assert failing("dev") == {"lexigraph-dev"}
    assert failing("placed") == {"lexigraph-dev-team-a", "lexigraph-dev-team-a-iam"}

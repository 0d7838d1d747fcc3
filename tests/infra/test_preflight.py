"""``make preflight``: what it says of an account that is ready, and of one where something is missing."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.live import preflight
from infra.live.account import Account
from infra.live.given import given
from infra.live.preflight import Finding, examine
from infra.settings import PROFILES, Profile, profile_of, settings_of
from tests.infra.conftest import CHOSEN, PLACED, SUBNETS
from tests.infra.templates import Templates
from tests.standins.account import AccountServer, Refusal
from tests.standins.aws_server import ENVIRONMENT

REGION = "us-west-2"
ZONES = [f"{REGION}{letter}" for letter in "abc"]
SECRET = "AKIA-IN-THE-WORDS-OF-THE-SERVICE"


def stack(name: str, status: str = "UPDATE_COMPLETE", **outputs: str) -> dict[str, Any]:
    told = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
    return {"StackName": name, "StackStatus": status, "CreationTime": "2026-11-01T00:00:00Z", "Outputs": told}


def stacks(*found: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """CloudFormation with some stacks: it says of others what it says of what it does not know."""
    known = {s["StackName"]: s for s in found}

    def answer(asked: dict[str, Any]) -> Any:
        if asked["StackName"] not in known:
            return Refusal("ValidationError", f"Stack with id {asked['StackName']} does not exist")
        return {"Stacks": [known[asked["StackName"]]]}

    return answer


def endpoints(**lacking: str) -> dict[str, Any]:
    details = [
        {
            "ServiceName": f"com.amazonaws.{REGION}.{name}",
            "AvailabilityZones": [z for z in ZONES if z != lacking.get(name.replace("-", "_"))],
        }
        for name in preflight.ENDPOINTS
    ]
    return {"ServiceDetails": details}


def limits(most: int) -> dict[str, Any]:
    return {"AccountLimit": {"ConcurrentExecutions": most, "UnreservedConcurrentExecutions": most}, "AccountUsage": {}}


def counted(name: str, used: int, most: int) -> dict[str, Any]:
    return {"AccountQuotaName": name, "Used": used, "Max": most}


READY: dict[str, Any] = {
    "service-quotas GetServiceQuota": {"Quota": {"Value": 5.0}},
    "ec2 DescribeVpcs": {"Vpcs": [{"VpcId": "vpc-1"}]},
    "ec2 DescribeVpcEndpoints": {"VpcEndpoints": []},
    "rds DescribeAccountAttributes": {"AccountQuotas": [counted("DBClusters", 3, 40), counted("DBInstances", 3, 40)]},
    "opensearchserverless GetAccountSettings": {
        "accountSettingsDetail": {"capacityLimits": {"maxIndexingCapacityInOCU": 16, "maxSearchCapacityInOCU": 16}}
    },
    "sts GetCallerIdentity": {"Account": "123456789012", "Arn": "arn:aws:sts::123456789012:assumed-role/deployer/me"},
    "ssm GetParameter": {"Parameter": {"Value": "25", "Type": "String"}},
    "cloudformation DescribeStacks": stacks(),
    "opensearchserverless BatchGetCollection": {"collectionDetails": []},
    "opensearchserverless BatchGetCollectionGroup": {"collectionGroupDetails": []},
    "lambda GetAccountSettings": limits(1_000),
    "logs DescribeLogGroups": {"logGroups": []},
    "neptune DescribeDBEngineVersions": {
        "DBEngineVersions": [{"Engine": "neptune", "EngineVersion": v} for v in ("1.3.2.1", "1.4.8.0")]
    },
    "neptune DescribeOrderableDBInstanceOptions": {
        "OrderableDBInstanceOptions": [
            {"Engine": "neptune", "DBInstanceClass": "db.serverless", "AvailabilityZones": [{"Name": z} for z in ZONES]}
        ]
    },
    "ec2 DescribeAvailabilityZones": {"AvailabilityZones": [{"ZoneName": z} for z in ZONES]},
    "ec2 DescribeVpcEndpointServices": endpoints(),
    "bedrock-runtime InvokeModel": {"body": json.dumps({"embedding": [1.0] + [0.0] * 1_023}), "contentType": "x"},
    "bedrock-runtime Converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
        "stopReason": "max_tokens",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    },
}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[AccountServer]:
    with AccountServer(READY) as server:
        for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "PROFILE", "SET"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": server.url, "REGION": REGION}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        cdk = tmp_path / "node_modules" / ".bin" / "cdk"
        cdk.parent.mkdir(parents=True)
        cdk.touch()
        monkeypatch.setattr(preflight, "ROOT", tmp_path)
        monkeypatch.setattr(preflight.shutil, "which", lambda name: f"/usr/bin/{name}")
        yield server


def found(profile: Profile = PROFILES["dev"], region: str = REGION) -> list[Finding]:
    return list(examine(Account(region), replace(profile, alarm_email="ops@example.org")))


def test_an_account_that_is_ready_has_nothing_to_mend(account: AccountServer, capsys: pytest.CaptureFixture[str]) -> None:
    findings = found()
    assert [f for f in findings if f.level != "ok"] == []
    assert {f.name for f in findings} >= {"credentials", "region", "bootstrap", "concurrency", "engine", "zones", "cluster"}
    asked = [(what, given_) for what, given_ in account.asked if what == "bedrock-runtime Converse"]
    assert [given_["inferenceConfig"] for _, given_ in asked] == [{"maxTokens": 1}]
    preflight.show(findings)
    assert "Neptune 1.4.8.0 is available" in capsys.readouterr().out


OLD_CLUSTER = stack("lexigraph-dev-graph", ClusterId="c-1")
STOPPED = {"DBClusters": [{"DBClusterIdentifier": "c-1", "Status": "stopped"}]}
MISSING = [
    (
        "sts GetCallerIdentity",
        Refusal("ExpiredToken", SECRET, 403),
        "credentials",
        "error",
        "ExpiredToken",
        "renew what expired",
    ),
    ("ssm GetParameter", Refusal("ParameterNotFound"), "bootstrap", "warning", "not done", "make deploy does it first"),
    (
        "ssm GetParameter",
        {"Parameter": {"Value": "6"}},
        "bootstrap",
        "warning",
        "version 6",
        "cdk bootstrap aws://123456789012/us-west-2",
    ),
    (
        "ssm GetParameter",
        Refusal("AccessDeniedException", SECRET),
        "bootstrap",
        "error",
        "AccessDenied",
        "let your credentials read",
    ),
    (
        "cloudformation DescribeStacks",
        stacks(stack("lexigraph-dev-vector", "ROLLBACK_COMPLETE")),
        "stacks",
        "error",
        "ROLLBACK_COMPLETE",
        "delete-stack",
    ),
    (
        "cloudformation DescribeStacks",
        stacks(stack("lexigraph-dev-api", "UPDATE_IN_PROGRESS")),
        "stacks",
        "error",
        "IN_PROGRESS",
        "wait",
    ),
    (
        "neptune DescribeDBClusters",
        STOPPED,
        "cluster",
        "error",
        "c-1 is stopped",
        "start-db-cluster --db-cluster-identifier c-1",
    ),
    (
        "opensearchserverless BatchGetCollection",
        {"collectionDetails": [{"name": "lexigraph-dev"}]},
        "collection",
        "error",
        "another deployment left a",
        "delete it",
    ),
    (
        "opensearchserverless BatchGetCollection",
        Refusal("", status=0),
        "collection",
        "error",
        "could not be checked",
        "name of the region",
    ),
    ("lambda GetAccountSettings", limits(10), "concurrency", "warning", "10 concurrent executions", "Service Quotas"),
    (
        "lambda GetAccountSettings",
        Refusal("AccessDeniedException", SECRET),
        "concurrency",
        "warning",
        "AccessDenied",
        "Service Quotas yourself",
    ),
    (
        "logs DescribeLogGroups",
        {"logGroups": [{"logGroupName": "/aws/neptune/lexigraph-dev/audit"}]},
        "audit log",
        "error",
        "/aws/neptune/lexigraph-dev/audit is left of a deployment that is gone",
        "aws logs delete-log-group --log-group-name /aws/neptune/lexigraph-dev/audit --region us-west-2",
    ),
    (
        "ec2 DescribeVpcs",
        {"Vpcs": [{"VpcId": f"vpc-{n}"} for n in range(5)]},
        "quota VPCs",
        "error",
        "5 of 5 VPCs of the region are used; a deployment makes 1 more",
        "--quota-code L-F678F1CE --desired-value 6 --region us-west-2; or delete one",
    ),
    (
        "ec2 DescribeVpcs",
        Refusal("UnauthorizedOperation", SECRET),
        "quota VPCs",
        "warning",
        "could not be checked",
        "Service Quotas yourself",
    ),
    (
        "ec2 DescribeVpcEndpoints",
        {"VpcEndpoints": [{"VpcEndpointId": f"vpce-{n}"} for n in range(4)]},
        "quota gateways",
        "error",
        "4 of 5 gateway endpoints of the region are used; a deployment makes 2 more",
        "--quota-code L-1B52E74A --desired-value 6",
    ),
    (
        "rds DescribeAccountAttributes",
        {"AccountQuotas": [counted("DBClusters", 3, 40), counted("DBInstances", 40, 40)]},
        "quota DBInstances",
        "warning",
        "40 of 40 DBInstances of RDS and Neptune are used",
        "--service-code rds",
    ),
    (
        "opensearchserverless GetAccountSettings",
        {"accountSettingsDetail": {"capacityLimits": {"maxIndexingCapacityInOCU": 10, "maxSearchCapacityInOCU": 2}}},
        "quota units",
        "warning",
        "2 units in the account, for indexing and for search each; the collection may use 4",
        "update-account-settings --capacity-limits maxIndexingCapacityInOCU=10,maxSearchCapacityInOCU=4",
    ),
    (
        "ec2 DescribeVpcEndpointServices",
        {
            "ServiceDetails": [
                {**found, "VpcEndpointPolicySupported": "aoss" not in found["ServiceName"]}
                for found in endpoints()["ServiceDetails"]
            ]
        },
        "zones",
        "error",
        "com.amazonaws.us-west-2.aoss-data takes no policy here",
        "another region",
    ),
    (
        "neptune DescribeDBEngineVersions",
        {"DBEngineVersions": [{"EngineVersion": "1.4.7.0"}]},
        "engine",
        "error",
        "available: 1.4.7.0",
        "another region",
    ),
    (
        "neptune DescribeOrderableDBInstanceOptions",
        {"OrderableDBInstanceOptions": []},
        "zones",
        "error",
        "lacks Neptune Serverless",
        "no two zones",
    ),
    (
        "ec2 DescribeVpcEndpointServices",
        endpoints(aoss_data=f"{REGION}a"),
        "zones",
        "error",
        "us-west-2a lacks com.amazonaws.us-west-2.aoss-data",
        "SET=zones=us-west-2b,us-west-2c",
    ),
    (
        "ec2 DescribeVpcEndpointServices",
        {"ServiceDetails": endpoints()["ServiceDetails"][:1]},
        "zones",
        "error",
        "missing endpoint services",
        "a region that has it",
    ),
    (
        "bedrock-runtime InvokeModel",
        Refusal("AccessDeniedException", SECRET, 403),
        "model amazon.titan-embed-text-v2:0",
        "error",
        "AccessDenied",
        "playground",
    ),
    (
        "bedrock-runtime Converse",
        Refusal("ResourceNotFoundException", f"{SECRET}: Model use case details have not been submitted", 404),
        "model global.anthropic.claude-haiku-4-5-20251001-v1:0",
        "error",
        "ResourceNotFound",
        "form of the use case",
    ),
    (
        "bedrock-runtime Converse",
        Refusal("ThrottlingException", SECRET, 429),
        "model global.anthropic.claude-haiku-4-5-20251001-v1:0",
        "warning",
        "Throttling",
        "quota",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "instead", "name", "level", "evidence", "remedy"), MISSING)
def test_what_is_missing_is_named_with_its_remedy(
    account: AccountServer, what: str, instead: Any, name: str, level: str, evidence: str, remedy: str
) -> None:
    if what == "neptune DescribeDBClusters":
        account.answers["cloudformation DescribeStacks"] = stacks(OLD_CLUSTER)
    account.answers[what] = instead
    findings = found()
    (finding,) = [f for f in findings if f.level != "ok"]
    assert (finding.name, finding.level) == (name, level)
    assert evidence in finding.evidence
    assert remedy in finding.remedy
    assert SECRET not in preflight.as_json(findings), "what a service says in its own words stays here"


@pytest.mark.parametrize(
    ("context", "level", "command"),
    [
        ({}, "warning", "cdk bootstrap aws://123456789012/us-west-2"),
        ({"boundary": "limits/all"}, "warning", "us-west-2 --custom-permissions-boundary limits/all"),
        (
            {"boundary": "arn:aws:iam::123456789012:policy/all", "qualifier": "team-a"},
            "error",
            "us-west-2 --qualifier team-a --toolkit-stack-name CDKToolkit-team-a --custom-permissions-boundary all;",
        ),
        ({"boundary": "arn:aws:iam::aws:policy/PowerUserAccess"}, "warning", "aws://123456789012/us-west-2"),
    ],
)
def test_a_region_is_bootstrapped_within_the_bounds_and_by_the_name_of_the_deployment(
    account: AccountServer, context: dict[str, str], level: str, command: str
) -> None:
    account.answers["ssm GetParameter"] = Refusal("ParameterNotFound")
    (finding,) = [f for f in found(profile_of(context)) if f.name == "bootstrap"]
    assert finding.level == level
    assert command in f"{finding.remedy};"
    (asked,) = [given_ for what, given_ in account.asked if what == "ssm GetParameter"]
    assert asked["Name"] == f"/cdk-bootstrap/{context.get('qualifier', 'hnb659fds')}/version"


def test_a_stack_that_was_never_made_as_its_change_set_failed_is_no_obstacle(account: AccountServer) -> None:
    account.answers["cloudformation DescribeStacks"] = stacks(stack("lexigraph-dev-vector", "REVIEW_IN_PROGRESS"))
    assert [(f.level, f.evidence) for f in found() if f.name == "stacks"] == [("ok", "none yet")]


def test_alarms_that_reach_nobody_are_told(account: AccountServer) -> None:
    (finding,) = [f for f in preflight.looked_at(given("", [])) if f.level != "ok"]
    assert (finding.name, finding.level) == ("alarms", "warning")
    assert "alarm_email=" in finding.remedy


def deployed_with(account: AccountServer, **settings: Any) -> None:
    told = json.dumps({**settings_of(PROFILES["dev"]), **settings})
    account.answers["cloudformation DescribeStacks"] = stacks(stack("lexigraph-dev-data", Settings=told))


PINNED = "bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0"


@pytest.mark.parametrize(
    ("said", "level", "told"),
    [
        (["--set", f"llm={PINNED} 'tags=a=b c'"], "ok", "as they were deployed"),
        ([], "error", f"llm was '{PINNED}', would be '{PROFILES['dev'].llm}'; tags was 'a=b c', would be ''"),
        (["--set", f"llm={PINNED}"], "error", "tags was 'a=b c', would be ''"),
        (["--set", f"llm={PINNED} tags= neptune_max=8"], "ok", "neptune_max was 4.0, would be 8.0; tags was 'a=b c'"),
        (["--reset"], "ok", "would be"),
    ],
)
def test_a_setting_that_would_change_and_was_not_named_stops_a_deployment(
    account: AccountServer, said: list[str], level: str, told: str
) -> None:
    deployed_with(account, llm=PINNED, tags="a=b c")
    (finding,) = [f for f in preflight.looked_at(given("", said)) if f.name == "settings"]
    assert finding.level == level
    assert told in finding.evidence
    if level == "error":  # what is said to keep them does
        kept = re.search('SET="(.+)"', finding.remedy)
        assert kept
        again = given("", ["--set", f"{said[-1] if said else ''} {kept[1]}"])
        assert [f.level for f in preflight.looked_at(again) if f.name == "settings"] == ["ok"]


def test_a_deployment_that_tells_no_settings_is_no_obstacle(account: AccountServer) -> None:
    account.answers["cloudformation DescribeStacks"] = stacks(stack("lexigraph-dev-data"))
    (finding,) = [f for f in found() if f.level != "ok"]
    assert (finding.name, finding.level) == ("settings", "warning")
    assert "the same SET" in finding.remedy


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dev", "prod", "chosen", "placed"])
def test_settings_are_kept_with_the_deployment_as_they_are_compared(
    templates: Callable[[str], Templates], name: str
) -> None:
    context = {"chosen": CHOSEN, "placed": PLACED}.get(name, {"profile": name})
    told = json.loads(templates(name).raw["data"]["Outputs"]["Settings"]["Value"])
    assert told == settings_of(profile_of(context))


def test_settings_in_the_file_of_the_cdk_hold_unless_others_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_cdk = {"@aws-cdk/core:checkSecretUsage": True, "@aws-cdk/core:bootstrapQualifier": "team-a"}
    context = {**of_cdk, "neptune_max": 8, "protect": True, "log_days": "30"}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": context}), "utf-8")
    monkeypatch.setattr("infra.live.given.ROOT", tmp_path)
    profile = given("", ["--set", "log_days=90"]).profile
    assert (profile.neptune_max, profile.protect, profile.log_days, profile.qualifier) == (8.0, True, 90, "team-a")


@pytest.mark.nightly
def test_a_reserve_wants_a_quota(account: AccountServer) -> None:
    account.answers["lambda GetAccountSettings"] = limits(190)
    (finding,) = [f for f in found(PROFILES["prod"]) if f.level != "ok"]
    assert (finding.name, finding.level) == ("concurrency", "error")
    assert "reserve=0" in finding.remedy
    account.answers["lambda GetAccountSettings"] = limits(200)
    assert [f for f in found(PROFILES["prod"]) if f.level != "ok"] == []


OPEN = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
OF_THIS_ACCOUNT = {**OPEN, "Condition": {"StringEquals": {"aws:PrincipalAccount": "123456789012"}}}
ONE_BUCKET = {**OPEN, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::artefacts/*"}


def network(**policies: dict[str, Any]) -> dict[str, Any]:
    """The endpoints of a network, by services, with the statement of each one's policy."""
    return {
        "VpcEndpoints": [
            {
                "VpcEndpointId": f"vpce-{name}",
                "ServiceName": f"com.amazonaws.{REGION}.{name.replace('_', '-')}",
                "VpcEndpointType": "Gateway" if name in ("s3", "dynamodb") else "Interface",
                "PrivateDnsEnabled": name not in ("s3", "dynamodb"),
                "RouteTableIds": [PLACED["route_tables"]] if name in ("s3", "dynamodb") else [],
                "PolicyDocument": json.dumps({"Version": "2008-10-17", "Statement": [statement]}),
            }
            for name, statement in policies.items()
        ]
    }


def subnets(*places: tuple[str, str, int], **more: str) -> dict[str, Any]:
    """Subnets of the network: the zone's letter, the network that each is in, and its free addresses."""
    return {
        "Subnets": [
            {
                "SubnetId": name,
                "VpcId": vpc,
                "AvailabilityZone": f"{REGION}{letter}",
                "AvailableIpAddressCount": free,
                "OwnerId": "123456789012",
                **more,
            }
            for name, (letter, vpc, free) in zip(SUBNETS, places, strict=False)
        ]
    }


VPC = PLACED["vpc"]
FIT = subnets(("a", VPC, 200), ("b", VPC, 200))
DNS_ON = {"EnableDnsSupport": {"Value": True}, "EnableDnsHostnames": {"Value": True}}


@pytest.mark.parametrize(
    ("what", "instead", "level", "evidence", "remedy"),
    [
        ("ec2 DescribeSubnets", FIT, "ok", "2 subnets in us-west-2a, us-west-2b", ""),
        ("ec2 DescribeSubnets", subnets(("a", VPC, 9)), "error", f"has no {SUBNETS[1]} in this account", "REGION"),
        ("ec2 DescribeSubnets", subnets(("a", VPC, 9), ("b", "vpc-1", 9)), "error", f"has no {SUBNETS[1]}", "REGION"),
        ("ec2 DescribeSubnets", subnets(("a", VPC, 99), ("a", VPC, 99)), "error", "us-west-2a, us-west-2a", "zones"),
        ("ec2 DescribeSubnets", subnets(("a", VPC, 99), ("b", VPC, 9)), "warning", f"{SUBNETS[1]} has 9", "some 20"),
        (
            "ec2 DescribeSubnets",
            subnets(("a", VPC, 99), ("b", VPC, 99), OwnerId="210987654321"),
            "error",
            "account 210987654321 shares",
            "SET=endpoints=existing collections_endpoint=vpce-",
        ),
        (
            "ec2 DescribeVpcAttribute",
            {**DNS_ON, "EnableDnsHostnames": {"Value": False}},
            "error",
            "enableDnsHostnames off",
            f"aws ec2 modify-vpc-attribute --vpc-id {VPC} --enable-dns-hostnames",
        ),
        (
            "ec2 DescribeVpcEndpointServices",
            endpoints(aoss_data=f"{REGION}a"),
            "error",
            "us-west-2a: no aoss-data there",
            "other subnets",
        ),
        ("ec2 DescribeVpcAttribute", Refusal("UnauthorizedOperation", SECRET), "warning", "could not be checked", ""),
    ],
)
def test_a_network_that_is_there_is_looked_at_before_cloudformation_meets_it(
    account: AccountServer, what: str, instead: Any, level: str, evidence: str, remedy: str
) -> None:
    account.answers |= {"ec2 DescribeSubnets": FIT, "ec2 DescribeVpcAttribute": DNS_ON, what: instead}
    (finding,) = [f for f in found(profile_of(PLACED)) if f.name == "network"]
    assert finding.level == level
    assert evidence in finding.evidence
    assert remedy in finding.remedy


THERE = {**PLACED, "endpoints": "existing", "route_tables": ""}


@pytest.mark.parametrize(
    ("context", "endpoints_there", "level", "evidence", "remedy"),
    [
        (THERE, network(s3=OPEN, dynamodb=OPEN, bedrock_runtime=OF_THIS_ACCOUNT), "ok", "used as they are", ""),
        (
            THERE,
            network(s3=ONE_BUCKET, dynamodb=OPEN, bedrock_runtime=OPEN),
            "warning",
            "vpce-s3 of s3 has a policy of its own",
            "aws ec2 describe-vpc-endpoints --vpc-endpoint-ids vpce-s3 --region us-west-2",
        ),
        (THERE, network(s3=OPEN, dynamodb=OPEN), "warning", "has none of bedrock-runtime", "make them"),
        (
            THERE,
            network(s3=OPEN, dynamodb=OPEN, bedrock_runtime=OPEN, aoss_data=OPEN),
            "error",
            "AWS refuses a second one beside vpce-aoss_data of aoss-data",
            "collections_endpoint=vpce-",
        ),
        (
            {**THERE, "collections_endpoint": "vpce-0a1b2c3d4e5f60718"},
            network(s3=OPEN, dynamodb=OPEN, bedrock_runtime=OPEN, aoss_data=ONE_BUCKET),
            "warning",
            "vpce-aoss_data of aoss-data has a policy of its own",
            "see that it allows the roles",
        ),
        (PLACED, network(s3=ONE_BUCKET), "error", "AWS refuses a second one beside vpce-s3 of s3", "endpoints=existing"),
        ({**PLACED, "route_tables": "rtb-0b1b2c3d4e5f60718"}, network(s3=ONE_BUCKET), "ok", "none used as they are", ""),
    ],
)
def test_endpoints_of_a_network_that_is_there_are_looked_at_before_functions_depend_on_them(
    account: AccountServer,
    context: dict[str, str],
    endpoints_there: dict[str, Any],
    level: str,
    evidence: str,
    remedy: str,
) -> None:
    account.answers["ec2 DescribeVpcEndpoints"] = endpoints_there
    (finding,) = [f for f in found(profile_of(context)) if f.name == "endpoints"]
    assert finding.level == level
    assert evidence in finding.evidence
    assert remedy in finding.remedy
    (asked,) = [given_ for what, given_ in account.asked if what.endswith("VpcEndpoints") and "vpc-id" in given_.values()]
    assert PLACED["vpc"] in asked.values()


def test_what_is_there_counts_against_no_quota_again(account: AccountServer) -> None:
    there = stacks(*(stack(f"lexigraph-dev-{part}") for part in ("network", "graph")))
    full = {"Vpcs": [{"VpcId": f"vpc-{n}"} for n in range(5)]}
    account.answers |= {"cloudformation DescribeStacks": there, "ec2 DescribeVpcs": full}
    assert [f for f in found() if f.level != "ok"] == []


def test_a_region_that_nobody_knows_is_told(account: AccountServer) -> None:
    first = next(f for f in found(region="us-wset-2") if f.name == "region")
    assert (first.level, first.evidence) == ("warning", "boto3 does not know the region us-wset-2")


@pytest.mark.slow
def test_the_endpoints_looked_for_are_those_of_the_network(templates: Callable[[str], Templates]) -> None:
    made = [r.properties for r in templates("prod").of("EC2::VPCEndpoint")]
    names = {str(p["ServiceName"]).rpartition(".")[2].rstrip(">'") for p in made if p.get("VpcEndpointType") == "Interface"}
    assert names == set(preflight.ENDPOINTS)


def test_a_stopped_cluster_of_another_profile_is_no_matter(account: AccountServer) -> None:
    account.answers |= {"cloudformation DescribeStacks": stacks(OLD_CLUSTER), "neptune DescribeDBClusters": STOPPED}
    assert [f for f in found(PROFILES["prod"]) if f.level != "ok"] == []


def test_without_a_region_nothing_else_is_asked(account: AccountServer) -> None:
    findings = found(region="")
    assert [(f.name, f.level) for f in findings] == [("tools", "ok"), ("region", "error")]
    assert account.asked == []


def test_the_region_may_come_from_the_environment(account: AccountServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert [f.evidence for f in found(region="") if f.name == "region"] == ["eu-west-1"]


def test_an_unknown_profile_of_aws_is_told(account: AccountServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    (finding,) = preflight.looked_at(given("", []))
    assert (finding.name, finding.level, finding.evidence) == ("credentials", "error", "cannot be read: ProfileNotFound")
    assert account.asked == []


@pytest.mark.nightly
def test_the_exit_code_says_whether_something_stands_in_the_way(
    account: AccountServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["preflight", "--json"])
    assert preflight.main() == 0
    account.answers["lambda GetAccountSettings"] = limits(10)
    assert preflight.main() == 0, "a warning"
    account.answers["neptune DescribeDBEngineVersions"] = {"DBEngineVersions": []}
    capsys.readouterr()
    assert preflight.main() == 1
    told = {f["name"]: f for f in json.loads(capsys.readouterr().out)}
    assert (told["engine"]["level"], told["concurrency"]["level"]) == ("error", "warning")


@pytest.mark.parametrize("said", ["neptune_maximum=8", "neptune_max=many", "reserve=2000"])
def test_what_cannot_be_set_is_refused(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        given("", ["--set", said])
    assert ended.value.code == 2
    assert "SET: " in capsys.readouterr().err


def test_what_is_set_reaches_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET", "alarm_email=a@example.org 'neptune_hours=Mon-Fri 08:00-19:00 Europe/Berlin' neptune_max=8")
    monkeypatch.setenv("PROFILE", "prod")
    read = given("", [])
    assert (read.name, read.profile.neptune_max, read.profile.alarm_email) == ("lexigraph-prod", 8.0, "a@example.org")
    assert read.context["neptune_hours"] == "Mon-Fri 08:00-19:00 Europe/Berlin"

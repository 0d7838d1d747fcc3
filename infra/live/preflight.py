"""Looks whether an account is ready for a deployment, before anything is made: ``make preflight``.

    python -m infra.live.preflight [--profile dev] [--region us-west-2] [--json]

Each finding says what was looked at, what was found, and what to do. Nothing is made or changed; each model of the profile
is asked for one token. Exit code 1 when an error stands in the way; warnings do not. No finding repeats what a service said
in its own words, which may hold identifiers of credentials.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from infra.layers import ROOT
from infra.live.account import Account
from infra.live.given import Given, given
from infra.live.told import say, table
from infra.settings import CHANGEABLE, ZONES, Profile, settings_of
from lexigraph.aws import code_of
from lexigraph.inference.bedrock import BedrockReranker
from lexigraph.inference.bedrock_client import BedrockClient
from lexigraph.inference.factory import make_embedder
from lexigraph.model.errors import LexigraphError
from lexigraph.retry import Retry
from lexigraph.settings import load_settings

Level = Literal["ok", "warning", "error"]
ENDPOINTS = ("bedrock-runtime", "aoss-data")  # interface endpoints of the network stack
RERANK_ENDPOINT = "bedrock-agent-runtime"  # where a model of Bedrock reranks
BOOTSTRAP = "/cdk-bootstrap/{}/version"
_OF_CDK = "hnb659fds"  # the qualifier where nobody chose one
_LEAST_BOOTSTRAP = 8
_UNRESERVED = 100  # executions that Lambda keeps for functions without a reserve
_FEW_EXECUTIONS = 50
# quotas by service and code: VPCs and gateway endpoints per region
_VPCS, _GATEWAYS = ("vpc", "L-F678F1CE"), ("vpc", "L-1B52E74A")
_INSTANCE = "db.serverless"
_ADDRESSES = 20  # free ones in a subnet: docs/deploy.md
# by attributes of a network, how they are turned on
_OPTIONS = {"enableDnsSupport": "enable-dns-support", "enableDnsHostnames": "enable-dns-hostnames"}
_MODEL_SECONDS = 30.0
# states of a stack from which it cannot be updated, and what helps
_STUCK = {
    "ROLLBACK_COMPLETE": "its first deployment failed: delete it (aws cloudformation delete-stack), then deploy again",
    "ROLLBACK_FAILED": "its first deployment failed: delete it (aws cloudformation delete-stack), then deploy again",
    "DELETE_FAILED": "delete it again (make destroy) before deploying",
    "UPDATE_ROLLBACK_FAILED": "aws cloudformation continue-update-rollback, then deploy again",
}


@dataclass(frozen=True)
class Finding:
    """What was looked at (``name``), what was found (``evidence``), and what to do (``remedy``)."""

    name: str
    level: Level
    evidence: str
    remedy: str = ""


def examine(account: Account, profile: Profile, named: Collection[str] = ()) -> Iterator[Finding]:
    """Yield what is found; without credentials or a region nothing else is looked at.

    ``named`` are the settings that somebody gave: what else would change of a deployment that is there is an error.
    """
    yield from _tools()
    for needed in (_credentials, _region):
        found = list(_looked(needed.__name__, lambda needed=needed: needed(account)))  # type: ignore[misc]  # bound now
        yield from found
        if any(finding.level == "error" for finding in found):
            return
    name = profile.prefix
    for what, look in (
        ("bootstrap", lambda: _bootstrap(account, profile)),
        ("stacks", lambda: _stacks(account, name)),
        ("settings", lambda: _settings(account, profile, named)),
        ("alarms", lambda: _alarms(profile)),
        ("cluster", lambda: _cluster(account, name)),
        ("collection", lambda: _collection(account, name)),
        ("engine", lambda: _engine(account, profile)),
        *(() if profile.vpc else (("zones", lambda: _zones(account, profile)),)),  # a network that is there has its zones
    ):
        yield from _looked(what, look)
    if profile.vpc:
        yield from _looked("network", lambda: _network(account, profile), level="warning")
        yield from _looked("endpoints", lambda: _endpoints(account, profile), level="warning")
    # of elastic addresses, which most accounts have few of, it needs none
    for what, look in (
        ("concurrency", lambda: _concurrency(account, profile, name)),
        ("audit log", lambda: _audit_log(account, profile)),
        ("quota VPCs", lambda: _vpcs(account, profile)),
        ("quota gateways", lambda: _gateways(account, profile)),
        ("quota databases", lambda: _databases(account, profile)),
        ("quota units", lambda: _units(account, profile)),
    ):
        yield from _looked(what, look, level="warning")  # who may not read a quota may deploy all the same
    yield from _models(account, profile)


def _looked(name: str, look: Callable[[], Iterator[Finding]], *, level: Level = "error") -> Iterator[Finding]:
    """Yield what a look finds; what cannot be asked is an error, or of another ``level``, told by its kind."""
    name = name.strip("_")
    try:
        yield from look()
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what was found
        kind = code_of(error) or type(error).__name__
        if level == "warning":
            remedy = "let your credentials read it (examples/pipelines/role.yml), or look at it in Service Quotas yourself"
        elif "AccessDenied" in kind or "Unauthorized" in kind:
            remedy = "let your credentials read this, or deploy with others"
        elif "Connect" in kind or "Timeout" in kind:
            remedy = "look at the network and the name of the region: the service may not be there"
        else:
            remedy = "aws sts get-caller-identity has to answer: aws configure, AWS_PROFILE or a role; renew what expired"
        yield Finding(name, level, f"could not be checked: {kind}", remedy)


def _tools() -> Iterator[Finding]:
    node, cdk = shutil.which("node"), ROOT / "node_modules" / ".bin" / "cdk"
    missing = [name for name, there in (("Node.js 22", node), ("the CDK", cdk.exists())) if not there]
    if missing:
        yield Finding("tools", "error", f"{' and '.join(missing)} missing", "install Node.js 22 or newer, then: npm ci")
    else:
        yield Finding("tools", "ok", "Node.js and the CDK of package.json")


def _credentials(account: Account) -> Iterator[Finding]:
    if not account.region:  # STS has an address in each
        yield Finding("region", "error", "no region is known", "make ... REGION=us-west-2, or AWS_REGION, or aws configure")
        return
    told = account.client("sts").get_caller_identity()
    yield Finding("credentials", "ok", f"account {told['Account']}, {str(told['Arn']).partition('/')[0].rpartition(':')[2]}")


def _region(account: Account) -> Iterator[Finding]:
    # which services it has, is asked of these themselves: botocore's lists of them have gaps
    if account.region not in account.session.get_available_regions("ec2"):
        told = f"boto3 does not know the region {account.region}"
        yield Finding("region", "warning", told, "look whether it is written right; newer regions are not known yet")
    else:
        yield Finding("region", "ok", account.region)


def bootstrap_options(profile: Profile) -> list[str]:
    """Return what `cdk bootstrap` is told beside the account, so that its roles are within the bounds of ours."""
    own = profile.boundary.partition(":policy/")[2] or profile.boundary  # it wants the name of one in the account
    bounds = ["--custom-permissions-boundary", own] if own and ":iam::aws:" not in profile.boundary else []
    # in the stack of another qualifier it would rename the roles by which others deploy
    apart = ["--qualifier", profile.qualifier, "--toolkit-stack-name", f"CDKToolkit-{profile.qualifier}"]
    return [*(apart if profile.qualifier else []), *bounds]


def _bootstrap(account: Account, profile: Profile) -> Iterator[Finding]:
    place = BOOTSTRAP.format(profile.qualifier or _OF_CDK)
    try:
        version = int(account.client("ssm").get_parameter(Name=place)["Parameter"]["Value"])
    except Exception as error:
        if code_of(error) != "ParameterNotFound":
            raise
        version = 0
    command = shlex.join(
        ["npx", "cdk", "bootstrap", f"aws://{account.number}/{account.region}", *bootstrap_options(profile)]
    )
    if version >= _LEAST_BOOTSTRAP:
        yield Finding("bootstrap", "ok", f"version {version}")
        return
    told = f"version {version}, {_LEAST_BOOTSTRAP} or newer is required" if version else "not done in this region"
    if profile.qualifier:  # whoever chose one makes that stack, often of a template of their own
        remedy = f"an administrator does it: {command}; or look at SET=qualifier=..."
        yield Finding("bootstrap", "error", f"{told} for the qualifier {profile.qualifier}", remedy)
    else:
        yield Finding("bootstrap", "warning", told, f"make deploy does it first: {command}")


def _stacks(account: Account, name: str) -> Iterator[Finding]:
    states = {stack: str(found["StackStatus"]) for stack, found in account.stacks(name).items()}
    # what a change set that failed leaves of a stack that was to be made: the CDK makes it all the same
    states = {stack: state for stack, state in states.items() if state != "REVIEW_IN_PROGRESS"}
    for stack, state in states.items():
        if state in _STUCK:
            yield Finding("stacks", "error", f"{name}-{stack} is {state}", _STUCK[state])
        elif state.endswith("IN_PROGRESS"):
            yield Finding("stacks", "error", f"{name}-{stack} is {state}", "wait until it is done")
    if not any(state in _STUCK or state.endswith("IN_PROGRESS") for state in states.values()):
        yield Finding("stacks", "ok", f"{len(states)} there, to be updated" if states else "none yet")


def _settings(account: Account, profile: Profile, named: Collection[str]) -> Iterator[Finding]:
    """Compare with the last deployment: a setting that was left out this time would go back without a word."""
    stack = account.stack(profile.stack("data"))
    told = _outputs(stack).get("Settings")
    if not stack or told is None:
        remedy = "give the same SET as the last time; from this deployment on it is compared"
        older = Finding("settings", "warning", "the deployment that is there does not tell its settings", remedy)
        yield older if stack else Finding("settings", "ok", "none yet")
        return
    before, now = json.loads(told), settings_of(profile)
    changed = [name for name in now if name in before and before[name] != now[name]]
    says = "; ".join(f"{name} was {before[name]!r}, would be {now[name]!r}" for name in changed)
    unnamed = [f"{name}={before[name]}" for name in changed if name not in named]
    if unnamed:
        remedy = f'keep it with SET="{shlex.join(unnamed)}" beside what you give; or take the values of the profile: RESET=1'
        yield Finding("settings", "error", says, remedy)
    else:
        yield Finding("settings", "ok", says or "as they were deployed")


def _alarms(profile: Profile) -> Iterator[Finding]:
    if profile.alarm_email:
        yield Finding("alarms", "ok", f"go to {profile.alarm_email}")
    else:
        remedy = "deploy with SET=alarm_email=you@example.org, or subscribe to the topic yourself"
        yield Finding("alarms", "warning", "alarms and mails about the budget reach nobody", remedy)


def _outputs(stack: Mapping[str, Any] | None) -> dict[str, str]:
    return {o["OutputKey"]: o["OutputValue"] for o in (stack or {}).get("Outputs", ())}


def cluster_state(account: Account, name: str) -> tuple[str, str]:
    """Return the id and the state of a deployment's cluster, empty where there is none."""
    cluster = _outputs(account.stack(f"{name}-graph")).get("ClusterId", "")
    if not cluster:
        return "", ""
    try:
        found = account.client("neptune").describe_db_clusters(DBClusterIdentifier=cluster)["DBClusters"]
    except Exception as error:
        if code_of(error) == "DBClusterNotFoundFault":
            return "", ""
        raise
    return cluster, str(found[0]["Status"])


def _cluster(account: Account, name: str) -> Iterator[Finding]:
    cluster, state = cluster_state(account, name)
    if state in ("stopped", "stopping"):
        start = f"aws neptune start-db-cluster --db-cluster-identifier {cluster} --region {account.region}"
        yield Finding(
            "cluster", "error", f"{cluster} is {state}, and cannot be changed", f"{start}; wait until it is available"
        )
    else:
        yield Finding("cluster", "ok", f"{cluster} is {state}" if cluster else "none yet")


def _collection(account: Account, name: str) -> Iterator[Finding]:
    """Look for what a deployment that is gone left under the collection's fixed name."""
    client, there = account.client("opensearchserverless"), account.stack(f"{name}-vector")
    left = ["collection"] if client.batch_get_collection(names=[name]).get("collectionDetails") else []
    left += ["group"] if client.batch_get_collection_group(names=[name]).get("collectionGroupDetails") else []
    if left and not there:
        remedy = "delete it with its policies in the OpenSearch Serverless console, or deploy the other profile"
        yield Finding("collection", "error", f"another deployment left a {' and a '.join(left)} called {name}", remedy)
    else:
        yield Finding("collection", "ok", f"{name} is {'ours' if left else 'free'}")


def _concurrency(account: Account, profile: Profile, name: str) -> Iterator[Finding]:
    limit = account.client("lambda").get_account_settings()["AccountLimit"]
    most, free = int(limit["ConcurrentExecutions"]), int(limit["UnreservedConcurrentExecutions"])
    ask = "ask for more in Service Quotas (Lambda, concurrent executions, L-B99A9384)"
    reserved = 2 * profile.reserve  # of `extract` and of `build`
    have = most if account.stack(f"{name}-ingestion") else free  # what is ours already is not free
    if reserved and have - reserved < _UNRESERVED:
        told = f"{have} concurrent executions; {reserved} reserved would leave fewer than the required {_UNRESERVED}"
        yield Finding("concurrency", "error", told, f"{ask}, or deploy with SET=reserve=0")
    elif most < _FEW_EXECUTIONS:
        told = f"{most} concurrent executions for the whole account"
        fewer = "" if profile.concurrency <= 3 else "; until then deploy with SET=concurrency=3, or one file takes all"
        yield Finding("concurrency", "warning", told, f"{ask}{fewer}")
    else:
        yield Finding("concurrency", "ok", f"{most} concurrent executions")


def _audit_log(account: Account, profile: Profile) -> Iterator[Finding]:
    """Look for the log that a cluster which is gone left under ours' fixed name: Neptune may write after it was deleted."""
    name = f"/aws/neptune/{profile.prefix}/audit"
    left = account.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    if left and not account.stack(profile.stack("graph")):
        remedy = f"aws logs delete-log-group --log-group-name {name} --region {account.region}"
        yield Finding("audit log", "error", f"{name} is left of a deployment that is gone, and cannot be made again", remedy)
    else:
        yield Finding("audit log", "ok", f"{name} is {'ours' if left else 'free'}")


def _vpcs(account: Account, profile: Profile) -> Iterator[Finding]:
    if not profile.vpc and not account.stack(profile.stack("network")):
        pages = account.client("ec2").get_paginator("describe_vpcs").paginate()
        used = sum(len(page["Vpcs"]) for page in pages)
        instead = "or delete one, or deploy into one that is there: SET=vpc=..."
        most = _most(account, *_VPCS)
        yield _against(account, "VPCs", "VPCs of the region", used, most, 1, _VPCS, instead)


def _gateways(account: Account, profile: Profile) -> Iterator[Finding]:
    if profile.endpoints == "own" and not account.stack(profile.stack("network")):
        kind = [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
        pages = account.client("ec2").get_paginator("describe_vpc_endpoints").paginate(Filters=kind)
        used = sum(len(page["VpcEndpoints"]) for page in pages)
        most = _most(account, *_GATEWAYS)
        yield _against(account, "gateways", "gateway endpoints of the region", used, most, 2, _GATEWAYS)


def _made(profile: Profile) -> list[str]:
    """Return the interface endpoints that a deployment makes."""
    if profile.endpoints == "own":
        return [*ENDPOINTS, *([RERANK_ENDPOINT] if profile.reranks else [])]
    return [] if profile.collections_endpoint else [ENDPOINTS[-1]]


def _network(account: Account, profile: Profile) -> Iterator[Finding]:
    """Look at a network that is there: CloudFormation would find out one thing at a time, and take all back each time."""
    ec2, wanted = account.client("ec2"), profile.subnets.split(",")
    there = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": wanted}])["Subnets"]
    subnets = {str(subnet["SubnetId"]): subnet for subnet in there if subnet["VpcId"] == profile.vpc}
    if strange := [name for name in wanted if name not in subnets]:
        told = f"{profile.vpc} has no {', '.join(strange)} in this account and region"
        yield Finding("network", "error", told, "look at SET=vpc=... subnets=... and REGION")
        return
    zones, made = [str(subnets[name]["AvailabilityZone"]) for name in wanted], _made(profile)
    findings = []
    if len(set(zones)) < ZONES or len(set(zones[: profile.endpoint_zones])) < profile.endpoint_zones:
        remedy = f"name {ZONES} or more in different zones, these first"
        findings.append(Finding("network", "error", f"the subnets are in {', '.join(zones)}", remedy))
    owner = str(subnets[wanted[0]].get("OwnerId", account.number))
    if made and owner != account.number:
        told = f"account {owner} shares {profile.vpc} with this one, and alone may make endpoints in it"
        remedy = "have them made there: SET=endpoints=existing collections_endpoint=vpce-..."
        findings.append(Finding("network", "error", told, remedy))
    for name in ("enableDnsSupport", "enableDnsHostnames"):
        found = ec2.describe_vpc_attribute(VpcId=profile.vpc, Attribute=name)
        if not found[f"E{name[1:]}"]["Value"]:
            remedy = f"aws ec2 modify-vpc-attribute --vpc-id {profile.vpc} --{_OPTIONS[name]} --region {account.region}"
            findings.append(Finding("network", "error", f"{profile.vpc} has {name} off, which endpoints need", remedy))
    of_service = {"Neptune Serverless": (zones, _instance_zones(account, profile.neptune_version))}
    offered = {
        found["ServiceName"].rpartition(".")[2]: set(found["AvailabilityZones"]) for found in _services(account, made)
    }
    of_service |= {name: (zones[: profile.endpoint_zones], offered.get(name, set())) for name in made}
    for name, (needed, has) in of_service.items():
        if lacking := [zone for zone in needed if zone not in has]:
            remedy = "name other subnets; the first ones are those of the endpoints"
            findings.append(Finding("network", "error", f"{', '.join(lacking)}: no {name} there", remedy))
    few = [f"{name} has {subnets[name]['AvailableIpAddressCount']}" for name in wanted if _is_small(subnets[name])]
    if few and not account.stack(profile.stack("network")):
        told = f"few free addresses: {', '.join(few)}"
        findings.append(
            Finding("network", "warning", told, f"some {_ADDRESSES} each let functions, Neptune and endpoints in")
        )
    yield from findings or [Finding("network", "ok", f"{profile.vpc}: {len(wanted)} subnets in {', '.join(zones)}")]


def _is_small(subnet: Mapping[str, Any]) -> bool:
    return int(subnet["AvailableIpAddressCount"]) < _ADDRESSES


def _endpoints(account: Account, profile: Profile) -> Iterator[Finding]:
    """Look at the endpoints of a network that is there: those to be used, and those in the way of what is to be made."""
    pages = account.client("ec2").get_paginator("describe_vpc_endpoints")
    asked = pages.paginate(Filters=[{"Name": "vpc-id", "Values": [profile.vpc]}])
    there = [(endpoint["ServiceName"].rpartition(".")[2], endpoint) for page in asked for endpoint in page["VpcEndpoints"]]
    needed = ["s3", "dynamodb", *ENDPOINTS, *([RERANK_ENDPOINT] if profile.reranks else [])]
    made = needed if profile.endpoints == "own" else _made(profile)
    used = [name for name in needed if name not in made]
    findings = []
    if missing := [name for name in used if name not in dict(there)]:
        remedy = "make them, unless subnets and names of the network lead there by another way"
        findings.append(Finding("endpoints", "warning", f"{profile.vpc} has none of {', '.join(missing)}", remedy))
    for name, endpoint in there:
        if name in used and not _lets_through(endpoint, account.number):
            id_ = endpoint["VpcEndpointId"]
            told = f"{id_} of {name} has a policy of its own, which may refuse what our functions ask"
            shown = f"aws ec2 describe-vpc-endpoints --vpc-endpoint-ids {id_} --region {account.region}"
            remedy = f"see that it allows the roles of the deployment what {name} is needed for: {shown}"
            findings.append(Finding("endpoints", "warning", told, remedy))
    tables = set(profile.route_tables.split(",")) - {""}
    taken = [
        f"{endpoint['VpcEndpointId']} of {name}"
        for name, endpoint in there
        if name in made and (endpoint.get("PrivateDnsEnabled") or tables.intersection(endpoint.get("RouteTableIds", ())))
    ]
    if taken and not account.stack(profile.stack("network")):  # else they are ours
        remedy = "use what is there: SET=endpoints=existing, for aoss-data also collections_endpoint=vpce-..."
        told = f"AWS refuses a second one beside {', '.join(taken)}"
        findings.append(Finding("endpoints", "error", told, remedy))
    yield from findings or [Finding("endpoints", "ok", f"{profile.vpc}: {', '.join(used) or 'none'} used as they are")]


def _lets_through(endpoint: Mapping[str, Any], account: str) -> bool:
    """Whether an endpoint certainly passes what our functions ask: by AWS's own policy, or by one as ours."""
    ours = ["aws:PrincipalAccount", *(["aws:ResourceAccount"] if endpoint.get("VpcEndpointType") == "Gateway" else [])]
    conditions: list[Any] = [None, *({"StringEquals": {key: account}} for key in ours)]
    statements = json.loads(endpoint.get("PolicyDocument") or '{"Statement": []}')["Statement"]
    return all(
        [statement.get(key) for key in ("Effect", "Action", "Resource")] == ["Allow", "*", "*"]
        and statement.get("Principal") in ("*", {"AWS": "*"})
        and statement.get("Condition") in conditions
        for statement in (statements if isinstance(statements, list) else [statements])
    )


def _databases(account: Account, profile: Profile) -> Iterator[Finding]:
    """Look at the quotas of clusters and instances; that Neptune counts against those of RDS is not said everywhere."""
    if account.stack(profile.stack("graph")):
        return
    told = {q["AccountQuotaName"]: q for q in account.client("rds").describe_account_attributes()["AccountQuotas"]}
    for name, needed, code in (("DBClusters", 1, "L-952B80B8"), ("DBInstances", 1 + profile.neptune_readers, "L-7B6409FD")):
        used, most = int(told[name]["Used"]), int(told[name]["Max"])
        yield _against(account, name, f"{name} of RDS and Neptune", used, most, needed, ("rds", code), level="warning")


def _units(account: Account, profile: Profile) -> Iterator[Finding]:
    """Compare what the account lets OpenSearch Serverless use with what the collection may."""
    limits = account.client("opensearchserverless").get_account_settings()["accountSettingsDetail"]["capacityLimits"]
    may = {name: int(limits[name]) for name in ("maxIndexingCapacityInOCU", "maxSearchCapacityInOCU")}
    most = min(may.values())
    told = f"OpenSearch Serverless: {most} units in the account, for indexing and for search each"
    if most >= profile.vector_units:
        yield Finding("quota units", "ok", told)
    else:
        wanted = ",".join(f"{name}={max(units, profile.vector_units)}" for name, units in may.items())
        remedy = f"aws opensearchserverless update-account-settings --capacity-limits {wanted} --region {account.region}"
        told += f"; the collection may use {profile.vector_units}, and would be slower with fewer under load"
        yield Finding("quota units", "warning", told, f"{remedy}; or deploy with fewer: SET=vector_units=...")


def _most(account: Account, service: str, code: str) -> int:
    return int(account.client("service-quotas").get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"]["Value"])


def _against(
    account: Account,
    name: str,
    what: str,
    used: int,
    most: int,
    needed: int,
    quota: tuple[str, str],
    instead: str = "",
    level: Level = "error",
) -> Finding:
    """Hold what a deployment needs against a quota, which is named by its service and its code."""
    told = f"{used} of {most} {what} are used"
    if used + needed <= most:
        return Finding(f"quota {name}", "ok", told)
    ask = (
        f"aws service-quotas request-service-quota-increase --service-code {quota[0]} --quota-code {quota[1]} "
        f"--desired-value {used + needed} --region {account.region}"
    )
    return Finding(
        f"quota {name}", level, f"{told}; a deployment makes {needed} more", "; ".join(filter(None, (ask, instead)))
    )


def _engine(account: Account, profile: Profile) -> Iterator[Finding]:
    pages = account.client("neptune").get_paginator("describe_db_engine_versions").paginate(Engine="neptune")
    offered = [str(found["EngineVersion"]) for page in pages for found in page["DBEngineVersions"]]
    wanted = profile.neptune_version
    if wanted not in offered:
        told = f"Neptune {wanted} is not available here; available: {', '.join(offered[-4:]) or 'none'}"
        yield Finding("engine", "error", told, "deploy into another region, or a release made for an engine on offer")
    else:
        yield Finding("engine", "ok", f"Neptune {wanted} is available")


def _zones(account: Account, profile: Profile) -> Iterator[Finding]:
    """Look in which zones all is that has to be: the cluster's instances and each interface endpoint."""
    ec2 = account.client("ec2")
    kind = [{"Name": "zone-type", "Values": ["availability-zone"]}, {"Name": "state", "Values": ["available"]}]
    zones = sorted(zone["ZoneName"] for zone in ec2.describe_availability_zones(Filters=kind)["AvailabilityZones"])
    wanted = profile.zones.split(",") if profile.zones else zones[:ZONES]
    of_service = {"Neptune Serverless": _instance_zones(account, profile.neptune_version)}
    names = [f"com.amazonaws.{account.region}.{name}" for name in _made(profile)]
    services = _services(account, _made(profile))
    for found in services:
        of_service[found["ServiceName"]] = set(found["AvailabilityZones"])
    if missing := [name for name in names if name not in of_service]:
        told = f"missing endpoint services: {', '.join(missing)}"
        yield Finding("zones", "error", told, "deploy into a region that has it: the VPC has no other way")
        return
    if free := [found["ServiceName"] for found in services if not found.get("VpcEndpointPolicySupported", True)]:
        told = f"{', '.join(free)} takes no policy here, without which it leads to other accounts, too"
        yield Finding("zones", "error", told, "deploy into another region, or with endpoints of your own: SET=vpc=...")
    everywhere = sorted(zone for zone in zones if all(zone in has for has in of_service.values()))
    lacking = {zone: [name for name, has in of_service.items() if zone not in has] for zone in wanted}
    told = "; ".join(f"{zone} lacks {', '.join(names)}" for zone, names in lacking.items() if names)
    if not told:
        yield Finding("zones", "ok", f"{' and '.join(wanted)} have all endpoint services")
    elif len(everywhere) < ZONES:
        yield Finding("zones", "error", told, "deploy into another region: here no two zones have all endpoint services")
    else:
        fixed = ",".join(everywhere[:ZONES])
        yield Finding("zones", "error", told, f"deploy with SET=zones={fixed}; a network that is there keeps its zones")


def _services(account: Account, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the region tells of the endpoint services with these names; those that it has not are left out."""
    values = [f"com.amazonaws.{account.region}.{name}" for name in names]
    filters = [{"Name": "service-name", "Values": values}]
    return list(account.client("ec2").describe_vpc_endpoint_services(Filters=filters)["ServiceDetails"]) if names else []


def _instance_zones(account: Account, version: str) -> set[str]:
    pages = account.client("neptune").get_paginator("describe_orderable_db_instance_options")
    asked = pages.paginate(Engine="neptune", EngineVersion=version, DBInstanceClass=_INSTANCE)
    options = [option for page in asked for option in page["OrderableDBInstanceOptions"]]
    return {zone["Name"] for option in options for zone in option["AvailabilityZones"]}


def _models(account: Account, profile: Profile) -> Iterator[Finding]:
    """Ask each model of Bedrock that the profile names for one token, or for one word's vector."""
    embedders = [profile.embedding_model, profile.next_embedding_model]
    for spec in dict.fromkeys(spec for spec in embedders if spec.startswith("bedrock:")):
        yield _model(f"model {spec.partition(':')[2]}", lambda spec=spec: _embed(account, spec))  # type: ignore[misc]
    kind, _, model = profile.llm.partition(":")
    if kind == "bedrock":
        yield _model(f"model {model}", lambda: _one_token(account, model))
    if profile.reranks:
        yield _model(f"model {profile.rerank_model}", lambda: _rank(account, profile.rerank_model))


def _model(name: str, ask: Callable[[], object]) -> Finding:
    try:
        ask()
    except LexigraphError as error:
        told = str(error)
        if "Throttling" in told:
            return Finding(name, "warning", told, "Bedrock's quota of this account is small: ask for more in Service Quotas")
        said = str(getattr(error.__cause__, "response", {}).get("Error", {}).get("Message", "")).lower()
        if "use case" in said:
            remedy = "send Anthropic's form of the use case: open the model once in the playground of the Bedrock console"
        else:
            remedy = (
                "open the model once in the playground of the Bedrock console of this region, as somebody who may subscribe "
                "in AWS Marketplace; or name another with SET=llm=... or SET=embedding_model=..."
            )
        return Finding(name, "error", told, remedy)
    return Finding(name, "ok", "answers")


def _client(account: Account, model: str) -> BedrockClient:
    retry = Retry(attempts=2, seconds=_MODEL_SECONDS)
    return BedrockClient(model, "SET", region=account.region, timeout=_MODEL_SECONDS, retry=retry)


def _one_token(account: Account, model: str) -> None:
    messages: Sequence[Mapping[str, Any]] = [{"role": "user", "content": [{"text": "Hello"}]}]
    asked = {"modelId": model, "messages": messages, "inferenceConfig": {"maxTokens": 1}}
    _client(account, model).ask("bedrock-runtime", "converse", asked)


def _embed(account: Account, spec: str) -> None:
    made = load_settings(
        embedding_model=spec, region=account.region, model_timeout=_MODEL_SECONDS, model_attempts=2, embedding_options={}
    )
    make_embedder(made).embed_questions(["harbour"])


def _rank(account: Account, model: str) -> None:
    BedrockReranker(model, _client(account, model)).score(["Hello"], ["Hello"])


def show(findings: Sequence[Finding]) -> None:
    """Print a table, and below it what to do."""
    table([(finding.level, finding.name, finding.evidence) for finding in findings])
    for finding in findings:
        if finding.remedy and finding.level != "ok":
            say(f"\n{finding.name}: {finding.evidence}\n  do: {finding.remedy}")


def as_json(findings: Sequence[Finding]) -> str:
    """Return the findings as JSON."""
    return json.dumps([asdict(finding) for finding in findings], indent=2)


def looked_at(asked: Given) -> list[Finding]:
    """Return all findings for what was given."""
    try:
        account = Account(asked.region)
    except Exception as error:  # noqa: BLE001  # botocore's: a profile or a file that cannot be used
        remedy = "aws configure list shows what AWS's tools read; look at AWS_PROFILE"
        return [Finding("credentials", "error", f"cannot be read: {type(error).__name__}", remedy)]
    return list(examine(account, asked.profile, CHANGEABLE if asked.reset else asked.context))


def main() -> int:
    """Return 1 when an error stands in the way."""
    asked = given("Looks whether an account is ready for a deployment.")
    findings = looked_at(asked)
    if asked.json:
        say(as_json(findings))
    else:
        show(findings)
    return int(any(finding.level == "error" for finding in findings))


if __name__ == "__main__":
    sys.exit(main())

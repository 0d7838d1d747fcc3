"""What roles may do: no more than docs/security.md says, and no more than their function does."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.registry_rights import rights
from tests.infra.conftest import ON_AWS, PROFILE_NAMES
from tests.infra.templates import Statement, Templates

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
OF = Callable[[str], Templates]
STEPS = ("parse", "chunk", "extract", "build", "finish", "remove")
READERS = ("query", "stream")
WRITE_WORDS = ("Write", "Delete", "Put", "Update", "Create", "Cancel", "Abort", "Start")


def leading(keys: Sequence[str]) -> str:
    """Return the condition on the partition keys of a table."""
    return json.dumps({"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(keys)}}, sort_keys=True)


@dataclass(frozen=True)
class Named:
    """A row of the table of wildcards in docs/security.md."""

    roles: frozenset[str]
    actions: frozenset[str]
    resource: str
    reason: str

    def covers(self, role: str, action: str, resource: str) -> bool:
        return role in self.roles and action in self.actions and resource == self.resource


def named_wildcards() -> list[Named]:
    """Read the table under the heading Wildcards."""
    section = (ROOT / "docs" / "security.md").read_text("utf-8").split("\n## Wildcards\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")]
    return [Named(_set(who), _set(actions), _code(resource)[0], reason) for resource, actions, who, reason in rows]


def _code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _set(cell: str) -> frozenset[str]:
    return frozenset(_code(cell))


def _general(text: str, profile: str) -> str:
    """Return a resource as the documentation writes it, for every profile and model."""
    text = re.sub(r"foundation-model/[\w.:-]+", "foundation-model/MODEL", text)
    return text.replace(f"lexigraph-{'dev' if profile == 'chosen' else profile}", "lexigraph-PROFILE")


@pytest.mark.parametrize("profile", [*PROFILE_NAMES, "chosen"])
def test_every_wildcard_is_one_that_the_security_page_names_with_a_reason(templates: OF, profile: str) -> None:
    rows = named_wildcards()
    assert all(len(row.reason) > 10 for row in rows)
    unnamed = {
        (s.role, action, _general(resource, profile))
        for s in templates(profile).statements
        for action, resource in s.wildcards
        if not any(row.covers(s.role, action, _general(resource, profile)) for row in rows)
    }
    assert not unnamed
    assert not any("*" in action for s in templates(profile).statements for action in s.actions)


def test_the_security_page_names_no_wildcard_that_nobody_has(templates: OF) -> None:
    used = {
        (s.role, action, _general(resource, name))
        for name in ("prod", "chosen")
        for s in templates(name).statements
        for action, resource in s.wildcards
    }
    named = {(role, action, row.resource) for row in named_wildcards() for role in row.roles for action in row.actions}
    assert not named - used


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_function_has_a_role_of_its_own_that_only_it_may_take(templates: OF, profile: str) -> None:
    found = templates(profile)
    roles = [properties["Role"] for properties in found.functions.values()]
    assert len(set(roles)) == len(roles) >= 10
    trusted = {f"<{r.stack}/{r.name}>": r.properties["AssumeRolePolicyDocument"]["Statement"] for r in found.of("IAM::Role")}
    for role in roles:
        assert [s["Principal"] for s in trusted[role]] == [{"Service": "lambda.amazonaws.com"}]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_managed_policies_are_given_to_nothing_that_we_run(templates: OF, profile: str) -> None:
    given = {r.name for r in templates(profile).of("IAM::Role") if r.properties.get("ManagedPolicyArns")}
    assert all(name.startswith(("ApiCloudWatchRole", "BucketNotificationsHandler")) for name in given)


@pytest.mark.parametrize("profile", ON_AWS)
@pytest.mark.parametrize("job", [*READERS, "authorize"])
def test_who_reads_can_write_nothing_but_what_was_shown(templates: OF, profile: str, job: str) -> None:
    found = templates(profile)
    writes = {
        action: s.conditions
        for s in found.statements
        if s.role == job
        for action in s.actions
        if action.split(":")[1].startswith(WRITE_WORDS) and not action.startswith(("logs:", "xray:Put", "ec2:"))
    }
    seen = leading(["t#*#session#*", "t#*#ordinals#*"])
    assert writes == ({} if job == "authorize" else {"dynamodb:PutItem": seen, "dynamodb:UpdateItem": seen})
    may = found.may(job)
    assert not [action for action in may if action.startswith(("states:", "sqs:", "lambda:"))]
    read = {action: at for action, at in may.items() if action.startswith("s3:")}
    texts = {"s3:GetObject": {"<data/Artefacts>/documents/*"}, "s3:ListBucket": {"<data/Artefacts>"}}
    assert read == (texts if job == "query" else {})
    for _, permissions in _vector_rights(found, job):
        assert permissions == ["aoss:DescribeIndex", "aoss:ReadDocument"]


@pytest.mark.parametrize("profile", ON_AWS)
def test_who_curates_has_the_graph_its_decisions_and_nothing_else(templates: OF, profile: str) -> None:
    found = templates(profile)
    of_registry = {
        s.conditions: set(s.actions) for s in found.statements if s.role == "curate" and "<data/Registry>" in s.resources
    }
    read, held = ["t#*#curation", "t#*#lease#collector"], ["t#*#meta", "system#late"]
    assert of_registry == {
        leading(read): {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"},
        leading([*read, *held]): {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchWriteItem"},
    }
    services = {action.split(":")[0] for action in found.may("curate")}
    assert services == {"logs", "xray", "ec2", "dynamodb", "kms", "neptune-db", "aoss"}
    graph = {action for action in found.may("curate") if action.startswith("neptune-db:")}
    assert graph == {f"neptune-db:{kind}DataViaQuery" for kind in ("Read", "Write", "Delete")}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_the_authorizer_reads_api_keys_and_nothing_else(templates: OF, profile: str) -> None:
    registry = [s for s in templates(profile).statements if s.role == "authorize" and "dynamodb:GetItem" in s.actions]
    assert [s.conditions for s in registry] == [leading(["system#key#*"])]
    services = {action.split(":")[0] for action in templates(profile).may("authorize")}
    assert services <= {"logs", "xray", "dynamodb", "kms"}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_of_the_registry_every_function_has_the_items_that_it_works_with_and_none_has_keys_to_write(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    given: dict[str, set[tuple[str, str]]] = {}
    for s in found.statements:
        if "<data/Registry>" in s.resources and s.role in found.functions:
            given.setdefault(s.role, set()).update((action, s.conditions) for action in s.actions)
    wanted = {
        job: {(f"dynamodb:{action}", leading(right.keys)) for right in rights(job) for action in right.actions}
        for job in found.functions
    }
    assert given == wanted
    assert not [s for s in found.statements if "system#key#iam" in s.conditions], "only where callers sign"
    changed = {key for job in found.functions for right in rights(job)[1:] for key in right.keys}
    assert not [key for key in changed if key.startswith("system#key") or key in ("*", "t#*", "t#*#*", "t#*#keys")]


@pytest.mark.parametrize("profile", ON_AWS)
@pytest.mark.parametrize("job", ["manage", "follow", "start", "parse", "chunk", "extract", "authorize"])
def test_only_functions_in_the_network_have_rights_on_graph_and_vectors(templates: OF, profile: str, job: str) -> None:
    found = templates(profile)
    assert not [action for action in found.may(job) if action.startswith(("neptune-db:", "aoss:"))]
    assert not list(_vector_rights(found, job))
    groups = found.functions[job].get("VpcConfig", {}).get("SecurityGroupIds", [])
    assert groups == (["<network/Files.GroupId>"] if job in ("parse", "chunk") else [])


@pytest.mark.parametrize("profile", ON_AWS)
@pytest.mark.parametrize("job", ["build", "finish", "remove", "curate", *READERS])
def test_who_reaches_the_stores_runs_in_the_network(templates: OF, profile: str, job: str) -> None:
    found = templates(profile)
    assert found.functions[job]["VpcConfig"]["SecurityGroupIds"] == ["<network/Functions.GroupId>"]
    may = found.may(job)
    assert "neptune-db:ReadDataViaQuery" in may
    assert "aoss:APIAccessAll" in may
    assert ("neptune-db:WriteDataViaQuery" in may) is (job not in READERS)
    given = {place[0].partition("/")[0]: set(permissions) for place, permissions in _vector_rights(found, job)}
    assert "aoss:ReadDocument" in given["index"]
    # a collection of the next generation makes no index for who may not make what lies in it
    assert given.get("collection", set()) == (
        set() if job in READERS else {"aoss:CreateCollectionItems", "aoss:DescribeCollectionItems"}
    )


@pytest.mark.parametrize("profile", ON_AWS)
def test_what_lambda_may_do_to_interfaces_of_the_network_the_code_of_its_functions_may_not(
    templates: OF, profile: str
) -> None:
    found = templates(profile)

    def of_interfaces(statements: list[Statement]) -> set[tuple[str, str]]:
        return {(s.role, action) for s in statements for action in s.actions if action.startswith("ec2:")}

    inside = {job for job, properties in found.functions.items() if "VpcConfig" in properties}
    assert {role for role, _ in of_interfaces(found.statements)} == inside
    assert of_interfaces(found.denials) == of_interfaces(found.statements)
    assert {s.conditions for s in found.denials} == {'{"Null": {"lambda:SourceFunctionArn": "false"}}'}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_files_are_read_where_they_are_parsed_and_written_only_by_who_takes_them_from_clients(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    jobs = found.functions

    def who(action: str, resource: str) -> set[str]:
        return {job for job in jobs if resource in found.may(job).get(action, ())}

    clients = {"manage", "follow"} & set(jobs)
    assert who("s3:PutObject", "<data/Documents>/*") == who("s3:DeleteObject", "<data/Documents>/*") == clients
    assert who("s3:GetObjectVersion", "<data/Documents>/*") == {"parse", "start", *clients}
    assert who("s3:PutObject", "<data/Artefacts>/*") == who("s3:GetObject", "<data/Artefacts>/*") == set(STEPS)
    assert who("states:StartExecution", "<ingestion/Workflow>") == {"start", *clients}
    assert not [job for job in jobs if "s3:DeleteObjectVersion" in found.may(job)]


@pytest.mark.parametrize("profile", ON_AWS)
def test_models_are_asked_only_by_who_needs_them_and_no_others_than_those_of_the_profile(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    asks = {job for job in found.functions if "bedrock:InvokeModel" in found.may(job)}
    assert asks == {"extract", "build", *READERS}
    assert not [job for job in found.functions if "bedrock:Rerank" in found.may(job)]
    for job in asks:
        environment = found.functions[job]["Environment"]["Variables"]
        wanted = {environment[name].partition(":")[2] for name in ("LEXIGRAPH_LLM", "LEXIGRAPH_EMBEDDING_MODEL")}
        allowed = {resource.rpartition("/")[2] for resource in found.may(job)["bedrock:InvokeModel"]}
        # a profile of several regions asks its model in any of them
        regional = {model.partition(".")[2] for model in wanted if model.startswith("global.")}
        assert allowed == wanted | regional


@pytest.mark.parametrize("profile", ON_AWS)
def test_who_uses_the_registry_may_do_with_its_key_what_dynamodb_asks_for_and_by_way_of_it_alone(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    by_service: dict[str, dict[str, set[str]]] = {}
    for s in found.statements:
        if "<data/Key>" in s.resources and s.conditions != "{}":
            (service,) = json.loads(s.conditions)["StringEquals"].values()
            by_service.setdefault(s.role, {}).setdefault(service, set()).update(s.actions)
    assert by_service["Loader"] == {"s3.REGION.amazonaws.com": {"kms:Decrypt"}}
    for job in (*found.functions, "BulkPolicy"):
        assert by_service[job]["dynamodb.REGION.amazonaws.com"] == {
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:Encrypt",
            "kms:GenerateDataKey",
            "kms:GenerateDataKeyWithoutPlaintext",
            "kms:ReEncryptFrom",
            "kms:ReEncryptTo",
        }, job
    files = {role for role, services in by_service.items() if "s3.REGION.amazonaws.com" in services}
    assert files == {"manage", "follow", "start", *STEPS, "query", "WorkflowRole", "BulkRole", "BulkPolicy", "Loader"}
    # what CDK gives who reads a queue, and nobody else
    plain = {s.role for s in found.statements if "<data/Key>" in s.resources and s.conditions == "{}"}
    assert plain == {"start"}


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_workflow_may_call_its_own_functions_and_no_other(templates: OF, profile: str) -> None:
    may = templates(profile).may("WorkflowRole")
    assert may["lambda:InvokeFunction"] == {f"<ingestion/{job.title()}>" for job in STEPS}
    assert may["states:StartExecution"] == {f"arn:aws:states:REGION:ACCOUNT:stateMachine:lexigraph-{profile}"}


@pytest.mark.parametrize("profile", ON_AWS)
def test_batches_are_read_and_written_by_bedrock_at_their_place_for_jobs_of_this_account_alone(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    may = found.may("BulkRole")
    (trusted,) = found.one("IAM::Role", "BulkRole").properties["AssumeRolePolicyDocument"]["Statement"]
    jobs = "arn:aws:bedrock:REGION:ACCOUNT:model-invocation-job/*"
    assert trusted["Principal"] == {"Service": "bedrock.amazonaws.com"}
    assert trusted["Condition"]["StringEquals"] == {"aws:SourceAccount": "ACCOUNT"}
    assert trusted["Condition"]["ArnLike"] == {"aws:SourceArn": jobs}
    objects = {action: at for action, at in may.items() if action.startswith("s3:") and action != "s3:ListBucket"}
    assert {where for at in objects.values() for where in at} == {"<data/Artefacts>/bulk/*"}
    assert may["bedrock:InvokeModel"] == found.may("extract")["bedrock:InvokeModel"] - {_embedding(found)}
    assert {action.split(":")[0] for action in may} == {"s3", "bedrock", "kms"}
    (rule,) = (
        rule
        for rule in found.one("S3::Bucket", "Artefacts").properties["LifecycleConfiguration"]["Rules"]
        if rule.get("Prefix") == "bulk/"
    )
    assert rule["ExpirationInDays"] == 14


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_loader_of_the_cluster_reads_what_bulk_loads_put_there_and_nothing_else(templates: OF, profile: str) -> None:
    found = templates(profile)
    (trusted,) = found.one("IAM::Role", "Loader").properties["AssumeRolePolicyDocument"]["Statement"]
    assert trusted["Principal"] == {"Service": "rds.amazonaws.com"}
    cluster = found.one("Neptune::DBCluster", "Cluster").properties
    assert cluster["AssociatedRoles"] == [{"RoleArn": "<graph/Loader>"}]
    may = found.may("Loader")
    assert may == {
        "s3:ListBucket": {"<data/Artefacts>"},
        "s3:GetObject": {"<data/Artefacts>/bulk/*"},
        "kms:Decrypt": {"<data/Key>"},
    }
    conditions = {s.actions: json.loads(s.conditions) for s in found.statements if s.role == "Loader"}
    assert conditions["s3:ListBucket",] == {"StringLike": {"s3:prefix": "bulk/*"}}
    assert conditions["kms:Decrypt",] == {"StringEquals": {"kms:ViaService": "s3.REGION.amazonaws.com"}}
    starts = {s.role for s in found.statements if "neptune-db:StartLoaderJob" in s.actions}
    assert starts == {"build"}


@pytest.mark.parametrize("profile", ON_AWS)
def test_who_is_given_the_policy_for_batches_may_hand_bedrock_that_role_and_no_other_and_fill_the_cache(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    policy = found.one("IAM::ManagedPolicy", "BulkPolicy").properties
    assert not policy.keys() & {"Roles", "Users", "Groups"}
    (passes,) = (s for s in found.statements if "iam:PassRole" in s.actions)
    assert (passes.role, passes.resources) == ("BulkPolicy", ("<ingestion/BulkRole>",))
    assert json.loads(passes.conditions) == {"StringEquals": {"iam:PassedToService": "bedrock.amazonaws.com"}}
    of_cache = {s.conditions for s in found.statements if s.role == "BulkPolicy" and "<data/Registry>" in s.resources}
    results = ["t#*#entry#*", "t#*#entries#*", "t#*#waiting#*"]
    known = ["t#*#entry#*", "t#*#doc#*", "t#*#uris-of#*", "t#*#curation"]
    assert of_cache == {leading(results), leading(known)}
    (reads,) = (s for s in found.statements if s.role == "BulkPolicy" and s.conditions == leading(known))
    assert set(reads.actions) == {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
    may = found.may("BulkPolicy")
    assert may["s3:PutObject"] == may["s3:GetObject"] == {"<data/Artefacts>/bulk/*"}
    assert not [action for action in may if action.startswith(("states:", "lambda:", "neptune-db:", "aoss:"))]


@pytest.mark.parametrize("profile", ON_AWS)
def test_build_may_ask_the_models_that_extract_may_and_no_other_while_none_is_to_come(templates: OF, profile: str) -> None:
    build, extract = (templates(profile).may(job)["bedrock:InvokeModel"] for job in ("build", "extract"))
    assert build == extract >= {_embedding(templates(profile))}


def _embedding(found: Templates) -> str:
    model = found.functions["build"]["Environment"]["Variables"]["LEXIGRAPH_EMBEDDING_MODEL"].partition(":")[2]
    return f"arn:aws:bedrock:REGION::foundation-model/{model}"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_policy_of_a_resource_lets_anybody_in(templates: OF, profile: str) -> None:
    found = templates(profile)
    allowed = [(r, s) for r, s in _resource_statements(found) if s["Effect"] == "Allow"]
    assert allowed
    root = "arn:aws:iam::ACCOUNT:root"
    for _, statement in allowed:
        who = statement["Principal"]
        assert who.keys() == {"Service"} or who == {"AWS": root}, who


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_services_reach_queues_topics_and_buckets_for_this_account_alone(templates: OF, profile: str) -> None:
    """A service acts for every account: without a condition a stranger's rule could tell of changes that never were."""
    services = [(name, s) for name, s in _resource_statements(templates(profile)) if "Service" in s["Principal"]]
    assert {name for name, _ in services} >= {"ChangesPolicy"}
    for name, statement in services:
        said = {key: value for test in statement.get("Condition", {}).values() for key, value in test.items()}
        ours = said.get("aws:SourceAccount") == "ACCOUNT" or str(said.get("aws:SourceArn", "")).startswith("<")
        assert ours, (name, statement)


@pytest.mark.parametrize("profile", ON_AWS)
def test_functions_are_called_by_services_for_resources_of_ours_only(templates: OF, profile: str) -> None:
    permissions = templates(profile).of("Lambda::Permission")
    assert permissions
    for r in permissions:
        assert r.properties["Principal"].endswith(".amazonaws.com")
        assert r.properties["SourceArn"] or r.properties["SourceAccount"]


def _resource_statements(found: Templates) -> Iterator[tuple[str, dict[str, Any]]]:
    documents = {"AWS::KMS::Key": "KeyPolicy"}
    for r in found.resources:
        if r.kind in ("AWS::KMS::Key", "AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy"):
            for statement in r.properties[documents.get(r.kind, "PolicyDocument")]["Statement"]:
                yield r.name, statement


def _vector_rights(found: Templates, job: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the indexes and the permissions that the data policies give a function."""
    for r in found.of("OpenSearchServerless::AccessPolicy"):
        for policy in json.loads(r.properties["Policy"]):
            if found.functions[job]["Role"] in policy["Principal"]:
                for rule in policy["Rules"]:
                    yield rule["Resource"], rule["Permission"]


# Lambda and API Gateway take a role for what names it in its own account; of Neptune's no guide knows a condition
_OF_ITS_ACCOUNT = {"lambda.amazonaws.com", "apigateway.amazonaws.com", "rds.amazonaws.com"}


@pytest.mark.parametrize("profile", ON_AWS)
def test_no_service_takes_a_role_in_the_name_of_another_account(templates: OF, profile: str) -> None:
    seen = set()
    for role in templates(profile).of("IAM::Role"):
        for statement in role.properties["AssumeRolePolicyDocument"]["Statement"]:
            service = statement["Principal"]["Service"]
            seen.add(service)
            account = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
            assert account == "ACCOUNT" or service in _OF_ITS_ACCOUNT, role.name
    assert seen > _OF_ITS_ACCOUNT

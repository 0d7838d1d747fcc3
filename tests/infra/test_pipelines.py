"""The examples of pipelines: they can be read, call targets that there are, and let nobody in but whom they say."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore import xform_name  # type: ignore[import-untyped]  # has no types
from botocore.session import Session  # type: ignore[import-untyped]  # has no types

from infra.settings import PROFILES

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "examples" / "pipelines"
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


# the prefixes of actions by the names of clients, and actions that are called otherwise than their operations
_SERVICES = {
    "cloudformation": "cloudformation",
    "ec2": "ec2",
    "lambda": "lambda",
    "logs": "logs",
    "neptune": "rds",
    "rds": "rds",
    "service-quotas": "servicequotas",
    "opensearchserverless": "aoss",
    "s3": "s3",
    "ssm": "ssm",
    "stepfunctions": "states",
    "sts": "sts",
}
_ACTIONS = {
    "GetAccountSettings": "lambda:GetAccountSettings",  # OpenSearch Serverless has one of this name, too
    "DescribeAccountAttributes": "rds:DescribeAccountAttributes",  # so has EC2
    "Invoke": "lambda:InvokeFunction",
    "ListObjectsV2": "s3:ListBucket",
    "ListObjectVersions": "s3:ListBucketVersions",
    "DeleteObjects": "s3:DeleteObjectVersion",  # with their versions
}


class _Template(yaml.SafeLoader):
    """Reads CloudFormation's short forms as what stands behind them."""


def _short(loader: _Template, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else loader.construct_mapping(node)  # type: ignore[arg-type]


_Template.add_multi_constructor("!", _short)


def read(name: str) -> dict[Any, Any]:
    """Return an example as YAML."""
    found: dict[Any, Any] = yaml.load((PIPELINES / name).read_text("utf-8"), _Template)  # a safe loader
    return found


def commands() -> dict[str, list[str]]:
    """Return what each pipeline runs, in its order, by job."""
    jobs = read("github-actions.yml")["jobs"]
    ran = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    return {**ran, "codebuild": read("buildspec.yml")["phases"]["build"]["commands"]}


@pytest.mark.parametrize("job", ["dev", "prod", "codebuild"])
def test_what_is_deployed_is_checked_before_and_tried_afterwards(job: str) -> None:
    targets = [command.split()[1] for command in commands()[job]]
    assert targets == ["synth", "deploy", "smoke"]
    for command in commands()[job][1:]:
        assert {word.split("=")[0] for word in command.split()[2:]} == {"PROFILE", "REGION", "SET", "YES"}


@pytest.mark.skipif("deploy" not in TARGETS, reason="the Makefile cannot deploy yet")
def test_every_target_that_a_pipeline_names_is_in_the_makefile() -> None:
    assert {command.split()[1] for job in commands().values() for command in job} <= TARGETS


def test_prod_follows_dev_and_only_when_somebody_has_approved() -> None:
    workflow = read("github-actions.yml")
    assert workflow["jobs"].keys() <= PROFILES.keys()
    assert workflow["jobs"]["prod"]["needs"] == "dev"
    assert [job["environment"] for job in workflow["jobs"].values()] == ["dev", "prod"]
    assert workflow["concurrency"]["cancel-in-progress"] is False
    assert workflow["permissions"] == {"contents": "read", "id-token": "write"}
    stages = [stage["Name"] for stage in read("codepipeline.yml")["Resources"]["Pipeline"]["Properties"]["Stages"]]
    assert stages == ["Source", "Dev", "Approve", "Prod"]


def test_nothing_of_what_a_pipeline_is_told_is_put_into_a_shell_by_its_text() -> None:
    for job, ran in commands().items():
        assert not [command for command in ran if "${{" in command], job


def test_the_role_is_for_one_environment_of_one_repository() -> None:
    role = read("role.yml")["Resources"]["Role"]["Properties"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    told = statement["Condition"]["StringEquals"]
    assert told["token.actions.githubusercontent.com:sub"] == "repo:${Repository}:environment:${Environment}"
    assert told["token.actions.githubusercontent.com:aud"] == "sts.amazonaws.com"


def test_who_deploys_has_what_it_needs_and_no_service_whole() -> None:
    statements = read("role.yml")["Resources"]["Deployer"]["Properties"]["PolicyDocument"]["Statement"]
    everywhere = [s["Sid"] for s in statements if s["Resource"] == "*"]
    assert everywhere == ["LookWhetherTheAccountIsReady", "RankByAModelWhereOneIsChosen"]
    for s in statements:
        actions = [s["Action"]] if isinstance(s["Action"], str) else s["Action"]
        assert not [a for a in actions if a.endswith(":*") or a.startswith("iam:")], s["Sid"]
        if s["Resource"] == "*":
            assert actions == ["bedrock:Rerank"] or all(re.match(r"\w+:(Get|Describe|List|BatchGet)", a) for a in actions)
    (items,) = [s for s in statements if s["Sid"].startswith("MakeAndRevoke")]
    keys = items["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert not [key for key in keys if key.startswith("t#") and not key.startswith("t#lexigraph-smoke#")]


def _asked(*modules: str) -> set[str]:
    """Return the actions of what modules of infra/live ask clients of boto3 for, by their text."""
    text = "\n".join((ROOT / "infra" / "live" / f"{name}.py").read_text("utf-8") for name in modules)
    names = {*re.findall(r"\.(\w+)\(", text), *re.findall(r"get_paginator\(\"(\w+)\"\)", text)}
    found = set()
    for service in _SERVICES:
        model = Session().get_service_model(service)
        operations = {xform_name(name): name for name in model.operation_names}
        found |= {_ACTIONS.get(operations[n], f"{_SERVICES[service]}:{operations[n]}") for n in names & operations.keys()}
    return found - {"sts:GetCallerIdentity"}  # which takes no right


def _allowed(policy: str) -> set[str]:
    statements = read("role.yml")["Resources"][policy]["Properties"]["PolicyDocument"]["Statement"]
    return {a for s in statements for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])}


def test_services_that_are_asked_are_those_that_are_looked_at_here() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "infra" / "live").glob("*.py")]
    assert set(re.findall(r"\bclient\(\"([\w-]+)\"\)", "\n".join(sources))) == _SERVICES.keys()


def test_who_deploys_may_all_that_preflight_and_smoke_ask_for() -> None:
    asked = _asked("account", "preflight", "deploy", "smoke", "drive", "probing")
    assert {"lambda:InvokeFunction", "rds:DescribeDBClusters", "s3:PutObject", "ssm:GetParameter"} <= asked
    assert asked <= _allowed("Deployer")
    others = {"bedrock:InvokeModel", "bedrock:Rerank", "sts:AssumeRole", "aoss:GetAccountSettings"}
    assert others <= _allowed("Deployer"), "asked by other means, or by a name that another service has, too"


@pytest.mark.slow
def test_who_takes_a_deployment_down_may_do_what_that_takes_and_no_pipeline_has_it() -> None:
    asked = _asked("account", "destroy") | {"rds:DescribeDBClusters"}  # cluster_state() of preflight
    assert {"cloudformation:UpdateTerminationProtection", "cloudformation:DeleteStack"} <= asked
    assert asked == _allowed("Destroyer")
    assert read("role.yml")["Resources"]["Role"]["Properties"]["ManagedPolicyArns"] == ["Deployer"]
    assert not _allowed("Deployer") & {"cloudformation:DeleteStack", "s3:DeleteObjectVersion"}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["role.yml", "codepipeline.yml"])
def test_templates_of_pipelines_are_clean_by_the_rules_of_cfn_lint(name: str) -> None:
    program = Path(sys.executable).with_name("cfn-lint")
    if not program.exists():
        pytest.skip("needs cfn-lint: make synth installs it")
    done = subprocess.run([program, PIPELINES / name], capture_output=True, text=True, check=False, cwd=ROOT, timeout=240)
    assert done.stdout + done.stderr == ""


@pytest.mark.slow
def test_the_workflow_is_clean_by_the_rules_of_actionlint() -> None:
    if (program := shutil.which("actionlint")) is None:
        pytest.skip("needs actionlint (1.7.8 or newer) on the path")
    done = subprocess.run(
        [program, PIPELINES / "github-actions.yml"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout + done.stderr == ""

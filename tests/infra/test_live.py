"""``make smoke`` and ``make destroy`` over an account on loopback: what they ask for, what they say, and how they end."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.live import destroy, probing, smoke
from infra.live.account import STACKS, Account
from infra.live.destroy import Destruction
from infra.live.given import Given, given
from infra.live.told import Failed
from infra.synth import ROOT
from tests.standins.account import AccountServer, Refusal
from tests.standins.aws_server import ENVIRONMENT, AwsServer

REGION, NAME = "us-west-2", "lexigraph-dev"
FUNCTIONS = {"Build": False, "Extract": False, "Remove": False, "Query": True}  # and whether it has an alias


class Stacks:
    """CloudFormation with the stacks of a deployment, protected where it is prod; those in ``held`` cannot be deleted."""

    def __init__(
        self, deployment: str = NAME, *, held: str = "", kept: str = "", buckets: Mapping[str, str] | None = None
    ) -> None:
        self.status = {f"{deployment}-{name}": "UPDATE_COMPLETE" for name in STACKS}
        self.gone: list[str] = []
        self.protected = set(self.status) if "-prod" in deployment else set()
        self._held, self._kept, self._buckets = held, kept, buckets or {}

    def describe(self, asked: dict[str, Any]) -> Any:
        name = asked["StackName"].removeprefix("arn:")
        if name not in self.status:
            return Refusal("ValidationError", "does not exist")
        outputs = [{"OutputKey": "ClusterId", "OutputValue": "c-1"}] if name.endswith("-graph") else []
        told = {"StackName": name, "StackId": f"arn:{name}", "StackStatus": self.status[name], "Outputs": outputs}
        protection = {"EnableTerminationProtection": name in self.protected}
        return {"Stacks": [{**told, **protection, "CreationTime": "2026-11-01T00:00:00Z"}]}

    def protect(self, asked: dict[str, Any]) -> Any:
        name = asked["StackName"].removeprefix("arn:")
        (self.protected.add if asked["EnableTerminationProtection"] == "true" else self.protected.discard)(name)
        return {"StackId": f"arn:{name}"}

    def delete(self, asked: dict[str, Any]) -> Any:
        name = asked["StackName"].removeprefix("arn:")
        if name in self.protected:
            return Refusal("ValidationError", f"Stack [{name}] cannot be deleted while TerminationProtection is enabled")
        self.gone.append(name.rpartition("-")[2])
        self.status[name] = "DELETE_FAILED" if name.endswith(f"-{self._held}") else "DELETE_COMPLETE"
        return {}

    def resources(self, asked: dict[str, Any]) -> Any:
        name = asked["StackName"].removeprefix("arn:")
        part, over = name.rpartition("-")[2], self.status[name]
        found = []
        if part == "data":
            kept = "DELETE_SKIPPED" if self._kept and over == "DELETE_COMPLETE" else over
            found = [_resource("S3::Bucket", n, kept, name) for n, name in self._buckets.items()]
        if part == "graph":
            found = [_resource("Neptune::DBCluster", "Cluster1", over)]
        if part in ("api", "ingestion"):
            for function, aliased in FUNCTIONS.items():
                if aliased == (part == "api"):
                    found.append(_resource("Lambda::Function", f"{function}0A1B2C3D", over))
                    found += [_resource("Lambda::Alias", f"{function}Live0A1B2C3D", over)] if aliased else []
        return {"StackResourceSummaries": found}


def _resource(kind: str, logical: str, status: str, physical: str = "") -> dict[str, Any]:
    named = physical or f"p-{logical.lower()}"
    told = {"ResourceType": f"AWS::{kind}", "LogicalResourceId": logical, "PhysicalResourceId": named}
    return {**told, "ResourceStatus": status, "LastUpdatedTimestamp": "2026-11-01T00:00:00Z"}


class Cluster:
    """A cluster that, started, is available at the third look."""

    def __init__(self, state: str) -> None:
        self.states = [state]

    def describe(self, _: dict[str, Any]) -> Any:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"DBClusters": [{"DBClusterIdentifier": "c-1", "Status": state}]}

    def start(self, _: dict[str, Any]) -> Any:
        self.states = ["starting", "starting", "available"]
        return {"DBCluster": {"DBClusterIdentifier": "c-1"}}


class Buckets:
    """The buckets of a deployment in moto, each with two versions of an object that is hidden."""

    def __init__(self, aws: AwsServer) -> None:
        self.s3 = aws.client("s3")
        self.names = {n: f"p-{n.lower()}-{aws.port}" for n in ("AccessLogs1", "Documents2", "Artefacts3")}
        for name in self.names.values():
            aws.s3(name)
            self.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
            for text in (b"old", b"new"):
                self.s3.put_object(Bucket=name, Key="harbour.md", Body=text)
            self.s3.delete_object(Bucket=name, Key="harbour.md")

    @property
    def left(self) -> dict[str, int]:
        """How many versions each has, those that hide others counted."""
        found = {n: self.s3.list_object_versions(Bucket=name) for n, name in self.names.items()}
        return {n: len(page.get("Versions", ())) + len(page.get("DeleteMarkers", ())) for n, page in found.items()}


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buckets]:
    with AwsServer() as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", aws.url)
        yield Buckets(aws)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[AccountServer]:
    with AccountServer({"sts GetCallerIdentity": {"Account": "123456789012", "Arn": "arn:aws:iam::1:user/me"}}) as made:
        for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "PROFILE", "SET", "YES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": made.url, "REGION": REGION}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        yield made


def deployed(server: AccountServer, stacks: Stacks, state: str = "available") -> None:
    cluster = Cluster(state)
    server.answers |= {
        "cloudformation DescribeStacks": stacks.describe,
        "cloudformation DeleteStack": stacks.delete,
        "cloudformation UpdateTerminationProtection": stacks.protect,
        "cloudformation ListStackResources": stacks.resources,
        "neptune DescribeDBClusters": cluster.describe,
        "neptune StartDBCluster": cluster.start,
    }


def destruction(*arguments: str) -> Destruction:
    return Destruction(Account(REGION), given("", list(arguments)), look_seconds=0.01)


def test_destroy_empties_buckets_only_when_nobody_takes_their_changes_for_documents(
    server: AccountServer, buckets: Buckets
) -> None:
    stacks = Stacks(buckets=buckets.names)
    deployed(server, stacks)
    made, emptied = destruction(), list[tuple[str, list[str]]]()

    def note(params: dict[str, Any], **_: Any) -> None:
        emptied.append((params["context"]["input_params"]["Bucket"], [*stacks.gone]))

    made._account.client("s3").meta.events.register("before-call.s3.DeleteObjects", note)
    made.run()
    assert buckets.left == {"AccessLogs1": 0, "Documents2": 0, "Artefacts3": 0}
    assert [gone for _, gone in emptied] == [["observability", "api", "ingestion"]] * 3
    assert emptied[-1][0] == buckets.names["AccessLogs1"], "what notes accesses to others goes last"
    assert stacks.gone == [*reversed(STACKS)]


class Late(Stacks):
    """Stacks of which the last is not deleted while a bucket has something; S3 notes accesses while others are."""

    def __init__(self, buckets: Buckets, notes: int) -> None:
        super().__init__(buckets=buckets.names)
        self._all, self._left = buckets, notes

    def delete(self, asked: dict[str, Any]) -> Any:
        name = asked["StackName"].removeprefix("arn:")
        if name.endswith(("-network", "-data")) and self._left:
            self._left -= 1
            self._all.s3.put_object(Bucket=self._all.names["AccessLogs1"], Key=f"documents/{self._left}", Body=b"GET")
        super().delete(asked)
        if name.endswith("-data") and any(self._all.left.values()):
            self.status[name] = "DELETE_FAILED"
        return {}

    def resources(self, asked: dict[str, Any]) -> Any:
        found = super().resources(asked)
        for resource in found["StackResourceSummaries"]:
            if resource["ResourceStatus"] == "DELETE_FAILED":
                resource["ResourceStatusReason"] = "The bucket you tried to delete is not empty (Status Code: 409)"
        return found


def test_destroy_empties_the_bucket_of_accesses_that_are_noted_late(server: AccountServer, buckets: Buckets) -> None:
    logs, noted = buckets.names["AccessLogs1"], buckets.names["Documents2"]
    grants = {"Grantee": {"Type": "Group", "URI": "http://acs.amazonaws.com/groups/s3/LogDelivery"}, "Permission": "WRITE"}
    owner = buckets.s3.get_bucket_acl(Bucket=logs)["Owner"]
    reads = {**grants, "Permission": "READ_ACP"}
    buckets.s3.put_bucket_acl(Bucket=logs, AccessControlPolicy={"Owner": owner, "Grants": [grants, reads]})
    told = {"LoggingEnabled": {"TargetBucket": logs, "TargetPrefix": "documents/"}}
    buckets.s3.put_bucket_logging(Bucket=noted, BucketLoggingStatus=told)
    stacks = Late(buckets, notes=3)  # one while the network goes, and two when the buckets are about to
    deployed(server, stacks)
    destruction().run()
    assert "LoggingEnabled" not in buckets.s3.get_bucket_logging(Bucket=noted)
    assert buckets.left == {"AccessLogs1": 0, "Documents2": 0, "Artefacts3": 0}
    assert stacks.gone == [*reversed(STACKS), "data", "data"]


def test_destroy_that_cannot_empty_a_bucket_gives_up_and_says_so(server: AccountServer, buckets: Buckets) -> None:
    deployed(server, Late(buckets, notes=99))
    with pytest.raises(Failed, match="data cannot be deleted; it is held by AWS::S3::Bucket"):
        destruction().run()


def test_destroy_of_what_keeps_its_data_empties_nothing_and_tells_what_is_left(
    server: AccountServer, buckets: Buckets, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed(server, Stacks("lexigraph-prod", kept="data", buckets=buckets.names))
    made = destruction("--profile", "prod")
    made.run()
    made.tell_left()
    assert buckets.left == {"AccessLogs1": 3, "Documents2": 3, "Artefacts3": 3}
    said = capsys.readouterr().out
    assert f"left: S3::Bucket {buckets.names['Documents2']}: $0.023 a GB a month" in said
    assert "bootstrap stack" in said


def test_destroy_that_asks_nobody_takes_nothing_down_that_is_protected(server: AccountServer) -> None:
    stacks = Stacks("lexigraph-prod")
    deployed(server, stacks)
    with pytest.raises(Failed, match="termination protection: run make destroy without YES=1"):
        destruction("--profile", "prod", "--yes").run()
    assert not stacks.gone and stacks.protected


def test_destroy_starts_a_cluster_that_is_stopped_and_says_so(
    server: AccountServer, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed(server, Stacks(), "stopped")
    destruction().run()
    assert "c-1 is stopped and cannot be deleted: starting it" in capsys.readouterr().out
    assert [what for what, _ in server.asked].count("neptune StartDBCluster") == 1


def test_a_stack_that_does_not_go_is_told_with_what_holds_it(server: AccountServer) -> None:
    stacks = Stacks(held="graph")
    deployed(server, stacks)
    why = r"lexigraph-dev-graph cannot be deleted; .*DBCluster p-cluster1: turn its protection off"
    with pytest.raises(Failed, match=why):
        destruction().run()
    assert "data" not in stacks.gone


@pytest.mark.parametrize(("typed", "code"), [("yes", 2), ("lexigraph-dev", 0)])
def test_destroy_asks_for_the_name(server: AccountServer, monkeypatch: pytest.MonkeyPatch, typed: str, code: int) -> None:
    stacks = Stacks()
    deployed(server, stacks)
    monkeypatch.setattr("builtins.input", lambda _: typed)
    monkeypatch.setattr("sys.argv", ["destroy"])
    assert destroy.main(look_seconds=0.01) == code
    assert bool(stacks.gone) == (code == 0)


# ---------------------------------------------------------------- smoke


def results(groups: list[str]) -> dict[str, Any]:
    return {
        "results": [
            {"name": g, "what": "tried", "status": "ok", "ms": 7, "error": "", "remedy": "", "detail": {}} for g in groups
        ]
    }


def invoked(asked: dict[str, Any]) -> Any:
    told = json.dumps(results(asked["probe"]["groups"]))
    log = "REPORT Duration: 1 ms Max Memory Used: 200 MB Restore Duration: 412.5 ms"
    return {"StatusCode": 200, "Payload": told, "LogResult": _base64(log)}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_functions_are_probed_in_the_version_that_others_call(server: AccountServer) -> None:
    deployed(server, Stacks())
    server.answers["lambda Invoke"] = invoked
    rows = list(probing.probe(Account(REGION), NAME, aws=True, least_engine="1.4.8.0"))
    assert {(row.job, row.status) for row in rows} == {(job.lower(), "ok") for job in FUNCTIONS}
    asked = [given_ for what, given_ in server.asked if what == "lambda Invoke"]
    assert all(given_["probe"]["least_engine"] == "1.4.8.0" for given_ in asked)
    assert {row.what for row in rows if row.name == "function.start"} == {
        "Max Memory Used 200 MB, Restore Duration 412.5 ms"
    }


@pytest.mark.parametrize(
    ("reply", "error", "remedy"),
    [
        (
            Refusal("AccessDeniedException", "SECRET", 403),
            "AccessDeniedException",
            "your own credentials need lambda:Invoke",
        ),
        (Refusal("TooManyRequestsException", "SECRET", 429), "TooManyRequestsException", "Service Quotas"),
        (
            {"FunctionError": "Unhandled", "Payload": '{"errorType": "Sandbox.Timedout", "errorMessage": "timed out"}'},
            "timed out",
            "endpoints, the routes and the security groups",
        ),
        (
            {"FunctionError": "Unhandled", "Payload": '{"errorType": "ImportError", "errorMessage": "no numpy"}'},
            "ImportError: no numpy",
            "make layers",
        ),
    ],
)
def test_a_function_that_cannot_be_asked_is_told_with_the_remedy(
    server: AccountServer, reply: Any, error: str, remedy: str
) -> None:
    deployed(server, Stacks())
    server.answers["lambda Invoke"] = reply
    rows = [row for row in probing.probe(Account(REGION), NAME, aws=True) if row.name != "function.start"]
    assert {row.status for row in rows} == {"failed"}
    assert all(error in row.error and remedy in row.remedy and "SECRET" not in row.error for row in rows)


def test_smoke_of_a_stack_that_is_missing_stops_there_and_fails(
    server: AccountServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stacks = Stacks()
    del stacks.status[f"{NAME}-api"]
    deployed(server, stacks, "stopped")
    server.answers["logs DescribeLogGroups"] = {"logGroups": []}
    asked: Given = given("", [])
    rows = list(smoke.smoke(Account(REGION), asked))
    assert [(row.name, row.status) for row in rows] == [("stacks", "failed"), ("cluster", "failed"), ("audit-log", "failed")]
    assert "api is not there" in rows[0].error
    assert "c-1 is stopped" in rows[1].error
    assert "start-db-cluster" in rows[1].remedy
    monkeypatch.setattr(smoke, "REPORTS", ROOT / ".build" / "smoke-test")
    assert smoke.report(rows, asked, REGION) == 1
    told = json.loads((ROOT / ".build" / "smoke-test" / f"{NAME}-{REGION}.json").read_text("utf-8"))
    assert (told["failed"], told["deployment"]) == (3, NAME)


@pytest.mark.parametrize("command", [smoke, destroy])
@pytest.mark.parametrize(
    ("missing", "says"),
    [("credentials", "NoCredentials"), ("profile", "ProfileNotFound"), ("token", "ExpiredToken"), ("region", "no region")],
)
def test_who_is_not_known_to_aws_is_told_so_in_a_line(
    server: AccountServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Any,
    missing: str,
    says: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["command"])
    if missing == "credentials":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    elif missing == "profile":
        monkeypatch.setenv("AWS_PROFILE", "nobody")
    elif missing == "token":
        server.answers["sts GetCallerIdentity"] = Refusal("ExpiredToken", "SECRET", 403)
    else:
        for name in ("REGION", "AWS_REGION", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name, raising=False)
    assert command.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line and "SECRET" not in line


def test_smoke_without_the_right_to_look_at_the_cluster_says_that_alone(server: AccountServer) -> None:
    deployed(server, Stacks())
    server.answers |= {
        "neptune DescribeDBClusters": Refusal("AccessDenied", "SECRET", 403),
        "logs DescribeLogGroups": {"logGroups": [{"logGroupName": f"/aws/neptune/{NAME}/audit", "retentionInDays": 30}]},
        "lambda Invoke": invoked,
    }
    found = smoke.smoke(Account(REGION), given("", []))
    rows = {row.name: row for row in (next(found) for _ in range(3))}
    assert [row.status for row in rows.values()] == ["ok", "failed", "ok"]
    assert "AccessDenied" in rows["cluster"].error


def test_an_update_that_was_rolled_back_is_no_deployment_that_works(server: AccountServer) -> None:
    stacks = Stacks()
    stacks.status[f"{NAME}-api"] = "UPDATE_ROLLBACK_COMPLETE"
    deployed(server, stacks)
    with pytest.raises(Failed, match="api is UPDATE_ROLLBACK_COMPLETE"):
        smoke._check_stacks(Account(REGION), NAME)


def test_an_audit_log_that_neptune_made_first_is_told(server: AccountServer) -> None:
    name = "/aws/neptune/c-1/audit"
    server.answers["logs DescribeLogGroups"] = {"logGroups": [{"logGroupName": name}]}
    with pytest.raises(Failed, match="forever: Neptune created it before"):
        smoke._check_audit(Account(REGION), "c-1")
    server.answers["logs DescribeLogGroups"] = {"logGroups": [{"logGroupName": name, "retentionInDays": 30}]}
    smoke._check_audit(Account(REGION), "c-1")

"""What is kept: encrypted, by TLS only, not public, recoverable; and what nobody needs any more ends."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.settings import PROFILES
from tests.infra.conftest import ON_AWS, PROFILE_NAMES
from tests.infra.templates import Resource, Templates

pytestmark = pytest.mark.slow
OF = Callable[[str], Templates]
KEY = "<data/Key>"
NO_TLS = {"Bool": {"aws:SecureTransport": "false"}}
# S3 writes access logs with keys of its own alone; `Started` holds digests of events for a day
WITHOUT_OUR_KEY = ("AccessLogs", "Started")


@pytest.mark.parametrize("profile", [*ON_AWS, "chosen"])
def test_all_that_keeps_text_is_encrypted_with_the_customers_key(templates: OF, profile: str) -> None:
    found = templates(profile)
    keys: dict[str, object] = {}
    for r in found.of("S3::Bucket"):
        (rule,) = r.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        keys[r.name] = rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID")
    keys |= {r.name: r.properties["SSESpecification"].get("KMSMasterKeyId") for r in found.of("DynamoDB::Table")}
    keys |= {r.name: r.properties["KmsMasterKeyId"] for kind in ("SQS::Queue", "SNS::Topic") for r in found.of(kind)}
    cluster = found.one("Neptune::DBCluster", "Cluster").properties
    assert cluster["StorageEncrypted"] is True
    keys["Cluster"] = cluster["KmsKeyId"]
    vectors = json.loads(found.one("OpenSearchServerless::SecurityPolicy", "Encryption").properties["Policy"])
    assert vectors["AWSOwnedKey"] is False
    keys["Collection"] = vectors["KmsARN"]
    assert keys == {name: None if name in WITHOUT_OUR_KEY else KEY for name in keys}
    assert found.one("KMS::Key", "Key").properties["EnableKeyRotation"] is True


@pytest.mark.parametrize("profile", [*ON_AWS, "chosen"])
def test_buckets_queues_and_topics_refuse_what_comes_without_tls(templates: OF, profile: str) -> None:
    found = templates(profile)
    refusing = set()
    for kind in ("S3::BucketPolicy", "SQS::QueuePolicy", "SNS::TopicPolicy"):
        for r in found.of(kind):
            at = r.properties.get("Bucket") or (r.properties.get("Queues") or r.properties.get("Topics"))[0]
            for s in r.properties["PolicyDocument"]["Statement"]:
                if s["Effect"] == "Deny" and s["Condition"] == NO_TLS and s["Principal"] in ("*", {"AWS": "*"}):
                    refusing.add(at)
    made = {f"<{r.stack}/{r.name}>" for kind in ("S3::Bucket", "SQS::Queue", "SNS::Topic") for r in found.of(kind)}
    assert refusing == made


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_bucket_is_public_and_buckets_of_documents_keep_versions(templates: OF, profile: str) -> None:
    buckets = templates(profile).of("S3::Bucket")
    assert {r.name for r in buckets} >= {"Documents", "Artefacts"}
    for r in buckets:
        assert set(r.properties["PublicAccessBlockConfiguration"].values()) == {True}
        assert len(r.properties["PublicAccessBlockConfiguration"]) == 4
        if r.name != "AccessLogs":
            assert r.properties["VersioningConfiguration"] == {"Status": "Enabled"}
        if r.name == "AccessLogs" and PROFILES[profile].aws:
            assert all(rule.get("ExpirationInDays") for rule in r.properties["LifecycleConfiguration"]["Rules"])


@pytest.mark.parametrize("profile", ON_AWS)
def test_who_read_and_wrote_files_is_logged_into_a_bucket_of_its_own(templates: OF, profile: str) -> None:
    logged = {r.name: r.properties.get("LoggingConfiguration", {}) for r in templates(profile).of("S3::Bucket")}
    assert logged.pop("AccessLogs") == {}
    assert {told.get("DestinationBucketName") for told in logged.values()} == {"<data/AccessLogs>"}
    assert len({told["LogFilePrefix"] for told in logged.values()}) == len(logged)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_log_holds_what_goes_through_the_workflow(templates: OF, profile: str) -> None:
    (machine,) = templates(profile).of("StepFunctions::StateMachine")
    logging = machine.properties["LoggingConfiguration"]
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ALL", False)


@pytest.mark.parametrize("profile", ON_AWS)
def test_old_versions_and_what_steps_hand_on_go_after_days(templates: OF, profile: str) -> None:
    rules = {
        r.name: r.properties["LifecycleConfiguration"]["Rules"]
        for r in templates(profile).of("S3::Bucket")
        if r.name != "AccessLogs"
    }
    for name, of_bucket in rules.items():
        assert any(rule.get("NoncurrentVersionExpiration") for rule in of_bucket), name
        assert any(rule.get("AbortIncompleteMultipartUpload") for rule in of_bucket), name
    assert [rule["Prefix"] for rule in rules["Artefacts"] if "ExpirationInDays" in rule] == ["work/", "bulk/"]
    assert not [rule for rule in rules["Documents"] if "ExpirationInDays" in rule]


@pytest.mark.parametrize("profile", ON_AWS)
def test_tables_can_be_restored_to_any_second_and_graphs_from_backups(templates: OF, profile: str) -> None:
    found = templates(profile)
    for r in found.of("DynamoDB::Table"):
        assert r.properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
        assert r.properties["TimeToLiveSpecification"]["Enabled"] is True
    assert found.one("Neptune::DBCluster", "Cluster").properties["BackupRetentionPeriod"] >= 7


def test_prod_keeps_its_data_when_stacks_go_and_dev_does_not(templates: OF) -> None:
    def policies(profile: str) -> dict[str, str]:
        vectors = ("Collection", "CollectionGroup", "SecurityPolicy")  # the first stays only where the others do
        kinds = ("S3::Bucket", "KMS::Key", "Neptune::DBCluster", *(f"OpenSearchServerless::{kind}" for kind in vectors))
        holding = [r for kind in kinds for r in templates(profile).of(kind)]
        holding.append(templates(profile).one("DynamoDB::Table", "Registry"))
        return {f"{r.kind.split('::')[1]} {r.name}": r.deletion for r in holding}

    ways = {"Neptune": "Snapshot", "OpenSearchServerless": "RetainExceptOnCreate"}
    assert policies("prod") == {name: ways.get(name.split()[0], "Retain") for name in policies("prod")}
    assert set(policies("dev").values()) == {"Delete"}
    cluster = templates("prod").one("Neptune::DBCluster", "Cluster").properties
    table = templates("prod").one("DynamoDB::Table", "Registry").properties
    assert cluster["DeletionProtection"] is True
    assert table["DeletionProtectionEnabled"] is True
    for profile, protected in (("prod", "ENABLED"), ("dev", None)):
        collection = templates(profile).one("OpenSearchServerless::Collection", "Collection").properties
        assert collection.get("DeletionProtection") == protected
    assert cluster["BackupRetentionPeriod"] >= 14


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_log_is_kept_for_ever(templates: OF, profile: str) -> None:
    found = templates(profile)
    days = {f"<{r.stack}/{r.name}>": r.properties.get("RetentionInDays", 0) for r in found.of("Logs::LogGroup")}
    assert all(1 <= kept <= 90 for kept in days.values())
    for r in found.of("Lambda::Function"):  # those of CDK, too, which Lambda would make a group for that never ends
        assert days[r.properties["LoggingConfig"]["LogGroup"]] == PROFILES[profile].log_days, r.name


@pytest.mark.parametrize("profile", [*ON_AWS, "placed"])
def test_gateways_find_groups_for_their_own_logs_which_they_would_make_without_an_end(templates: OF, profile: str) -> None:
    found = templates(profile)
    groups = {r.properties.get("LogGroupName"): r.id for r in found.of("Logs::LogGroup")}
    for stage in found.of("ApiGateway::Stage"):
        name = f"API-Gateway-Execution-Logs_{stage.properties['RestApiId']}/{stage.properties['StageName']}"
        assert groups[name] in stage.depends


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_messages_wait_six_times_as_long_as_the_function_may_take_and_then_lie_where_somebody_looks(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    queues = {f"<{r.stack}/{r.name}>": r for r in found.of("SQS::Queue")}
    mappings = found.of("Lambda::EventSourceMapping")
    assert mappings
    for mapping in mappings:
        queue: Resource = queues[mapping.properties["EventSourceArn"]]
        (job,) = [j for j in found.functions if mapping.properties["FunctionName"].lower().endswith(f"/{j}>")]
        assert queue.properties["VisibilityTimeout"] >= 6 * found.functions[job]["Timeout"]
        assert mapping.properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        redrive = queue.properties["RedrivePolicy"]
        assert redrive["maxReceiveCount"] >= 5
        dead = queues[redrive["deadLetterTargetArn"]]
        assert dead.properties["MessageRetentionPeriod"] > queue.properties["MessageRetentionPeriod"]
        if PROFILES[profile].aws:
            for name in ("Changed", "Expired"):
                (target,) = found.one("Events::Rule", name).properties["Targets"]
                assert target["DeadLetterConfig"]["Arn"] == redrive["deadLetterTargetArn"]


@pytest.mark.requirement("U-03")
@pytest.mark.parametrize("profile", ON_AWS)
def test_neptune_opensearch_and_s3_are_deployed_and_every_function_knows_where_they_are(templates: OF, profile: str) -> None:
    found = templates(profile)
    assert found.one("Neptune::DBCluster", "Cluster").properties["EngineVersion"] >= "1.4.6.2"  # before, MERGE was wrong
    group = found.one("OpenSearchServerless::CollectionGroup", "Group").properties
    # the service refuses a group of this generation without replicas, and other capacities
    assert (group["Generation"], group["StandbyReplicas"]) == ("NEXTGEN", "ENABLED")
    assert set(group["CapacityLimits"].values()) <= {2, 4, 8, 16, 32, 64, 96}
    for job, properties in found.functions.items():
        told = properties["Environment"]["Variables"]
        assert told["LEXIGRAPH_GRAPH_STORE"].startswith("neptune-db://<graph/Cluster.Endpoint>"), job
        assert told["LEXIGRAPH_VECTOR_STORE"].startswith("aoss://<vector/Collection.CollectionEndpoint>"), job
        assert told["LEXIGRAPH_VECTOR_STORE"].endswith(f"&indexes={8 if profile == 'prod' else 1}"), job
        assert told["LEXIGRAPH_DOCUMENT_STORE"] == "s3://<data/Artefacts>/documents"
        assert told["LEXIGRAPH_ARTEFACT_STORE"] == "s3://<data/Artefacts>/work"
        assert told["LEXIGRAPH_REGISTRY"] == "dynamodb://<data/Registry>"
        assert told["LEXIGRAPH_INBOX"] == "s3://<data/Documents>"


@pytest.mark.requirement("U-06")
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_what_changes_in_the_bucket_of_documents_reaches_the_function_that_begins_a_run(templates: OF, profile: str) -> None:
    found = templates(profile)
    (notified,) = [r for r in found.resources if r.kind == "Custom::S3BucketNotifications"]
    assert notified.properties["BucketName"] == "<data/Documents>"
    assert notified.properties["NotificationConfiguration"] == {"EventBridgeConfiguration": {}}
    rule = found.one("Events::Rule", "Changed").properties
    assert rule["State"] == "ENABLED"
    (target,) = rule["Targets"]
    (mapping,) = found.of("Lambda::EventSourceMapping")
    assert target["Arn"] == mapping.properties["EventSourceArn"] == "<ingestion/Changes>"
    assert mapping.properties["FunctionName"] == "<ingestion/Start>"
    assert found.functions["start"]["Environment"]["Variables"]["LEXIGRAPH_WORKFLOW"] == "<ingestion/Workflow>"


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize(
    ("kind", "detail", "told"),
    [
        ("Object Created", {"reason": "PutObject"}, True),
        ("Object Created", {"reason": "CompleteMultipartUpload"}, True),
        ("Object Deleted", {"reason": "DeleteObject", "deletion-type": "Delete Marker Created"}, True),
        ("Object Deleted", {"reason": "DeleteObject", "deletion-type": "Permanently Deleted"}, True),
        # an old version: nothing that readers see changes
        ("Object Deleted", {"reason": "Lifecycle Expiration", "deletion-type": "Permanently Deleted"}, False),
        # a document, by a rule that somebody made for how long they are kept
        ("Object Deleted", {"reason": "Lifecycle Expiration", "deletion-type": "Delete Marker Created"}, True),
        ("Object Tags Added", {}, False),
    ],
)
def test_old_versions_that_go_begin_no_run_and_each_change_of_a_document_begins_one(
    templates: OF, profile: str, kind: str, detail: dict[str, str], told: bool
) -> None:
    from moto.events.models import EventPattern

    rules = [r.properties for r in templates(profile).of("Events::Rule") if r.name in ("Changed", "Expired")]
    for bucket, expected in (("<data/Documents>", told), ("<data/Artefacts>", False)):
        event: Any = {"source": "aws.s3", "detail-type": kind, "detail": {"bucket": {"name": bucket}, **detail}}
        matching = [rule for rule in rules if EventPattern.load(json.dumps(rule["EventPattern"])).matches_event(event)]
        assert len(matching) == expected
        assert [rule["Targets"][0]["Arn"] for rule in matching] == ["<ingestion/Changes>"] * expected


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_an_execution_that_ended_without_a_word_is_told_to_the_function_that_records_failures(
    templates: OF, profile: str
) -> None:
    rule = templates(profile).one("Events::Rule", "Ended").properties
    assert rule["EventPattern"]["detail"] == {
        "stateMachineArn": ["<ingestion/Workflow>"],
        "status": ["FAILED", "TIMED_OUT", "ABORTED"],
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == "<ingestion/Finish>"
    assert ("DeadLetterConfig" in target) is PROFILES[profile].aws


@pytest.mark.parametrize("profile", ON_AWS)
def test_a_notice_that_the_function_fails_at_lies_where_somebody_looks_and_is_told(templates: OF, profile: str) -> None:
    found = templates(profile)
    (config,) = found.of("Lambda::EventInvokeConfig")
    assert (config.properties["FunctionName"], config.properties["Qualifier"]) == ("<ingestion/Finish>", "$LATEST")
    assert config.properties["DestinationConfig"] == {"OnFailure": {"Destination": "<ingestion/DeadLetters>"}}
    assert found.may("finish")["sqs:SendMessage"] == {"<ingestion/DeadLetters>"}
    # Lambda looks whether the role may send when this is made
    assert {name.rstrip("0123456789ABCDEF") for name in config.depends} == {"FinishRole", "FinishRoleDefaultPolicy"}
    alarm = found.one("CloudWatch::Alarm", "Untended").properties
    watched = [m["MetricStat"]["Metric"] for m in alarm["Metrics"] if "MetricStat" in m]
    assert {metric["MetricName"] for metric in watched} == {"AsyncEventsDropped"}
    assert {m["Dimensions"][0]["Value"] for m in watched} == {"<ingestion/Remove>", "<ingestion/Finish>"}

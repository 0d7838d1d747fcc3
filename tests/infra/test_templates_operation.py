"""What an operator relies on: alarms that reach somebody and are explained, a budget, nights off, sizes and time limits."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.cost import FIREWALL_RULES, SNAPSHOT_GB, alarm_figures, endpoints
from infra.settings import PROFILES, profile_of
from infra.state_machine import FUNCTIONS
from lexigraph.api import sse
from lexigraph.ingestion.extract.guide import read_guide
from lexigraph.model.errors import StoreUnavailable
from tests.infra.conftest import CHOSEN, ON_AWS, PROFILE_NAMES
from tests.infra.templates import Templates

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
OF = Callable[[str], Templates]
SETTING = "LEXIGRAPH_EXTRACTION_FILE"


def headings(page: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("profile", [*ON_AWS, "chosen"])
def test_every_alarm_reaches_the_topic_and_has_a_section_in_the_page_that_it_names(templates: OF, profile: str) -> None:
    found, explained = templates(profile), headings("operate.md")
    assert found.output("observability", "AlarmTopic") == "<observability/Alarms>", "for who is to be paged"
    for r in found.of("CloudWatch::Alarm"):
        assert r.properties["AlarmActions"] == ["<observability/Alarms>"]
        assert r.properties["TreatMissingData"] == "notBreaching"
        name = r.properties["AlarmName"].rpartition("-")[2]
        assert name in explained
        assert r.properties["AlarmDescription"].endswith(f"docs/operate.md, {name}")


def test_the_page_explains_no_alarm_that_is_gone(templates: OF) -> None:
    there = {r.name for profile in ("prod", "chosen") for r in templates(profile).of("CloudWatch::Alarm")}
    page = (ROOT / "docs" / "operate.md").read_text("utf-8").split("\n## Alarms\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == there


@pytest.mark.parametrize("profile", ON_AWS)
def test_alarms_may_publish_to_the_topic_and_use_its_key(templates: OF, profile: str) -> None:
    found = templates(profile)
    topic = found.one("SNS::TopicPolicy", "AlarmsPolicy").properties["PolicyDocument"]["Statement"]
    key = found.one("KMS::Key", "Key").properties["KeyPolicy"]["Statement"]
    for action, statements in (("sns:Publish", topic), ("kms:GenerateDataKey*", key)):
        allowed = [s for s in statements if s["Effect"] == "Allow" and action in s["Action"]]
        (of_alarms,) = [s for s in allowed if s["Principal"] == {"Service": "cloudwatch.amazonaws.com"}]
        assert of_alarms["Condition"] == {"StringEquals": {"aws:SourceAccount": "ACCOUNT"}}, action


@pytest.mark.parametrize("profile", ON_AWS)
def test_what_breaks_silently_has_an_alarm(templates: OF, profile: str) -> None:
    alarms = templates(profile).of("CloudWatch::Alarm")
    summed = [m["MetricStat"]["Metric"] for r in alarms for m in r.properties.get("Metrics", ()) if "MetricStat" in m]
    watched = {r.properties.get("MetricName") for r in alarms} | {metric["MetricName"] for metric in summed}
    assert watched >= {
        "ApproximateNumberOfMessagesVisible",
        "ApproximateAgeOfOldestMessage",
        "ExecutionsFailed",
        "ExecutionsTimedOut",
        "Latency",
        "5XXError",
        "InvocationThrottles",
        "ServerlessDatabaseCapacity",
        "SearchRequestErrors",
    }
    throttled = {d["Value"] for metric in summed if metric["MetricName"] == "Throttles" for d in metric["Dimensions"]}
    # what has a limit of its own is refused whenever there is more to do
    free = {job for job, p in templates(profile).functions.items() if "ReservedConcurrentExecutions" not in p}
    assert {value.rstrip(">").rpartition("/")[2].lower() for value in throttled} == free


@pytest.mark.parametrize("profile", ON_AWS)
def test_streams_that_break_off_are_counted_by_what_the_application_logs_of_them_and_by_functions_that_ended(
    templates: OF, profile: str, caplog: pytest.LogCaptureFixture
) -> None:
    def work(_: sse.Tell) -> None:
        raise StoreUnavailable("the graph is gone")

    async def read() -> None:
        async for _ in sse.stream(work, lambda told: sse.event(dict(told))).body_iterator:
            pass

    asyncio.run(read())
    found = templates(profile)
    filters = {r.properties["LogGroupName"]: r.properties for r in found.of("Logs::MetricFilter")}
    assert filters.keys() == {"<api/StreamLogs>", "<api/FollowLogs>"}
    alarm = found.one("CloudWatch::Alarm", "BrokenStreams").properties
    watched = [m["MetricStat"]["Metric"] for m in alarm["Metrics"] if "MetricStat" in m]
    for one in filters.values():
        assert one["FilterPattern"].strip('"') in caplog.text
        (told,) = one["MetricTransformations"]
        assert watched[0] == {"Namespace": told["MetricNamespace"], "MetricName": told["MetricName"]}
    ended = {(m["MetricName"], m["Dimensions"][0]["Value"]) for m in watched[1:]}
    assert ended == {("Errors", "<api/Stream>"), ("Errors", "<api/Follow>")}


@pytest.mark.parametrize("profile", ON_AWS)
def test_throttled_models_are_told_of_whether_bedrock_counts_them_together_or_each(templates: OF, profile: str) -> None:
    alarm = templates(profile).one("CloudWatch::Alarm", "ModelThrottled").properties
    (told,) = [m["Expression"] for m in alarm["Metrics"] if "Expression" in m]
    assert told == "MAX(METRICS())", "a throttled call counts once, in whichever of them it is"
    watched = [m["MetricStat"]["Metric"] for m in alarm["Metrics"] if "MetricStat" in m]
    of = [{d["Name"]: d["Value"] for d in metric.get("Dimensions", ())} for metric in watched]
    chosen = PROFILES[profile]
    models = [spec.removeprefix("bedrock:") for spec in (chosen.embedding_model, chosen.llm)]
    assert of == [{}, *({"ModelId": model} for model in models)]


@pytest.mark.parametrize("profile", ON_AWS)
def test_a_graph_is_full_when_its_writer_or_its_readers_are_not_when_all_are_on_average(templates: OF, profile: str) -> None:
    alarm = templates(profile).one("CloudWatch::Alarm", "GraphFull").properties
    (told,) = [m["Expression"] for m in alarm["Metrics"] if "Expression" in m]
    assert told == "MAX(METRICS())"
    watched = [m["MetricStat"]["Metric"] for m in alarm["Metrics"] if "MetricStat" in m]
    roles = {d["Value"] for metric in watched for d in metric["Dimensions"] if d["Name"] == "Role"}
    assert roles == ({"WRITER", "READER"} if PROFILES[profile].neptune_readers else {"WRITER"})


@pytest.mark.parametrize("profile", ON_AWS)
def test_a_budget_watches_what_carries_the_profiles_tag(templates: OF, profile: str) -> None:
    found = templates(profile)
    budget = found.one("Budgets::Budget", "Budget").properties["Budget"]
    assert budget["BudgetLimit"] == {"Amount": PROFILES[profile].budget, "Unit": "USD"}
    assert budget["CostFilters"] == {"TagKeyValue": [f"user:lexigraph${profile}"]}
    for kind in ("Lambda::Function", "S3::Bucket", "Neptune::DBInstance", "SQS::Queue"):
        assert all({"Key": "lexigraph", "Value": profile} in r.properties["Tags"] for r in found.of(kind))


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_graph_runs_through_unless_somebody_asks_for_hours(templates: OF, profile: str) -> None:
    assert not templates(profile).has("Scheduler::Schedule")


def test_hours_start_and_stop_the_graph_in_their_time_zone_by_a_role_that_can_do_nothing_else(templates: OF) -> None:
    found = templates("chosen")
    schedules = {r.name: r.properties for r in found.of("Scheduler::Schedule")}
    told = {
        name: (p["Target"]["Arn"].rpartition(":")[2], p["ScheduleExpression"], p["ScheduleExpressionTimezone"])
        for name, p in schedules.items()
    }
    assert told == {
        "Start": ("startDBCluster", "cron(0 8 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin"),
        "Stop": ("stopDBCluster", "cron(0 19 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin"),
        "Rest": ("stopDBCluster", "cron(0 19 ? * SAT,SUN *)", "Europe/Berlin"),
    }
    assert {p["Target"]["Input"] for p in schedules.values()} == {'{"DbClusterIdentifier":"<graph/Cluster>"}'}
    cluster = {"arn:aws:rds:REGION:ACCOUNT:cluster:<graph/Cluster>"}
    assert found.may("HoursRole") == {
        "rds:StartDBCluster": cluster,
        "rds:StopDBCluster": cluster,
        "sqs:SendMessage": {"<graph/Missed>"},
        "kms:Decrypt": {"<data/Key>"},
        "kms:GenerateDataKey": {"<data/Key>"},
    }


def test_a_start_or_stop_that_fails_raises_an_alarm_but_not_the_stop_on_days_on_which_the_graph_is_stopped_already(
    templates: OF,
) -> None:
    found = templates("chosen")
    letters = {r.name: r.properties["Target"].get("DeadLetterConfig", {}) for r in found.of("Scheduler::Schedule")}
    assert letters == {"Start": {"Arn": "<graph/Missed>"}, "Stop": {"Arn": "<graph/Missed>"}, "Rest": {}}
    queue = found.one("SQS::Queue", "Missed").properties
    assert queue["KmsMasterKeyId"] == "<data/Key>"
    assert queue["MessageRetentionPeriod"] == 14 * 86_400
    alarm = found.one("CloudWatch::Alarm", "GraphHours").properties
    assert (alarm["MetricName"], alarm["Threshold"]) == ("ApproximateNumberOfMessagesVisible", 1)
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": queue["QueueName"]}]


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_audit_log_of_the_graph_has_its_group_before_neptune_would_make_one(templates: OF, profile: str) -> None:
    found = templates(profile)
    cluster, group = found.one("Neptune::DBCluster", "Cluster"), found.one("Logs::LogGroup", "Audit")
    assert cluster.properties["EnableCloudwatchLogsExports"] == ["audit"]
    assert group.properties["LogGroupName"] == f"/aws/neptune/{cluster.properties['DBClusterIdentifier']}/audit"
    assert group.id in cluster.depends


@pytest.mark.parametrize("profile", [*ON_AWS, "chosen"])
def test_a_collection_has_no_tag_that_could_change_and_all_else_that_costs_has_those_given(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    assert "Tags" not in found.one("OpenSearchServerless::Collection", "Collection").properties
    if profile == "chosen":
        for kind in ("OpenSearchServerless::CollectionGroup", "Lambda::Function", "S3::Bucket", "Neptune::DBInstance"):
            for r in found.of(kind):
                assert {"Key": "team", "Value": "search"} in r.properties["Tags"]
                assert {"Key": "cost-centre", "Value": "4711"} in r.properties["Tags"]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_schedule_has_what_killed_writers_left_taken_away(templates: OF, profile: str) -> None:
    rule = templates(profile).one("Events::Rule", "Tend").properties
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(6 hours)", "ENABLED")
    (target,) = rule["Targets"]
    assert target["Arn"] == "<ingestion/Remove>"
    assert json.loads(target["Input"]) == json.loads((ROOT / "events" / "remove.tend.json").read_text("utf-8"))


def test_prod_has_a_second_instance_of_the_graph(templates: OF) -> None:
    assert [r.name for r in templates("prod").of("Neptune::DBInstance")] == ["Writer", "Reader1"]


@pytest.mark.parametrize("profile", ON_AWS)
def test_extraction_and_building_of_all_files_together_are_held_to_what_the_profile_reserves(
    templates: OF, profile: str
) -> None:
    capped = {j: p.get("ReservedConcurrentExecutions") for j, p in templates(profile).functions.items()}
    most = PROFILES[profile].reserve or None
    assert {job: n for job, n in capped.items() if n} == ({"extract": most, "build": most} if most else {})


@pytest.mark.parametrize("profile", ON_AWS)
def test_slow_answers_are_those_to_questions_and_no_other_route_has_figures_that_cost(templates: OF, profile: str) -> None:
    found = templates(profile)
    (stage,) = found.of("ApiGateway::Stage")
    measured = [m for m in stage.properties["MethodSettings"] if m["MetricsEnabled"]]
    assert [(m["HttpMethod"], m["ResourcePath"]) for m in measured] == [("POST", "/~1query")]
    alarm = found.one("CloudWatch::Alarm", "SlowAnswers").properties
    of = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
    assert (of["Method"], of["Resource"], alarm["ExtendedStatistic"]) == ("POST", "/query", "p95")
    assert (of["ApiName"], of["Stage"]) == (f"lexigraph-{profile}", "<api/ApiDeploymentStagev1>")


@pytest.mark.parametrize("profile", ON_AWS)
def test_names_that_hold_for_a_whole_account_name_the_region(templates: OF, profile: str) -> None:
    found = templates(profile)
    name = f"lexigraph-{profile}-REGION"
    assert found.one("CloudWatch::Dashboard", "Dashboard").properties["DashboardName"] == name
    assert found.one("Budgets::Budget", "Budget").properties["Budget"]["BudgetName"] == name


@pytest.mark.parametrize("profile", ON_AWS)
def test_opensearch_is_asked_for_metrics_in_the_statistics_and_dimensions_that_it_publishes(
    templates: OF, profile: str
) -> None:
    board = json.loads(templates(profile).one("CloudWatch::Dashboard", "Dashboard").properties["DashboardBody"])
    lines = [line for widget in board["widgets"] for line in widget["properties"].get("metrics", ())]
    ours = [line for line in lines if line[0] == "AWS/AOSS"]
    # the guide: latency as minimum, maximum and average of a minute, no percentiles
    assert {line[1]: line[-1].get("stat", "Average") for line in ours} == {
        "SearchRequestLatency": "Average",
        "SearchRequestErrors": "Sum",
    }
    assert {tuple(line[2:-1:2]) for line in ours} == {("ClientId", "CollectionId", "CollectionName")}


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_gateways_role_for_logs_outlives_a_deployment_that_others_of_the_account_log_by(
    templates: OF, profile: str
) -> None:
    found = templates(profile)
    kept = [r for r in found.resources if r.kind == "AWS::ApiGateway::Account" or r.name == "ApiCloudWatchRole"]
    assert len(kept) == 2
    assert {r.deletion for r in kept} == {"Retain"}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_function_has_limits_and_on_aws_tracing_and_the_processor_of_its_layers(templates: OF, profile: str) -> None:
    for job, properties in templates(profile).functions.items():
        assert 1 <= properties["Timeout"] <= 900, job
        assert 512 <= properties["MemorySize"] <= 3_008, job
        if PROFILES[profile].aws:
            assert properties["TracingConfig"] == {"Mode": "Active"}, job
            assert properties["Architectures"] == ["arm64"], job
            assert properties["Runtime"] == "python3.13", job


@pytest.mark.parametrize("profile", ON_AWS)
def test_the_state_machine_hands_a_trace_on_to_its_functions(templates: OF, profile: str) -> None:
    (machine,) = templates(profile).of("StepFunctions::StateMachine")
    assert machine.properties["TracingConfiguration"] == {"Enabled": True}


@pytest.mark.requirement("U-04")
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_chunking_extraction_and_retrieval_are_functions_with_handlers_that_exist(templates: OF, profile: str) -> None:
    jobs = templates(profile).functions
    assert jobs.keys() >= {"start", "parse", "chunk", "extract", "build", "finish", "remove", "authorize", "query", "manage"}
    for job, properties in jobs.items():
        handler = properties["Handler"]
        file = handler if handler.endswith(".sh") else handler.rpartition(".")[0].replace(".", "/") + ".py"
        assert (ROOT / file).is_file(), job


@pytest.mark.parametrize("profile", [*ON_AWS, "chosen"])
def test_snapshots_are_taken_of_functions_that_somebody_waits_for(templates: OF, profile: str) -> None:
    snaps = {job for job, p in templates(profile).functions.items() if p.get("SnapStart")}
    assert snaps == ({"authorize", "query", "manage"} if profile in ("prod", "chosen") else set())


@pytest.mark.parametrize("name", [*ON_AWS, "chosen"])
def test_what_the_cost_page_counts_is_what_the_templates_have(templates: OF, name: str) -> None:
    found, profile = templates(name), profile_of(CHOSEN if name == "chosen" else {"profile": name})
    made = [r for r in found.of("EC2::VPCEndpoint") if r.properties["VpcEndpointType"] == "Interface"]
    assert len(made) == endpoints(profile)
    assert {len(r.properties["SubnetIds"]) for r in made} == {profile.endpoint_zones}
    watched = [r.properties.get("Metrics", [{"MetricStat": "its own"}]) for r in found.of("CloudWatch::Alarm")]
    assert sum("MetricStat" in one for of_alarm in watched for one in of_alarm) == alarm_figures(profile)
    snapshots = sum(p["MemorySize"] for p in found.functions.values() if p.get("SnapStart"))
    assert snapshots / 1_024 == (SNAPSHOT_GB if profile.snap_start else 0)
    instances = found.of("Neptune::DBInstance")
    assert len(instances) == 1 + profile.neptune_readers
    if profile.web_firewall:
        assert len(found.of("WAFv2::WebACL")[0].properties["Rules"]) == FIREWALL_RULES


def test_an_extraction_file_reaches_every_step_and_estimates_as_it_was_written(templates: OF) -> None:
    chosen = templates("chosen")
    having = {job for job, f in chosen.functions.items() if SETTING in f["Environment"]["Variables"]}
    assert having == {*FUNCTIONS, "manage"}
    for job in having:
        assert chosen.functions[job]["Environment"]["Variables"][SETTING] == "/opt/extraction.json"
        assert any("Extraction" in layer for layer in chosen.functions[job]["Layers"])
    (given,) = chosen.folder.glob("asset.*/extraction.json")
    assert read_guide(given).fingerprint == read_guide(Path(CHOSEN["extraction_file"])).fingerprint


def test_without_an_extraction_file_no_function_is_told_of_one(templates: OF) -> None:
    assert not [job for job, f in templates("dev").functions.items() if SETTING in f["Environment"]["Variables"]]

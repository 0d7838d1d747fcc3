"""The parts of the deployment that need no CDK: settings of a profile, the workflow, pins of layers, prices."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.cost import Workload, idle, per_thousand_documents, per_thousand_queries, prices, report
from infra.hours import EXAMPLE
from infra.layers import ROOT, _pins
from infra.settings import CHANGEABLE, PROFILES, profile_of
from infra.state_machine import FUNCTIONS, definition
from lexigraph.settings import MODEL_PRICES, PRICES_AS_OF

ARNS = {job: f"arn:aws:lambda:eu-west-1:1:function:{job}" for job in FUNCTIONS}

NETWORK = {"vpc": "vpc-0a1b2c3d", "subnets": "subnet-0a1b2c3d,subnet-1a1b2c3d", "route_tables": "rtb-0a1b2c3d"}
CERTIFICATE = "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d"
EXISTING = {"endpoints": "existing", "route_tables": ""}
WRONG_NETWORKS = [
    ({"vpc": "main"}, "vpc 'main': an id looks as vpc-0123456789abcdef0"),
    ({"subnets": ""}, "subnets '': name 2 or more of vpc-0a1b2c3d, in different zones"),
    ({"subnets": "subnet-0a1b2c3d"}, "name 2 or more"),
    ({"subnets": "subnet-0a1b2c3d,subnet-0a1b2c3d"}, "names one twice"),
    ({"subnets": "subnet-0a1b2c3d;subnet-1a1b2c3d"}, "write commas between several"),
    ({"route_tables": ""}, "route_tables: name that of the subnets"),
    ({"route_tables": "rtb-0a1b2c3d,rtb-1a1b2c3d,rtb-2a1b2c3d"}, "one for all subnets, or one for each"),
    ({"zones": "us-east-1a,us-east-1b"}, "leave it out"),
    ({"endpoints": "some"}, "endpoints 'some': own, or existing"),
    ({"endpoints": "existing"}, "route_tables: only our own gateway endpoints need them"),
    ({**EXISTING, "collections_endpoint": "aoss-1"}, "an id looks as vpce-"),
    ({"collections_endpoint": "vpce-0a1b2c3d"}, "goes with endpoints=existing"),
]


def tasks(states: dict[str, Any], caught: bool = False) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield every task with its name, and whether it or a map around it catches what fails."""
    for name, state in states.items():
        catches = caught or any("States.ALL" in rule["ErrorEquals"] for rule in state.get("Catch", ()))
        if state["Type"] == "Task":
            yield name, state, catches
        if "ItemProcessor" in state:
            yield from tasks(state["ItemProcessor"]["States"], catches)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"profile": "staging"}, "dev|prod|emulated"),
        ({"neptune_max": "much"}, "-c neptune_max=much: expected float"),
        ({"neptune_min": "0.5"}, "1 to 128"),
        ({"neptune_min": "8", "neptune_max": "4"}, "1 to 128"),
        ({"neptune_max": "2"}, "2.5 or more"),
        ({"neptune_max": "4.3"}, "steps of 0.5"),
        ({"vector_units": "12"}, "2, 4, 8 or a multiple of 16"),
        ({"vector_units": "1"}, "2, 4, 8 or a multiple of 16"),
        ({"vector_indexes": "0"}, "1 to 64"),
        ({"vector_indexes": "65"}, "1 to 64"),
        ({"zones": "us-east-1a"}, "name 2 zones"),
        ({"endpoint_zones": "3"}, "endpoint_zones 3: 1 to 2"),
        ({"snap_start": "yes"}, "-c snap_start=yes: expected true or false"),
        ({"tags": "team"}, "write NAME=VALUE with commas between"),
        ({"neptune_hours": "9 to 5"}, "neptune_hours '9 to 5': write days, hours and a time zone, as 'Mon-Fri 08:00"),
        ({"concurrency": "0"}, "concurrency takes 1 to 1,000"),
        ({"next_embedding_model": "cohere.embed-v4:0"}, "name one of bedrock:amazon.titan-embed-text-v2:0, "),
        ({"next_embedding_model": "minilm"}, "name one of bedrock:"),
        ({"name": "Team-A"}, "name 'Team-A': at most 10 of a-z, 0-9 and single hyphens"),
        ({"name": "team-search"}, "at most 10"),
        ({"name": "team--a"}, "single hyphens"),
        ({"name": "a-"}, "single hyphens"),
        ({"boundary": "arn:aws:iam::1:policy/x"}, "give the ARN of a policy, or the name"),
        ({"qualifier": "longer-than-ten"}, "at most 10 of letters"),
        ({"boundary": "arn:aws:iam::123456789012:role/x"}, "give the ARN of a policy, or the name"),
        ({"protect": "on"}, "-c protect=on: expected true or false"),
        ({"iam": "true", "iam_accounts": "1234"}, "numbers of accounts, of 12 digits"),
        ({"iam_accounts": "123456789012"}, "-c iam=true"),
        ({"domain": "graph.example.org"}, "give both"),
        ({"api_endpoints": "execute-api"}, "ids of endpoints of execute-api"),
        (
            {"api_endpoints": "vpce-0a1b2c3d", "domain": "x.example.org", "certificate": CERTIFICATE},
            "leave it out with api_",
        ),
        ({"domain": "https://x.org", "certificate": CERTIFICATE}, "a name as graph.example.org"),
        ({"domain": "x.example.org", "certificate": "mine"}, "an ARN as arn:aws:acm:"),
        *[({**NETWORK, **wrong}, said) for wrong, said in WRONG_NETWORKS],
        ({"subnets": NETWORK["subnets"]}, "subnets: belongs to a network of yours: name it, too, with -c vpc="),
        ({"endpoints": "existing"}, "endpoints: belongs to a network of yours"),
        ({"profile": "emulated"}, "-c data=FOLDER"),
        ({"extraction_file": "gone.yaml"}, "extraction file gone.yaml: no such file"),
        ({"extraction_file": str(ROOT / "pyproject.toml")}, "not valid YAML"),
        ({"extraction_file": str(ROOT / "mkdocs.yml")}, "site_name: extra inputs are not permitted"),
        ({"extraction_file": "any.yaml", "llm": "none"}, "only a language model heeds it"),
    ],
)
def test_a_context_that_makes_no_sense_is_refused_with_what_to_write(context: dict[str, str], said: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"neptune|profile|expected|vector_|zones|concurrency|next_|tags|name|boundary|qualifier|vpc|subnets|route_|endpoints|collections_|iam|domain|certificate|api_endpoints|extraction",
    ) as refused:
        profile_of(context)
    assert said in str(refused.value)


def test_what_the_command_line_gives_changes_the_profile_and_nothing_else() -> None:
    given = {"profile": "prod", "neptune_max": "32", "alarm_email": "ops@example.org", "budget": "900", "data": ""}
    found = profile_of(given)
    assert (found.neptune_max, found.alarm_email, found.budget) == (32.0, "ops@example.org", 900)
    assert found.neptune_readers == PROFILES["prod"].neptune_readers
    assert profile_of({}) == PROFILES["dev"]


def test_every_setting_that_may_be_changed_is_one_of_a_profile_and_has_a_row_in_the_docs() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8").split("\n## Change it\n")[1].split("\n## ")[0]
    rows = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    told = set(re.findall(r"`(\w+)`", rows))
    assert told == set(CHANGEABLE) - {"data"}  # of the emulated profile


def test_a_name_is_part_of_that_of_the_deployment_and_of_its_stacks() -> None:
    found = profile_of({"profile": "prod", "name": "team-a"})
    assert (found.id, found.prefix, found.stack("api")) == (
        "prod-team-a",
        "lexigraph-prod-team-a",
        "lexigraph-prod-team-a-api",
    )
    assert PROFILES["dev"].stack("data") == "lexigraph-dev-data"


def test_the_next_embedding_model_is_for_build_alone_and_changes_nothing_else() -> None:
    coming = "bedrock:cohere.embed-v4:0"
    before, after = PROFILES["dev"], profile_of({"next_embedding_model": coming})
    assert replace(after, next_embedding_model="") == before == profile_of({"next_embedding_model": ""})
    assert after.models("build") == (*before.models("build"), coming)
    for job in ("extract", "query", "stream"):
        assert after.models(job) == before.models(job) == before.models("build")


def test_prod_keeps_more_and_dev_costs_less() -> None:
    dev, prod = PROFILES["dev"], PROFILES["prod"]
    assert prod.keep_data
    assert prod.web_firewall
    assert prod.backup_days > dev.backup_days
    assert prod.log_days > dev.log_days
    assert prod.snap_start and not dev.snap_start  # as the prices say
    assert not dev.keep_data


def test_every_task_is_tried_again_has_a_time_limit_and_what_fails_is_caught() -> None:
    found = list(tasks(definition(ARNS)["States"]))
    assert {task["Resource"].rpartition(":")[2] for _, task, _ in found} == set(FUNCTIONS)
    for name, task, caught in found:
        assert task["TimeoutSeconds"] > 900, name  # no shorter than the function may take
        assert any("StoreUnavailable" in rule["ErrorEquals"] for rule in task["Retry"]), name
        assert any("Lambda.TooManyRequestsException" in rule["ErrorEquals"] for rule in task["Retry"]), name
        assert all(rule["JitterStrategy"] == "FULL" and rule["MaxDelaySeconds"] for rule in task["Retry"]), name
        # a comparison and a bulk load have no job in which to record a reason
        assert caught or name in ("Failed", "Check", "Load"), name


def test_who_finds_no_free_environment_waits_for_hours_and_not_for_minutes() -> None:
    for name, task, _ in tasks(definition(ARNS)["States"]):
        (rule,) = [rule for rule in task["Retry"] if "Lambda.TooManyRequestsException" in rule["ErrorEquals"]]
        # half of the longest pause on average, by full jitter
        assert rule["MaxAttempts"] * rule["MaxDelaySeconds"] / 2 >= 4 * 3_600, name


def test_a_function_that_is_not_ready_yet_is_waited_for_some_minutes() -> None:
    """Interfaces in the VPC are made within minutes, so are snapshots and what Lambda took from a function that slept."""
    kinds = ("ResourceNotReady", "ENINotReady", "EC2Throttled", "SnapStartNotReady")
    not_ready = {f"Lambda.{kind}Exception" for kind in kinds}
    for name, task, _ in tasks(definition(ARNS)["States"]):
        (rule,) = [rule for rule in task["Retry"] if not_ready & set(rule["ErrorEquals"])]
        assert not_ready == set(rule["ErrorEquals"]), name
        pauses = [
            min(rule["IntervalSeconds"] * rule["BackoffRate"] ** at, rule["MaxDelaySeconds"])
            for at in range(rule["MaxAttempts"])
        ]
        assert 5 * 60 <= sum(pauses) / 2 <= 20 * 60, name


def test_what_is_caught_leads_to_the_state_that_records_the_reason_and_fails() -> None:
    states = definition(ARNS)["States"]
    for name, state in states.items():
        for rule in state.get("Catch", ()):
            if "States.ALL" in rule["ErrorEquals"]:
                assert (rule["Next"], rule["ResultPath"]) == ("Failed", "$.error"), name
                assert rule is state["Catch"][-1], name
    failed = states["Failed"]
    assert failed["Resource"] == ARNS["finish"]
    assert failed["Next"] == "Which"  # where a redrive goes on
    assert not [rule for rule in failed["Catch"] if "States.ALL" in rule["ErrorEquals"]]
    assert not [rule for rule in failed["Retry"] if "IngestFailed" in rule["ErrorEquals"]]


def test_every_state_that_is_named_exists_and_every_state_is_reached() -> None:
    machine = definition(ARNS)
    states = machine["States"]
    named = {machine["StartAt"]}
    for state in states.values():
        branches = [state, *state.get("Catch", ()), *state.get("Choices", ())]
        named |= {branch[key] for branch in branches for key in ("Next", "Default") if key in branch}
    assert named == set(states)


def test_extraction_runs_side_by_side_no_wider_than_the_profile_says() -> None:
    extract = definition(ARNS, concurrency=7)["States"]["Extract"]
    assert extract["MaxConcurrency"] == 7
    assert extract["ItemProcessor"]["ProcessorConfig"]["Mode"] == "DISTRIBUTED"
    assert extract["ItemReader"]["Resource"].endswith(":s3:getObject")


def test_a_map_gathers_nothing_of_its_iterations_whatever_they_were_told() -> None:
    states = definition(ARNS)["States"]
    for name in ("Extract", "Parts"):
        inner = states[name]["ItemProcessor"]["States"]
        (last,) = [state for state in inner.values() if state.get("End")]
        assert last["OutputPath"] is None, name


def test_one_file_in_dev_leaves_most_of_a_new_accounts_ten_environments_to_questions() -> None:
    assert PROFILES["dev"].concurrency == 3
    assert not PROFILES["dev"].reserve  # which an account of ten would refuse


@pytest.mark.parametrize(
    ("model", "arns"),
    [
        ("bedrock:amazon.titan-embed-text-v2:0", ["REGION::foundation-model/amazon.titan-embed-text-v2:0"]),
        (
            "bedrock:eu.amazon.nova-lite-v1:0",
            ["REGION:ACCOUNT:inference-profile/eu.amazon.nova-lite-v1:0", "*::foundation-model/amazon.nova-lite-v1:0"],
        ),
        (
            "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0",
            [
                "REGION:ACCOUNT:inference-profile/global.anthropic.claude-haiku-4-5-20251001-v1:0",
                "*::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0",
                "::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0",
            ],
        ),
        ("none", []),
    ],
)
def test_a_role_is_allowed_a_model_by_every_name_that_bedrock_may_ask_for(model: str, arns: list[str]) -> None:
    pytest.importorskip("aws_cdk")
    from aws_cdk import Stack

    from infra.deployment import model_arns

    plain = {"AWS::Partition": "aws", "AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT"}
    stack, found = Stack(), []
    for arn in model_arns(model):
        parts = stack.resolve(arn)["Fn::Join"][1]
        found.append("".join(part if isinstance(part, str) else plain[part["Ref"]] for part in parts))
    assert found == [f"arn:aws:bedrock:{arn}" for arn in arns]


def test_pins_of_a_layer_are_exact_and_carry_their_hashes() -> None:
    for name in ("layer-core", "layer-parsers"):
        pins = _pins(ROOT / "requirements" / f"{name}.lock")
        assert pins
        for package, entry in pins.items():
            assert entry.startswith(f"{package}=="), entry[:80]
            assert "--hash=sha256:" in entry, package


def test_pins_are_told_apart_by_extras_versions_and_markers(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text(
        "aiohttp==3.1 \\\n    --hash=sha256:aa\nuvicorn[standard]==0.50 \\\n    --hash=sha256:bb\n"
        "colorama==1 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n",
        "utf-8",
    )
    pins = _pins(lock)
    assert list(pins) == ["aiohttp", "uvicorn", "colorama"]
    assert pins["uvicorn"] == "uvicorn[standard]==0.50 \\\n    --hash=sha256:bb\n"


def test_every_price_has_a_unit_and_a_source_and_the_file_a_date() -> None:
    told = json.loads((ROOT / "infra" / "prices.json").read_text("utf-8"))
    assert told["date"] == PRICES_AS_OF  # of the estimate before an ingest
    dev, usd = PROFILES["dev"], {name: price["usd"] for name, price in told["prices"].items()}
    assert {  # of estimates and traces
        dev.embedding_model: (usd["embedding_million_tokens"], 0.0),
        dev.llm: (usd["llm_million_input"], usd["llm_million_output"]),
    } == MODEL_PRICES
    for name, price in told["prices"].items():
        assert price["usd"] > 0, name
        assert price["unit"], name
        assert price["source"].startswith("aws.amazon.com/"), name
    used = set(re.findall(r'p\["(\w+)"\]', (ROOT / "infra" / "cost.py").read_text("utf-8")))
    assert used == prices().keys()


def test_an_idle_graph_costs_what_its_least_capacity_costs_a_month() -> None:
    lines = {line.what: line.usd for line in idle(PROFILES["dev"])}
    floor = 0.1608 * 730
    assert lines["Neptune, least capacity"] == pytest.approx(floor, abs=0.01)
    prod = {line.what: line.usd for line in idle(PROFILES["prod"])}
    assert prod["Neptune, least capacity"] == pytest.approx(2 * floor, abs=0.01)
    assert sum(prod.values()) > sum(lines.values())


def test_dev_costs_at_most_140_dollars_a_month_idle_and_61_in_office_hours() -> None:
    dev = PROFILES["dev"]
    in_hours = replace(dev, neptune_hours=EXAMPLE)
    for profile, most in ((dev, 140), (in_hours, 61)):
        assert most / 2 < sum(line.usd for line in idle(profile)) <= most


def test_cost_follows_the_workload_that_it_is_given() -> None:
    small, large = Workload(), Workload(paragraphs_a_document=2 * Workload().paragraphs_a_document)
    assert sum(line.usd for line in per_thousand_documents(large)) > 1.5 * sum(
        line.usd for line in per_thousand_documents(small)
    )
    assert sum(line.usd for line in per_thousand_queries(small)) > 0


def test_the_cost_page_shows_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "cost.md").read_text("utf-8")
    for table in report().split("\n\n"):
        assert table.strip() in page, "renew it: python -m infra.cost"

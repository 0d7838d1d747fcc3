"""Policies are read as IAM reads them: wildcards, conditions, explicit denials; what a call needs, by AWS's reference."""

from typing import Any

import pytest

from tests.rights.calls import of_botocore, of_signed
from tests.rights.needs import Need
from tests.rights.policies import Statement, Unknown, allowing, because, denial


def statement(effect: str = "Allow", **raw: Any) -> Statement:
    return Statement.of("stack/Policy", 0, {"Effect": effect, "Action": "s3:GetObject", "Resource": "<data/B>/*", **raw})


def need(action: str = "s3:GetObject", resource: str = "<data/B>/a/b", **context: str) -> Need:
    return Need("build", action, resource, "a test", "", tuple((k.replace("__", ":"), v) for k, v in context.items()))


def allowed(made: Statement, wanted: Need) -> bool:
    return any(allowing([made], wanted))


@pytest.mark.parametrize(
    ("action", "resource", "holds"),
    [
        ("s3:GetObject", "<data/B>/a/b", True),
        ("s3:getobject", "<data/B>/a/b", True),
        ("s3:GetObjectVersion", "<data/B>/a/b", False),
        ("s3:GetObject", "<data/B>", False),
        ("s3:GetObject", "<data/Other>/a/b", False),
    ],
)
def test_actions_and_resources_are_patterns_that_match_whole(action: str, resource: str, holds: bool) -> None:
    assert allowed(statement(), need(action, resource)) is holds


def test_a_star_stands_for_any_action_but_for_no_empty_part_of_an_arn() -> None:
    of_model = "arn:aws:bedrock:*::foundation-model/m"
    made = statement(Action="bedrock:*", Resource=of_model)
    assert allowed(made, need("bedrock:InvokeModel", of_model.replace("*", "eu-west-1")))
    assert not allowed(made, need("bedrock:InvokeModel", of_model.replace("*", "")))


KEYS = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["t#*#doc#*"]}}
VIA = {"StringEquals": {"kms:ViaService": "s3.REGION.amazonaws.com"}}
INSECURE = {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize(
    ("condition", "context", "holds"),
    [
        (KEYS, {"dynamodb__LeadingKeys": "t#default#doc#1"}, True),
        (KEYS, {"dynamodb__LeadingKeys": "t#default#keys"}, False),
        (KEYS, {}, True),  # as IAM has it: all of no values
        (VIA, {"kms__ViaService": "s3.REGION.amazonaws.com"}, True),
        (VIA, {"kms__ViaService": "sqs.REGION.amazonaws.com"}, False),
        (VIA, {}, False),
        (INSECURE, {"aws__SecureTransport": "true"}, False),
        ({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}, {"aws__SourceVpce": "vpce-2"}, True),
        ({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}, {"aws__SourceVpce": "vpce-1"}, False),
        ({"StringLikeIfExists": {"aws:SourceVpce": "vpce-*"}}, {}, True),
        ({"Null": {"aws:SourceVpce": "true"}}, {}, True),
        ({"Null": {"aws:SourceVpce": True}}, {"aws__SourceVpce": "vpce-1"}, False),
    ],
)
def test_conditions_hold_as_iam_has_it(condition: dict[str, Any], context: dict[str, str], holds: bool) -> None:
    assert allowed(statement(Condition=condition), need(**context)) is holds


def test_a_denial_wins_and_is_named() -> None:
    both = [statement(), statement("Deny", Action="s3:*")]
    assert denial(both, need()) == "denied by stack/Policy"
    assert denial([statement("Deny", Condition=INSECURE)], need(aws__SecureTransport="true")) == ""


def test_what_is_not_allowed_is_told_by_the_statement_that_comes_nearest() -> None:
    assert because([statement()], need("s3:PutObject")) == "no statement allows the action"
    assert because([statement()], need(resource="<data/C>/a")) == "the action is allowed on <data/B>/* alone"
    told = because([statement(Condition=VIA)], need())
    assert told.startswith("the condition does not hold: StringEquals kms:ViaService") and "not given" in told


@pytest.mark.parametrize("raw", [{"NotAction": "s3:*"}, {"Condition": {"DateLessThan": {"aws:CurrentTime": "2026"}}}])
def test_what_is_not_evaluated_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(Unknown):
        statement(**raw)


def test_a_transaction_is_a_call_for_each_item_with_its_key() -> None:
    def item(key: str) -> dict[str, Any]:
        return {"TableName": "t", "Key": {"pk": {"S": key}, "sk": {"S": "s"}}}

    asked = {"TransactItems": [{"Put": {"TableName": "t", "Item": {"pk": {"S": "a"}}}}, {"ConditionCheck": item("b")}]}
    found = of_botocore("dynamodb", "TransactWriteItems", asked)
    assert [(call["item"], call["key"]) for call in found] == [("Put", "a"), ("ConditionCheck", "b")]


def test_a_search_is_a_call_for_each_index_and_holds_no_content() -> None:
    lines = b'{"index":"one,two-*"}\n{"query":{"match":{"text":"secret"}}}\n{"index":"three"}\n{}\n'
    found = of_signed("aoss", "POST", "https://c.aoss/_msearch", lines)
    assert [(call["operation"], call["index"]) for call in found] == [
        ("POST /_msearch", name) for name in ("one", "three", "two-*")
    ]
    assert "secret" not in str(found)


def test_of_a_query_only_its_clauses_are_kept() -> None:
    text = "MERGE (n:Node {`~id`: 'SET'}) // DELETE\nSET n.a = \"REMOVE\""
    assert of_botocore("neptunedata", "ExecuteOpenCypherQuery", {"openCypherQuery": text}) == [
        {"service": "neptunedata", "operation": "ExecuteOpenCypherQuery", "clauses": ["MERGE", "SET"]}
    ]

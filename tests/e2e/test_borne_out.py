"""Answers about the example corpus, held against the statements that a real index and the default search show a model."""

import re

import pytest

from lexigraph import LexicalGraphQueryEngine
from lexigraph.settings import Settings
from tests.e2e.conftest import ExampleIndex
from tests.standins.llm_server import ScriptedLLMServer, said

# a question, words of the statement that a model then cites, what it may say of that, and what it may not
CASES = (
    (
        "When is the Nightjar Runbook rehearsed?",
        "rehearsed on the first",
        "Each quarter, on its first Thursday, the Nightjar Runbook is rehearsed.",
        (
            "The Nightjar Runbook is rehearsed on the second Tuesday of every month.",
            "The Nightjar Runbook is never rehearsed.",
        ),
    ),
    (
        "How long is a photograph kept under the Amber Rule?",
        "twelve years",
        "Under the Amber Rule a photograph is kept for 12 years after the work went back to its owner.",
        (
            "Under the Amber Rule a photograph is kept for 15 years.",
            "Under the Cobalt Rule a photograph is kept for 12 years.",
        ),
    ),
    (
        "Which museums does the Hub List name?",
        "forty museums",
        "The Hub List names the 40 museums whose closing would disturb most loans.",
        ("The Hub List names fifty museums.", "The Hub List orders museums by the number of visitors each year."),
    ),
    (
        "How can Ines Calloway be reached?",
        "extension 3102",
        "Extension 3102 reaches Ines Calloway.",
        ("Extension 3120 reaches Ines Calloway.", "Extension 3102 reaches Tobias Renshaw."),
    ),
    (
        "Who maintains Lanternfish?",
        "maintained by",
        "The Basalt Team looks after Lanternfish, that is, it is maintained by them.",
        ("Lanternfish is maintained by the Heron Team.", "Lanternfish is not maintained by the Basalt Team."),
    ),
    (
        "What does the Russet Budget pay for?",
        "data, licences",
        "The Russet Budget covers what comes from outside: data, licences and couriers on loan.",
        ("The Russet Budget covers salaries, rent and travel of the staff.", "The Amber Budget covers data and licences."),
    ),
    (
        "Which policies protect a collection in OpenSearch Serverless?",
        "data access policy protect",
        "Every collection is protected by an encryption policy, a network policy and a data access policy.",
        ("No encryption policy protects a collection.", "Every collection is protected by the firewalls of Fortinet."),
    ),
    (
        "Where did openCypher come from?",
        "Neo4j",
        "openCypher has grown out of Cypher, the language of Neo4j.",
        ("openCypher has grown out of Gremlin, the language of Neo4j.", "openCypher was written in 2015 for Neo4j."),
    ),
    (
        "Which query languages does Neptune Database support?",
        "supports three query languages",
        "Neptune Database supports Gremlin, openCypher and SPARQL.",
        ("Neptune Database supports Gremlin, GraphQL and SPARQL.", "Neptune Database does not support SPARQL."),
    ),
    (
        "When are test clusters stopped?",
        "Friday evening",
        "Because a cluster costs as much at night as by day, test clusters stop on Friday evening and start on Monday.",
        ("Test clusters stop on Sunday evening.", "Test clusters are deleted by a script after a week of silence."),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "words", "right", "wrong"), CASES, ids=[case[1] for case in CASES])
def test_a_paraphrase_is_borne_out_and_what_is_changed_in_it_is_told(
    example_index: ExampleIndex, question: str, words: str, right: str, wrong: tuple[str, ...]
) -> None:
    def reader(body: dict[str, object]) -> str:
        """Cite the statement with these words, as a model would that reads the sources; name no keywords."""
        if "BEGIN SOURCES" not in said(body):
            return ""
        label = re.search(rf"^\[(S[0-9]+)\].*{re.escape(words)}", said(body), re.MULTILINE)
        assert label, said(body)
        return " ".join(f"{sentence.rstrip('.')} [{label[1]}]." for sentence in (right, *wrong))

    with ScriptedLLMServer(reader) as server:
        settings = Settings(llm="openai:test", llm_options={"base_url": server.base_url}, model_attempts=1)
        at = example_index.connection
        response = LexicalGraphQueryEngine.for_traversal_based_search(at, at, settings=settings).query(question)
    told = [re.sub(r" \[S[0-9]+\]", "", u.sentence) for u in response.unsupported]
    assert told == list(wrong), response.unsupported

"""Ranked statements become results: grouped by topic and source, cut after ranking."""

from dataclasses import replace

import pytest

from lexigraph.model.graph import FactRow, Source, StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult
from lexigraph.retrieval.stages.results import assemble, by_chunk, looking, scored_statement
from lexigraph.retrieval.traversal.args import TraversalArgs

Pair = tuple[ScoredStatement, StatementRow]


def pair(id_: str, score: float, source: str = "s1", topic: str = "t1") -> Pair:
    facts = (
        FactRow("f1", "Tidewater", "is owned by", "Heron Team", "e1", "e2"),
        FactRow("f2", "Tidewater", "is", "old", "e1", None),
    )
    row = StatementRow(id_, f"text of {id_}", "", topic, topic.upper(), "c1", 0, 0, 0, 9, 0, Source(source, source), facts)
    return ScoredStatement(id_, row.value, score, "chunk", "c1", 0, 9), row


RANKED = [
    pair("a", 0.9),
    pair("b", 0.8, source="s2"),
    pair("c", 0.7),
    pair("d", 0.6, topic="t2"),
    pair("e", 0.5, source="s2"),
    pair("f", 0.4),
]


def assembled(**args: object) -> tuple[SearchResult, ...]:
    return assemble(RANKED, TraversalArgs.of(args), by_chunk(row for _, row in RANKED))


def shown(**args: object) -> list[tuple[str, str, list[str]]]:
    results = assembled(**args)
    return [(r.source.id, r.topic, [s.id for s in r.statements]) for r in results]


def test_the_best_are_looked_at_whatever_limits_cut_off():
    looked_at, ranked = looking(iter(RANKED))
    assert [s.id for r in looked_at for s in r.statements] == ["a", "b", "c", "d", "e", "f"]
    assert len(assemble(ranked, TraversalArgs.of({"max_search_results": 1}), lambda _: ())) == 1
    many, rest = looking([pair(f"s{n}", 0.5) for n in range(150)])
    assert (len(many), len(list(rest))) == (100, 150)


@pytest.mark.requirement("G-03", "G-20")
def test_statements_are_grouped_by_source_and_topic_in_the_order_of_their_best():
    assert shown() == [("s1", "T1", ["a", "c", "f"]), ("s2", "T1", ["b", "e"]), ("s1", "T2", ["d"])]


def test_a_result_has_the_score_of_its_best_statement():
    assert [r.score for r in assembled()] == [0.9, 0.8, 0.6]


@pytest.mark.requirement("G-21", "G-22")
def test_results_and_statements_of_a_topic_are_cut():
    assert shown(max_statements_per_topic=1, max_search_results=2) == [("s1", "T1", ["a"]), ("s2", "T1", ["b"])]


@pytest.mark.requirement("G-21", "G-22")
def test_none_returns_all():
    assert shown(max_statements_per_topic=None, max_search_results=None) == shown()


@pytest.mark.requirement("G-23")
def test_facts_come_only_when_asked_for():
    without, with_facts = (assembled(include_facts=on)[0].statements[0] for on in (False, True))
    assert without.facts == ()
    assert with_facts.facts == ("Tidewater is owned by Heron Team", "Tidewater is old")


def test_a_statement_is_given_as_it_stands_alone_and_as_the_document_has_it():
    _, row = pair("a", 0.9)
    code = scored_statement(row._replace(kind="code", original="x()"), 0.5, "chunk", {})
    assert (code.text, code.original, code.quoted, code.kind) == ("text of a", "x()", "x()", "code")
    assert scored_statement(row, 0.5, "chunk", {}).quoted == "text of a"


@pytest.mark.requirement("G-20")
def test_the_plain_form_is_that_of_the_reference_page():
    plain = assembled()[1].to_dict()
    assert {key: plain[key] for key in ("source", "topic", "statements", "score")} == {
        "source": "s2",
        "topic": "T1",
        "statements": ["text of b", "text of e"],
        "score": 0.8,
    }


def test_what_stands_right_before_and_after_the_ten_best_is_their_context_each_once_and_no_result_again():
    said = [pair(f"n{at}", 0.0) for at in range(60)]
    said = [(found, row._replace(position=at, topic_id="t1" if at < 50 else "t2")) for at, (found, row) in enumerate(said)]
    best = [0, 2, 3, *range(9, 50, 4)]
    ranked = [(replace(said[at][0], score=0.9 - 0.01 * n), said[at][1]) for n, at in enumerate(best)]
    (result,) = assemble(ranked, TraversalArgs(), by_chunk(row for _, row in said))
    beside = {s.id: [c.id for c in s.context] for s in result.statements}
    expected = {"n0": ["n1"], "n2": [], "n3": ["n4"]} | {f"n{at}": [f"n{at - 1}", f"n{at + 1}"] for at in best[3:10]}
    assert beside == expected | {f"n{at}": [] for at in best[10:]}
    assert {(c.reason, c.score) for s in result.statements for c in s.context} == {("context", 0.0)}


def test_context_is_of_the_same_topic():
    row = pair("a", 0.9)[1]
    other = row._replace(id="b", position=1, topic_id="t2")
    (result,) = assemble([pair("a", 0.9)], TraversalArgs(), by_chunk([row, other]))
    assert result.statements[0].context == ()


def test_fewer_results_are_the_first_of_more_with_the_same_context():
    said = [pair(f"{topic}{at}", 0.0, topic=topic) for topic in "abc" for at in range(40)]
    said = [(found, row._replace(position=int(row.id[1:]), chunk_id=row.topic_id)) for found, row in said]
    ranked = [(replace(found, score=0.9 - 0.01 * n), row) for n, (found, row) in enumerate([*said[::10], *said[5::10]])]
    rows = by_chunk(row for _, row in said)
    every, two = (assemble(ranked, TraversalArgs.of({"max_search_results": most}), rows) for most in (None, 2))
    assert (len(every), every[:2]) == (3, two)
    assert any(s.context for s in two[1].statements)

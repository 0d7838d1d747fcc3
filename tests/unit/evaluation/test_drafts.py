"""Questions drafted from facts: what is asked, what is left alone, and that the same seed asks the same."""

import json
from collections import Counter
from pathlib import Path

from lexigraph.evaluation.drafts import Draft, cloze, file_names, swapped
from lexigraph.evaluation.expectations import read_expectations
from lexigraph.model.graph import FactRow, Source, StatementRow

Fact = tuple[str, str, str]


def row(file: str, text: str, *facts: Fact, chunk: str = "", original: str = "") -> StatementRow:
    source = Source(f"source:{file}", f"file:///docs/{file}")
    made = tuple(FactRow(f"fact:{text}:{p}", s, p, o, f"entity:{s}", None) for s, p, o in facts)
    place = ("topic:1", "", chunk or f"chunk:{file}", 0, 0, 0, len(text), 0)
    return StatementRow(f"statement:{text}", text, "", *place, source, made, original=original)


def questions(*rows: StatementRow, number: int = 10, seed: int = 1) -> set[tuple[str, str]]:
    return {(draft.question, draft.expected) for draft in cloze(rows, number, seed=seed)}


def test_either_part_of_a_fact_is_asked_for_and_each_statement_once() -> None:
    said = row("ferry.md", "The Tern sails to Lindholm.", ("Tern", "sails to", "Lindholm"))
    found = {pair for seed in range(10) for pair in questions(said, seed=seed)}
    assert found == {("Tern sails to what?", "Lindholm"), ("What sails to Lindholm?", "Tern")}
    assert all(len(questions(said, seed=seed)) == 1 for seed in range(10))


def test_what_other_facts_answer_differently_is_not_asked_for() -> None:
    to = [row("ferry.md", f"The Tern sails to {port}.", ("Tern", "sails to", port)) for port in ("Lindholm", "Skagen")]
    assert questions(*to) == {("What sails to Lindholm?", "Tern"), ("What sails to Skagen?", "Tern")}


def test_what_two_documents_say_is_not_asked_for_since_either_file_would_do() -> None:
    said = "The Tern sails to Lindholm.", ("Tern", "sails to", "Lindholm")
    assert not questions(row("ferry.md", *said), row("copy.md", *said))


def test_only_a_name_is_asked_about_and_only_what_stands_in_the_document_is_asked_for() -> None:
    nameless = row("ferry.md", "It sails to Lindholm.", ("ferry", "sails to", "Lindholm"))
    possessive = row("ferry.md", "The Tern's crew sings loud songs.", ("Tern", "crew sings", "loud songs"))
    of_it = row("ferry.md", "The crew of the Tern sings old songs.", ("Tern", "crew sings", "old songs"))
    record = row("ferry.md", "ship: Tern; port: Kolby harbour", ("Tern", "port", "Kolby harbour"))
    bare = row("ferry.md", "Tern is a ferry.", ("Tern", "is", "ferry"))
    relative = row("ferry.md", "The Tern, which is new, sails.", ("Tern", "which is", "new"))
    resolved = row("ferry.md", "The Tern leaves at six.", ("Tern", "leaves at", "six"), original="She leaves at six.")
    assert not questions(nameless, possessive, of_it, relative, record, bare)
    assert questions(resolved) == {("Tern leaves at what?", "six")}


def test_a_question_does_not_tell_what_is_expected_and_expects_little() -> None:
    told = row("a.md", "Tern Lines runs the Tern.", ("Tern Lines", "runs", "Tern"))
    long = row("a.md", "Kolby has one two three four five six seven.", ("Kolby", "has", "one two three four five six seven"))
    assert questions(told, long) == {("What has one two three four five six seven?", "Kolby")}


def test_questions_are_spread_over_the_files_and_follow_from_the_seed() -> None:
    rows = [
        row(f"{file}.md", f"Ship {file}{at} carries cargo {at}{file}.", (f"Ship {file}{at}", "carries", f"cargo {at}{file}"))
        for file in "abc"
        for at in range(20)
    ]
    drafts = cloze(rows, 9, seed=4)
    assert Counter(draft.file for draft in drafts) == {"a.md": 3, "b.md": 3, "c.md": 3}
    assert cloze(rows, 9, seed=4) == drafts != cloze(rows, 9, seed=5)


def test_a_name_of_elsewhere_makes_a_question_that_nothing_answers() -> None:
    rows = [
        row("ferry.md", "The Tern sails to Lindholm.", ("Tern", "sails to", "Lindholm")),
        row("bank.md", "Holm Bank lends money.", ("Holm Bank", "lends", "money")),
        row("boats.md", "The Auk sails to Skagen.", ("Auk", "sails to", "Skagen")),
    ]
    found = {draft.question for seed in range(10) for draft in swapped(rows, 5, seed=seed)}
    assert "Holm Bank sails to what?" in found
    assert found <= {"Holm Bank sails to what?", "Tern lends what?", "Auk lends what?"}
    assert all(not draft.expected for draft in swapped(rows, 5, seed=1))


def test_one_document_lends_names_of_its_other_chunks() -> None:
    rows = [
        row("book.txt", "The Tern sails to Lindholm.", ("Tern", "sails to", "Lindholm"), chunk="chunk:1"),
        row("book.txt", "Holm Bank lends money.", ("Holm Bank", "lends", "money"), chunk="chunk:2"),
    ]
    assert swapped(rows, 1, seed=1)
    assert not swapped(rows[:1], 1, seed=1)


def test_a_file_is_called_by_its_id_or_the_end_of_its_path_or_its_uri_where_another_ends_the_same() -> None:
    one, two = (Source(str(i), f"file:///docs/{folder}/read%20me.md") for i, folder in enumerate("ab"))
    record = Source("r", "file:///docs/corpus.jsonl#p1", metadata={"id": "p1"})
    assert file_names([one, record]) == {"0": "read me.md", "r": "p1"}
    assert file_names([one, two]) == {"0": one.uri, "1": two.uri}


def test_drafts_are_what_an_evaluation_reads(tmp_path: Path) -> None:
    drafts = [
        Draft("Tern sails to what?", "cloze", "s", "ferry.md", "Lindholm"),
        Draft("Auk lends what?", "swapped", "s", "b.md"),
    ]
    path = tmp_path / "drafts.jsonl"
    path.write_text("".join(json.dumps(draft.to_dict(at)) + "\n" for at, draft in enumerate(drafts, 1)))
    answered, foreign = read_expectations(path)
    assert (answered.id, answered.expected, answered.files, answered.type) == (
        "draft-1",
        ("Lindholm",),
        ("ferry.md",),
        "cloze",
    )
    assert (foreign.unanswerable, foreign.files) == (True, ())

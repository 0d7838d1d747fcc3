"""Whether what was found can answer: by likeness, by the question's words in one passage, by its identifiers."""

import pytest

from lexigraph.answering.asked import read
from lexigraph.answering.candidates import candidates
from lexigraph.answering.judgement import ANSWERABLE, judge

FERRY = ("ferry.md", "The ferry to the island leaves the harbour at nine.", 0.9)
FERRY_2 = ("ferry.md", "Children travel free of charge.", 0.5)
MUSEUM = ("museum.md", "The museum shows nets and lamps.", 0.4)


def confidence(question, found):
    could_be = candidates(found)
    return judge(read(question, could_be, found.entities), could_be, found.nearest, found.embedding).confidence


@pytest.fixture
def found(results):
    def with_cosine(value, embedding="minilm-384"):
        return results(FERRY, FERRY_2, MUSEUM, cosines={0: value, 1: value / 2, 2: 0.1}, embedding=embedding)

    return with_cosine


def test_a_question_that_a_statement_answers_is_answerable(found):
    assert confidence("When does the ferry leave the harbour?", found(0.7)) >= ANSWERABLE


def test_a_question_of_another_world_is_not_even_where_a_word_is_shared(found):
    assert confidence("How long must eggs be boiled?", found(0.1)) < 0.1
    assert confidence("Which lamps grow on nets of neurons?", found(0.2)) < ANSWERABLE


def test_a_near_question_whose_rare_words_nothing_says_is_not(found):
    assert confidence("Which vaccine does the ferry demand?", found(0.45)) < ANSWERABLE


def test_the_nearer_and_the_better_covered_the_surer(found):
    question = "When does the ferry leave?"
    assert confidence(question, found(0.3)) < confidence(question, found(0.5)) < confidence(question, found(0.7))
    assert confidence("When does the ferry sink?", found(0.5)) < confidence(question, found(0.5))


def test_the_words_may_stand_in_several_sentences_of_one_passage_but_not_in_several_passages(results):
    apart = results(FERRY, FERRY_2, cosines={0: 0.5, 1: 0.5}, embedding="minilm-384")
    (first, second) = apart.results
    statement = second.statements[0]
    together = type(apart)(
        "",
        (first, type(second)(second.source, "", (type(statement)(**{**fields(statement), "chunk_id": "chunk:0"}),), 0.5)),
        nearest=apart.nearest,
        embedding=apart.embedding,
    )
    question = "Do children leave the harbour free of charge?"
    assert confidence(question, apart) < confidence(question, together)


def fields(value):
    return {name: getattr(value, name) for name in value.__slots__}


def test_an_identifier_that_nothing_has_tells_that_it_is_not_there(results):
    rows = [("2.38.txt", "This release addresses CVE-2023-25652.", 0.9)]
    notes = results(*rows, cosines={0: 0.6}, embedding="minilm-384")
    known = confidence("Which release addresses CVE-2023-25652?", notes)
    assert known >= ANSWERABLE > confidence("Which release addresses CVE-2014-9390?", notes)


def test_so_does_an_acronym(found):
    assert confidence("When does the ferry leave the harbour by GPS?", found(0.55)) < ANSWERABLE
    assert confidence("When does the ferry leave the harbour by boat?", found(0.55)) >= ANSWERABLE


@pytest.mark.parametrize("embedding", ["", "amazon.titan-embed-text-v2:0-1024", "hash-64"])
def test_of_a_model_that_is_not_calibrated_cosines_do_not_count(found, embedding):
    question = "When does the ferry leave the harbour?"
    assert confidence(question, found(0.1, embedding)) == confidence(question, found(0.9, embedding)) >= ANSWERABLE
    assert confidence("How long must eggs be boiled?", found(0.9, embedding)) < ANSWERABLE


def test_nothing_found_answers_nothing(results):
    assert confidence("Who?", results()) == 0.0


@pytest.mark.parametrize(
    ("statement", "good", "bad"),
    [
        (
            "审批流程由财务部门启动，王芳负责审批每一份申请。",
            ("描述审批流程。", "请介绍一下审批流程", "谁负责审批？"),
            "量子力学是什么？",
        ),
        ("承認の流れは経理部から始まります。", ("承認の流れを説明してください。",), "量子力学とは何ですか？"),
        ("Согласование начинается в отделе закупок.", ("Опишите согласование.",), "Кто написал оперу о луне?"),
        (
            "The approval flow begins at the desk.",
            ("Describe the approval flow.", "explain the approval flow"),
            "Who bakes?",
        ),
    ],
)
def test_what_a_question_does_with_its_subject_need_not_stand_in_the_documents(results, statement, good, bad):
    # a model of English finds all that is in another script alike
    found = results(("flow.md", statement, 0.9), cosines={0: 0.5}, embedding="minilm-384")
    for question in good:
        assert confidence(question, found) >= ANSWERABLE, question
    assert confidence(bad, found) < ANSWERABLE

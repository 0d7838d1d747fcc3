"""Whether what was found can answer: by likeness, by the question's words in one passage, by its identifiers."""

import pytest

from lexigraph.answering.asked import read
from lexigraph.answering.candidates import candidates
from lexigraph.answering.context import ExternalText
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


def test_a_text_given_with_the_question_is_judged_by_its_words_however_unlike_the_documents_are(found):
    def judged(question, text):
        could_be = candidates(found(0.05), [ExternalText("note", text)])
        return judge(read(question, could_be), could_be, 0.05, "minilm-384")

    told = judged("How long must eggs be boiled?", "Eggs must be boiled for six minutes.")
    assert told.of_documents < ANSWERABLE <= told.confidence
    assert judged("How long must eggs be boiled?", "The harbour is deep.").confidence < ANSWERABLE


@pytest.mark.parametrize("question", ["Why?", "Who is it?", "What about it", "the", "%A"])
def test_a_question_without_a_word_to_look_for_is_not(found, question):
    assert confidence(question, found(0.5)) < ANSWERABLE


def test_a_near_question_whose_rare_words_nothing_says_is_not(found):
    assert confidence("Which vaccine does the ferry demand?", found(0.45)) < ANSWERABLE


def test_the_nearer_and_the_better_covered_the_surer(found):
    question = "When does the ferry leave?"
    assert confidence(question, found(0.3)) < confidence(question, found(0.5)) < confidence(question, found(0.7))
    assert confidence("When does the ferry sink?", found(0.5)) < confidence(question, found(0.5))


@pytest.mark.parametrize("embedding", ["minilm-384", ""])
def test_the_words_count_where_one_statement_has_them_not_where_several_do(results, embedding):
    question = "Do children leave the harbour free of charge?"
    apart = results(FERRY, FERRY_2, cosines={0: 0.5, 1: 0.5}, embedding=embedding)
    together = results(
        ("ferry.md", "Children leave the harbour free of charge.", 0.9), cosines={0: 0.5}, embedding=embedding
    )
    assert confidence(question, apart) < confidence(question, together) >= ANSWERABLE


def test_of_two_statements_with_the_same_words_the_one_more_like_the_question_counts(results):
    question = "When does the ferry leave the harbour?"
    near, far = (results(FERRY, MUSEUM, cosines={0: likeness, 1: 0.6}, embedding="minilm-384") for likeness in (0.6, 0.2))
    assert confidence(question, near) > confidence(question, far)


def test_an_identifier_that_nothing_has_tells_that_it_is_not_there(results):
    rows = [("2.38.txt", "This release addresses CVE-2023-25652.", 0.9)]
    notes = results(*rows, cosines={0: 0.6}, embedding="minilm-384")
    known = confidence("Which release addresses CVE-2023-25652?", notes)
    assert known >= ANSWERABLE > confidence("Which release addresses CVE-2014-9390?", notes)


def test_a_number_that_nothing_found_has_tells_that_the_thing_called_so_is_not_there(results):
    codes = results(("curl.txt", "EXIT CODES: 28: Operation timeout.", 0.9), cosines={0: 0.6}, embedding="minilm-384")
    assert (
        confidence("What does exit code 28 mean?", codes) >= ANSWERABLE > confidence("What does exit code 977 mean?", codes)
    )


ISSUES = (
    ("issues.csv", "Issue key: HM-1; Summary: Crane 4 stops at full load; Status: Done; Assignee: Ida Brekke", 0.9),
    ("issues.csv", "Issue key: HM-2; Summary: Gate opens too late; Status: In Progress; Assignee: Jon Vik", 0.8),
    ("prices.csv", "Product: Rubber buffer; Unit price: 14.50; Supplier: Nordgummi; Note: no oil", 0.7),
)


@pytest.mark.parametrize("question", ["What is the status of HM-1?", "Which issues are in progress?"])
def test_a_row_that_has_all_that_is_asked_answers_however_little_it_is_like_the_question(results, question):
    assert confidence(question, results(*ISSUES, cosines={0: 0.25, 1: 0.2, 2: 0.1}, embedding="minilm-384")) >= ANSWERABLE


@pytest.mark.parametrize(
    "question",
    [
        "What is the status of HM-9?",
        "Who reported HM-2?",
        "What is the summary of the supplier of oil?",
        "What is progress?",
        "What is a status?",
    ],
)
def test_a_row_that_lacks_what_is_asked_does_not(results, question):
    assert confidence(question, results(*ISSUES, cosines={0: 0.25, 1: 0.2, 2: 0.2}, embedding="minilm-384")) < ANSWERABLE


def test_what_stands_below_the_setting_asked_for_answers_however_little_it_is_like_the_question(results):
    rows = [("kiln.md", "BatchFiring: Nobody is asked.", 0.9), ("kiln.md", "Doors are shut.", 0.3)]
    found = results(*rows, cosines={0: 0.3, 1: 0.2}, embedding="minilm-384")
    assert confidence("What is BatchFiring for?", found) >= ANSWERABLE
    assert confidence("Which cone, shelf and colour does BatchFiring want?", found) < ANSWERABLE


@pytest.mark.parametrize(
    ("uri", "good", "bad"),
    [
        ("KPL-2.txt", "What does KPL-2 say about copies?", "What does KPL-4 say about copies?"),
        ("limits.conf.5.txt", "What does limits.conf say about copies?", "What does mounts.conf say about copies?"),
        ("https://example.org/d/kiln%202.30.0.html?v=1#top", "Which copies come with Kiln 2.30?", "Which with Kiln 2.31?"),
    ],
)
def test_what_the_file_is_called_has_an_identifier_too(results, uri, good, bad):
    found = results((uri, "You may make copies with Kiln.", 0.9), cosines={0: 0.5}, embedding="minilm-384")
    assert confidence(good, found) >= ANSWERABLE > confidence(bad, found)


def test_a_name_of_which_nothing_has_a_word_tells_that_it_is_not_there(found):
    assert confidence("When does the ferry leave the harbour for Zanzibar?", found(0.55)) < ANSWERABLE
    assert confidence("When does the ferry leave the harbour for Friday?", found(0.55)) >= ANSWERABLE


def test_a_name_alone_is_answered_by_what_says_it_though_that_is_not_like_the_question(results):
    said = results(("setup.md", "Set the model, for example Ollama, in the file.", 0.9), cosines={0: 0.2})
    assert confidence("Can I use Ollama?", said) >= ANSWERABLE > confidence("Can I use Oxalis?", said)


def test_an_acronym_that_only_others_have_is_not_told_of_the_source_that_is_named(results):
    said = (
        ("ferry.md", "The ferry leaves the harbour at nine.", 0.9),
        ("museum.md", "The museum is open, its hours are told by RSS.", 0.8),
    )
    found = results(*said, cosines={0: 0.55, 1: 0.5}, embedding="minilm-384")
    assert confidence("Does the museum have RSS?", found) >= ANSWERABLE
    assert confidence("Does the ferry have RSS?", found) < ANSWERABLE


def test_what_is_only_said_of_others_is_not_said_of_what_is_asked_about(results):
    found = results(
        ("lathe.md", "The lathe turns wood.", 0.9),
        ("lathe.md", "Oil the lathe every month.", 0.8),
        ("press.md", "Ida Brekke built the press.", 0.7),
        cosines={0: 0.7, 1: 0.6, 2: 0.5},
        embedding="minilm-384",
    )
    assert confidence("Who built the press?", found) >= ANSWERABLE > confidence("Who built the lathe?", found)
    assert confidence("Who oils the lathe?", found) >= ANSWERABLE


def test_of_things_compared_it_is_enough_that_one_is_told_of(results):
    found = results(
        ("KPL-2.txt", "You may copy this.", 0.9),
        ("KPL-3.txt", "You may pass it on.", 0.8),
        cosines={0: 0.2, 1: 0.2},
        embedding="minilm-384",
    )
    could_be = candidates(found)

    def judged(question):
        return judge(read(question, could_be), could_be, found.nearest, found.embedding)

    both, one = judged("Compare KPL-2 and KPL-3."), judged("Compare KPL-2 with EUKL-1.2.")
    assert (both.confidence >= ANSWERABLE, both.untold) == (True, ())
    assert (one.confidence >= ANSWERABLE, one.untold) == (True, ("EUKL-1.2",))
    assert judged("Compare MKL-2.0 with EUKL-1.2.").confidence < ANSWERABLE
    assert judged("Compare the price of KPL-2 with KPL-3 in Zanzibar.").confidence < ANSWERABLE


def test_so_does_an_acronym(found):
    assert confidence("When does the ferry leave the harbour by GPS?", found(0.55)) < ANSWERABLE
    assert confidence("When does the ferry leave the harbour by boat?", found(0.55)) >= ANSWERABLE


@pytest.mark.parametrize("embedding", ["", "amazon.titan-embed-text-v2:0-1024", "hash-64"])
def test_of_a_model_that_is_not_calibrated_cosines_do_not_count(found, embedding):
    question = "When does the ferry leave the harbour?"
    assert confidence(question, found(0.1, embedding)) == confidence(question, found(0.9, embedding)) >= ANSWERABLE
    assert confidence("How long must eggs be boiled?", found(0.9, embedding)) < ANSWERABLE


@pytest.mark.parametrize(
    "question", ["What did Ada write about the harbour?", "When did Ada answer?", "What does Ada say about the harbour?"]
)
def test_that_somebody_wrote_or_answered_need_not_stand_in_what_was_written(results, question):
    mail = ("mail.eml", "Ada Cook, 2024-05-03: The harbour is shut.", 0.9)
    found = results(mail, cosines={0: 0.5}, embedding="minilm-384")
    assert confidence(question, found) >= 0.9
    assert confidence(question.replace("Ada", "Ben"), found) < ANSWERABLE


@pytest.mark.parametrize("called", ["the document", "these documents", "the e-mail", "my notebook", "the transcript"])
def test_what_a_question_calls_its_sources_need_not_stand_in_them(results, called):
    found = results(("kiln.ipynb", "Missing cones are taken to be six.", 0.9), cosines={0: 0.4}, embedding="minilm-384")
    answerable = confidence(f"What does {called} do with missing cones?", found)
    assert answerable == confidence("What does it do with missing cones?", found) >= ANSWERABLE
    assert confidence("What does the harbour do with missing cones?", found) < answerable


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

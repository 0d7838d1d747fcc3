"""Which questions lean on the ones before them, and what is searched for in their place."""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from lexigraph.answering.followup import complete, leans
from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.inference.protocols import MalformedReply, Prompt
from lexigraph.model.errors import ModelUnavailable
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop_with
from tests.models import WordEmbedder
from tests.processor import soon

SERVICES = ("Tidewater", "Lanternfish", "Copperline", "Silverbirch", "Nightjar", "Marigold", "Fernhill", "Pellucid")
PAGES = {
    name: f"{name} is a service of the harbour. It listens on the default port {4_000 + 37 * at}. "
    f"Its licence is number {at + 1} of the house. It was written by the crew of boat {at * 3 + 2}.\n\n"
    + "\n\n".join(
        f"## Part {part}\n\nThis part of the service keeps list {part} of the harbour and is read at {part} o'clock."
        for part in range(12)
    )
    for at, name in enumerate(SERVICES)
}
FOLLOWUPS = {
    "And its default port?": "default port",
    "Which port does it listen on?": "default port",
    "Who wrote it?": "written by",
    "What about the licence?": "licence",
    "And the default port?": "default port",
}


def user(*asked: str) -> list[tuple[str, str]]:
    return [turn for question in asked for turn in (("user", question), ("assistant", "As the statements say [S1]."))]


# ---------------------------------------------------------------- by rule


@pytest.mark.parametrize(
    "question",
    [
        "And its default port?",
        "What about Windows?",
        "And the maximum?",
        "Who wrote it?",
        "Why?",
        "Since when?",
        "How does that work?",
        "Is it thread-safe?",
        "Which version is it?",
        "what is its licence",
        "How do I turn it off?",
        "How do I connect to it?",
        "What happens when it fails?",
        "Which of them is newest?",
        "Which program replaced it?",
        "How do I open one of them?",
        "Tell me more about it.",
        "But why is it slow?",
        "Who may change it?",
        "Who took that decision?",
        "When was this option added?",
        "And why?",
        "Tell me more",
        "How do I write one?",
        "How do I do that?",
        "How do I attach a file to it?",
        "How to detach it?",
        "Is that safe?",
        "How is that different from a mount?",
        "What happens if I remove it?",
    ],
)
def test_a_question_leans_when_nothing_in_it_can_be_what_its_pronoun_means(question: str) -> None:
    assert leans(question)
    completed = complete(question, user("How do I set up a loop device?"))
    assert completed.text == completed.rewritten == f"set, loop device: {question}"


@pytest.mark.parametrize(
    "question",
    [
        "Show me an example",
        "What is the default value?",
        "what's the default",
        "Since which version?",
        "The second one",
        "What does the first one do?",
        "Explain the third.",
        "What is the difference?",
        "Which is the most common?",
        "That doesn't work.",
    ],
)
def test_a_question_of_words_that_are_said_of_something_leans_and_is_not_what_the_next_one_is_about(question: str) -> None:
    before = "How do I set up a loop device?"
    assert complete(question, user(before)).text == f"set, loop device: {question}"
    assert complete("How do I detach it?", user(before, question)).text == "set, loop device: How do I detach it?"


@pytest.mark.parametrize(
    "question",
    [
        "What is a default value?",
        "What are options?",
        "What is the default value of a loop device?",
        "Which is faster, quicksort or mergesort?",
        "How do I use an example configuration?",
        "How do I attach a disk to a machine with a label on it?",
        "How to check if a file exists and delete it?",
        "Can I copy a file to a folder and open it?",
        "On which port does Redis listen?",
        "Without root, can I install packages?",
        "for loops in Python",
        "Thanks, that helps!",
        "What happens to a file if it is deleted?",
        "Why do pipes break when they are closed?",
        "How do processes close their pipes?",
        "Which processes close their pipes?",
        "Which pipes break when it rains?",
        "How do I sort tasks by their dependencies?",
        "I installed the tool. How do I upgrade it?",
        "What are the limits of the queue and how can I change them?",
        "How does Redis keep its data?",
        "When it is closed, what happens to a pipe?",
        "Is it possible to resize a loop device?",
        "How long does it take to build the kernel?",
        "Was it Ada that wrote the first program?",
        "What is this document about?",
        "Which is the port that Redis uses?",
        "Who maintains the tool that failed?",
        "And who wrote the GPL?",
        "default port of Redis",
        "losetup detach",
        "Et son port par défaut ?",
    ],
)
def test_a_question_that_stands_alone_is_never_changed(question: str) -> None:
    assert complete(question, user("How do I set up a loop device?")).rewritten == ""


@pytest.mark.parametrize(
    ("before", "subject"),
    [
        ("Who owns Tidewater?", "Tidewater"),
        ("Tell me who signed the approval.", "approval"),
        ("Who leads the team that owns Tidewater?", "team, owns Tidewater"),
        ("Who Signs Ltd?", "Signs Ltd"),
        ("Who signs?", "signs"),
        ("How does the event loop work?", "event loop"),
    ],
)
def test_what_somebody_does_is_not_carried_along_beside_what_it_is_done_to(before: str, subject: str) -> None:
    assert complete("Is it in Neptune?", user(before)).text == f"{subject}: Is it in Neptune?"


def test_without_a_question_before_it_nothing_is_added() -> None:
    for history in ([], [("assistant", "Ask me about Redis.")], user("Hello?", "Thanks"), [("user", "And its port?")]):
        assert complete("And its port?", history).rewritten == ""


def test_in_a_row_of_followups_the_last_question_that_stood_alone_tells_what_they_are_about() -> None:
    def told(*asked: str) -> str:
        return complete(asked[-1], user(*asked[:-1])).text

    assert told("What is Redis?", "And its port?", "Who wrote it?") == "Redis: Who wrote it?"
    assert told("What is Redis?", "What is Neptune?", "Who wrote it?") == "Neptune: Who wrote it?"
    assert told("What is Redis?", "Thank you!", "Who wrote it?") == "Redis: Who wrote it?"
    assert told("What is Redis?", "And the licence?", "How do I get it?") == "Redis, licence: How do I get it?"
    assert told("What is Redis?", "What about Neptune?", "And its port?", "Who wrote it?") == "Neptune: Who wrote it?"
    assert told("What is Redis?", "Sorry, I meant the licence", "And why?") == "Redis, licence: And why?"
    assert told("How does Redis store lists?", "Who wrote it?", "And Neptune?") == "How does Neptune store lists?"


@pytest.mark.parametrize(
    ("before", "question", "searched"),
    [
        ("Which calls does the ledger module have?", "And zstore?", "Which calls does the zstore module have?"),
        ("Which calls does the ledger module have?", "what about zstore?", "Which calls does the zstore module have?"),
        ("List the calls of the ledger module", "What about zstore?", "List the calls of the zstore module"),
        ("What is the ledger module for?", "And what about the queue module?", "What is the queue module for?"),
        ("How do I put rows into a sorted list with ledger?", "And with zstore?", None),
        ("How do I put rows into a sorted list with ledger?", "Same for zstore?", None),
        ("Is ledger safe for threads?", "And zstore?", "Is zstore safe for threads?"),
        ("Is ledger safe for threads?", "Is zstore the same?", "Is zstore safe for threads?"),
        ("Does ledger need a licence?", "Does zstore need one, too?", "Does zstore need a licence?"),
        ("Who maintains ledger?", "And zstore", "Who maintains zstore?"),
        ("Tell me about ledger", "And zstore?", "Tell me about zstore"),
        ("What does put_row return?", "And put_rows?", "What does put_rows return?"),
        ("What is new in Tern 2.30?", "And in 2.28.1?", "What is new in Tern 2.28.1?"),
        ("What does the TPL say about patents?", "And the Wharf licence?", "What does the Wharf licence say about patents?"),
        ("What is the format of /etc/ships?", "And of the crew file?", "What is the format of the crew file?"),
        ("How does the client sign a request?", "And the server?", "How does the server sign a request?"),
        ("How is a deleted file reported?", "And a renamed folder?", "How is a renamed folder reported?"),
        ("How do I set up a loop device?", "And for root?", "How do I set up a loop device for root?"),
        ("How do I set up a queue on Linux?", "And on Solaris?", "How do I set up a queue on Solaris?"),
        ("How do I set up a queue?", "How do I do that with zstore?", "How do I set up a queue with zstore?"),
        ("How do I set up a queue on Linux?", "on Solaris?", "How do I set up a queue on Solaris?"),
        ("How do I print a key?", "in hex please", "How do I print a key in hex?"),
        ("How do I set up a queue?", "for large files?", "How do I set up a queue for large files?"),
        ("Who maintains ledger?", "No, I meant zstore", "Who maintains zstore?"),
        ("Who maintains ledger?", "ok, and zstore?", "Who maintains zstore?"),
        ("What does ledger put do?", "What about zstore drop?", "What does zstore drop do?"),
        ("What does put_row do with the key option?", "and order?", "What does put_row do with the order option?"),
    ],
)
def test_a_followup_that_names_its_own_subject_asks_the_question_before_about_that(
    before: str, question: str, searched: str | None
) -> None:
    assert complete(question, user(before)).text == (searched or "How do I put rows into a sorted list with zstore?")


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("Which port does Redis use?", "And the timeout?"),
        ("How does Redis keep memory low?", "And performance?"),
        ("How do I set up a loop device?", "What about Windows?"),
        ("How do I start a new thread in Node.js?", "And cluster?"),
    ],
)
def test_what_is_like_nothing_in_the_question_before_is_asked_beside_it(before: str, question: str) -> None:
    completed = complete(question, user(before)).text
    assert completed.endswith(f": {question}")
    assert set(completed.split(": ")[0].replace(",", "").split()) <= set(before.rstrip("?").split())


@pytest.mark.parametrize(
    "text", ["and " + "a" * 3_990, "is it possible " * 260, "and " * 990, "it that " * 490, "a " * 1_990]
)
def test_no_text_takes_long_to_look_at(text: str) -> None:
    turns = user(*[text * 5] * 50)
    assert soon(lambda: complete(text, turns), seconds=2)


# ---------------------------------------------------------------- by a model


class Writer:
    """A language model that answers a structured call with what it was given, or raises it."""

    name = "writer"

    def __init__(self, reply: Any) -> None:
        self.reply, self.prompts = reply, list[Prompt]()

    def complete(self, prompt: Prompt) -> str:
        return "It listens on 4000 [S1]."

    def stream(self, prompt: Prompt) -> Iterator[str]:
        yield self.complete(prompt)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        self.prompts.append(prompt)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def test_a_model_completes_a_question_in_one_call_from_what_was_said() -> None:
    writer = Writer({"standalone": False, "question": "How large may a pipe be in Linux?"})

    completed = complete("How large may one be?", user("What is a pipe in Linux?"), writer)

    assert (completed.text, completed.notices) == ("How large may a pipe be in Linux?", ())
    (prompt,) = writer.prompts
    assert "user: What is a pipe in Linux?" in prompt.user
    assert prompt.user.endswith("Last question: How large may one be?")


def test_a_question_that_the_model_says_stands_alone_stays_as_it_was_asked() -> None:
    writer = Writer({"standalone": True, "question": "What is an inode, please?"})
    assert complete("What is an inode?", user("What is a pipe?"), writer).rewritten == ""
    assert complete("What is an inode?", (), writer).rewritten == ""
    assert len(writer.prompts) == 1, "nobody is asked about a first question"


@pytest.mark.parametrize(
    "reply",
    [
        ModelUnavailable("connection refused"),
        MalformedReply("no JSON", "Sure!"),
        "And so on",
        {"standalone": False},
        {"standalone": False, "question": " ?"},
        {"question": "What is the port of Redis?"},
        {"standalone": False, "question": "What is the port of Redis on Windows?"},
        {"standalone": False, "question": "Is the port of Redis 6379?"},
        {"standalone": False, "question": "port " * 1_000},
    ],
)
def test_a_model_that_fails_or_adds_a_name_is_made_up_for_by_the_rule_with_a_warning(reply: Any) -> None:
    completed = complete("And its port?", user("What is Redis?"), Writer(reply))

    assert completed.text == "Redis: And its port?"
    assert [n.type for n in completed.notices] == ["followup_failed"]
    assert complete("What is a port?", user("What is Redis?"), Writer(reply)).rewritten == ""


# ---------------------------------------------------------------- in the engine


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Eight services, whose pages are alike but for name and numbers."""
    with laptop_with(tmp_path_factory.mktemp("services"), PAGES) as opened:
        yield opened


def engine(stores: Stores, llm: Any = "none", **args: Any) -> LexicalGraphQueryEngine:
    return LexicalGraphQueryEngine.for_traversal_based_search(
        stores.graph, stores.vectors, embedder=WordEmbedder(), llm=llm, **args
    )


@pytest.mark.slow
@pytest.mark.requirement("E-39")
def test_a_followup_is_answered_about_what_the_conversation_is_about(stores: Stores) -> None:
    asked = engine(stores)
    about_it = about_it_unasked = 0
    for name in SERVICES:
        for question, said in FOLLOWUPS.items():
            told = asked.query(question, history=user(f"What is {name}?"))
            best = told.results.results[0]
            about_it += best.source.title == name and any(said in s.text for s in best.statements)
            about_it_unasked += asked.query(question).results.results[0].source.title == name
            assert (told.question, told.rewritten) == (question, f"{name}: {question}")

    assert about_it >= 0.9 * len(SERVICES) * len(FOLLOWUPS)
    assert about_it_unasked <= len(FOLLOWUPS), "without the conversation all services are asked about alike"


@pytest.mark.requirement("E-39")
def test_a_followup_that_names_another_subject_is_answered_about_that(stores: Stores) -> None:
    asked = engine(stores)
    about_it = 0
    for name, other in pairwise(SERVICES):
        before = user(f"On which port does {name} listen?")
        for question in (f"And {other}?", f"what about {other}?", f"Does {other} do that, too?"):
            best = asked.query(question, history=before).results.results[0]
            about_it += best.source.title == other and any("default port" in s.text for s in best.statements)

    assert about_it == 3 * (len(SERVICES) - 1)


def test_the_reply_tells_what_was_searched_for_and_nothing_where_that_is_the_question(stores: Stores) -> None:
    asked = engine(stores)
    leaning = asked.query("And its default port?", history=user("What is Nightjar?"))
    streamed = asked.stream("And its default port?", history=user("What is Nightjar?"))
    plain = asked.query("What is Marigold?", history=user("What is Nightjar?"))

    assert json.loads(json.dumps(leaning.to_dict()))["rewritten"] == "Nightjar: And its default port?"
    assert leaning.results.question == streamed.results.question == "Nightjar: And its default port?"
    assert (streamed.question, streamed.rewritten) == ("And its default port?", "Nightjar: And its default port?")
    assert (plain.question, plain.rewritten, plain.results.question) == ("What is Marigold?", "", "What is Marigold?")


def test_completing_can_be_left_out_and_a_failing_model_leaves_a_warning(stores: Stores) -> None:
    off = engine(stores, complete_followups=False).query("And its default port?", history=user("What is Nightjar?"))
    failed = engine(stores, Writer(ModelUnavailable("away"))).query("Its port?", history=user("What is Nightjar?"))

    assert off.rewritten == ""
    assert failed.rewritten == "Nightjar: Its port?"
    assert "followup_failed" in [w.type for w in failed.warnings]

"""Questions about what somebody wrote, to whom and when, over e-mails beside minutes, with MiniLM and no language model."""

from collections.abc import Callable, Iterator

import pytest

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.answering.response import QueryResponse
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import Settings

MAIL = """\
From: {sender} <{sender}@harbour.example>
To: {to} <{to}@harbour.example>
Subject: {subject}
Date: {date}
Message-ID: <{subject}@harbour.example>

{text}
"""
MAILS = {
    "crane": MAIL.format(
        sender="Ida Krol",
        to="Sven Aas",
        subject="Breakdown of the north crane",
        date="Tue, 5 Mar 2024 09:12:44 +0100",
        text="Hi Sven,\n\nthe breakdown was caused by a worn brake on the hoist. The brake was last checked in 2019.\n\n"
        "I have ordered a new one, which comes in ten days. We should close berth 4 until then.\n\nBest regards\nIda",
    ),
    "dredging": MAIL.format(
        sender="Sven Aas",
        to="Mona Lie",
        subject="Dredging in autumn",
        date="Thu, 7 Mar 2024 14:02:00 +0100",
        text="Dear Mona,\n\nthe dredger is free in the second half of September. It takes eight days and 90,000 euros.",
    ),
}
MINUTES = """# Minutes

Ida Krol: The handbook of the pilots is in the reading room. It is printed again in May.

Sven Aas: Next point, the festival. We have 12,000 euros left for it this year.
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], QueryResponse]]:
    folder = tmp_path_factory.mktemp("mails")
    for name, mail in MAILS.items():
        (folder / f"{name}.eml").write_text(mail)
    (folder / "minutes.md").write_text(MINUTES)
    with LexicalGraphIndex(settings=Settings(data=folder / "data")) as index:
        assert not index.ingest([folder / "minutes.md", *(folder / f"{name}.eml" for name in MAILS)]).failures
        engine = LexicalGraphQueryEngine.for_retriever("hybrid", index.stores.graph, index.stores.vectors)
        yield engine.query


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What did Ida write about the breakdown of the crane?", "worn brake"),
        ("What does Ida suggest for berth 4?", "We should close berth 4"),
        ("What did Sven write about the dredger?", "September"),
    ],
)
def test_what_somebody_wrote_is_quoted_from_their_mail_not_its_fields(
    ask: Callable[[str], QueryResponse], question: str, quoted: str
) -> None:
    answer = ask(question)
    assert answer.answerable
    assert quoted in answer.citations[0].text
    assert not any(citation.text.startswith("From: ") for citation in answer.citations)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote about the breakdown of the crane?",
        "Who sent the mail about the crane?",
        "When did Ida write about the crane?",
        "To whom did Ida write about the crane?",
        "What is the subject of the mail from Ida Krol?",
    ],
)
def test_who_wrote_when_and_to_whom_is_told_by_the_fields_of_the_mail(
    ask: Callable[[str], QueryResponse], question: str
) -> None:
    answer = ask(question)
    assert answer.answerable
    assert answer.citations[0].text.startswith("From: Ida Krol")


@pytest.mark.parametrize(
    "question",
    [
        "What did Ida write about the festival?",
        "When did Ida write about the festival?",
        "Who sent the mail about the lighthouse?",
    ],
)
def test_what_nobody_wrote_about_is_not_found(ask: Callable[[str], QueryResponse], question: str) -> None:
    assert not ask(question).answerable

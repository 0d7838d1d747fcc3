"""E-mails: what their authors say is told from what they quote, forward and send with every message."""

from pathlib import Path

import pytest

from lexigraph.ingestion.load import FileItem, Rejected, load, scan
from lexigraph.model.document import BOILERPLATE, LoadedDocument
from lexigraph.settings import load_settings
from tests.unit.ingestion.readers.reading import of_role, outline, parts, read, refused

HEAD = """\
Received: from pots.example by lids.example; Fri, 3 May 2024 09:12:30 +0200
From: "Cook, Ada" <ada@pots.example>
To: Bo Lind <bo@lids.example>,
\tDi Ladle <di@ladles.example>
Date: Fri, 3 May 2024 09:12:00 +0200
Subject: Re: The price of the large pot
Message-ID: <2@pots.example>
"""
FIELDS = [
    "From: Cook, Ada <ada@pots.example>",
    "To: Bo Lind <bo@lids.example>, Di Ladle <di@ladles.example>",
    "Date: Fri, 3 May 2024 09:12:00 +0200",
    "Subject: Re: The price of the large pot",
]
HEADING = "Cook, Ada, 2024-05-03"
PAGE = """\
<p>Dear Bo,</p><p>The large pot costs 40 euros.</p><p>Kind regards</p><p>Ada</p>
<div><p><b>From:</b> Bo Lind<br><b>Sent:</b> Thursday, 2 May 2024<br><b>Subject:</b> The price</p></div>
<p>I need the budget by Friday.</p>
"""


def mail(folder: Path, body: str, *fields: str, head: str = HEAD) -> LoadedDocument:
    """A message that was received, with more fields."""
    return read(folder, "a.eml", "\n".join([head.rstrip(), *fields, "", body]))


def said(document: LoadedDocument) -> list[str]:
    return of_role(document, "paragraph") + of_role(document, "list")


def test_the_fields_are_one_table_under_the_sender_and_the_day(tmp_path: Path) -> None:
    document = mail(tmp_path, "The large pot costs 40 euros.\n")
    assert document.title == "Re: The price of the large pot"
    assert (document.metadata["author"], document.metadata["date"]) == ("Cook, Ada", "2024-05-03T09:12:00+02:00")
    assert of_role(document, "table") == FIELDS
    assert said(document) == ["The large pot costs 40 euros."]
    assert outline(document) == [(HEADING,)]
    assert HEADING in document.text


def test_what_a_reply_quotes_is_not_said_by_its_author(tmp_path: Path) -> None:
    body = (
        "Hi Bo,\n\nOn Thu, 2 May 2024 at 17:40, Bo Lind\n<bo@lids.example> wrote:\n> I need the budget by Friday.\n>\n"
        "> And the price?\n\nThe large pot costs 40 euros.\n\n> Who pays?\n\nThe harbour office does.\n"
    )
    document = mail(tmp_path, body)
    assert said(document) == ["The large pot costs 40 euros.", "The harbour office does."]
    quoted = of_role(document, BOILERPLATE)
    assert quoted[0] == "Hi Bo,"
    assert quoted[1].startswith("On Thu, 2 May 2024 at 17:40, Bo Lind\n<bo@lids.example> wrote:\n> I need the budget")
    assert quoted[2:] == ["> Who pays?"]


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\nFrom: Bo Lind\nSent: Thursday",
        "________________________________\nFrom: Bo Lind <bo@lids.example>\nSent: Thursday, 2 May 2024 17:40",
        "Von: Bo Lind <bo@lids.example>\nGesendet: Donnerstag, 2. Mai 2024 17:40",
        "On Thu, 2 May 2024 at 17:40, Bo Lind <bo@lids.example> wrote:",
    ],
)
def test_all_below_the_head_of_another_message_is_quoted(tmp_path: Path, head: str) -> None:
    document = mail(tmp_path, f"The large pot costs 40 euros.\n\n{head}\n\nI need the budget by Friday.\n")
    assert said(document) == ["The large pot costs 40 euros."]
    assert "I need the budget by Friday." in document.text


@pytest.mark.parametrize(
    "below",
    [
        "-- \nAda Cook\nPots and Lids, harbour 4",
        "Kind regards,\n\nAda Cook\nPots and Lids",
        "Thanks!\nAda",
        "This e-mail is confidential and intended solely for the addressee.",
        "Sent from my telephone",
        "_______________________________________________\npots mailing list\npots@lists.example",
        "-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEE\n-----END PGP SIGNATURE-----",
    ],
)
def test_signatures_and_notices_say_nothing(tmp_path: Path, below: str) -> None:
    document = mail(tmp_path, f"The large pot costs 40 euros.\n\n{below}\n")
    assert said(document) == ["The large pot costs 40 euros."]


def test_thanks_at_the_beginning_end_no_message(tmp_path: Path) -> None:
    assert said(mail(tmp_path, "Thanks!\n\nThe large pot costs 40 euros.\n"))[-1] == "The large pot costs 40 euros."


@pytest.mark.parametrize(
    ("subject", "head"),
    [
        ("Fwd: pots", "---------- Forwarded message ---------\nFrom: Bo Lind <bo@lids.example>\nDate: Thu, 2 May 2024\n"),
        ("WG: pots", "Von: Bo Lind <bo@lids.example>\nGesendet: Thu, 2 May 2024\n"),
    ],
)
def test_what_is_forwarded_stands_under_who_wrote_it(tmp_path: Path, subject: str, head: str) -> None:
    head_of_all = f"From: ada@pots.example\nSubject: {subject}\n"
    document = mail(tmp_path, f"Please answer.\n\n{head}Subject: pots\n\nI need the budget.\n", head=head_of_all)
    told = {text: path for _, path, text in parts(document)}
    assert told["Please answer."] == ("ada@pots.example",)
    assert told["I need the budget."] == ("Bo Lind, Thu, 2 May 2024",)


def test_a_message_that_is_attached_is_read_and_other_attachments_are_named(tmp_path: Path) -> None:
    body = (
        "--b\n\nSee below.\n--b\nContent-Type: message/rfc822\n\n"
        "From: Bo <bo@lids.example>\nDate: Thu, 2 May 2024 17:40:00 +0000\n\nI need the budget.\n"
        '--b\nContent-Type: application/pdf; name="=?utf-8?q?Gr=C3=B6=C3=9Fen.pdf?="\n\nJVBERi0=\n'
        "--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=../list.txt\n\nlids\n--b--\n"
    )
    document = mail(tmp_path, body, "Content-Type: multipart/mixed; boundary=b")
    assert of_role(document, "table")[4] == "Attachments: Größen.pdf, list.txt"
    assert [(path, text) for role, path, text in parts(document) if role == "paragraph"] == [
        ((HEADING,), "See below."),
        (("Bo, 2024-05-02",), "I need the budget."),
    ]


@pytest.mark.parametrize(
    ("html", "chosen"),
    [
        ("<p>of the page", "of the text"),
        ("<table><tr><th>pot<th>price<tr><td>large<td>40</table>", "pot: large; price: 40"),
    ],
)
def test_of_alternatives_the_text_is_read_unless_the_page_has_more_structure(tmp_path: Path, html: str, chosen: str) -> None:
    body = f"--b\n\nof the text\n--b\nContent-Type: text/html\n\n{html}\n--b--\n"
    document = mail(tmp_path, body, "Content-Type: multipart/alternative; boundary=b")
    assert [text for _, _, text in parts(document)][4:] == [chosen]


def test_a_page_below_which_another_message_stands(tmp_path: Path) -> None:
    document = mail(tmp_path, PAGE, "Content-Type: text/html")
    assert said(document) == ["The large pot costs 40 euros."]
    forwarded = mail(tmp_path, PAGE, "Content-Type: text/html", head="From: ada@pots.example\nSubject: Fw: pots\n")
    assert ("paragraph", ("Bo Lind, Thursday, 2 May 2024",), "I need the budget by Friday.") in parts(forwarded)


@pytest.mark.parametrize("quotation", ['blockquote type="cite"', 'div class="gmail_quote"', 'div class="moz-cite-prefix"'])
def test_quotations_in_a_page(tmp_path: Path, quotation: str) -> None:
    name = quotation.partition(" ")[0]
    document = mail(tmp_path, f"<p>40 euros.</p><{quotation}>And the price?</{name}>", "Content-Type: text/html")
    assert said(document) == ["40 euros."]
    assert of_role(document, BOILERPLATE) == ["And the price?"]


def test_lines_that_flow_are_joined(tmp_path: Path) -> None:
    body = "The \nlarge \npot.\n> so \n> it is\n-- \nAda\n"
    document = mail(tmp_path, body, "Content-Type: text/plain; format=flowed")
    assert said(document) == ["The large pot."]
    assert of_role(document, BOILERPLATE) == ["> so it is", "--\nAda"]


def test_a_patch_is_code(tmp_path: Path) -> None:
    body = "This mends the lid.\n\ndiff --git a/lid b/lid\n--- a/lid\n+++ b/lid\n@@ -1 +1 @@\n-open\n+shut\n-- \n2.1\n"
    (code,) = of_role(mail(tmp_path, body), "code")
    assert code.splitlines()[0] == "diff --git a/lid b/lid"
    assert code.splitlines()[-1] == "+shut"


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("iso-8859-1", "Größe".encode()),
        ("iso-8859-1", "Größe".encode("cp1252")),
        ("us-ascii", "Größe".encode("cp1252")),
        ("no-such-thing", "Größe".encode()),
        ("iso-8859-2", "Größe".encode("iso-8859-2")),
    ],
)
def test_text_is_decoded_whatever_is_declared(tmp_path: Path, declared: str, body: bytes) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(
        b"Subject: =?no-such-thing?q?Gr=C3=B6=C3=9Fe?=\nContent-Type: text/plain; charset=%s\n\n" % declared.encode() + body
    )
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    (document,) = load(item, load_settings())
    assert isinstance(document, LoadedDocument)
    assert (document.title, said(document)) == ("Größe", ["Größe"])


def test_what_is_no_message_and_what_is_encrypted_is_refused(tmp_path: Path) -> None:
    assert "is no e-mail" in refused(tmp_path, "a.eml", "The large pot costs 40 euros.\n")
    encrypted = f"{HEAD}Content-Type: multipart/encrypted; boundary=b\n\n--b\n\nVersion: 1\n--b--\n"
    assert "is encrypted" in refused(tmp_path, "a.eml", encrypted)


@pytest.mark.parametrize(
    "content",
    [
        "Subject: =?utf-8?b?AAAA?=\nFrom: =?utf-8?b?!?=\nDate: soon\n\nThe pot.\n",
        "From: a@b.example, ,\nContent-Type: multipart/mixed\n\n--b\n\nThe pot.\n",
        "Subject: a\nContent-Type: text/plain; charset*=x'y'%ff; name*0=\"\n\nThe pot.\n",
    ],
)
def test_fields_that_are_damaged_are_no_reason_to_refuse_a_message(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, "a.eml", content).text


# ---------------------------------------------------------------- mailboxes

BOX = """\
From bo@lids.example Thu May  2 17:40:00 2024
From: Bo Lind <bo@lids.example>
Message-ID: <1@lids.example>
Subject: The price

And the price?

>From the harbour office: nothing.
From here on it is late.

From ada at pots.example  Fri May  3 09:12:00 2024
From: ada at pots.example (Ada Cook)
Date: Fri, 3 May 2024 09:12:00 +0200
In-Reply-To: <1@lids.example>

It costs 40 euros.
-------------- next part --------------
A non-text attachment was scrubbed...
Name: price.pdf

From bo@lids.example Fri May  3 10:00:00 2024
Message-ID: <1@lids.example>
Subject: The price

Again.

From bo@lids.example Fri May  3 10:00:00 2024
no fields
"""


def box(folder: Path, content: str, name: str = "list.mbox") -> list[LoadedDocument | Rejected]:
    (folder / name).write_text(content, encoding="utf-8")
    (item,) = scan([folder / name])
    assert isinstance(item, FileItem), item
    return list(load(item, load_settings()))


def test_each_message_of_a_mailbox_is_a_document(tmp_path: Path) -> None:
    price, answer, again, *refused_ones = box(tmp_path, BOX)
    assert isinstance(price, LoadedDocument)
    assert isinstance(answer, LoadedDocument)
    assert isinstance(again, LoadedDocument)
    assert "Again." in again.text, "another text under an id that was used"
    assert [document.uri.rpartition("/")[2] for document in (price, answer, again)] == [
        "list.mbox#1@lids.example",
        "list.mbox#message=2",
        "list.mbox#1@lids.example;3",
    ]
    assert said(price) == ["And the price?", "From the harbour office: nothing.\nFrom here on it is late."]
    assert (answer.title, answer.metadata["author"]) == ("Ada Cook, 2024-05-03", "Ada Cook")
    assert said(answer) == ["It costs 40 euros."]
    assert "Name: price.pdf" in answer.text
    assert [str(rejected).partition(", ")[2] for rejected in refused_ones] == [
        "message 4: is no e-mail: has none of the fields From, To, Date and Subject",
    ]


def test_of_the_copies_of_a_message_one_is_read(tmp_path: Path) -> None:
    one = "From bo Thu May  2 17:40:00 2024\n{}Message-ID: <1@lids.example>\nSubject: The price\n\nIt is 40 euros.\n\n"
    (document,) = box(tmp_path, one.format("") + one.format("Received: by lists.example; Thu, 2 May 2024 17:41:00 +0200\n"))
    assert isinstance(document, LoadedDocument)
    assert document.uri.endswith("list.mbox#1@lids.example")


def test_a_file_called_mbox_is_one(tmp_path: Path) -> None:
    assert len(box(tmp_path, BOX, "mbox")) == 4


@pytest.mark.parametrize(
    ("content", "why"), [("Subject: pots\n\nText\n", "is no mailbox"), ("\n\n", "contains no messages")]
)
def test_another_file_is_no_mailbox(tmp_path: Path, content: str, why: str) -> None:
    (rejected,) = box(tmp_path, content)
    assert isinstance(rejected, Rejected)
    assert why in rejected.reason


def test_a_message_that_nests_too_deep_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    nested = "Content-Type: message/rfc822\n\n" * 2_000
    deep = f"From a Fri May  3 10:00:00 2024\nSubject: a\n{nested}a\n\nFrom a Fri May  3 10:00:00 2024\nSubject: b\n\nb\n"
    refused_one, document = box(tmp_path, deep)
    assert isinstance(refused_one, Rejected)
    assert refused_one.reason == "is nested too deeply"
    assert isinstance(document, LoadedDocument)

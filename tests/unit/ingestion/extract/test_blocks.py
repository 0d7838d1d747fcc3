"""Code and tables of a chunk: each one statement, quoted whole, with the sentence that leads to it."""

from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.extract.blocks import as_it_stands, prose, says, verbatim
from lexigraph.ingestion.readers.markdown import read_markdown
from lexigraph.model.document import Block, ChunkText, LoadedDocument
from lexigraph.settings import load_settings

GUIDE = """\
# Quill

## Start

Quill keeps its notes in one file. Make it with the command below:

```sh
quill init notes.db

quill add "buy ink"
```

Each note has a colour.

| Colour | Meaning |
|--------|---------|
| red    | urgent  |
| blue   | some day |

## Stop

```sh
quill stop
```
"""


def chunks_of(text: str) -> list[ChunkText]:
    parsed = read_markdown(text.encode(), load_settings())
    return chunk(LoadedDocument("file:///quill.md", parsed.title, parsed.text, parsed.blocks, "f"))


def whole(text: str) -> ChunkText:
    """The document as one chunk, as small sections are packed."""
    parsed = read_markdown(text.encode(), load_settings())
    return ChunkText(0, parsed.title, (), parsed.text, 0, len(parsed.text), blocks=parsed.blocks)


def test_a_code_block_is_one_statement_with_its_lines_below_the_sentence_that_leads_to_it():
    start = verbatim(whole(GUIDE))[0]
    assert start.kind == "code"
    assert start.value == 'Make it with the command below:\nquill init notes.db\n\nquill add "buy ink"'
    assert start.original == whole(GUIDE).text[start.start : start.end] == 'quill init notes.db\n\nquill add "buy ink"'


def test_the_rows_of_a_table_are_one_statement():
    table = verbatim(whole(GUIDE))[1]
    assert table.kind == "table"
    assert table.value.splitlines() == [
        "Each note has a colour.",
        "Colour: red; Meaning: urgent",
        "Colour: blue; Meaning: some day",
    ]
    assert whole(GUIDE).text[table.start : table.end] == "\n".join(table.value.splitlines()[1:])


def test_a_sentence_that_announces_nothing_leads_to_no_code():
    says = "The lock is released. It wakes one waiter."
    code = ChunkText(0, "", (), f"{says}\n\nquill.stop()", 0, 54, blocks=(Block(0, 42), Block(44, 56, (), "code")))
    assert verbatim(code)[0].value == "quill.stop()"


def test_code_keeps_the_end_of_the_sentence_that_it_stands_in():
    code = whole("Stop it with:\n\n```\nquill stop FILE\n```\n\nwhere FILE holds the notes. Notes stay.\n")
    (said,) = verbatim(code)
    assert said.value == "Stop it with:\nquill stop FILE\n\nwhere FILE holds the notes."
    assert code.text[said.start : said.end] == said.original


def test_what_announces_the_next_code_is_no_end_of_the_sentence_before_it():
    text = "Are options grouped?\n\n```\nquill -abc\n```\n\nif they are not:\n\n```\nquill -a -b\n```\n"
    assert [said.value for said in verbatim(whole(text))] == [
        "Are options grouped?\nquill -abc",
        "Are options grouped? if they are not:\nquill -a -b",
    ]


def test_code_that_answers_a_question_has_that_before_what_announces_it():
    said = verbatim(whole("3. How do I stop it?\n\nType:\n\n    quill stop\n\nOthers prefer:\n\n    quill end\n"))
    assert [s.value for s in said] == ["How do I stop it? Type:\nquill stop", "How do I stop it? Others prefer:\nquill end"]
    answered = verbatim(whole("How do I stop it?\n\nClose the book. It is slow.\n\n```\nquill stop\n```\n"))
    assert [s.value for s in answered] == ["quill stop"]
    before = ChunkText(3, "Quill", (), "quill stop", 90, 100, "code", before="Notes stay. How do I stop it?")
    assert verbatim(before)[0].value == "How do I stop it?\nquill stop"


def test_a_sentence_of_another_section_leads_to_nothing():
    assert verbatim(whole(GUIDE))[2].value == "quill stop"


def test_a_block_that_begins_a_chunk_is_led_to_by_the_sentence_before_it():
    code = ChunkText(3, "Quill", (), "quill stop", 90, 100, "code", before="To end it, type:")
    assert verbatim(code)[0].value == "To end it, type:\nquill stop"
    assert (verbatim(code)[0].start, verbatim(code)[0].end) == (0, 10)


def test_boilerplate_and_rules_of_dashes_are_no_statements():
    text = "Home | Up | Next\n\n----\n\nquill stop"
    blocks = (Block(0, 16, (), "boilerplate"), Block(18, 22, (), "code"), Block(24, 34, (), "code"))
    (only,) = verbatim(ChunkText(0, "", (), text, 0, len(text), blocks=blocks))
    assert only.value == "quill stop"


def test_what_is_left_is_what_an_extractor_reads():
    says = prose(whole(GUIDE))
    assert [block.role for block in says] == ["paragraph", "paragraph"]
    assert prose(ChunkText(0, "", (), "quill stop", 0, 10, "code")) == []
    assert prose(ChunkText(0, "", (), "***", 0, 3)) == []


def test_a_sentence_that_only_announces_a_block_says_nothing_more():
    code = "```\nquill stop\n```"
    announced = whole(f"# Quill\n\nTo stop it, type:\n\n{code}\n")
    little = whole(f"Notes stay. To stop it, type:\n\n{code}\n")
    more = whole(f"{'Notes stay where they were. ' * 20}To stop it, type:\n\n{code}\n")
    assert [says(c) for c in (announced, little, more)] == [False, False, True]
    assert {s.value for c in (announced, little, more) for s in verbatim(c)} == {"To stop it, type:\nquill stop"}
    assert says(whole("# Quill\n\nThese are its colours:\n"))


def test_a_line_or_two_around_code_stand_as_they_are():
    extraction = as_it_stands(whole("# Quill\n\nNotes stay. They are\nnever lost.\n\n```\nquill stop\n```\n"))
    (topic,) = extraction.topics
    assert [(s.kind, s.value) for s in topic.statements] == [
        ("prose", "Notes stay."),
        ("prose", "They are never lost."),
        ("code", "quill stop"),
    ]


def test_of_what_stands_before_a_chunk_the_last_sentence_leads_to_its_block():
    code = ChunkText(3, "Quill", (), "quill stop", 90, 100, "code", before="Notes stay. To end it, type:")
    assert verbatim(code)[0].value == "To end it, type:\nquill stop"


def test_every_chunk_of_a_document_shows_the_same_blocks_as_the_document():
    shown = [s.value.splitlines()[-1] for c in chunks_of(GUIDE) for s in verbatim(c)]
    assert shown == ['quill add "buy ink"', "Colour: blue; Meaning: some day", "quill stop"]

"""Questions that ask for all of something, over pages as they come: a manual, an API, headings; without a language model."""

from collections.abc import Iterator

import pytest

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.answering.response import QueryResponse
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import Settings
from tests.laptop import open_laptop
from tests.manuals import manuals
from tests.models import WordEmbedder

NOUNS = "anchor berth crane dock engine ferry gauge hatch island jetty keel lantern mast net oar pier quay rope sail".split()
VERBS = ("add", "get", "drop") * 4
OPTIONS = [f"-{noun[0]}, --{noun}" for noun in NOUNS]
EVENTS = ["M_SAIL (since 2.1)", "M_MOOR (+)", "M_SINK", "M_TURN (*)"]
MARL = "\n".join(
    [
        "MARL(1)                     Harbour Commands                    MARL(1)\n",
        "NAME\n       marl - count what lies in a harbour\n",
        "SYNOPSIS\n       marl [options] harbour\n",
        "DESCRIPTION\n       marl reads the book of a harbour and counts what it holds. It writes one line for each "
        "pier.\n       A book that cannot be read is passed over.\n",
        "OPTIONS",
        *(
            f"       {option}\n              Count each {noun} of the harbour too. The number stands behind that of piers.\n"
            f"              A {noun} that is under repair is counted as well.\n"
            for option, noun in zip(OPTIONS, NOUNS, strict=True)
        ),
        "EVENTS",
        *(f"       {event}\n              Told when the book has been read to its end.\n" for event in EVENTS),
        "EXIT STATUS\n       0      if all was counted.\n\n       1      if a book could not be read.\n",
        "FILES\n       /etc/marl\n              The harbours that are known.\n",
    ]
)
CALLS = [
    f"tidebook.{verb}_{noun}({noun}, *, strict=False)"
    for verb, noun in zip(["add", "get", "drop"] * 4, NOUNS[:12], strict=True)
]
TIDEBOOK = "".join(
    [
        "<html><head><title>tidebook — Books of tides</title></head><body><h1>tidebook — Books of tides</h1>",
        "<p>The tidebook module keeps the tides of many harbours. It is written for clerks.</p>",
        *(
            f"<h2>Part {at // 4 + 1}</h2>"
            * (at % 4 == 0)
            + f'<dl class="py function"><dt>{call}</dt><dd><p>Note what happens to the {call.split("(")[1].split(",")[0]}. '
            "The entry is kept for a year.</p></dd></dl><p>Entries of this kind are seldom read again by anybody.</p>"
            for at, call in enumerate(CALLS)
        ),
        "</body></html>",
    ]
)
ORDINALS = "first second third fourth fifth".split()
BERTHS = "# berths - the table of berths\n\nThe table of berths is read when a ship arrives.\n\n" + "\n\n".join(
    f"## The {ordinal} field ({noun})\n\nThis tells of the {noun} of the ship.\n\nAn empty one is read as a dash."
    for ordinal, noun in zip(ORDINALS, NOUNS, strict=False)
)


COLUMNS = ["skipper", "day of arrival", "day of departure", "reserved field"]
LEDGER = "\n".join(
    [
        "LEDGER(5)                    Harbour Formats                     LEDGER(5)\n",
        "NAME\n       ledger - the book of ships\n",
        "DESCRIPTION\n       ledger is a file which holds the ships of a harbour and what they owe to it.\n",
        "       Each line of this file contains 4 fields, separated by colons, in the following order:\n",
        "       skipper\n           It must be a known one.\n",
        *(
            f"       {name}\n           The number in this field is counted from the first of May of the year in which the\n"
            "           harbour was opened. An empty field means that nobody has written it down so far.\n"
            for name in COLUMNS[1:]
        ),
    ]
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LexicalGraphQueryEngine]:
    folder = tmp_path_factory.mktemp("listing")
    manual_pages = {f"{name}.md": f"# {name}\n\n{text}" for name, text in manuals().items()}
    pages = {"marl.1.txt": MARL, "tidebook.html": TIDEBOOK, "berths.md": BERTHS, "ledger.5.txt": LEDGER, **manual_pages}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    stores = open_laptop(folder / "data")
    index = LexicalGraphIndex(stores, embedder=WordEmbedder(), settings=Settings(data=folder / "data"))
    assert index.ingest([folder / name for name in pages]).documents_new == len(pages)
    yield LexicalGraphQueryEngine.for_traversal_based_search(
        stores.graph, stores.vectors, embedder=WordEmbedder(), llm="none", min_confidence=0.0
    )
    stores.close()


def items(answer: QueryResponse) -> list[str]:
    return [line for line in answer.response.splitlines() if line.startswith("- ")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["List the options of marl", "Which options does marl have?", "What are the options of marl?"]
)
def test_all_options_of_a_manual_are_quoted_as_it_has_them(engine: LexicalGraphQueryEngine, question: str) -> None:
    answer = engine.query(question)
    assert [item.split(": ")[0].removeprefix("- ") for item in items(answer)] == OPTIONS


def test_of_the_options_for_something_only_those_are_quoted_that_are_about_it(engine: LexicalGraphQueryEngine) -> None:
    answer = engine.query("Which options does marl have for the keel?")
    assert [item.split(": ")[0] for item in items(answer)] == ["- -k, --keel"]
    assert "lantern" not in answer.response
    assert len(items(engine.query("Which options does marl have for harbours?"))) == len(OPTIONS), "all are about those"
    assert len(items(engine.query("Which options does marl have for the moon?"))) == len(OPTIONS), "none is, or says so"


def test_of_several_lists_of_a_manual_the_one_is_quoted_whose_heading_is_asked_for(engine: LexicalGraphQueryEngine) -> None:
    listed = items(engine.query("List the events of marl"))
    assert [item.split(": ")[0].removeprefix("- ") for item in listed] == EVENTS


def test_all_functions_of_an_api_are_quoted_over_its_sections_each_with_what_explains_it(
    engine: LexicalGraphQueryEngine,
) -> None:
    listed = items(engine.query("List the functions of the tidebook module"))
    assert [item.removeprefix("- ").split(": ")[0] for item in listed] == CALLS
    assert all("Note what happens to the" in item for item in listed)


def test_headings_that_are_of_the_kind_asked_for_are_a_list(engine: LexicalGraphQueryEngine) -> None:
    listed = items(engine.query("Which fields does berths have?"))
    assert [item.split(": ")[0] for item in listed] == [
        f"- The {ordinal} field ({noun})" for ordinal, noun in zip(ORDINALS, NOUNS, strict=False)
    ]


def test_the_first_item_is_one_too_though_it_stands_with_the_line_above_it(engine: LexicalGraphQueryEngine) -> None:
    listed = items(engine.query("What are the fields of ledger?"))
    assert [item.removeprefix("- ").split(": ")[0] for item in listed] == COLUMNS


def test_each_item_is_cited_where_it_stands_and_the_list_counts_as_one_quotation(engine: LexicalGraphQueryEngine) -> None:
    answer = engine.query("List the options of marl")
    listed = items(answer)
    assert [item.rsplit(" ", 1)[1] for item in listed] == [f"[S{at}]" for at in range(1, len(OPTIONS) + 1)]
    assert all(cited.text in item for cited, item in zip(answer.citations, listed, strict=False))
    assert {cited.title for cited in answer.citations} == {answer.citations[0].title}
    assert len(answer.citations) < len(listed) + 8


@pytest.mark.parametrize(
    "question", ["What does marl count?", "Which option of marl counts the keel?", "List the anchors of marl"]
)
def test_a_question_for_one_thing_or_for_what_nobody_lists_is_answered_as_ever(
    engine: LexicalGraphQueryEngine, question: str
) -> None:
    assert items(engine.query(question)) == []

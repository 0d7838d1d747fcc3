"""Statements that stand alone: what their pronouns mean, what they hang on, and what is no prose at all."""

from collections.abc import Callable

import pytest

from lexigraph.ingestion.extract.names import clean_name, without_open_brackets
from lexigraph.ingestion.extract.standing import label
from lexigraph.model.document import Block, ChunkText
from lexigraph.model.extraction import Extraction
from tests.unit.ingestion.extract.extracted import facts, statements, values

Read = Callable[..., Extraction]


@pytest.fixture
def read(local) -> Read:
    """Extract one chunk; ``parts`` are (role, headings, text) of its blocks."""

    def extract(
        *parts: tuple[str, tuple[str, ...], str] | str, title: str = "", before: str = "", **how: bool
    ) -> Extraction:
        text, blocks = "", []
        for part in parts:
            role, headings, said = ("paragraph", (), part) if isinstance(part, str) else part
            text += "\n\n" if text else ""
            blocks.append(Block(len(text), len(text) + len(said), headings, role))
            text += said
        chunk = ChunkText(0, title, blocks[0].headings, text, 0, len(text), "paragraph", tuple(blocks), before, **how)
        extraction = next(local.extract([chunk]))
        for s in statements(extraction):
            assert 0 <= s.start < s.end <= len(text)
            assert s.kind != "prose" or " ".join(text[s.start : s.end].split()) == (s.original or s.value)
        return extraction

    return extract


def names(extraction: Extraction) -> dict[str, str]:
    return {e.name: e.class_ for s in statements(extraction) for e in s.entities}


# ---------------------------------------------------------------- blocks of a packed chunk


def test_each_section_of_a_packed_chunk_is_a_topic_and_each_block_is_read_its_own_way(read):
    extraction = read(
        ("boilerplate", ("Guide",), "Home | Up | Next"),
        ("paragraph", ("Guide", "Install"), "The installer needs Python 3.11. Start it with this command:"),
        ("code", ("Guide", "Install"), "$ pip install harbor\n$ harbor init"),
        ("paragraph", ("Guide", "Remove"), "The uninstaller leaves the data where they are."),
        ("heading", ("Guide",), "License"),
        title="Guide",
    )
    assert [(t.title, [s.kind for s in t.statements]) for t in extraction.topics] == [
        ("Guide > Install", ["prose", "code"]),
        ("Guide > Remove", ["prose"]),
    ]
    assert values(extraction) == [
        "The installer needs Python 3.11.",
        "Start it with this command:\n$ pip install harbor\n$ harbor init",
        "Remove: The uninstaller leaves the data where they are.",
    ]
    assert facts(extraction) == set()


def test_in_a_long_section_short_lines_that_look_like_headings_begin_no_topic(read):
    text = "Cobalt Budget\nThe budget pays for computing, by day and by night.\n\nReview\nIt is reviewed in October."
    part = ("paragraph", ("Guide", "Services"), text)
    assert len(read(part).topics) == 2
    assert len(read(part, long=True).topics) == 1


def test_sections_that_share_a_chunk_stay_apart_though_one_of_them_is_long(read):
    parts = [("paragraph", ("Guide", h), f"The {h} service keeps logs.") for h in ("first", "second")]
    assert len(read(*parts, long=True).topics) == 2


def test_a_list_of_many_entries_is_parted_into_topics_of_twenty_at_most(read):
    lines = [("list", ("Guide", "Modules of the steam engine"), f"part_{n}: module") for n in range(45)]
    found = read(*lines).topics
    assert max(len(topic.statements) for topic in found) <= 20
    assert found[0].title == "Guide > Modules of the steam engine: part_0 to part_14"


def test_rows_of_a_table_are_one_statement_with_a_fact_for_each_row(read):
    extraction = read(
        "The sites are these:",
        ("table", (), "Site: Kestrel House; city: Antwerp"),
        ("table", (), "Site: Merlin House; city: Ghent"),
    )
    (table,) = [s for s in statements(extraction) if s.kind == "table"]
    assert table.value.startswith("The sites are these:\n")
    assert facts(extraction) == {("Kestrel House", "city", "Antwerp"), ("Merlin House", "city", "Ghent")}


def test_what_describes_a_signature_is_said_of_it(read):
    extraction = read(("code", ("Numbers",), "harbor.randbits(k)"), ("paragraph", ("Numbers",), "Return k random bits."))
    assert "harbor.randbits(k): Return k random bits." in values(extraction)


# ---------------------------------------------------------------- pronouns


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The scheduler runs jobs. It restarts failed ones.", "The scheduler restarts failed ones."),
        ("Millers Bridge crosses the Lind. Its towers are old.", "Millers Bridge's towers are old."),
        ("The drivers load slowly. They need root rights.", "The drivers need root rights."),
        ("A drum turns slowly. It is made of steel.", "The drum is made of steel."),
        ("Ada King lived in Rome. She wrote poems.", "Ada King wrote poems."),
        ("lock_file() locks a file. This function never waits.", "The lock_file() function never waits."),
    ],
)
def test_a_pronoun_is_written_out_where_its_meaning_is_certain(read, text, value):
    said = statements(read(text))[1]
    assert said.value == value
    assert said.original == text.split(". ", 1)[1]


@pytest.mark.parametrize(
    "text",
    [
        "The server sends a token. It expires soon.",
        "You can add a label. It is shown in red.",
        "The cache is full. This slows every request down.",
        "The cache is full. Such states are rare.",
        "Two modes exist. Both are slow.",
        "Some part of it was rewritten. It is slow.",
    ],
)
def test_a_sentence_whose_pronoun_may_mean_several_things_stays_with_the_one_before(read, text):
    (said,) = statements(read(text))
    assert said.value == text
    assert (said.start, said.end) == (0, len(text))
    assert said.original == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "It is possible to restart the job.",
        "It takes an hour to drain the queue.",
        "This manual describes the harbor service.",
        "If the job fails, it is started again.",
        "Those who need more memory can ask for it.",
    ],
)
def test_what_explains_itself_is_left_alone(read, sentence):
    said = statements(read(f"The queue is long. {sentence}"))[1]
    assert (said.value, said.original) == (sentence, "")


def test_the_sentence_before_the_chunk_tells_what_its_first_pronoun_means(read):
    (said,) = statements(read("It restarts failed jobs.", before="The scheduler runs every night."))
    assert (said.value, said.original) == ("The scheduler restarts failed jobs.", "It restarts failed jobs.")
    (said,) = statements(read("This takes an hour.", before="The scheduler runs every night."))
    assert (said.value, said.original) == ("The scheduler runs every night. This takes an hour.", "This takes an hour.")


def test_a_pronoun_is_not_the_title_only_because_there_is_one(read):
    extraction = read("You may copy it. It must keep its notice.", title="Harbor Public Licence")
    assert not any("Harbor Public Licence must" in value for value in values(extraction))
    assert facts(extraction) == set()


# ---------------------------------------------------------------- what hangs on other sentences


@pytest.mark.parametrize("link", ["However, it stops at night.", "Otherwise, the job fails.", "In this case, wait."])
def test_a_sentence_that_begins_with_a_link_stays_with_the_one_before(read, link):
    assert values(read(f"The crane lifts ten tons. {link}")) == [f"The crane lifts ten tons. {link}"]


def test_a_chain_of_sentences_that_hang_on_each_other_ends(read):
    text = "The crane lifts ten tons. " + " ".join(f"However, this is case number {i}." for i in range(9))
    assert all(len(s.value) <= 900 and s.value.count("case number") <= 6 for s in statements(read(text)))


def test_a_line_and_the_short_items_that_it_leads_to_are_one_statement(read):
    extraction = read(
        "The following colours are known:", ("list", (), "- red"), ("list", (), "- deep blue"), "The rest is gray."
    )
    assert values(extraction)[0] == "The following colours are known: red; deep blue"


def test_items_too_long_for_one_statement_each_carry_the_line_that_leads_to_them(read):
    items = [f"- Keeping the {kind} records of every ship that enters the port for at least ten years, on paper and " * 2 for
             kind in ("sick", "dead", "lost")]  # fmt: skip
    extraction = read("The clerk is charged with:", *[("list", (), item.strip()) for item in items])
    assert len(values(extraction)) == 3
    assert all(value.startswith("The clerk is charged with: Keeping the") for value in values(extraction))


def test_an_option_says_what_it_is_an_option_of(read):
    extraction = read(
        ("list", ("OPTIONS",), "-a, --all\nList hidden files too. See dotfiles(5)."), title="lsx(1) - list directories"
    )
    (said,) = statements(extraction)
    assert said.value == "lsx(1): -a, --all: List hidden files too. See dotfiles(5)."
    assert said.original == "-a, --all List hidden files too. See dotfiles(5)."


def test_what_is_quoted_is_the_text_at_its_place_with_the_term_that_it_explains(read):
    (said,) = statements(read(("list", ("Berths",), "SIZE: The number of berths."), title="Harbor"))
    assert (said.value, said.original) == ("Berths: SIZE: The number of berths.", "SIZE: The number of berths.")
    assert (said.start, said.end) == (0, len("SIZE: The number of berths."))


def test_what_goes_on_about_an_option_is_said_of_it(read):
    extraction = read(
        ("list", ("OPTIONS",), "--mode\nSet the access mode of the port."),
        ("list", ("OPTIONS",), "The default mode is open."),
        title="lsx(1) - list directories",
    )
    assert values(extraction) == [
        "lsx(1): --mode: Set the access mode of the port.",
        "lsx(1): --mode: The default mode is open.",
    ]


def test_an_item_is_one_statement_with_the_line_that_leads_to_it(read):
    extraction = read(
        "The watch must do two things:",
        ("list", (), "1. It writes the log. The log is kept for ten years."),
        (
            "list",
            (),
            "2. It lights the lamps of the pier when the sun has set, in summer and in winter. Lamps are oiled on Mondays.",
        ),
    )
    assert [value.partition(" (")[0] for value in values(extraction)] == [
        "The watch must do two things: 1. It writes the log. The log is kept for ten years.",
        "The watch must do two things: 2. It lights the lamps of the pier when the sun has set, in summer and in winter. "
        "Lamps are oiled on Mondays.",
    ]


def test_items_of_a_list_in_a_list_take_the_line_above_them_and_the_next_item_does_not(read):
    extraction = read(
        ("list", (), "1. The keeper may lend the boat, provided that one of these is paid:"),
        ("list", (), "a) the fee of a day, set every spring"),
        ("list", (), "b) the fee of a week, set every autumn"),
        ("list", (), "2. The keeper may refuse."),
    )
    lead = "The keeper may lend the boat, provided that one of these is paid:"
    assert values(extraction) == [
        f"{lead} a) the fee of a day, set every spring; b) the fee of a week, set every autumn",
        "2. The keeper may refuse.",
    ]


def test_a_term_above_a_list_leads_to_it_and_ends_the_list_of_the_term_before(read):
    extraction = read(
        ("paragraph", (), "The harbour has these offices:"),
        ("list", (), "WATCH: Look out for ships, with the help of:"),
        ("list", (), "• the telescope;"),
        ("list", (), "• the radio."),
        ("list", (), "PILOT:"),
        ("list", (), "• bring ships to the pier;"),
        ("list", (), "• measure how deep the water is."),
        ("list", (), "GUARD: Lock the gates."),
    )
    assert values(extraction) == [
        "WATCH: Look out for ships, with the help of: the telescope; the radio",
        "The harbour has these offices: PILOT: bring ships to the pier; measure how deep the water is",
        "The harbour has these offices: GUARD: Lock the gates",
    ]


@pytest.mark.parametrize("role", ["list", "paragraph"])
def test_a_term_ends_the_list_of_the_first_term(read, role):
    items = [("list", (), item) for item in ("• bring ships to the pier;", "GUARD: Lock all gates at night.")]
    assert values(read((role, (), "PILOT:"), *items)) == [
        "PILOT: bring ships to the pier",
        "GUARD: Lock all gates at night.",
    ]


def test_a_term_ends_the_list_from_before_the_chunk(read):
    extraction = read(
        ("list", ("Offices",), "• measure how deep the water of the harbour is."),
        ("list", ("Offices",), "GUARD: This office never sleeps."),
        ("list", ("Offices",), "• Lock all the gates of the harbour in the evening."),
        before="PILOT:\n• bring ships to the pier;",
    )
    first, _, last = values(extraction)
    assert first.startswith("PILOT: measure")
    assert "PILOT" not in last


def test_a_chunk_that_begins_in_a_list_takes_the_line_that_leads_to_the_list(read):
    items = [("list", (), f"{name}: {kind}") for name, kind in (("pier", "stone"), ("crane", "iron"))]
    assert values(read(*items, before="The things in the port are:\nquay: stone")) == [
        "The things in the port are: pier: stone; crane: iron"
    ]


def test_a_line_that_announces_what_is_not_there_is_no_statement(read):
    assert values(read("The port has a crane. Its parts are as follows:")) == ["The port has a crane."]


@pytest.mark.parametrize(
    "text",
    [
        "The clerk reads the request. The request is then filed.",
        "Set the number of berths. The default is 12.",
        "Two ways exist. The first way is slow.",
        "Reviews take time. After all, ships wait.",
        "The level says how fast the drum turns. Valid values are slow and fast.",
        "Lamps may fail. Oil them to prevent such faults.",
    ],
)
def test_a_sentence_that_speaks_of_what_was_just_named_stays_with_that(read, text):
    assert values(read(text)) == [text]


def test_devices_that_the_sentence_before_does_not_name_are_in_the_one_before_that(read):
    text = "Render nodes belong to a group now. Rules still apply. If you use those devices, join it."
    assert values(read(text)) == [text]


def test_one_who_is_they_is_not_the_title(read):
    extraction = read("All ships pay. Whenever a pilot boards a ship they may find faults.", title="Ships")
    assert values(extraction)[-1] == "Whenever a pilot boards a ship they may find faults."


@pytest.mark.parametrize(
    "part",
    [
        ("paragraph", ("Port", "SEE ALSO"), "crane(1), pier(5), the manual of the port"),
        ("paragraph", (), "Harbor Frequently Asked Questions"),
        ("list", (), "[3] https://example.org/notes/3"),
        ("list", (), "harbor 252: HARBOR-START@.SERVICE(8)"),
        ("paragraph", (), "Ann Holm <ann@example.org> Bo Lind <bo@example.org>"),
        ("list", (), "3.1. Overview, 3.1.1. Structure, 3.1.2. Simple Example"),
    ],
)
def test_furniture_is_no_statement(read, part):
    assert values(read(part)) == []


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("Delay= The time to wait. The default is 5.", "harbor.conf(5): Delay=: The time to wait. The default is 5."),
        ("Open=, Shut= The hours of the port.", "harbor.conf(5): Open=, Shut=: The hours of the port."),
        ("LISTEN The port takes ships.", "harbor.conf(5): LISTEN: The port takes ships."),
        ("SIZE (since 2.1): The number of berths.", "harbor.conf(5): SIZE (since 2.1): The number of berths."),
    ],
)
def test_a_term_is_known_by_how_it_is_written(read, item, value):
    assert values(read(("list", ("OPTIONS",), item), title="harbor.conf(5) - settings of the port")) == [value]


def test_a_sentence_about_the_thing_of_its_section_says_which_section(read):
    part = ("paragraph", ("Guide", "Winch"), "The drum turns slowly. Hugo Dahl built the winch. Oil it once a year.")
    assert values(read(part, title="Guide")) == [
        "Winch: The drum turns slowly.",
        "Hugo Dahl built the winch. Oil it once a year.",
    ]


def test_a_sentence_that_names_nothing_goes_with_the_one_before_or_takes_its_heading(read):
    parts = [
        ("paragraph", ("Guide", "harbor.lift()"), "Doing so without a load is allowed."),
        ("paragraph", ("Guide", "Tides"), "Hugo Dahl sends a table every month. The old copy is thrown away."),
        ("paragraph", ("Guide", "Fees"), "Hugo Dahl collects them. Old bills are paid at the gate."),
    ]
    assert values(read(*parts, title="Guide")) == [
        "harbor.lift(): Doing so without a load is allowed.",
        "Hugo Dahl sends a table every month. The old copy is thrown away.",
        "Hugo Dahl collects them.",
        "Fees: Old bills are paid at the gate.",
    ]


def test_a_sentence_on_that_thing_keeps_the_sentence_that_names_it(read):
    part = ("paragraph", ("Guide", "Mooring"), "Hugo Dahl drew the berths. Boats of Kelm are moored to these berths.")
    (value,) = values(read(part, title="Guide"))
    assert value.endswith("Hugo Dahl drew the berths. Boats of Kelm are moored to these berths.")


def test_a_section_of_nothing_but_an_announcement_is_a_statement(read):
    assert values(read("Goldfinch may refer to:", title="Goldfinch")) == ["Goldfinch may refer to:"]


def test_a_type_alone_is_no_statement(read):
    assert values(read(("list", ("Settings", "port"), "Type: {number}"))) == []


def test_without_a_heading_a_sentence_stays_as_it_is(read):
    assert values(read("The crane stood in Kelm. Ropes were cheap.")) == ["The crane stood in Kelm.", "Ropes were cheap."]


def test_the_sentences_of_a_paragraph_stay_with_the_word_that_it_explains(read):
    part = ("paragraph", ("Guide", "lift"), "load: number of crates. Initially holds the size of the deck.")
    assert values(read(part, title="Guide")) == ["lift: load: number of crates. Initially holds the size of the deck."]


def test_clauses_numbered_within_a_section_are_items_of_their_own(read):
    clauses = (
        '1.5. "Berth" means',
        "(a) a place at the quay; or",
        "(b) a buoy.",
        '1.6. "Crane" means a machine that lifts.',
    )
    found = values(read(*(("list", ("1. Definitions",), clause) for clause in clauses)))
    assert found[-1].endswith('"Crane" means a machine that lifts.') and "buoy" not in found[-1]


def test_a_question_whose_answer_is_not_here_and_an_announcement_of_what_follows_are_no_statements(read):
    part = ("paragraph", ("Notes",), "The harbour of Kelm is old. The terms of use follow.")
    assert values(read(part)) == ["The harbour of Kelm is old."]
    assert not values(read(("list", ("Notes",), "- How do I stop the crane?")))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes. The lids are locked at noon.", "Are the lids locked? Yes. The lids are locked at noon."),
        ("Not yet. We lock them next year.", "Are the lids locked? Not yet. We lock them next year."),
        ("Never.", "Are the lids locked? Never."),
    ],
)
def test_an_answer_keeps_the_word_or_two_that_it_begins_with(read, text, value):
    assert values(read(("paragraph", ("Are the lids locked?",), text))) == [value]


def test_an_answer_carries_the_question_that_is_its_heading(read):
    extraction = read(("paragraph", ("Why does the crane stop?",), "Because of the wind. It must not fall."))
    assert values(extraction)[0].startswith("Why does the crane stop? Because of the wind.")


def test_what_describes_a_signature_stays_together_under_its_name(read):
    extraction = read(
        ("code", ("Port",), "class harbor.Crane"),
        ("paragraph", ("Port",), "A machine that lifts loads. See harbor.Pier for its place."),
        ("code", ("Port",), "harbor.lift(load, level=-1)"),
        ("paragraph", ("Port",), "Lifts a load. level is an integer from 0 to 9. The default value is -1."),
        ("paragraph", ("Port",), "New in version 3.6."),
    )
    assert values(extraction) == [
        "class harbor.Crane",
        "harbor.Crane: A machine that lifts loads. See harbor.Pier for its place.",
        "harbor.lift(load, level=-1)",
        "harbor.lift(load, level=-1): Lifts a load. level is an integer from 0 to 9. The default value is -1.",
        "harbor.lift: New in version 3.6.",
    ]


def test_what_has_no_subject_stands_under_its_heading(read):
    extraction = read(("paragraph", ("API", "2.3 port.close()"), "Closes the port and frees its memory."), title="API")
    assert values(extraction) == ["port.close(): Closes the port and frees its memory."]


def test_a_section_of_nothing_but_names_says_what_its_heading_calls_them(read):
    made = read(
        ("paragraph", ("DESCRIPTION",), "Moors a boat at the pier."),
        ("paragraph", ("AUTHORS",), "Ada Byron <ada@harbour.test>, Grace Murray <grace@harbour.test>"),
        ("paragraph", ("SEE ALSO",), "unmoor(8)"),
        ("paragraph", ("Contents",), "6.1"),
        title="moor(8) - moor a boat",
    )
    assert values(made) == [
        "moor(8): Moors a boat at the pier.",
        "moor(8): AUTHORS: Ada Byron <ada@harbour.test>, Grace Murray <grace@harbour.test>",
    ]
    assert not names(made)


def test_what_a_section_says_is_not_joined_by_its_lines_of_names(read):
    made = read(
        ("paragraph", ("AUTHORS",), "Ada Byron"),
        ("paragraph", ("AUTHORS",), "Many others helped with the moorings of the harbour."),
        title="moor(8)",
    )
    assert not any("Ada Byron" in value for value in values(made))


def test_a_question_stays_with_its_answer(read):
    text = "Why does the crane stop? The wind is too strong."
    assert values(read(text)) == [text]


def test_code_among_prose_is_code_and_a_reference_to_a_page_is_not(read):
    kinds = {
        s.value: s.kind for s in statements(read("x = load(path); y = x[0] + 1;\n\nThe port is open. See port(7) first."))
    }
    assert kinds["x = load(path); y = x[0] + 1;"] == "code"
    assert set(kinds.values()) == {"code", "prose"}


def test_what_stands_before_a_colon_speaks_only_when_it_may_be_a_name(read):
    assert names(read("Ann: I saw Rome.\nBob: I saw Paris.\nAnn: Well done."))["Ann"] == "Person"
    assert "Person" not in names(read("IN_OPEN: A file was opened.\nBIT STRING: Bits follow.\nQ2: What now?")).values()


def test_a_list_within_a_talk_is_said_by_nobody_else(read):
    extraction = read("Ann: I like Rome.", ("list", (), "- Forum Romanum"), "Bob: Me too.\nAnn: When do you go?")
    assert values(extraction) == ["Ann: I like Rome.", "- Forum Romanum", "Bob: Me too.", "Ann: When do you go?"]


def test_you_is_the_other_one_in_a_talk_of_two(read):
    assert ("Bob", "know", "Rome") in facts(read("Ann: You know Rome.\nBob: I do.\nAnn: Well."))


def test_sentences_of_other_scripts_are_left_as_they_are(read):
    assert values(read("Порт закрыт. Он большой.")) == ["Порт закрыт.", "Он большой."]


@pytest.mark.parametrize(
    ("title", "headings", "about"),
    [
        ("pipe(7) - overview of pipes", ("DESCRIPTION",), "pipe(7)"),
        ("pipe(7) - overview of pipes", ("DESCRIPTION", "Portability notes"), "Portability notes"),
        ("Handbook", ("Handbook", "3.1 Cranes"), "Cranes"),
        ("Handbook", ("Cranes", "Examples"), "Cranes"),
        ("", (), ""),
    ],
)
def test_a_section_is_called_by_its_heading_or_by_what_tells_more(title, headings, about):
    assert label(title, headings) == about


# ---------------------------------------------------------------- facts and names


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The architect Hugo Dahl built a bridge in Malmö.", ("Hugo Dahl", "built a bridge in", "Malmö")),
        ("Norra was designed by the architect Hugo Dahl.", ("Norra", "was designed by", "Hugo Dahl")),
        ("Acme Corp does not create files.", ("Acme Corp", "does not create", "files")),
        ("Acme Corp provides no reports.", ("Acme Corp", "provides", "no reports")),
        ("Acme Corp may print warnings.", ("Acme Corp", "may print", "warnings")),
        ("Acme Corp no longer maintains the list.", ("Acme Corp", "no longer maintains", "list")),
        ("Acme Corp finds races or leaks.", ("Acme Corp", "finds", "races or leaks")),
        ("Acme Corp is less prone to errors.", ("Acme Corp", "is less prone to", "errors")),
        ("_LOCK_SIZE is defined in lock.h.", ("_LOCK_SIZE", "is defined in", "lock.h")),
        ("lock_file(2) returns a descriptor.", ("lock_file(2)", "returns", "descriptor")),
        ("Acme Corp is any work that uses the Library.", ("Acme Corp", "is", "any work that uses the Library")),
    ],
)
def test_a_fact_says_what_its_sentence_says(read, text, fact):
    assert fact in facts(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "If Acme Corp buys Norra, Acme Corp closes the plant.",
        "Should Acme Corp buy Norra, Acme Corp closes the plant.",
        "Acme Corp closes the plant unless Norra is sold.",
        "You may give Norra to others.",
        "Use Acme Corp to build Norra.",
        "Acme Corp is one of the following.",
        "Acme Corp requires Eva Lund to print a report.",
        "To ensure Acme Corp keeps Norra, ask the clerk.",
        "ACME SHALL NOT BE LIABLE TO NORRA FOR ANY DAMAGES.",
        "Nobody knows it. It buys Norra.",
    ],
)
def test_what_is_not_stated_is_no_fact(read, text):
    assert facts(read(text, title="Harbor Notes")) == set()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("systemd.kill(5", "systemd.kill"),
        ("systemd.kill(5)", "systemd.kill(5)"),
        ("PRE(sys_door", "PRE"),
        ("patent claim(s", "patent claim"),
        ("arbitrary) name", "name"),
        ("_GNU_SOURCE", "_GNU_SOURCE"),
        ("close()", "close()"),
        ("Chapter 3", ""),
    ],
)
def test_names_have_no_stray_brackets(raw, name):
    assert clean_name(raw) == name
    assert without_open_brackets(name) == name


def test_a_verb_is_no_part_of_a_name(read):
    extraction = read("The leader of the Heron Team is Ines Calloway, who came from a shipping insurer.")
    assert names(extraction).keys() == {"Heron Team", "Ines Calloway"}
    assert ("Heron Team", "leader is", "Ines Calloway") in facts(extraction)


def test_functions_and_pages_of_manuals_are_names_whatever_their_case(read):
    assert {"read(2)", "lock_file()", "port_number"} <= names(
        read("The call read(2) waits for lock_file() and sets port_number.")
    ).keys()


def test_a_class_is_given_only_where_the_form_of_the_name_supports_it(read):
    prose = names(read("Marie Curie was born in Warsaw and joined the University of Paris. Orbit is a tool."))
    assert (prose["Marie Curie"], prose["Warsaw"], prose["University of Paris"]) == ("Person", "Location", "Organization")
    technical = names(read("Node.js calls ffi_call() in lib/x.c, and POSIX lets License and Heimdall use --all."))
    assert set(technical.values()) <= {""}


def test_items_that_fit_into_one_statement_stay_together_with_their_line(read):
    parts = [
        ("paragraph", ("Berths",), "A boat takes the first berth that is free:"),
        ("list", ("Berths",), "- It asks for the berth next to the crane of the old harbour."),
        ("list", ("Berths",), "- It waits at the buoy outside until the master of the harbour calls."),
    ]
    (value,) = values(read(*parts))
    assert value.startswith("A boat takes the first berth that is free: It asks") and "waits at the buoy" in value


def test_what_hangs_on_a_sentence_that_hangs_itself_takes_both(read):
    first = (
        "Hugo Dahl built the winch of the harbour. It lifts ten tons, "
        + "and it has done so every day, " * 20
        + "as all know."
    )
    found = values(read(f"{first} This needs two people.", title="Guide"))
    assert len(found) == 1
    assert found[0].startswith("Hugo Dahl built") and found[0].endswith("This needs two people.")


def test_who_signed_the_entry_of_a_release_released_it(read):
    signature = "-- Ada Cook <ada@example.org>  Thu, 12 Mar 2026 10:11:12 +0100"
    entry = ("paragraph", ("harbour (2.1-1) unstable; urgency=low",), signature)
    letter = ("paragraph", ("How to moor",), signature)
    (released,) = values(read(entry))
    assert released == "harbour (2.1-1) was released by Ada Cook <ada@example.org> on 12 Mar 2026 10:11:12 +0100"
    assert values(read(letter)) == []


def test_a_version_with_its_day_is_no_number_of_a_section():
    assert label("Kettle", ["2.3.1 (2026-05-06)"]) == "2.3.1 (2026-05-06)"
    assert label("Kettle", ["2.3.1 - 2026-05-06"]) == "2.3.1 - 2026-05-06"
    assert label("Kettle", ["2.3.1 (May 6th, 2026)"]) == "2.3.1 (May 6th, 2026)"
    assert label("Kettle", ["2.3.1 - 6 May 2026"]) == "2.3.1 - 6 May 2026"
    assert label("Kettle", ["2.3.1 Maybe 6 lids"]) == "Maybe 6 lids"
    assert label("Kettle", ["2.3.1 The lid"]) == "The lid"

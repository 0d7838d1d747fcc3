"""Files of LibreOffice: texts, sheets and slides."""

import pytest

from lexigraph.ingestion.readers.opendocument import read_odp, read_ods, read_odt
from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings
from tests import files

STYLES = """
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>
<style:style style:name="P2" style:family="paragraph"><style:text-properties style:font-name="Courier New"/></style:style>
<style:style style:name="P3" style:family="paragraph" style:parent-style-name="Title"/>
<style:style style:name="Title" style:family="paragraph"/>
<style:style style:name="Preformatted_20_Text" style:family="paragraph"/>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>
<text:list-level-style-number text:level="2" style:num-format="a" text:start-value="3"/></text:list-style>
<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>
"""


def odt(body: str, title: str = "") -> Parsed:
    return read_odt(files.opendocument("text", body, STYLES, title, "Ann Lee"), load_settings())


def blocks(parsed: Parsed) -> list[tuple[str, str]]:
    return [(b.role, parsed.text[b.start : b.end]) for b in parsed.blocks]


def rows(*cells: str) -> list[str]:
    return [text for _, text in blocks(read_ods(files.ods(*cells), load_settings()))]


def value(kind: str, written: str) -> str:
    name = "value" if kind in ("float", "percentage", "currency") else f"{kind}-value"
    return cell("shown", f' office:value-type="{kind}" office:{name}="{written}"')


def cell(text: str, more: str = "") -> str:
    return f"<table:table-cell{more}><text:p>{text}</text:p></table:table-cell>"


# ---------------------------------------------------------------- texts


def test_headings_of_a_text_are_nested_by_their_levels_and_the_title_is_above() -> None:
    parsed = odt(
        '<text:p text:style-name="P3">The kiln</text:p><text:h text:outline-level="1">Firing</text:h>'
        '<text:h text:outline-level="2">Heat</text:h><text:p>Fire slowly.</text:p>'
        "<text:h>Cooling</text:h><text:p>Wait.</text:p>"
    )
    assert [(b.headings, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        (("The kiln", "Firing", "Heat"), "Fire slowly."),
        (("The kiln", "Cooling"), "Wait."),
    ]
    assert (parsed.title, parsed.metadata) == ("The kiln", {"author": "Ann Lee"})
    assert odt("<text:p>Wait.</text:p>", "Kilns").title == "Kilns"


def test_lists_have_their_numbers_each_depth_its_own_and_go_on_where_they_say_so() -> None:
    def listed(*items: str, more: str = "") -> str:
        return f"<text:list{more}>" + "".join(f"<text:list-item>{item}</text:list-item>" for item in items) + "</text:list>"

    one, two, style = "<text:p>clay</text:p>", "<text:p>wood</text:p>", ' text:style-name="L1"'
    parsed = odt(
        listed(one + listed(two, one), listed(two), two, more=style)
        + listed(one, more=style + ' text:continue-numbering="true"')
        + listed(one, more=style)
        + listed(one, more=' text:style-name="L2"')
    )
    assert [text for _, text in blocks(parsed)] == [
        *("1. clay", "3. wood", "4. clay", "3. wood", "2. wood", "3. clay", "1. clay", "clay"),
    ]
    assert {role for role, _ in blocks(parsed)} == {"list"}


def test_lines_of_code_are_one_block_with_their_spaces() -> None:
    parsed = odt(
        '<text:p text:style-name="P1">if hot:</text:p>'
        '<text:p text:style-name="P1"><text:s text:c="4"/>wait<text:tab/>now</text:p>'
        '<text:p>Then</text:p><text:p text:style-name="P2">open()</text:p>'
    )
    assert blocks(parsed) == [("code", "if hot:\n    wait\tnow"), ("paragraph", "Then"), ("code", "open()")]


def test_notes_and_boxes_stand_below_their_paragraph_and_comments_and_deleted_text_nowhere() -> None:
    parsed = odt(
        "<text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>"
        "<text:p>Fire<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Slowly.</text:p>"
        "</text:note-body></text:note><office:annotation><text:p>Why?</text:p></office:annotation> it"
        "<draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame>.</text:p>"
    )
    assert [text for _, text in blocks(parsed)] == ["Fire it.", "1 Slowly.", "In a box."]


def test_a_table_of_a_text_is_rows_and_a_table_of_contents_is_boilerplate() -> None:
    head = (
        f"<table:table-header-rows><table:table-row>{cell('Kiln')}{cell('Heat')}</table:table-row></table:table-header-rows>"
    )
    parsed = odt(
        "<text:table-of-content><text:index-body><text:p>Kilns 1</text:p></text:index-body></text:table-of-content>"
        f"<table:table>{head}<table:table-row>{cell('North')}{cell('1280')}</table:table-row></table:table>"
    )
    assert blocks(parsed) == [("boilerplate", "Kilns 1"), ("table", "Kiln: North; Heat: 1280")]


# ---------------------------------------------------------------- sheets


def test_cells_of_a_sheet_are_what_they_hold_not_what_is_shown() -> None:
    cells = [value("float", "3"), value("percentage", "0.25"), value("currency", "12.5"), value("boolean", "true")]
    cells += [value("date", "2021-05-06"), value("date", "2020-01-02T03:04:05"), value("time", "PT07H08M00S")]
    cells += [value("time", "PT30H00M00S"), cell("#N/A", ' office:value-type="string"')]
    assert rows("".join(cells)) == [
        "3; 0.25; 12.5; true; 2021-05-06; 2020-01-02 03:04:05; 07:08:00; 1 day, 6:00:00; #N/A",
    ]


def test_repeated_cells_and_rows_are_there_as_often_and_empty_ones_to_the_end_of_the_sheet_are_not() -> None:
    body = (
        f"<table:table-row>{cell('clay')}{cell('kiln')}{cell('heat')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"/>'
        f"{value('float', '1')}<table:table-cell table:number-columns-repeated='16381'/></table:table-row>"
        '<table:table-row table:number-rows-repeated="1048573"><table:table-cell/></table:table-row>'
    )
    sheets = f'<table:table table:name="A">{body}</table:table><table:table table:name="B"/>'
    parsed = read_ods(files.opendocument("spreadsheet", sheets), load_settings())
    assert [(b.headings, parsed.text[b.start : b.end]) for b in parsed.blocks] == [(("A",), "heat: 1")] * 2


def test_a_row_that_is_there_a_million_times_is_refused_by_the_cells_it_makes() -> None:
    row = f'<table:table-row table:number-rows-repeated="900000000">{cell("a")}</table:table-row>'
    with pytest.raises(InvalidInput, match="100 paragraphs and rows"):
        read_ods(files.opendocument("spreadsheet", f"<table:table>{row}</table:table>"), load_settings(max_parts=100))
    with pytest.raises(InvalidInput, match="more than 16,384 columns"):
        rows(cell("a", ' table:number-columns-repeated="900000000"'))


# ---------------------------------------------------------------- slides and all


def test_a_slide_is_a_page_with_its_title_texts_and_notes() -> None:
    def frame(text: str, kind: str) -> str:
        box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame('Say why.', 'notes')}{frame('7', 'page-number')}</presentation:notes>"
    body = f"<draw:page>{frame('Fire slowly.', 'outline')}{frame('Kilns', 'title')}{notes}</draw:page>"
    data = files.opendocument("presentation", f"{body}<draw:page>{frame('Wait.', 'outline')}</draw:page>")
    parsed = read_odp(data, load_settings())
    assert parsed.text == "Kilns\n\nFire slowly.\n\nSay why.\n\fSlide 2\n\nWait."
    assert (parsed.title, parsed.metadata) == ("Kilns", {"page_count": 2})
    with pytest.raises(InvalidInput, match="has 2 slides, the limit is 1"):
        read_odp(data, load_settings(max_pages=1))


def test_an_encrypted_file_asks_to_be_saved_anew() -> None:
    data = files.with_part(files.ods(cell("a")), "content.xml", bytes(range(1, 99)))
    with pytest.raises(InvalidInput, match="is damaged or encrypted: save it again without a password"):
        read_ods(data, load_settings())

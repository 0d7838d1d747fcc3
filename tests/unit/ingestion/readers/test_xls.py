"""Excel files of 5.0 to 2003: what is read of them is what is read of an xlsx file with the same cells."""

import struct

import pytest

from lexigraph.ingestion.readers.xls import read_xls
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings
from tests import files
from tests.files import old_text, record, xls_of


def rows(data: bytes) -> list[str]:
    parsed = read_xls(data, load_settings())
    return [parsed.text[b.start : b.end] for b in parsed.blocks]


def at(row: int, column: int, style: int = 0) -> bytes:
    return struct.pack("<HHH", row, column, style)


def test_a_sheet_is_a_heading_and_a_row_a_block_with_the_names_of_its_columns() -> None:
    data = files.xls(
        {"Kilns": [["Kiln", "Heat"], ["North", 1280], ["Süd 窯", 1.5]], "Empty": [], "Notes": [["Fired twice."]]}
    )
    parsed = read_xls(data, load_settings())
    assert [(b.headings, b.role, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        (("Kilns",), "row", "Kiln: North; Heat: 1280"),
        (("Kilns",), "row", "Kiln: Süd 窯; Heat: 1.5"),
        (("Notes",), "row", "Fired twice."),
    ]


def test_dates_times_and_durations_are_told_by_their_formats() -> None:
    cells = [(44322, 0), (43832.5, 1), (0.25, 2), (1.25, 3), (0.25, 4), True]
    data = files.xls({"S": [cells]}, ["yyyy-mm-dd", "yyyy-mm-dd hh:mm", "hh:mm", "[h]:mm", "0%"])
    assert rows(data) == ["2021-05-06; 2020-01-02 12:00:00; 06:00:00; 1 day, 6:00:00; 0.25; true"]


def test_dates_count_from_1904_where_the_file_says_so() -> None:
    assert rows(files.xls({"S": [[(42370.0, 0)]]}, ["yyyy-mm-dd"], since_1904=True)) == ["2020-01-02"]


def test_numbers_are_read_however_they_are_packed() -> None:
    def rk(number: float, hundredths: bool = False) -> int:
        packed = number << 2 | 2 if isinstance(number, int) else struct.unpack("<Q", struct.pack("<d", number))[0] >> 32
        return packed & 0xFFFF_FFFF | hundredths

    several = b"".join(struct.pack("<HI", 0, rk(n)) for n in (7, -7))
    cells = record(0x27E, at(0, 0) + struct.pack("<I", rk(1234, hundredths=True)))
    cells += record(0x27E, at(0, 1) + struct.pack("<I", rk(1.5)))
    cells += record(0xBD, struct.pack("<HH", 0, 3) + several + struct.pack("<H", 4))
    assert rows(xls_of(b"", {"S": cells})) == ["12.34; 1.5; 7; -7"]


def test_a_formula_is_the_value_last_computed() -> None:
    def formula(column: int, value: bytes) -> bytes:
        return record(0x06, at(0, column) + value + bytes(8))

    cells = formula(0, struct.pack("<d", 2.5)) + formula(1, b"\0\0\0\0\0\0\xff\xff") + record(0x207, old_text("hot"))
    cells += formula(2, b"\1\0\1\0\0\0\xff\xff") + formula(3, b"\2\0\7\0\0\0\xff\xff") + record(0x205, at(0, 4) + b"\x2a\1")
    assert rows(xls_of(b"", {"S": cells})) == ["2.5; hot; true; #DIV/0!; #N/A"]


def test_strings_go_on_where_their_record_was_cut_and_lose_their_fonts() -> None:
    plain = struct.pack("<HB", 6, 0) + b"cla"
    rest = b"\1" + "y 窯".encode("utf-16-le")  # from here on in two bytes
    fonts = struct.pack("<HBH", 3, 8, 1) + b"hot" + bytes(2)
    spoken = struct.pack("<HBI", 4, 4, 5) + b"kiln" + b"\1\2\3\4\5"
    strings = record(0xFC, struct.pack("<II", 3, 3) + plain) + record(0x3C, rest + fonts) + record(0x3C, bytes(2) + spoken)
    cells = b"".join(record(0xFD, at(0, n) + struct.pack("<I", n)) for n in range(3))
    assert rows(xls_of(strings, {"S": cells})) == ["clay 窯; hot; kiln"]


def test_excel_95_writes_text_in_the_encoding_of_its_machine() -> None:
    text = "печь".encode("cp1251")
    cells = record(0x204, at(0, 0) + struct.pack("<H", len(text)) + text)
    assert rows(xls_of(record(0x42, struct.pack("<H", 1251)), {"S": cells}, version=0x500)) == ["печь"]


def test_charts_in_a_sheet_are_passed_over() -> None:
    chart = record(0x809, struct.pack("<HH12x", 0x600, 0x20)) + record(0x204, at(0, 1) + old_text("axis")) + record(0x0A)
    cells = record(0x204, at(0, 0) + old_text("before")) + chart + record(0x204, at(1, 0) + old_text("after"))
    assert rows(xls_of(b"", {"S": cells})) == ["before", "after"]


def test_a_workbook_of_any_size_is_put_together_from_its_sectors() -> None:
    for count in (1, 400, 20_000):  # the first is kept in small sectors
        assert rows(files.xls({"S": [[number, 1280] for number in range(count)]}))[-1] == f"{count - 1}; 1280"


@pytest.mark.parametrize("other", [files.xlsx({"S": [["a kiln"]]}), b"<html><table><tr><td>a kiln</table></html>"])
def test_what_programs_export_by_that_name_is_read_as_what_it_is(other: bytes) -> None:
    assert rows(other) == ["a kiln"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"a,b\n1,2\n", "is damaged, or not of type xls: save it as .xlsx, or name it .csv if it is one"),
        (xls_of(record(0x2F, bytes(6)), {"S": b""}), "is encrypted: save it again without a password"),
        (xls_of(b"", {"S": b""}, version=0x400), "is damaged, or older than Excel 5.0: save it as .xlsx"),
        (files.compound(b"", "WordDocument"), "is damaged, encrypted or not of type xls (no workbook in it)"),
        (xls_of(b"", {"S": record(0x204, at(0, 256) + old_text("x"))}), "is damaged: it has more than 256 columns"),
        (xls_of(record(0xFC, struct.pack("<II", 1, 9)), {"S": b""}), "is damaged: a text ends too early"),
        (xls_of(b"", {"S": record(0x204, at(0, 0)) + record(0x207)}), "is damaged: a text ends too early"),
        (xls_of(record(0xFC, b"\1"), {}), "is damaged: a text ends too early"),  # before the place where it should begin
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(data: bytes, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rows(data)
    assert str(refused.value) == told


def test_sectors_that_lead_back_into_themselves_end() -> None:
    data = bytearray(files.xls({"S": [["a kiln"] * 200] * 5}))
    data[512 + 4 * 2 : 512 + 4 * 3] = struct.pack("<I", 2)  # the first sector of the stream
    with pytest.raises(InvalidInput, match="leads back into itself"):
        rows(bytes(data))

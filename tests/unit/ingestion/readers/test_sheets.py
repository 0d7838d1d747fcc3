"""Excel files: values as they are shown, rows one at a time."""

import io
from datetime import date, datetime, time, timedelta
from typing import Any

from lexigraph.ingestion.readers.sheets import read_xlsx
from lexigraph.settings import load_settings


def new() -> Any:
    from openpyxl import Workbook

    return Workbook()


def rows(book: Any) -> list[str]:
    out = io.BytesIO()
    book.save(out)
    parsed = read_xlsx(out.getvalue(), load_settings())
    return [parsed.text[b.start : b.end] for b in parsed.blocks]


def test_dates_times_numbers_and_errors_read_as_people_write_them() -> None:
    book = new()
    for row in (
        ["day", "moment", "time", "long", "share"],
        [date(2021, 5, 6), datetime(2020, 1, 2, 3, 4, 5), time(7, 8), timedelta(hours=30), 0.25],
        [3.0, -2.5, 1e20, True, "#N/A"],
    ):
        book.active.append(row)
    assert rows(book) == [
        "day: 2021-05-06; moment: 2020-01-02 03:04:05; time: 07:08:00; long: 1 day, 6:00:00; share: 0.25",
        "day: 3; moment: -2.5; time: 1e+20; long: true; share: #N/A",
    ]


def test_dates_count_from_1904_where_the_file_says_so() -> None:
    book = new()
    book.epoch = datetime(1904, 1, 1)
    book.active.append([datetime(2020, 1, 2), "a day"])
    assert rows(book) == ["2020-01-02; a day"]


def test_text_of_several_fonts_is_one_and_missing_cells_keep_their_columns() -> None:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    book = new()
    book.active["A1"], book.active["B1"], book.active["C1"] = "clay", "kiln", "heat"
    book.active["C2"] = CellRichText("very ", TextBlock(InlineFont(b=True), "hot"))
    assert rows(book) == ["heat: very hot"]

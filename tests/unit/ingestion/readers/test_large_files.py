"""Large files are read in less than a gigabyte, and half a million rows in far less: each by a process of its own."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

READ = """
import json, sys, time
from pathlib import Path
from lexigraph.evaluation.memory import peak_resident_mb
from lexigraph.ingestion.load import load, scan
from lexigraph.settings import load_settings
(item,) = scan([Path(sys.argv[1])])
(document,) = load(item, load_settings())
print(json.dumps({"blocks": len(document.blocks), "megabytes": peak_resident_mb(), "seconds": time.process_time()}))
"""


def read(path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True, timeout=280)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def sheet(path: Path, rows: int) -> None:
    """An Excel file of so many rows, whose text is not shared between cells."""
    names = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {names} xmlns:r="{office}"><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            part.write(
                f"<worksheet {names}><sheetData><row><c t='str'><v>pot</v></c><c t='str'><v>heat</v></c></row>".encode()
            )
            for start in range(0, rows, 10_000):
                cells = (
                    f"<row><c t='str'><v>pot {n}</v></c><c><v>{n * 7}</v></c></row>" for n in range(start, start + 10_000)
                )
                part.write("".join(cells).encode())
            part.write(b"</sheetData></worksheet>")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "head", "line", "bytes_", "tail"),
    [
        ("table.md", "| pot | heat |\n|---|---|\n", "| pot {n} | {n} degrees in the second fire |\n", 4_000_000, ""),
        pytest.param(
            *("text.txt", "", "The fire of kiln {n} was lit at noon, and it burnt until the next morning.\n\n"),
            *(19_900_000, ""),
            marks=pytest.mark.soak,
        ),
        pytest.param(
            *("prose.html", "<body>", "<p>The <b>fire</b> of <a href='#k{n}'>kiln {n}</a> was lit.</p>\n"),
            *(19_900_000, "</body>"),
            marks=pytest.mark.soak,
        ),
        pytest.param(
            *("table.html", "<table><tr><th>pot<th>heat", "<tr><td>pot {n}</td><td>{n}</td></tr>\n"),
            *(19_900_000, "</table>"),
            marks=pytest.mark.soak,
        ),
    ],
)
def test_a_large_file_takes_less_than_a_gigabyte(
    tmp_path: Path, name: str, head: str, line: str, bytes_: int, tail: str
) -> None:
    path = tmp_path / name
    with path.open("w") as file:
        size, number = file.write(head), 0
        while size < bytes_:
            size += file.write(line.format(n=number))
            number += 1
        file.write(tail)
    assert read(path)["megabytes"] < 1_000


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("rows", "megabytes"),
    [pytest.param(100_000, 250, marks=pytest.mark.slow), pytest.param(500_000, 400, marks=pytest.mark.soak)],
)
def test_many_rows_stream(tmp_path: Path, rows: int, megabytes: int) -> None:
    sheet(tmp_path / "rows.xlsx", rows)
    found = read(tmp_path / "rows.xlsx")
    assert found["blocks"] == rows
    assert found["megabytes"] < megabytes

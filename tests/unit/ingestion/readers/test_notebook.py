"""Notebooks: the sections of their Markdown, the code in them, and what it put out."""

import json
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.document import LoadedDocument
from tests.processor import soon
from tests.unit.ingestion.readers.reading import parts, read, refused

PYTHON = {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}}
FRAME = """\
<div><style scoped>.dataframe { top: 0 }</style>
<table border="1" class="dataframe"><thead><tr><th></th><th>boats</th><th>berths</th></tr></thead>
<tbody><tr><th>mean</th><td>4.5</td><td>9.0</td></tr></tbody></table>
<p>1 rows × 2 columns</p></div><script>convert()</script>
"""


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def printed(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}


def shown(**data: str) -> dict[str, Any]:
    """A result; the kinds of its data are written with ``_`` for their slash."""
    return {"output_type": "execute_result", "data": {kind.replace("_", "/"): [text] for kind, text in data.items()}}


def notebook(folder: Path, *cells: dict[str, Any], **metadata: Any) -> LoadedDocument:
    return read(folder, "moorings.ipynb", json.dumps({"cells": cells, "metadata": PYTHON | metadata, "nbformat": 4}))


def of_code(folder: Path, *outputs: dict[str, Any]) -> list[tuple[str, str]]:
    """The blocks of a notebook of one cell."""
    return [(role, text) for role, _, text in parts(notebook(folder, code("moor()", *outputs)))]


def test_headings_of_cells_make_the_sections_and_code_stands_below_its_text_with_what_it_printed(tmp_path: Path) -> None:
    document = notebook(
        tmp_path,
        markdown("# Moorings\n\nWho lies *where*."),
        code("boats = load()\nlen(boats)", printed("read 2 files\n"), shown(text_plain="12")),
        markdown("## Gaps\n\nBerths without a boat are dropped:\n\n- north\n- south\n\n![q.png](attachment:q.png)"),
        code("boats.dropna()"),
    )
    assert document.title == "Moorings"
    assert document.metadata["code_language"] == "python"
    assert parts(document) == [
        ("paragraph", ("Moorings",), "Who lies where."),
        ("code", ("Moorings",), "boats = load()\nlen(boats)\n\nOut:\nread 2 files\n12"),
        ("paragraph", ("Moorings", "Gaps"), "Berths without a boat are dropped:"),
        ("list", ("Moorings", "Gaps"), "- north"),
        ("list", ("Moorings", "Gaps"), "- south"),
        ("code", ("Moorings", "Gaps"), "boats.dropna()"),
    ]


def test_a_data_frame_is_a_table_below_its_code(tmp_path: Path) -> None:
    assert of_code(tmp_path, shown(text_html=FRAME, text_plain="      boats  berths\nmean  4.5  9.0")) == [
        ("code", "moor()"),
        ("table", "mean; boats: 4.5; berths: 9.0"),
    ]


@pytest.mark.parametrize(
    "output",
    [
        shown(image_png="iVBORw0KGgo", text_plain="<Figure size 640x480 with 1 Axes>"),
        shown(text_plain="[<matplotlib.lines.Line2D at 0x7f1c2b0e7f50>]"),
        shown(text_html="<div id='plot'></div>", text_plain="<IPython.core.display.HTML object>"),
        {"output_type": "display_data", "data": {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "Slider()"}},
        printed("FutureWarning: moor will tie\n", "stderr"),
        {"output_type": "new in another version"},
    ],
)
def test_what_is_no_text_or_stands_for_a_picture_is_left_out(tmp_path: Path, output: dict[str, Any]) -> None:
    assert of_code(tmp_path, output) == [("code", "moor()")]


def test_of_an_error_its_last_line_is_kept_and_of_progress_its_last_state(tmp_path: Path) -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no berth", "traceback": ["\x1b[31m---", "line 1"]}
    progress = printed(" 10%|# |\r 50%|## |\r100%|####|\n\x1b[32mdone\x1b[0m\n")
    assert of_code(tmp_path, progress, error) == [("code", "moor()\n\nOut:\n100%|####|\ndone\nValueError: no berth")]


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    ((_, text),) = of_code(tmp_path, printed("".join(f"berth {n}\n" for n in range(100))))
    lines = text.split("\n")
    assert (lines[3], lines[12:15], lines[-1]) == ("berth 0", ["berth 9", "...", "berth 90"], "berth 99")
    ((_, text),) = of_code(tmp_path, printed("a" * 100_000))
    assert len(text) < 1_600


def test_marked_up_output_is_read_as_a_cell(tmp_path: Path) -> None:
    assert of_code(tmp_path, shown(text_markdown="**Twelve** boats", text_plain="<Markdown object>")) == [
        ("code", "moor()"),
        ("paragraph", "Twelve boats"),
    ]


@pytest.mark.parametrize(
    ("cells", "title"),
    [
        ([markdown("# Boats\n\nTwelve."), markdown("# Berths\n\nNine.")], "Boats"),
        ([markdown("**Part 2: the harbour**"), markdown("# Setup\n\nFirst."), markdown("# Berths\n\nNine.")], "moorings"),
        ([markdown("##### Copyright 2026 Kelm\n\nFree."), markdown("# Berths\n\nNine.")], "Berths"),
        ([markdown("From the harbour."), markdown("# Berths\n\nNine.")], "Berths"),
        ([{"cell_type": "raw", "source": "---\ntitle: The quay\n---"}, markdown("# Berths\n\nNine.")], "The quay"),
        ([markdown("Nine berths.")], "moorings"),
    ],
)
def test_the_title_is_the_first_heading_unless_others_are_as_high_and_text_stands_before_it(
    tmp_path: Path, cells: list[dict[str, Any]], title: str
) -> None:
    assert notebook(tmp_path, *cells).title == title


def test_a_title_in_the_metadata_comes_first(tmp_path: Path) -> None:
    assert notebook(tmp_path, markdown("# Berths\n\nNine."), title="The quay").title == "The quay"


def test_notebooks_of_format_3_are_read_as_those_of_format_4(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "stream": "stdout", "text": "read\n"},
        {"output_type": "pyout", "text": ["12"], "png": "iVBORw0KGgo", "prompt_number": 1},
        {"output_type": "pyerr", "ename": "ValueError", "evalue": "no berth", "traceback": ["---"]},
    ]
    cells = [
        {"cell_type": "heading", "level": 1, "source": "Moorings"},
        {"cell_type": "markdown", "source": ["Who lies where."]},
        {"cell_type": "code", "language": "python", "input": ["len(boats)"], "outputs": outputs},
    ]
    document = read(tmp_path, "old.ipynb", json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert document.title == "Moorings"
    assert parts(document) == [
        ("paragraph", ("Moorings",), "Who lies where."),
        ("code", ("Moorings",), "len(boats)\n\nOut:\nread\n12\nValueError: no berth"),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": 1}', "is no notebook with cells: open it in Jupyter and save it again"),
        ("[1]", "is no notebook with cells: open it in Jupyter and save it again"),
        (
            '{"cells": 1, "worksheets": [2, {"cells": [3]}]}',
            "is no notebook with cells: open it in Jupyter and save it again",
        ),
        ('{"cells": [{"cell_type": "code", "source": 1, "outputs": [2, {"data": 3}]}]}', "contains no text"),
        ('{\n"cells": [\n<<<<<<< HEAD\n', "is not valid JSON at line 3, column 1"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    assert refused(tmp_path, "a.ipynb", content) == reason


def test_values_of_other_types_than_the_format_has_are_passed_over(tmp_path: Path) -> None:
    odd = {"cell_type": "heading", "level": "x", "source": ["Moorings", 5]}
    document = notebook(tmp_path, odd, code("moor()", {"output_type": "stream", "text": 7}, shown(text_plain="12")), title=5)
    assert (document.title, parts(document)) == ("Moorings", [("code", ("Moorings",), "moor()\n\nOut:\n12")])


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<table ", "![", "![a](attachment:", "\x1b[", "a\r", "<"])
def test_what_is_repeated_takes_no_more_time_than_it_is_long(tmp_path: Path, piece: str) -> None:
    long = piece * 10_000
    cells = [markdown("Nine berths."), markdown(long), code("moor()", printed(long), shown(text_html=long))]

    def tried() -> None:
        assert notebook(tmp_path, *cells).text.startswith("Nine berths.")

    assert soon(tried, seconds=5)

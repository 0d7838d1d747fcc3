"""Notebooks of Jupyter (nbformat 3 and 4): their Markdown, and the code below it with what it put out."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lexigraph.ingestion.readers.html import add_html, check_tags
from lexigraph.ingestion.readers.markdown import add_markdown, check_marks, front_matter
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean
from lexigraph.ingestion.readers.plain.reader import add_plain
from lexigraph.ingestion.readers.records import check_values, parse_json
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_LINES, _CHARS = 20, 1_500  # of an output, about: what is longer is shown without its middle
_TABLE_CHARS = 50_000  # of HTML: what is longer is no table to be read
_LIVE = re.compile(r"application/vnd\.(?:jupyter\.widget|plotly|bokeh|vega|holoviews)")
_NOTICE = re.compile(r"(?:copyright|license[ds]?)\b|©", re.IGNORECASE)
_ATTACHED = re.compile(r"!\[[^\]\n]{0,200}\]\(attachment:[^)\n]{0,200}\)")
_TERMINAL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_REWRITTEN = re.compile(r"^[^\n]*\r(?=[^\n])", re.MULTILINE)  # progress: what a line showed before its last state
# <Figure size 640x480 with 1 Axes>, [<matplotlib.lines.Line2D at 0x7f>]: what stands for what is shown otherwise
_STANDS_FOR = re.compile(r"[\[({]*<(?:[^<>=]*>|Axes)|.* at 0x[0-9a-fA-F]{6}")


def read_notebook(data: bytes, settings: Settings) -> Parsed:
    """Read a notebook: the headings of its Markdown make the sections, each cell of code is a block with its output.

    Of outputs texts, tables and the last line of errors are read, up to 20 lines each; images, widgets, and what was
    written to stderr, are left out. The title is that of the metadata, of YAML at the head, or of :func:`_title`.
    """
    text, encoding = decode(data)
    check_values(text, settings)
    book = parse_json(text)
    cells = list(_cells(book))
    if not cells:
        raise InvalidInput("is no notebook with cells: open it in Jupyter and save it again")
    told = _mapping(book.get("metadata"))
    builder = TextBuilder(settings)
    front: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        source = clean(_text(cell.get("source", cell.get("input"))))
        check_text(source, settings)
        kind = cell.get("cell_type")
        if number == 0 and kind in ("raw", "markdown"):
            front, source = front_matter(source.strip() + "\n")
        if kind == "heading":  # of nbformat 3
            level = cell.get("level")
            builder.heading(level if isinstance(level, int) and 1 <= level <= 6 else 1, source)
        elif kind == "markdown":
            _markdown(builder, source, settings)
        elif kind == "code":
            _code(builder, source, cell.get("outputs"), settings)
        else:
            add_plain(builder, source)
    titles = (told.get("title"), front.pop("title", ""))
    title = next((t for t in titles if isinstance(t, str) and t), "")
    parsed = builder.parsed(title, {**front, **_language(told), **encoding_note(encoding)})
    return parsed if title else replace(parsed, title=_title(parsed))


def _cells(book: Any) -> Iterator[dict[str, Any]]:
    """Yield the cells of a notebook, of nbformat 3 those of its worksheets."""
    book = _mapping(book)
    sheets = book.get("worksheets")
    for sheet in (book, *(sheets if isinstance(sheets, list) else ())):
        cells = _mapping(sheet).get("cells")
        yield from (cell for cell in (cells if isinstance(cells, list) else ()) if isinstance(cell, dict))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """Return a text that may be written as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _language(told: Mapping[str, Any]) -> dict[str, Any]:
    kernel, info = _mapping(told.get("kernelspec")), _mapping(told.get("language_info"))
    name = info.get("name") or kernel.get("language")
    return {"code_language": name} if isinstance(name, str) else {}


def _title(parsed: Parsed) -> str:
    """Return the one heading that is above all others, else the first if nothing stands before it; notices are none."""
    above = [(*b.headings, parsed.text[b.start : b.end] if b.role == "heading" else "")[0] for b in parsed.blocks]
    tops = [top for top in dict.fromkeys(above) if top and not _NOTICE.match(top)]
    return tops[0] if len(tops) == 1 or tops[:1] == above[:1] else ""


def _markdown(builder: TextBuilder, source: str, settings: Settings) -> None:
    check_marks(source, settings)
    add_markdown(builder, _ATTACHED.sub("", source))


def _code(builder: TextBuilder, source: str, outputs: Any, settings: Settings) -> None:
    """Add a cell of code and the text that it put out as one block: neither says much without the other."""
    shown: list[str] = []
    pages: list[tuple[str, str]] = []
    for output in outputs if isinstance(outputs, list) else ():
        kind, text = _output(_mapping(output))
        if kind == "text":
            shown.append(text)
        elif text:
            pages.append((kind, text))
    text = _short("\n".join(filter(None, shown)))
    builder.add("\n\n".join(filter(None, (source.strip("\n"), text and f"Out:\n{text}"))), "code")
    for kind, page in pages:
        if kind == "html":
            check_tags(page, settings)
            add_html(builder, page)
        else:
            check_text(page, settings)
            _markdown(builder, clean(page), settings)


def _output(output: Mapping[str, Any]) -> tuple[str, str]:
    """Return an output as (kind, text), where the kind is text, html or markdown; an empty text for none to be read."""
    match output.get("output_type"):
        case "stream":
            errors = "stderr" in (output.get("name"), output.get("stream"))
            return "text", "" if errors else _plain(output.get("text"))
        case "error" | "pyerr":
            return "text", ": ".join(filter(None, (_plain(output.get("ename")), _plain(output.get("evalue")))))
        case "execute_result" | "display_data" | "pyout":
            data = _mapping(output.get("data")) or output  # nbformat 3 has no bundle
            if any(map(_LIVE.match, data)):
                return "text", ""
            page = _text(data.get("text/html", data.get("html")))
            table = page[page.find("<table") : page.rfind("</table>")] if "<table" in page else ""
            if 0 < len(table) <= _TABLE_CHARS:
                return "html", table
            if marked := _text(data.get("text/markdown")):
                return "markdown", marked
            text = _plain(data.get("text/plain", data.get("text")))
            return "text", "" if _STANDS_FOR.match(text) else text
    return "text", ""


def _plain(value: Any) -> str:
    text = _REWRITTEN.sub("", _TERMINAL.sub("", _text(value)).replace("\r\n", "\n"))
    return clean(text).strip("\n")


def _short(text: str) -> str:
    """Return an output without its middle where it is long: tables are told by their head, a training by its end."""
    lines = text.split("\n")
    if len(lines) > _LINES:
        lines = [*lines[: _LINES // 2], "...", *lines[-_LINES // 2 :]]
    text = "\n".join(lines)
    return text if len(text) <= _CHARS else f"{text[: _CHARS // 2]}\n...\n{text[-_CHARS // 2 :]}"

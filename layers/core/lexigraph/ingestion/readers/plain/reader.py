"""The plain text reader: lines become an outline, and what stands below each heading."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lexigraph.ingestion.readers.chat import read_chat
from lexigraph.ingestion.readers.fields import leading_fields, paragraphs, title_of
from lexigraph.ingestion.readers.hyphens import rejoin
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean, one_line
from lexigraph.ingestion.readers.plain.body import Body
from lexigraph.ingestion.readers.plain.lines import Run, bullet_end, runs_of, unwrap, width_of
from lexigraph.ingestion.readers.plain.notices import entry, is_contents, is_signature, leading_notices
from lexigraph.ingestion.readers.plain.outline import Heading, Outline, parted, sole
from lexigraph.ingestion.readers.plain.pages import manual_page, manual_title, without_breaks
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.settings import Settings

_MAX_TITLE = 100
_HEAD = 20  # paragraphs among which notices are looked for
_GROUP = 9  # the level of a group of fields: below whatever they stand in
_NO_TITLE = re.compile(r"\S@\S|://|^\W*\d+[/.-]\d+[/.-]\d|^[#@/<{]")


def read_text(data: bytes, settings: Settings) -> Parsed:
    """Read plain text by its layout: headings, paragraphs, lists, terms, code, tables; lines of pages are boilerplate.

    The title is what fields at the head tell, that of a manual page, a heading that is above all others, or a short first
    line without a full stop.
    """
    text, encoding = decode(data)
    check_text(text, settings)
    builder = TextBuilder(settings)
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    if chat := read_chat(whole, settings):
        return chat
    told, below = add_fields(builder, whole)
    text, furniture = without_breaks(rejoin(below))
    runs = parted(list(runs_of(clean(text))))
    for run in runs:
        run.furniture = bool(furniture) and all(line.text in furniture for line in run.lines)
    manual = manual_page(runs)
    _mark_notices(runs, len(text))
    first = below == whole  # below fields is no title
    headings = _add(builder, runs, titled=first and not manual)
    title = _manual_title(manual, runs, headings) if manual else _title(runs, headings) if first else told
    return builder.parsed(title, encoding_note(encoding))


def add_fields(builder: TextBuilder, text: str) -> tuple[str, str]:
    """Add the fields that a text begins with; return the title that they tell, and the text below them.

    Values of one key that follow each other are one item. Where there are several groups of fields, each is a section.
    """
    groups, below = leading_fields(text)
    for fields in groups:
        if len(groups) > 1:
            _, first = fields[0]
            builder.heading(_GROUP, (title_of(fields) or first[0]).partition("\n")[0])
        builder.base += _GROUP
        for key, values in fields:
            said, more = zip(*map(paragraphs, values), strict=True)
            builder.add(f"{key}: {'; '.join(map(one_line, said))}", "list")
            for text in filter(None, more):
                add_plain(builder, text)
        builder.base -= _GROUP
        builder.end_sections(_GROUP - 1)
    titles = [title for fields in groups if (title := title_of(fields))]
    return one_line(titles[0]) if len(titles) == 1 else "", below


def add_plain(builder: TextBuilder, text: str) -> None:
    """Add plain text in the middle of a document."""
    _, text = add_fields(builder, clean(text))
    text = rejoin(text)
    if "\n" in text:
        _add(builder, list(runs_of(text)))
    else:
        builder.add(text, "list" if bullet_end(text.lstrip()) else "paragraph")


def _add(builder: TextBuilder, runs: Sequence[Run], *, titled: bool = False) -> dict[int, Heading]:
    """Add runs; return the headings found by the number of the run that they begin."""
    width = width_of(runs)
    outline = Outline(runs, width)
    headings = outline.headings
    if titled and (first := _first(runs)) is not None and _is_title(runs, first):
        found = headings.setdefault(first, Heading(0, runs[first].text, 1, "plain"))
        if all(h.style != found.style for number, h in headings.items() if number != first):
            headings[first] = replace(found, level=0)  # it is above all others
    known = {entry(heading.text) for heading in headings.values()}
    body = Body(builder, outline.margin, width)
    synopsis = 0  # the level of that heading, while what is below it lasts
    for number, run in enumerate(runs):
        rest = run
        heading = headings.get(number)
        while heading:
            body.heading(heading.level, heading.text)
            if heading.text == "SYNOPSIS" or heading.level <= synopsis:
                synopsis = heading.level if heading.text == "SYNOPSIS" else 0
            body.synopsis = synopsis > 0
            rest = Run(rest.lines[heading.lines :])
            heading = outline.below(rest)
        if rest.lines:
            own = is_contents([line.text for line in rest.lines], known) or is_signature(rest.text)
            rest.furniture = run.furniture or own
            last = number + 1 == len(runs) or number + 1 in headings
            body.add(rest, None if last else runs[number + 1].lines[0])
    body.close()
    return headings


def _mark_notices(runs: Sequence[Run], length: int) -> None:
    """Mark notices at the head of a text, or below its title, as what every file has."""
    for begin in (0, 1):
        paragraphs = ["\n".join(line.text for line in run.lines) for run in runs[begin : begin + _HEAD]]
        if notices := leading_notices(paragraphs, length):
            for run in runs[begin : begin + notices]:
                run.furniture = True
            return


def _first(runs: Sequence[Run]) -> int | None:
    return next((number for number, run in enumerate(runs) if not run.furniture), None)


def _is_title(runs: Sequence[Run], number: int) -> bool:
    """Tell whether a run at the head of a text is a line that looks like a title."""
    text = runs[number].text
    alone = len(runs[number].lines) == 1 and len(runs) > number + 1 and len(text) <= _MAX_TITLE
    return (
        alone and text[-1] not in ".,;:" and any(map(str.isalpha, text)) and not (bullet_end(text) or _NO_TITLE.search(text))
    )


def _title(runs: Sequence[Run], headings: dict[int, Heading]) -> str:
    first = _first(runs)
    found = [headings[number] for number in sorted(headings)]
    return found[0].text if first in headings and sole(found) else ""


def _manual_title(name: str, runs: Sequence[Run], headings: dict[int, Heading]) -> str:
    """Return the title of a manual page: its name and the line under its first heading, NAME."""
    number = min(headings, default=None)
    if number is None:
        return name
    below = runs[number].lines[headings[number].lines :] or runs[number + 1].lines if number + 1 < len(runs) else []
    return manual_title(name, unwrap(below)) if below else name

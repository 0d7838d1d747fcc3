"""Text in pages: heads and feet that stand on every page, and the head and foot of a manual page."""

import re
from collections import Counter
from collections.abc import Sequence

from lexigraph.ingestion.readers.plain.lines import Run, line_of

_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_FOOT = re.compile(r"^(.*\[Page \d+\][^\S\n]*)\n(?!\f)", re.MULTILINE)
_MANUAL = re.compile(r"(?P<name>\S.*?)\((?P<section>\w{1,8})\).*(?P=name)\((?P=section)\)")
_SUMMARY = re.compile(r"(.+?)\s+(?:-{1,2}|–|—|‐)\s+(\S.*)", re.DOTALL)
_MOST = 300  # characters of the head of a manual page
_GOES_ON = re.compile(r"[^.:!?\"”’)\s][^\S\n]*$|,[^\S\n]*$")


def without_breaks(text: str) -> tuple[str, frozenset[str]]:
    """Return a text in one piece, and the lines that stood at the heads and feet of its pages.

    A paragraph that goes on over a page break is joined; the lines of the page stand behind it, in a run of their own.
    Pages are parted by form feeds, or end with ``[Page N]``.
    """
    if "\f" not in text:
        if text.count("[Page ") < 2:
            return text, frozenset()
        text = _FOOT.sub("\\1\n\f\n", text)
    pages = [page.split("\n") for page in text.split("\f")]
    heads = _repeated([_edge(page, range(len(page))) for page in pages])
    feet = _repeated([_edge(page, range(len(page) - 1, -1, -1)) for page in pages])
    found: set[str] = set()
    whole: list[str] = []
    pending: list[str] = []
    for lines in pages:
        page = list(lines)
        foot = _taken(page, feet, last=True)
        head = _taken(page, heads)
        found.update(foot + head)
        _append(whole, page, pending + head)
        pending = foot
    whole += ["", *pending]
    return "\n".join(whole), frozenset(line_of(line).text for line in found)


def _taken(page: list[str], known: frozenset[str], *, last: bool = False) -> list[str]:
    """Take the first or last line off a page when it is known to stand on others."""
    order = range(len(page) - 1, -1, -1) if last else range(len(page))
    at = next((n for n in order if page[n].strip()), -1)
    if at < 0 or _shape(page[at]) not in known:
        return []
    taken = page[at]
    del page[slice(at, None) if last else slice(at + 1)]
    return [taken]


def _append(whole: list[str], page: list[str], between: list[str]) -> None:
    """Add the lines of a page, and those between it and the page before, which stand behind what goes on."""
    while whole and not whole[-1].strip():
        whole.pop()
    while page and not page[0].strip():
        page.pop(0)
    goes_on = bool(whole and page and _GOES_ON.search(whole[-1]) and page[0].lstrip()[:1].islower())
    if goes_on:
        end = next((n for n, line in enumerate(page) if not line.strip()), len(page))
        whole += [*page[:end], ""]
        page = page[end:]
    else:
        whole.append("")
    if between:
        whole += [*between, ""]
    whole += page


def _edge(page: Sequence[str], order: range) -> str:
    """Return the first line in this order that is not blank."""
    return next((page[n] for n in order if page[n].strip()), "")


def _repeated(lines: Sequence[str]) -> frozenset[str]:
    """Return the lines, numbers and blanks apart, that stand on a third of the pages."""
    counts = Counter(_shape(line) for line in lines if line)
    return frozenset(line for line, count in counts.items() if count > 1 and count * 3 >= len(lines))


def _shape(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.split()))


def manual_page(runs: Sequence[Run]) -> str:
    """Mark head and foot of a manual page as furniture; return its name and section, empty for another text."""
    head = _head(runs[0]) if runs else None
    if not head:
        return ""
    name = f"{head['name']}({head['section']})"
    for run in runs:
        if len(run.lines) == 1 and (_head(run) or (run is runs[-1] and run.indent < 3)):
            run.furniture = run.furniture or run is not runs[-1] or bool(re.search(r"\s{3,}\S", run.text))
    return name


def _head(run: Run) -> re.Match[str] | None:
    return _MANUAL.fullmatch(run.text) if len(run.lines) == 1 and len(run.text) <= _MOST else None


def manual_title(name: str, summary: str) -> str:
    """Return ``pipe(7) - overview of pipes`` of the page's name and what stands under NAME."""
    found = _SUMMARY.fullmatch(" ".join(summary.split()))
    if not found:
        return name
    command, _, section = name.rpartition("(")
    said = next((n for n in found[1].split(", ") if n.casefold() == command.casefold()), command)
    return f"{said}({section} - {found[2]}"

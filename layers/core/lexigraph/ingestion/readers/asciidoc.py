"""AsciiDoc: sections, lists, blocks between lines of one sign, tables; read line by line."""

import re
from collections.abc import Sequence

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean, one_line
from lexigraph.ingestion.readers.plain.lines import dedented, is_code, line_of
from lexigraph.ingestion.readers.plain.notices import is_notice
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.document import BOILERPLATE
from lexigraph.settings import Settings

_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*?)(?:(?<!\s)\s++\1)?$")
_UNDERLINE = re.compile(r"(=|-|~|\^|\+)\1{3,}$")
_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_STYLE = re.compile(r"\[([^\]]*)\]$")
_TITLE = re.compile(r"\.([^\s.].*)$")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}+|\+{4,}|/{4,}|```+|--)(\w*)$")
_TABLE = re.compile(r"[|,:!]={3,}$")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|[a-zA-Z]\.|<\d*\.?>)\s+(?=\S)")
_TERM = re.compile(r"(\S.*?)(?:::{1,3}|;;)(?:\s+(\S.*))?$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION): (.+)$")
_MACRO = re.compile(r"(?:ifdef|ifndef|ifeval|endif|include|toc|image|video|audio|menu|indexterm\d?)::?[^\s\[]*\[.*\]$")
_LINK = re.compile(r"(?:(?:link|xref|mailto):|(?=https?://|ftp://|irc://))([^\s\[\]]{1,2000})\[([^\]]{0,2000})\]")
_CROSS = re.compile(r"<<([^,<>]{1,200})(?:,\s*([^<>]{1,200}))?>>")
_INLINE_MACRO = re.compile(
    r"\b(?:image|icon|kbd|btn|footnote|footnoteref|stem|latexmath|pass|anchor|menu|indexterm2?):([^\s\[]{0,2000})\[([^\]]{0,2000})\]"
)
_SIGNS = re.compile(r"(?<![\w*`])([*_`+^~#]{1,2})(?=\S)(.{1,300}?)(?<=\S)\1(?!\w)")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_CELL = re.compile(r"(?<!\\)(?:(?:\d{1,4}(?:\.\d{1,4})?[*+])?[<^>.]{0,4}[aehlmsvd]?)?\|")
_VERBATIM = ("-", ".", "`")
_NESTING = 20


def read_asciidoc(data: bytes, settings: Settings) -> Parsed:
    """Read AsciiDoc; the title is that of the document (``= Title``), else the first heading."""
    text, encoding = decode(data)
    check_text(text, settings)
    lines = [line.expandtabs(8).rstrip() for line in clean(text).split("\n")]
    builder = TextBuilder(settings)
    _Reader(builder).add(lines)
    return builder.parsed(builder.first_heading(), encoding_note(encoding))


class _Reader:
    """Adds lines to a document; what stands above a block (its title, its style) waits for it."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._attributes: dict[str, str] = {}
        self._style = ""

    def add(self, lines: Sequence[str], role: str = "paragraph", depth: int = 0) -> None:
        """Add the blocks of lines; ``role`` is that of paragraphs."""
        at = 0
        while at < len(lines):
            if lines[at] and lines[at] != "+":
                at = max(at + 1, self._block(lines, at, role, depth))
            else:
                role = "paragraph" if not lines[at] and depth == 0 else role
                at += 1

    def _block(self, lines: Sequence[str], at: int, role: str, depth: int) -> int:
        """Add the block that begins at a line; return where it ends."""
        line = lines[at]
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line.startswith("//") and not line.startswith("////"):
            end = next((n for n in range(at, len(lines)) if not lines[n].startswith("//")), len(lines))
            if is_notice(comment := "\n".join(text.lstrip("/ ") for text in lines[at:end])):
                self._builder.add(comment, BOILERPLATE)
            return end
        if attribute := _ATTRIBUTE.match(line):
            self._attributes[attribute[1]] = self._inline(attribute[2] or "")
            return at + 1
        if delimiter := _DELIMITER.match(line):
            end = next((n for n in range(at + 1, len(lines)) if lines[n] == delimiter[1]), len(lines))
            self._delimited(delimiter[1], lines[at + 1 : end], role, depth)
            return end + 1
        if _TABLE.match(line):
            end = next((n for n in range(at + 1, len(lines)) if lines[n] == line), len(lines))
            self._table(lines[at + 1 : end])
            return end + 1
        if heading := _HEADING.match(line):
            self._builder.heading(len(heading[1]), self._inline(heading[2]))
            return self._header(lines, at + 1) if len(heading[1]) == 1 else at + 1
        underline = _UNDERLINE.match(below)
        if underline and abs(len(below) - len(line)) < 3 and not line.startswith(("[", ".", "|")):
            self._builder.heading(_LEVELS[underline[1]], self._inline(line))
            return at + 2
        if line.startswith("[[") or _MACRO.match(line) or line in ("'''", "<<<"):
            return at + 1
        if style := _STYLE.match(line):
            self._style = style[1]
            return at + 1
        if title := _TITLE.match(line):
            self._builder.add(f"{self._inline(title[1]).rstrip(':')}:", role)
            return at + 1
        return self._text(lines, at, role, depth)

    def _header(self, lines: Sequence[str], at: int) -> int:
        """Pass over the lines of authors and revision below the title of the document."""
        end = at
        while (
            end < len(lines)
            and lines[end]
            and not lines[end].startswith((":", "/", "[", "ifdef", "ifndef"))
            and end - at < 2
        ):
            end += 1
        authors = end < len(lines) and end > at
        if authors:
            self._builder.add("\n".join(map(self._inline, lines[at:end])), BOILERPLATE)
        return end

    def _delimited(self, delimiter: str, lines: Sequence[str], role: str, depth: int) -> None:
        style, self._style = self._style, ""
        code = style.startswith(("source", "listing", "literal", "stem")) and delimiter == "--"
        if code or (delimiter[0] in _VERBATIM and delimiter != "--"):
            self._builder.add("\n".join(lines), "code")
        elif delimiter[0] in "/+":
            return  # a comment, or what is meant for another format
        elif depth < _NESTING:
            self.add(lines, role, depth + 1)
        else:
            self._builder.add("\n".join(lines), role)

    def _text(self, lines: Sequence[str], at: int, role: str, depth: int) -> int:
        """Add a paragraph, an item, a term or a literal paragraph."""
        line, style = lines[at], self._style
        self._style = ""
        end = next((n for n in range(at + 1, len(lines)) if self._ends(lines, n)), len(lines))
        if style.startswith(("source", "listing", "literal")):
            end = next((n for n in range(at, len(lines)) if not lines[n]), len(lines))
            self._builder.add("\n".join(lines[at:end]), "code")
        elif item := _ITEM.match(line):
            said = " ".join(text.strip() for text in [line[item.end() :], *lines[at + 1 : end]])
            mark = item[1] if item[1][0].isalnum() else "-"
            self._builder.add(f"{mark} {self._inline(said)}", "list")
            return self._continued(lines, end, depth)
        elif term := _TERM.match(line):
            start = at + 1
            if not term[2]:
                start = next((n for n in range(start, len(lines)) if lines[n]), len(lines))
                end = next((n for n in range(start, len(lines)) if self._ends(lines, n)), len(lines))
                if start < len(lines) and (
                    _TERM.match(lines[start]) or _ITEM.match(lines[start]) or _DELIMITER.match(lines[start])
                ):
                    self._builder.add(f"{self._inline(term[1])}:", "list")
                    return start
            said = " ".join([term[2] or "", *map(str.strip, lines[start:end])])
            self._builder.add(f"{self._inline(term[1])}: {self._inline(said)}", "list")
            return self._continued(lines, end, depth)
        elif line.startswith(" "):
            end = next((n for n in range(at, len(lines)) if not lines[n]), len(lines))
            if is_code([line_of(text) for text in lines[at:end]], introduced=True):
                self._builder.add("\n".join(dedented(lines[at:end])), "code")
            else:  # meant to go on with the item above
                self._builder.add(self._inline(" ".join(map(str.strip, lines[at:end]))), role)
        else:
            said = " ".join(text.strip() for text in lines[at:end] if not text.startswith("//"))
            note = _ADMONITION.match(said)
            self._builder.add(self._inline(note[2] if note else said), role)
        return end

    def _ends(self, lines: Sequence[str], number: int) -> bool:
        """Tell whether a paragraph ends before a line."""
        line = lines[number]
        return (
            not line
            or line == "+"
            or bool(_ITEM.match(line) or _DELIMITER.match(line) or _TABLE.match(line) or _TERM.match(line))
        )

    def _continued(self, lines: Sequence[str], at: int, depth: int) -> int:
        """Add the blocks that a ``+`` joins to an item."""
        while at + 1 < len(lines) and lines[at] == "+" and depth < _NESTING:
            at += 1
            while at < len(lines) and (_STYLE.match(lines[at]) or _TITLE.match(lines[at])):
                at = self._block(lines, at, "list", depth + 1)
            if at < len(lines) and lines[at]:
                at = max(at + 1, self._block(lines, at, "list", depth + 1))
        return at

    def _table(self, lines: Sequence[str]) -> None:
        """Add the cells of a table; its columns are told by its style, or by its first line."""
        style, self._style = self._style, ""
        cells: list[str] = []
        first = 0
        for line in lines:
            parts = _CELL.split(line)
            if cells and parts[0].strip():
                cells[-1] = f"{cells[-1]} {parts[0].strip()}".strip()
            cells += [part.strip() for part in parts[1:]]
            first = first or len(cells)
        given = re.search(r"cols=\"?([^\"\]]+)\"?", style)
        width = _width(given[1]) if given else first
        rows = [cells[n : n + width] for n in range(0, len(cells), max(width, 1))] if cells else []
        blank = len(lines) > 1 and bool(lines[0]) and not lines[1]
        headed = "header" in style or blank
        add_rows(self._builder, [[self._inline(cell) for cell in row] for row in rows], "table", headed=headed)

    def _inline(self, text: str) -> str:
        """Return text without the signs of its markup; links are what readers see of them."""
        for _ in range(3):  # attributes are made of attributes
            text = _REFERENCE.sub(lambda found: self._attributes.get(found[1], found[0]), text)
        text = _INLINE_MACRO.sub(lambda found: found[2].partition(",")[0], text)
        text = _LINK.sub(lambda found: found[2].rstrip("^").strip('"') or found[1], text)
        text = _CROSS.sub(lambda found: found[2] or found[1].lstrip("#_").replace("_", " "), text)
        for _ in range(2):  # bold code
            text = _SIGNS.sub(lambda found: found[2].strip("+"), text)
        return one_line(re.sub(r"\[\[[^\[\]]*\]\]|\[#?[.\w-]*\](?=[#*_`])| \+$", "", text))


def _width(columns: str) -> int:
    """Return how many columns ``cols`` names: ``1,2,3`` or ``3*``."""
    return sum(int(many[1]) if (many := re.match(r"(\d+)\*", part.strip())) else 1 for part in columns.split(","))

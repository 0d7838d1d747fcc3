"""reStructuredText, as docutils and Sphinx write it: sections, lists, tables, directives; read line by line.

docutils is not used: it knows no directive and no role of Sphinx, and makes error messages of them.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean, is_badge, numbered, one_line
from lexigraph.ingestion.readers.plain.columns import drawn
from lexigraph.ingestion.readers.plain.lines import dedented, line_of
from lexigraph.ingestion.readers.plain.notices import is_notice
from lexigraph.ingestion.readers.plain.reader import add_fields
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.document import BOILERPLATE
from lexigraph.settings import Settings

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+")
_EXPLICIT = re.compile(r"\.\.(?:\s+(.*))?$")
_DIRECTIVE = re.compile(r"(?:\|([^|]+)\|\s+)?([\w:.+-]+?)\s?::(?:\s+(.*))?$")
_FOOTNOTE = re.compile(r"\[(#?[\w.*-]*)\]\s+(.*)")
_FIELD = re.compile(r":((?:[^:\\`]|\\.)+):(?:\s+(.*))?$")
_ITEM = re.compile(r"(?:[-*+•]|(?:\d{1,3}|[a-zA-Z]|[ivxlc]{1,5}|#)[.)]|\((?:\d{1,3}|[a-zA-Z]|#)\))(?:\s+|$)")
_OPTION = re.compile(r"((?:--?\w[\w-]*|/\w)(?:[ =]<?[\w.-]+>?)?(?:, (?:--?\w[\w-]*)(?:[ =]<?[\w.-]+>?)?)*)\s{2,}(\S.*)")
_SIMPLE = re.compile(r"=+(?:\s+=+)+\s*$")
# no role has a longer name: without an end, each colon of a run would be looked for the end of all
_ROLE = re.compile(r":(?P<role>[\w:.+-]{1,100}):`(?P<of>[^`]+)`|`(?P<before>[^`]+)`:[\w:.+-]{1,100}:")
_LINK = re.compile(r"`([^`<]*)(?:<[^`>]*>)?`__?(?!\w)")
_TARGET = re.compile(r"^([~!]?)(.*?)(?:(?<!\s)\s*<[^<>]*>)?$", re.DOTALL)
_LITERAL = re.compile(r"``(.+?)``", re.DOTALL)
_INLINE = re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*]+?)(?<=\S)\*{1,2}(?!\w)|`([^`]+)`|(?<=\w)__?(?=[\s.,;:!?)'\"]|$)|\\\s?")

_CODE = frozenset(
    "code code-block sourcecode parsed-literal literalinclude prompt doctest testcode testoutput ipython math "
    "command-output jupyter-execute productionlist graphviz mermaid uml plantuml".split()
)
_SILENT = frozenset(  # what says something to the machine only
    "highlight meta raw default-role role currentmodule py:currentmodule module py:module sectnum tabularcolumns "
    "target-notes sectionauthor codeauthor moduleauthor rst-class class_ cssclass unicode title default-domain".split()
)
_LISTS = frozenset(
    "toctree contents index glossary-index autosummary autoclass automodule autofunction include genindex".split()
)
_OBJECTS = frozenset(
    "function method class attribute data exception classmethod staticmethod property decorator decoratormethod describe "
    "object cmdoption option program envvar confval setting macro type member struct enum enumerator var namespace "
    "opcode rst:role rst:directive directive role module-function ns".split()
)
_NESTING = 20  # levels of what stands in what; deeper is a paragraph


@dataclass(frozen=True, slots=True)
class _Directive:
    """A directive: its ``arguments`` are on its first line, ``options`` between colons, ``body`` is what is indented."""

    name: str
    arguments: str
    options: dict[str, str]
    body: list[str]


def read_rst(data: bytes, settings: Settings) -> Parsed:
    """Read reStructuredText; the title is what fields tell or the first heading, bibliographic fields are metadata."""
    text, encoding = decode(data)
    check_text(text, settings)
    builder = TextBuilder(settings)
    told, text = add_fields(builder, clean(text))
    lines = [line.expandtabs(8).rstrip() for line in text.split("\n")]
    reader = _Reader(builder, _substitutions(lines))
    reader.sections(lines)
    return builder.parsed(told or builder.first_heading(), {**reader.fields, **encoding_note(encoding)})


def _substitutions(lines: Sequence[str]) -> dict[str, str]:
    """Return what stands for names between bars: texts, and nothing for a badge."""
    found = (re.match(r"\.\. \|([^|]+)\| (replace|unicode|image):: (.+)", line) for line in lines)
    shown = [match.groups() for match in found if match]
    badges = {name: "" for name, kind, what in shown if kind == "image" and is_badge(what)}
    return {name: what.strip() for name, kind, what in shown if kind != "image"} | badges


class _Reader:
    """Adds lines to a document, with the sections that it has met."""

    def __init__(self, builder: TextBuilder, substitutions: dict[str, str]) -> None:
        self._builder = builder
        self._substitutions = substitutions
        self._styles: list[str] = []
        self.fields: dict[str, str] = {}

    # ------------------------------------------------------------ sections

    def sections(self, lines: list[str]) -> None:
        """Add a whole document: what stands between headings, and the headings by the order of their styles."""
        start = at = 0
        while at < len(lines):
            title, style, height = _title(lines, at)
            if not title:
                at += 1
                continue
            self._blocks(lines[start:at])
            if style not in self._styles:
                self._styles.append(style)
            self._builder.heading(self._styles.index(style) + 1, self._inline(title))
            start = at = at + height
        self._blocks(lines[start:])

    # ------------------------------------------------------------ blocks

    def _blocks(self, lines: Sequence[str], role: str = "paragraph", depth: int = 0) -> None:
        """Add the blocks that lines of one indent are; ``role`` is that of paragraphs."""
        at = 0
        while at < len(lines):
            if not lines[at]:
                at += 1
                continue
            end = self._block(lines, at, role, depth) if depth < _NESTING else len(lines)
            if depth >= _NESTING:
                self._paragraph(lines[at:end], role)
            at = max(end, at + 1)

    def _block(self, lines: Sequence[str], at: int, role: str, depth: int) -> int:
        """Add the block that begins at a line; return where it ends."""
        line = lines[at]
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line.startswith(" "):
            end = _indented(lines, at)
            self._blocks(dedented(lines[at:end]), role, depth + 1)
            return end
        if explicit := _EXPLICIT.match(line):
            end = _indented(lines, at + 1)
            self._explicit(explicit[1] or "", lines[at + 1 : end], role, depth)
            return end
        if line.startswith(">>> "):
            end = _until_blank(lines, at)
            self._builder.add("\n".join(lines[at:end]), "code")
            return end
        if _SIMPLE.fullmatch(line) or (line[0] == "+" and drawn([line_of(x) for x in lines[at : _until_blank(lines, at)]])):
            return self._table(lines, at)
        if line.startswith("| "):
            end = _until_blank(lines, at)
            self._builder.add("\n".join(self._inline(x.strip("| ")) for x in lines[at:end]), role)
            return end
        if line.startswith("__ ") or (_RULE.fullmatch(line) and len(line) > 3 and not below):
            return at + 1  # an anonymous target, a transition
        return self._item(lines, at, depth) or self._text(lines, at, role, depth)

    def _item(self, lines: Sequence[str], at: int, depth: int) -> int:
        """Add a list item, a field or an option with all that belongs to it; return where it ends, 0 if there is none."""
        line = lines[at]
        end = _indented(lines, at + 1)
        if field := _FIELD.match(line):
            body = [field[2] or "", *dedented(lines[at + 1 : end])]
            self._field(field[1], body, depth)
            return end
        if option := _OPTION.fullmatch(line):
            self._defined(option[1], [option[2], *dedented(lines[at + 1 : end])], depth)
            return end
        found = _ITEM.match(line)
        if not found:
            return 0
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if below and not below.startswith(" ") and not _ITEM.match(below) and line[0].isalnum():
            return 0  # a wrapped line that begins with a number
        body = [line[found.end() :], *dedented(lines[at + 1 : end])]
        first = next((n for n, text in enumerate(body) if not text), len(body))
        head = self._joined(body[:first])
        if any(_ITEM.match(text) or _EXPLICIT.match(text) for text in body[:1]):
            self._blocks(body, "list", depth + 1)
            return end
        self._builder.add(f"{found[0].strip()} {head.removesuffix('::')}{':' if head.endswith('::') else ''}", "list")
        self._after(head, body[first:], "list", depth)
        return end

    def _text(self, lines: Sequence[str], at: int, role: str, depth: int) -> int:
        """Add a paragraph, or a term with its definition."""
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if below.startswith(" ") and not lines[at].endswith("::"):
            end = _indented(lines, at + 1)
            self._defined(lines[at], dedented(lines[at + 1 : end]), depth)
            return end
        end = next((n for n in range(at + 1, len(lines)) if not lines[n] or lines[n].startswith(" ")), len(lines))
        self._paragraph(lines[at:end], role)
        head = lines[end - 1]
        if not head.endswith("::"):
            return end
        last = _indented(lines, end)
        self._after(head, lines[end:last], role, depth)
        return last

    def _paragraph(self, lines: Sequence[str], role: str) -> None:
        text = self._joined(lines)
        if text.endswith("::"):
            text = text[:-2].rstrip()
            text = f"{text}:" if text and text[-1] not in ":.!?" else text
        self._builder.add(text, role)

    def _after(self, head: str, lines: Sequence[str], role: str, depth: int) -> None:
        """Add what belongs to a paragraph: behind two colons a literal block."""
        if not head.endswith("::"):
            self._blocks(lines, role, depth + 1)
            return
        first = next((n for n, line in enumerate(lines) if line), len(lines))
        end = _indented(lines, first)
        if end == first and first < len(lines) and lines[first][:1] in "\"'>|#$%":
            end = _until_blank(lines, first)  # a quoted literal block
        if end == first:
            end = len(lines)
        self._builder.add("\n".join(dedented(lines[first:end])), "code")
        self._blocks(lines[end:], role, depth + 1)

    def _defined(self, term: str, body: Sequence[str], depth: int) -> None:
        first = next((n for n, text in enumerate(body) if not text), len(body))
        said = self._joined(body[:first])
        code = said.endswith("::")
        self._builder.add(f"{self._inline(term).replace(' : ', ', ')}: {said[:-1] if code else said}", "list")
        self._after(said, body[first:], "list", depth)

    def _field(self, name: str, body: Sequence[str], depth: int) -> None:
        """Add a field: of a function, or of the document when nothing stands before it."""
        said = self._joined([line for line in body if line])
        if not self._builder.first_heading() and not self._styles:
            if said:
                self.fields[name.lower()] = said
        elif said:
            self._defined(name, body, depth)

    # ------------------------------------------------------------ directives

    def _explicit(self, first: str, lines: Sequence[str], role: str, depth: int) -> None:
        """Add what begins with two dots: a directive, a footnote; comments, targets and substitutions say nothing."""
        if note := _FOOTNOTE.match(first):
            self._builder.add(f"[{note[1]}] {self._joined([note[2], *map(str.strip, lines)])}", "list")
            return
        found = _DIRECTIVE.match(first)
        if found and not found[1]:
            self._directive(_parted(found[2], found[3] or "", dedented(lines)), role, depth)
        elif not found and is_notice(comment := "\n".join([first, *map(str.strip, lines)])):
            self._builder.add(comment, BOILERPLATE)

    def _directive(self, directive: _Directive, role: str, depth: int) -> None:
        name = directive.name.lower()
        short = name.rpartition(":")[2]
        if name in _SILENT:
            return
        if name in _LISTS or short.startswith("auto"):
            entries = [directive.arguments, *(line.strip() for line in directive.body)]
            self._builder.add("\n".join(entry for entry in entries if entry), BOILERPLATE)
        elif name in _CODE:
            self._code(directive)
        elif name in ("table", "list-table", "csv-table", "flat-table"):
            self._table_directive(directive, depth)
        elif name in ("image", "figure"):
            if not is_badge(directive.arguments):
                self._builder.add(self._inline(directive.options.get("alt", "")), role)
            self._blocks(directive.body, role, depth + 1)
        elif short in _OBJECTS and directive.arguments:
            signatures = [directive.arguments, *_signatures(directive.body)]
            self._builder.add("\n".join(signatures), "code")
            self._blocks(directive.body[len(signatures) - 1 :], role, depth + 1)
        else:
            self._admonition(directive, role, depth)

    def _admonition(self, directive: _Directive, role: str, depth: int) -> None:
        """Add what stands in a note, a warning, a tab, or in a directive that is not known."""
        said = self._inline(directive.arguments)
        if directive.name in ("versionadded", "versionchanged", "deprecated", "versionremoved", "deprecated-removed"):
            verbs = {"versionadded": "New in version", "versionchanged": "Changed in version"}
            said = f"{verbs.get(directive.name, 'Deprecated since version')} {said.split(' ')[0]}: {said.partition(' ')[2]}"
            first = next((n for n, line in enumerate(directive.body) if not line), len(directive.body))
            self._builder.add(f"{said} {self._joined(directive.body[:first])}".rstrip(": "), role)
            self._blocks(directive.body[first:], role, depth + 1)
            return
        if not directive.body:
            known = directive.name in ("note", "warning", "seealso", "tip", "important", "caution", "hint", "rubric")
            self._builder.add(said if known else f"{directive.name}: {said}", role if known else BOILERPLATE)
            return
        self._builder.add(said, role)
        self._blocks(directive.body, role, depth + 1)

    def _code(self, directive: _Directive) -> None:
        if caption := directive.options.get("caption", ""):
            self._builder.add(f"{self._inline(caption)}:", "paragraph")
        if directive.name == "literalinclude":
            self._builder.add(directive.arguments, BOILERPLATE)
        elif directive.name == "math":
            self._builder.add("\n".join([directive.arguments, *directive.body]).strip("\n"), "code")
        else:
            self._builder.add("\n".join(directive.body), "code")

    # ------------------------------------------------------------ tables

    def _table(self, lines: Sequence[str], at: int) -> int:
        """Add a grid table, or a simple one; return where it ends."""
        if lines[at][0] == "+":
            end = _until_blank(lines, at)
            table = drawn([line_of(line) for line in lines[at:end]])
            headed = any(line.startswith("+=") for line in lines[at:end])
            self._rows(table.rows if table else [], headed=headed)
            return end
        rules = [n for n in range(at, len(lines)) if _SIMPLE.fullmatch(lines[n]) or re.fullmatch(r"=+", lines[n])]
        end = next((n for n in rules[1:] if n + 1 == len(lines) or not lines[n + 1]), rules[-1])
        starts = [found.start() for found in re.finditer(r"=+", lines[at])]
        inner = [n for n in rules if at < n < end]
        rows: list[list[str]] = []
        for line in lines[at + 1 : end]:
            if not line or _RULE.fullmatch(line.replace(" ", "")):
                continue
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            if rows and not cells[0]:
                rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
            else:
                rows.append(cells)
        self._rows(rows, headed=bool(inner))
        return end + 1

    def _table_directive(self, directive: _Directive, depth: int) -> None:
        if directive.arguments:
            self._builder.add(f"{self._inline(directive.arguments)}:")
        if directive.name == "table":
            self._blocks(directive.body, "paragraph", depth + 1)
            return
        if directive.name == "csv-table":
            body = [line for line in directive.body if line]
            header = directive.options.get("header", "")
            rows = list(csv.reader([header, *body] if header else body, skipinitialspace=True))
        else:
            header = directive.options.get("header-rows", "0").strip("0 ")
            rows = list(_list_rows(directive.body))
        self._rows(rows, headed=bool(header) or directive.options.get("header-rows", "0") not in ("", "0"))

    def _rows(self, rows: Sequence[Sequence[str]], *, headed: bool) -> None:
        add_rows(self._builder, [[self._inline(cell) for cell in row] for row in rows], "table", headed=headed)

    # ------------------------------------------------------------ inline

    def _joined(self, lines: Sequence[str]) -> str:
        return self._inline(" ".join(line.strip() for line in lines))

    def _inline(self, text: str) -> str:
        """Return text without the signs of its markup; roles and links are what readers see of them."""
        text = _ROLE.sub(_of_role, text)
        text = re.sub(r"\|([^|\s][^|]*)\|_{0,2}", lambda found: self._substitutions.get(found[1], found[1]), text)
        parts = _LITERAL.split(text)
        for number in range(0, len(parts), 2):
            part = _LINK.sub(lambda found: found[1].rstrip() or found[0].strip("`_<>"), parts[number])
            parts[number] = _INLINE.sub(lambda found: found[1] or found[2] or "", part)
        return one_line("".join(parts))


def _of_role(found: re.Match[str]) -> str:
    said = _TARGET.sub(_shown, found["of"] or found["before"])
    return f"``{numbered(found['role'] or '', said)}``"


def _shown(target: re.Match[str]) -> str:
    return target[2].strip() or target[0]


# ---------------------------------------------------------------- lines


def _title(lines: Sequence[str], at: int) -> tuple[str, str, int]:
    """Return the title that begins at a line, its style, and of how many lines it is; an empty one for none."""
    line = lines[at]
    above = lines[at - 1] if at else ""
    if not line or above:
        return "", "", 0
    one, two = (lines[at + n] if at + n < len(lines) else "" for n in (1, 2))
    over = _RULE.fullmatch(line)
    if over and one.strip() and two == line and len(one.strip()) <= len(line) + 2:
        return one.strip(), f"{line[0]}{line[0]}", 3
    rule = _RULE.fullmatch(one)
    if rule and not line.startswith(" ") and not over and len(one) >= min(len(line), 4) and len(one) * 2 > len(line):
        return line, one[0], 2
    return "", "", 0


def _indented(lines: Sequence[str], at: int) -> int:
    """Return where the indented lines that begin at a line, or behind blank ones, end."""
    end = at
    for number in range(at, len(lines)):
        if lines[number].startswith(" "):
            end = number + 1
        elif lines[number]:
            break
    return end


def _until_blank(lines: Sequence[str], at: int) -> int:
    return next((n for n in range(at, len(lines)) if not lines[n]), len(lines))


def _parted(name: str, arguments: str, lines: Sequence[str]) -> _Directive:
    """Part what is indented below a directive into arguments, options and body."""
    options: dict[str, str] = {}
    at = 0
    while at < len(lines) and lines[at]:
        if option := _FIELD.match(lines[at]):
            options[option[1].lower()] = option[2] or ""
        elif options and lines[at].startswith(" "):
            last = next(reversed(options))
            options[last] = f"{options[last]} {lines[at].strip()}".strip()
        elif options:
            break
        else:
            return _Directive(name, arguments, {}, list(lines))
        at += 1
    body = list(lines[at:])
    while body and not body[0]:
        body.pop(0)
    return _Directive(name, arguments, options, body)


def _signatures(body: Sequence[str]) -> list[str]:
    """Return further signatures of an object: lines directly below the first."""
    first = next((n for n, line in enumerate(body) if not line), len(body))
    lines = [line.strip() for line in body[:first]]
    return lines if body[first:] and all("(" in line and line.endswith(")") for line in lines) else []


def _list_rows(body: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a list of lists: ``* - cell``."""
    row: list[str] = []
    for line in body:
        if line.startswith("* "):
            if row:
                yield row
            row = [line[2:].lstrip().removeprefix("-").strip()]
        elif row and re.match(r"\s+-(?:\s|$)", line):
            row.append(line.strip()[1:].strip())
        elif row and line.strip() and not _FIELD.match(line.strip()):
            row[-1] = f"{row[-1]} {line.strip()}".strip()
    if row:
        yield row

"""Source code and configuration of any language: a section a definition, what its comments say, then the code itself.

Nothing is parsed. Definitions are found by their first words and their indent, comments by the signs that all languages
share; what a language writes otherwise stays code. In configuration each setting below a comment is a definition.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean
from lexigraph.ingestion.readers.plain.lines import ends_sentence, is_prose
from lexigraph.ingestion.readers.plain.notices import is_notice
from lexigraph.ingestion.readers.plain.reader import add_plain
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_MODIFIERS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|async|final|abstract|sealed|open|override|virtual"
    r"|inline|extern(?:\s+\"C\")?|unsafe|const|pub(?:\([^)]*\))?|partial|data|local|create(?:\s+or\s+replace)?|typedef)\s+)*"
)
_KINDS = (
    r"(?:def|class|function\*?|fn|func|fun|interface|struct|enum|trait|impl(?:<[^>]*>)?|module|namespace|type|record|object"
    r"|protocol|extension|macro_rules!|sub|procedure|message|service|resource|table|view|trigger|index|defmodule|defp?)"
)
_NAMED = re.compile(
    rf"{_MODIFIERS}{_KINDS}\s+(?-i:[A-Z][A-Z0-9_]{{2,}}\s+(?=[A-Za-z]))?(?:if\s+not\s+exists\s+)?(?:\([^)]*\)\s*)?[\"'`]?([\w$.:~-]*\w)",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+(\w+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\(|function\b|class\b|\w+\s*=>)"
)
_CALLABLE = re.compile(
    r"(?!(?:if|for|while|switch|return|else|do|catch|using|assert)\b)[\w<>,:*&~\[\]\s]*?([\w:~$]+)\s*\([^;]*$"
)
# below a comment that documents it: a property or constant
_MEMBER = re.compile(
    rf"{_MODIFIERS}(?:(?:readonly|get|set)\s+)*(?!(?:void|bool|char|int|unsigned|if|for|while|switch|return)\b\s*\()"
    r"(?:([\w$]+)[?!]?\s*(?:\(|:(?!:))|(?:[\w<>,:*&\[\]]+\s+){1,3}[*&]*([\w$:]+)\s*[;=(\[])",
    re.IGNORECASE,
)
# LIMIT = 10, static final int LIMIT = 10; and #define LIMIT 10
_CONSTANT = re.compile(
    rf"(?:{_MODIFIERS}(?:[\w<>\[\]]{{1,40}}\s+)?(?=[A-Z][A-Z0-9_]{{2,80}}(?:\s*:[^=]{{1,80}})?\s*[:?+]?=(?!=))"
    r"|#[ \t]{0,9}define[ \t]+(?=\w+[ \t]+\S))([A-Z]\w+)"
)
_DOCUMENTS = re.compile(r"\s*(?:/\*[*!]|//[/!])")
_SECTION = re.compile(r"\[{1,2}([^\[\]]+)\]{1,2}\s*(?:[#;].*)?$")
_KEYWORD = r"(?!(?:else|try|finally|except|default|public|private|protected|do|then)\b)"
_KEY = re.compile(_KEYWORD + r"[\"']?([\w./$()%-]+)[\"']?:(?:\s+[\w.$()/ -]*)?(?:\s#.*)?$")
_CLOSER = re.compile(r"[})\]]|(?:end|fi|done|esac|else|elif|catch|finally|except)\b|=+$")
_NOT_OUTER = re.compile(rf"{_CLOSER.pattern}|(?:public|private|protected)\s*:$")
_DECORATOR = re.compile(r"@\w|#\[|\[\w+.*\]$|template\s*<")
_LINE_COMMENT = re.compile(r"(?://[/!]?|#(?![!\[]|\w)|--(?!-?\w)-?|;+|\"\"\"|''')\s?")
_BLOCK_BEGIN, _BLOCK_END = (
    re.compile(r"/\*|<!--|\(\*(?!\))|--\[\[|=begin\b|\"\"\"|'''"),
    re.compile(r"\*/|-->|\*\)|\]\]|=end\b"),
)
_QUOTES = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|''')")
_FRINGE = re.compile(
    r"^\s*(?:/\*+!?|\*+/|\*(?=\s|$)|//[/!]?|#+(?=\s|$)|--+(?=\s|$)|;+|<!--)\s?|(?<!\s)\s*(?:(?<!\*)\*+/|-->)\s*$"
)
_TAGS = "param|returns?|throws|raises?|type|rtype|see|since|deprecated|brief|arg|var|yields?"
_TAG = re.compile(rf"^[^\S\n]*[@:\\]({_TAGS})\b:?[^\S\n]*(.*)$", re.MULTILINE)
_TAGS_SAID = {"rtype": "returns"}
_HTML = "p|b|i|em|strong|code|pre|tt|ul|ol|li|dl|dt|dd|a|br|h[1-6]|table|tr|td|th|para|summary|remarks|c|see"
_MARKUP = re.compile(rf"</?(?:{_HTML})(?:\s[^>]*)?/?>|\{{@\w+\s+([^}}]*)\}}")
# ``KEY value`` and ``key = value``, also commented out: ``#KEY value``, ``# key=value``
_SETTING = re.compile(r"(?:[#;](?:(?=\w)|\s?(?=[\w.-]+\s*=\s*\S*$)))?([\w./-]*\w)(?=\s*=|\s*:\s*\S|\s+[^\s:]|$)")
_SETTINGS = 3  # more below one comment are what it speaks of together
_TYPE = re.compile(r"[A-Za-z_][\w:<>,&*\s]*")  # of what a function returns, on a line of its own
_LETTER = re.compile(r"[^\W_]")
_COMMENT = 1_000  # lines of a comment at most
_LONG = 40  # lines from which a definition is cut at those in it
_MINIFIED = 2_000  # characters of a line that nobody wrote
_LONG_LINES, _NEARLY_ALL = 500, 0.9  # of a file in such lines: all of it was minified
_TOP = -2  # level of definitions: above whatever headings a comment has


@dataclass(slots=True)
class _Unit:
    """Lines that belong together: a definition with the comment above it, constants, or what stands between two."""

    name: str = ""
    comment: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    constants: bool = False


def read_source(data: bytes, settings: Settings) -> Parsed:
    """Read source code: a heading a definition, its documentation as text, its code as one block.

    Notices of licences in the comments at the head are boilerplate, and so is code that was minified.
    """
    text, encoding = decode(data)
    check_text(text, settings)
    lines = [line.rstrip() for line in clean(text).split("\n")]
    builder = TextBuilder(settings)
    at = _end_of_comment(lines, 0)
    _add_head(builder, lines[:at], alone=not any(lines[at:]))
    for unit in _units(lines[at:]):
        _add(builder, unit, _TOP)
    return builder.parsed("", encoding_note(encoding))


def read_script(data: bytes, settings: Settings) -> Parsed:
    """Read what runs in a browser as source code. Raise ``InvalidInput`` when it was minified, which nobody reads: the
    index of a site's search alone is as long as all of its pages.
    """
    lines = decode(data)[0].split("\n")
    if sum(len(line) for line in lines if len(line) > _LONG_LINES) > _NEARLY_ALL * sum(map(len, lines)):
        raise InvalidInput("is minified: use the files that it was made from")
    return read_source(data, settings)


def read_configuration(data: bytes, settings: Settings) -> Parsed:
    """Read a configuration file: a heading a setting that has a comment above it, that as text, its lines as code.

    Settings that are commented out are settings. What has blocks in braces is read as source code.
    """
    text, encoding = decode(data)
    check_text(text, settings)
    lines = [line.rstrip() for line in clean(text).split("\n")]
    if any(line.endswith("{") for line in lines):
        return read_source(data, settings)
    builder = TextBuilder(settings)
    units = list(_settings(lines))
    head = list(takewhile(lambda unit: not unit.lines, units))
    _add_head(builder, [line for unit in head for line in [*unit.comment, ""]], alone=len(head) == len(units))
    level = _TOP
    for unit in units[len(head) :]:
        if section := unit.lines and _SECTION.fullmatch(unit.lines[0]):
            builder.heading(_TOP, section[1].strip())
            level = _TOP + 1
        if not unit.name:
            builder.end_sections(level - 1)
        _add(builder, unit, level)
    return builder.parsed("", encoding_note(encoding))


def _add_head(builder: TextBuilder, lines: Sequence[str], *, alone: bool) -> None:
    """Add the comments above all code; notices of licence among them are boilerplate, unless the file is nothing else."""
    paragraphs = [part for part in re.split(r"\n\s*\n", _said(lines)) if _LETTER.search(part)]
    for notice, run in groupby(paragraphs, key=lambda part: not alone and is_notice(part)):
        if notice:
            builder.add("\n".join(run), BOILERPLATE)
        else:
            _add_said(builder, "\n\n".join(run))


def _add(builder: TextBuilder, unit: _Unit, level: int) -> None:
    """Add a unit; one that is long is cut at the definitions in it."""
    if unit.name:
        builder.heading(level, unit.name)
    comment, lines = _documented(unit)
    _add_said(builder, _said(comment))
    builder.end_sections(level)
    members = list(_units(lines[1:])) if unit.name and len(lines) > _LONG and level == _TOP else []
    if sum(bool(member.name) for member in members) < 2:
        _add_code(builder, lines)
    else:
        own = members.pop(0) if not members[0].name else _Unit()
        _add_code(builder, [lines[0], *own.comment, *own.lines])
        for member in members:
            _add(builder, member, level + 1)
    builder.end_sections(level if unit.name else level - 1)


def _add_said(builder: TextBuilder, text: str) -> None:
    if text.strip():
        add_plain(builder, text)


def _add_code(builder: TextBuilder, lines: Sequence[str]) -> None:
    minified = any(len(line) > _MINIFIED for line in lines)
    builder.add(_dedented(lines), BOILERPLATE if minified else "code")


# ---------------------------------------------------------------- units


def _units(lines: Sequence[str]) -> Iterator[_Unit]:
    """Part lines at the definitions of their outermost indent."""
    outer = min((_indent(line) for line in lines if line and not _NOT_OUTER.match(line.strip())), default=0)
    unit = _Unit()
    above: list[str] = []  # comments and decorators that may belong to the next definition
    at = endless = 0  # before ``endless`` no comment ends
    while at < len(lines):
        line = lines[at]
        bare = line.strip()
        begins = bool(bare) and _indent(line) == outer
        end = _end_of_comment(lines, at, blank=False) if begins and at >= endless else at
        if end == at and begins and at >= endless and _BLOCK_BEGIN.match(bare):
            endless = at + _COMMENT
        if end > at:
            above += lines[at:end]
            at = end
            continue
        if begins and _DECORATOR.match(bare) and not _SECTION.match(bare):
            above.append(line)
        elif begins and (name := _name(lines, at) or _documented_name(bare, above)):
            typed = not above and unit.lines and bool(_TYPE.fullmatch(unit.lines[-1])) and line.endswith(")")
            own = [unit.lines.pop()] if typed else _decorators(above)
            if any(unit.lines):
                yield unit
            unit = _Unit(name, [x for x in above if not _DECORATOR.match(x.strip())], [*own, line])
            above = []
        elif begins and _CONSTANT.match(bare):
            if above or not (unit.constants and lines[at - 1]):
                if any(unit.lines):
                    yield unit
                unit = _Unit(constants=True)
            unit.lines += [*above, line]
            above = []
        else:
            parted = unit.constants or (unit.name and not lines[at - 1])
            if begins and parted and not _CLOSER.match(bare):
                yield unit
                unit = _Unit()
            unit.lines += [*above, line]
            above = []
        at += 1
    unit.lines += above
    if any(unit.lines):
        yield unit


def _settings(lines: Sequence[str]) -> Iterator[_Unit]:
    """Part the lines of a configuration file at its comments; a comment goes with the settings below it."""
    unit = _Unit()
    ended = False  # a blank line stands above
    for line in lines:
        found = None if is_prose(line.lstrip("#;")) and line[:1] in "#;" else _SETTING.match(line)
        comment = not found and bool(_LINE_COMMENT.match(line) or line[:1] in ("#", ";"))
        section = bool(_SECTION.fullmatch(line))
        if (unit.lines and (comment or section)) or (ended and (comment or (unit.lines and unit.comment and line))):
            yield _named(unit)
            unit = _Unit()
        ended = not line
        if comment:
            unit.comment.append(line)
        elif line or unit.lines:
            unit.lines.append(line)
    yield _named(unit)


def _named(unit: _Unit) -> _Unit:
    """Call settings below a comment by their keys; comments that say nothing are settings."""
    said = [line.lstrip("#; ") for line in unit.comment]
    if len(said) > _SETTINGS and not any(is_prose(line) or ends_sentence(line) for line in said):
        return _Unit(lines=[*unit.comment, *unit.lines])
    if unit.comment and not (unit.lines and _SECTION.fullmatch(unit.lines[0])):
        keys = dict.fromkeys(found[1] for line in unit.lines if (found := _SETTING.match(line)))
        unit.name = ", ".join(keys) if len(keys) <= _SETTINGS else ""
    return unit


def _decorators(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if _DECORATOR.match(line.strip())]


def _name(lines: Sequence[str], at: int) -> str:
    """Return the name that a line defines, empty for any other line."""
    bare = lines[at].strip()
    if found := _SECTION.fullmatch(bare) or _NAMED.match(bare) or _ASSIGNED.match(bare):
        return str(found[1]).strip()
    below = lines[at + 1] if at + 1 < len(lines) else ""
    deeper = _indent(below) > _indent(lines[at]) or below.strip().startswith("- ")
    if (found := _KEY.fullmatch(bare)) and below and deeper:
        return str(found[1])
    opened = bare.endswith("{") or below.strip() == "{"
    if opened and (found := _CALLABLE.match(bare.rstrip("{ ").removesuffix("const"))):
        return str(found[1])
    return bare.rstrip("{ ") if bare.endswith("{") and bare[0] in ".#@:*" and len(bare) < 80 else ""


def _documented_name(bare: str, above: Sequence[str]) -> str:
    """Return the name of what a line declares below a comment that documents it, ``/** ... */`` or ``///``."""
    found = _MEMBER.match(bare) if any(map(_DOCUMENTS.match, above)) else None
    return str(found[1] or found[2]) if found else ""


# ---------------------------------------------------------------- comments


def _end_of_comment(lines: Sequence[str], at: int, *, blank: bool = True) -> int:
    """Return where the comment that begins at a line ends, ``at`` when none does; with ``blank`` over blank lines."""
    end = at
    while end < len(lines):
        bare = lines[end].strip()
        if (not bare and blank) or bare.startswith("#!"):
            end += 1
        elif _BLOCK_BEGIN.match(bare) or (_QUOTES.match(bare) and blank):
            close = _closing(lines, end)
            if close < 0:
                break
            end = close + 1
        elif _LINE_COMMENT.match(bare):
            end += 1
        else:
            break
    while end > at and not lines[end - 1]:
        end -= 1
    return end


def _closing(lines: Sequence[str], at: int) -> int:
    """Return the line where a comment between signs ends, -1 when it never does or code follows it there."""
    first = lines[at].strip()
    quotes = _QUOTES.match(first)
    for number in range(at, min(len(lines), at + _COMMENT)):
        bare = lines[number].strip()
        if quotes:
            rest = bare[quotes.end() :] if number == at else bare
            if quotes[1] in rest:
                return number if rest.rstrip().endswith(quotes[1]) else -1
        elif found := _BLOCK_END.search(bare, 2 if number == at else 0):
            return number if found.end() == len(bare) else -1
    return -1


def _documented(unit: _Unit) -> tuple[list[str], list[str]]:
    """Return the documentation of a unit, above it or first in it, and its other lines."""
    lines = unit.lines
    head = next((n for n, line in enumerate(lines[:20]) if line.endswith(":")), -1) + 1
    if not unit.name or not 0 < head < len(lines) or not _QUOTES.match(lines[head].strip()):
        return unit.comment, lines
    end = _closing(lines, head)
    if end < 0:
        return unit.comment, lines
    return [*unit.comment, *lines[head : end + 1]], [*lines[:head], *lines[end + 1 :]]


def _said(lines: Sequence[str]) -> str:
    """Return the text of comments without their signs; tags as in ``@param`` begin items."""
    kept: list[str] = []
    for line in lines:
        if _BLOCK_BEGIN.match(line.strip()):
            kept.append("")  # another comment
        if not line.startswith("#!") and "-*- coding" not in line:
            kept.append(line)
    bare = [_QUOTES.sub("", _FRINGE.sub("", line)) for line in kept]
    tagged = _TAG.sub(lambda tag: f"- {_TAGS_SAID.get(tag[1], tag[1])} {tag[2]}", "\n".join(_even(bare)))
    return _MARKUP.sub(r"\1", tagged)


def _even(lines: Sequence[str]) -> list[str]:
    """Return lines without the blanks that all but the first have before them."""
    indents = [_indent(line) for line in lines[1:] if line.strip()]
    least = min(indents, default=0)
    return [line.lstrip() if _indent(line) < least else line[least:] for line in lines]


def _dedented(lines: Sequence[str]) -> str:
    """Return lines as one text, without the blanks that all but closing brackets have before them."""
    least = min((_indent(line) for line in lines if line.strip() and not _CLOSER.match(line.strip())), default=0)
    return "\n".join(line[least:] if _indent(line) >= least else line.lstrip() for line in lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

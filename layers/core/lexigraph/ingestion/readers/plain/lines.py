"""Lines and runs of lines: how far they are indented, which were wrapped, which are code and which are prose."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_TAB = 8
# a line at least this long that is followed by another was broken by an editor, not by its author
_WRAPPED = 40
_TURN = re.compile(r"[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3}: \S")  # of a talk
_SHARE = 0.6  # of the width of the text, from which a line is taken for long
_LONGEST = 120  # columns at which text is wrapped at most
_PARAGRAPH = 1_000  # characters from which a line is a paragraph for sure
BULLET = re.compile(
    r"(?:[-*•‣▪◦·○●]|o(?=\s{2})|\d{1,2}[.)]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|(?:[a-h]|[ivx]{1,4})\.)[^\S\n]+(?=\S)"
)
_NUMBER = re.compile(r"\(?(\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv")
_WORD = re.compile(r"[\"'“‘«(\[`*_]*[^\W\d_][\w’'-]*+[\"'”’»)\]`*_]*+[.,;:!?…]*+[\"'”’»)\]]*")
_CODE = re.compile(
    r"[;{}\\]$|^[$%>#]\s|^(?://|/\*|\*/|#include|#define|#if|#end|<[/!?\w])|^[\w.>*&-]+\((?!\d\w*\))[^()]*\)[;{,]?$"
    r"|\w\s*(?:==|!=|:=|\+=|-=|=>|->|&&|\|\||<<)\s*\S|^[\w.$-]+\s*=\s*\S|^[\w.-]+=|\s--?\w[\w-]*(?:[ =]|$)"
    r"|^(?:sudo|git|cd|make|pip|npm|apt(?:-get)?|docker|curl|mkdir|export|echo|cat|grep|su|systemctl)\s|^[~.]?/\S+(?:\s+\S+){0,3}$"
    r"|^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|GRANT|FROM|WHERE|BEGIN|COMMIT)\b"
    r"|^(?:def|class|import|from|return|if|for|while|struct|int|char|void|const|static|var|let|function|package|type)\s[^.]*[:;({=\w)]$"
)
# lines that are code although they may read as language
_CERTAIN = re.compile(
    r"^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|GRANT|BEGIN|COMMIT|SET|EXECUTE|PREPARE)\b.*;$|[{}]$|^[$%]\s"
    r"|^(?://|/\*|\*/|(?:---|\+\+\+|@@)\s)"
)
_DIGITS = re.compile(r"\d+")
# ``Ada Cook <ada@example.org>``, also with blanks for signs
_ADDRESSED = re.compile(r"[^\s<>][^<>]{0,60}<[^<>\s@]+(?:@|\sat\s|\s[\w.-]+\s[a-z]{2,}>)")
_KEPT = 1_024  # lines whose judgement is kept: each is asked about several times in a row
_COLUMNS = re.compile(r"\S\s{3,}\S")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its ``text`` without the blanks around it, and how many stood before it."""

    indent: int
    text: str

    @property
    def end(self) -> int:
        """The column behind its last character."""
        return self.indent + len(self.text)

    @property
    def raw(self) -> str:
        """The line as it stood, tabs as blanks."""
        return " " * self.indent + self.text


@dataclass(slots=True)
class Run:
    """Lines between blank lines. ``gap`` is how many blank ones stood before it, ``furniture`` that it is a page's own."""

    lines: list[Line]
    gap: int = 1
    furniture: bool = False

    @property
    def indent(self) -> int:
        """The indent of its first line."""
        return self.lines[0].indent

    @property
    def text(self) -> str:
        """Its first line."""
        return self.lines[0].text


def line_of(raw: str) -> Line:
    """Return a line, its tabs as blanks."""
    if "\t" in raw:
        raw = raw.expandtabs(_TAB)
    text = raw.strip()
    return Line(len(raw) - len(raw.lstrip()), text)


def runs_of(text: str) -> Iterator[Run]:
    """Yield the runs of a cleaned text; a line too long to have been wrapped is one by itself."""
    lines: list[Line] = []
    gap = 0
    blank = 0
    for raw in text.split("\n"):
        line = line_of(raw)
        if not line.text:
            blank += 1
            if lines:
                yield from _unboxed(Run(lines, gap))
                lines = []
            continue
        if lines and max(len(line.text), len(lines[-1].text)) > _PARAGRAPH:
            yield from _unboxed(Run(lines, gap))
            lines = []
        if not lines:
            gap, blank = blank, 0
        lines.append(line)
    if lines:
        yield from _unboxed(Run(lines, gap))


def _unboxed(run: Run) -> Iterator[Run]:
    """Yield a run, or those within the box of stars or number signs that was drawn around it."""
    side = run.text[0]
    lines = run.lines
    boxed = side in "*#" and len(lines) > 2 and all(x.text[0] == side == x.text[-1] for x in lines)
    if boxed and not lines[0].text.strip(side):
        yield from runs_of("\n".join(line.text.strip(side) for line in lines))
    else:
        yield run


def width_of(runs: Iterable[Run]) -> int:
    """Return the column at which the text was wrapped, 0 if it was not.

    Where many of the lines that go on below end in one column (justified text), it is that; else nine of ten end before it.
    """
    ends = sorted(line.end for run in runs for line in run.lines[:-1] if _WRAPPED <= line.end <= _LONGEST)
    if not ends:
        return 0
    column, count = Counter(ends).most_common(1)[0]
    return column if count > 4 and count * 5 >= len(ends) else ends[len(ends) * 9 // 10]


def wrapped(line: Line, below: Line, width: int) -> bool:
    """Tell whether a line ends where it does because the first word below had no room in it."""
    return 0 < width < line.end + 1 + len(below.text.split(maxsplit=1)[0])


def unwrap(lines: Sequence[Line], width: int = 0) -> str:
    """Join lines: with a space after a long or a full one, with a line break after a short one."""
    if len(lines) == 1:
        return lines[0].text
    parts: list[str] = []
    long = min(_WRAPPED, _SHARE * width) if width else _WRAPPED
    turns = sum(bool(_TURN.match(line.text)) for line in lines)
    for line, below in zip(lines, [*lines[1:], lines[-1]], strict=True):
        full = len(line.text) >= long or wrapped(line, below, width)
        # what somebody else says is no end of a line that was wrapped
        full = full and not (turns > 1 and turns * 2 >= len(lines) and _TURN.match(below.text))
        parts += (line.text, " " if full else "\n")
    return "".join(parts[:-1])


def in_columns(text: str) -> bool:
    """Tell whether a line falls into columns."""
    return bool(_COLUMNS.search(text))


def bullet_end(text: str) -> int:
    """Return where the text of a list item begins behind its sign or number; 0 for what is no item."""
    found = BULLET.match(text)
    return found.end() if found else 0


def number_of(text: str) -> int:
    """Return the number that a list item begins with, as a letter or a roman numeral, too; 0 when it is a sign."""
    found = _NUMBER.match(text)
    if not found:
        return 0
    if found[1].isdigit():
        return int(found[1])
    return _ROMAN.index(found[1]) + 1 if found[1] in _ROMAN else ord(found[1][0]) - ord("a") + 1


def dedented(lines: Sequence[str]) -> list[str]:
    """Return lines without the blanks that all have before them."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[indent:] for line in lines]


def ends_sentence(text: str) -> bool:
    """Tell whether a text ends with a full stop or the like."""
    return bool(_SENTENCE_END.search(text))


@lru_cache(maxsize=_KEPT)
def is_prose(text: str) -> bool:
    """Tell whether a line reads as language: four words or more, and hardly anything else."""
    tokens = text.split()
    words = sum(bool(_WORD.fullmatch(token)) for token in tokens)
    return words >= 4 and words >= (0.6 if ends_sentence(text) else 0.75) * len(tokens)


def are_records(lines: Sequence[Line]) -> bool:
    """Tell whether lines are entries and not those of a paragraph: begin alike with a date or a number, as in a log, or with
    somebody's name and address.
    """
    if len(lines) > 1 and sum(bool(_ADDRESSED.match(line.text)) for line in lines) * 5 >= len(lines) * 4:
        return True
    left = [line for line in lines if line.indent <= lines[0].indent and not bullet_end(line.text)]
    if len(left) * 2 < len(lines):
        return False
    shapes = Counter(_DIGITS.sub("#", line.text.split(maxsplit=1)[0]) for line in left)
    shape, count = shapes.most_common(1)[0]
    return len(left) > 2 and "#" in shape and len(shape) > 1 and count * 5 >= len(left) * 4


def is_marked(lines: Sequence[Line]) -> bool:
    """Tell whether most lines have the signs that code is made of, or all are one comment."""
    if lines[0].text.startswith("/*") and all(line.text.startswith("*") for line in lines[1:]):
        return True
    marked = sum(_is_marked(line.text) for line in lines)
    prose = sum(is_prose(line.text) and not _CERTAIN.search(line.text) for line in lines)
    return marked > prose and (marked * 2 >= len(lines) or bool(_CERTAIN.search(lines[0].text)))


@lru_cache(maxsize=_KEPT)
def _is_marked(text: str) -> bool:
    return bool(_CODE.search(text))


def is_code(lines: Sequence[Line], *, introduced: bool) -> bool:
    """Tell whether lines that stand apart are code: most look so, or none reads as language.

    Where they are not ``introduced`` by a colon, half of what they are made of must not be words.
    """
    if is_marked(lines):
        return True
    said = any(is_prose(line.text) for line in lines) or ends_sentence(lines[-1].text)
    if said or "://" in lines[0].text or all(_ADDRESSED.match(line.text) for line in lines):
        return False
    tokens = [token for line in lines for token in line.text.split()]
    return introduced or sum(bool(_WORD.fullmatch(token)) for token in tokens) * 2 < len(tokens)

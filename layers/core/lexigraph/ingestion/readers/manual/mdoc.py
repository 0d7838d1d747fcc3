"""Manual pages in the macros of ``mdoc(7)``, which say what words are: options, arguments, functions."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lexigraph.ingestion.readers.manual.macros import (
    CLOSING,
    CLOSING_MACROS,
    DEFAULTS,
    DELIMITERS,
    INLINE,
    LINES,
    NOT_CALLED,
    ON_NEW_LINE,
    OPENING,
    OPENING_MACROS,
    REFERENCE,
    SAID,
    WORDS,
)
from lexigraph.ingestion.readers.manual.page import TOKEN, Page, plain
from lexigraph.ingestion.readers.parsed import TextBuilder
from lexigraph.ingestion.readers.tables import add_rows

_MOST_OPEN = 64  # enclosures; a page that opens more has forgotten to close them
_LONG_TERM = 500  # characters
_CODE = ("-literal", "-unfilled")
_MARKED = {"-bullet": "•", "-dash": "-", "-hyphen": "-", "-item": ""}
_TERMS = frozenset("-tag -hang -ohang -inset -diag".split())
_KINDS = frozenset([*_MARKED, *_TERMS, "-enum", "-column"])
_BARS = (r"\*(Ba", r"\*[Ba]")
_QUOTED = r"\&"  # the escape for nothing: keeps a quoted word from being a macro


@dataclass(slots=True)
class _List:
    kind: str
    items: int = 0
    rows: list[list[str]] = field(default_factory=list)
    headed: bool = False


class MdocPage(Page):
    """A page in ``mdoc(7)``. Words are collected, with spaces between them unless a macro or a delimiter says otherwise."""

    def __init__(self, builder: TextBuilder) -> None:
        super().__init__(builder)
        self._spaced, self._tight = True, False  # as Sm says; no space before the next word
        self._open: deque[tuple[str, str]] = deque(maxlen=_MOST_OPEN)  # macro, closing sign
        self._head: list[str] | None = None  # the words of a heading, or of a term, which Xo takes over lines
        self._lists: list[_List] = []
        self._displays: list[bool] = []  # whether code stands around them
        self._lone_code = False  # D1, Dl: of single lines
        self._command = self._last = ""
        self._function: list[str] | None = None  # the arguments between Fo and Fc
        self._reference: dict[str, list[str]] | None = None

    def _knows(self, name: str) -> bool:
        return name in INLINE or name in _BLOCKS

    def _text(self, text: str) -> None:
        self._end_lone_code()
        if self._head is not None:
            self._put(text.strip())
        elif self._code:
            self._lines += [text, "\n"]
        elif not text.strip():
            self._paragraph()
        else:
            self._put(text.strip())
        self._last = ""

    def _request(self, name: str, rest: str) -> None:
        if name not in ("D1", "Dl"):
            self._end_lone_code()
        tokens = _tokens(rest.replace("\t", " Ta ") if self._in_table() else rest)
        if name in INLINE:
            self._line(name, tokens)
        elif block := _BLOCKS.get(name):
            block(self, tokens)
        self._last = name
        if self._head is not None and not self._open:
            self._term.append(self._taken())

    # ------------------------------------------------------------ blocks

    def _title(self, tokens: list[str]) -> None:
        title, section, *_ = [*map(plain, tokens), "", ""]
        self._name = f"{title}({section})" if title else ""

    def _heading_of(self, level: int, tokens: list[str]) -> None:
        self._flush()
        self._open.clear()
        self._lists.clear()
        self._displays.clear()
        self._code = self._item = False
        self._function = self._reference = None
        self._head = []
        self._line("No", tokens)
        self._section(level, self._taken())

    def _paragraph(self, _: object = None) -> None:
        if self._code or self._in_table():
            self._lines += ["\n" if self._code else " "] * bool(self._lines)
        elif self._read() or not self._term:
            self._flush()

    def _summary_of(self, tokens: list[str]) -> None:
        self._put("-")
        self._line("No", tokens)

    def _begin_list(self, tokens: list[str]) -> None:
        self._lead_on()
        self._lists.append(_List(next((token for token in tokens if token in _KINDS), "-item")))

    def _begin_item(self, tokens: list[str]) -> None:
        if self._head is not None:
            self._term.append(self._taken())
        self._open.clear()
        if self._in_table():
            self._end_row()
            table = self._lists[-1]
            table.headed = table.headed or (not table.rows and tokens[:1] in (["Sy"], ["Em"]))
            self._line("No", tokens)
            return
        listed = self._lists[-1] if self._lists else _List("-item")
        shared = listed.items and self._term and not self._read() and listed.kind in _TERMS
        if not shared:
            self._flush()
        listed.items += 1
        self._item = True
        if listed.kind == "-enum":
            self._term = [f"{listed.items}."]
        elif listed.kind in _MARKED:
            self._term = [_MARKED[listed.kind]] if _MARKED[listed.kind] else []
        else:
            self._head = []
        self._line("No", tokens)

    def _end_list(self, _: object) -> None:
        self._flush()
        if self._lists:
            self._lists.pop()
        self._item = bool(self._lists)

    def _begin_display(self, tokens: list[str]) -> None:
        self._lead_on()
        self._displays.append(self._code)
        self._code = any(token in _CODE for token in tokens)

    def _end_display(self, _: object) -> None:
        self._flush()
        self._code = self._displays.pop() if self._displays else False

    def _display_line(self, tokens: list[str]) -> None:
        under_term = bool(self._term and self._lists) and not self._read() and self._lists[-1].kind in _TERMS
        if under_term and len(self._term[-1]) < _LONG_TERM:  # goes on with it
            self._head = [self._term.pop()]
        elif not self._code:
            self._lead_on()
            self._lone_code = self._code = True
        self._line("No", tokens)

    def _end_lone_code(self) -> None:
        if self._lone_code:
            self._flush()
            self._lone_code = self._code = False

    def _begin_reference(self, _: object) -> None:
        if self._heading == "SEE ALSO":
            self._flush()
        self._reference = {}

    def _end_reference(self, _: object) -> None:
        parts, self._reference = self._reference or {}, None
        named = [_listed(parts[key]) for key in REFERENCE if key in parts]
        if named:
            self._put(f"{', '.join(named)}.")
        if self._heading == "SEE ALSO":
            self._flush()

    def _space(self, tokens: list[str]) -> None:
        self._spaced = tokens[:1] == ["on"] if tokens else not self._spaced
        self._tight = self._tight and not self._spaced

    def _break(self, _: object) -> None:
        self._lines += ["\n"] * bool(self._lines)

    def _exit(self, tokens: list[str]) -> None:
        names = [plain(name) for name in tokens if name != "-std"] or [self._command]
        ends = "utilities exit" if names[1:] else "utility exits"
        self._put(f"The {_listed(names)} {ends} 0 on success, and >0 if an error occurs.")

    def _value(self, tokens: list[str]) -> None:
        names = [f"{plain(name)}()" for name in tokens if name != "-std"]
        of = f"the {_listed(names)} {'functions return' if names[1:] else 'function returns'} the value 0" if names else ""
        self._put(
            f"Upon successful completion, {of or 'the value 0 is returned'}; otherwise the value -1 is returned and the "
            "global variable errno is set to indicate the error."
        )

    # ------------------------------------------------------------ words

    def _line(self, name: str, tokens: list[str]) -> None:
        """Read a line of macros that may call each other."""
        closing = []
        while tokens and tokens[-1] in CLOSING:  # they stand behind all that the line encloses
            closing.append(tokens.pop())
        if self._synopsis and not self._code and self._head is None and name in ON_NEW_LINE and self._lines:
            typed = self._last == "Ft" and name in ("Fn", "Fo")
            self._lines += ["\n"] * (not typed)
            self._tight = typed and self._lines[-1].endswith("*")
        waiting, first = deque(tokens), True
        while name:
            own = []
            while waiting and (waiting[0] not in INLINE or waiting[0] in NOT_CALLED):
                own.append(waiting.popleft())
            self._call(name, own, first=first, goes_on=bool(waiting))
            name, first = waiting.popleft() if waiting else "", False
        while self._open and self._open[-1][0] in LINES:
            self._put(self._open.pop()[1], closes=True)
        for sign in reversed(closing):
            self._put(sign, closes=True)
        if self._code and self._head is None:
            self._lines.append("\n")

    def _call(self, name: str, tokens: list[str], *, first: bool, goes_on: bool) -> None:
        if self._reference is not None and name.startswith("%"):
            self._reference.setdefault(name[1], []).append(" ".join(map(plain, tokens)))
            return
        if name in WORDS:
            self._words(name, tokens, goes_on=goes_on)
            return
        if name in LINES or name in OPENING_MACROS:
            opening, closing = LINES.get(name) or OPENING_MACROS[name]
            self._put(opening, opens=True)
            if name == "Fo":
                self._function = [plain(token) for token in tokens[:1]]
                tokens = tokens[1:]
            self._open.append((name, closing))
        elif name in CLOSING_MACROS:
            self._close(CLOSING_MACROS[name])
        elif name == "Ns":
            self._tight = self._tight or not first
        elif name == "Ap":
            self._put("'", opens=True, closes=True)
        elif name == "Pf":
            self._put(plain("".join(tokens[:1])), opens=True)
            tokens = tokens[1:]
            self._tight = True
        elif name == "Ta":
            self._put("\t", opens=True, closes=True)
        self._words("No", tokens, goes_on=False)

    def _words(self, name: str, tokens: list[str], *, goes_on: bool) -> None:
        """Say the words of a macro, around delimiters among them."""
        words: list[str] = []
        said = False
        for token in tokens:
            if token not in DELIMITERS:
                words.append(plain(token))
                continue
            if words or not (said or token in OPENING):
                self._say(name, words)
            words, said = [], True
            self._put(token, opens=token in OPENING, closes=token in CLOSING)
        if words or not said:
            self._say(name, words)
            self._tight = self._tight or (name == "Fl" and not words and goes_on)

    def _say(self, name: str, words: list[str]) -> None:
        if name == "Fa" and self._function is not None:
            self._function += words
            return
        if name == "Nm":
            self._command = self._command or " ".join(words)
            words = words or [self._command]
        said = SAID[name](words) if name in SAID else words or DEFAULTS.get(name, [])
        if self._synopsis and name == "In":
            said = [f"#include {word}" for word in said]
        elif self._synopsis and name == "Fn":
            said = [f"{word};" for word in said]
        for word in said:
            self._put(word)

    def _close(self, begin: str) -> None:
        """Close what was opened last by a macro, and what lines opened in it."""
        at = next((at for at in range(len(self._open) - 1, -1, -1) if self._open[at][0] == begin), None)
        if at is None:
            return
        while len(self._open) > at + 1 and self._open[-1][0] in LINES:
            self._put(self._open.pop()[1], closes=True)
        self._put(self._open[at][1], closes=True)
        del self._open[at]
        if begin == "Fo" and self._function is not None:
            function, self._function = self._function, None
            self._say("Fn", function)

    def _put(self, word: str, *, opens: bool = False, closes: bool = False) -> None:
        if not word:
            return
        kept = self._lines if self._head is None else self._head
        if kept and not (self._tight or closes or kept[-1].endswith(("\n", "\t"))):
            kept.append(" ")
        kept.append(word)
        self._tight = opens or not self._spaced

    # ------------------------------------------------------------ what was read

    def _taken(self) -> str:
        """Return the words of a heading or term, which ends."""
        words, self._head = "".join(self._head or []), None
        self._tight = False
        return " ".join(words.split())

    def _lead_on(self) -> None:
        """Add what was read before something that stands further in."""
        if self._term:
            self._lead()
        self._flush()

    def _is_mark(self, term: str) -> bool:
        return bool(term and self._lists) and self._lists[-1].kind not in _TERMS

    def _in_table(self) -> bool:
        return bool(self._lists) and self._lists[-1].kind == "-column"

    def _end_row(self) -> None:
        if self._lines:
            self._lists[-1].rows.append("".join(self._lines).split("\t"))
            self._lines = []

    def _flush(self) -> None:
        """Add what was read; the item goes on."""
        if self._head is not None:
            self._term.append(self._taken())
        if self._in_table():
            self._end_row()
            table = self._lists[-1]
            add_rows(self._builder, table.rows, "table", headed=table.headed, strict=True)
            table.rows = []
        if not self._read():  # terms that nothing describes
            for term in self._term if not self._is_mark("".join(self._term)) else []:
                self._builder.add(term, "list")
            self._term = []
        self._end(keep_item=True)
        self._item = bool(self._lists)
        self._tight = False


_BLOCKS: Mapping[str, Callable[[MdocPage, list[str]], None]] = {
    "Dt": MdocPage._title,
    "Sh": lambda page, tokens: page._heading_of(1, tokens),
    "Ss": lambda page, tokens: page._heading_of(2, tokens),
    **dict.fromkeys(("Pp", "Lp", "sp"), MdocPage._paragraph),
    "br": MdocPage._break,
    "Nd": MdocPage._summary_of,
    "Bl": MdocPage._begin_list,
    "It": MdocPage._begin_item,
    "El": MdocPage._end_list,
    "Bd": MdocPage._begin_display,
    "Ed": MdocPage._end_display,
    "D1": MdocPage._display_line,
    "Dl": MdocPage._display_line,
    "Rs": MdocPage._begin_reference,
    "Re": MdocPage._end_reference,
    "Sm": MdocPage._space,
    "Ex": MdocPage._exit,
    "Rv": MdocPage._value,
}


def _tokens(rest: str) -> list[str]:
    """Return the arguments of a macro, with their escapes."""
    tokens = (found[2] or _QUOTED + found[1].replace('""', '"') for found in TOKEN.finditer(rest))
    return ["|" if token in _BARS else token for token in tokens]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

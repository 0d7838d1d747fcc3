"""Manual pages in the macros of ``man(7)``, which say how text looks."""

from lexigraph.ingestion.readers.manual.page import Page, arguments, plain
from lexigraph.ingestion.readers.parsed import TextBuilder

_ALTERNATING = frozenset("BR RB BI IB IR RI".split())
_FONTS = frozenset("B I SM SB R".split())
_BREAKS = frozenset("PP P LP HP sp RS RE".split())
_KNOWN = _ALTERNATING | _FONTS | _BREAKS | frozenset("UR MT nf EX fi EE br TH SH SS TP TQ IP SY OP".split())
_NO_ITEM = ("SH", "SS", "PP", "P", "LP", "RE")


class ManPage(Page):
    """A page in ``man(7)``."""

    def __init__(self, builder: TextBuilder) -> None:
        super().__init__(builder)
        self._wants = ""  # what the next line of text is: a term, a heading
        self._hangs = False  # whether the paragraph hangs from its first line

    def _knows(self, name: str) -> bool:
        return name in _KNOWN

    def _request(self, name: str, rest: str) -> None:
        if name in _ALTERNATING or name in _FONTS:
            text = ("" if name in _ALTERNATING else " ").join(_arguments(rest))
            if text:  # without arguments they are for the next line
                self._text(text)
        elif name in ("UR", "MT"):
            self._text(plain(rest))
        elif name == "SY":
            self._lines += ["\n"] * bool(self._lines)
            self._text(plain(rest))
        elif name == "OP":
            self._text(f"[{' '.join(_arguments(rest))}]")
        elif name in ("nf", "EX", "fi", "EE"):
            self._end(keep_item=True)
            self._code = name in ("nf", "EX")
        elif name == "br":
            self._lines += ["\n"] * bool(self._lines)
        elif name == "TH":
            title, section, *_ = [*_arguments(rest), "", ""]
            self._name = f"{title}({section})" if title else ""
        elif name in ("SH", "SS"):
            self._end()
            self._wants, self._hangs = name, False
            if rest:
                self._text(" ".join(_arguments(rest)))
        elif name in ("TP", "TQ", "IP"):
            self._begin_item(name, _arguments(rest))
        elif name == "RS" and self._is_term():
            self._lead()
        elif name in _BREAKS:
            if name == "RE" and not self._read():  # nothing stood further in
                self._term = [term.removesuffix(":") for term in self._term]
            self._end(keep_item=name not in _NO_ITEM)
            self._hangs = name == "HP"

    def _begin_item(self, name: str, given: list[str]) -> None:
        if name == "IP" and not any(given[:1]):  # the description of the term above, of which many hang by .HP
            if self._hangs and not self._term and self._is_term():
                self._term, self._lines, self._item = [self._read()], [], True
            if self._term and not self._read():
                return
        if name != "TQ":
            self._end()
        self._item, self._hangs = True, False
        if name == "IP":
            self._term = given[:1]
        else:
            self._wants = "term"

    def _text(self, text: str) -> None:
        if self._wants and text.strip():
            wanted, self._wants = self._wants, ""
            if wanted == "term":
                self._term.append(text.strip())
            else:
                self._section(1 if wanted == "SH" else 2, text.strip())
        elif text.strip() or self._code:
            self._lines += [text, "\n" if self._code else " "]
        elif not self._wants and (self._read() or not self._term):  # below a term, its description is still to come
            self._end(keep_item=True)


def _arguments(rest: str) -> list[str]:
    return [plain(argument) for argument in arguments(rest)]

"""What a page of a PDF draws: stretches of text with their place, size and font.

pypdf reads objects, streams and fonts; its own extraction tells neither where a stretch ends nor how wide gaps are, so the
operators that show text are followed here (PDF 32000-1, 9.4).
"""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from lexigraph.ingestion.readers.parsed import check_length, check_parts
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic._font import Font

Matrix = tuple[float, float, float, float, float, float]
_PLAIN: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_TURNED: dict[int, Matrix] = {90: (0, -1, 1, 0, 0, 0), 180: (-1, 0, 0, -1, 0, 0), 270: (0, 1, -1, 0, 0, 0)}
_FAR = 20_000.0  # points: the largest page has 14,400
_LEAST_SIZE = 0.1
_PARTING = (b" ", b"\n", b"\r", b"(", b"[", b"/", b"<")  # of operands
_MAX_FORMS = 8  # forms within forms
_FORM = 100  # operands that take as long as beginning to draw a form
_SPACE = 0.16  # a gap of so many sizes of the font parts words
_MONO = re.compile(
    r"mono|monl|courier|consol|typewriter|cmtt|cmsltt|cmitt|cmvtt|inconsolata|menlo|lettergothic|fixed", re.IGNORECASE
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|cmssbx|(?<![a-z])bd|-b$|medi$", re.IGNORECASE)
_FIXED, _FORCE_BOLD = 1, 1 << 18  # flags of a font descriptor


class Span(NamedTuple):
    """Text from ``x0`` to ``x1`` on the base line ``y`` (points, from the lower left corner of the upright page)."""

    x0: float
    x1: float
    y: float
    size: float
    text: str
    bold: bool
    mono: bool
    upright: bool = True


class Face:
    """A font: how its bytes are read, how wide they are, what it looks like."""

    def __init__(self, font: "Font") -> None:
        self._font = font
        self._widths: dict[str, float] = {}
        name, flags = font.name.partition("+")[2] or font.name, font.font_descriptor.flags
        widths = [font.character_widths[letter] for letter in "ilm.W1" if letter in font.character_widths]
        self.mono = bool(_MONO.search(name) or flags & _FIXED or (len(widths) > 3 and len(set(widths)) == 1))
        self.bold = bool(_BOLD.search(name) or flags & _FORCE_BOLD)

    def read(self, raw: bytes) -> tuple[str, float, int]:
        """Return the text, its width in thousandths of the size, and the number of glyphs."""
        font = self._font
        if not font.interpretable:  # it draws signs of its own, and does not say which
            return "", 0.0, 0
        if isinstance(font.encoding, str):
            codes = raw.decode(font.encoding, "replace")
            said = codes
        else:
            codes = "".join(map(chr, raw))
            said = "".join(font.encoding.get(byte, chr(byte)) for byte in raw)
        text = "".join(font.character_map.get(char, char) for char in said)
        return text, sum(map(self._width, codes)), len(codes)

    def _width(self, code: str) -> float:
        if code not in self._widths:
            font = self._font
            self._widths[code] = font.space_width if code == font.space_char else font.get_text_width(code)
        return self._widths[code]


class Fonts:
    """The fonts of a document, each read once."""

    def __init__(self) -> None:
        self._known: dict[Any, Face] = {}

    def face(self, resources: Any, name: str) -> Face:
        """Return a font by its name on the page. Raise ``KeyError`` when there is none."""
        from pypdf.generic._font import Font  # how pypdf reads fonts; its versions are pinned by the locks

        fonts = resources["/Font"].get_object()
        reference = fonts.raw_get(name)
        key = getattr(reference, "idnum", None) or id(fonts[name])
        if key not in self._known:
            self._known[key] = Face(Font.from_font_resource(reference.get_object()))
        return self._known[key]


class Budget:
    """What the pages of a document may draw, counted while they do: a form drawn again counts again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._page = self._pages = self._characters = 0

    def begin_page(self) -> None:
        """Count the operands of another page."""
        self._page = 0

    def operands(self, count: int) -> None:
        """Count operands. Raise ``InvalidInput`` for too many of a page, or of all pages."""
        self._page += count
        self._pages += count
        check_parts(self._page, "operands of a page", self._settings)
        check_parts(self._pages, "operands of all pages", self._settings)

    def characters(self, count: int) -> None:
        """Count characters that are shown. Raise ``InvalidInput`` for more than a text may have."""
        self._characters += count
        check_length(self._characters, self._settings.max_text_chars)


def spans(page: "PageObject", reader: "PdfReader", fonts: Fonts, budget: Budget) -> list[Span]:
    """Return what a page shows, in the order of drawing. Whatever pypdf raises over broken streams passes.

    Raise ``InvalidInput`` for a page that goes beyond the budget.
    """
    budget.begin_page()
    contents = page.get("/Contents")
    if contents is None:
        return []
    matrix = _TURNED.get(page.rotation % 360, _PLAIN)
    pen = _Pen(reader, fonts, matrix, budget)
    pen.draw(_operations(contents.get_object(), reader, budget), page.get("/Resources", {}), 0)
    return _merged(pen.found)


def _operations(stream: Any, reader: "PdfReader", budget: Budget) -> list[Any]:
    """Return the operators of a stream with their operands: a hundred times as much memory as the stream."""
    from pypdf.generic import ContentStream

    content = ContentStream(stream, reader, "bytes")
    budget.operands(sum(map(content.get_data().count, _PARTING)))
    return content.operations


@dataclass(slots=True)
class _State:
    """What ``q`` keeps and ``Q`` brings back."""

    matrix: Matrix
    face: Face | None = None
    size: float = 0.0
    char_space: float = 0.0
    word_space: float = 0.0
    scale: float = 1.0
    leading: float = 0.0
    rise: float = 0.0

    def copy(self) -> "_State":
        return _State(
            self.matrix, self.face, self.size, self.char_space, self.word_space, self.scale, self.leading, self.rise
        )


@dataclass
class _Pen:
    """Follows the operators of a content stream."""

    reader: "PdfReader"
    fonts: Fonts
    start: Matrix
    budget: Budget
    found: list[Span] = field(default_factory=list)
    line: Matrix = _PLAIN
    text: Matrix = _PLAIN

    @cached_property
    def state(self) -> _State:
        return _State(self.start)

    def draw(self, operations: list[Any], resources: Any, depth: int) -> None:
        kept: list[_State] = []
        resources = resources.get_object() if hasattr(resources, "get_object") else resources
        for operands, operator in operations:
            try:
                if operator == b"q":
                    kept.append(self.state.copy())
                elif operator == b"Q":
                    self.state = kept.pop()
                elif operator == b"Do" and depth < _MAX_FORMS:
                    self._form(resources, operands[0], depth)
                else:
                    self._operate(operator, operands, resources)
            except InvalidInput:
                raise
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                continue  # one bad operator costs only itself

    def _form(self, resources: Any, name: str, depth: int) -> None:
        form = resources["/XObject"][name].get_object()
        if form.get("/Subtype") != "/Form":
            return
        self.budget.operands(_FORM)
        kept, self.state = self.state, self.state.copy()
        matrix = tuple(float(number) for number in form.get("/Matrix", _PLAIN))
        self.state.matrix = _times(matrix, self.state.matrix)
        self.draw(_operations(form, self.reader, self.budget), form.get("/Resources", resources), depth + 1)
        self.state = kept

    def _operate(self, operator: bytes, operands: list[Any], resources: Any) -> None:
        state = self.state
        match operator:
            case b"cm":
                state.matrix = _times(tuple(map(float, operands)), state.matrix)
            case b"BT":
                self.line = self.text = _PLAIN
            case b"Tf":
                state.size = float(operands[1])
                state.face = self.fonts.face(resources, operands[0])
            case b"Td" | b"TD":
                if operator == b"TD":
                    state.leading = -float(operands[1])
                self._move(float(operands[0]), float(operands[1]))
            case b"Tm":
                self.line = self.text = _times(tuple(map(float, operands)), _PLAIN)
            case b"T*":
                self._move(0, -state.leading)
            case b"Tc":
                state.char_space = float(operands[0])
            case b"Tw":
                state.word_space = float(operands[0])
            case b"Tz":
                state.scale = float(operands[0]) / 100
            case b"TL":
                state.leading = float(operands[0])
            case b"Ts":
                state.rise = float(operands[0])
            case b"Tj":
                self._show(operands[0])
            case b"'" | b'"':
                if operator == b'"':
                    state.word_space, state.char_space = float(operands[0]), float(operands[1])
                self._move(0, -state.leading)
                self._show(operands[-1])
            case b"TJ":
                for part in operands[0]:
                    if isinstance(part, (int, float)):
                        self._advance(-float(part) / 1000 * state.size * state.scale)
                    else:
                        self._show(part)

    def _move(self, x: float, y: float) -> None:
        self.line = self.text = _times((1, 0, 0, 1, x, y), self.line)

    def _advance(self, width: float) -> None:
        self.text = _times((1, 0, 0, 1, width, 0), self.text)

    def _show(self, raw: Any) -> None:
        state = self.state
        if state.face is None or not raw:
            return
        text, width, glyphs = state.face.read(raw if isinstance(raw, bytes) else raw.encode("latin-1", "replace"))
        self.budget.characters(len(text))
        before = _times(self.text, state.matrix)
        spaces = text.count(" ")
        self._advance((width / 1000 * state.size + glyphs * state.char_space + spaces * state.word_space) * state.scale)
        after = _times(self.text, state.matrix)
        upright = abs(before[1]) <= abs(before[0]) and before[0] > 0
        size = max(abs(state.size) * math.hypot(before[2], before[3]), _LEAST_SIZE)
        y = before[5] + state.rise * before[3]
        if not all(abs(number) < _FAR for number in (before[4], after[4], y, size)):
            return  # on no page that anybody sees; not a number is not less either
        self.found.append(Span(before[4], after[4], y, size, text, state.face.bold, state.face.mono, upright))


def _times(a: Any, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )


def _merged(found: list[Span]) -> list[Span]:
    """Join what goes on where the last stretch ended, in the same font; a small gap is a space."""
    joined: list[Span] = []
    for span in found:
        last = joined[-1] if joined else None
        if last and _goes_on(last, span):
            gap = span.x0 - last.x1
            space = " " if gap > _SPACE * span.size and not last.text.endswith(" ") and not span.text.startswith(" ") else ""
            joined[-1] = last._replace(x1=span.x1, text=last.text + space + span.text)
        else:
            joined.append(span)
    return joined


def _goes_on(last: Span, span: Span) -> bool:
    same = last.bold == span.bold and last.mono == span.mono and last.upright == span.upright
    near = -0.3 * span.size < span.x0 - last.x1 < 0.6 * span.size
    return same and near and abs(last.y - span.y) < 0.1 * span.size and abs(last.size - span.size) < 0.5

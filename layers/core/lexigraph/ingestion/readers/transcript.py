"""Transcripts and subtitles (vtt, srt): cues joined to what each speaker says, with the time at which that begins."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean, one_line
from lexigraph.ingestion.readers.plain.lines import ends_sentence
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_SECTION = 300  # seconds
_UNDIVIDED = 600  # seconds: what is shorter has no sections
_LEAST, _MOST = 200, 500  # characters of a paragraph: it ends with a sentence between these, at the latest with a cue
_PAUSE = 30  # seconds after which a sentence begins another
_ROLLED = 4  # lines of a caption that the next one may repeat
_NEARLY_ALL = 0.9
_HEADER = re.compile(r"WEBVTT(?:[ \t]+(?:-[ \t]*)?(.*))?")
_FIELD = re.compile(r"(title|language):[ \t]*(\S.*)", re.IGNORECASE)
_TIMES = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,]\d{1,3})?\s*-->\s*\d")
_VOICE = re.compile(r"<v(?:\.[\w.-]*)?[ \t]+([^<>]{1,100})>")
_TAG = re.compile(r"</?[\w.][^<>]{0,200}>|</?\w?>|\{\\[^{}]{0,100}\}")
_SOUND = re.compile(r"[\[(][^\[\]()]{0,100}[\])]:?|[♪♫#*\s-]*|\S+#xywh=\S+")  # also pictures of a film's timeline
_NEXT = re.compile(r"(>>+)\s*|[-–—]\s*")  # somebody else speaks; dashes stand before both of two who talk
_TURNS = re.compile(r"(?<!\s)\s+(?=>>)")
_HEAD = re.compile(r"(\w[^:<>]{0,60}):\s+(?=\S)")
_NAME = re.compile(
    r"([^\W\d_a-z][\w.'’-]*(?: (?:[^\W_a-z][\w.'’-]*|de|del|der|di|la|van|von)){0,4}(?: \([^()]{1,40}\))?):\s+(?=\S)"
)
_CAPITALS = re.compile(r"[^\W\d_a-z][^\W_a-z.'’-]*(?: [^\W_a-z.'’-]+)*")
_ASIDE = re.compile(r"(?<!\s)\s*[(\[][^()\[\]]*[)\]]")


@dataclass(slots=True)
class _Said:
    """Some words: when they begin (seconds), who speaks (empty when nobody is told), and whether somebody new does."""

    start: int
    speaker: str
    text: str
    new: bool


def read_transcript(data: bytes, settings: Settings) -> Parsed:
    """Read WebVTT or SubRip: a paragraph ``[00:01:05] Anna: ...`` for each stretch of a speaker, in its sentences.

    Speakers are those of ``<v Anna>`` and of ``Anna: ...`` at the head of cues. What takes ten minutes or more has a
    section for every five. Captions that roll are read once; notes, styles, positions and sounds are left out.
    """
    text, encoding = decode(data)
    check_text(text, settings)
    lines = clean(text).split("\n")
    cues = [(start, _voiced(shown)) for start, shown in _cues(lines)]
    if not cues:
        raise InvalidInput("has no cues: each begins with its times, as 00:01:02.000 --> 00:01:05.000")
    builder = TextBuilder(settings)
    divided = cues[-1][0] >= _UNDIVIDED
    section = -1
    for said in _paragraphs(_said(cues)):
        if divided and said.start // _SECTION != section:
            section = said.start // _SECTION
            builder.heading(1, f"{_clock(section * _SECTION)} to {_clock((section + 1) * _SECTION)}")
        who = f"{said.speaker}: " if said.speaker else ""
        builder.add(f"[{_clock(said.start)}] {who}{said.text}")
    told = _head(lines)
    return builder.parsed(told.pop("title", ""), {**told, **encoding_note(encoding)})


def _head(lines: Sequence[str]) -> dict[str, str]:
    """Return what the lines above the first cue tell of the whole."""
    begins = _HEADER.fullmatch(lines[0].strip())
    told = {"title": begins[1]} if begins and begins[1] else {}
    for line in lines[1:] if begins else ():
        if not line.strip():
            break
        if field := _FIELD.fullmatch(line.strip()):
            told[field[1].lower()] = field[2]
    return told


def _cues(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield when each cue begins, in seconds, and its lines; a number or an id above its times is none of the last one's."""
    start, shown, inside = -1, list[str](), False
    for at, line in enumerate(lines):
        if times := _TIMES.match(line):
            if start >= 0:
                yield start, shown
            start, shown, inside = 3600 * int(times[1] or 0) + 60 * int(times[2]) + int(times[3]), [], True
        elif not line:
            inside = False
        elif inside and not (line.strip().isdigit() and at + 1 < len(lines) and _TIMES.match(lines[at + 1])):
            shown.append(line)
    if start >= 0:
        yield start, shown


def _voiced(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines of a cue without tags and sounds, each with the voice that speaks it."""
    found = []
    voice = ""
    for line in lines:
        first, *others = _VOICE.split(line)
        for name, words in ((voice, first), *zip(others[::2], others[1::2], strict=True)):
            voice = name
            bare = one_line(unescape(_TAG.sub("", words)))
            if not _SOUND.fullmatch(bare):
                found.append((_known_name(voice), bare.strip("♪♫ ")))
    return found


def _said(cues: Sequence[tuple[int, list[tuple[str, str]]]]) -> Iterator[_Said]:
    """Yield what is new in each cue, and who says it.

    Where nearly all cues begin with ``...:``, that is the speaker. Where a third begin with a name, it is told whenever
    another speaks. Elsewhere only what is in capitals is taken for a name, each for its own cue.
    """
    heads = [shown[0][1] for _, shown in cues if shown]
    always = sum(map(bool, map(_HEAD.match, heads))) >= _NEARLY_ALL * len(heads)
    everywhere = always or sum(map(bool, map(_NAME.match, heads))) * 3 >= len(heads)
    speaker = ""
    last: list[tuple[str, str]] = []
    for start, shown in cues:
        rolled = next((n for n in range(min(len(last), len(shown), _ROLLED), 0, -1) if last[-n:] == shown[:n]), 0)
        last = shown or last
        speaker = speaker if everywhere else ""
        turns = ((voice, turn) for voice, line in shown[rolled:] for turn in _TURNS.split(line))
        for number, (voice, line) in enumerate(turns):
            mark = _NEXT.match(line)
            words = line[mark.end() :] if mark else line
            name = None if voice else (_HEAD if always and not number else _NAME).match(words)
            if name and (everywhere or _CAPITALS.fullmatch(name[1])):
                speaker, words = _known_name(name[1]), words[name.end() :]
            elif mark and not everywhere:
                speaker = ""
            yield _Said(start, voice or speaker, words, bool(mark and mark[1]))


def _known_name(name: str) -> str:
    """Return a name as it is spoken: ``Anna Berg`` for ``BERG, Anna (Guest)``."""
    name = one_line(_ASIDE.sub("", unescape(name))).replace("SPEAKER_", "Speaker ")
    last, comma, first = name.partition(", ")
    name = f"{first} {last}" if comma and "," not in first else name
    return " ".join(word.title() if len(word) > 2 and word.isupper() else word for word in name.split())


def _paragraphs(pieces: Iterator[_Said]) -> Iterator[_Said]:
    """Join what one speaker says to paragraphs of whole sentences."""
    held: list[_Said] = []
    length = 0
    for piece in pieces:
        if held:
            ended = ends_sentence(held[-1].text)
            full = length >= (_LEAST if ended else _MOST)
            paused = ended and piece.start - held[-1].start > _PAUSE
            if full or paused or piece.speaker != held[0].speaker or piece.new:
                yield _Said(held[0].start, held[0].speaker, " ".join(p.text for p in held), new=False)
                held, length = [], 0
        held.append(piece)
        length += len(piece.text) + 1
    if held:
        yield _Said(held[0].start, held[0].speaker, " ".join(p.text for p in held), new=False)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

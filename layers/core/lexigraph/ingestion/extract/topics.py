"""What a topic is called: the headings above it, or the key phrases of what it says. Pure text, no model."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from lexigraph.ingestion.extract.words import listed
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedStatement

_PHRASES = 3
_MAX_PHRASE_WORDS = 4
_MAX_TITLE_CHARS = 160
_MAX_HEADINGS = 3
# a phrase of several words tells more than its words apart, a name more than a noun
_WEIGHTS = {1: 1.0, 2: 2.2, 3: 2.7, 4: 2.9}
_NAMED, _OPENING, _ONCE, _VERBAL = 1.4, 1.2, 0.4, 0.4
_BEGINS_AS_VERB, _ENDS_AS_VERB = re.compile(r"\w{2,}(?:ed|ly)"), re.compile(r"\w{2,}(?:ed|ing|ly)")
_WORD = re.compile(r"[^\W_](?:[\w+#'’./@-]*[\w+#])?|[^\s\w]")
_COUNTED = re.compile(r"[\W\d_]+|[ivxlc]+|\w|v?\d\w*")
# what heads the entry of a release: "harbour (2.1-1) unstable; urgency=low", "v2.1.0 (2026-03-04)"
CHANGELOG = re.compile(r"(\S+ \([^()\s]+\)) [\w -]+; *urgency=.*")
_RELEASE = re.compile(
    r"\S+ \([^()\s]*\d[^()\s]*\)|\W*(?:version |release |v)?\d+\.\d[\w.+~-]*\W*[\d/. -]*\W*", re.IGNORECASE
)
_SIGNS = re.compile(r"[{}()<>=;|&$*\\\[\]]|::|\b0x[0-9a-f]+", re.IGNORECASE)  # of code and stack traces among prose
_WORDS_PER_SIGN = 4
_NO_WORD = re.compile(r"(?=\D*\d)(?:0x)?[0-9a-f]+|[^/@]*[/@].*", re.IGNORECASE)
_ROW = re.compile(r"[^:;]{1,80}: [^;]+; [^:;]{1,80}: ")  # of a table: "Name: Ada; Born: 1815"
_COMMENT = re.compile(r"(?://|/\*+|#(?!\w)|--\s)\s*((?:\w[\w'-]*[ ,.]+){2,}\w.*)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_CELL = re.compile(r"(?:^|; )[^:;]{1,80}: ([^;]+)")
_WORDS_OF_ENTRY = 6  # fewer than these, on an average, do the entries of a list have
_MAX_ENTRY_CHARS = 48
_TELLING = 2  # words that a path of headings has to be about, to say it without the title
_FILE = re.compile(r"\S*[_\\/]\S*|\S+\.\w{1,5}|[\W\d]+")
_SEPARATOR = " > "

# headings that every document has, and what sections are counted by: they tell where one is, not what it is about
_GENERIC = listed(
    """
    abstract acknowledgements acknowledgments aliases also annex appendix arguments attributes author authors
    availability background bibliography bug bugs caveats changelog changes chapter class colophon commands compatibility
    conclusion conclusions configuration contents copyright credits defaults definitions dependencies description
    details diagnostics discussion environment errors example examples exceptions exit faq features field fields figure
    files footnotes format functions general getting global globals glossary help history implementation index information
    install installation introduction issues keywords kinds legal license limitations links method methods misc
    miscellaneous motivation name note notes notice objective operands options other output outputs overview page parameter
    parameters part portability preface prerequisites program properties purpose questions rationale readme reference
    references remarks reporting requirements resources results returns scope section security setup signals slide source
    sources standards started status step summary support supported synopsis syntax table terms tips todo troubleshooting
    types usage value values variables version versions warning warnings
    """
)
_STOP_WORDS = listed(
    """
    a about above according across actually after again against all allow allows almost along already also although
    always am among an and another any anything appear are around as at available away back based be became because
    become becomes been before behind being below besides best better between beyond both bring but by call called came
    can cannot case cases certain change changed come comes common commonly could currently day days depending describe
    described did different do does doing done down due during each early easily eg either else enough especially etc
    even ever every everything example examples far few find first following follows for form found four from full fully
    further general generally get gets give given gives go goes going good got great had happen happens has have having
    he help helps her here hers herself high him himself his how however i ie if important in include included includes
    including instead into is it its itself just keep kind kinds know known large last later least less let lets like
    likely little ll long look looking looks lot low made main make makes making many may maybe me mean means might more
    moreover most mostly much must my myself near necessary need needed needs neither never new next no nor not note
    nothing now number of off often on once one only onto or order other others otherwise our ours out over own part
    particular particularly per perhaps place please possible present probably provide provided provides put quite
    rather re really recently recommended refer related require required requires respectively return returned returns
    right run s said same say says second see seem seems seen set several shall she should show shown similar simple
    simply since small so some something sometimes soon special specific specified still such sure t take taken takes
    tell than that the their theirs them themselves then there therefore these they thing things think this those though
    three through thus time times to together too toward towards try two type typically under unless unlike until up
    upon us use used useful user uses using usual usually various very via want wants was way ways we well were what
    whatever when where whether which while who whole whom whose why will with within without work works would yes yet
    you your yours yourself
    """
)


def topic_title(
    chunk: ChunkText,
    headings: Sequence[str],
    said: Sequence[ExtractedStatement],
    *,
    phrases: bool = False,
    no_nouns: Mapping[str, bool] | None = None,
) -> str:
    """Return the title of the topic of what a chunk says under some headings; empty when nothing tells.

    It is their path, with the document's title in front where they alone say little (``SYNOPSIS``, ``State``). In a section
    too long for one topic, where there are neither headings nor a title that names something, below the number of a release
    and when asked for, key ``phrases`` say what it is about. ``no_nouns`` are as :func:`key_phrases` takes them.
    """
    title = _one_line(chunk.title)
    path = [CHANGELOG.sub(r"\1", line) for heading in headings if (line := _one_line(heading)) and line != title]
    release = bool(path and _RELEASE.fullmatch(path[-1]))
    # what is above a heading helps to read it, unless it says nothing itself
    path = [*filter(tells, path[:-1]), *path[-1:]][-_MAX_HEADINGS:]
    if path and title and len({word for heading in path for word in _telling(heading)}) < _TELLING:
        path.insert(0, title)
    base = _SEPARATOR.join(path) or ("" if _FILE.fullmatch(title) else title)
    named = ""
    if phrases or release or not base or chunk.long:
        named = _entries(said, path[-1] if path else "")
        named = named or ", ".join(key_phrases(said, f"{title} {base}", no_nouns=no_nouns))
    return ": ".join(part for part in (base[:_MAX_TITLE_CHARS], named) if part) or title


def tells(heading: str) -> bool:
    """Tell whether a heading says what is below it: more than a number, and not what every document has."""
    return any(True for _ in _telling(heading))


def _telling(heading: str) -> Iterator[str]:
    for word in re.findall(r"\w+", heading.casefold()):
        if not (_COUNTED.fullmatch(word) or word in _GENERIC or word in _STOP_WORDS):
            yield word


def key_phrases(
    said: Sequence[ExtractedStatement],
    known: str = "",
    no_nouns: Mapping[str, bool] | None = None,
) -> list[str]:
    """Return the phrases of one to four words that statements speak of most, without those that ``known`` has.

    A phrase counts as often as it is said; more with more words, as a name, and in the first statement; less when it is said
    once only, and when it looks like a verb. ``no_nouns`` are words that are none; true for those that may stand before one,
    adjectives. Code counts only where nothing else is said.
    """
    no_nouns = no_nouns or {}
    prose = [s for s in said if s.kind == "prose" and not _is_code(s.value)] or said
    forms = [[gram for run in _runs(s.value, no_nouns) for gram in _grams(run) if _names(gram, no_nouns)] for s in prose]
    counts = Counter(_key(form) for of_one in forms for form in of_one)
    shown = {_key(form): " ".join(form) for of_one in reversed(forms) for form in reversed(of_one)}
    names = {_key(_WORD.findall(entity.name)) for s in said for entity in s.entities}
    opening = {_key(form) for form in forms[0]} if forms else set()

    def score(key: tuple[str, ...]) -> float:
        verbal = bool(_ENDS_AS_VERB.fullmatch(key[-1]) or _BEGINS_AS_VERB.fullmatch(key[0]))
        factors = (
            (_NAMED, key in names),
            (_OPENING, key in opening),
            (_ONCE, counts[key] == 1),
            (_VERBAL, verbal),
        )
        return counts[key] * _WEIGHTS[len(key)] * prod(factor for factor, holds in factors if holds)

    taken = set(_key(_WORD.findall(known)))
    chosen: list[str] = []
    for key in sorted(counts, key=lambda key: (-score(key), key)):
        if len(chosen) == _PHRASES:
            break
        if not taken.intersection(key):
            chosen.append(shown[key])
            taken.update(key)
    return chosen


def _entries(said: Sequence[ExtractedStatement], heading: str) -> str:
    """Return what names code, rows and short entries: the first of them, and the last; empty for prose."""
    lines = [line.removeprefix(heading) for s in said for line in _lines(s.original or s.value)]
    texts = [s.original or s.value for s in said if s.kind == "prose"]
    if rows := [line for line in lines if _ROW.match(line)]:
        lines = rows
    elif not texts:
        return _code_name(lines)
    elif sum(len(text.split()) for text in texts) >= _WORDS_OF_ENTRY * len(texts):
        return ""
    ends = lines[:1] + lines[-1:]
    whole = rows or all(len(line.partition(": ")[0]) <= _MAX_ENTRY_CHARS for line in ends)
    return " to ".join(dict.fromkeys(map(_entry, ends))) if whole else ""


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if any(map(str.isalpha, line))]


def _entry(line: str) -> str:
    """Return the term of an entry, or the cells of a row."""
    return _cut(", ".join(_CELL.findall(line)) if _ROW.match(line) else line.partition(": ")[0])


def _code_name(lines: Sequence[str]) -> str:
    """Return what code says of itself: its first comment, else its first line."""
    comments = (_SENTENCE_END.split(found[1].removesuffix("*/"))[0] for line in lines if (found := _COMMENT.match(line)))
    return _cut(next(comments, lines[0] if lines else "").strip())


def _cut(text: str) -> str:
    if len(text) > _MAX_ENTRY_CHARS:
        text = text[: _MAX_ENTRY_CHARS + 1].rpartition(" ")[0] or text[:_MAX_ENTRY_CHARS]
    return text.strip(" ,;:{(")


def _is_code(text: str) -> bool:
    return len(_SIGNS.findall(text)) * _WORDS_PER_SIGN > len(text.split())


def _runs(text: str, no_nouns: Mapping[str, bool]) -> Iterator[list[str]]:
    """The stretches of content words between function words, verbs, numbers and punctuation."""
    run: list[str] = []
    for word in _WORD.findall(text):
        lower = word.casefold()
        said = len(word) > 1 and any(c.isalpha() for c in word) and lower not in _STOP_WORDS
        if said and no_nouns.get(lower, True) and not _NO_WORD.fullmatch(word):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _grams(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(1, _MAX_PHRASE_WORDS + 1):
        yield from (tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def _names(words: Sequence[str], no_nouns: Mapping[str, bool]) -> bool:
    """Tell whether a phrase ends with what may be a noun."""
    return words[-1].casefold() not in no_nouns


def _key(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_folded, words))


def _folded(word: str) -> str:
    """A word in lower case without the end of a plural."""
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "su" else word


def _one_line(text: str) -> str:
    return " ".join(text.split())

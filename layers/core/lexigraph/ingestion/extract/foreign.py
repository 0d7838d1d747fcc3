"""Extraction from languages that the local model does not read: sentences by the rules of their script, names by their form.

Nothing is guessed: a name is what is written as one (capitals, quotation marks, Katakana), facts are read off the rows of
data alone. So there is less in the graph than of English, and what is there can be relied on.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from lexigraph.ingestion.extract.blocks import prose, with_verbatim
from lexigraph.ingestion.extract.rows import row_facts
from lexigraph.ingestion.extract.segments import pieces
from lexigraph.ingestion.extract.topics import topic_title
from lexigraph.ingestion.extract.words import encodable, listed
from lexigraph.ingestion.language import code_of, language_within, script_of
from lexigraph.model.document import Block, ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.model.scripts import FUNCTION_WORDS, UNSPACED, is_unspaced

_ENGLISH = frozenset(["", "en"])
_TOPIC_NAMES, _TOPIC_CHARS = 3, 40
_SPACE = re.compile(r"\s+")
_BLANKLESS = UNSPACED.replace("\uac00-\ud7af", "") + "、。「」『』（）"
# the end of a line inside a word, or between two that no blank parts; Korean has blanks
_WRAP = re.compile(rf"(?<=[{_BLANKLESS}])[ \t]*\n\s*(?=[{_BLANKLESS}])")

# ---- sentences
_CLOSERS = r"[\"'”’»«“)\]」』）】》〉]*"
_STOP = re.compile(
    r"(?:[。！？｡]|．(?!\d))+[”’」』）】》〉]*"  # Chinese, Japanese; but ０．３５
    rf"|[।॥؟۔։።။]+{_CLOSERS}(?:\s+|$)"  # Hindi and its like, Arabic, Urdu, Armenian, Amharic, Burmese
    rf"|[.!?…]+(?:\s»)?{_CLOSERS}(?:\[\d+\])*(?:\s+|$)"
    r"|\n\s*\n"
)
_MARKER = re.compile(r"\s*(?:[-*+–]\s|[•‣◦▪・]|\(?\d{1,3}[.)]\s|[（(]?[一二三四五六七八九十]{1,3}[)）、.])\s*")
_ABBREVIATIONS = listed(
    """
    abs art bd bspw bzw ca dr evtl geb ggf hr inkl jh max mind min mio mrd nr prof sog st str tel u usw vgl z zit zzgl
    av boul cf env etc ex fig m me mgr mlle mm mme mr n° no p pp sté vol
    admón apdo avda dra ed lic núm pág sra sr srta ud uds vd
    arch avv dott dssa ecc geom ing pag sig
    bijv blz dhr drs mevr nl ong resp
    bl dvs eks f.eks kl kr osv t.ex tlf
    am dyr inż np pl płk pkt prof r św tj ul wg
    např tzv tzn č
    im tys vb yy
    акад в.в г гг гл д др ед им кв л млн млрд обл оз пос пр проф р рис руб с см ст стр т табл тел тыс ул чел
    буд вул ім напр
    κ κα πρ σ
    """
)
# where a number with a full stop is an ordinal: am 3. Mai
_ORDINAL = frozenset("bs cs da de et eu fi fo hr hu is lb lt lv nb nn no pl sk sl sr tr".split())
_LEAST = 2  # letters of a sentence

# ---- names
# what French and Italian join to a word comes apart
_WORD = re.compile(r"(?:[dlnsmtcj]|qu|[dnsc]?[aeo]ll|un)['’](?=\w)|[^\W_]+(?:[_'’.&-][^\W_]+)*", re.IGNORECASE)
_LINKS = listed(
    "de del della delle dei di da das do dos du des la las le los van von der den ter zu y e et bin ibn al el ben"
)
_NOBLE = listed("von van zu")
_GERMAN = frozenset(["de", "lb"])  # where every noun has a capital, and others link nouns
_NO_NAMES = listed(
    """
    anfang ende mitte januar februar märz april mai juni juli august september oktober november dezember jänner montag
    dienstag mittwoch donnerstag freitag samstag sonntag seite kapitel abschnitt abbildung tabelle teil nummer jahr jahre
    """
)
_HONORIFICS = listed(
    """
    herr frau dr prof professor professorin m mme mlle monsieur madame sr sra srta señor señora don doña sig signor signora
    dhr mevr mevrouw herra fru pan pani г-н г-жа
    """
)
_ARTICLES = listed(
    """
    der die das den dem des ein eine einen einem einer eines dieser diese dieses diesem diesen seine seiner seinem seinen
    seines ihre ihrer ihrem ihren ihres zum zur vom im am beim kein keine unser unsere unserer
    """
)
_QUOTED = re.compile(
    r"«([^«»\n]{2,60})»|„([^„“”\n]{2,60})[“”]|“([^“”\n]{2,60})”|\"([^\"\n]{2,60})\"|『([^『』\n]{1,30})』|《([^《》\n]{1,30})》|「([^「」\n]{1,12})」"
)
_SAID = re.compile(r"[.!?。！？،؛,;:、]")
_MAX_QUOTED_WORDS = 6
# with a middle dot the name of a person; alone, a loan word as often as a name, more seldom the longer it is
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]+(?:[・＝=][\u30a1-\u30fa\u30fc]+)+|[\u30a1-\u30fa\u30fc]{5,}")
# a run of ideographs; what comes again in it and beside it is a term, though no dictionary parts its words
_HAN = re.compile("[\u4e00-\u9fff]+")
_TERM_CHARS, _TERM_TIMES = range(2, 7), 3
# of these a character is a word that joins others, and part of few terms
_HAN_PARTICLES = frozenset(
    "的了在是和与或及把被给对从向由为于以而且也都就还又不没有这那其个们之所将会能可要使让请其每各一二三四五六七八九十两几"
)
_AMONG_OTHERS = re.compile(r"[A-Z][A-Za-z0-9.+-]+(?: [A-Z0-9][A-Za-z0-9.+-]*)*")
_CASED_SCRIPTS = frozenset(["Latin", "Cyrillic", "Greek", "Armenian"])
_CASED = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u0587]")


def in_their_languages(
    chunks: Sequence[ChunkText], english: Callable[[Sequence[ChunkText]], list[Extraction]]
) -> Iterator[Extraction]:
    """Yield the extraction of each chunk, in order: ``english`` reads those in English and of unknown languages."""
    languages = [language_within(chunk.text, code_of(chunk.language)) for chunk in chunks]
    read = iter(english([chunk for chunk, language in zip(chunks, languages, strict=True) if language in _ENGLISH]))
    for chunk, language in zip(chunks, languages, strict=True):
        yield next(read) if language in _ENGLISH else read_foreign(chunk, language)


def read_foreign(chunk: ChunkText, language: str) -> Extraction:
    """Return what a chunk in a language other than English says: a topic a section, a statement a sentence."""
    topics = []
    known = frozenset(names(chunk.said, language))
    for headings, parts in groupby(prose(chunk), key=lambda part: part.headings):
        said = [s for part in parts for s in _statements(chunk, part, language, known)]
        if said:
            topics.append(ExtractedTopic(_title(chunk, headings, said), tuple(said)))
    return with_verbatim(Extraction(tuple(topics)), chunk)


def _title(chunk: ChunkText, headings: Sequence[str], said: Sequence[ExtractedStatement]) -> str:
    """The path of headings, or the title; in a long section with the names met most, or the first words, behind it."""
    path = " > ".join(h for h in headings if h != chunk.title) or chunk.title
    if path and not chunk.long:
        return topic_title(chunk, headings, said)
    named = [name for name, _ in Counter(e.name for s in said for e in s.entities).most_common(_TOPIC_NAMES) if name != path]
    about = ", ".join(named) or said[0].value[:_TOPIC_CHARS].rsplit(" ", 1)[0]
    return f"{path}: {about}" if path else about


def _statements(chunk: ChunkText, part: Block, language: str, known: frozenset[str]) -> Iterator[ExtractedStatement]:
    if part.role == "row":
        value = _one_line(chunk.text[part.start : part.end])
        cells, facts = row_facts(value)
        yield ExtractedStatement(value, part.start, part.end, (), tuple(map(ExtractedEntity, cells)), tuple(facts))
        return
    title = without_brackets(_one_line(chunk.title))
    for start, end in sentences(chunk.text, part.start, part.end, language):
        value = _one_line(chunk.text[start:end])
        found = names(value, language, known)
        if _says(value, title):
            found.insert(0, title)
        entities = {key: ExtractedEntity(name) for name in reversed(found) if (key := entity_key(name))}
        yield ExtractedStatement(value, start, end, (), tuple(reversed(entities.values())))


def _says(sentence: str, title: str) -> bool:
    """Tell whether a sentence holds a title, as whole words where blanks part words."""
    key, said = entity_key(title), entity_key(sentence)
    return bool(key) and (key in said if is_unspaced(key) else f" {key} " in f" {said} ")


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", _WRAP.sub("", encodable(text))).strip()


# ---------------------------------------------------------------- sentences


def sentences(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    """Return the offsets of the sentences of ``text[start:end]``, none longer than a statement may be.

    A full stop ends none after an abbreviation, an initial or, where ordinals are written so, a number of two digits; nor
    before a small letter. Scripts that know no full stop, as Thai, are cut at lines, and where they get too long at blanks.
    """
    marker = _MARKER.match(text, start, end)
    at = marker.end() if marker else start
    found = []
    for stop in _STOP.finditer(text, at, end):
        if _ends(text, at, stop, language):
            found.append((at, stop.end()))
            at = stop.end()
    cut = [piece for a, b in [*found, (at, end)] for piece in pieces(text, a, b)]
    return [(a, b) for a, b in cut if sum(c.isalpha() for c in text[a:b]) >= _LEAST]


def _ends(text: str, start: int, stop: re.Match[str], language: str) -> bool:
    if stop[0][0] in "。！？｡．" and stop[0][-1] in "”’」』":
        return text[stop.end() : stop.end() + 1] in ("", "\n")  # else what was said goes on: 」と言った
    if stop[0][0] not in ".!?…":
        return True
    if text[stop.end() : stop.end() + 2].lstrip("\"'“„«(¿¡")[:1].islower():
        return False
    words = text[max(start, stop.start() - 24) : stop.start()].split()
    if stop[0][0] != "." or not words:
        return bool(words)
    last, number = words[-1].strip("\"'“„«(").casefold(), len(words) > 1 and words[-2][-1:].isdigit()
    if last.isdigit():
        return not (len(last) <= 2 and (language in _ORDINAL or len(words) == 1))
    if len(last) == 1 and last.isalpha() and _CASED.match(last):
        return number  # an initial, or what is shortened; but: in the year 1887 г.
    return last not in _ABBREVIATIONS and not re.search(r"\.\w$", last)


# ---------------------------------------------------------------- names


def names(text: str, language: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Return the names in a text as it writes them, each once: capitalised words, quoted titles, Katakana, and in
    Chinese terms that come again and again.

    A single word that begins a sentence is a name only if it is among the ``known``. In German, where nouns have capitals,
    two words in a row are, and what follows a noun with its article: *der Architekt Hugo Dahl*, *die Stadt Kiel*.
    """
    titles = {m.span(): name for m in _QUOTED.finditer(text) if (name := _title_in(m, text))}
    found = list(titles.values())
    for start, end in titles:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    if language == "ja":
        found += [m.group() for m in _KATAKANA.finditer(text)]
    if language == "zh":
        found += [term for term in known or _recurring(text) if _HAN.fullmatch(term) and term in text]
    if _CASED.search(text):
        cased = script_of(language) in _CASED_SCRIPTS
        runs = _runs(text, language, known) if cased else (m.group() for m in _AMONG_OTHERS.finditer(text))
        found += runs
    return list(dict.fromkeys(found))


def _recurring(text: str) -> list[str]:
    """Return the terms of a Chinese text: two to six ideographs that come three times, each time between others.

    What is always followed or led by the same letter is a part of something longer, which is the term.
    """
    sides: dict[str, list[tuple[str, str]]] = {}
    for run in (m.group() for m in _HAN.finditer(text)):
        for size in _TERM_CHARS:
            for at in range(len(run) - size + 1):
                term = run[at : at + size]
                if not _HAN_PARTICLES & set(term):
                    edge = f" {len(sides)}{at}"  # the end of a run is like no other
                    beside = run[at - 1 : at] or edge, run[at + size : at + size + 1] or f"{edge}."
                    sides.setdefault(term, []).append(beside)
    found = {
        term: len(beside)
        for term, beside in sides.items()
        if len(beside) >= _TERM_TIMES and all(len(set(side)) >= _TERM_TIMES - 1 for side in zip(*beside, strict=True))
    }
    longer = {term: [other for other in found if term in other and other != term] for term in found}
    return [term for term, others in longer.items() if all(found[other] < found[term] for other in others)]


def _title_in(quoted: re.Match[str], text: str) -> str:
    """Return the title in quotation marks; empty for what somebody says, and for words that are none's name."""
    name = quoted[quoted.lastindex or 0].strip()
    after = text[quoted.end() : quoted.end() + 2].lstrip()[:1]
    if _SAID.search(name) or after == "," or len(name.split()) > _MAX_QUOTED_WORDS:
        return ""
    return name if name and (not _CASED.match(name) or name[0].isupper()) else ""


def _runs(text: str, language: str, known: frozenset[str]) -> Iterator[str]:
    """Yield capitalised words in a row, over linking words."""
    words = list(_WORD.finditer(text))
    i = 0
    while i < len(words):
        first = i
        i += 1
        if not words[first][0][0].isupper():
            continue
        while i < len(words) and (step := _joined(text, words, i, _NOBLE if language in _GERMAN else _LINKS)):
            i += step
        opening = _opens(text, words[first].start())
        article = "" if opening or not first else words[first - 1][0].casefold()
        name = _as_name([m[0] for m in words[first:i]], language, article, known, opening=opening)
        if name:
            yield name


def _joined(text: str, words: Sequence[re.Match[str]], i: int, links: frozenset[str]) -> int:
    """Return how many words on the run of capitalised words goes: one, or two and more over words that link; 0: it ends."""
    for step in range(1, 4):
        if i + step > len(words):
            return 0
        before, word = words[i + step - 2][0], words[i + step - 1][0]
        gap = text[words[i + step - 2].end() : words[i + step - 1].start()]
        if gap not in (" ", "\n") and not (gap == ". " and (len(before) == 1 or before.casefold() in _HONORIFICS)):
            return 0
        if word[0].isupper():
            return step
        if word not in links:
            return 0
    return 0


def _opens(text: str, at: int) -> bool:
    """Tell whether a word begins a sentence, a line or a quotation."""
    before = text[:at].rstrip(" \"'“„«([*_¿¡–—-")
    return not before or before[-1] in ".!?…:;\n"


def _as_name(words: list[str], language: str, before: str, known: frozenset[str], *, opening: bool) -> str:
    """Return a run of capitalised words as a name; empty when it is none."""
    german, function = language in _GERMAN, FUNCTION_WORDS.get(language, frozenset())
    while words and (words[0].casefold() in function or words[0].casefold() in _HONORIFICS):
        before, words, opening = words[0].casefold(), words[1:], False
    led = before in _HONORIFICS
    if german and before in _ARTICLES and len(words) > 1 and not _adjective(words):
        words, led = words[1:], True  # without the noun of the article
    while words and words[0] in _LINKS:
        words = words[1:]
    if not words or (german and any(word.casefold() in _NO_NAMES for word in words)):
        return ""
    if opening and " ".join(words[1:]) in known:
        words = words[1:]  # without the word that has its capital from the sentence
    name = " ".join(f"{word}." if len(word) == 1 and word.isupper() else word for word in words)
    if led or len(words) > 1 or all(any(c.isupper() for c in part[1:]) for part in words[0].split("-")):
        return name
    return name if len(name) > 2 and (name in known or not (german or opening)) else ""


def _adjective(words: Sequence[str]) -> bool:
    """Tell whether a German name begins with an adjective: *Technische Universität*, *Hamburger Hafen*."""
    return words[0].endswith(("e", "en")) or (words[0].endswith("er") and len(words) == 2)

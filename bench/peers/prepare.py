"""Make what every system is given: the made corpus, what Lexigraph's local extractor finds in it, and the questions."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.made.corpus import MadeCorpus, make_corpus
from bench.peers.driver import MadeUp
from bench.peers.given import Asked, Document, Fact, Statement, Topic, names_in
from bench.peers.ours import default_settings
from lexigraph.evaluation.corpus import Passage
from lexigraph.evaluation.index import corpus_index
from lexigraph.ingestion.extract.local import LocalExtractor
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedStatement, Extraction


@dataclass(slots=True)
class Recorder:
    """The local extractor; keeps what it found by text."""

    name: str = "recorder-1"
    found: dict[str, Extraction] = field(default_factory=dict)
    _local: LocalExtractor = field(default_factory=LocalExtractor)

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk."""
        for chunk, extraction in zip(chunks, self._local.extract(chunks), strict=True):
            self.found[chunk.text] = extraction
            yield extraction


def prepare(documents: int, questions: int, seed: int) -> tuple[list[Document], list[Asked]]:
    """Return ``documents`` documents and ``questions`` questions of each type; the same for the same arguments.

    Raise ``InvalidInput`` for numbers out of range.
    """
    corpus = make_corpus(documents, seed, questions)
    found = extract(corpus)
    given = [_document(p.id, p.title, p.text, found[p.text]) for p in corpus.passages]
    texts = {document.id: document.text for document in given}
    names = {name for document in given for statement in document.statements for name, _ in statement.entities}
    asked = []
    for q in corpus.questions:
        evidence = tuple(
            (s, *_wordings(s, texts[d], found[texts[d]])) for d, s in zip(q.gold, q.gold_statements, strict=True)
        )
        asked.append(Asked(q.id, q.type, q.question, names_in(q.question, names), evidence))
    return given, asked


def extract(corpus: MadeCorpus) -> dict[str, Extraction]:
    """Return what the local extractor finds in each document, by its text, as in an ingest."""
    recorder = Recorder()
    passages = [Passage(p.id, p.title, p.text) for p in corpus.passages]
    with tempfile.TemporaryDirectory() as name:
        settings = default_settings(Path(name))
        with corpus_index(Path(name) / "index", passages, settings, embedder=MadeUp(), extractor=recorder) as index:
            index.fill()
    return recorder.found


def _document(id_: str, title: str, text: str, extraction: Extraction) -> Document:
    topics = tuple(Topic(t.title, tuple(map(_statement, t.statements))) for t in extraction.topics)
    return Document(id_, title, text, topics, extraction.to_json())


def _statement(said: ExtractedStatement) -> Statement:
    names = {e.name for e in said.entities}
    facts = tuple(Fact(f.subject, f.predicate, f.object, f.object in names) for f in said.facts)
    return Statement(said.value, tuple((e.name, e.class_) for e in said.entities), facts)


def _wordings(sentence: str, text: str, extraction: Extraction) -> tuple[str, ...]:
    """Return the statements that say a sentence of a text, where they say it in other words than the text."""
    start = text.index(sentence)
    end = start + len(sentence)
    holding = [s.value for topic in extraction.topics for s in topic.statements if s.start <= start and end <= s.end]
    return tuple(value for value in holding if sentence not in value)

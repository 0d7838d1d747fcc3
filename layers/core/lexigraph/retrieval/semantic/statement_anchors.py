"""Where semantic-guided search starts: statements like the question, and the entities that it names. One vector call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np

from lexigraph.model.graph import Entity
from lexigraph.model.ids import node_id
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.stages.anchors import Anchors, AskedEntity, Inquiry, Likeness, overlap
from lexigraph.retrieval.stages.ranking import Array, Candidate
from lexigraph.retrieval.stages.text import Name, longest
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import Hit, SearchRequest

_NAMES_PER_KEYWORD = 5
_PARTIAL = 0.5  # an entity that shares only some words with a keyword
_FURTHER = tuple(0.2**at for at in range(12))  # what the best statement of a chunk counts, the second best, ...
_K1, _B = 1.2, 0.75  # of BM25


class StatementLikeness(Likeness):
    """How like the question chunks are: cosines, half of their statements, of which the best counts most, and half of the
    whole chunk, which knows what its statements leave to each other; and BM25.

    BM25 is counted here, over the chunks found: the words of a question are spread over statements, so that no statement's
    own score says how well the chunk answers. A word counts once, so that a chat that repeats a name does not win by it.
    Both are shares of the best chunk's.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry.goals[:1], "statement")
        self.cosines: dict[str, float] = {}
        self.whole: dict[str, float] = {}
        self._cosine: dict[str, float] = {}
        self._of: dict[str, tuple[float, float]] = {}

    def know(self, hits: Iterable[Hit]) -> None:
        """Take in cosines of statements."""
        self.cosines.update([(hit[0], max(0.0, hit[1])) for hit in hits])

    def know_whole(self, hits: Iterable[Hit]) -> None:
        """Take in cosines of chunks."""
        self.whole.update([(hit[0], max(0.0, hit[1])) for hit in hits])

    def measure(
        self, chunks: Mapping[str, Candidate], statements: Mapping[str, Iterable[str]], changed: Iterable[str]
    ) -> None:
        """Compare chunks with the question and each other; of those ``changed`` the cosines of their ``statements`` too."""
        for i in changed:
            best = sorted([self.cosines.get(s, 0.0) for s in statements[i]], reverse=True)
            self._cosine[i] = sum(map(mul, best, _FURTHER))
        by_statement, bm25 = _shares([self._cosine[i] for i in chunks]), _shares(_bm25(list(chunks.values())))
        by_whole = _shares([self.whole.get(i, 0.0) for i in chunks])
        cosine = np.where([i in self.whole for i in chunks], (by_statement + by_whole) / 2, by_statement)
        self._of = dict(zip(chunks, zip(cosine.tolist(), bm25.tolist(), strict=True), strict=True))

    def of(self, chunk_id: str) -> tuple[float, float]:
        """Return cosine and BM25 of a chunk, 0 to 1."""
        return self._of.get(chunk_id, (0.0, 0.0))


def _shares(values: Sequence[float] | Array) -> Array:
    """Return each value as a share of the highest."""
    given = np.asarray(values, np.float64)
    shares: Array = given / (given.max(initial=0.0) or 1.0)
    return shares


def _bm25(chunks: Sequence[Candidate]) -> Array:
    if not chunks:
        return np.zeros(0)
    held, lengths = np.stack([c.held for c in chunks]), np.array([float(len(c.text)) for c in chunks])
    df = held.sum(axis=0)
    idf = np.log(1 + (len(chunks) - df + 0.5) / (df + 0.5))
    long = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0))
    found: Array = held @ idf * (_K1 + 1) / (1 + long)
    return found


@dataclass(slots=True)
class StatementAnchors(Anchors):
    """What the first call found: ``by_vector`` and ``by_words`` are ids of statements, best first."""

    by_vector: tuple[str, ...] = ()
    by_words: tuple[str, ...] = ()


def find_statements(
    stores: BoundStores, inquiry: Inquiry, args: SemanticArgs, *, cosine: bool, keywords: bool
) -> StatementAnchors:
    """Search for statements by vector (``cosine``), by words and by the entities named (``keywords``).

    Without a vector, the search goes by words.
    """
    likeness, vector, names = StatementLikeness(inquiry), inquiry.goals[0].vector, inquiry.names()
    requests: dict[str, SearchRequest] = {}
    id_of: dict[str, str] = {}
    if cosine and vector is not None:
        requests["vector"] = SearchRequest("statement", vector=vector, k=args.cosine_top_k)
    if keywords or vector is None:
        k = args.keyword_top_k if keywords else args.cosine_top_k
        requests["words"] = SearchRequest("statement", text=inquiry.goals[0].words, k=k)
    if keywords:
        id_of = {name.key: node_id("entity", stores.tenant, name.key) for name in names}
        ids = tuple(sorted(id_of.values()))
        requests["names"] = SearchRequest("entity", text=" ".join([inquiry.text, *inquiry.keywords]), ids=ids)
        for word in inquiry.keywords:
            requests[f"near {word}"] = SearchRequest("entity", text=word, k=_NAMES_PER_KEYWORD, prefix=True)
    found = dict(zip(requests, stores.search("anchors", list(requests.values())), strict=True))
    likeness.know(found.get("vector", ()))
    anchors = StatementAnchors(likeness, names)
    anchors.by_vector = tuple(hit.id for hit in found.get("vector", ()))
    anchors.by_words = tuple(hit.id for hit in found.get("words", ()))
    if keywords:
        near = {word: found[f"near {word}"] for word in inquiry.keywords}
        anchors.entities = _entities(names, id_of, found["names"], near)[: args.max_keywords]
    return anchors


def _entities(
    names: Sequence[Name], id_of: Mapping[str, str], exact: Sequence[Hit], near: Mapping[str, Sequence[Hit]]
) -> list[AskedEntity]:
    """Return the entities named in full, those with the rarest words first, then those like a keyword; how many sources name
    them is not known yet.
    """
    of_id = {hit.id: hit for hit in exact}
    asked: dict[str, AskedEntity] = {}
    for name in longest(n for n in names if id_of[n.key] in of_id):
        hit = of_id[id_of[name.key]]
        asked.setdefault(hit.id, AskedEntity(Entity(hit.id, hit.text), 1.0, (name.form,)))
    scores, covered = {hit.id: hit.score for hit in exact}, set(id_of.values())
    for keyword, hits in near.items():
        for hit in hits:
            share = overlap(keyword, hit.text)
            # part of a longer name of the question is not meant, unless it is the keyword itself
            weight = 1.0 if share == 1.0 else 0.0 if hit.id in covered else _PARTIAL * share
            if weight > (asked[hit.id].weight if hit.id in asked else 0.0):
                asked[hit.id] = AskedEntity(Entity(hit.id, hit.text), weight, (keyword,))
    return sorted(asked.values(), key=lambda a: (-round(a.weight, 6), -scores.get(a.entity.id, 0.0), a.entity.id))

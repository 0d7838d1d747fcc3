"""Asks questions about any documents, and says how good what came back is: the texts found, and the answer made of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.answering.response import QueryResponse
from lexigraph.evaluation import answer_words
from lexigraph.evaluation.comparison import Compared, compare
from lexigraph.evaluation.expectations import Expectation
from lexigraph.evaluation.room import Handed, filling, handed_over, within
from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import NotFound
from lexigraph.model.results import Citation

# what is measured of an answer, in the order in which it is shown, and what it means
FIGURES = {
    "first quotation right": "the first quotation says something expected",
    "quotations right": "share of the quotations that say something expected",
    "all expected said": "everything expected is in the answer",
    "from needed files": "share of the quotations that are from a file that is needed",
    "needed files quoted": "share of the files needed that are quoted",
    "answer words quoted": "share of the answer's words in the quotations",
    "quotations that add": "share of the quotations with a word of the answer that none before has; the rest pads",
    "citations right": "share of the quotations that stand at their offsets in the document, spaces aside",
    "unanswerable told": "share of the unanswerable questions that were answered with 'not found'",
    "answerable refused": "share of the answerable questions that were answered with 'not found' (less is better)",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a question brought: the texts handed over, the ``figures`` of its answer that apply, milliseconds."""

    id: str
    handed: tuple[Handed, ...]
    figures: Mapping[str, float]
    milliseconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return a line of a run: ``texts`` best first, for other scorers too."""
        return {"id": self.id, "texts": [handed.text for handed in self.handed], "figures": dict(self.figures)}


def ask(
    index: LexicalGraphIndex,
    name: str,
    questions: Sequence[Expectation],
    *,
    room: int,
    llm: LanguageModel | None = None,
    advance: Callable[[int, int], None] = lambda *_: None,
    **args: Any,
) -> list[Reply]:
    """Ask everything of one retriever, and answer by ``llm``, or by quotations without one.

    ``room`` is how many tokens of texts are kept; ``args`` are parameters of the retriever. Raise ``InvalidInput`` for a
    question that is too long.
    """
    engine = LexicalGraphQueryEngine.for_retriever(
        name,
        index.stores.graph,
        index.stores.vectors,
        embedder=index.models.embedder,
        llm=llm or "none",
        settings=index.settings,
        **{**filling(name, room), **args},
    )
    text_of = _texts(index)
    replies = []
    for done, question in enumerate(questions, 1):
        response = engine.stream(question.text).complete()
        found = tuple(within(handed_over(response.results), room)), judged(question, response, text_of)
        replies.append(Reply(question.id, *found, response.timings["total"]))
        advance(done, len(questions))
    return replies


def judged(question: Expectation, response: QueryResponse, text_of: Callable[[str], str]) -> dict[str, float]:
    """Return those of the ``FIGURES`` that apply to a question and its answer.

    ``text_of`` gives the text of a document by its id. A quotation is right that says one of the expected texts. An
    answerable question that was answered with "not found" has no right quotation.
    """
    quoted = [c for c in response.citations if c.uri]
    found: dict[str, float] = {}
    if quoted:
        found["citations right"] = _share(
            [_spaced(text_of(c.source_id)[c.start : c.end]) == _spaced(c.text) for c in quoted]
        )
    answered = bool(getattr(response, "answerable", True))  # a reply that does not judge itself is an answer
    if question.unanswerable:
        return {**found, "unanswerable told": float(not answered)}
    found["answerable refused"] = float(not answered)
    kept = quoted if answered else []
    said = [c.text for c in kept]
    if question.expected:
        right = [bool(question.said_in([c.text])) for c in kept]
        whole = said if response.extractive else [response.response] * answered
        found["first quotation right"] = float(right[:1] == [True])
        found["all expected said"] = float(question.said_in(whole) == 1.0)
        found |= {"quotations right": _share(right)} if right else {}
    if question.files:
        hits = [{f for f in question.files if is_from(c, f)} for c in kept]
        found["needed files quoted"] = len(set().union(*hits)) / len(set(question.files))
        found |= {"from needed files": _share([bool(hit) for hit in hits])} if hits else {}
    if words := answer_words.sought(question.text, question.answer):
        found["answer words quoted"] = answer_words.recall(words, said)
        found |= {"quotations that add": _share(_adds(words, said))} if said else {}
    return found


def _adds(words: frozenset[str], said: Sequence[str]) -> list[bool]:
    """Tell of each quotation whether it has one of the answer's words that none before it has."""
    new = []
    for text in said:
        rest = words - answer_words.content(text)
        new.append(rest != words)
        words = rest
    return new


def is_from(quoted: Citation, file: str) -> bool:
    """Tell whether a citation is from a document, named by the end of its path or by its id."""
    path = PurePosixPath(unquote(urlsplit(quoted.uri).path))
    ends = PurePosixPath(file).parts
    return file in (quoted.uri, quoted.metadata.get("id")) or path.parts[-len(ends) :] == ends


def found_within(
    questions: Sequence[Expectation], replies: Mapping[str, Sequence[Reply]], budgets: Sequence[int]
) -> dict[str, dict[int, dict[str, Compared]]]:
    """Return what each retriever hands over within each budget, compared, by type: the share of the answer's words of the
    questions that have an ``answer``, and of the expected texts of those that have some.
    """
    measures = {"answer words found": _words_in, "expected texts found": Expectation.said_in}
    found: dict[str, dict[int, dict[str, Compared]]] = {}
    for what, measure in measures.items():
        where = [at for at, question in enumerate(questions) if measure(question, ()) is not None]
        types = [questions[at].type for at in where]
        for budget in budgets if where else ():
            values = {
                name: [measure(questions[at], _texts_within(answered[at], budget)) or 0.0 for at in where]
                for name, answered in replies.items()
            }
            found.setdefault(what, {})[budget] = compare(values, types)
    return found


def answer_figures(
    questions: Sequence[Expectation], replies: Mapping[str, Sequence[Reply]]
) -> dict[str, dict[str, Compared]]:
    """Return each of the ``FIGURES`` that apply anywhere, compared, by type.

    A question counts where it applies to all: quotations that one retriever does not have cannot be compared.
    """
    found = {}
    for figure in FIGURES:
        where = [at for at in range(len(questions)) if all(figure in reply[at].figures for reply in replies.values())]
        if where:
            values = {name: [reply[at].figures[figure] for at in where] for name, reply in replies.items()}
            found[figure] = compare(values, [questions[at].type for at in where])
    return found


def _words_in(question: Expectation, texts: Sequence[str]) -> float | None:
    """Return the share of the answer's words in the texts; None without an answer that says more than the question."""
    words = answer_words.sought(question.text, question.answer)
    return answer_words.recall(words, texts) if words else None


def _texts_within(reply: Reply, budget: int) -> list[str]:
    return [handed.text for handed in within(reply.handed, budget)]


def _texts(index: LexicalGraphIndex) -> Callable[[str], str]:
    """Return what gives the text of a document by its id; the empty text for one that has none."""
    tenant = index.settings.tenant

    @lru_cache(maxsize=64)
    def text_of(source_id: str) -> str:
        try:
            return index.text(index.document(source_id, tenant=tenant), tenant=tenant)
        except NotFound:
            return ""

    return text_of


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)

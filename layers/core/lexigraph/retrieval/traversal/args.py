"""Parameters of traversal-based search: one frozen dataclass, checked in one place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Self

from lexigraph.model.errors import InvalidInput

RERANKERS = ("tfidf", "bedrock", "model", "none")
NO_RERANKER = (None, "none")
# parameters, and others of which one at least must have another value than these for them to have an effect
Needs = tuple[tuple[tuple[str, ...], Mapping[str, tuple[Any, ...]]], ...]


@dataclass(frozen=True, slots=True)
class TraversalArgs:
    """Parameters of ``TraversalBasedRetriever``, and of its searches used alone.

    What belongs to one search can be given only where that search takes part, what ``NEEDS`` names only where that is on.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_search_results`` | results at most, each the statements of one topic of one source. None: all | 20 |
    | ``max_statements_per_topic`` | statements in one result at most. None: all that were found | 10 |
    | ``include_facts`` | put the facts that support a statement into the result, and so into the LLM's context | False |
    | ``expand_entities`` | EntityBasedSearch: also start from entities joined by a fact to those looked up | True |
    | ``max_keywords`` | EntityBasedSearch: keywords looked up at most, synonyms and abbreviations included, and entities \
followed | 10 |
    | ``vss_top_k`` | ChunkBasedSearch: chunks to start from | 10 |
    | ``vss_diversity_factor`` | ChunkBasedSearch: look at ``vss_top_k`` times this many chunks and take the next best of a \
source not seen yet. 0 or None: plain ``vss_top_k`` | 5 |
    | ``derive_subqueries`` | break a question of over 25 characters that needs more than one entity into simpler ones \
(needs an LLM) | False |
    | ``max_subqueries`` | subqueries at most; only with ``derive_subqueries`` | 2 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | statements in all results together at most; only with a reranker. None: all | 100 |
    | ``chunk_weight`` | how much a chunk counts for being like the question (ChunkBasedSearch) | 1.0 |
    | ``entity_weight`` | how much it counts for naming the entities of the question (EntityBasedSearch) | 0.1 |
    | ``bm25_weight`` | BM25's share of likeness, the rest is cosine; chat logs may want more | 0.3 |
    | ``link_rounds`` | hops along links (mentions to what is about them) from the best chunks: 0, 1 or 2 | 2 |
    | ``link_seeds`` | best chunks whose links the first hop follows; each further hop half as many | 5 |
    | ``max_links_per_entity`` | chunks reached through one entity in one hop at most | 7 |
    | ``max_link_df`` | chunks that share an entity are linked when at most so many sources name it | 15 |
    | ``max_statements_per_entity`` | EntityBasedSearch: statements collected for one entity at most | 10 |
    | ``topic_weight`` | how much a chunk counts for its topic being like the question (TopicBeamSearch) | 0.6 |
    | ``topic_top_k`` | TopicBeamSearch: topics to start from, those most like the question | 10 |
    | ``topic_beam_width`` | TopicBeamSearch: further topics reached from these at most | 20 |
    | ``topic_beam_max_depth`` | TopicBeamSearch: steps to further topics (of the same chunk, of the chunk before or after, \
with an entity in common) at most: 0 to 5 | 2 |
    | ``topic_statements`` | TopicBeamSearch: statements collected for one topic at most | 25 |
    | ``diversity`` | what repeats the words already found is worth less by up to this share, 0 to 0.9 | 0.3 |
    """

    max_search_results: int | None = 20
    max_statements_per_topic: int | None = 10
    include_facts: bool = False
    expand_entities: bool = True
    max_keywords: int = 10
    vss_top_k: int = 10
    vss_diversity_factor: int | None = 5
    derive_subqueries: bool = False
    max_subqueries: int = 2
    reranker: str | None = "tfidf"
    max_statements: int | None = 100
    chunk_weight: float = 1.0
    entity_weight: float = 0.1
    bm25_weight: float = 0.3
    link_rounds: int = 2
    link_seeds: int = 5
    max_links_per_entity: int = 7
    max_link_df: int = 15
    max_statements_per_entity: int = 10
    topic_weight: float = 0.6
    topic_top_k: int = 10
    topic_beam_width: int = 20
    topic_beam_max_depth: int = 2
    topic_statements: int = 25
    diversity: float = 0.3

    NEEDS: ClassVar[Needs] = (
        (("max_subqueries",), {"derive_subqueries": (False,)}),
        (("link_seeds", "max_link_df"), {"link_rounds": (0,)}),
        (("max_links_per_entity",), {"link_rounds": (0,), "topic_beam_max_depth": (0,)}),
        (("topic_beam_width",), {"topic_beam_max_depth": (0,)}),
        (("topic_beam_max_depth",), {"topic_beam_width": (0,)}),
    )

    def __post_init__(self) -> None:
        for name, (low, high, optional) in _LIMITS.items():
            check_number(name, getattr(self, name), low, high, optional)
        for name in ("include_facts", "expand_entities", "derive_subqueries"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be true or false, got {getattr(self, name)!r}")
        if self.reranker is not None and self.reranker not in RERANKERS:
            raise InvalidInput(f"reranker must be one of {', '.join(RERANKERS)} or None, got {self.reranker!r}")

    @property
    def reranks(self) -> bool:
        """Whether a reranker takes part; ``max_statements`` applies only then (G-32)."""
        return self.reranker not in NO_RERANKER

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the parameters with these given. Raise ``InvalidInput`` for an unknown name or a value out of range."""
        return cls().changed(given)

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return these parameters with some given otherwise. Raises like :meth:`of`."""
        check_names(given, [f.name for f in fields(self)])
        return replace(self, **given)


def check_names(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise ``InvalidInput`` for a parameter name that is not known, with the nearest and all that are."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidInput(f"unknown parameter {name!r}{hint or '.'} Known: {', '.join(known) or 'none'}")


@dataclass(frozen=True, slots=True)
class Known:
    """The names of parameters that have an effect on a retriever; ``elsewhere``: what others of its kind belong to."""

    names: tuple[str, ...]
    elsewhere: Mapping[str, str]

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise ``InvalidInput`` for a parameter that would have no effect."""
        for name in given:
            if name in self.elsewhere:
                raise InvalidInput(f"{name} belongs to {self.elsewhere[name]}, which takes no part: leave it out")
        check_names(given, self.names)

    def check_partners(self, args: Any, given: Iterable[str]) -> None:
        """Raise ``InvalidInput`` for one of the names ``given`` that has no effect as ``args``, by their ``NEEDS``, are."""
        for names, partners in args.NEEDS:
            values = {p: getattr(args, p) for p in partners if p in self.names}
            if all(value in partners[p] for p, value in values.items()):
                for name in (n for n in given if n in names):
                    off = " and ".join(f"{p}={value!r}" for p, value in values.items())
                    raise InvalidInput(f"{name} has no effect with {off}: leave it out, or change that")


# name: least, most, whether None is allowed
_LIMITS: dict[str, tuple[float, float, bool]] = {
    "max_search_results": (1, 1_000, True),
    "max_statements_per_topic": (1, 1_000, True),
    "max_keywords": (1, 50, False),
    "vss_top_k": (1, 200, False),
    "vss_diversity_factor": (0, 50, True),
    "max_subqueries": (1, 5, False),
    "max_statements": (1, 10_000, True),
    "chunk_weight": (0.0, 10.0, False),
    "entity_weight": (0.0, 10.0, False),
    "bm25_weight": (0.0, 1.0, False),
    "link_rounds": (0, 2, False),
    "link_seeds": (1, 50, False),
    "max_links_per_entity": (1, 100, False),
    "max_link_df": (0, 1_000, False),
    "max_statements_per_entity": (1, 1_000, False),
    "topic_weight": (0.0, 10.0, False),
    "topic_top_k": (1, 200, False),
    "topic_beam_width": (0, 200, False),
    "topic_beam_max_depth": (0, 5, False),
    "topic_statements": (1, 1_000, False),
    "diversity": (0.0, 0.9, False),
}


def check_number(name: str, value: object, low: float, high: float, optional: bool) -> None:
    """Raise ``InvalidInput`` unless the value lies in ``low`` to ``high``, whole when ``low`` is, or is an allowed None."""
    if value is None and optional:
        return
    whole = isinstance(low, int)
    fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not fits or not low <= value <= high:  # type: ignore[operator]  # fits says it is a number
        kind = "a whole number from" if whole else "a number from"
        raise InvalidInput(f"{name} must be {kind} {low:,} to {high:,}{' or None' if optional else ''}, got {value!r}")

"""Parameters of retrieval: how they are checked, in one place, and those that the stages read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_args, get_origin

from lexigraph.model.errors import InvalidInput

RERANKERS = ("tfidf", "bedrock", "model", "none")
NO_RERANKER = (None, "none")
# parameters, and others of which one at least must have another value than these for them to have an effect
Needs = tuple[tuple[tuple[str, ...], Mapping[str, tuple[Any, ...]]], ...]


class Range(NamedTuple):
    """The least and the highest value of a parameter, both allowed; a whole number when ``low`` is one."""

    low: float
    high: float


Share = Annotated[float, Range(0.0, 1.0)]
Weight = Annotated[float, Range(0.0, 10.0)]
RerankerName = Annotated[str | None, RERANKERS]


@dataclass(frozen=True, slots=True)
class Args:
    """Base class of parameters, validated by their annotations: a flag, a ``Range``, or the allowed values."""

    NEEDS: ClassVar[Needs] = ()
    OF_PAGE: ClassVar[Mapping[str, Any]] = {}  # defaults of the reference page, where ours are others

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            kind, *limits = get_args(each.type) if get_origin(each.type) is Annotated else (each.type,)
            if kind is bool and not isinstance(value, bool):
                raise InvalidInput(f"{each.name} must be true or false, got {value!r}")
            for limit in limits:
                _check_limit(each.name, value, limit, optional=NoneType in get_args(kind))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Create parameters from a mapping. Raise ``InvalidInput`` for an unknown name or a value out of range."""
        check_names(given, [f.name for f in fields(cls)])
        return replace(cls(), **given)


@dataclass(frozen=True, slots=True)
class ResultArgs(Args):
    """Parameters of every retriever, which limit the results.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_context_tokens`` | maximum words and punctuation marks in all statements, best first; the first statement is \
never cut. None: no limit | 2000 |
    | ``max_search_results`` | maximum results, each the statements of one topic of one source. None: no limit | None |
    | ``max_statements_per_topic`` | maximum statements per result. None: no limit | None |
    | ``include_facts`` | add the facts that support a statement to the results and to the LLM's context | False |
    """

    max_context_tokens: Annotated[int | None, Range(1, 1_000_000)] = 2_000
    max_search_results: Annotated[int | None, Range(1, 1_000)] = None
    max_statements_per_topic: Annotated[int | None, Range(1, 1_000)] = None
    include_facts: bool = False

    @property
    def most(self) -> int | None:
        """Maximum number of statements in all results; None: no limit."""
        return None


class RankingArgs(ResultArgs):
    """What expansion and ranking read of the parameters of traversal and of semantic-guided search.

    Each declares those that its users can set, in an order of its own; what is set nowhere has the value given here.
    """

    __slots__ = ()

    reranker: str | None = "tfidf"
    max_statements: int | None = None
    chunk_weight: float = 1.0
    entity_weight: float = 0.1
    bm25_weight: float = 0.3
    topic_weight: float = 0.0
    link_seeds: int = 5
    max_links_per_entity: int
    max_link_df: int = 15
    diversity: float = 0.3

    @property
    def reranks(self) -> bool:
        """Whether a reranker takes part."""
        return self.reranker not in NO_RERANKER

    @property
    def most(self) -> int | None:
        """``max_statements``, which applies only with a reranker (G-32)."""
        return self.max_statements if self.reranks else None


@dataclass(frozen=True, slots=True)
class Known:
    """The names of parameters that have an effect on a retriever; ``elsewhere``: what others of its kind belong to.

    One without effect is refused, lest it silently do nothing; not so at one of its ``defaults``, where nobody means it to.
    """

    names: tuple[str, ...]
    elsewhere: Mapping[str, str]
    defaults: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise ``InvalidInput`` for a parameter that would have no effect."""
        for name in given:
            if name in self.elsewhere and given[name] not in self.defaults.get(name, ()):
                raise InvalidInput(f"{name} belongs to {self.elsewhere[name]}, which is not used here: omit it")
        check_names({name: value for name, value in given.items() if name not in self.elsewhere}, self.names)

    def check_partners(self, args: Args, given: Iterable[str]) -> None:
        """Raise ``InvalidInput`` for one of the names ``given`` that has no effect as ``args``, by their ``NEEDS``, are."""
        defaults = defaults_of(type(args))
        meant = [name for name in given if getattr(args, name) not in defaults[name]]
        for names, partners in args.NEEDS:
            values = {p: getattr(args, p) for p in partners if p in self.names}
            if all(value in partners[p] for p, value in values.items()):
                for name in (n for n in meant if n in names):
                    off = " and ".join(f"{p}={value!r}" for p, value in values.items())
                    raise InvalidInput(f"{name} has no effect with {off}: omit it or change the other")


def names_of(args: type[Args]) -> tuple[str, ...]:
    """Return the names of parameters in their order."""
    return tuple(f.name for f in fields(args))


def defaults_of(args: type[Args]) -> dict[str, tuple[Any, ...]]:
    """Return the default of each parameter; where the reference page has another one, both."""
    return {f.name: (f.default, *((args.OF_PAGE[f.name],) if f.name in args.OF_PAGE else ())) for f in fields(args)}


def check_names(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise ``InvalidInput`` for a parameter name that is not known, with the nearest and all that are."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidInput(f"unknown parameter {name!r}{hint or '.'} Known: {', '.join(known) or 'none'}")


def check_number(name: str, value: object, low: float, high: float, *, optional: bool = False) -> None:
    """Raise ``InvalidInput`` unless the value lies in ``low`` to ``high``, whole when ``low`` is, or is an allowed None."""
    if value is None and optional:
        return
    whole = isinstance(low, int)
    fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not fits or not low <= value <= high:  # type: ignore[operator]  # fits says it is a number
        kind = "a whole number from" if whole else "a number from"
        raise InvalidInput(f"{name} must be {kind} {low:,} to {high:,}{' or None' if optional else ''}, got {value!r}")


def _check_limit(name: str, value: object, limit: Range | tuple[str, ...], *, optional: bool) -> None:
    if isinstance(limit, Range):
        check_number(name, value, *limit, optional=optional)
    elif value not in limit and not (value is None and optional):
        raise InvalidInput(f"{name} must be one of {', '.join(limit)}{' or None' if optional else ''}, got {value!r}")

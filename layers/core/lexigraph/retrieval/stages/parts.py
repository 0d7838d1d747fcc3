"""What the searches of both composites have in common: each takes part in one, or is used alone."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

from lexigraph.inference.lazy import Lazy
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.args import Args, Known, names_of


class Search(ABC):
    """A part of a retriever. ``given`` are the parameters it was made with, by the retriever's names for them."""

    NAME: ClassVar[str]
    USES: ClassVar[tuple[str, ...]]  # parameters of the composite without effect where this search takes no part

    def __init__(self, given: Mapping[str, Any], alone: Mapping[str, Any]) -> None:
        self.given = dict(given)
        self._alone = {name: value for name, value in alone.items() if value is not None}
        self._retriever = Lazy(self._made)

    @staticmethod
    @abstractmethod
    def composite() -> Any:
        """Return the type of the retriever that this search is a part of."""

    def inside(self) -> tuple[str, ...]:
        """Return those of ``given`` that can be given inside a composite."""
        return tuple(self.given)

    def check_inside(self) -> None:
        """Raise ``InvalidInput`` for what would have no effect inside a composite."""
        for name in (*self._alone, *self.given):
            if name in self._alone or name not in self.inside():
                raise InvalidInput(f"{self.NAME}: {name} belongs to the retriever around it: give it there")

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements found by this search alone. Raise ``InvalidInput`` when it was made without stores."""
        found: SearchResults = self._retriever().retrieve(tenant, question)
        return found

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    def _made(self) -> Any:
        """Return a composite of this search alone."""
        if not {"graph_store", "vector_store"} <= self._alone.keys():
            raise InvalidInput(f"{self.NAME} was made without stores: give graph_store and vector_store to use it alone")
        return self.composite()(retrievers=[self._bare()], **self._alone, **self.given)

    def _bare(self) -> Self:
        bare = copy(self)
        bare.given, bare._alone = {}, {}
        return bare


S = TypeVar("S", bound=Search)


def as_searches(given: Any, known: Mapping[str, type[S]], default: Sequence[type[S]]) -> list[S]:
    """Return instances for the types, instances or names in ``given``, of the ``default`` for None (G-14, G-18).

    Raise ``InvalidInput`` for anything else, an empty list, or one kind of search given twice.
    """
    kinds: tuple[Any, ...] = tuple(known.values())
    wanted = list(default) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    searches: list[S] = []
    for one in wanted:
        kind = known.get(one) if isinstance(one, str) else one
        search: Any = kind() if isinstance(kind, type) and issubclass(kind, kinds) else kind
        if not isinstance(search, kinds):
            raise InvalidInput(f"retrievers: {one!r:.80} is no search; use types or instances of {', '.join(known)}")
        for other in searches:
            if isinstance(search, type(other)) or isinstance(other, type(search)):
                raise InvalidInput(f"retrievers: {other.NAME} and {search.NAME} are one search: give it once")
        search.check_inside()
        searches.append(search)
    if not searches:
        raise InvalidInput(f"retrievers: give at least one of {', '.join(known)}")
    return searches


def known_parameters(args: type[Args], every: Iterable[type[Search]], used: Iterable[type[Search]]) -> Known:
    """Return the parameters in the dataclass ``args`` that have an effect when of ``every`` search some are ``used``."""
    effective = {name for search in used for name in search.USES}
    elsewhere = {name: s.NAME for s in reversed(list(every)) for name in s.USES if name not in effective}
    return Known(tuple(name for name in names_of(args) if name not in elsewhere), elsewhere)

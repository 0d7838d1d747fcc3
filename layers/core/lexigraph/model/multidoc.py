"""What a question finds in several documents: articles, their sections, and the facts in these."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.model.results import Notice


@dataclass(frozen=True, slots=True)
class MultidocContext:
    """Sections of several articles, best article first.

    ``articles``, ``sections`` and ``facts`` are plain data as in :meth:`to_dict`; ``fact_support[i]`` is the number of
    sections that state ``facts[i]``. ``best_relevance`` is that of the best section there is, returned or not; None when
    there is none. ``timings`` are milliseconds by step, ``calls`` store calls by store.
    """

    question: str
    articles: tuple[Mapping[str, Any], ...] = ()
    sections: tuple[Mapping[str, Any], ...] = ()
    facts: tuple[str, ...] = ()
    fact_support: tuple[int, ...] = ()
    best_relevance: float | None = None
    warnings: tuple[Notice, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        """The titles of the articles, each once, in rank order."""
        return [article["title"] for article in self.articles]

    def to_dict(self) -> dict[str, Any]:
        """Return the reference page's fields (articles, sections, sources, facts), and what else is known."""
        return {
            "articles": [dict(article) for article in self.articles],
            "sections": [dict(section) for section in self.sections],
            "sources": self.sources,
            "facts": list(self.facts),
            "fact_support": list(self.fact_support),
            "best_relevance": self.best_relevance,
            "warnings": [asdict(w) for w in self.warnings],
        }

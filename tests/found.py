"""What tests look at in the results of a search."""

from lexigraph.model.results import ScoredStatement, SearchResults


def best(results: SearchResults) -> list[ScoredStatement]:
    """Return the statements over all results, best first."""
    return sorted(results.statements, key=lambda s: (-s.score, s.id))


def texts(results: SearchResults) -> list[str]:
    """Return the statements' texts, result by result."""
    return [s.text for s in results.statements]


def titles(results: SearchResults) -> list[str]:
    """Return the titles of the sources, each once."""
    return list(dict.fromkeys(r.source.title for r in results.results))

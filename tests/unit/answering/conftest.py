"""Search results written by hand, for what answers are made of."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from lexigraph.model.graph import Source
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults

Results = Callable[..., SearchResults]


@pytest.fixture
def results() -> Results:
    """Results of one statement each: (uri, text, score, names of the path...); the title is the uri's stem in capitals."""

    def made(
        *rows: tuple, entities: Sequence[str] = (), cosines: Mapping[int, float] | None = None, embedding: str = ""
    ) -> SearchResults:
        groups = []
        for at, (uri, text, score, *path) in enumerate(rows):
            source = Source(f"source:{uri}", uri, title=uri.split(".")[0].replace("-", " ").title())
            place = (f"chunk:{at}", 100 * at, 100 * at + len(text))
            statement = ScoredStatement(f"statement:{at}", text, score, "chunk", *place, (), tuple(path))
            groups.append(SearchResult(source, "", (statement,), score))
        likeness = {f"chunk:{at}": value for at, value in (cosines or {}).items()}
        return SearchResults(
            "",
            tuple(groups),
            tuple(entities),
            cosines=likeness,
            nearest=max(likeness.values(), default=None),
            embedding=embedding,
        )

    return made

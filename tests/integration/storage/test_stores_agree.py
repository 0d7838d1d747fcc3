"""Over Neptune, OpenSearch and DynamoDB a question gets what it gets over SQLite, in no more requests than planned."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.stores import BUDGETS, Corpus, Row, Sides, ask, both_sides, demo, made

MAIN = ("traversal", "semantic-guided", "hybrid", "multihop", "recall", "multidoc", "fused")
AT_NIGHT = ("traversal", "semantic-guided")
QUESTIONS, OF_VARIANTS, SAME_CANDIDATES, ALL = 12, 10, 6, 500
RUNS = [pytest.param(n, marks=pytest.mark.nightly if n in AT_NIGHT else pytest.mark.soak) for n in BUDGETS]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> list[Corpus]:
    return [demo(), made(tmp_path_factory.mktemp("made"), QUESTIONS, documents=60)]


@pytest.fixture(scope="module")
def sides(corpora: list[Corpus], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    with both_sides(tmp_path_factory.mktemp("sides"), corpora) as opened:
        yield opened


@pytest.mark.nightly
@pytest.mark.parametrize("name", BUDGETS)
def test_the_same_candidates_give_the_same_results(sides: Sides, corpora: list[Corpus], name: str) -> None:
    of_neptune = replace(sides.aws, vectors=sides.sqlite.vectors)
    for corpus in corpora:
        for asked in corpus.questions[:SAME_CANDIDATES]:
            found = [ask(s, name, corpus.tenant, asked.question, "same").whole for s in (of_neptune, sides.sqlite)]
            assert found[0] == found[1]


@pytest.mark.parametrize("name", RUNS)
def test_end_to_end_nearly_all_is_the_same_within_the_budget(sides: Sides, corpora: list[Corpus], name: str) -> None:
    for corpus in corpora:
        few = replace(corpus, questions=corpus.questions[: None if name in MAIN else OF_VARIANTS])
        check(sides.compare(few, name))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sides, list[Corpus]]]:
    folder = tmp_path_factory.mktemp("many")
    corpora = [demo(), made(folder, ALL)]
    with both_sides(folder, corpora) as sides:
        yield sides, corpora


@pytest.mark.soak
@pytest.mark.parametrize("name", BUDGETS)
def test_end_to_end_500_questions_find_nearly_the_same(many: tuple[Sides, list[Corpus]], name: str) -> None:
    sides, corpora = many
    for corpus in corpora:
        check(sides.compare(corpus, name))


def check(row: Row) -> None:
    assert row.good, row
    assert row.called["vector"] >= 1 and row.called["graph"] >= 1
    # a call of the store is one request, none more
    assert all(row.most[store] == row.called[store] for store in row.called), row

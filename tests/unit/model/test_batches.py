"""Many values a few at a time: so many, or as many as together are not too large."""

import pytest

from lexigraph.model.batches import batched, packed


@pytest.mark.parametrize(("values", "batches"), [("", []), ("abcde", ["ab", "cd", "e"]), ("abcd", ["ab", "cd"])])
def test_values_come_so_many_at_a_time_and_none_is_left_out(values: str, batches: list[str]) -> None:
    assert list(batched(iter(values), 2)) == [list(batch) for batch in batches]


@pytest.mark.parametrize(
    ("most", "batches"), [(None, [["aa", "b"], ["cccc"], ["d", "e", "f"]]), (2, [["aa", "b"], ["cccc"], ["d", "e"], ["f"]])]
)
def test_what_is_too_large_by_itself_comes_alone_and_nothing_else_is_beside_too_much(
    most: int | None, batches: list[list[str]]
) -> None:
    assert list(packed(["aa", "b", "cccc", "d", "e", "f"], len, 3, most)) == batches

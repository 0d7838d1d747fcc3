"""The public API is the one that is kept: a change of it is made on purpose, and stands in the changelog."""

from tests.public_api import KEPT, public_api


def test_names_and_commands_are_those_that_are_kept() -> None:
    assert public_api() == KEPT.read_text(encoding="utf-8"), "say it in CHANGELOG.md, then: python -m tests.public_api"

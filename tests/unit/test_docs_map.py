"""The pages that show the way in name what is there, and their picture is that of the imports."""

import re

import pytest

from tests.architecture import KEPT, picture
from tests.imports import PACKAGE, ROOT

HOMES = {  # of the paths that a page names
    "CONTRIBUTING.md": ("", "tests", "layers/core", PACKAGE, PACKAGE / "api", PACKAGE / "ingestion", PACKAGE / "retrieval"),
    "docs/architecture.md": ("", PACKAGE),
}


@pytest.mark.slow
def test_the_picture_is_that_of_the_imports() -> None:
    assert picture() == KEPT.read_text(encoding="utf-8"), "draw it anew: make architecture"


@pytest.mark.parametrize("page", HOMES)
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`([\w./-]+/[\w.-]*|\w+\.(?:py|md|toml))`", (ROOT / page).read_text(encoding="utf-8"))
    paths = {name for name in named if "NAME" not in name and not name.startswith(".build/")}
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not any((ROOT / home / path).exists() for home in HOMES[page])] == []

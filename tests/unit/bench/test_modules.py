"""Scripts of ``bench/`` are run by hand: what they import has to be there all the same."""

from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "bench"


@pytest.mark.parametrize("module", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_a_script_finds_what_it_imports(module: str) -> None:
    import_module(f"bench.{module}")

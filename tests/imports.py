"""Which module imports which: read from the sources, imports inside functions and for types included."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "layers" / "core" / "lexigraph"


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    base = PACKAGE.parent if path.is_relative_to(PACKAGE) else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            # of a package its modules, else what the package itself holds
            found |= {name if name in known else node.module for name in inside}
    return (found & known) - {name_of(path)}


@cache
def imported() -> dict[str, set[str]]:
    """Return which of our modules each of them imports."""
    files = [path for folder in (PACKAGE, ROOT / "functions", ROOT / "infra") for path in sorted(folder.rglob("*.py"))]
    known = {name_of(path) for path in files}
    return {name_of(path): _imported(path, known) for path in files}

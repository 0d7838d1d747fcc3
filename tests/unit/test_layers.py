"""The house rules that a test can keep: one-way dependencies and light imports."""

import re
import subprocess
import sys
from dataclasses import fields
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from lexigraph.cli.group import MODULES
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.traversal.args import TraversalArgs
from tests.imports import PACKAGE, imported, name_of

MAY_IMPORT = {
    "model": {"model"},
    "settings": {"model", "settings"},
    "retry": {"model", "retry"},
    "telemetry": {"model", "settings", "telemetry"},
    "aws": {"model", "aws"},
    "client": {"model", "client"},
    "storage": {"model", "settings", "telemetry", "retry", "aws", "storage"},
    "inference": {"model", "settings", "telemetry", "retry", "aws", "inference"},
    "ingestion": {"model", "settings", "telemetry", "storage", "inference", "ingestion"},
    "retrieval": {"model", "settings", "telemetry", "storage", "inference", "retrieval"},
    "answering": {"model", "settings", "telemetry", "storage", "inference", "retrieval", "answering"},
    "integrations": {"model", "ingestion", "answering", "client", "integrations"},
    "exchange": {"model", "settings", "storage", "ingestion", "exchange"},
    "evaluation": {
        "model",
        "settings",
        "telemetry",
        "storage",
        "inference",
        "ingestion",
        "retrieval",
        "answering",
        "evaluation",
    },
    "api": {"model", "settings", "telemetry", "storage", "inference", "ingestion", "retrieval", "answering", "api"},
    "cli": {
        "exchange",
        "model",
        "settings",
        "storage",
        "inference",
        "ingestion",
        "retrieval",
        "answering",
        "evaluation",
        "api",
        "cli",
    },
}
HEAVY = (
    "llama_index",
    "spacy",
    "onnxruntime",
    "tokenizers",
    "pandas",
    "sklearn",
    "boto3",
    "opentelemetry",
    "lxml",
    "pypdf",
    "docx",
    "openpyxl",
)


# the back ends of storage, and which others each may import: Neptune asks SQLite's queries over an excerpt of the graph
BACK_ENDS: dict[str, set[str]] = {
    "sqlite": set(),
    "files": set(),
    "s3": set(),
    "dynamodb": set(),
    "opensearch": set(),
    "neptune": {"sqlite"},
}


def imports(path: Path, *within: str) -> set[str]:
    """Return the layers that a file imports; ``within`` a folder, the folders and modules of that instead."""
    parts = [module.split(".")[1:] for module in imported()[name_of(path)]]
    depth = len(within)
    return {part[depth] for part in parts if len(part) > depth and part[:depth] == [*within]}


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_back_ends_of_storage_do_not_know_each_other(back_end: str) -> None:
    others = BACK_ENDS.keys() - BACK_ENDS[back_end] - {back_end}
    files = sorted((PACKAGE / "storage" / back_end).rglob("*.py"))
    assert files
    assert {str(f.relative_to(PACKAGE)): known for f in files if (known := imports(f, "storage") & others)} == {}


def test_every_back_end_has_its_rule() -> None:
    folders = {f.name for f in (PACKAGE / "storage").iterdir() if (f / "__init__.py").exists()}
    assert folders - {"common", "protocols"} == BACK_ENDS.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = TopologicalSorter({module: known & imported().keys() for module, known in imported().items()})
    order.prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_nothing_imports_upwards(layer: str) -> None:
    files = sorted((PACKAGE / layer).rglob("*.py")) or [PACKAGE / f"{layer}.py"]
    upwards = {str(f.relative_to(PACKAGE)): sorted(imports(f) - MAY_IMPORT[layer]) for f in files}
    assert {name: found for name, found in upwards.items() if found} == {}


def test_stages_know_no_way_of_retrieving_and_ways_no_other_way() -> None:
    folder = PACKAGE / "retrieval"
    ways = {path.stem for path in folder.iterdir() if path.is_dir() or path.name == "baseline.py"} - {"__pycache__"}
    assert ways > {"stages", "baseline", "traversal", "recall"}
    crossing = {}
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        named = set(re.findall(r"(?:from|import) lexigraph\.retrieval\b\.?(\w*)", path.read_text(encoding="utf-8")))
        # the package itself and its catalogue, which know every way, are no ways
        if own in ways and named - {own, "stages"}:
            crossing[str(path.relative_to(folder))] = named - {own, "stages"}
    assert crossing == {}


@pytest.mark.parametrize(
    "module",
    [
        "lexigraph",
        "lexigraph.retrieval.traversal.retriever",
        "lexigraph.answering.query_engine",
        "lexigraph.storage.factory",
        "lexigraph.inference.factory",
        "lexigraph.ingestion.pipeline",
        "lexigraph.retrieval.catalogue",
        "lexigraph.evaluation.index",
        "lexigraph.evaluation.quality",
        "lexigraph.client",
        *sorted({f"lexigraph.cli.{where.rpartition('.')[0]}" for where in MODULES.values()}),
    ],
)
def test_importing_a_module_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == ""


def test_a_command_loads_no_other_command() -> None:
    code = (
        "import atexit, sys, lexigraph.cli.main as m; atexit.register(lambda: print(*sys.modules)); m.app(['query', '-h'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = {*done.stdout.split()}
    assert "lexigraph.cli.ask" in loaded
    assert not loaded & {f"lexigraph.cli.{name}" for name in ("bench", "doctor", "exchange", "ingest", "serve")}


def test_importing_the_package_loads_only_its_own_front_door() -> None:
    code = "import sys, lexigraph; print(*[m for m in sys.modules if m.startswith(('lexigraph', 'numpy', 'pydantic'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["lexigraph"]


def test_the_docs_name_every_retrieval_parameter_with_its_default() -> None:
    text = (PACKAGE.parents[2] / "docs" / "retrieval.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (\S+) \|$", text, re.MULTILINE))
    assert rows == {f.name: str(f.default) for kind in (TraversalArgs, SemanticArgs) for f in fields(kind)}


def test_every_python_that_is_started_passes_over_the_current_folder() -> None:
    # else a file there that is named as a module is run for it
    started = re.compile(r'sys\.executable, ("[^"]*")')
    found = [option for path in PACKAGE.rglob("*.py") for option in started.findall(path.read_text(encoding="utf-8"))]
    assert found == ['"-P"'] * 4

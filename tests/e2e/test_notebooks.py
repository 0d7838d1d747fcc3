"""The notebooks of examples/ run from the first cell to the last, in a folder as a reader has it."""

import json
from pathlib import Path

import pytest

from tests.imports import ROOT
from tests.standins.llm_server import ScriptedLLMServer

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_notebooks_are_kept_without_outputs() -> None:
    cells = [cell for path in NOTEBOOKS for cell in json.loads(path.read_text("utf-8"))["cells"]]
    assert len(NOTEBOOKS) == 3
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the packages of the documentation: make docs")
    from nbclient import NotebookClient

    (tmp_path / "docs").symlink_to(ROOT / "examples" / "corpus")
    monkeypatch.setenv("PATH", f"{ROOT / '.venv' / 'bin'}:/usr/bin:/bin")
    with ScriptedLLMServer("The leader of the Heron Team is Ines Calloway [S1].") as server:
        monkeypatch.setenv("LEXIGRAPH_LLM", "openai:scripted" if path.stem == "language_model" else "none")
        monkeypatch.setenv("LEXIGRAPH_LLM_OPTIONS", json.dumps({"base_url": server.base_url}))
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    told = "\n".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", ()))
    assert {"first_answer": "Ines Calloway", "evaluate": "traversal", "language_model": "S1"}[path.stem] in told

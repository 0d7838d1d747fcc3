"""Making the application is light: a function in the cloud pays for it at every cold start."""

import subprocess
import sys

import pytest

HEAVY = (
    *("llama_index", "spacy", "onnxruntime", "tokenizers", "mcp", "boto3", "botocore", "pandas", "uvicorn"),
    *("sklearn", "sentence_transformers", "re2", "pypdf", "docx", "openpyxl", "lxml", "typer", "rich", "httpx"),
)
CODE = f"""
import sys
from lexigraph.api.app import create_app
create_app()
print(*sorted({{name.split(".")[0] for name in sys.modules}} & set({HEAVY!r})))
"""


@pytest.mark.slow
def test_making_the_application_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == []


def test_importing_the_application_loads_few_modules() -> None:
    # 677 of them; what they take depends on the machine: `python -m bench.api_import` measures it
    code = "import sys, lexigraph.api.app; print(len(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120)
    assert int(done.stdout) <= 700

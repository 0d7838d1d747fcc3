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


def test_making_the_application_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == []


@pytest.mark.slow
def test_importing_the_application_takes_at_most_a_second_of_processor_time() -> None:
    code = "import time, lexigraph.api.app; print(time.process_time())"  # with what the interpreter itself takes to start
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120) for _ in range(3))
    assert min(float(done.stdout) for done in runs) <= 1.0

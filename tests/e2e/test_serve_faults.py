"""``lexigraph serve`` when something is wrong: what it says at the start, and that it ends when it is told to."""

import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.e2e.commandline import here
from tests.e2e.test_serve import serving

# less than a model that hangs is waited for
SECONDS = 15.0
ASKED = {"question": "Who leads the Heron Team?", "context": ["The Heron Team is led by Ines Calloway."]}


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A model's server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SECONDS)
        yield listener


def test_a_store_that_cannot_be_opened_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "registry.sqlite").write_bytes(b"no database " * 1_000)
    refused = here("serve", "--open", "--port", "0", "--data", tmp_path)
    assert refused.code == 5
    assert "registry.sqlite" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_server_whose_model_hangs_ends_when_it_is_interrupted(tmp_path: Path, silent: socket.socket, stream: bool) -> None:
    address = f'{{"base_url": "http://127.0.0.1:{silent.getsockname()[1]}/v1"}}'
    with serving(tmp_path, LEXIGRAPH_LLM="openai:test", LEXIGRAPH_LLM_OPTIONS=address) as server:
        url, told = server.url, list[str]()

        def ask() -> None:
            try:
                told.append(httpx.post(f"{url}/query", json={**ASKED, "stream": stream}, timeout=60, verify=False).text)
            except httpx.TransportError as error:
                told.append(type(error).__name__)

        client = Thread(target=ask)
        client.start()
        model, _ = silent.accept()  # the model is being asked
        with model:
            began = time.monotonic()
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(SECONDS) in (0, 130), f"not at its end after {time.monotonic() - began:.0f} s"
            client.join(SECONDS)
            assert "the server is ending" in "".join(told)
            assert server.process.stderr
            assert "Traceback" not in server.process.stderr.read()


@pytest.mark.nightly
def test_half_requests_do_not_stop_a_server_and_it_logs_none_of_them(tmp_path: Path) -> None:
    half = b"POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n"
    with serving(tmp_path, workers=1) as server, ExitStack() as held:
        host, port = server.url.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port)), timeout=SECONDS) for _ in range(600)]
        for number, connection in enumerate(slow):
            held.enter_context(connection).sendall(half + b"\r\n{" * (number % 2))
        assert [httpx.get(f"{server.url}/health", timeout=SECONDS, verify=False).status_code for _ in range(5)] == [200] * 5
        ready = select.poll()
        for connection in slow:
            ready.register(connection, select.POLLIN)
        assert len(ready.poll(0)) >= 350, "at most 250 of one address are kept"
        server.process.send_signal(signal.SIGINT)
        _, told = server.process.communicate(timeout=SECONDS)
    assert "Traceback" not in told
    assert len(told.splitlines()) < 10

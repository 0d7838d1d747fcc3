"""A line to a model that is hung up from another thread ends what is read over it, whatever the model does meanwhile."""

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from lexigraph.inference.bedrock import BedrockLLM
from lexigraph.inference.bedrock_client import BedrockClient
from lexigraph.inference.line import HungUp, Line, asking_over, hung_up, still_wanted
from lexigraph.inference.llama_index import LlamaIndexLLM
from lexigraph.inference.openai_compatible import OpenAICompatible, Server
from lexigraph.inference.protocols import LanguageModel, Prompt
from lexigraph.model.errors import ModelUnavailable
from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.bedrock_server import _frame
from tests.standins.loopback import LoopbackServer

SECONDS = 20.0
START = _frame("messageStart", {"role": "assistant"})
WORD = _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Well"}})


class Waiting(LoopbackServer):
    """Answers with the beginning of a reply, if any, and then says nothing until the asker hangs up."""

    def __init__(self, begins: bytes, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.begins, self.asked, self.left = begins, Event(), Event()
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
            self.url = f"https://127.0.0.1:{self.port}"

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        self.record(request, {})
        if self.begins:
            request.send_response(200)
            request.send_header("Content-Type", "application/vnd.amazon.eventstream")
            request.send_header("Transfer-Encoding", "chunked")
            request.end_headers()
            request.wfile.write(b"%x\r\n%s\r\n" % (len(self.begins), self.begins))
        self.asked.set()
        request.connection.settimeout(60)
        if not request.connection.recv(1):
            self.left.set()
        request.close_connection = True


def openai(url: str) -> LanguageModel:
    return OpenAICompatible("any", Server(f"{url}/v1"), timeout=100)


def bedrock(url: str) -> LanguageModel:
    client = BedrockClient("test.model-v1:0", "LEXIGRAPH_LLM", region=REGION, timeout=100, endpoint_url=url)
    return BedrockLLM("test.model-v1:0", client)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate that clients trust for the time of a test."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, secret = serialization.Encoding.PEM, serialization.NoEncryption()
    certificate, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(made.public_bytes(pem))
    private.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, secret))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    return context


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def check(model: LanguageModel, server: Waiting) -> None:
    """Hang up on a model that is silent, and find that its reader is told, and the model too."""
    line = Line()

    def read() -> list[str]:
        with asking_over(line):
            return list(model.stream(Prompt("Who?")))

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        assert server.asked.wait(SECONDS)
        assert not reading.done()
        line.hang_up()
        with pytest.raises(ModelUnavailable):
            reading.result(SECONDS)
    assert server.left.wait(SECONDS)
    assert len(server.requests) == 1, "it is not asked again"


def test_a_silent_server_is_hung_up_on(tmp_path: Path) -> None:
    with Waiting(b"") as server:
        check(openai(server.url), server)


def test_so_is_one_behind_tls(tls: ssl.SSLContext) -> None:
    with Waiting(b": one moment\n\n", tls) as server:
        check(openai(server.url), server)


@pytest.mark.slow
@pytest.mark.parametrize("begins", [START, START + WORD])
def test_so_is_bedrock_once_its_reply_has_begun(begins: bytes) -> None:
    with Waiting(begins) as server:
        check(bedrock(server.url), server)


@pytest.mark.slow
@pytest.mark.parametrize("model", [openai, bedrock])
def test_nobody_is_asked_over_a_line_that_was_hung_up(model: Callable[[str], LanguageModel]) -> None:
    line = Line()
    line.hang_up()
    with Waiting(b"") as server, asking_over(line):
        with pytest.raises(HungUp):
            list(model(server.url).stream(Prompt("Who?")))
        assert server.requests == []


def test_a_line_is_that_of_those_who_ask_over_it() -> None:
    line = Line()
    line.hang_up()
    with asking_over(line):
        assert hung_up()
        with asking_over(Line()):
            still_wanted()
        with pytest.raises(HungUp):
            still_wanted()
    still_wanted()


@pytest.mark.slow
def test_a_model_of_llama_index_that_sends_no_text_is_left_with_its_next_piece() -> None:
    line, left = Line(), Event()

    class Thinking:
        """Sends pieces without a word, as models do that think first."""

        def stream_chat(self, _: object, **__: object) -> Iterator[SimpleNamespace]:
            try:
                for number in range(10_000):
                    if number == 100:
                        line.hang_up()
                    yield SimpleNamespace(delta="")
            finally:
                left.set()

    with asking_over(line), pytest.raises(HungUp):
        list(LlamaIndexLLM(Thinking()).stream(Prompt("Who?")))
    assert left.wait(SECONDS)

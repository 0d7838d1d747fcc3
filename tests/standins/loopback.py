"""A real HTTP server on 127.0.0.1 and a free port, in a thread, for the time of a ``with`` block."""

import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self


class LoopbackServer:
    """Base of the stand-ins. ``requests`` are the bodies received, in order; ``errors`` what a script raised.

    The first of ``errors`` is raised at the end of the block, so that an assertion inside a script fails the test.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.errors: list[BaseException] = []
        self._lock = Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle(self) -> None:
                with suppress(BrokenPipeError, ConnectionResetError):  # a client that hangs up between two requests
                    super().handle()

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # the client died while it sent
                    self.close_connection = True
                    return
                try:
                    server.answer(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                except Exception as error:  # noqa: BLE001  # raised again at the end of the block
                    server.errors.append(error)
                    self.close_connection = True

            def do_GET(self) -> None:
                self.do_POST()

            def do_PUT(self) -> None:
                self.do_POST()

            def do_DELETE(self) -> None:
                self.do_POST()

            def do_HEAD(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                """Keep the test output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request; a stand-in says how."""
        raise AssertionError(f"no answer for {request.path}")

    def record(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Keep what was asked."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(dict(request.headers.items()))

    def __enter__(self) -> Self:
        self._ended = False
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def _serve(self) -> None:
        while not self._ended:  # unlike serve_forever it sleeps until somebody calls
            self._server.handle_request()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended = True
        socket.create_connection(("127.0.0.1", self.port), timeout=30).close()
        self._thread.join(30)
        self._server.server_close()
        if self.errors and kind is None:
            raise self.errors[0]


def send(request: BaseHTTPRequestHandler, status: int, body: bytes, content_type: str, **headers: str) -> None:
    """Send a whole response."""
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


def hang_up(request: BaseHTTPRequestHandler) -> None:
    """Close the connection without another byte."""
    request.close_connection = True
    request.connection.close()

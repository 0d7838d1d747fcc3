"""The layers: small enough, the same each time, and with compiled modules for what a first answer loads."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from functions.invoke import EVENTS
from infra.layers import MAX_CORE_MB, MAX_FUNCTION_MB, ROOT, Layer, _build, core_of_host, layers
from infra.settings import PROFILES
from lexigraph.api.explorer import PAGE
from tests.infra.conftest import ON_AWS
from tests.standins.deployment import aws_deployment

pytestmark = pytest.mark.nightly
# a function of the layer alone; it prints the files of the modules that a first call has loaded
FIRST = """
import json, sys
sys.path[:0] = sys.argv[1:3]
sys.dont_write_bytecode = True
from importlib import import_module
name, event = sys.argv[3], json.load(sys.stdin)
made = import_module(f"functions.{name}.handler")
if event:
    from functions.invoke import invoke
    invoke(name, event)
else:
    import asyncio, uvicorn
    uvicorn.Config(made.create_app(made.settings())).load()
print(json.dumps([m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)]))
"""


@pytest.fixture(scope="module")
def core() -> Layer:
    return core_of_host()


@pytest.mark.parametrize("profile", ON_AWS)
def test_layers_leave_room_for_the_code_of_every_function(profile: str) -> None:
    sizes = {name: layer.megabytes for name, layer in layers(PROFILES[profile]).items()}  # type: ignore[index]
    assert sizes.keys() == {"core", "parsers"}
    assert sizes["core"] <= MAX_CORE_MB == 110
    assert sum(sizes.values()) <= MAX_FUNCTION_MB == 250


@pytest.mark.soak
def test_a_second_build_of_a_layer_is_identical(core: Layer, tmp_path: Path) -> None:
    again = core_of_host(tmp_path)
    assert again.folder.name == core.folder.name
    assert _content(again.folder) == _content(core.folder)


def test_a_build_removes_what_it_takes_the_place_of_and_nothing_that_somebody_uses(tmp_path: Path) -> None:
    ages = {"core-host-old": 7_200, "core-host-just-used": 60, "core-3.13-old": 7_200, "parsers-3.13-old": 7_200}
    for name, age in ages.items():
        (tmp_path / name / "python").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - age,) * 2)

    made = [_build("core", "host", None, built=tmp_path).folder.name for _ in range(2)]

    assert made[0] == made[1]
    assert {path.name for path in tmp_path.iterdir()} == {*ages, made[0]} - {"core-host-old"}


@pytest.mark.parametrize("name", ["authorize", "query", "stream"])
def test_what_a_function_loads_until_its_first_answer_is_compiled(core: Layer, tmp_path: Path, name: str) -> None:
    assert core.compiled.startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    payload = {"authorize": "authorize", "query": "query.query"}.get(name)
    event = json.loads((EVENTS / f"{payload}.json").read_text()) if payload else None
    layer = core.folder / "python"
    shutil.copytree(ROOT / "functions", tmp_path / "functions")
    command = [sys.executable, "-I", "-S", "-c", FIRST, str(tmp_path), str(layer), name]
    source = {"stream": "adapter"}.get(name, "gateway")
    with aws_deployment(LEXIGRAPH_API_AUTH=source, POWERTOOLS_LOG_LEVEL="CRITICAL") as environment:
        done = subprocess.run(
            command,
            input=json.dumps(event),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={**os.environ, **environment, "POWERTOOLS_TRACE_DISABLED": "true"},
        )
    assert done.returncode == 0, done.stderr[-3_000:]
    loaded = [Path(file) for file in json.loads(done.stdout.splitlines()[-1])]
    modules = [file for file in loaded if file.is_relative_to(layer) and file.suffix == ".py"]
    assert len(modules) > 300
    tag = sys.implementation.cache_tag
    assert [m for m in modules if not (m.parent / "__pycache__" / f"{m.stem}.{tag}.pyc").exists()] == []


def test_the_layer_of_every_profile_brings_the_explorer_as_it_was_built(core: Layer, tmp_path: Path) -> None:
    built = _built_page()
    for layer in (core, _build("core", "host", None, built=tmp_path)):
        assert _content(layer.folder / "python" / "lexigraph" / "api" / "page") == built
        assert not any("explorer" in told for told in layer.lacks())


def test_what_a_core_layer_has_to_do_without_is_said(tmp_path: Path) -> None:
    explorer, compiled = Layer(tmp_path).lacks()
    assert "make web" in explorer
    assert "no Python 3.13 here" in compiled
    assert list(Layer(tmp_path, "3.13.1").lacks()) == [explorer]


def test_a_wheel_brings_the_explorer_as_it_was_built(tmp_path: Path) -> None:
    built = _built_page()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "unpacked")
    assert _content(tmp_path / "unpacked" / "lexigraph" / "api" / "page") == built


def _built_page() -> dict[str, str]:
    if not (PAGE / "index.html").is_file():
        pytest.skip("the explorer is not built: make web")
    return _content(PAGE)


def _content(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

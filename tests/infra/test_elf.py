"""Libraries without symbols: smaller, and loaded as before."""

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from infra.elf import without_symbols

SOURCE = """
static const char *names[] = {"one", "two"};
const char *name_of(int number) { return names[number]; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("library")
    (folder / "names.c").write_text(SOURCE)
    command = [compiler, "-g", "-shared", "-fPIC", "-o", str(folder / "names.so"), str(folder / "names.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder / "names.so"


def test_a_library_without_symbols_is_smaller_and_does_the_same(library: Path) -> None:
    whole = library.read_bytes()
    cut = without_symbols(whole)
    assert b".debug_info" in whole
    assert len(cut) < len(whole)
    assert b".debug_info" not in cut

    small = library.with_name("small.so")
    small.write_bytes(cut)
    name_of = ctypes.CDLL(str(small)).name_of
    name_of.restype = ctypes.c_char_p
    assert [name_of(0), name_of(1)] == [b"one", b"two"]


def test_what_is_cut_already_stays_as_it_is(library: Path) -> None:
    cut = without_symbols(library.read_bytes())
    assert without_symbols(cut) == cut


@pytest.mark.parametrize("data", [b"", b"\x7fEL", b"INPUT ( libm.so.6 )", b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_library_of_these_processors_stays_as_it_is(data: bytes) -> None:
    assert without_symbols(data) == data


@pytest.mark.nightly
def test_modules_of_packages_keep_every_byte_that_a_loader_reads() -> None:
    modules = [*Path(sysconfig.get_path("platlib")).glob("*/**/*.so")]
    assert len(modules) > 20
    saved = 0
    for module in modules:
        whole = module.read_bytes()
        cut = without_symbols(whole)
        assert cut[64:] == whole[64 : len(cut)]
        saved += len(whole) - len(cut)
    assert saved > 2**20

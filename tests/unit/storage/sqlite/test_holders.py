"""Leases of the embedded registry when their holders die or fork, and what stays on the disk."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.registry import SqliteRegistry

A = Tenant("a")
OPEN = """
import os, signal, sys, time
signal.alarm(120)  # who waits for a word of ours waits no longer
from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.registry import SqliteRegistry
registry, A = SqliteRegistry(sys.argv[1]), Tenant("a")
"""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SqliteRegistry]:
    opened = SqliteRegistry(f"sqlite:///{tmp_path}")
    yield opened
    opened.close()


def process(registry: SqliteRegistry, body: str) -> subprocess.Popen[str]:
    """Another process with the same registry, listening to its first line."""
    connection = f"sqlite:///{registry.path.parent}"
    started = subprocess.Popen(
        [sys.executable, "-c", OPEN + body, connection], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def taken(registry: SqliteRegistry, *keys: str) -> set[str]:
    with registry.lease(A, keys) as mine:
        return set(mine)


def holders(registry: SqliteRegistry) -> list[Path]:
    return list((registry.path.parent / "holders").iterdir())


HOLD = """
with registry.lease(A, ["x", "y"]) as mine:
    assert mine == {"x", "y"}
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_another_process_cannot_take_a_lease_and_gets_it_afterwards(registry: SqliteRegistry) -> None:
    with process(registry, HOLD) as holder:
        assert taken(registry, "x", "z") == {"z"}
        assert taken(registry, "x") == set()
        holder.communicate("go on\n", timeout=60)
    assert taken(registry, "x", "y") == {"x", "y"}


def test_kill_9_frees_the_leases_at_once(registry: SqliteRegistry) -> None:
    with process(registry, HOLD) as holder:
        assert taken(registry, "x") == set()
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
        assert taken(registry, "x", "y") == {"x", "y"}


def test_kill_9_frees_the_leases_although_children_of_the_holder_live_on(registry: SqliteRegistry) -> None:
    body = """
with registry.lease(A, ["x"]):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"!")
        time.sleep(60)
        os._exit(0)
    os.close(writing)  # or a child that dies would be waited for
    assert os.read(reading, 1) == b"!"  # the child has begun, and let go of what it inherited
    print("ready", flush=True)
    print(child, flush=True)
    time.sleep(60)
"""
    with process(registry, body) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        try:
            assert taken(registry, "x") == set()
            holder.send_signal(signal.SIGKILL)
            holder.wait(60)
            assert taken(registry, "x") == {"x"}
            os.kill(child, 0)  # it does live on
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_holds_nothing_and_gives_back_nothing(registry: SqliteRegistry) -> None:
    body = """
try:
    with registry.lease(A, ["x"]):
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # that of the parent is not inherited
            with registry.lease(A, ["x", "y"]) as mine:
                assert mine == {"y"}, mine
            sys.exit(7)  # leaves the parent's block
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print("ready", flush=True)
        sys.stdin.readline()
finally:
    registry.close()
"""
    with process(registry, body) as holder:
        assert taken(registry, "x", "y") == {"y"}
        holder.communicate("go on\n", timeout=60)
        assert holder.returncode == 0
    assert taken(registry, "x") == {"x"}


def test_holders_leave_no_file_behind_and_dead_ones_are_swept(registry: SqliteRegistry) -> None:
    with registry.lease(A, ["a"]), registry.lease(A, ["b"]):
        assert len(holders(registry)) == 2
    assert holders(registry) == []
    with process(registry, HOLD) as holder:
        holder.send_signal(signal.SIGKILL)
    assert len(holders(registry)) == 1
    assert taken(registry, "other") == {"other"}
    assert holders(registry) == []


def test_a_lease_whose_holder_has_no_file_any_more_is_free(registry: SqliteRegistry) -> None:
    with process(registry, HOLD) as holder:
        holder.send_signal(signal.SIGKILL)
    for path in holders(registry):
        path.unlink()
    assert taken(registry, "x", "y") == {"x", "y"}


def test_a_copy_of_the_folder_holds_no_lease(registry: SqliteRegistry, tmp_path: Path) -> None:
    with registry.lease(A, ["x"]):
        shutil.copytree(tmp_path, tmp_path / "copy")
        copy = SqliteRegistry(f"sqlite:///{tmp_path}/copy")
        assert taken(copy, "x") == {"x"}
        assert taken(registry, "x") == set()
        copy.close()

"""Peaks of memory are those of the process that asks."""

import subprocess
import sys

import pytest

from lexigraph.evaluation.memory import forget_peak, peak_resident_mb

TELL = "from lexigraph.evaluation.memory import peak_resident_mb; print(peak_resident_mb())"


def peak_of_a_small_process() -> float:
    done = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True, timeout=60)
    return float(done.stdout)


def test_the_peak_grows_with_what_a_process_holds():
    forget_peak()
    before = peak_resident_mb()
    held = b"1" * (200 << 20)
    assert peak_resident_mb() > before + 150
    del held


@pytest.mark.skipif(sys.platform != "linux", reason="told by /proc")
def test_a_small_process_that_a_large_one_starts_is_small():
    held = b"1" * (200 << 20)
    assert peak_of_a_small_process() < 100
    del held

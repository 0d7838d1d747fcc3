"""How much memory processes had at most."""

import contextlib
import resource
import sys
from pathlib import Path


def peak_resident_mb() -> float:
    """Return the most memory, in MB, that this process has had resident, counted from its own start where that is told."""
    # what getrusage tells on Linux begins with the peak of the process that started this one
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    return _usage_mb(resource.RUSAGE_SELF)


def largest_child_mb() -> float:
    """Return the most memory, in MB, of any child that has ended; on Linux at least what this process had when it began."""
    return _usage_mb(resource.RUSAGE_CHILDREN)


def forget_peak() -> None:
    """Start measuring the peak of this process anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def _usage_mb(who: int) -> float:
    return round(resource.getrusage(who).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2), 1)

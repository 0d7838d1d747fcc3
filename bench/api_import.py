"""Measure the processor seconds that importing and making the application takes, each time in a new process.

python -m bench.api_import --times 7
"""

import argparse
import statistics
import subprocess
import sys

_MADE = """
import time
from lexigraph.api.app import create_app
create_app()
print(time.process_time())
"""
_IMPORTED = """
import time
import lexigraph.api.app
print(time.process_time())
"""


def main() -> None:
    """Parse the command line, measure, print the medians and the best."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7, help="processes of each kind (default 7)")
    given = parser.parse_args()
    print(f"{'':<24}{'median s':>10}{'least s':>10}")
    for name, code in (
        ("interpreter alone", "import time; print(time.process_time())"),
        ("import", _IMPORTED),
        ("app made", _MADE),
    ):
        took = [_seconds(code) for _ in range(max(1, given.times))]
        print(f"{name:<24}{statistics.median(took):>10.2f}{min(took):>10.2f}")


def _seconds(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()

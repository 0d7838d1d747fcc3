"""One process of ``lexigraph serve`` by itself: ``python -P -m lexigraph.cli.served``, told what to serve in one line."""

import gc
import sys


def main() -> None:
    """Serve until told to end by SIGTERM, or until the input ends."""
    told = sys.stdin.readline()
    gc.disable()  # what is loaded stays: to look through it again and again takes a fifth of the start
    from lexigraph.cli.server import serve

    serve(told, sys.stdin.fileno())


if __name__ == "__main__":
    main()

"""``python -m lexigraph``: the command line, as the command ``lexigraph`` is."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, whose files are no part of the program
    from lexigraph.cli import run

    run()

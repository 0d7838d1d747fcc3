"""The command line, one file a command; ``main.py`` puts them together."""

import atexit
import gc
import os
import sys

from lexigraph import __version__


def run() -> None:
    """Run the command line and exit. Without the packages that it needs, say what to install."""
    if sys.argv[1:] == ["--version"]:
        # what scripts ask alone, and often: it needs none of the commands, which take a second to load
        sys.stdout.write(f"lexigraph {__version__}\n")
        return
    # products of vectors are not faster with more threads of BLAS, which wait for each other at full speed
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(gc.freeze)  # to collect at the end what ends anyway takes a fifth of a question's time
    try:
        from lexigraph.cli import main
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.exit('the command line needs more packages: pip install "lexigraph[laptop]", or "lexigraph[cli]" for this alone')
    main.run()

"""Work that must not grow out of bounds: a pattern that goes back again and again, a loop in a loop."""

import gc
import time
from collections.abc import Callable


def soon(work: Callable[[], object], *, seconds: float, tries: int = 5) -> bool:
    """Whether the work takes no more of the processor than this, of five tries the best.

    A busy machine, the collector and what other tests left running only ever add; what grows with
    the square of its input takes long each time.
    """
    gc.disable()
    try:
        for _ in range(tries):
            began = time.thread_time()
            work()
            if time.thread_time() - began < seconds:
                return True
    finally:
        gc.enable()
    return False

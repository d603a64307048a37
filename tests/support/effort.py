"""Guards against texts that would be read for minutes; figures of speed are in `tools/`."""

import gc
import time
from collections.abc import Callable


def least_cpu_s(call: Callable[[], object], enough_s: float) -> float:
    """The CPU time of this thread that a call takes: the least of three, or the first below `enough_s`.

    No garbage is collected meanwhile: that takes as long as everything that was imported is large.
    """
    taken = []
    gc.disable()
    try:
        for _ in range(3):
            began_s = time.thread_time()
            call()
            taken.append(time.thread_time() - began_s)
            if taken[-1] < enough_s:
                break
    finally:
        gc.enable()
    return min(taken)

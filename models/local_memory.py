"""When the device's memory runs out: how to tell, and what to let go."""

from __future__ import annotations

import gc
import sys

_SAID = ("out of memory", "can't allocate memory")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception of torch, or of code that calls it, means that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error).lower() for said in _SAID)


def free_memory() -> None:
    """Gives back what nobody uses any more.

    To be called outside of the handler of the exception: its traceback holds the tensors.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()

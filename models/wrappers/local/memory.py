"""When the device's memory runs out: how to tell, and what to let go."""

from __future__ import annotations

import contextlib
import gc
import sys

# Libraries that get no memory for their own workspace have names of their own for it. What may as
# well mean something else (CUDNN_STATUS_INTERNAL_ERROR) is not among them.
_SAID = (
    "out of memory",
    "can't allocate memory",
    "cublas_status_alloc_failed",
    "cublas_status_not_initialized",  # no room for its handle
    "cudnn_status_alloc_failed",
    "unable to find an engine to execute this computation",  # none with so little workspace
    "std::bad_alloc",
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception of torch, or of code that calls it, means that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error).lower() for said in _SAID)


def free_memory() -> None:
    """Gives back what nobody uses any more; never raises, on a device that has failed either.

    To be called outside of the handler of the exception: its traceback holds the tensors.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    with contextlib.suppress(Exception):  # it is called to clean up, after errors above all
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.empty_cache()

"""The device that a model is on: current in every thread that works with it, and how it is lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from utils.errors import StopRun

# After these a process can use the device no more, whatever it asks of it.
_LOST = (
    "device-side assert",
    "illegal memory access",
    "illegal instruction",
    "misaligned address",
    "unspecified launch failure",
    "launch timed out",
    "uncorrectable ecc error",
    "uncorrectable nvlink error",
    "hardware stack error",
)
_SAID = ("cuda error", "hip error")


def is_on_cuda(model: Any) -> bool:
    """Whether a model, or its first part, is on a CUDA device."""
    return str(getattr(model, "device", "")).startswith("cuda")


@contextmanager
def on_device_of(model: Any) -> Iterator[None]:
    """Around what works with a model, users' functions above all: they say `.to("cuda")`.

    The current device belongs to a thread. In every new one it is the first of the machine, and
    that is another rank's where several run.
    """
    if not is_on_cuda(model):
        yield
        return
    import torch

    with torch.cuda.device(model.device):
        yield


def stop_if_lost(error: BaseException, name: str, model: Any) -> None:
    """Ends the run of a model whose device can be used no more: all other samples would fail too.

    Args:
        error: what was raised beside the model; its causes count.
        name: of the model entry, for the message.
        model: the transformers model.

    Raises:
        StopRun: the device is lost.
    """
    found = (_loss(each, model) for each in _with_causes(error))
    reason = next((each for each in found if each is not None), None)
    if reason is None:
        return
    first_line = (reason.strip().splitlines() or ["?"])[0].rstrip(".")
    raise StopRun(
        f'model "{name}": the device ({getattr(model, "device", "?")}) failed, and this process '
        f"cannot use it any more: {first_line}. Everything answered so far is kept; the same "
        "command goes on (where it fails at the same place again, CUDA_LAUNCH_BLOCKING=1 shows why)"
    ) from None


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that led to it: user functions wrap what they catch."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def _loss(error: BaseException, model: Any) -> str | None:
    """The text that shows that the device is lost; None if it is not."""
    if not isinstance(error, RuntimeError):
        return None
    text, torch = str(error).lower(), sys.modules.get("torch")
    accelerator_error = getattr(torch, "AcceleratorError", ())  # older releases have none
    is_about_device = isinstance(error, accelerator_error) or any(said in text for said in _SAID)
    if is_about_device and any(said in text for said in _LOST):
        return str(error)
    if torch is None or not torch.cuda.is_initialized():
        return None
    # Most errors leave a device as it was, and some that do not say nothing of it: it is asked.
    try:
        torch.cuda.synchronize(model.device if is_on_cuda(model) else None)
    except RuntimeError as failure:
        return str(failure)
    return None

"""Device, dtype and attention of a model, decided once for its fingerprint and for loading.

The fingerprint is made before anything is loaded. Therefore nothing here imports torch, except for
questions that only torch can answer: on ROCm, and where flash attention is installed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import runpy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.wrappers.local.settings import ranks_here

if TYPE_CHECKING:
    from utils.config.schema import Local

SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
HALF_PRECISION = ("float16", "bfloat16")
NVIDIA_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
COMPUTE_CAPABILITY_MAJOR = 75  # of the driver's device attributes
AMPERE = 8  # major compute capability of the oldest devices that flash attention runs on
# Of a checkpoint's own code, in the order in which they can answer questions about images.
_AUTO_CLASSES = ("AutoModelForImageTextToText", "AutoModelForCausalLM", "AutoModel")


@dataclass(frozen=True, slots=True)
class Placement:
    """The device, dtype and attention of a model; they change answers."""

    device: str  # its kind: "cuda", "cpu", ...
    dtype: str  # "float32", ...; "auto" where neither config nor config.json names it
    attention: str  # as transformers names it; JSON where it differs between parts


def _nvidia_driver() -> Any:
    for name in NVIDIA_DRIVERS:
        with suppress(OSError):
            driver = ctypes.CDLL(name)
            return driver if driver.cuInit(0) == 0 else None
    return None


def _is_for_rocm() -> bool:
    """Whether torch was built for AMD devices, by its version file: without an import."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        version = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    except (OSError, SyntaxError):
        return False
    return bool(version.get("hip"))


def cuda_present() -> bool:
    """Whether there is a device that torch calls "cuda"; asks NVIDIA's driver itself."""
    driver = _nvidia_driver()
    if driver is not None:
        count = ctypes.c_int(0)
        return driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    if not _is_for_rocm():
        return False
    import torch

    return bool(torch.cuda.is_available())


def is_ampere_or_newer() -> bool:
    """Whether the first device is new enough for flash attention; of AMD's, all are."""
    driver = _nvidia_driver()
    if driver is None:
        return True
    major = ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), COMPUTE_CAPABILITY_MAJOR, 0)
    return major.value >= AMPERE


def _kind_of(device: Any) -> str:
    if device is None or device in ("", *SPREADING):
        return ""
    if isinstance(device, int):
        return "cuda"
    return str(device).partition(":")[0]


def device_kinds(device_map: Any) -> set[str]:
    """Return the kinds of devices that a `device_map` names; "" where the choice is open."""
    if isinstance(device_map, Mapping):
        return {_kind_of(device) for device in device_map.values()}
    return {_kind_of(device_map)}


def requested_attention(entry: Local) -> Any:
    """Return the attention that a config sets, for all parts or by part; None: it sets none."""
    return (
        entry.attn_implementation
        or (entry.kwargs.get("load") or {}).get("attn_implementation")
        or None
    )


def requested_dtype(entry: Local, device: str) -> str:
    """Return the dtype that a config sets or leaves to us; "auto" is the checkpoint's own."""
    return entry.dtype or ("auto" if device == "cuda" else "float32")


def placement_of(entry: Local, config: Mapping[str, Any]) -> Placement:
    """The placement of a model on this machine.

    Args:
        entry: its entry in the config.
        config: content of the checkpoint's config.json.
    """
    kinds = device_kinds(entry.device_map)
    is_for_cuda = "cuda" in kinds or ("" in kinds and cuda_present())
    device = "cuda" if is_for_cuda else min(kinds) or "cpu"
    dtype = requested_dtype(entry, device)
    if dtype == "auto":
        dtype = _stored_dtype(config) or "auto"
    requested = requested_attention(entry)
    if isinstance(requested, str):
        attention = requested
    elif requested is not None:
        attention = json.dumps(requested, sort_keys=True)
    elif device == "cuda" and dtype in HALF_PRECISION and _has_flash(entry, config):
        attention = "flash_attention_2"
    else:
        attention = "sdpa"
    return Placement(device, dtype, attention)


def _stored_dtype(config: Mapping[str, Any]) -> str | None:
    """Return the dtype that config.json names; newer checkpoints do for the text part alone."""
    for part in (config, config.get("text_config")):
        for key in ("dtype", "torch_dtype"):
            if isinstance(part, Mapping) and isinstance(part.get(key), str):
                return str(part[key]).removeprefix("torch.")
    return None


def _has_flash(entry: Local, config: Mapping[str, Any]) -> bool:
    if importlib.util.find_spec("flash_attn") is None or not is_ampere_or_newer():
        return False
    from transformers.utils import is_flash_attn_2_available

    if not is_flash_attn_2_available():  # another package of that name, or too old a one
        return False
    model_class = model_class_of(config, trust_remote_code=entry.trust_remote_code)
    return getattr(model_class, "_supports_flash_attn", False) is True


def model_class_of(config: Mapping[str, Any], *, trust_remote_code: bool) -> Any:
    """Return the class of transformers that loads a checkpoint with this config.json."""
    import transformers

    auto_map = (config.get("auto_map") or {}) if trust_remote_code else {}
    names = [name for name in _AUTO_CLASSES if name in auto_map]
    names += config.get("architectures") or []
    model_class = getattr(transformers, names[0], None) if names else None
    return model_class or transformers.AutoModelForImageTextToText


def flash_problem(placement: Placement) -> str:
    """Say why the attention cannot be used there; empty if it can, or is no flash attention."""
    if "flash" not in placement.attention:
        return ""
    # Without a device here, another problem says so.
    is_old = cuda_present() and not is_ampere_or_newer()
    if placement.device == "cuda" and not is_old and placement.dtype in HALF_PRECISION:
        return ""
    needs = "needs half precision and a CUDA device, Ampere or newer"
    runs = f"the model would run on {placement.device} in {placement.dtype}"
    return f"attn_implementation {placement.attention!r} {needs}, and {runs}"


def placement_problems(entry: Local, config: Mapping[str, Any]) -> list[str]:
    """Say why a model cannot run where and how it is to, one line each."""
    reasons = []
    ranks = ranks_here()
    device_map = entry.device_map
    if "cuda" in device_kinds(device_map) and not cuda_present():
        reasons.append("needs CUDA, and this machine has no usable CUDA device")
    if ranks > 1 and device_map not in (None, "", "cuda", "cpu"):
        reasons.append(f"would put all {ranks} copies that torchrun starts onto the same devices")
    advice = "leave device_map out to use the available devices"
    problems = [f"device_map {device_map!r} {reason}; {advice}" for reason in reasons]
    problem = flash_problem(placement_of(entry, config))
    return [*problems, problem] if problem else problems


def float32_note(entry: Local, dtype: str, device: str) -> str:
    """Say that a model runs in float32 on a GPU though nobody asked for it; else empty."""
    if device != "cuda" or dtype != "float32" or entry.dtype == "float32":
        return ""
    costs = "twice the memory and several times the time of half precision"
    cure = 'set "dtype": "bfloat16" for that, or "dtype": "float32" to keep it without this note'
    return f"note: the checkpoint is stored in float32 and runs in it, which takes {costs}; {cure}"

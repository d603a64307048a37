"""Checkpoints on disk: is one usable, and which one is it.

For `--check` and for fingerprints: cheap, and without torch and transformers.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.wrappers.local.generate_arguments import GENERATION_SETTINGS
from utils.errors import UserError
from utils.images import at_home

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")
# What decides about prompts and ids: configs, tokenizer, processor, chat template, shipped code.
SETTING_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".tiktoken", ".py")
SAMPLED_BLOCKS = 16
BLOCK_BYTES = 64 * 1024
LOCAL_PACKAGES = ("torch", "torchvision", "transformers", "qwen_vl_utils", "accelerate")
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer.model", "*.tiktoken", "*.model", "vocab.json", "vocab.txt",
    "tekken.json", "tokenization_*.py",
)  # fmt: skip
TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json", "chat_templates/*.jinja")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_LFS_POINTER = b"version https://git-lfs"


def is_hub_id(model_path: str) -> bool:
    """Whether a path means a repository on the Hugging Face hub: `org/name`, and no such folder."""
    return bool(_HUB_ID.fullmatch(model_path)) and not Path(model_path).exists()


def missing_packages() -> list[str]:
    """A line that says which packages a local model lacks, if any."""
    missing = [name for name in LOCAL_PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return []
    return [f"not installed: {', '.join(missing)}; pip install -r requirements/local.txt"]


def checkpoint_problems(model_path: str) -> list[str]:
    """What is wrong with a checkpoint folder, one line each, from names and small files.

    About a repository of the hub nothing is said: what the cache lacks is downloaded.
    """
    if is_hub_id(model_path):
        return []
    folder = at_home(model_path)
    if not folder.is_dir():
        return [f"{model_path}: no such folder; expected a checkpoint with config.json and weights"]
    problems = []
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        problems.append(
            f"{model_path}: no config.json in it, so this is no transformers checkpoint"
        )
    except (OSError, ValueError) as error:
        problems.append(f"{model_path}/config.json cannot be read: {error}")
    weights = _weight_files(folder)
    if not weights:
        problems.append(f"{model_path}: no weight files in it (*.safetensors or *.bin)")
    problems += [
        f"{file}: a git-lfs pointer, not the weights; run `git lfs pull` there"
        for file in weights
        if file.stat().st_size < 1024 and file.read_bytes().startswith(_LFS_POINTER)
    ]
    missing = sorted(_indexed_files(folder) - {file.name for file in weights})
    if weights and missing:
        problems.append(f"{model_path}: weight files that its index names are missing: {missing}")
    return problems


def preparation_problems(model_path: str, *, by_default: bool) -> list[str]:
    """What a checkpoint folder lacks for making inputs, one line each.

    Args:
        model_path: as in the config; where it is no checkpoint at all, `checkpoint_problems` says.
        by_default: whether the default preprocess function makes them: it needs a processor for
            pictures and a chat template, which a function of the user's may do without.
    """
    folder = at_home(model_path)
    if is_hub_id(model_path) or not (folder / "config.json").is_file():
        return []
    problems = []
    if not _has_any(folder, TOKENIZER_FILES):
        problems.append(
            f"{model_path}: no tokenizer in it (tokenizer.json, or what else a tokenizer is read "
            "from); is the checkpoint complete?"
        )
    if by_default and not _has_any(folder, PROCESSOR_FILES):
        problems.append(
            f"{model_path}: neither {' nor '.join(PROCESSOR_FILES)} in it: either the checkpoint "
            "is incomplete, or its model takes no pictures"
        )
    if by_default and not _has_template(folder):
        problems.append(
            f"{model_path}: no chat template in it (chat_template.jinja, or in "
            "tokenizer_config.json), so a preprocess_function of your own must write the prompt"
        )
    return problems


def _has_any(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def _has_template(folder: Path) -> bool:
    return _has_any(folder, TEMPLATE_FILES) or any(
        _json_object(folder / name).get("chat_template")
        for name in ("tokenizer_config.json", *PROCESSOR_FILES)
    )


def _weight_files(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if file.suffix in WEIGHT_SUFFIXES and file.is_file()
    )


def _indexed_files(folder: Path) -> set[str]:
    names: set[str] = set()
    for index in folder.glob("*.safetensors.index.json"):
        try:
            names |= set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, AttributeError):
            continue  # transformers says it better when it loads
    return names


def settings_folder(model_path: str) -> Path | None:
    """Where a checkpoint's small files lie: its folder, or the local cache's copy of a repository.

    None for a repository that is not in the cache.
    """
    if not is_hub_id(model_path):
        return at_home(model_path)
    try:
        cached = _cache_folder(model_path)
    except ImportError:
        return None
    commit = _cached_commit(cached)
    return cached / "snapshots" / commit if commit else None


def _cache_folder(model_id: str) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{model_id.replace('/', '--')}"


def _cached_commit(cached: Path) -> str | None:
    try:
        return (cached / "refs" / "main").read_text(encoding="ascii").strip()
    except OSError:
        # Loaded by its commit, a repository leaves a snapshot and no ref.
        snapshots = list((cached / "snapshots").glob("*"))
        return snapshots[0].name if len(snapshots) == 1 else None


def _json_object(file: Path) -> dict[str, Any]:
    """Empty where there is none to be read."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def read_generation_config(model_path: str) -> dict[str, Any]:
    """The checkpoint's own generation settings; empty where there are none to be read.

    As transformers reads them: checkpoints without a readable generation_config.json (from before
    it existed) keep their settings in config.json, some of them in that of their language model.
    """
    folder = settings_folder(model_path)
    if folder is None:
        return {}
    if settings := _json_object(folder / "generation_config.json"):
        return settings
    config = _json_object(folder / "config.json")
    parts = (config.get(name) for name in ("decoder", "generator", "text_config"))
    part: Any = next((part for part in parts if part), None)
    found: dict[str, Any] = {}
    for holder in (part if isinstance(part, dict) else {}, config):
        found |= {
            name: holder[name] for name in GENERATION_SETTINGS if holder.get(name) is not None
        }
    return found


def vision_settings(model_path: str) -> dict[str, int]:
    """ "patch_size", "merge_size", "shortest_edge", "longest_edge" of a checkpoint's pictures.

    The edges are areas in pixels. What the checkpoint does not say is left out; nothing is there
    where its files are not on this machine.
    """
    folder = settings_folder(model_path)
    for name in reversed(PROCESSOR_FILES):
        settings = _json_object(folder / name) if folder is not None else {}
        if not settings:
            continue
        image = settings.get("image_processor", settings)
        size = image.get("size") or {}
        # Older checkpoints name the limits themselves.
        known = {
            "patch_size": image.get("patch_size"),
            "merge_size": image.get("merge_size"),
            "shortest_edge": size.get("shortest_edge", image.get("min_pixels")),
            "longest_edge": size.get("longest_edge", image.get("max_pixels")),
        }
        return {key: value for key, value in known.items() if isinstance(value, int)}
    return {}


def checkpoint_identity(model_path: str) -> Any:
    """Plain data that differs between checkpoints, also after one was overwritten in place.

    Files that decide about prompts and ids count whole; of each weight file the size and 16 blocks
    of 64 KiB, spread evenly from its first byte to its last. Where the folder lies does not count.

    Raises:
        UserError: a file cannot be read, or nothing is known about a hub repository.
    """
    if is_hub_id(model_path):
        return {"hub": model_path, "commit": hub_commit(model_path)}
    try:
        return {
            file.name: _sampled_digest(file)
            if file.suffix in WEIGHT_SUFFIXES
            else hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(at_home(model_path).iterdir())
            if file.suffix in WEIGHT_SUFFIXES + SETTING_SUFFIXES and file.is_file()
        }
    except OSError as error:
        raise UserError(f"{model_path}: the checkpoint cannot be read: {error}") from error


def _sampled_digest(file: Path) -> str:
    size = file.stat().st_size
    hasher = hashlib.sha256(str(size).encode())
    with file.open("rb") as stream:
        if size <= SAMPLED_BLOCKS * BLOCK_BYTES:
            hasher.update(stream.read())
        else:
            last_start = size - BLOCK_BYTES
            for block in range(SAMPLED_BLOCKS):
                stream.seek(last_start * block // (SAMPLED_BLOCKS - 1))
                hasher.update(stream.read(BLOCK_BYTES))
    return hasher.hexdigest()


def hub_commit(model_id: str) -> str:
    """The commit that `model_id` stands for now: asked of the hub, else the one in the local cache.

    Raises:
        UserError: the hub does not answer and nothing is cached, or it has no such repository.
    """
    try:
        from huggingface_hub import HfApi, constants
    except ImportError as error:
        raise UserError(f"{model_id}: pip install -r requirements/local.txt") from error
    reason = "HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        try:
            commit = HfApi().model_info(model_id, timeout=20).sha
            if commit:
                return str(commit)
        except Exception as error:  # noqa: BLE001 - no network, no such repository, no permission
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    if commit := _cached_commit(_cache_folder(model_id)):
        return commit
    raise UserError(
        f"{model_id}: no such folder, and not to be had from the Hugging Face hub: {reason}"
    )


def cuda_wanted(device_map: Any) -> bool:
    """Whether a `device_map` names a CUDA device: "cuda", "cuda:1", or {"layer": 0}."""
    if isinstance(device_map, Mapping):
        return any(cuda_wanted(device) for device in device_map.values())
    if isinstance(device_map, str):
        return device_map.startswith("cuda")
    return isinstance(device_map, int) and not isinstance(device_map, bool)


def cuda_present() -> bool:
    """Whether the CUDA driver finds a device; asks the driver itself, so torch is not needed."""
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        return found and count.value > 0
    return False

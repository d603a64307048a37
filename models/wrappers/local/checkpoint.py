"""Checkpoints on disk: is one usable, and which one is it.

For `--check` and for fingerprints: cheap, and without torch and transformers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.geometry.images import expand_home

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")
# What decides about prompts and ids: configs, tokenizer, processor, chat template, shipped code.
SETTING_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".tiktoken", ".py")
SAMPLED_BLOCKS = 16
BLOCK_BYTES = 64 * 1024
LONGEST_HUB_ID = 96  # characters; the hub has no longer ones
LOCAL_PACKAGES = ("torch", "torchvision", "transformers", "qwen_vl_utils", "accelerate")
MORE_TEMPLATES = "additional_chat_templates/*.jinja"
_TEMPLATE_FILE = re.compile(r"chat_template\.|.*\.jinja$")
_TOKENIZER_FILE = re.compile(r"(tokenizer|vocab|tekken)\.|.*\.(model|tiktoken)$")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def is_hub_id(model_path: str) -> bool:
    """Whether a path means a repository on the hub: `org/name`, and no such folder."""
    is_form = len(model_path) <= LONGEST_HUB_ID and _HUB_ID.fullmatch(model_path) is not None
    return is_form and not Path(model_path).exists()


def missing_packages() -> list[str]:
    """Name the packages that a local model lacks, in one line; none if it lacks none."""
    missing = ", ".join(name for name in LOCAL_PACKAGES if importlib.util.find_spec(name) is None)
    return [f"not installed: {missing}; pip install -r requirements/local.txt"] if missing else []


def _folder_problem(model_path: str, folder: Path) -> str | None:
    """The reason why a path is no folder that can be looked into."""
    try:
        if folder.is_file():
            return f"{model_path}: is a file; expected a folder with config.json and weights"
        is_folder = folder.is_dir()
    except OSError as error:
        return f"{model_path[:80]}...: cannot be looked at ({error.strerror})"
    what = "no such folder; expected a checkpoint with config.json and weights"
    return None if is_folder else f"{model_path}: {what}"


def checkpoint_problems(model_path: str) -> list[str]:
    """Problems of a checkpoint folder, one line each, from names and small files."""
    if is_hub_id(model_path):  # what the cache lacks is downloaded
        return []
    folder = expand_home(model_path)
    if problem := _folder_problem(model_path, folder):
        return [problem]
    problems = []
    if _json_object(folder / "config.json") is None:
        problems.append("no readable config.json in it")
    weights = sorted(f for f in folder.iterdir() if f.suffix in WEIGHT_SUFFIXES and f.is_file())
    if not weights:
        problems.append("no weight files in it (*.safetensors or *.bin)")
    index = _json_object(folder / "model.safetensors.index.json") or {}
    missing = sorted(set(index.get("weight_map", {}).values()) - {file.name for file in weights})
    if weights and missing:
        problems.append(f"weight files that its index names are missing: {missing}")
    preprocessor = _json_object(folder / "preprocessor_config.json") or {}
    image_processor = str(preprocessor.get("image_processor_type"))
    is_read = "image_processor" not in (_json_object(folder / "processor_config.json") or {})
    if is_read and image_processor.startswith("Qwen2_5_VLImageProcessor"):  # of early 2025
        problems.append(
            f'transformers has no image_processor_type "{image_processor}"; write '
            '"Qwen2VLImageProcessor" into preprocessor_config.json'
        )
    lines = [f"{model_path}: {problem}" for problem in problems]
    for file in weights:
        problem = _weights_problem(file)
        if problem:
            lines.append(f"{file}: {problem}")
    return lines


def _weights_problem(file: Path) -> str:
    """Say why a file holds no weights: a pointer to them, or a part of them; else empty."""
    with file.open("rb") as stream:
        if stream.read(8) == b"version ":
            return "a git-lfs pointer, not the weights; run `git lfs pull` there"
    if file.suffix != ".safetensors" or importlib.util.find_spec("safetensors") is None:
        return ""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy"):
            return ""
    except SafetensorError as error:
        return f"{error}; download it again"


def prompt_problems(model_path: str, *, needs_template: bool) -> list[str]:
    """Files that a checkpoint folder lacks to make prompts with; code may bring its own.

    Args:
        model_path: the folder.
        needs_template: no function of the user's writes the prompts.
    """
    folder = expand_home(model_path)
    if is_hub_id(model_path) or (_json_object(folder / "config.json") or {}).get("auto_map"):
        return []
    problems = []
    names = [file.name for file in [*folder.iterdir(), *folder.glob(MORE_TEMPLATES)]]
    if not any(_TOKENIZER_FILE.match(name) for name in names):
        problems.append("no tokenizer files in it (tokenizer.json, ...)")
    configs = ("tokenizer_config.json", "processor_config.json")
    has_template = any("chat_template" in (_json_object(folder / name) or {}) for name in configs)
    has_template |= any(_TEMPLATE_FILE.match(name) for name in names)
    if needs_template and not has_template:
        problems.append(
            "no chat template in it (chat_template.jinja, ...), so a preprocess_function must do "
            "its work"
        )
    return [f"{model_path}: {problem}" for problem in problems]


def code_problems(model_path: str, *, is_trusted: bool) -> list[str]:
    """Say that a checkpoint needs code of its own that the config does not allow, in one line."""
    config = _settings_file(model_path, "config.json")
    if is_trusted or not config.get("auto_map"):
        return []
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if config.get("model_type") in CONFIG_MAPPING_NAMES:  # then the library's own classes are taken
        return []
    return [
        f"{model_path}: its model_type {config.get('model_type')!r} is code that comes with the "
        'checkpoint; if you trust it, set "trust_remote_code": true'
    ]


def settings_folder(model_path: str, revision: str | None = None) -> Path | None:
    """Return the folder of a checkpoint's small files, maybe in the cache; None: there is none."""
    if not is_hub_id(model_path):
        return expand_home(model_path)
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    config_file = try_to_load_from_cache(model_path, "config.json", revision=revision)
    return Path(config_file).parent if isinstance(config_file, str) else None


def _json_object(file: Path) -> dict[str, Any] | None:
    """Return the object in a file; None where there is none to be read."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _settings_file(model_path: str, name: str, revision: str | None = None) -> dict[str, Any]:
    folder = settings_folder(model_path, revision)
    return (_json_object(folder / name) or {}) if folder is not None else {}


def read_generation_config(model_path: str, revision: str | None = None) -> dict[str, Any]:
    """Return the checkpoint's own generation settings; empty where there are none to be read."""
    return _settings_file(model_path, "generation_config.json", revision)


def read_config(model_path: str, commit: str | None = None) -> dict[str, Any]:
    """Return a checkpoint's config.json, from the hub if need be; empty where it cannot be read."""
    if settings_folder(model_path, commit) is not None:
        return _settings_file(model_path, "config.json", commit)
    with suppress(Exception):  # loading the checkpoint says what is wrong
        from huggingface_hub import hf_hub_download

        return _json_object(Path(hf_hub_download(model_path, "config.json", revision=commit))) or {}
    return {}


def checkpoint_identity(model_path: str, commit: str | None = None) -> Any:
    """Return plain data that differs between checkpoints, also after one was overwritten in place.

    Files that decide about prompts and ids count whole; of each weight file the size and 16 blocks
    of 64 KiB, spread evenly from its first byte to its last. Where the folder lies does not count.
    """
    if is_hub_id(model_path):
        return {"hub": model_path, "commit": commit or hub_commit(model_path)}
    folder = expand_home(model_path)
    digests = {}
    try:
        for file in sorted([*folder.iterdir(), *folder.glob(MORE_TEMPLATES)]):
            if not file.is_file():
                continue
            name = str(file.relative_to(folder))
            if file.suffix in WEIGHT_SUFFIXES:
                digests[name] = _sampled_digest(file)
            elif file.suffix in SETTING_SUFFIXES:
                digests[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{model_path}: the checkpoint cannot be read: {error}") from error
    return digests


def _sampled_digest(file: Path) -> str:
    size = file.stat().st_size
    hasher = hashlib.sha256(str(size).encode())
    with file.open("rb") as stream:  # in a small file the blocks overlap
        for block in range(SAMPLED_BLOCKS):
            stream.seek(max(0, size - BLOCK_BYTES) * block // (SAMPLED_BLOCKS - 1))
            hasher.update(stream.read(BLOCK_BYTES))
    return hasher.hexdigest()


def hub_commit(model_id: str, revision: str | None = None) -> str:
    """Return the commit that a branch or tag stands for now, by the hub, else by the local cache.

    Args:
        model_id: the repository.
        revision: branch, tag or commit; None: its main branch.

    Raises:
        UserError: neither knows it.
    """
    reason = "HF_HUB_OFFLINE is set"
    try:
        from huggingface_hub import HfApi, constants

        if not constants.HF_HUB_OFFLINE:
            return str(HfApi().model_info(model_id, revision=revision, timeout=20).sha)
    except Exception as error:  # noqa: BLE001 - no network, no such repository, no permission
        reason = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
    folder = settings_folder(model_id, revision)
    if folder:
        return folder.name  # of its snapshot
    raise UserError(
        f"{model_id}: no such folder, and not available from the Hugging Face hub: {reason}"
    )

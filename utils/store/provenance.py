"""The inputs and the environment of a run, as its record in the log has them.

`depends_on` gives the values that the requests depend on. Two runs with the same values send the
same requests: they share a folder, and the answers of one are reused by the other. The rest is for
the manifest.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.contracts import DataSet
from utils.functions.prompting import Prompting, short_digest
from utils.geometry.images import content_digest
from utils.program import DISTRIBUTION, IS_CLONE

PACKAGES = (
    "openai",
    "pillow",
    "pydantic",
    "torch",
    "torchvision",
    "transformers",
    "qwen-vl-utils",
    "accelerate",
    "ui-tars",
    "rapidocr",
    "onnxruntime",
)
SCORE_VARIABLES = ("L1_USE_WEIGHTED", "L2_USER_PROMPT", "SKIP_ERR")
"""Their values decide about prompts and scores, so they are written down."""
# Places and secrets: whether they are set is all that another machine can use.
NAMED_VARIABLES = (
    "LMUData",
    "IMAGE_ROOT_DIR",
    "EVAL_WORK_DIR",
    "OPENAI_API_KEY",
    "HF_HOME",
    "HF_TOKEN",
    "HTTPS_PROXY",
    "CUDA_VISIBLE_DEVICES",
)
READERS = 8  # threads that read images: a network disk is slow to open each


# -- what the requests depend on -------------------------------------------------------------------


def depends_on(
    data: DataSet, limit: int | None, settings: str, prompting: Prompting
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the dependencies of a run's requests: short hashes by aspect, checksums of the inputs.

    Args:
        data: the data set, which has samples.
        limit: the number of samples that are queried; None: all.
        settings: a hash of the model's settings that decide its answers.
        prompting: makes the prompts.
    """
    samples = data.chosen(limit)
    name, content = data.benchmark.source()
    hashes = {
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    pictures = pictures_digest(
        {
            str(sample.line["image_path"]): sample.image
            for sample in samples
            if sample.image is not None
        }
    )
    request_hashes = {
        "settings": short_digest(settings),
        "prompt": prompting.digest(samples[0].line),
        "annotations": short_digest(hashes["sha256"]),
        "pictures": short_digest(pictures["digest"]),
    }
    annotations = {"file": name, "bytes": len(content), **hashes}
    return request_hashes, {"annotations": annotations, "pictures": pictures}


def pictures_digest(pictures: Mapping[str, Path]) -> dict[str, Any]:
    r"""Return one checksum of many images.

    It is the SHA-256 over the lines "<BLAKE3>  <path>\n", sorted by path.

    Args:
        pictures: file by path relative to the image root.
    """
    with ThreadPoolExecutor(READERS) as readers:
        hashes = zip(readers.map(_content, pictures.values()), pictures, strict=True)
        lines = [f"{content}  {name}\n" for content, name in sorted(hashes, key=itemgetter(1))]
    checksum = hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass"))
    return {"count": len(lines), "digest": f"sha256:{checksum.hexdigest()}"}


def _content(file: Path) -> str:
    try:
        return content_digest(file).removeprefix("blake3:")
    except OSError:  # its sample will fail, and say so
        return "unreadable"


# -- what else is worth knowing --------------------------------------------------------------------


def made_with(
    config: Mapping[str, Any], text: bytes, arguments: Sequence[str], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return provenance metadata of a run; never used to decide about reuse.

    Args:
        config: the resolved config, without secrets.
        text: the content of its file.
        arguments: the command line.
        inputs: checksums of annotations and images.
    """
    variables = re.findall(r"\$\{(\w+)\}", text.decode("utf-8", "replace"))
    return {
        **inputs,
        "config": dict(config),
        "config_file": {
            "name": Path(config["path"]).name,
            "sha256": hashlib.sha256(text).hexdigest(),
        },
        "arguments": list(arguments),
        "git": git_state(PROJECT),
        "versions": versions(),
        "hardware": hardware(),
        "environment": environment(os.environ, variables),
    }


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that can change an answer."""
    by_package = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            by_package[package] = metadata.version(package)
    return by_package


def version_text() -> str:
    """Return the program's version and commit: `mmbench-gui-evaluator 1.0.0 (ab12cd34)`."""
    if not IS_CLONE:
        return f"{DISTRIBUTION} {_installed_version().removeprefix('v')}"
    import tomllib  # for `--version` alone

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    state = git_state(PROJECT)
    changed = ", changed since" if state["dirty"] else ""
    return f"{project['name']} {project['version']} ({state['commit'][:8]}{changed})"


def _installed_version() -> str:
    with suppress(metadata.PackageNotFoundError):
        return f"v{metadata.version(DISTRIBUTION)}"
    return "unknown"


@functools.cache
def git_state(project: Path) -> dict[str, Any]:
    """Return `{"commit": 40 digits or "unknown", "dirty": whether tracked files differ}`."""
    command = ["git", "-C", str(project), "describe", "--always", "--dirty", "--abbrev=40"]
    output = ""
    if project == PROJECT and not IS_CLONE:  # its folder may lie in a repository of the user's
        return {"commit": _installed_version(), "dirty": None}
    with suppress(OSError, subprocess.SubprocessError):
        output = subprocess.check_output(
            [*command, "--exclude=*"], stderr=subprocess.DEVNULL, text=True, timeout=20
        )
    commit, dirty, _ = output.strip().partition("-dirty")
    return {"commit": commit or "unknown", "dirty": bool(dirty) if commit else None}


def environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the variables that matter: values where they decide about scores, else whether set.

    Args:
        names: further ones, which the config takes from the environment.
    """
    values = {name: environ.get(name) for name in SCORE_VARIABLES}
    return values | {name: bool(environ.get(name)) for name in (*NAMED_VARIABLES, *names)}


def hardware() -> dict[str, Any]:
    """Return processor, memory in GiB and graphics cards; None where unknown."""
    memory = re.match(r"(\d+) kB", _value_in("/proc/meminfo", "MemTotal") or "")
    cards = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _value_in("/proc/cpuinfo", "model name") or platform.processor() or None,
        "cores": os.cpu_count(),
        "memory_gib": memory and round(int(memory[1]) / 2**20, 1),
        "gpus": [_value_in(card, "Model") for card in cards],
    }


def _value_in(file: str | Path, name: str) -> str | None:
    """Return the first value of a name in a file of lines `name: value`."""
    try:
        text = Path(file).read_text("utf-8", "replace")
    except OSError:  # another system
        return None
    match = re.search(rf"^{name}\s*:\s*(.*?)\s*$", text, re.MULTILINE)
    return match and match[1]

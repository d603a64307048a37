"""What only a loaded checkpoint can tell: whether it goes with the config, and what it brings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from models.wrappers.local.checkpoint import read_generation_config, settings_folder
from models.wrappers.local.generate_arguments import GENERATION_SETTINGS, unknown_arguments
from models.wrappers.local.loading import Loaded, class_of, placement_of
from models.wrappers.local.pictures import resizes_by_area
from models.wrappers.local.settings import generation_notes, generation_problems
from utils.errors import UserError


def check_generation(
    model_name: str,
    loaded: Loaded,
    *,
    generate_function: str,
    generate_cfg: Mapping[str, Any],
    batch_size: int | str,
    announced: Mapping[str, Any],
) -> None:
    """Whether the generate method is there and takes its arguments; tells what it will really use.

    Args:
        announced: the checkpoint's settings as far as they were known before it was loaded.

    Raises:
        UserError: it cannot work with this config.
    """
    problems = _method_problems(
        type(loaded.model), loaded.model.config, generate_function, generate_cfg, loaded.generation
    )
    if not problems and generate_function == "generate":
        problems += generation_problems(generate_cfg, loaded.generation, batch_size)
        real = generation_notes(generate_cfg, loaded.generation, batch_size)
        if not problems and real != generation_notes(generate_cfg, announced, batch_size):
            print("\n".join(["with the settings of the checkpoint as it was loaded:", *real]))
    if problems:
        raise UserError([f"model {model_name!r}: {problem}" for problem in problems])
    rank = os.environ.get("RANK")
    of_rank = f" by rank {rank}" if rank else ""
    # On stdout rank 0 speaks alone.
    out = sys.stdout if rank in (None, "0") else sys.stderr
    print(f"loaded{of_rank}: {placement_of(loaded)}", file=out)


def method_problems(
    model_path: str, generate_function: str, generate_cfg: Mapping[str, Any]
) -> list[str]:
    """The same of the checkpoint's class, before any weights are loaded; one line each.

    Importing it takes seconds, so only what is not plain is looked up. A class that cannot be told
    without loading is looked at when it is there.
    """
    folder = settings_folder(model_path)
    plain = generate_function == "generate" and generate_cfg.keys() <= GENERATION_SETTINGS
    if plain or folder is None or not (folder / "config.json").is_file():
        return []
    try:
        config, model_class = class_of(folder)
    except UserError as error:
        return list(error.problems)
    if model_class is None:
        return []
    brought = read_generation_config(model_path)
    return _method_problems(model_class, config, generate_function, generate_cfg, brought)


def _method_problems(
    model_class: type,
    config: Any,
    generate_function: str,
    generate_cfg: Mapping[str, Any],
    own_settings: Mapping[str, Any],
) -> list[str]:
    if not callable(getattr(model_class, generate_function, None)):
        return [
            f"generate_function {generate_function!r} is no method of {model_class.__name__}; "
            'most models have "generate"'
        ]
    if generate_function == "generate" and getattr(config, "is_encoder_decoder", False):
        return []  # its encoder and decoder have arguments of their own
    return unknown_arguments(model_class, generate_function, generate_cfg, own_settings)


def check_default_preprocessing(model_name: str, processor: Any, limits: Mapping[str, int]) -> None:
    """Whether the default preprocess function can work with a checkpoint's processor.

    Raises:
        UserError: the checkpoint has no chat template, or is of a model without eyes.
    """
    if getattr(processor, "image_processor", None) is None:
        raise UserError(
            f"model {model_name!r}: the checkpoint takes no pictures: its processor "
            f"({type(processor).__name__}) has no image_processor"
        )
    has_template = getattr(processor, "chat_template", None) or getattr(
        getattr(processor, "tokenizer", None), "chat_template", None
    )
    if not has_template or not hasattr(processor, "apply_chat_template"):
        raise UserError(
            f"model {model_name!r}: the checkpoint's {type(processor).__name__} has no chat "
            "template, so a preprocess_function of your own must write the prompt"
        )
    if limits and not resizes_by_area(getattr(processor, "image_processor", None)):
        print(
            f"warning: model {model_name!r}: {', '.join(limits)} in kwargs has no effect, its "
            "image processor does not resize by area",
            file=sys.stderr,
        )

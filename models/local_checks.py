"""What only a loaded checkpoint can tell: whether it goes with the config, and what it brings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from models.generate_arguments import unknown_arguments
from models.local_loading import Loaded
from models.local_pictures import resizes_by_area
from models.local_settings import generation_notes, generation_problems
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
    if not callable(getattr(loaded.model, generate_function, None)):
        raise UserError(
            f"model {model_name!r}: generate_function {generate_function!r} is no method "
            f'of {type(loaded.model).__name__}; most models have "generate"'
        )
    problems = unknown_arguments(loaded.model, generate_function, generate_cfg)
    if generate_function == "generate":
        problems += generation_problems(generate_cfg, loaded.generation, batch_size)
        real = generation_notes(generate_cfg, loaded.generation, batch_size)
        if not problems and real != generation_notes(generate_cfg, announced, batch_size):
            print("\n".join(["with the settings of the checkpoint as it was loaded:", *real]))
    if problems:
        raise UserError([f"model {model_name!r}: {problem}" for problem in problems])


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

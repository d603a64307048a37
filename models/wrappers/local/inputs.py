"""What a preprocess function returned → inputs of the generate method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.wrappers.local.completions import Encoded
from models.wrappers.local.loading import Loaded
from utils.contracts import Prepared, UserFunctionError
from utils.coordinates import seen_wh
from utils.functions.calling import as_user_error

_SHAPE = "expected input_ids of shape (1, n)"


def wrong_return(stage: str, value: Any, expected: str) -> UserFunctionError:
    """The failure of a sample whose user function returned something of another kind."""
    return _type_error(stage, f"it returned {type(value).__name__}; expected {expected}")


def _type_error(stage: str, problem: str) -> UserFunctionError:
    summary = f"TypeError: {problem}"
    return UserFunctionError(stage, summary, summary)


def encoded_of(returned: Any, prepared: Prepared, loaded: Loaded) -> Encoded:
    """Checks what a preprocess function returned, and puts its tensors onto the model's device.

    Raises:
        UserFunctionError: it is nothing that a generate method takes, or handling it raised
            something; that is its cause then.
    """
    try:
        return _encoded(returned, prepared, loaded)
    except UserFunctionError:
        raise
    except Exception as error:  # objects of the user's may raise anything wherever one looks
        raise as_user_error("preprocess", error) from error


def _encoded(returned: Any, prepared: Prepared, loaded: Loaded) -> Encoded:
    if not isinstance(returned, Mapping):
        raise wrong_return("preprocess", returned, "a dict or BatchFeature of model inputs")
    ids = returned.get("input_ids")
    length = 0 if ids is None else _prompt_tokens(ids)
    on_device = {
        # A user's function may leave them on the CPU; strings, None and lists pass untouched.
        key: value.to(loaded.model.device) if hasattr(value, "to") else value
        for key, value in returned.items()
    }
    sizes, grid = prepared.sizes, returned.get("image_grid_thw")
    if grid is not None and len(grid) and loaded.patch_size:
        sizes = replace(sizes, seen_wh=seen_wh(grid, loaded.patch_size))
    encoded = Encoded(prepared, on_device, length, sizes)
    _ = encoded.nbytes  # asked of every input that waits; an odd object had better raise here
    return encoded


def _prompt_tokens(ids: Any) -> int:
    import torch

    if not isinstance(ids, torch.Tensor):
        raise _type_error(
            "preprocess",
            f'input_ids is a {type(ids).__name__}, no tensor; {_SHAPE}: return_tensors="pt" gives '
            "that",
        )
    if ids.ndim != 2 or len(ids) != 1 or not ids.shape[1]:
        raise _type_error("preprocess", f"{_SHAPE} with n > 0, not {tuple(ids.shape)}")
    return int(ids.shape[1])

"""A hash of all that decides, besides prompt function and samples, about a model's answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from utils.contracts import ActingBenchmark, Sample
from utils.coordinates import PIXEL_LIMITS
from utils.functions.fingerprints import READING, code_digest, digest, undescribed
from utils.session.evaluation import Evaluation


def settings_digest(evaluation: Evaluation) -> str:
    """The hash of the settings of a model on a data set.

    In a data set that acts, the next request depends on how the last reply was read and on how an
    episode goes, so that belongs to the settings, too.
    """
    settings = evaluation.model.settings_digest()
    benchmark = evaluation.benchmark
    if not isinstance(benchmark, ActingBenchmark):
        return _with_follow_up(evaluation, settings)
    samples = evaluation.data.samples
    any_line = samples[0].line if samples else {}
    blank = {**any_line, "instruction": "", "task_id": ""}  # the wording is what is left
    return digest(
        [
            settings,
            benchmark.rules_digest(),
            evaluation.prompting.default_wording(blank),
            code_digest(_parse_function(evaluation), also=READING),
            code_digest(evaluation.function("postprocess")),
            pixel_limits(evaluation),
        ]
    )


def _with_follow_up(evaluation: Evaluation, settings: str) -> str:
    """The hash of settings with what is asked after a reply, which depends on its reading.

    Requests do not depend on it: a first reply counts, however it is followed up.
    """
    function = evaluation.function("follow_up")
    if evaluation.zoom is None and function is None:
        return settings
    zoom = evaluation.zoom
    follow_up = zoom.as_settings() if zoom is not None else code_digest(function)
    reading = code_digest(_parse_function(evaluation), also=READING)
    return digest([settings, follow_up, reading])


def episode_fingerprint(evaluation: Evaluation) -> Callable[[Sample], str]:
    """Return the function that makes an episode's fingerprint, of its task and all that decides it.

    The fingerprint is empty if the deciding code cannot be compared: no stored episode has it then.
    """
    functions = [evaluation.function(stage) for stage in ("prompt", "postprocess")]
    code = [*functions, _parse_function(evaluation), *evaluation.model.deciding_code]
    if any(map(undescribed, code)):
        return lambda sample: ""
    settings = settings_digest(evaluation)
    return partial(_episode_digest, settings, evaluation.prompting.code_digest())


def _episode_digest(settings: str, prompt_code: str, sample: Sample) -> str:
    """The hash of an episode's task and settings.

    The number of a task is no part of it: another one that is put before it changes nothing.
    """
    line = {name: value for name, value in sample.line.items() if name != "index"}
    return digest([settings, prompt_code, sample.key, line])


def _parse_function(evaluation: Evaluation) -> Callable[..., Any]:
    """The function that parses the replies: the user's as it is, or the default."""
    return evaluation.function("parse") or evaluation.data.parse


def pixel_limits(evaluation: Evaluation) -> dict[str, Any]:
    """The limits of an image's pixels in the model's entry."""
    kwargs = evaluation.entry.kwargs
    return {key: kwargs[key] for key in PIXEL_LIMITS if key in kwargs}

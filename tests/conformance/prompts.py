"""Replays of the files about samples and prompts: data set rows, default and custom prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from benchmarks import BENCHMARK
from models import api_uitars, local_uitars
from tests.conformance.scores import data_set
from tests.conformance.support import Case, Departs, Replay, World, equal
from tests.support.runs import write_config
from utils.config.read import ConfigSource, read_config
from utils.errors import UserError
from utils.functions.prompting import prompt_builder

DATASETS = {"L1": "GUIContentUnderstanding", "L2": "GUIElementGrounding"}


def _rows(case: Case, world: World) -> Any:
    """The samples that loading gives; an unknown mode is found in the config before that."""
    name, mode = DATASETS[case.input["level"]], case.input["mode"]
    model = {"m": {"imp_type": "openai", "model_path": "http://127.0.0.1/v1?model=m"}}
    config = write_config(world.folder / "config.json", model=model, data={name: {"mode": mode}})
    reading = read_config(ConfigSource(config, {}), BENCHMARK)
    if reading.problems:
        assert all(f"data.{name}.mode" in problem for problem in reading.problems), reading.problems
        raise UserError(reading.problems)
    benchmark = data_set(world.folder, name, case.input["annotations"])
    for row in case.expected:
        picture = benchmark.image_root / row["image_path"]
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("1", tuple(row["image_size"])).save(picture, compress_level=1)
    samples, bad = benchmark.load(mode)
    return [*(sample.line for sample in samples), *map(str, bad)]


def _default_prompt(case: Case, world: World) -> Any:
    """`build_prompt`, and the same through the config's `system_prompt` where it can say so."""
    set_template(case.input, world)
    row, use_system = case.input["row"], case.input["use_system"]
    text = case.input["custom_system_prompt"]
    benchmark = BENCHMARK[DATASETS[case.input["level"]]](world.folder, world.folder)
    messages = benchmark.build_prompt(row, use_system, text)
    setting = "model_default" if not use_system else "benchmark_default" if text is None else text
    configured = prompt_builder(benchmark, system_prompt=setting, custom=None)(row)
    relative_messages = [_relative(message, world) for message in messages]
    again = [_relative(message, world) for message in configured.messages]
    return (
        relative_messages
        if equal(relative_messages, again)
        else {"build_prompt": relative_messages, "configured": again}
    )


def set_template(case_input: Mapping[str, Any], world: World) -> None:
    """`L2_USER_PROMPT` as the case has it, or unset."""
    world.patch.delenv("L2_USER_PROMPT", raising=False)
    if "user_prompt_template" in case_input:
        world.patch.setenv("L2_USER_PROMPT", case_input["user_prompt_template"])


def _only_the_instruction_is_replaced(case: Case) -> Departs | None:
    """Templates with braces other than `{instruction}`, which the reference formats or fails on."""
    template = case.input.get("user_prompt_template", "")
    pieces = template.split("{instruction}")
    if "{" not in "".join(pieces) and "}" not in "".join(pieces):
        return None
    row, messages = case.input["row"], []
    if case.input["use_system"]:
        system = case.input["custom_system_prompt"] or (
            "You are a GUI agent. You are given a task and a screenshot of the screen. You need to "
            "finish this task following instructions from users."
        )
        messages.append({"role": "system", "type": "text", "value": system})
    messages.append({"role": "user", "type": "image", "value": row["image_path"]})
    text = row["instruction"].join(pieces)
    return Departs([*messages, {"role": "user", "type": "text", "value": text}])


def _custom_prompt(case: Case, world: World) -> Any:
    """The prompt function of both UI-TARS files; they must agree to be reproduced."""
    world.patch.setenv("IMAGE_ROOT_DIR", str(world.folder))
    benchmark = BENCHMARK[case.input["dataset"]](world.folder, world.folder)
    prompts = []
    for module in (api_uitars, local_uitars):
        custom = module.build_custom_prompt
        prompt = prompt_builder(benchmark, system_prompt=None, custom=custom)(case.input["row"])
        messages = [_relative(message, world) for message in prompt.messages]
        prompts.append(messages if prompt.is_custom else {"default": messages})
    return prompts[0] if equal(*prompts) else prompts


def _is_prompt(got: Any, expected: Any) -> bool:
    """A sample that the builder has no prompt for (a crash there) gets the default one here."""
    if not isinstance(expected, str):
        return equal(got, expected)
    kinds = [(message["role"], message["type"]) for message in got["default"]]
    return kinds == [("system", "text"), ("user", "image"), ("user", "text")]


def _relative(message: Mapping[str, str], world: World) -> dict[str, str]:
    value = message["value"]
    if message["type"] == "image":
        value = value.removeprefix(f"{world.folder}/")
    return {**message, "value": value}


REPLAYS = {
    "dataset_rows.json": Replay(_rows),
    "prompts_default.json": Replay(_default_prompt, departs=_only_the_instruction_is_replaced),
    "prompts_custom.json": Replay(_custom_prompt, same=_is_prompt),
}

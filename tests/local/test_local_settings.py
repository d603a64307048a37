"""Settings of a local model: what is refused, what is said of them, where they come from."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from models.wrappers.local import checkpoint
from models.wrappers.local.generate_arguments import (
    GENERATION_SETTINGS,
    argument_problems,
    counts_the_prompt,
)
from models.wrappers.local.settings import generation_notes, generation_problems, pixel_problems

# ---- arguments of generate --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), [
    ("max_new_tokens", "6"), ("max_new_tokens", 0), ("max_new_tokens", True), ("num_beams", "2"),
    ("num_beams", 1.5), ("temperature", "hot"), ("temperature", -1), ("top_p", 2), ("top_k", -1),
    ("do_sample", "yes"), ("do_sample", 1), ("repetition_penalty", 0), ("eos_token_id", "x"),
    ("eos_token_id", []), ("stop_strings", [1]), ("suppress_tokens", 3), ("early_stopping", "no"),
    ("max_length", 0), ("max_time", 0), ("bad_words_ids", [[1], 2]),
])  # fmt: skip
def test_a_value_that_generate_cannot_use_is_named(name, value):
    [problem] = argument_problems({name: value})

    assert problem.startswith(f"generate_cfg.{name}: must be ")
    assert problem.endswith(f", not {value!r}")


@pytest.mark.parametrize("generate_cfg", [
    {"max_new_tokens": 1, "num_beams": 1, "do_sample": False, "temperature": 0, "top_p": 0.1},
    {"eos_token_id": 5}, {"eos_token_id": [5, 6]}, {"stop_strings": "a"}, {"stop_strings": ["a"]},
    {"temperature": None, "max_time": None}, {"early_stopping": "never"}, {"top_k": 0},
    {"length_penalty": -1.5}, {"use_audio_in_video": True}, {"bad_words_ids": [[1], [2, 3]]},
])  # fmt: skip
def test_what_generate_takes_is_no_problem(generate_cfg):
    assert argument_problems(generate_cfg) == []


@pytest.mark.parametrize(("name", "hint"), [
    ("temprature", 'did you mean "temperature"?'),
    ("max_new_token", 'did you mean "max_new_tokens"?'),
    ("seed", "generate has no seed"),
    ("input_ids", "preprocess function"),
    ("generation_config", "generate_cfg themselves"),
    ("streamer", "an object of Python"),
])  # fmt: skip
def test_a_name_that_generate_does_not_know_is_told_before_the_run(name, hint):
    [problem] = argument_problems({name: 1})

    assert problem.startswith(f"generate_cfg.{name}: ")
    assert hint in problem


def test_the_known_settings_are_those_of_the_installed_library():
    transformers = pytest.importorskip("transformers")
    theirs = set(transformers.GenerationConfig().to_dict())

    assert theirs - {"transformers_version", "_from_model_config"} == GENERATION_SETTINGS


def test_time_limits_and_batches_do_not_go_together():
    [problem] = generation_problems({"max_time": 3}, {}, 4)
    [brought] = generation_problems({}, {"max_time": 3}, "auto")

    assert "max_time 3 is the time of a whole batch" in problem
    assert "max_time 3 (which the checkpoint brings along)" in brought
    assert generation_problems({"max_time": 3}, {}, 1) == []
    assert generation_problems({"max_time": None}, {"max_time": 3}, 4) == []


# ---- what is said -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("configured", "brought", "limit", "cuts"), [
    ({"max_new_tokens": 8}, {"max_length": 99}, "at most 8 new tokens", None),
    ({}, {"max_new_tokens": 8}, "at most 8 new tokens (from the checkpoint)", None),
    ({"max_length": 330}, {}, "at most 330 tokens, prompt and picture included", "max_length 330 cuts"),
    ({}, {"max_length": 330}, "at most 330 tokens, prompt and picture included (from the checkpoint)",
     "max_length 330 (from the checkpoint) cuts"),
    ({}, {}, "at most 20 new tokens (the library's own limit)", "limit of 20 new tokens cuts"),
])  # fmt: skip
def test_the_limit_that_holds_is_the_one_that_is_said(configured, brought, limit, cuts):
    first, *warnings = generation_notes(configured, brought)

    assert first == f"generation: greedy, {limit}"
    assert [cuts in warning for warning in warnings] == ([] if cuts is None else [True])


def test_the_library_has_the_limit_that_is_said():
    transformers = pytest.importorskip("transformers")

    assert transformers.GenerationConfig._get_default_generation_params()["max_length"] == 20


@pytest.mark.parametrize(("used", "names"), [
    ({"max_new_tokens": 5, "max_length": 100}, []),
    ({"max_length": 100}, ["max_length"]),
    ({"max_new_tokens": 5, "min_length": 10}, ["min_length"]),
    ({"max_new_tokens": 5, "min_length": 10, "min_new_tokens": 1}, []),
    ({"no_repeat_ngram_size": 2}, ["no_repeat_ngram_size"]),
    ({"encoder_repetition_penalty": 1.2, "repetition_penalty": 1.2}, ["encoder_repetition_penalty"]),
    ({"max_length": None, "min_length": 0}, []),
])  # fmt: skip
def test_what_counts_the_prompt_keeps_lengths_apart(used, names):
    assert counts_the_prompt(used) == names
    notes = generation_notes({"max_new_tokens": 5, **used}, {}, 4)
    apart = [note for note in notes if "only prompts of one length" in note]
    assert len(apart) == bool(counts_the_prompt({"max_new_tokens": 5, **used}))


# ---- limits of the picture's area -------------------------------------------------------------------


@pytest.mark.parametrize(("most", "told"), [
    (1, True), (729, True), (783, True), (784, False), (None, False), ("many", False),
])  # fmt: skip
def test_an_area_below_one_cell_is_refused_with_the_least_one(most, told):
    problems = pixel_problems({"max_pixels": most}, {"patch_size": 14, "merge_size": 2})

    assert (
        problems
        == [
            f"kwargs.max_pixels {most} is less than one cell of the model's grid, 28 x 28 pixels; the "
            "least value is 784"
        ]
        * told
    )
    assert pixel_problems({"max_pixels": most}, {}) == []


# ---- where a checkpoint's settings lie --------------------------------------------------------------


def folder_with(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text)
    return folder


SETTINGS = {"do_sample": True, "temperature": 0.7}


@pytest.mark.parametrize("files", [
    {"generation_config": SETTINGS, "config": {"do_sample": False}},
    {"config": {**SETTINGS, "hidden_size": 5, "architectures": ["A"]}},
    {"config": {"do_sample": True, "text_config": {"temperature": 0.7, "do_sample": False}}},
    {"config": SETTINGS, "generation_config": "{broken"},
])  # fmt: skip
def test_settings_are_read_where_transformers_reads_them(files, tmp_path):
    assert checkpoint.read_generation_config(str(folder_with(tmp_path, **files))) == SETTINGS


def test_settings_of_a_hub_repository_are_read_from_the_cache(tmp_path):
    pytest.importorskip("huggingface_hub")
    cached = tmp_path / "hub" / "models--acme--vl"
    folder_with(
        cached / "snapshots" / ("a" * 40),
        generation_config=SETTINGS,
        preprocessor_config={"patch_size": 14, "merge_size": 2},
    )
    code = (
        "from models import checkpoint as c; "
        "print(c.settings_folder('acme/other'), c.read_generation_config('acme/vl'), "
        "c.vision_settings('acme/vl'), c.hub_commit('acme/vl')[:3])"
    )

    def told():
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        return done.stdout.strip() or done.stderr

    expected = f"None {SETTINGS} {{'patch_size': 14, 'merge_size': 2}} aaa"
    assert told() == expected  # loaded by its commit: a snapshot without a ref
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("a" * 40)
    folder_with(cached / "snapshots" / ("b" * 40), generation_config={"do_sample": False})
    assert told() == expected


# ---- what a folder lacks ----------------------------------------------------------------------------


@pytest.fixture
def complete(tmp_path):
    folder = folder_with(
        tmp_path / "ck", config={}, tokenizer={}, preprocessor_config={}, tokenizer_config={}
    )
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder


def lacking(folder, *, by_default=True):
    return checkpoint.preparation_problems(str(folder), by_default=by_default)


@pytest.mark.parametrize(("gone", "told", "with_own_function"), [
    ("tokenizer.json", "no tokenizer in it", 1),
    ("preprocessor_config.json", "its model takes no pictures", 0),
    ("chat_template.jinja", "no chat template in it", 0),
])  # fmt: skip
def test_a_file_that_is_missing_for_making_inputs_is_named(gone, told, with_own_function, complete):
    assert lacking(complete) == []
    (complete / gone).unlink()

    [problem] = lacking(complete)

    assert told in problem
    assert len(lacking(complete, by_default=False)) == with_own_function


@pytest.mark.parametrize("place", ["tokenizer_config", "processor_config", "chat_template"])
def test_a_chat_template_may_lie_in_a_json_file(place, complete):
    (complete / "chat_template.jinja").unlink()
    folder_with(complete, **{place: {"chat_template": "{{ messages }}"}})

    assert lacking(complete) == []


@pytest.mark.parametrize("name", ["tokenizer.model", "qwen.tiktoken", "vocab.json", "spiece.model"])
def test_a_tokenizer_has_many_forms(name, complete):
    shutil.move(complete / "tokenizer.json", complete / name)

    assert lacking(complete) == []


def test_nothing_is_asked_of_what_is_no_folder():
    assert lacking("acme/vl") == []
    assert lacking("/no/such/folder") == []
